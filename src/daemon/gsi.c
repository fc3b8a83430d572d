/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of queue pair 1, see gsi.h. */
#include "daemon/gsi.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/headers.h"

#ifndef IPV6_FLOWINFO
#define IPV6_FLOWINFO 11
#endif

#define SOURCE_PORT_FIRST 49152u
#define SOURCE_PORT_COUNT 16384u
#define SOURCE_PORT_TRIES 32u
#define PKEY_DEFAULT	  0xffffu
#define PKEY_BASE_MASK	  0x7fffu
#define PACKET_BYTES_MIN  (ROCE_BTH_BYTES + ROCE_ICRC_BYTES)
#define FLOW_LABEL_MASK	  0xfffffu
#define HOP_LIMIT_SYSTEM  64 /* which a packet need not name */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

const char *roce_gsi_counter_str(enum roce_gsi_counter counter)
{
	static const char *const names[] = {
#define X(name) [ROCE_GSI_##name] = "gsi_" #name,
		ROCE_GSI_COUNTERS(X)
#undef X
	};

	return counter < ROCE_GSI_COUNTER_COUNT ? names[counter] : NULL;
}

static uint32_t draw(void)
{
	uint32_t v = 0;

	while (getrandom(&v, sizeof(v), 0) < 0 && errno == EINTR)
		;
	return v;
}

void roce_gsi_init(struct roce_gsi *g)
{
	memset(g, 0, sizeof(*g));
	roce_list_init(&g->sockets);
	g->psn = draw() & ROCE_PSN_MASK;
}

static void close_socket(struct roce_gsi *g, struct roce_gsi_socket *s)
{
	roce_list_remove(&s->link);
	g->socket_count--;
	close(s->fd);
	free(s);
}

void roce_gsi_fini(struct roce_gsi *g)
{
	while (!roce_list_is_empty(&g->sockets))
		close_socket(g, roce_container_of(g->sockets.next, struct roce_gsi_socket, link));
}

/* ---- receive ---- */

static bool get_source(const struct sockaddr_storage *from, struct roce_gid *out_gid,
		       uint16_t *out_port)
{
	const union address *a = (const void *)from;

	if (from->ss_family == AF_INET) {
		*out_gid = (struct roce_gid){{[10] = 0xff, 0xff}};
		memcpy(out_gid->raw + 12, &a->v4.sin_addr, 4);
		*out_port = ntohs(a->v4.sin_port);
		return true;
	}
	if (from->ss_family != AF_INET6)
		return false;
	memcpy(out_gid->raw, &a->v6.sin6_addr, 16);
	*out_port = ntohs(a->v6.sin6_port);
	return true;
}

static struct roce_gsi_sender *find_sender(struct roce_gsi *g, const struct roce_gid *src,
					   const struct roce_gid *dst)
{
	uint64_t low;
	struct roce_gsi_sender *s;

	memcpy(&low, src->raw + 8, sizeof(low));
	s = &g->sender[(low * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
	if (!roce_gid_is_equal(&s->src, src) || !roce_gid_is_equal(&s->dst, dst))
		*s = (struct roce_gsi_sender){.src = *src, .dst = *dst};
	return s;
}

static const uint8_t *refuse(struct roce_gsi *g, enum roce_gsi_counter why)
{
	g->counter[why]++;
	return NULL;
}

const uint8_t *roce_gsi_receive(struct roce_gsi *g, const struct roce_address *local,
				const struct sockaddr_storage *from, const uint8_t *data,
				size_t length, uint32_t *out_len, struct roce_cm_route *out_route)
{
	roce_ns_t now = roce_clock_now();
	struct roce_gsi_sender *sender;
	struct roce_icrc_flow flow;
	struct roce_headers h;
	const uint8_t *payload;
	struct roce_gid src;
	uint16_t sport;

	g->counter[ROCE_GSI_rx]++;
	if (length < PACKET_BYTES_MIN || !get_source(from, &src, &sport) ||
	    roce_gid_is_v4(&src) != roce_gid_is_v4(&local->gid))
		return refuse(g, ROCE_GSI_rx_bad_headers);
	roce_icrc_flow_init(&flow, &src, &local->gid, sport, ROCE_UDP_PORT);
	sender = find_sender(g, &src, &local->gid);
	if (now - sender->heard_ns >= ROCE_ICRC_SILENCE_NS)
		sender->ids.was_silent = true;
	if (!roce_icrc_check(&flow, &sender->ids, 0, data, length))
		return refuse(g, ROCE_GSI_rx_bad_icrc);
	sender->heard_ns = now;
	if (roce_headers_decode(data, length, &h, &payload, out_len) != ROCE_DECODE_OK)
		return refuse(g, ROCE_GSI_rx_bad_headers);
	if (h.opcode.v != ROCE_UD_SEND_ONLY)
		return refuse(g, ROCE_GSI_rx_bad_opcode);
	if (h.dest_qpn.v != ROCE_GSI_QPN || h.src_qpn.v != ROCE_GSI_QPN)
		return refuse(g, ROCE_GSI_rx_bad_qpn);
	/* Ours is that of a full member, so a limited one matches too. */
	if ((h.pkey & PKEY_BASE_MASK) != PKEY_BASE_MASK)
		return refuse(g, ROCE_GSI_rx_bad_pkey);
	if (h.qkey != ROCE_GSI_QKEY)
		return refuse(g, ROCE_GSI_rx_bad_qkey);
	*out_route =
		(struct roce_cm_route){.local = local->gid, .remote = src, .scope = local->ifindex};
	return payload;
}

/* ---- send ---- */

static socklen_t fill_address(const struct roce_gid *gid, uint32_t scope, uint16_t port,
			      union address *out)
{
	memset(out, 0, sizeof(*out));
	if (roce_gid_is_v4(gid)) {
		out->v4.sin_family = AF_INET;
		out->v4.sin_port = htons(port);
		memcpy(&out->v4.sin_addr, gid->raw + 12, 4);
		return sizeof(out->v4);
	}
	out->v6.sin6_family = AF_INET6;
	out->v6.sin6_port = htons(port);
	out->v6.sin6_scope_id = scope;
	memcpy(&out->v6.sin6_addr, gid->raw, 16);
	return sizeof(out->v6);
}

static int set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

/* Unconnected and with PROBE, Linux sends DF and identification 0 (pktio/udp/udp.c). */
static int set_options(int fd, bool is_v4)
{
	set_option(fd, SOL_SOCKET, SO_RCVBUF, 0); /* nobody reads it */
	if (is_v4)
		return set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
	set_option(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 1);
	set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	return set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
}

static bool bind_source(struct roce_gsi_socket *s)
{
	for (unsigned i = 0; i < SOURCE_PORT_TRIES; i++) {
		union address a;
		socklen_t length;

		s->port = (uint16_t)(SOURCE_PORT_FIRST + draw() % SOURCE_PORT_COUNT);
		length = fill_address(&s->local.gid, s->local.ifindex, s->port, &a);
		if (bind(s->fd, &a.any, length) == 0)
			return true;
		if (errno != EADDRINUSE)
			return false;
	}
	return false;
}

static struct roce_gsi_socket *open_socket(struct roce_gsi *g, const struct roce_address *local)
{
	bool is_v4 = roce_gid_is_v4(&local->gid);
	struct roce_gsi_socket *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->local = *local;
	s->fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0 || set_options(s->fd, is_v4) || !bind_source(s)) {
		if (s->fd >= 0)
			close(s->fd);
		free(s);
		return NULL;
	}
	if (g->socket_count == ROCE_GSI_SOCKETS_MAX)
		close_socket(g, roce_container_of(g->sockets.prev, struct roce_gsi_socket, link));
	roce_list_init(&s->link);
	roce_list_add_tail(g->sockets.next, &s->link);
	g->socket_count++;
	return s;
}

static struct roce_gsi_socket *get_socket(struct roce_gsi *g, const struct roce_address *local)
{
	struct roce_list *pos;

	roce_list_for_each (pos, &g->sockets) {
		struct roce_gsi_socket *s = roce_container_of(pos, struct roce_gsi_socket, link);

		if (!roce_gid_is_equal(&s->local.gid, &local->gid) ||
		    s->local.ifindex != local->ifindex)
			continue;
		roce_list_remove(&s->link);
		roce_list_add_tail(g->sockets.next, &s->link);
		return s;
	}
	return open_socket(g, local);
}

static size_t encode(struct roce_gsi *g, const struct roce_cm_packet *p, uint16_t sport,
		     uint8_t *out)
{
	const struct roce_headers h = {
		.opcode = roce_opcode_make(ROCE_UD_SEND_ONLY),
		.pkey = PKEY_DEFAULT,
		.dest_qpn = {ROCE_GSI_QPN},
		.psn = roce_psn_make(g->psn++),
		.qkey = ROCE_GSI_QKEY,
		.src_qpn = {ROCE_GSI_QPN},
	};
	struct roce_icrc_flow flow;
	size_t length = roce_headers_encode(&h, out);

	memcpy(out + length, p->mad, ROCE_MAD_BYTES);
	length += ROCE_MAD_BYTES;
	roce_icrc_flow_init(&flow, &p->route.local, &p->route.remote, sport, ROCE_UDP_PORT);
	roce_icrc_put(out + length, roce_icrc_compute(&flow, 0, out, length));
	return length + ROCE_ICRC_BYTES;
}

/* Behind those that are there. */
static void put_control(struct msghdr *msg, int level, int type, int value)
{
	uint8_t *at = (uint8_t *)msg->msg_control + msg->msg_controllen;
	struct cmsghdr *c = (struct cmsghdr *)(void *)at;

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(sizeof(value));
	memcpy(CMSG_DATA(c), &value, sizeof(value));
	msg->msg_controllen += CMSG_SPACE(sizeof(value));
}

/* The flow label is that of the connection's path, which its queue pairs send with, too: switches
 * that hash it take both the same way. A packet without a path of its own has one from the system.
 */
static void fill_control(struct msghdr *msg, const struct roce_cm_route *r, bool has_flow_label)
{
	bool is_v4 = roce_gid_is_v4(&r->local);

	if (r->traffic_class)
		put_control(msg, is_v4 ? IPPROTO_IP : IPPROTO_IPV6, is_v4 ? IP_TOS : IPV6_TCLASS,
			    r->traffic_class);
	if (r->hop_limit && r->hop_limit != HOP_LIMIT_SYSTEM)
		put_control(msg, is_v4 ? IPPROTO_IP : IPPROTO_IPV6, is_v4 ? IP_TTL : IPV6_HOPLIMIT,
			    r->hop_limit);
	if (has_flow_label)
		put_control(msg, IPPROTO_IPV6, IPV6_FLOWINFO,
			    (int)htonl(r->flow_label & FLOW_LABEL_MASK));
	if (!msg->msg_controllen)
		msg->msg_control = NULL;
}

static bool wants_flow_label(const struct roce_cm_packet *p)
{
	return !roce_gid_is_v4(&p->route.local) && (p->route.flow_label & FLOW_LABEL_MASK) != 0;
}

static ssize_t send_packet(const struct roce_gsi_socket *s, const struct roce_cm_packet *p,
			   uint8_t *data, size_t length, bool has_flow_label)
{
	_Alignas(struct cmsghdr) uint8_t control[3 * CMSG_SPACE(sizeof(int))];
	union address to;
	struct iovec iov = {data, length};
	struct msghdr msg = {
		.msg_name = &to,
		.msg_namelen = fill_address(&p->route.remote, p->route.scope, ROCE_UDP_PORT, &to),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
	};

	memset(control, 0, sizeof(control));
	fill_control(&msg, &p->route, has_flow_label);
	return sendmsg(s->fd, &msg, MSG_DONTWAIT);
}

void roce_gsi_send(struct roce_gsi *g, const struct roce_cm_packet *p)
{
	const struct roce_address local = {.gid = p->route.local, .ifindex = p->route.scope};
	struct roce_gsi_socket *s = get_socket(g, &local);
	uint8_t data[ROCE_HEADERS_MAX + ROCE_MAD_BYTES + ROCE_ICRC_BYTES];
	ssize_t sent = -1;
	size_t length;

	if (s) {
		bool has_flow_label = wants_flow_label(p);

		length = encode(g, p, s->port, data);
		sent = send_packet(s, p, data, length, has_flow_label);
		/* A label that the system keeps for others, or an error that an earlier datagram
		 * left on the socket. */
		if (sent < 0 && ((errno == EINVAL && has_flow_label) || errno == ECONNREFUSED))
			sent = send_packet(s, p, data, length, has_flow_label && errno != EINVAL);
	}
	g->counter[sent < 0 ? ROCE_GSI_tx_failed : ROCE_GSI_tx]++;
	/* The address may have gone and come back: a socket on it is made anew. */
	if (s && sent < 0 && (errno == EINVAL || errno == EADDRNOTAVAIL || errno == ENODEV))
		close_socket(g, s);
}
