/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receiving side of the UDP backend: one call takes up to rx_depth datagrams (or merged batches of
 * them) from the leased socket.
 *
 * The depth adapts: a single recvmsg() is cheaper than recvmmsg() and is all that a ping-pong
 * needs; a call that came back full asks for twice as much next time. That also keeps the buffers
 * that are in use few, and so in the cache.
 */
#include "pktio/udp/udp_internal.h"

#include <errno.h>
#include <string.h>

void roce_udp_rx_init(struct udp_io *io)
{
	io->rx_depth = 1;
	for (uint32_t i = 0; i < UDP_RX_DEPTH_MAX; i++) {
		struct msghdr *h = &io->rx_headers[i].msg_hdr;

		io->rx_iovecs[i].iov_base = io->rx_buffers + (size_t)i * UDP_RX_BYTES;
		io->rx_iovecs[i].iov_len = UDP_RX_BYTES;
		h->msg_name = &io->rx_from[i];
		h->msg_iov = &io->rx_iovecs[i];
		h->msg_iovlen = 1;
		h->msg_control = io->rx_control[i];
	}
}

static void gid_from_address(const struct udp_io *io, const union udp_address *from,
			     struct roce_pktio_rx *out)
{
	if (io->is_v4) {
		memset(out->src.raw, 0, 10);
		out->src.raw[10] = 0xff;
		out->src.raw[11] = 0xff;
		memcpy(out->src.raw + 12, &from->v4.sin_addr, 4);
		out->sport = ntohs(from->v4.sin_port);
	} else {
		memcpy(out->src.raw, &from->v6.sin6_addr, 16);
		out->sport = ntohs(from->v6.sin6_port);
	}
}

/* SO_RXQ_OVFL tells the socket's whole count, and only once it is not 0. */
static void note_overflow(struct udp_io *io, uint32_t count)
{
	if (!io->has_rx_overflow)
		io->rx_overflow_last = 0;
	io->has_rx_overflow = true;
	io->base.stats->rx_overflow += count - io->rx_overflow_last;
	io->rx_overflow_last = count;
}

static int control_int(const struct cmsghdr *c)
{
	int value = 0;

	if (c->cmsg_len >= CMSG_LEN(sizeof(value)))
		memcpy(&value, CMSG_DATA(c), sizeof(value));
	else if (c->cmsg_len >= CMSG_LEN(1))
		value = *CMSG_DATA(c);
	return value;
}

static void parse_control(struct udp_io *io, struct msghdr *h, struct roce_pktio_rx *out)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		int value = control_int(c);

		if (c->cmsg_level == IPPROTO_UDP) {
			if (c->cmsg_type == UDP_GRO && value > 0)
				out->segment_length = (uint32_t)value;
		} else if (c->cmsg_level == IPPROTO_IP) {
			if (c->cmsg_type == IP_TOS)
				out->traffic_class = (uint8_t)value;
			else if (c->cmsg_type == IP_TTL)
				out->hop_limit = (uint8_t)value;
		} else if (c->cmsg_level == IPPROTO_IPV6) {
			if (c->cmsg_type == IPV6_TCLASS)
				out->traffic_class = (uint8_t)value;
			else if (c->cmsg_type == IPV6_HOPLIMIT)
				out->hop_limit = (uint8_t)value;
		} else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
			note_overflow(io, (uint32_t)value);
		}
	}
}

/* False when the datagram is useless. */
static bool take_datagram(struct udp_io *io, uint32_t index, struct roce_pktio_rx *out)
{
	struct msghdr *h = &io->rx_headers[index].msg_hdr;
	uint32_t length = io->rx_headers[index].msg_len;
	struct roce_pktio_stats *stats = io->base.stats;

	out->data = io->rx_iovecs[index].iov_base;
	out->length = length;
	out->segment_length = length;
	out->index_base = 0;
	out->traffic_class = 0;
	out->hop_limit = 0;
	gid_from_address(io, &io->rx_from[index], out);
	parse_control(io, h, out);
	stats->rx_batches++;
	if (h->msg_flags & MSG_TRUNC) {
		stats->rx_truncated++;
		return false;
	}
	if (length == 0)
		return false;
	if (out->segment_length > length)
		out->segment_length = length;
	stats->rx_packets += length == out->segment_length
				     ? 1
				     : (length + out->segment_length - 1) / out->segment_length;
	return true;
}

static int receive(struct udp_io *io, uint32_t depth)
{
	for (uint32_t i = 0; i < depth; i++) {
		struct msghdr *h = &io->rx_headers[i].msg_hdr;

		h->msg_namelen = sizeof(io->rx_from[i]);
		h->msg_controllen = UDP_CONTROL_BYTES;
	}
	if (depth == 1) {
		ssize_t got = recvmsg(io->base.fd, &io->rx_headers[0].msg_hdr, MSG_DONTWAIT);

		if (got < 0)
			return -errno;
		io->rx_headers[0].msg_len = (unsigned int)got;
		return 1;
	} else {
		int got = recvmmsg(io->base.fd, io->rx_headers, depth, MSG_DONTWAIT, NULL);

		return got < 0 ? -errno : got;
	}
}

uint32_t roce_udp_rx(struct roce_pktio *base, struct roce_pktio_rx *batches, uint32_t max)
{
	struct udp_io *io = (struct udp_io *)base;
	uint32_t depth = io->rx_depth < max ? io->rx_depth : max;
	uint32_t count = 0;
	int got = receive(io, depth);

	if (got < 0) {
		io->rx_depth = 1;
		if (got != -EAGAIN && got != -EINTR)
			base->stats->rx_errors++;
		return 0;
	}
	for (uint32_t i = 0; i < (uint32_t)got; i++)
		count += take_datagram(io, i, &batches[count]);
	if ((uint32_t)got == depth)
		io->rx_depth = depth * 2 < UDP_RX_DEPTH_MAX ? depth * 2 : UDP_RX_DEPTH_MAX;
	else
		io->rx_depth = 1;
	return count;
}
