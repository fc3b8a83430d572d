/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times and retry counts, exactly, in virtual time: the local ACK timeout, all RNR delays,
 * retry_cnt and rnr_retry, and what reloads them.
 */
#include "fixture.h"

#include "wire/aeth.h"
#include "wire/opcode.h"

#include <string.h>

static struct fixture f;

/* When the last packets of some kind went by, in ns. */
static roce_ns_t sent_at;
static roce_ns_t nak_arrived_at;
static uint32_t sent_count;
static uint32_t nak_count;

static void note(void *ctx, enum roce_link_fate fate, unsigned int from,
		 const struct roce_link_pkt *pkt, enum roce_verdict verdict)
{
	struct sim_pair *p = ctx;

	(void)pkt;
	if (from == 0 && fate == ROCE_LINK_SENT) {
		sent_at = sim_pair_now(p);
		sent_count++;
	}
	if (from == 1 && fate == ROCE_LINK_DELIVERED && verdict == ROCE_RX_NAK_RNR) {
		nak_arrived_at = sim_pair_now(p);
		nak_count++;
	}
}

static void start(bool is_connected)
{
	fixture_start(&f, is_connected);
	f.pair.observe = note;
	f.pair.observe_ctx = &f.pair;
	f.pair.is_quiet = true;
	sent_at = nak_arrived_at = 0;
	sent_count = nak_count = 0;
}

static const char *timing; /* profile */

/* When the QP gives up, with the link dead from the beginning. */
static roce_ns_t time_to_give_up(uint8_t timeout, uint8_t retry_cnt)
{
	roce_ns_t at;

	fixture_init(&f);
	f.conn.timeout = timeout;
	f.conn.retry_cnt = retry_cnt;
	if (timing) {
		f.tuning.timing = roce_timing_find(timing);
		assert_non_null(f.tuning.timing);
	}
	start(true);
	f.pair.link.is_down = true;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
	while (f.a->attr.state != ROCE_QP_ERR)
		assert_true(roce_event_queue_step(&f.pair.queue));
	at = sim_pair_now(&f.pair);
	assert_int_equal(sent_count, retry_cnt + 1u);
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_ACK_TIMEOUTS), retry_cnt + 1u);
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_RETRY_EXCEEDED), 1);
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_TX_RETRANSMITTED), retry_cnt);
	sim_pair_run(&f.pair, 0);
	assert_string_equal(f.pair.log.s, "0 cqe 1 RETRY_EXC_ERR\n");
	fixture_stop(&f);
	return at;
}

/* case_007, the specification's timer: (retry_cnt + 1) * 4.096 us << timeout. */
static void on_timeout__case_007(void **state)
{
	(void)state;
	assert_int_equal(time_to_give_up(14, 7), 536870912);   /* 536.9 ms */
	assert_int_equal(time_to_give_up(20, 7), 34359738368); /* 34.36 s */
	assert_int_equal(time_to_give_up(8, 7), 8388608);      /* 8.39 ms */
	for (uint8_t retry_cnt = 0; retry_cnt <= 7; retry_cnt++)
		for (uint8_t timeout = 1; timeout <= 31; timeout += 3)
			assert_int_equal(time_to_give_up(timeout, retry_cnt),
					 (retry_cnt + 1) * (UINT64_C(4096) << timeout));
}

/* The same by name, and another device's: 3.66 s for any code up to 16, 59.77 s for 20, within 3 %.
 * A code of 0 is never, whatever the profile. */
static void on_timeout__case_007_profiles(void **state)
{
	(void)state;
	timing = "spec";
	assert_int_equal(time_to_give_up(14, 7), 536870912);
	timing = "cx6";
	for (uint8_t code = 1; code <= 16; code++)
		assert_in_range(time_to_give_up(code, 7), 3550200000, 3769800000);
	assert_in_range(time_to_give_up(20, 7), 57976900000, 61563100000);
	assert_in_range(time_to_give_up(20, 0), 57976900000 / 8, 61563100000 / 8);
	assert_true(time_to_give_up(17, 7) > time_to_give_up(16, 7));
	timing = NULL;
	assert_null(roce_timing_find("cx"));

	fixture_init(&f);
	f.conn.timeout = 0;
	f.tuning.timing = roce_timing_find("cx6");
	start(true);
	f.pair.link.is_down = true;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
	assert_int_equal(roce_deadline(&f.pair.hosts[0].transport), ROCE_NEVER);
	fixture_stop(&f);
}

static void on_timeout__floor_of_the_owner(void **state)
{
	(void)state;
	fixture_init(&f);
	f.conn.timeout = 8;
	f.conn.retry_cnt = 1;
	f.tuning.ack_timeout_floor_ns = 50 * ROCE_NS_PER_MS;
	start(true);
	f.pair.link.is_down = true;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
	assert_int_equal(roce_deadline(&f.pair.hosts[0].transport), 50 * ROCE_NS_PER_MS);
	while (f.a->attr.state != ROCE_QP_ERR)
		assert_true(roce_event_queue_step(&f.pair.queue));
	assert_int_equal(sim_pair_now(&f.pair), 100 * ROCE_NS_PER_MS);
	fixture_stop(&f);
}

/* Timeout 0: no timer at all. */
static void on_timeout__zero_is_never(void **state)
{
	(void)state;
	fixture_init(&f);
	f.conn.timeout = 0;
	start(true);
	f.pair.link.is_down = true;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
	assert_int_equal(roce_deadline(&f.pair.hosts[0].transport), ROCE_NEVER);
	assert_false(roce_event_queue_step(&f.pair.queue));
	fixture_stop(&f);
}

/* Progress reloads retry_cnt: with one retry, a packet may be lost once, again and again. */
static void on_progress__reloads_retry_cnt(void **state)
{
	(void)state;
	fixture_init(&f);
	f.conn.retry_cnt = 1;
	start(true);
	fixture_lose(&f, 0x55, 0); /* each of four requests is lost once */
	for (uint64_t i = 1; i <= 4; i++) {
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, i, 64, 0);
		sim_pair_run(&f.pair, ROCE_NS_PER_S);
	}
	assert_string_equal(f.pair.log.s, "0 cqe 1 WRITE SUCCESS\n0 cqe 2 WRITE SUCCESS\n"
					  "0 cqe 3 WRITE SUCCESS\n0 cqe 4 WRITE SUCCESS\n");
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_ACK_TIMEOUTS), 4);
	fixture_stop(&f);
}

/* The timer starts anew with each ACK: a long transfer outlives many timeouts. */
static void on_progress__restarts_the_timer(void **state)
{
	(void)state;
	fixture_init(&f);
	f.conn.timeout = 4; /* 65.5 us; the transfer takes 1.7 ms, an ACK comes each 18 us */
	f.tuning.ack_interval_packets = 2;
	f.conn.retry_cnt = 0;
	f.link.ps_per_byte = 8000;
	start(true);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 200 * 1024, 0);
	fixture_expect(&f, "0 cqe 1 WRITE SUCCESS\n");
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_ACK_TIMEOUTS), 0);
	fixture_stop(&f);
}

/* Sending more does not: the timeout counts from the oldest packet that waits. */
static void arm__runs_from_the_oldest(void **state)
{
	(void)state;
	fixture_init(&f);
	f.conn.retry_cnt = 0;
	start(true);
	f.pair.link.is_down = true;
	for (uint64_t i = 1; i <= 6; i++) {
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, i, 8, 0);
		sim_pair_run(&f.pair, 10 * ROCE_NS_PER_MS);
	}
	assert_int_equal(roce_deadline(&f.pair.hosts[0].transport), 67108864);
	sim_pair_run(&f.pair, 8 * ROCE_NS_PER_MS);
	assert_int_equal(f.a->attr.state, ROCE_QP_ERR);
	fixture_stop(&f);
}

/* Each code costs the requester its delay, to the nanosecond; code 0 is the longest. */
static void on_rnr_nak__case_006(void **state)
{
	static const uint32_t tens_of_us[32] = {
		65536, 1,    2,	   3,	 4,    6,     8,     12,    16,	   24,	  32,
		48,    64,   96,   128,	 192,  256,   384,   512,   768,   1024,  1536,
		2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	(void)state;
	for (uint8_t code = 0; code < 32; code++) {
		roce_ns_t nak_at;

		fixture_init(&f);
		f.conn.min_rnr_timer[1] = code;
		start(true);
		fixture_post(&f, 0, ROCE_WR_SEND, 1, 64, 0);
		sim_pair_run(&f.pair, 4 * ROCE_NS_PER_US);
		assert_int_equal(nak_count, 1);
		assert_int_equal(sent_count, 1);
		nak_at = nak_arrived_at;
		fixture_recv(&f, 1, 9, 0, 64);
		sim_pair_run(&f.pair, ROCE_NS_PER_S);
		assert_int_equal(sent_count, 2);
		assert_int_equal(sent_at - nak_at, tens_of_us[code] * UINT64_C(10000));
		assert_string_equal(f.pair.log.s,
				    "0 cqe 1 SEND SUCCESS\n1 cqe 9 RECV SUCCESS len 64\n");
		assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_RNR), 1);
		fixture_stop(&f);
	}
}

/* rnr_retry n: n retries, then RNR_RETRY_EXC_ERR; 0 fails at the first RNR NAK. */
static void on_rnr_nak__rnr_retry_counts(void **state)
{
	(void)state;
	for (uint8_t rnr_retry = 0; rnr_retry < 7; rnr_retry++) {
		fixture_init(&f);
		f.conn.rnr_retry = rnr_retry;
		start(true);
		fixture_post(&f, 0, ROCE_WR_SEND, 1, 64, 0);
		fixture_expect(&f, "0 cqe 1 RNR_RETRY_EXC_ERR\n");
		assert_int_equal(sent_count, rnr_retry + 1u);
		assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_RX_NAK_RNR), rnr_retry + 1u);
		assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_RNR_RETRY_EXCEEDED), 1);
		assert_int_equal(f.b->attr.state, ROCE_QP_RTS);
		fixture_stop(&f);
	}
}

/* 7 is for ever, at no more than one try for each delay, and others go on. */
static void on_rnr_nak__case_038(void **state)
{
	struct sim_qp *qps[2];
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	f.conn.rnr_retry = 7;
	f.conn.min_rnr_timer[1] = 1;
	start(true);
	for (unsigned int i = 0; i < 2; i++)
		qps[i] = sim_stack_add_qp(&f.pair.hosts[i], &f.caps, f.send_cq[i], f.recv_cq[i]);
	assert_true(sim_pair_connect(&f.pair, &qps[0]->qp, &qps[1]->qp, &f.conn));
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 64, 0);
	sim_pair_run(&f.pair, 100 * ROCE_NS_PER_MS);
	/* a round is 10 us of waiting and 2 us of travel */
	assert_in_range(sent_count, 8300, 8400);
	assert_string_equal(f.pair.log.s, "");
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_ACK_TIMEOUTS), 0);

	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 2, 64, &sge);
	assert_int_equal(sim_pair_send(&f.pair, 0, &qps[0]->qp, &wr), ROCE_POST_OK);
	fixture_expect_within(&f, 10 * ROCE_NS_PER_US, "0 cqe 2 WRITE SUCCESS\n");

	fixture_recv(&f, 1, 9, 0, 64);
	fixture_expect_within(&f, 20 * ROCE_NS_PER_US,
			      "0 cqe 1 SEND SUCCESS\n1 cqe 9 RECV SUCCESS len 64\n");
	fixture_stop(&f);
}

/* Progress reloads rnr_retry: one RNR NAK for each message is within a count of 1. */
static void on_progress__reloads_rnr_retry(void **state)
{
	(void)state;
	fixture_init(&f);
	f.conn.rnr_retry = 1;
	start(true);
	for (uint64_t i = 1; i <= 3; i++) {
		fixture_post(&f, 0, ROCE_WR_SEND, i, 64, 0);
		sim_pair_run(&f.pair, 10 * ROCE_NS_PER_US);
		fixture_recv(&f, 1, 10 + i, 0, 64);
		sim_pair_run(&f.pair, 100 * ROCE_NS_PER_MS);
	}
	assert_string_equal(f.pair.log.s, "0 cqe 1 SEND SUCCESS\n1 cqe 11 RECV SUCCESS len 64\n"
					  "0 cqe 2 SEND SUCCESS\n1 cqe 12 RECV SUCCESS len 64\n"
					  "0 cqe 3 SEND SUCCESS\n1 cqe 13 RECV SUCCESS len 64\n");
	assert_int_equal(nak_count, 3);
	fixture_stop(&f);
}

/* A peer that answers "not ready" is alive: losses in a long wait for it do not add up. */
static void on_rnr_nak__reloads_retry_cnt(void **state)
{
	(void)state;
	fixture_init(&f);
	f.conn.retry_cnt = 1;
	f.conn.min_rnr_timer[1] = 1;
	f.conn.timeout = 8;
	start(true);
	fixture_lose(&f, 0xaaaa, 0);
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 64, 0);
	sim_pair_run(&f.pair, 20 * ROCE_NS_PER_MS);
	assert_string_equal(f.pair.log.s, "");
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_ACK_TIMEOUTS), 8);
	fixture_stop(&f);
}

/* case_067: the last packet, or the last ACK, is lost: one retransmission after the timeout. */
static void on_timeout__case_067(void **state)
{
	(void)state;
	for (unsigned int lost_by = 0; lost_by < 2; lost_by++) {
		roce_ns_t posted_at;

		fixture_init(&f);
		start(true);
		/* the third packet of three; the only ACK */
		fixture_lose(&f, lost_by == 0 ? 4 : 0, lost_by == 1 ? 1 : 0);
		posted_at = sim_pair_now(&f.pair);
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 3000, 0);
		while (roce_cq_is_empty(&f.send_cq[0]->cq))
			assert_true(roce_event_queue_step(&f.pair.queue));
		/* timeout 14 is 67.1 ms, the round trip 2 us */
		assert_int_equal(sim_pair_now(&f.pair) - posted_at, 67108864 + 2000);
		assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_ACK_TIMEOUTS), 1);
		assert_int_equal(f.pair.hosts[1].placed_bytes, 3000);
		fixture_stop(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_timeout__case_007),
		cmocka_unit_test(on_timeout__case_007_profiles),
		cmocka_unit_test(on_timeout__floor_of_the_owner),
		cmocka_unit_test(on_timeout__zero_is_never),
		cmocka_unit_test(on_progress__reloads_retry_cnt),
		cmocka_unit_test(on_progress__restarts_the_timer),
		cmocka_unit_test(arm__runs_from_the_oldest),
		cmocka_unit_test(on_rnr_nak__case_006),
		cmocka_unit_test(on_rnr_nak__rnr_retry_counts),
		cmocka_unit_test(on_rnr_nak__case_038),
		cmocka_unit_test(on_progress__reloads_rnr_retry),
		cmocka_unit_test(on_rnr_nak__reloads_retry_cnt),
		cmocka_unit_test(on_timeout__case_067),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
