/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transmitting side of the UDP backend: batches leave by sendmmsg(), one message for each batch.
 *
 * Failure never costs more than the datagram it met. sendmmsg() stops at the first message that
 * fails and tells why with the next call, so the rest is sent all the same. A kernel that refuses
 * UDP_SEGMENT (no checksum offload on the way out: EIO; unknown or too many segments: EINVAL)
 * makes us send smaller batches, or single packets for good; as the parts get other
 * identifications, their ICRCs are computed anew.
 */
#include "pktio/udp/udp_internal.h"

#include "wire/headers.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#define SEGMENTS_OLD_KERNEL 64u
#define SEND_TRIES	    3u
#define SEND_WAIT_MS	    1

void roce_udp_tx_init(struct udp_io *io)
{
	for (uint32_t i = 0; i < UDP_TX_CALL_MAX; i++) {
		struct msghdr *h = &io->tx_headers[i].msg_hdr;

		h->msg_iov = &io->tx_iovecs[i];
		h->msg_iovlen = 1;
		h->msg_namelen = io->address_bytes;
	}
}

static uint8_t *put_control(uint8_t *at, int level, int type, const void *value, size_t length)
{
	struct cmsghdr *c = (struct cmsghdr *)(void *)at;

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(length);
	memcpy(CMSG_DATA(c), value, length);
	return at + CMSG_SPACE(length);
}

static bool has_flow_label(const struct udp_io *io, const struct roce_pktio_tx *b)
{
	return !io->is_v4 && b->flow_label != 0 && !io->is_flow_label_refused;
}

static size_t build_control(const struct udp_io *io, const struct roce_pktio_tx *b, uint8_t *start)
{
	uint8_t *at = start;
	int traffic_class = b->traffic_class;
	int hop_limit = b->hop_limit;

	if (b->segment_count > 1) {
		uint16_t segment = (uint16_t)b->segment_length;

		at = put_control(at, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment));
	}
	if (traffic_class != 0)
		at = put_control(at, io->is_v4 ? IPPROTO_IP : IPPROTO_IPV6,
				 io->is_v4 ? IP_TOS : IPV6_TCLASS, &traffic_class,
				 sizeof(traffic_class));
	if (hop_limit != 0 && hop_limit != UDP_HOP_LIMIT_DEFAULT)
		at = put_control(at, io->is_v4 ? IPPROTO_IP : IPPROTO_IPV6,
				 io->is_v4 ? IP_TTL : IPV6_HOPLIMIT, &hop_limit, sizeof(hop_limit));
	if (has_flow_label(io, b)) {
		uint32_t label = htonl(b->flow_label);

		at = put_control(at, IPPROTO_IPV6, IPV6_FLOWINFO, &label, sizeof(label));
	}
	return (size_t)(at - start);
}

static void build_message(struct udp_io *io, const struct roce_pktio_tx *b, uint32_t index)
{
	struct msghdr *h = &io->tx_headers[index].msg_hdr;
	struct udp_flow *flow = (struct udp_flow *)b->flow;

	io->tx_iovecs[index].iov_base = b->data;
	io->tx_iovecs[index].iov_len = b->length;
	h->msg_name = &flow->to;
	h->msg_controllen = build_control(io, b, io->tx_control[index]);
	h->msg_control = h->msg_controllen ? io->tx_control[index] : NULL;
}

static void count_sent(struct udp_io *io, const struct roce_pktio_tx *b)
{
	io->base.stats->tx_packets += b->segment_count;
	io->base.stats->tx_batches++;
}

/* One message: 0 or -errno. */
static int send_one(struct udp_io *io, const struct roce_pktio_tx *b)
{
	const struct udp_flow *flow = (const struct udp_flow *)b->flow;

	build_message(io, b, 0);
	if (sendmsg(flow->fd, &io->tx_headers[0].msg_hdr, MSG_DONTWAIT) < 0)
		return -errno;
	count_sent(io, b);
	return 0;
}

/* As send_one(), but what passes by itself is tried again: a full queue, an error that an earlier
 * datagram left on the socket, a flow label that the system keeps for others. */
static int send_patiently(struct udp_io *io, const struct roce_pktio_tx *b)
{
	struct pollfd wait = {.fd = ((const struct udp_flow *)b->flow)->fd, .events = POLLOUT};
	int err = -EINTR;

	for (uint32_t i = 0; i < SEND_TRIES; i++) {
		err = send_one(io, b);
		if (err == -EAGAIN || err == -ENOBUFS)
			(void)poll(&wait, 1, SEND_WAIT_MS);
		else if (err == -EINVAL && has_flow_label(io, b))
			io->is_flow_label_refused = true;
		else if (err != -EINTR && err != -ECONNREFUSED)
			break;
		io->base.stats->tx_retries++;
	}
	return err;
}

/* Sends packets [first, first + count) of a batch as a batch of its own. */
static int send_part(struct udp_io *io, const struct roce_pktio_tx *b, uint32_t first,
		     uint32_t count)
{
	struct roce_pktio_tx part = *b;
	uint32_t begin = first * b->segment_length;
	uint32_t end = begin + count * b->segment_length;

	if (end > b->length)
		end = b->length;
	part.data += begin;
	part.length = end - begin;
	part.segment_count = (uint16_t)count;
	for (uint32_t i = 0; i < count; i++) {
		uint8_t *packet = part.data + i * b->segment_length;
		uint32_t length =
			i + 1 < count ? b->segment_length : part.length - i * b->segment_length;

		roce_icrc_put(packet + length - ROCE_ICRC_BYTES,
			      roce_icrc_compute(&b->flow->icrc, (uint16_t)i, packet,
						length - ROCE_ICRC_BYTES));
	}
	io->base.stats->tx_resegmented += count;
	return send_patiently(io, &part);
}

static void send_in_parts(struct udp_io *io, const struct roce_pktio_tx *b, uint32_t first,
			  uint32_t part_max)
{
	for (uint32_t i = first; i < b->segment_count; i += part_max) {
		uint32_t left = b->segment_count - i;
		uint32_t count = left < part_max ? left : part_max;

		if (send_part(io, b, i, count) < 0)
			io->base.stats->tx_dropped += count;
	}
}

/* A batch was refused as such. Whether batching is at fault shows in how a part of it fares. */
static void on_batch_refused(struct udp_io *io, const struct roce_pktio_tx *b)
{
	if (b->segment_count > SEGMENTS_OLD_KERNEL &&
	    send_part(io, b, 0, SEGMENTS_OLD_KERNEL) == 0) {
		io->base.segments_max = SEGMENTS_OLD_KERNEL;
		send_in_parts(io, b, SEGMENTS_OLD_KERNEL, SEGMENTS_OLD_KERNEL);
		return;
	}
	if (send_part(io, b, 0, 1) < 0) {
		io->base.stats->tx_dropped += b->segment_count;
		return;
	}
	io->base.segments_max = 1;
	io->gso_note = "refused by the kernel";
	send_in_parts(io, b, 1, 1);
}

/* The first message of a call failed with `err` and was not sent. */
static void on_send_error(struct udp_io *io, const struct roce_pktio_tx *b, int err)
{
	if ((err != -EIO && err != -EINVAL) || b->segment_count == 1 || has_flow_label(io, b)) {
		io->base.stats->tx_retries++;
		err = send_patiently(io, b);
	}
	if (err == 0)
		return;
	if ((err == -EIO || err == -EINVAL) && b->segment_count > 1)
		on_batch_refused(io, b);
	else
		io->base.stats->tx_dropped += b->segment_count;
}

/* Batches of one socket, at most UDP_TX_CALL_MAX. */
static void send_run(struct udp_io *io, const struct roce_pktio_tx *batches, uint32_t count)
{
	int fd = ((const struct udp_flow *)batches->flow)->fd;
	uint32_t done = 0;

	for (uint32_t i = 0; i < count; i++)
		build_message(io, &batches[i], i);
	while (done < count) {
		int sent =
			count - done == 1
				? (sendmsg(fd, &io->tx_headers[done].msg_hdr, MSG_DONTWAIT) < 0 ? -1
												: 1)
				: sendmmsg(fd, io->tx_headers + done, count - done, MSG_DONTWAIT);

		if (sent < 0) {
			on_send_error(io, &batches[done], -errno);
			done++;
			for (uint32_t i = done; i < count; i++) /* it used the headers */
				build_message(io, &batches[i], i);
			continue;
		}
		for (int i = 0; i < sent; i++)
			count_sent(io, &batches[done + (uint32_t)i]);
		done += (uint32_t)sent;
	}
}

void roce_udp_tx(struct roce_pktio *base, struct roce_pktio_tx *batches, uint32_t count)
{
	struct udp_io *io = (struct udp_io *)base;
	uint32_t first = 0;

	while (first < count) {
		int fd = ((const struct udp_flow *)batches[first].flow)->fd;
		uint32_t end = first + 1;

		while (end < count && end - first < UDP_TX_CALL_MAX &&
		       ((const struct udp_flow *)batches[end].flow)->fd == fd)
			end++;
		/* made before batching was found to be refused */
		for (; first < end && batches[first].segment_count > base->segments_max; first++)
			send_in_parts(io, &batches[first], 0, base->segments_max);
		if (first < end)
			send_run(io, batches + first, end - first);
		first = end;
	}
}
