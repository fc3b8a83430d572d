/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rsend() and rrecv(). A sender fills the peer's ring strictly in order, half by half: the receiver
 * never looks at addresses, the next message's bytes are the next bytes of its ring. One call's
 * data goes out in chunks that double from 2048 to 65536 bytes, so that the first arrive early.
 * Each is copied into the send ring, which the device reads; its room is free again with the
 * completion.
 */
#include "rsocket/transfer.h"

#include <errno.h>
#include <string.h>

#include "rsocket/socket.h"

/* A place in a list of buffers. */
struct cursor {
	const struct iovec *iov;
	int count;
	size_t offset; /* in the first one */
};

static size_t total_of(const struct iovec *iov, int count)
{
	size_t total = 0;

	for (int i = 0; i < count; i++)
		total += iov[i].iov_len;
	return total;
}

/* Copies from (or to) where the cursor is, and moves it on. */
static void copy_at_cursor(struct cursor *c, uint8_t *memory, size_t bytes, bool is_to_memory)
{
	while (bytes) {
		size_t here = c->iov->iov_len - c->offset;
		uint8_t *place = (uint8_t *)c->iov->iov_base + c->offset;

		if (here > bytes)
			here = bytes;
		if (here && is_to_memory)
			memcpy(memory, place, here);
		else if (here)
			memcpy(place, memory, here);
		memory += here;
		bytes -= here;
		c->offset += here;
		if (c->offset == c->iov->iov_len) {
			c->iov++;
			c->count--;
			c->offset = 0;
		}
	}
}

static uint32_t min_u32(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

/* Puts the next `bytes` of the program into the send ring; 1 or 2 entries. */
static int stage(struct roce_rs *rs, struct cursor *c, uint32_t bytes, struct ibv_sge sge[2])
{
	uint32_t first = min_u32(bytes, rs->sizes.send_buffer - rs->send_position);
	int count = 1;

	copy_at_cursor(c, rs->send_ring + rs->send_position, first, true);
	sge[0] = (struct ibv_sge){.addr = (uintptr_t)rs->send_ring + rs->send_position,
				  .length = first,
				  .lkey = rs->send_mr->lkey};
	if (first < bytes) {
		copy_at_cursor(c, rs->send_ring, bytes - first, true);
		sge[count++] = (struct ibv_sge){.addr = (uintptr_t)rs->send_ring,
						.length = bytes - first,
						.lkey = rs->send_mr->lkey};
	}
	rs->send_position = (rs->send_position + bytes) % rs->sizes.send_buffer;
	rs->send_free -= bytes;
	rs->send_room--;
	return count;
}

/* The post was refused: nothing will complete. */
static void unstage(struct roce_rs *rs, uint32_t bytes)
{
	const uint32_t size = rs->sizes.send_buffer;

	rs->send_position = (rs->send_position + size - bytes) % size;
	rs->send_free += bytes;
	rs->send_room++;
}

static int send_chunk(struct roce_rs *rs, struct cursor *c, uint32_t bytes)
{
	struct roce_rs_sge *target = &rs->target[rs->target_index];
	struct roce_rs_sge to = *target;
	struct ibv_sge sge[2];
	int count = stage(rs, c, bytes, sge);
	int error = roce_rs_post_write(rs, sge, count, &to, roce_rs_wr_id(ROCE_RS_OP_DATA, bytes),
				       roce_rs_imm(ROCE_RS_OP_DATA, bytes));

	if (error) {
		unstage(rs, bytes);
		return error;
	}
	rs->sent_sequence++;
	target->address += bytes;
	target->length -= bytes;
	if (!target->length)
		rs->target_index = (rs->target_index + 1) % ROCE_RS_LIST_LENGTH;
	return 0;
}

/* Why nothing can be sent (any more). */
static int send_error(const struct roce_rs *rs)
{
	switch (rs->state) {
	case ROCE_RS_IDLE:
	case ROCE_RS_BOUND:
	case ROCE_RS_LISTENING:
		return -ENOTCONN;
	case ROCE_RS_RESOLVING_ADDRESS:
	case ROCE_RS_RESOLVING_ROUTE:
	case ROCE_RS_CONNECTING:
	case ROCE_RS_ACCEPTING:
		return -EAGAIN;
	case ROCE_RS_CONNECTED:
		return rs->is_writable ? 0 : -EPIPE;
	case ROCE_RS_DISCONNECTED:
		return -ECONNRESET;
	case ROCE_RS_FAILED:
		return rs->was_connected ? -ECONNRESET : -ENOTCONN;
	}
	return -ENOTCONN;
}

static int prepare_send(struct roce_rs *rs, bool is_nonblocking)
{
	int error = roce_rs_wait(rs, is_nonblocking, roce_rs_can_send_or_never);

	return error ? error : send_error(rs);
}

ssize_t roce_rs_send(struct roce_rs *rs, const struct iovec *iov, int count, int flags)
{
	bool is_nonblocking = roce_rs_is_nonblocking(rs, flags);
	struct cursor c = {.iov = iov, .count = count};
	size_t left = total_of(iov, count), done = 0;
	uint32_t chunk = ROCE_RS_SEND_MIN;
	int error;

	pthread_mutex_lock(&rs->send_lock);
	pthread_mutex_lock(&rs->lock);
	error = send_error(rs);
	if (!error)
		error = roce_rs_publish_mappings(rs, is_nonblocking);
	while (left && !error) {
		uint32_t bytes;

		error = prepare_send(rs, is_nonblocking);
		if (error)
			break;
		bytes = min_u32(left, chunk);
		bytes = min_u32(bytes, rs->target[rs->target_index].length);
		bytes = min_u32(bytes, rs->send_free);
		error = send_chunk(rs, &c, bytes);
		if (error)
			break;
		left -= bytes;
		done += bytes;
		if (chunk < ROCE_RS_CHUNK_MAX)
			chunk *= 2;
	}
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->send_lock);
	return done ? (ssize_t)done : error;
}

/* The entry of our list that the peer has filled, whose range holds the offset. */
static bool find_mapping(const struct roce_rs *rs, uint64_t offset, struct roce_rs_sge *out)
{
	const uint8_t *entry = rs->list + ROCE_RS_LIST_LENGTH * ROCE_RS_SGE_BYTES;

	for (unsigned i = 0; i < rs->sizes.mapping_slots; i++, entry += ROCE_RS_MAPPING_BYTES) {
		struct roce_rs_sge sge;
		uint64_t first;

		memcpy(&first, entry, 8);
		memcpy(&sge.address, entry + 8, 8);
		memcpy(&sge.rkey, entry + 16, 4);
		memcpy(&sge.length, entry + 20, 4);
		if (offset < first || offset - first >= sge.length)
			continue;
		out->address = sge.address + (offset - first);
		out->rkey = sge.rkey;
		out->length = sge.length - (uint32_t)(offset - first);
		return true;
	}
	return false;
}

ssize_t roce_rs_write_mapped(struct roce_rs *rs, const void *data, size_t length, off_t offset,
			     int flags)
{
	bool is_nonblocking = roce_rs_is_nonblocking(rs, flags);
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = length};
	struct cursor c = {.iov = &iov, .count = 1};
	uint32_t chunk = ROCE_RS_SEND_MIN;
	size_t done = 0;
	int error;

	pthread_mutex_lock(&rs->send_lock);
	pthread_mutex_lock(&rs->lock);
	error = send_error(rs);
	if (!error)
		error = roce_rs_publish_mappings(rs, is_nonblocking);
	while (done < length && !error) {
		struct ibv_sge sge[2];
		struct roce_rs_sge to;
		uint32_t bytes;
		int count;

		error = prepare_send(rs, is_nonblocking);
		if (error || !find_mapping(rs, (uint64_t)offset + done, &to))
			break;
		bytes = min_u32(length - done, chunk);
		bytes = min_u32(bytes, to.length);
		bytes = min_u32(bytes, rs->send_free);
		count = stage(rs, &c, bytes, sge);
		error = roce_rs_post_write(rs, sge, count, &to,
					   roce_rs_wr_id(ROCE_RS_OP_WRITE, bytes), -1);
		if (error) {
			unstage(rs, bytes);
			break;
		}
		done += bytes;
		if (chunk < ROCE_RS_CHUNK_MAX)
			chunk *= 2;
	}
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->send_lock);
	return done ? (ssize_t)done : error;
}

/* Bytes of the first messages that fit into `room`; consumed but with MSG_PEEK. */
static size_t take_messages(struct roce_rs *rs, struct cursor *c, size_t room, bool is_peek)
{
	uint32_t position = rs->ring_position;
	unsigned head = rs->message_head, count = rs->message_count;
	size_t done = 0;

	while (count && room) {
		struct roce_rs_message *m = &rs->messages[head];
		uint32_t bytes = min_u32(m->left, room);
		uint32_t first = min_u32(bytes, rs->sizes.receive_ring - position);

		copy_at_cursor(c, rs->ring + position, first, false);
		copy_at_cursor(c, rs->ring, bytes - first, false);
		position = (position + bytes) % rs->sizes.receive_ring;
		done += bytes;
		room -= bytes;
		if (!is_peek)
			m->left -= bytes;
		if (is_peek ? bytes < m->left : m->left)
			break;
		head = (head + 1) % rs->message_slots;
		count--;
		if (!is_peek)
			rs->received_sequence++;
	}
	if (!is_peek) {
		rs->ring_position = position;
		rs->message_head = head;
		rs->message_count = count;
		rs->ring_free += (uint32_t)done;
		rs->unread -= (uint32_t)done;
	}
	return done;
}

/* Why there is nothing to wait for; 0: the end of the stream. */
static int receive_error(const struct roce_rs *rs)
{
	switch (rs->state) {
	case ROCE_RS_IDLE:
	case ROCE_RS_BOUND:
	case ROCE_RS_LISTENING:
		return -ENOTCONN;
	case ROCE_RS_RESOLVING_ADDRESS:
	case ROCE_RS_RESOLVING_ROUTE:
	case ROCE_RS_CONNECTING:
	case ROCE_RS_ACCEPTING:
		return -EAGAIN;
	case ROCE_RS_CONNECTED:
	case ROCE_RS_DISCONNECTED:
		return 0;
	case ROCE_RS_FAILED:
		return rs->was_connected ? 0 : -ENOTCONN;
	}
	return -ENOTCONN;
}

ssize_t roce_rs_receive(struct roce_rs *rs, const struct iovec *iov, int count, int flags)
{
	bool is_nonblocking = roce_rs_is_nonblocking(rs, flags);
	struct cursor c = {.iov = iov, .count = count};
	size_t room = total_of(iov, count), done = 0;
	int error;

	pthread_mutex_lock(&rs->recv_lock);
	pthread_mutex_lock(&rs->lock);
	error = receive_error(rs);
	while (room && !error) {
		size_t bytes;

		error = roce_rs_wait(rs, is_nonblocking, roce_rs_has_data_or_never);
		if (error || !rs->message_count)
			break;
		bytes = take_messages(rs, &c, room, flags & MSG_PEEK);
		room -= bytes;
		done += bytes;
		if (!(flags & MSG_WAITALL) || (flags & MSG_PEEK))
			break;
	}
	if (done)
		roce_rs_progress(rs); /* credits may be due */
	pthread_mutex_unlock(&rs->lock);
	pthread_mutex_unlock(&rs->recv_lock);
	return done ? (ssize_t)done : error;
}
