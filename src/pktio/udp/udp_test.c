/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The socket backend over loopback in a network namespace of the test's own: what is sent arrives,
 * batched or not, with every ICRC right for the identification that really is on the wire. Where no
 * namespace can be made the tests that need one are skipped.
 */
#include "pktio/udp/udp.h"

#include "base/forbid_test.h"
#include "wire/encap.h"
#include "wire/headers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS   60000 /* for what must come */
#define SLOT	      7u
#define SEGMENT_BYTES 1040u
#define SEGMENTS_MAX  60u
#define LAST_BYTES    100u
#define NO_SECCOMP    77 /* exit status */

static bool has_namespace;

struct ends {
	struct roce_pktio_stats stats;
	struct roce_pktio *io; /* sends to itself */
	struct roce_gid gid;
	struct roce_icrc_id_state ids;
	uint8_t staging[SEGMENTS_MAX * SEGMENT_BYTES];
	uint32_t packets;
	uint32_t batches;
	uint32_t damaged;
	uint8_t traffic_class;
	uint8_t hop_limit;
};

static int bring_up_loopback(void)
{
	struct ifreq ifr = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int result;

	if (fd < 0)
		return -1;
	ifr.ifr_flags = IFF_UP | IFF_RUNNING;
	result = ioctl(fd, SIOCSIFFLAGS, &ifr);
	close(fd);
	return result;
}

static int call_ethtool(void *command)
{
	struct ifreq ifr = {.ifr_name = "lo", .ifr_data = command};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int result = ioctl(fd, SIOCETHTOOL, &ifr);

	close(fd);
	return result;
}

/* With loopback's segmentation off the kernel cuts batches before a packet socket sees them. */
static int set_loopback_segmentation(bool on)
{
	static union {
		struct ethtool_gstrings strings;
		uint8_t room[sizeof(struct ethtool_gstrings) + 128 * ETH_GSTRING_LEN];
	} names = {.strings = {.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES}};
	union {
		struct ethtool_sfeatures features;
		uint8_t room[sizeof(struct ethtool_sfeatures) +
			     4 * sizeof(struct ethtool_set_features_block)];
	} set = {.features = {.cmd = ETHTOOL_SFEATURES}};

	union {
		struct ethtool_sset_info info;
		uint32_t words[5]; /* the count stands behind the structure */
	} size = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1u << ETH_SS_FEATURES}};

	if (call_ethtool(&size) < 0 || size.words[4] > 128)
		return -1;
	names.strings.len = size.words[4];
	if (call_ethtool(&names) < 0)
		return -1;
	set.features.size = (names.strings.len + 31) / 32;
	for (uint32_t i = 0; i < names.strings.len; i++) {
		const char *name = (const char *)names.strings.data + i * ETH_GSTRING_LEN;

		if (strcmp(name, "tx-udp-segmentation") == 0) {
			set.features.features[i / 32].valid = 1u << i % 32;
			set.features.features[i / 32].requested = on ? 1u << i % 32 : 0;
			return call_ethtool(&set);
		}
	}
	return -1;
}

static int enter_namespace(void **state)
{
	(void)state;
	has_namespace =
		(unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) &&
		bring_up_loopback() == 0;
	return 0;
}

static int open_rx_socket(const struct roce_gid *gid)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT)};
	struct sockaddr_in6 a6 = {.sin6_family = AF_INET6, .sin6_port = htons(ROCE_UDP_PORT)};
	bool is_v4 = roce_gid_is_v4(gid);
	int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	memcpy(&a.sin_addr, gid->raw + 12, 4);
	memcpy(&a6.sin6_addr, gid->raw, 16);
	assert_int_equal(is_v4 ? bind(fd, (struct sockaddr *)&a, sizeof(a))
			       : bind(fd, (struct sockaddr *)&a6, sizeof(a6)),
			 0);
	return fd;
}

static struct roce_gid gid_of(const char *text)
{
	struct roce_gid gid = {{0}};

	if (strchr(text, ':')) {
		assert_int_equal(inet_pton(AF_INET6, text, gid.raw), 1);
	} else {
		gid.raw[10] = gid.raw[11] = 0xff;
		assert_int_equal(inet_pton(AF_INET, text, gid.raw + 12), 1);
	}
	return gid;
}

static void open_ends(struct ends *e, const char *address)
{
	struct roce_udp_config cfg;

	if (!has_namespace)
		skip();
	memset(e, 0, sizeof(*e));
	e->gid = gid_of(address);
	cfg = (struct roce_udp_config){
		.local = e->gid, .rx_fd = open_rx_socket(&e->gid), .stats = &e->stats};
	assert_int_equal(roce_udp_open(&cfg, &e->io), 0);
}

static void close_ends(struct ends *e)
{
	roce_pktio_close(e->io);
}

/* A packet whose bytes tell their number, ICRC for identification `id`. */
static uint32_t put_packet(struct ends *e, const struct roce_pktio_flow *flow, uint8_t *at,
			   uint32_t length, uint16_t id, uint32_t number)
{
	struct roce_headers h = {.opcode = {0x01}, .pkey = 0xffff, .dest_qpn = {SLOT << 16 | 5}};

	(void)e;
	h.psn = roce_psn_make(number);
	roce_headers_encode(&h, at);
	for (uint32_t i = 12; i < length - 4; i++)
		at[i] = (uint8_t)(number + i);
	roce_icrc_put(at + length - 4, roce_icrc_compute(&flow->icrc, id, at, length - 4));
	return length;
}

static struct roce_pktio_tx make_batch(struct ends *e, uint32_t count, uint32_t last_bytes)
{
	struct roce_pktio_flow *flow = roce_pktio_flow(e->io, &e->gid, SLOT);
	struct roce_pktio_tx b = {.flow = flow,
				  .data = e->staging,
				  .segment_length = count > 1 ? SEGMENT_BYTES : last_bytes,
				  .segment_count = (uint16_t)count,
				  .traffic_class = 0x6a,
				  .hop_limit = 33};

	assert_non_null(flow);
	for (uint32_t i = 0; i < count; i++)
		b.length += put_packet(e, flow, e->staging + b.length,
				       i + 1 < count ? SEGMENT_BYTES : last_bytes, (uint16_t)i, i);
	return b;
}

static void check_packet(struct ends *e, const struct roce_pktio_rx *b, uint32_t offset,
			 uint32_t length)
{
	struct roce_icrc_flow flow;
	uint32_t number = roce_get_be24(b->data + offset + 9);

	roce_icrc_flow_init(&flow, &b->src, &e->io->local, b->sport, ROCE_UDP_PORT);
	e->packets++;
	if (!roce_icrc_check(&flow, &e->ids, (uint16_t)(b->index_base + offset / b->segment_length),
			     b->data + offset, length)) {
		e->damaged++;
		return;
	}
	for (uint32_t i = 12; i < length - 4; i++)
		assert_int_equal(b->data[offset + i], (uint8_t)(number + i));
}

static void receive_within(struct ends *e, uint32_t packets, int ms)
{
	struct pollfd p = {.fd = e->io->fd, .events = POLLIN};

	while (e->packets < packets && poll(&p, 1, ms) > 0) {
		struct roce_pktio_rx batches[ROCE_PKTIO_RX_BATCHES_MAX];
		uint32_t count = roce_pktio_rx(e->io, batches, ROCE_PKTIO_RX_BATCHES_MAX);

		for (uint32_t i = 0; i < count; i++) {
			const struct roce_pktio_rx *b = &batches[i];

			e->batches++;
			e->traffic_class = b->traffic_class;
			e->hop_limit = b->hop_limit;
			for (uint32_t at = 0; at < b->length; at += b->segment_length) {
				uint32_t left = b->length - at;

				check_packet(e, b, at,
					     left < b->segment_length ? left : b->segment_length);
			}
		}
	}
}

static void receive_expected(struct ends *e, uint32_t packets)
{
	receive_within(e, packets, PATIENCE_MS);
}

static void send_and_check(struct ends *e, uint32_t count, uint32_t last_bytes)
{
	struct roce_pktio_tx b = make_batch(e, count, last_bytes);
	uint32_t before = e->packets;

	roce_pktio_tx(e->io, &b, 1);
	receive_expected(e, before + count);
	assert_int_equal(e->packets - before, count);
	assert_int_equal(e->damaged, 0);
	assert_int_equal(e->traffic_class, 0x6a);
	assert_int_equal(e->hop_limit, 33);
	assert_int_equal(e->stats.tx_dropped, 0);
	assert_int_equal(e->stats.tx_packets, e->stats.rx_packets);
}

static void exchange(const char *address, const char *gso, const char *gro, uint32_t *out_batches)
{
	static struct ends e;

	setenv("UROCE_GSO", gso, 1);
	setenv("UROCE_GRO", gro, 1);
	open_ends(&e, address);
	send_and_check(&e, 1, SEGMENT_BYTES);
	send_and_check(&e, 1, 16);
	e.batches = 0;
	send_and_check(&e, 15, SEGMENT_BYTES);
	send_and_check(&e, 15, LAST_BYTES);
	*out_batches = e.batches;
	close_ends(&e);
	unsetenv("UROCE_GSO");
	unsetenv("UROCE_GRO");
}

static void exchange__v4_batched(void **state)
{
	uint32_t batches = 0;

	(void)state;
	exchange("127.77.0.1", "on", "on", &batches);
	assert_int_equal(batches, 2);
}

static void exchange__v6_batched(void **state)
{
	uint32_t batches = 0;

	(void)state;
	exchange("::1", "on", "on", &batches);
	assert_int_equal(batches, 2);
}

static void exchange__gso_off_sends_single_packets(void **state)
{
	uint32_t batches = 0;

	(void)state;
	exchange("127.77.0.1", "off", "on", &batches);
	assert_int_equal(batches, 30);
	exchange("::1", "off", "on", &batches);
	assert_int_equal(batches, 30);
}

static void exchange__gro_off_receives_single_packets(void **state)
{
	uint32_t batches = 0;

	(void)state;
	exchange("127.77.0.1", "on", "off", &batches);
	assert_int_equal(batches, 30);
	exchange("::1", "on", "off", &batches);
	assert_int_equal(batches, 30);
}

/* More batches than one sendmmsg() takes, and more datagrams than one call receives. */
static void tx__many_batches_in_one_call(void **state)
{
	static struct ends e;
	struct roce_pktio_tx batches[40];

	(void)state;
	open_ends(&e, "127.77.0.1");
	for (uint32_t i = 0; i < 40; i++) {
		batches[i] = make_batch(&e, 1, SEGMENT_BYTES);
		batches[i].data = e.staging + i * SEGMENT_BYTES;
		put_packet(&e, batches[i].flow, batches[i].data, SEGMENT_BYTES, 0, i);
	}
	roce_pktio_tx(e.io, batches, 40);
	receive_expected(&e, 40);
	assert_int_equal(e.packets, 40);
	assert_int_equal(e.damaged, 0);
	assert_int_equal(e.stats.tx_batches, 40);
	close_ends(&e);
}

/* One segment larger than the route takes fails alone: EMSGSIZE, and batching stays on. */
static void tx__failure_costs_only_the_datagram(void **state)
{
	static struct ends e;
	struct roce_pktio_tx batches[3];
	struct roce_gid elsewhere = gid_of("10.99.99.99"); /* no route */

	(void)state;
	open_ends(&e, "127.77.0.1");
	for (uint32_t i = 0; i < 3; i++)
		batches[i] = make_batch(&e, 4, SEGMENT_BYTES);
	batches[1].flow = roce_pktio_flow(e.io, &elsewhere, SLOT);
	assert_non_null(batches[1].flow);
	roce_pktio_tx(e.io, batches, 3);
	receive_expected(&e, 8);
	assert_int_equal(e.packets, 8);
	assert_int_equal(e.damaged, 0);
	assert_int_equal(e.stats.tx_dropped, 4);
	assert_true(e.io->segments_max > 1);
	close_ends(&e);
}

/* A kernel without room for so many segments: smaller batches, corrected ICRCs, nothing lost. */
static void tx__refused_batch_is_cut_and_corrected(void **state)
{
	static struct ends e;
	struct roce_pktio_tx b;

	(void)state;
	open_ends(&e, "127.77.0.1");
	b = make_batch(&e, 10, LAST_BYTES);
	e.io->segments_max = 3;
	roce_pktio_tx(e.io, &b, 1);
	receive_expected(&e, 10);
	assert_int_equal(e.packets, 10);
	assert_int_equal(e.damaged, 0);
	assert_int_equal(e.stats.tx_resegmented, 10);
	close_ends(&e);
}

/* A UDP checksum that the kernel must leave out makes it refuse batches (EIO or EINVAL, by
 * version). */
static void tx__kernel_refuses_gso_falls_back_for_good(void **state)
{
	static struct ends e;
	struct roce_pktio_facts facts;
	struct roce_pktio_tx b;
	int next_fd;
	int one = 1;

	(void)state;
	open_ends(&e, "127.77.0.1");
	b = make_batch(&e, 8, LAST_BYTES);
	/* the transmitting socket is the youngest descriptor */
	next_fd = dup(e.io->fd);
	close(next_fd);
	assert_int_equal(setsockopt(next_fd - 1, SOL_SOCKET, SO_NO_CHECK, &one, sizeof(one)), 0);
	roce_pktio_tx(e.io, &b, 1);
	receive_expected(&e, 8);
	assert_int_equal(e.packets, 8);
	assert_int_equal(e.damaged, 0);
	assert_int_equal(e.io->segments_max, 1);
	assert_int_equal(e.stats.tx_dropped, 0);
	roce_pktio_facts(e.io, &facts);
	assert_string_equal(facts.batching_tx, "refused by the kernel");
	close_ends(&e);
}

static void rx__overflow_is_counted(void **state)
{
	static struct ends e;
	struct roce_pktio_tx b;
	uint32_t lost;
	int small = 1;

	(void)state;
	open_ends(&e, "127.77.0.1");
	assert_int_equal(setsockopt(e.io->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	for (uint32_t i = 0; i < 20; i++) {
		b = make_batch(&e, 1, SEGMENT_BYTES);
		roce_pktio_tx(e.io, &b, 1);
	}
	receive_within(&e, 20, 500);
	assert_in_range(e.packets, 1, 10);
	/* the count comes with the next datagram that finds room */
	lost = 20 - e.packets;
	b = make_batch(&e, 1, SEGMENT_BYTES);
	roce_pktio_tx(e.io, &b, 1);
	receive_expected(&e, e.packets + 1);
	assert_int_equal(e.stats.rx_overflow, lost);
	close_ends(&e);
}

static int open_capture(void)
{
	struct sockaddr_ll a = {.sll_family = AF_PACKET,
				.sll_protocol = htons(ETH_P_ALL),
				.sll_ifindex = (int)if_nametoindex("lo")};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));

	if (fd >= 0)
		assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* What really is on the wire: DF, identification i for segment i, and an ICRC that covers it. */
static void check_captured(int capture, uint32_t expected, bool is_batched)
{
	uint8_t frame[4096];
	struct pollfd p = {.fd = capture, .events = POLLIN};
	uint32_t seen = 0;

	while (seen < expected && poll(&p, 1, PATIENCE_MS) > 0) {
		struct sockaddr_ll from;
		socklen_t from_bytes = sizeof(from);
		struct roce_icrc_flow flow;
		struct roce_encap encap;
		const uint8_t *bth;
		size_t length;
		ssize_t got = recvfrom(capture, frame, sizeof(frame), 0, (struct sockaddr *)&from,
				       &from_bytes);

		if (got < 0 || from.sll_pkttype != PACKET_OUTGOING)
			continue;
		assert_int_equal(roce_encap_decode(frame, (size_t)got, &encap, &bth, &length),
				 ROCE_ENCAP_OK);
		assert_true(encap.dont_fragment);
		assert_int_equal(encap.ip_id, is_batched ? seen : 0);
		assert_int_equal(encap.udp_dport, ROCE_UDP_PORT);
		assert_in_range(encap.udp_sport, 49152, 65535);
		roce_icrc_flow_init(&flow, &encap.src, &encap.dst, encap.udp_sport,
				    encap.udp_dport);
		assert_int_equal(roce_icrc_get(bth + length - 4),
				 roce_icrc_compute(&flow, encap.ip_id, bth, length - 4));
		seen++;
	}
	assert_int_equal(seen, expected);
}

static void wire__identification_and_icrc(void **state)
{
	static struct ends e;
	struct roce_pktio_tx b;
	int capture;

	(void)state;
	if (!has_namespace)
		skip();
	capture = open_capture();
	if (capture < 0 || set_loopback_segmentation(false) < 0)
		skip();
	open_ends(&e, "127.77.0.1");
	b = make_batch(&e, 12, LAST_BYTES);
	roce_pktio_tx(e.io, &b, 1);
	check_captured(capture, 12, true);
	for (uint32_t i = 0; i < 3; i++) {
		b = make_batch(&e, 1, SEGMENT_BYTES);
		roce_pktio_tx(e.io, &b, 1);
	}
	check_captured(capture, 3, false);
	b = make_batch(&e, 5, SEGMENT_BYTES); /* cut by us: single packets have 0 again */
	e.io->segments_max = 1;
	roce_pktio_tx(e.io, &b, 1);
	check_captured(capture, 5, false);
	assert_int_equal(set_loopback_segmentation(true), 0);
	close_ends(&e);
	close(capture);
}

static void flow__port_follows_destination_and_slot(void **state)
{
	static struct ends e;
	struct roce_gid v6 = gid_of("::1");
	uint16_t first;
	uint32_t others = 0;

	(void)state;
	open_ends(&e, "127.77.0.1");
	first = roce_pktio_flow(e.io, &e.gid, 1)->sport;
	for (uint32_t slot = 2; slot < 255; slot++) {
		others += roce_pktio_flow(e.io, &e.gid, (uint8_t)slot)->sport != first;
	}
	assert_true(others > 200);
	assert_int_equal(roce_pktio_flow(e.io, &e.gid, 1)->sport, first);
	assert_null(roce_pktio_flow(e.io, &v6, 1));
	close_ends(&e);
}

/* A batch that waits to be sent keeps its flow although the table had to make room meanwhile. */
static void flow__survives_a_full_table(void **state)
{
	static struct ends e;
	struct roce_pktio_tx b;
	struct roce_gid other = gid_of("127.0.0.0");

	(void)state;
	open_ends(&e, "127.77.0.1");
	b = make_batch(&e, 3, LAST_BYTES);
	for (uint32_t i = 0; e.stats.flow_resets == 0; i++) {
		assert_true(i < 100000);
		roce_put_be16(other.raw + 14, (uint16_t)(i / 255));
		assert_non_null(roce_pktio_flow(e.io, &other, (uint8_t)(1 + i % 255)));
	}
	roce_pktio_tx(e.io, &b, 1);
	receive_expected(&e, 3);
	assert_int_equal(e.packets, 3);
	assert_int_equal(e.damaged, 0);
	close_ends(&e);
}

/* In a process that may not ask for random bytes the ports differ all the same. */
static void flow__ports_without_random_bytes(void **state)
{
	static struct ends e;
	pid_t child;
	int status;

	(void)state;
	open_ends(&e, "127.77.0.1");
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		const struct roce_pktio_flow *one, *two;

		if (!forbid(SYS_getrandom, SYS_getrandom))
			_exit(NO_SECCOMP);
		one = roce_pktio_flow(e.io, &e.gid, 1);
		for (uint8_t slot = 2; slot < 255; slot++) {
			two = roce_pktio_flow(e.io, &e.gid, slot);
			if (!one || !two || one->sport < 49152 || two->sport < 49152)
				_exit(1);
			if (one->sport != two->sport)
				_exit(0);
		}
		_exit(2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	close_ends(&e);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_SECCOMP)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exchange__v4_batched),
		cmocka_unit_test(exchange__v6_batched),
		cmocka_unit_test(exchange__gso_off_sends_single_packets),
		cmocka_unit_test(exchange__gro_off_receives_single_packets),
		cmocka_unit_test(tx__many_batches_in_one_call),
		cmocka_unit_test(tx__failure_costs_only_the_datagram),
		cmocka_unit_test(tx__refused_batch_is_cut_and_corrected),
		cmocka_unit_test(tx__kernel_refuses_gso_falls_back_for_good),
		cmocka_unit_test(rx__overflow_is_counted),
		cmocka_unit_test(wire__identification_and_icrc),
		cmocka_unit_test(flow__port_follows_destination_and_slot),
		cmocka_unit_test(flow__survives_a_full_table),
		cmocka_unit_test(flow__ports_without_random_bytes),
	};

	return cmocka_run_group_tests(tests, enter_namespace, NULL);
}
