/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of queue pair 1 over loopback: what is sent is what is received, with the traffic class,
 * hop limit and flow label that were asked for; and each check of a received packet.
 */
#include "daemon/gsi.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cmocka.h>

#include "wire/headers.h"

#ifndef IPV6_FLOWINFO
#define IPV6_FLOWINFO 11
#endif

struct received {
	uint8_t data[512];
	size_t length;
	struct sockaddr_storage from;
	int traffic_class, hop_limit;
	uint32_t flow_label;
};

static struct roce_gsi gsi;

static int listen_on(bool is_v4)
{
	const struct sockaddr_in v4 = {.sin_family = AF_INET,
				       .sin_port = htons(ROCE_UDP_PORT),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 76)};
	const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
					.sin6_port = htons(ROCE_UDP_PORT),
					.sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int on = 1;

	assert_true(fd >= 0);
	setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IP, IP_RECVTTL, &on, sizeof(on));
	if (!is_v4) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, &on, sizeof(on));
		setsockopt(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, &on, sizeof(on));
		setsockopt(fd, IPPROTO_IPV6, IPV6_FLOWINFO, &on, sizeof(on));
	}
	if (bind(fd, is_v4 ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6,
		 is_v4 ? sizeof(v4) : sizeof(v6))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void receive(int fd, struct received *r)
{
	union {
		char bytes[256];
		struct cmsghdr align;
	} anc;
	struct iovec iov = {r->data, sizeof(r->data)};
	struct msghdr msg = {.msg_name = &r->from,
			     .msg_namelen = sizeof(r->from),
			     .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &anc,
			     .msg_controllen = sizeof(anc)};
	struct pollfd pfd = {.fd = fd, .events = POLLIN};
	ssize_t n;

	assert_int_equal(poll(&pfd, 1, 60000), 1);
	n = recvmsg(fd, &msg, 0);
	assert_true(n > 0);
	r->length = (size_t)n;
	r->traffic_class = r->hop_limit = 0;
	r->flow_label = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_type == IP_TOS || c->cmsg_type == IPV6_TCLASS)
			memcpy(&r->traffic_class, CMSG_DATA(c), c->cmsg_type == IP_TOS ? 1 : 4);
		else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_FLOWINFO)
			memcpy(&r->flow_label, CMSG_DATA(c), 4);
		else
			memcpy(&r->hop_limit, CMSG_DATA(c), 4);
	}
}

static struct roce_cm_packet packet(bool is_v4)
{
	struct roce_cm_packet p = {
		.route = {.flow_label = 0x12345, .traffic_class = 0x68, .hop_limit = 33}};

	p.route.local = is_v4 ? (struct roce_gid){{[10] = 0xff, 0xff, 127, 0, 0, 77}}
			      : (struct roce_gid){{[15] = 1}};
	p.route.remote = p.route.local;
	for (size_t i = 0; i < sizeof(p.mad); i++)
		p.mad[i] = (uint8_t)i;
	return p;
}

static void gsi__there_and_back(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 2; v++) {
		struct roce_cm_packet p = packet(v == 0);
		const struct roce_address local = {.gid = p.route.local};
		struct roce_cm_route route;
		struct received r;
		const uint8_t *mad;
		uint32_t length;
		int fd = listen_on(v == 0);

		if (fd < 0 && (errno == EADDRINUSE || v == 1))
			continue; /* somebody has the port, or there is no IPv6 */
		assert_true(fd >= 0);
		roce_gsi_init(&gsi);
		roce_gsi_send(&gsi, &p);
		roce_gsi_send(&gsi, &p);
		assert_int_equal(gsi.counter[ROCE_GSI_tx], 2);
		assert_int_equal(gsi.socket_count, 1);
		receive(fd, &r);
		assert_int_equal(r.length, 280);
		assert_int_equal(r.traffic_class, 0x68);
		assert_int_equal(r.hop_limit, 33);
		assert_int_equal(ntohl(r.flow_label) & 0xfffff, v == 0 ? 0 : 0x12345);
		mad = roce_gsi_receive(&gsi, &local, &r.from, r.data, r.length, &length, &route);
		assert_non_null(mad);
		assert_int_equal(length, 256);
		assert_memory_equal(mad, p.mad, 256);
		assert_true(roce_gid_is_equal(&route.remote, &p.route.local));
		assert_true(roce_gid_is_equal(&route.local, &p.route.local));
		close(fd);
		roce_gsi_fini(&gsi);
	}
}

/* ---- what is refused ---- */

static struct sockaddr_storage source(void)
{
	struct sockaddr_storage s = {.ss_family = AF_INET};
	struct sockaddr_in *in = (struct sockaddr_in *)&s;

	in->sin_port = htons(50000);
	in->sin_addr.s_addr = htonl(0x0a000002);
	return s;
}

static const struct roce_address here = {.gid = {{[10] = 0xff, 0xff, 10, 0, 0, 1}}};

static size_t build(struct roce_headers *h, uint8_t *out)
{
	const struct roce_gid there = {{[10] = 0xff, 0xff, 10, 0, 0, 2}};
	size_t length = roce_headers_encode(h, out);
	struct roce_icrc_flow flow;

	memset(out + length, 0, ROCE_MAD_BYTES);
	length += ROCE_MAD_BYTES;
	roce_icrc_flow_init(&flow, &there, &here.gid, 50000, ROCE_UDP_PORT);
	roce_icrc_put(out + length, roce_icrc_compute(&flow, 0, out, length));
	return length + ROCE_ICRC_BYTES;
}

static struct roce_headers good(void)
{
	return (struct roce_headers){
		.opcode = roce_opcode_make(ROCE_UD_SEND_ONLY),
		.pkey = 0xffff,
		.dest_qpn = {1},
		.src_qpn = {1},
		.qkey = ROCE_GSI_QKEY,
	};
}

static const uint8_t *give(struct roce_headers h)
{
	struct sockaddr_storage from = source();
	static uint8_t data[512];
	struct roce_cm_route route;
	uint32_t length;

	return roce_gsi_receive(&gsi, &here, &from, data, build(&h, data), &length, &route);
}

static void expect_refused(struct roce_headers h, enum roce_gsi_counter why)
{
	uint64_t before = gsi.counter[why];

	assert_null(give(h));
	assert_int_equal(gsi.counter[why], before + 1);
}

static void receive__each_check(void **state)
{
	struct sockaddr_storage from = source();
	struct roce_headers h = good();
	struct roce_cm_route route;
	uint8_t data[512];
	uint32_t out;
	size_t length;

	(void)state;
	roce_gsi_init(&gsi);
	assert_non_null(give(h));
	h.qkey ^= 1;
	expect_refused(h, ROCE_GSI_rx_bad_qkey);
	h = good();
	h.pkey = 0x8001;
	expect_refused(h, ROCE_GSI_rx_bad_pkey);
	h.pkey = 0x7fff; /* a limited member */
	assert_non_null(give(h));
	h = good();
	h.dest_qpn.v = 2;
	expect_refused(h, ROCE_GSI_rx_bad_qpn);
	h = good();
	h.src_qpn.v = 2;
	expect_refused(h, ROCE_GSI_rx_bad_qpn);
	h = good();
	h.opcode = roce_opcode_make(ROCE_RC_SEND_ONLY);
	expect_refused(h, ROCE_GSI_rx_bad_opcode);
	h = good();
	h.tver = 1;
	expect_refused(h, ROCE_GSI_rx_bad_headers);
	/* Damaged, too short, of the other family. */
	h = good();
	length = build(&h, data);
	data[50] ^= 1;
	assert_null(roce_gsi_receive(&gsi, &here, &from, data, length, &out, &route));
	assert_int_equal(gsi.counter[ROCE_GSI_rx_bad_icrc], 1);
	assert_null(roce_gsi_receive(&gsi, &here, &from, data, 15, &out, &route));
	assert_int_equal(gsi.counter[ROCE_GSI_rx_bad_headers], 2);
	from.ss_family = AF_INET6;
	assert_null(roce_gsi_receive(&gsi, &here, &from, data, length, &out, &route));
	assert_int_equal(gsi.counter[ROCE_GSI_rx_bad_headers], 3);
	assert_string_equal(roce_gsi_counter_str(ROCE_GSI_rx_bad_icrc), "gsi_rx_bad_icrc");
	roce_gsi_fini(&gsi);
}

/* An address that is not ours is an error that is counted, and takes no socket. */
static void send__from_nowhere(void **state)
{
	struct roce_cm_packet p = packet(true);

	(void)state;
	roce_gsi_init(&gsi);
	p.route.local = (struct roce_gid){{[10] = 0xff, 0xff, 198, 51, 100, 77}};
	roce_gsi_send(&gsi, &p);
	assert_int_equal(gsi.counter[ROCE_GSI_tx_failed], 1);
	assert_int_equal(gsi.socket_count, 0);
	roce_gsi_fini(&gsi);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gsi__there_and_back),
		cmocka_unit_test(receive__each_check),
		cmocka_unit_test(send__from_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
