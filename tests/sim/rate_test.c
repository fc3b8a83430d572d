/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rate limits of a queue pair, measured in virtual time: what leaves over many packets, what leaves
 * back to back, that a slow pace is not mistaken for a loss, and who is not held back.
 */
#include "fixture.h"

#include "wire/opcode.h"

#include <string.h>

#define IP_UDP_BYTES 48u /* the hosts of the pair speak IPv6 */
#define ICRC_BYTES   4u

static struct fixture f;

/* Of the packets of host 0. */
static struct {
	uint32_t count;
	uint64_t ip_bytes;
	roce_ns_t first_at;
	roce_ns_t last_at;
	uint32_t last_bytes;
	uint64_t at_once; /* bytes since the last pause */
	uint64_t at_once_max;
} sent;

static void note(void *ctx, enum roce_link_fate fate, unsigned int from,
		 const struct roce_link_pkt *pkt, enum roce_verdict verdict)
{
	roce_ns_t now = sim_pair_now(ctx);
	uint32_t bytes = IP_UDP_BYTES + roce_opcode_info(pkt->hdr.opcode)->header_len +
			 pkt->payload_len + pkt->hdr.pad_count + ICRC_BYTES;

	(void)verdict;
	if (from != 0 || fate != ROCE_LINK_SENT)
		return;
	if (!sent.count++)
		sent.first_at = now;
	else if (now != sent.last_at)
		sent.at_once = 0;
	sent.at_once += bytes;
	if (sent.at_once > sent.at_once_max)
		sent.at_once_max = sent.at_once;
	sent.ip_bytes += bytes;
	sent.last_at = now;
	sent.last_bytes = bytes;
}

static void start(enum roce_qp_type type)
{
	fixture_init(&f);
	f.types[0] = f.types[1] = (uint8_t)type;
	f.conn.timeout = 14;
	fixture_start(&f, true);
	f.pair.observe = note;
	f.pair.observe_ctx = &f.pair;
	f.pair.is_quiet = true;
	memset(&sent, 0, sizeof(sent));
}

/* kbit/s, of everything but the last packet: what follows that one is not seen. */
static uint64_t measured_rate(void)
{
	return (sent.ip_bytes - sent.last_bytes) * ROCE_PACE_BYTE_NS /
	       (sent.last_at - sent.first_at);
}

static void run_writes(uint32_t count, uint32_t bytes)
{
	for (uint32_t i = 0; i < count; i++)
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, i, bytes, 0);
	sim_pair_run(&f.pair, 100 * ROCE_NS_PER_S);
	assert_int_equal(f.a->sq.completed, f.a->sq.posted);
	assert_int_equal(f.a->attr.state, ROCE_QP_RTS);
}

static void limit_rate__measured(void **state)
{
	static const struct {
		enum roce_qp_type type;
		uint32_t kbit_per_s;
		uint32_t burst_bytes;
	} cases[] = {
		{ROCE_QP_RC, 1000000, 5000},  {ROCE_QP_RC, 10000000, 5000}, {ROCE_QP_RC, 777777, 1},
		{ROCE_QP_RC, 100000, 20000},  {ROCE_QP_UC, 1000000, 5000},  {ROCE_QP_UC, 123456, 1},
		{ROCE_QP_UC, 2000000, 64000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t rate;
		uint64_t lent;

		start(cases[i].type);
		assert_true(roce_qp_limit_rate(f.a, cases[i].kbit_per_s, cases[i].burst_bytes));
		run_writes(8, BUF);
		/* Above it may be what the burst at the start lends. */
		rate = measured_rate();
		lent = (uint64_t)cases[i].kbit_per_s * cases[i].burst_bytes / sent.ip_bytes;
		assert_in_range(rate, cases[i].kbit_per_s * UINT64_C(999) / 1000,
				cases[i].kbit_per_s * UINT64_C(1001) / 1000 + lent);
		assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_TX_RETRANSMITTED), 0);
		fixture_stop(&f);
	}
}

/* Nothing longer than the burst leaves back to back; a packet always may. */
static void limit_rate__burst(void **state)
{
	static const uint32_t bursts[] = {1, 1100, 2000, 5000, 16000};
	const uint32_t packet = 1024 + 16 + 12 + IP_UDP_BYTES + ICRC_BYTES;

	(void)state;
	for (size_t i = 0; i < sizeof(bursts) / sizeof(bursts[0]); i++) {
		start(ROCE_QP_UC);
		assert_true(roce_qp_limit_rate(f.a, 100000, bursts[i]));
		run_writes(4, 65536);
		assert_in_range(sent.at_once_max, packet - 16,
				bursts[i] > packet ? bursts[i] : packet);
		fixture_stop(&f);
	}
	/* Ours: what leaves in 200 us, and one packet more. */
	start(ROCE_QP_UC);
	assert_true(roce_qp_limit_rate(f.a, 1000000, 0));
	run_writes(4, 65536);
	assert_in_range(sent.at_once_max, 20000, 25000 + packet);
	fixture_stop(&f);
}

/* 80 ms from packet to packet, an ACK timeout of 67 ms: each is answered in time. */
static void limit_rate__slower_than_the_timeout(void **state)
{
	(void)state;
	start(ROCE_QP_RC);
	assert_true(roce_qp_limit_rate(f.a, 100, 1));
	run_writes(1, 8192);
	assert_int_equal(sent.count, 8);
	assert_in_range(sent.last_at - sent.first_at, 500 * ROCE_NS_PER_MS, 700 * ROCE_NS_PER_MS);
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_ACK_TIMEOUTS), 0);
	fixture_stop(&f);
}

/* What leaves in 300 ms when we are called every 3 ms only, in bytes as IP carries them. */
static uint64_t sent_when_called_late(uint32_t burst_bytes)
{
	struct roce_transport *t;
	struct roce_tx_pkt pkts[16];
	uint64_t bytes = 0;
	struct roce_sge sge;
	size_t n;

	start(ROCE_QP_UC);
	t = &f.pair.hosts[0].transport;
	assert_true(roce_qp_limit_rate(f.a, 100000, burst_bytes));
	for (roce_ns_t now = 0; now < 300 * ROCE_NS_PER_MS; now += 3 * ROCE_NS_PER_MS) {
		struct roce_send_wr wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 1, BUF, &sge);

		wr.flags = 0;
		while (f.a->sq.posted - f.a->sq.completed < 4)
			assert_int_equal(roce_post_send(f.a, &wr, now), ROCE_POST_OK);
		f.a->sq.reclaimed = f.a->sq.completed;
		roce_on_deadline(t, now);
		while ((n = roce_tx(t, pkts, 16, now)) > 0)
			for (size_t i = 0; i < n; i++)
				bytes += IP_UDP_BYTES +
					 roce_opcode_info(pkts[i].hdr.opcode)->header_len +
					 pkts[i].payload.length + ICRC_BYTES;
	}
	fixture_stop(&f);
	return bytes;
}

/* A busy machine calls us late: a queue with work makes up for it, unless the program has said what
 * may leave back to back. */
static void limit_rate__called_late(void **state)
{
	const uint64_t due = UINT64_C(100000) * 1000 / 8 * 297 / 1000; /* the last call is there */

	(void)state;
	assert_in_range(sent_when_called_late(0), due * 99 / 100, due * 101 / 100 + 4000);
	assert_in_range(sent_when_called_late(3000), 100 * 1000, 100 * 3000);
}

/* Another rate, or none, is followed at once, and a RESET ends it. */
static void limit_rate__changes(void **state)
{
	roce_ns_t before;

	(void)state;
	start(ROCE_QP_RC);
	assert_true(roce_qp_limit_rate(f.a, 1, 1)); /* 9 s for a packet */
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8192, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(sent.count, 1);
	assert_int_equal(f.a->attr.rate_kbit_per_s, 1);
	before = sim_pair_now(&f.pair);
	assert_true(roce_qp_limit_rate(f.a, 0, 0));
	roce_link_kick(&f.pair.link, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(sent.count, 8);
	assert_in_range(sent.last_at - before, 0, 10 * ROCE_NS_PER_US);
	assert_true(roce_qp_limit_rate(f.a, 1, 1));
	assert_int_equal(sim_pair_set_state(&f.pair, 0, f.a, ROCE_QP_RESET), ROCE_MODIFY_OK);
	assert_int_equal(f.a->attr.rate_kbit_per_s, 0);
	assert_int_equal(f.a->rate.kbit_per_s, 0);
	assert_false(roce_qp_limit_rate(f.a, 1, 1)); /* it does not send in RESET */
	fixture_stop(&f);
}

/* A queue that was held back under an earlier limit makes up for nothing under the next one. */
static void limit_rate__begins_anew(void **state)
{
	uint64_t before;

	(void)state;
	start(ROCE_QP_RC);
	assert_true(roce_qp_limit_rate(f.a, 100000, 0));
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, BUF, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_true(roce_qp_limit_rate(f.a, 0, 0));
	roce_link_kick(&f.pair.link, 0);
	sim_pair_run(&f.pair, 20 * ROCE_NS_PER_MS);
	assert_int_equal(f.a->sq.completed, f.a->sq.posted);
	assert_true(roce_qp_limit_rate(f.a, 100000, 0));
	before = sent.ip_bytes;
	sent.at_once_max = 0;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, BUF, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	/* 200 us and a packet at once, then the rate. */
	assert_in_range(sent.at_once_max, 1, 2500 + 2 * 1100);
	assert_in_range(sent.ip_bytes - before, 1, 12500 + 2500 + 2 * 1100);
	fixture_stop(&f);
}

/* A higher rate does not wait for what the lower one has run up, also by way of no limit. */
static void limit_rate__raised(void **state)
{
	(void)state;
	for (int by_none = 0; by_none < 2; by_none++) {
		roce_ns_t before;

		start(ROCE_QP_RC);
		assert_true(roce_qp_limit_rate(f.a, 1, 1)); /* 9 s for a packet */
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8192, 0);
		sim_pair_run(&f.pair, ROCE_NS_PER_MS);
		assert_int_equal(sent.count, 1);
		before = sim_pair_now(&f.pair);
		if (by_none)
			assert_true(roce_qp_limit_rate(f.a, 0, 0));
		assert_true(roce_qp_limit_rate(f.a, 1000000, 1));
		roce_link_kick(&f.pair.link, 0);
		sim_pair_run(&f.pair, ROCE_NS_PER_MS);
		assert_int_equal(sent.count, 8);
		assert_in_range(sent.last_at - before, 50 * ROCE_NS_PER_US, 100 * ROCE_NS_PER_US);
		fixture_stop(&f);
	}
}

/* Answers are not the send queue's: the peer reads at full speed. */
static void limit_rate__answers_are_free(void **state)
{
	(void)state;
	start(ROCE_QP_RC);
	assert_true(roce_qp_limit_rate(f.a, 1, 1));
	fixture_post(&f, 1, ROCE_WR_RDMA_READ, 1, BUF, 0);
	sim_pair_run(&f.pair, 10 * ROCE_NS_PER_MS);
	assert_int_equal(f.b->sq.completed, f.b->sq.posted);
	assert_true(sent.count >= BUF / 1024);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limit_rate__measured),
		cmocka_unit_test(limit_rate__burst),
		cmocka_unit_test(limit_rate__slower_than_the_timeout),
		cmocka_unit_test(limit_rate__called_late),
		cmocka_unit_test(limit_rate__changes),
		cmocka_unit_test(limit_rate__begins_anew),
		cmocka_unit_test(limit_rate__raised),
		cmocka_unit_test(limit_rate__answers_are_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
