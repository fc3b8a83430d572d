/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completions of a stream, and what follows from them: messages that have arrived, room that is
 * free again, credits for the peer. An entry that the peer has written into our list is taken when
 * its notice completes, not when its bytes appear, so it is never seen half written.
 *
 * Credits: the peer may have as many messages under way as we have receive WQEs. It is told a new
 * limit when half of them were read, or when half of the ring is free, which then is published in
 * the same message. Notices take no credit: they may meet an empty receive queue and be repeated by
 * RNR NAKs, which is part of the protocol.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "rsocket/socket.h"

#define COMPLETIONS_AT_ONCE 32
#define OP_SHIFT	    56
#define BYTES_MASK	    UINT64_C(0xffffffff)

uint64_t roce_rs_wr_id(enum roce_rs_op op, uint32_t bytes)
{
	return ((uint64_t)op << OP_SHIFT) | bytes;
}

/* Notices have their value in the place of the bytes. */
static uint64_t control_wr_id(enum roce_rs_control control)
{
	return roce_rs_wr_id(ROCE_RS_OP_CONTROL, control);
}

/* ---- sending ---- */

/* imm < 0: a plain RDMA WRITE. */
int roce_rs_post_write(struct roce_rs *rs, struct ibv_sge *sge, int sge_count,
		       const struct roce_rs_sge *to, uint64_t wr_id, int64_t imm)
{
	uint64_t bytes = 0;
	struct ibv_send_wr *bad,
		wr = {
			.wr_id = wr_id,
			.sg_list = sge,
			.num_sge = sge_count,
			.opcode = imm < 0 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM,
			.wr.rdma = {.remote_addr = to->address, .rkey = to->rkey},
		};

	if (imm >= 0)
		wr.imm_data = htonl((uint32_t)imm);
	for (int i = 0; i < sge_count; i++)
		bytes += sge[i].length;
	if (bytes <= rs->inline_max)
		wr.send_flags = IBV_SEND_INLINE;
	return -ibv_post_send(rs->id->qp, &wr, &bad);
}

static int post_notice(struct roce_rs *rs, uint64_t wr_id, uint32_t imm)
{
	static const struct roce_rs_sge nowhere;

	return roce_rs_post_write(rs, NULL, 0, &nowhere, wr_id, imm);
}

int roce_rs_send_control(struct roce_rs *rs, enum roce_rs_control control)
{
	int error =
		post_notice(rs, control_wr_id(control), roce_rs_imm(ROCE_RS_OP_CONTROL, control));

	if (error)
		return error;
	rs->control_room--;
	rs->is_done |= control == ROCE_RS_CONTROL_SHUTDOWN;
	return 0;
}

int roce_rs_send_keepalive(struct roce_rs *rs)
{
	static const struct roce_rs_sge nowhere;
	int error;

	if (!rs->control_room)
		return -EAGAIN;
	error = roce_rs_post_write(rs, NULL, 0, &nowhere, control_wr_id(ROCE_RS_CONTROL_KEEPALIVE),
				   -1);
	if (!error)
		rs->control_room--;
	return error;
}

static void publish_half(struct roce_rs *rs, uint32_t imm)
{
	const uint32_t half = rs->sizes.receive_ring / 2;
	uint8_t entry[ROCE_RS_SGE_BYTES];
	struct roce_rs_sge sge = {
		.address = (uintptr_t)rs->ring + rs->publish_position,
		.rkey = rs->ring_mr->rkey,
		.length = half,
	};
	struct roce_rs_sge to = rs->peer_list;
	struct ibv_sge local = {.addr = (uintptr_t)entry, .length = sizeof(entry)};

	roce_rs_sge_encode(&sge, rs->is_peer_swapped, entry);
	to.address += (uint64_t)rs->peer_list_next * ROCE_RS_SGE_BYTES;
	if (roce_rs_post_write(rs, &local, 1, &to, roce_rs_wr_id(ROCE_RS_OP_CREDIT, 0), imm))
		return;
	rs->control_room--;
	rs->ring_free -= half;
	rs->publish_position = rs->publish_position ? 0 : half;
	rs->peer_list_next = (rs->peer_list_next + 1) % rs->peer_list.length;
}

static void send_credits_due(struct roce_rs *rs)
{
	bool has_half = rs->ring_free >= rs->sizes.receive_ring / 2;
	bool has_reached = (int16_t)(rs->received_sequence - rs->credit_threshold) >= 0;
	uint32_t imm;

	if (rs->state != ROCE_RS_CONNECTED || !rs->control_room || (!has_half && !has_reached))
		return;
	rs->credit_threshold = (uint16_t)(rs->received_sequence + rs->sizes.receive_wqes / 2);
	imm = roce_rs_imm(ROCE_RS_OP_CREDIT,
			  (uint32_t)rs->received_sequence + rs->sizes.receive_wqes);
	if (has_half)
		publish_half(rs, imm);
	else if (!post_notice(rs, roce_rs_wr_id(ROCE_RS_OP_CREDIT, 0), imm))
		rs->control_room--;
}

/* ---- completions ---- */

static void become_disconnected(struct roce_rs *rs)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	rs->state = ROCE_RS_DISCONNECTED;
	rs->is_writable = false;
	ibv_modify_qp(rs->id->qp, &attr, IBV_QP_STATE);
}

/* The peer has sent its last and so have we; but the queue pair has to live until ours is there. */
static void end_when_both_ways_are(struct roce_rs *rs)
{
	if (rs->state == ROCE_RS_CONNECTED && rs->is_peer_done && rs->is_done &&
	    roce_rs_has_sent_all_or_never(rs))
		become_disconnected(rs);
}

static void on_sent(struct roce_rs *rs, uint64_t wr_id)
{
	if (rs->give_up_at_ms)
		rs->give_up_at_ms = roce_rs_now_ms() + rs->patience_ms;
	switch ((enum roce_rs_op)(wr_id >> OP_SHIFT)) {
	case ROCE_RS_OP_CREDIT:
		rs->control_room++;
		return;
	case ROCE_RS_OP_CONTROL:
		rs->control_room++;
		if (rs->state == ROCE_RS_CONNECTED &&
		    (wr_id & BYTES_MASK) == ROCE_RS_CONTROL_DISCONNECT)
			become_disconnected(rs);
		return;
	case ROCE_RS_OP_DATA:
	case ROCE_RS_OP_WRITE:
	case ROCE_RS_OP_MAPPING:
		rs->send_room++;
		rs->send_free += (uint32_t)(wr_id & BYTES_MASK);
		return;
	}
}

static void take_published(struct roce_rs *rs)
{
	for (unsigned i = 0; i < ROCE_RS_LIST_LENGTH; i++) {
		uint8_t *entry = rs->list + (size_t)i * ROCE_RS_SGE_BYTES;
		struct roce_rs_sge sge;

		memcpy(&sge.address, entry, 8);
		memcpy(&sge.rkey, entry + 8, 4);
		memcpy(&sge.length, entry + 12, 4);
		if (!sge.length || rs->target[i].length)
			continue;
		rs->target[i] = sge;
		memset(entry, 0, ROCE_RS_SGE_BYTES);
	}
}

/* A peer that sends more than it was allowed to. */
static bool add_message(struct roce_rs *rs, uint32_t bytes)
{
	unsigned slot = (rs->message_head + rs->message_count) % rs->message_slots;

	if (rs->message_count == rs->message_slots || bytes > rs->sizes.receive_ring - rs->unread)
		return false;
	if (!bytes) { /* to be read at once: rrecv() would take it for the end */
		rs->received_sequence++;
		return true;
	}
	rs->messages[slot].left = bytes;
	rs->message_count++;
	rs->unread += bytes;
	return true;
}

static void on_control(struct roce_rs *rs, uint32_t value)
{
	if (value == ROCE_RS_CONTROL_DISCONNECT) {
		become_disconnected(rs);
	} else if (value == ROCE_RS_CONTROL_SHUTDOWN) {
		rs->is_readable = false;
		rs->is_peer_done = true;
		end_when_both_ways_are(rs);
	}
}

static void on_received(struct roce_rs *rs, uint32_t imm)
{
	uint32_t value = roce_rs_imm_value(imm);

	switch (roce_rs_imm_op(imm)) {
	case ROCE_RS_OP_CREDIT:
		rs->sent_limit = (uint16_t)value;
		take_published(rs);
		return;
	case ROCE_RS_OP_MAPPING: /* the entry is in our list: riowrite() looks there */
	case ROCE_RS_OP_WRITE:
		return;
	case ROCE_RS_OP_CONTROL:
		on_control(rs, value);
		return;
	default: /* DATA, and the reserved ones, which are taken like it */
		if (!add_message(rs, value)) {
			become_disconnected(rs);
			rs->state = ROCE_RS_FAILED;
			rs->error = EPROTO;
		}
		return;
	}
}

static void repost_receive(struct roce_rs *rs)
{
	struct ibv_recv_wr wr = {.num_sge = 0}, *bad;

	ibv_post_recv(rs->id->qp, &wr, &bad);
}

static void on_completion(struct roce_rs *rs, const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS) {
		if (rs->state != ROCE_RS_CONNECTED)
			return;
		rs->state = ROCE_RS_FAILED;
		rs->is_writable = false;
		rs->is_readable = false;
		rs->error = EIO;
		return;
	}
	if (wc->opcode & IBV_WC_RECV) {
		repost_receive(rs);
		/* What comes behind a DISCONNECT is nothing to us. */
		if (rs->state == ROCE_RS_CONNECTED || rs->state == ROCE_RS_ACCEPTING ||
		    rs->state == ROCE_RS_CONNECTING)
			on_received(rs, ntohl(wc->imm_data));
	} else {
		on_sent(rs, wc->wr_id);
		end_when_both_ways_are(rs);
	}
}

static void take_completions(struct roce_rs *rs)
{
	struct ibv_wc wc[COMPLETIONS_AT_ONCE];
	bool is_changed = false;
	int count;

	do {
		count = ibv_poll_cq(rs->cq, COMPLETIONS_AT_ONCE, wc);
		for (int i = 0; i < count; i++)
			on_completion(rs, &wc[i]);
		is_changed |= count > 0;
	} while (count == COMPLETIONS_AT_ONCE);
	if (is_changed)
		roce_rs_notify(rs);
}

void roce_rs_progress(struct roce_rs *rs)
{
	if (!rs->cq || (rs->state != ROCE_RS_CONNECTED && rs->state != ROCE_RS_DISCONNECTED &&
			rs->state != ROCE_RS_FAILED))
		return;
	take_completions(rs);
	send_credits_due(rs);
}

/* ---- tests ---- */

bool roce_rs_can_send(const struct roce_rs *rs)
{
	return rs->send_room && rs->send_free >= ROCE_RS_SEND_MIN &&
	       rs->sent_sequence != rs->sent_limit && rs->target[rs->target_index].length;
}

bool roce_rs_can_send_or_never(const struct roce_rs *rs)
{
	return roce_rs_can_send(rs) || !rs->is_writable;
}

bool roce_rs_has_data_or_never(const struct roce_rs *rs)
{
	return rs->message_count || !rs->is_readable || rs->state != ROCE_RS_CONNECTED;
}

bool roce_rs_has_control_room_or_never(const struct roce_rs *rs)
{
	return rs->control_room || rs->state != ROCE_RS_CONNECTED;
}

bool roce_rs_has_sent_all_or_never(const struct roce_rs *rs)
{
	return rs->state != ROCE_RS_CONNECTED ||
	       (rs->control_room == ROCE_RS_CONTROL_SENDS &&
		rs->send_room == (unsigned)rs->sizes.send_wqes - ROCE_RS_CONTROL_SENDS);
}
