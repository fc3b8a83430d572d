/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sockets and flows of the UDP backend.
 *
 * Identification and DF: an unconnected socket with IP_PMTUDISC_PROBE sends DF and identification
 * 0, or i for segment i of UDP_SEGMENT, and goes on sending after a path-MTU message. A connected
 * socket gets unpredictable identifications, so nothing here ever connects.
 *
 * The source port follows from (destination address, destination slot): the kernel merges received
 * datagrams of one source port only, and a merged batch has one owner, so one port must not carry
 * packets for two slots at once.
 */
#include "pktio/udp/udp_internal.h"

#include "base/clock.h"
#include "base/prng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define SOURCE_PORT_FIRST  49152u
#define SOURCE_PORT_COUNT  16384u
#define SOURCE_PORT_TRIES  32u
#define SEND_BUFFER_BYTES  (4 << 20)
#define RECV_BUFFER_BYTES  (8 << 20)
#define SEGMENTS_UNBATCHED 1u

static const char note_on[] = "on";
static const char note_off_by_user[] = "off by environment";
static const char note_unsupported[] = "not supported by this kernel";

static bool is_switched_off(const char *variable)
{
	const char *value = getenv(variable);

	return value && (strcmp(value, "off") == 0 || strcmp(value, "0") == 0);
}

/* Options that may be missing in an old kernel change little: the result is often ignored. */
static int set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) < 0 ? -errno : 0;
}

static void fill_address(const struct udp_io *io, const struct roce_gid *gid, uint16_t port,
			 union udp_address *out)
{
	memset(out, 0, sizeof(*out));
	if (io->is_v4) {
		out->v4.sin_family = AF_INET;
		out->v4.sin_port = htons(port);
		memcpy(&out->v4.sin_addr, gid->raw + 12, 4);
	} else {
		out->v6.sin6_family = AF_INET6;
		out->v6.sin6_port = htons(port);
		memcpy(&out->v6.sin6_addr, gid->raw, 16);
		out->v6.sin6_scope_id =
			roce_gid_is_link_local(gid) || roce_gid_is_multicast(gid) ? io->ifindex : 0;
	}
}

/* The force variants need CAP_NET_ADMIN and pass the administrator's maximum. */
static void set_buffer(int fd, int force, int plain, int bytes)
{
	if (set_option(fd, SOL_SOCKET, force, bytes) < 0)
		(void)set_option(fd, SOL_SOCKET, plain, bytes);
}

static int bind_source_port(const struct udp_io *io, int fd, uint16_t *out_port)
{
	union udp_address from;
	struct roce_prng prng;

	/* No secret: it only has to differ from what others try. */
	if (getrandom(&prng.state, sizeof(prng.state), 0) != (ssize_t)sizeof(prng.state))
		prng.state = roce_clock_now() ^ (uint64_t)getpid() << 40;
	for (uint32_t i = 0; i < SOURCE_PORT_TRIES; i++) {
		uint16_t port =
			(uint16_t)(SOURCE_PORT_FIRST + roce_prng_below(&prng, SOURCE_PORT_COUNT));

		fill_address(io, &io->base.local, port, &from);
		if (bind(fd, &from.any, io->address_bytes) == 0) {
			*out_port = port;
			return 0;
		}
		if (errno != EADDRINUSE)
			return -errno;
	}
	return -EADDRINUSE;
}

/* Groups: out through our device, to members on this host as well; the hop limit that a batch does
 * not name is the same as for other destinations. */
static void set_multicast_options(const struct udp_io *io, int fd)
{
	struct ip_mreqn out = {.imr_ifindex = (int)io->ifindex};

	if (io->is_v4) {
		(void)setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &out, sizeof(out));
		(void)set_option(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 1);
		(void)set_option(fd, IPPROTO_IP, IP_MULTICAST_TTL, UDP_HOP_LIMIT_DEFAULT);
	} else {
		(void)set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)io->ifindex);
		(void)set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1);
		(void)set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, UDP_HOP_LIMIT_DEFAULT);
	}
}

static int open_tx_socket(const struct udp_io *io, int *out_fd, uint16_t *out_port)
{
	int fd = socket(io->is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			0);
	int err;

	if (fd < 0)
		return -errno;
	if (io->is_v4) {
		err = set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
	} else {
		err = set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
		(void)set_option(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 1);
		(void)set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	}
	if (err)
		goto fail;
	set_multicast_options(io, fd);
	set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, SEND_BUFFER_BYTES);
	(void)set_option(fd, SOL_SOCKET, SO_RCVBUF, 0); /* nobody reads it */
	err = bind_source_port(io, fd, out_port);
	if (err)
		goto fail;
	*out_fd = fd;
	return 0;
fail:
	close(fd);
	return err;
}

static uint32_t hash_destination(const struct roce_gid *dgid, uint8_t slot)
{
	uint64_t low, high;

	memcpy(&high, dgid->raw, 8);
	memcpy(&low, dgid->raw + 8, 8);
	low = (low ^ (high * UINT64_C(0xff51afd7ed558ccd)) ^ slot) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(low >> 32);
}

static void free_flows(struct roce_pktio_flow **list)
{
	while (*list) {
		struct roce_pktio_flow *flow = *list;

		*list = flow->bucket_next;
		free(flow);
	}
}

/* The caller may hold batches for flows that it looked up a moment ago, so those stay in memory
 * until the table is full once more. */
static void retire_flows(struct udp_io *io)
{
	free_flows(&io->retired_flows);
	for (uint32_t i = 0; i < UDP_FLOW_BUCKETS; i++) {
		while (io->flows[i]) {
			struct roce_pktio_flow *flow = io->flows[i];

			io->flows[i] = flow->bucket_next;
			flow->bucket_next = io->retired_flows;
			io->retired_flows = flow;
		}
	}
	io->flow_count = 0;
}

static struct roce_pktio_flow *create_flow(struct udp_io *io, const struct roce_gid *dgid,
					   uint8_t slot, uint32_t hash)
{
	uint32_t socket_index = (hash >> 16) % UDP_TX_SOCKETS_MAX;
	struct udp_flow *flow;

	if (roce_gid_is_v4(dgid) != io->is_v4)
		return NULL;
	if (io->tx_fds[socket_index] < 0 &&
	    open_tx_socket(io, &io->tx_fds[socket_index], &io->tx_ports[socket_index]) < 0)
		return NULL;
	flow = calloc(1, sizeof(*flow));
	if (!flow)
		return NULL;
	flow->base.dgid = *dgid;
	flow->base.slot = slot;
	flow->base.sport = io->tx_ports[socket_index];
	flow->fd = io->tx_fds[socket_index];
	fill_address(io, dgid, ROCE_UDP_PORT, &flow->to);
	roce_icrc_flow_init(&flow->base.icrc, &io->base.local, dgid, flow->base.sport,
			    ROCE_UDP_PORT);
	flow->base.bucket_next = io->flows[hash % UDP_FLOW_BUCKETS];
	io->flows[hash % UDP_FLOW_BUCKETS] = &flow->base;
	io->flow_count++;
	return &flow->base;
}

static struct roce_pktio_flow *find_flow(struct roce_pktio *base, const struct roce_gid *dgid,
					 uint8_t slot)
{
	struct udp_io *io = (struct udp_io *)base;
	uint32_t hash = hash_destination(dgid, slot);
	struct roce_pktio_flow *flow;

	for (flow = io->flows[hash % UDP_FLOW_BUCKETS]; flow; flow = flow->bucket_next) {
		if (flow->slot == slot && roce_gid_is_equal(&flow->dgid, dgid))
			return flow;
	}
	if (io->flow_count >= UDP_FLOWS_MAX) {
		retire_flows(io);
		base->stats->flow_resets++;
	}
	return create_flow(io, dgid, slot, hash);
}

static roce_ns_t udp_deadline(struct roce_pktio *base)
{
	(void)base;
	return ROCE_NEVER;
}

static void udp_facts(struct roce_pktio *base, struct roce_pktio_facts *out)
{
	const struct udp_io *io = (const struct udp_io *)base;
	socklen_t length = sizeof(int);
	int bytes = 0;

	(void)getsockopt(base->fd, SOL_SOCKET, SO_RCVBUF, &bytes, &length);
	out->backend = "udp";
	out->batching_tx = io->gso_note;
	out->batching_rx = io->gro_note;
	out->segments_max = base->segments_max;
	out->receive_buffer_bytes = (uint32_t)bytes;
}

static void decide_gso(struct udp_io *io, int fd)
{
	int value;
	socklen_t length = sizeof(value);

	io->base.segments_max = SEGMENTS_UNBATCHED;
	if (is_switched_off("UROCE_GSO")) {
		io->gso_note = note_off_by_user;
	} else if (getsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &value, &length) < 0) {
		io->gso_note = note_unsupported;
	} else {
		io->gso_note = note_on;
		io->base.segments_max = ROCE_PKTIO_SEGMENTS_MAX;
	}
}

static void set_rx_options(struct udp_io *io, int fd)
{
	if (io->is_v4) {
		(void)set_option(fd, IPPROTO_IP, IP_RECVTOS, 1);
		(void)set_option(fd, IPPROTO_IP, IP_RECVTTL, 1);
	} else {
		(void)set_option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
		(void)set_option(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
		/* Linux Soft-RoCE leaves the UDP checksum out on IPv6 too. */
		(void)set_option(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
	}
	(void)set_option(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
	set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, RECV_BUFFER_BYTES);
	if (is_switched_off("UROCE_GRO")) {
		io->gro_note = note_off_by_user;
		(void)set_option(fd, IPPROTO_UDP, UDP_GRO, 0);
	} else if (set_option(fd, IPPROTO_UDP, UDP_GRO, 1) < 0) {
		io->gro_note = note_unsupported;
	} else {
		io->gro_note = note_on;
		io->has_gro = true;
	}
}

static void udp_renew(struct roce_pktio *base)
{
	struct udp_io *io = (struct udp_io *)base;

	io->has_rx_overflow = false;
	set_rx_options(io, base->fd);
}

static void udp_close(struct roce_pktio *base, bool closes_fd)
{
	struct udp_io *io = (struct udp_io *)base;

	for (uint32_t i = 0; i < UDP_FLOW_BUCKETS; i++)
		free_flows(&io->flows[i]);
	free_flows(&io->retired_flows);
	for (uint32_t i = 0; i < UDP_TX_SOCKETS_MAX; i++) {
		if (io->tx_fds[i] >= 0)
			close(io->tx_fds[i]);
	}
	if (closes_fd)
		close(base->fd);
	if (io->rx_buffers)
		munmap(io->rx_buffers, UDP_RX_DEPTH_MAX * UDP_RX_BYTES);
	free(io);
}

static const struct roce_pktio_ops udp_ops = {
	.rx = roce_udp_rx,
	.tx = roce_udp_tx,
	.flow = find_flow,
	.deadline = udp_deadline,
	.facts = udp_facts,
	.renew = udp_renew,
	.close = udp_close,
};

int roce_udp_open(const struct roce_udp_config *cfg, struct roce_pktio **out)
{
	struct udp_io *io = calloc(1, sizeof(*io));
	void *buffers;

	if (!io)
		return -ENOMEM;
	/* Pages are touched only as deep as traffic ever queues. */
	buffers = mmap(NULL, UDP_RX_DEPTH_MAX * UDP_RX_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffers == MAP_FAILED) {
		free(io);
		return -ENOMEM;
	}
	io->rx_buffers = buffers;
	io->base.ops = &udp_ops;
	io->base.stats = cfg->stats;
	io->base.local = cfg->local;
	io->base.fd = cfg->rx_fd;
	io->ifindex = cfg->ifindex;
	io->is_v4 = roce_gid_is_v4(&cfg->local);
	io->address_bytes = io->is_v4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	for (uint32_t i = 0; i < UDP_TX_SOCKETS_MAX; i++)
		io->tx_fds[i] = -1;
	decide_gso(io, cfg->rx_fd);
	set_rx_options(io, cfg->rx_fd);
	roce_udp_rx_init(io);
	roce_udp_tx_init(io);
	*out = &io->base;
	return 0;
}

void roce_udp_probe(struct roce_pktio_facts *out)
{
	struct roce_pktio_stats stats = {0};
	struct roce_udp_config cfg = {.stats = &stats};
	struct roce_pktio *io;

	*out = (struct roce_pktio_facts){.backend = "udp",
					 .batching_tx = note_unsupported,
					 .batching_rx = note_unsupported,
					 .segments_max = SEGMENTS_UNBATCHED};
	roce_put_be32(cfg.local.raw + 8, 0x0000ffff);
	roce_put_be32(cfg.local.raw + 12, INADDR_LOOPBACK);
	cfg.rx_fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (cfg.rx_fd < 0)
		return;
	if (roce_udp_open(&cfg, &io) < 0) {
		close(cfg.rx_fd);
		return;
	}
	roce_pktio_facts(io, out);
	roce_pktio_close(io);
}
