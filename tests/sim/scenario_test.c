/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exchanges of two transports without trouble, as transcripts: what goes over the link, in order,
 * and what the programs see. pair.h explains the lines.
 */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

static struct fixture f;

static void start(void)
{
	fixture_start(&f, true);
}

static uint64_t *word(unsigned int host)
{
	return (uint64_t *)(void *)fixture_bytes(&f, host, 0);
}

/* ---- messages ---- */

static void send__three_packets(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	memset(fixture_bytes(&f, 0, 0), 0x5a, 2500);
	fixture_recv(&f, 1, 9, 10000, 3000);
	fixture_post(&f, 0, ROCE_WR_SEND_WITH_IMM, 1, 2500, ROCE_SEND_SOLICITED);
	fixture_expect(&f, "> SEND_FIRST psn 10 len 1024\n"
			   "> SEND_MIDDLE psn 11 len 1024\n"
			   "> SEND_LAST_IMM psn 12 len 452 ackreq se\n"
			   "< ACK psn 12 msn 1\n"
			   "0 cqe 1 SEND SUCCESS\n"
			   "1 cqe 9 RECV SUCCESS len 2500 imm 0x1234\n");
	assert_memory_equal(fixture_bytes(&f, 1, 10000), fixture_bytes(&f, 0, 0), 2500);
	assert_int_equal(fixture_bytes(&f, 1, 10000)[2500], 0);
	fixture_stop(&f);
}

/* case_033: above one MTU, packets are ceil(n / MTU) and the bytes the same. */
static void write__case_033(void **state)
{
	static const uint32_t lengths[] = {0,	 1,    1023,	       1024,	      1025,
					   1900, 2000, 200 * 1024 + 1, (1u << 20) + 1};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint32_t n = lengths[i];

		fixture_init(&f);
		f.region_bytes = 2u << 20;
		start();
		f.pair.is_quiet = true;
		for (uint32_t k = 0; k < n; k++)
			fixture_bytes(&f, 0, 0)[k] = (uint8_t)(k * 7 + k / 256);
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, n, 0);
		fixture_expect(&f, "0 cqe 1 WRITE SUCCESS\n");
		assert_int_equal(f.pair.link.ends[0].fates[ROCE_LINK_SENT],
				 n ? (n + 1023) / 1024 : 1);
		assert_memory_equal(fixture_bytes(&f, 1, 0), fixture_bytes(&f, 0, 0), n);
		assert_int_equal(f.pair.hosts[1].placed_bytes, n);
		fixture_stop(&f);
	}
}

/* Zero length: a SEND takes a receive WQE, a WRITE none. */
static void send__zero_length(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	fixture_recv(&f, 1, 9, 0, 16);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 0, 0);
	fixture_post(&f, 0, ROCE_WR_SEND, 2, 0, 0);
	fixture_expect(&f, "> WRITE_ONLY psn 10 len 0 ackreq\n"
			   "> SEND_ONLY psn 11 len 0 ackreq\n"
			   "< ACK psn 10 msn 1\n"
			   "< ACK psn 11 msn 2\n"
			   "0 cqe 1 WRITE SUCCESS\n"
			   "0 cqe 2 SEND SUCCESS\n"
			   "1 cqe 9 RECV SUCCESS len 0\n");
	fixture_stop(&f);
}

/* A SEND that ends a window of the receiver's: the key is dead afterwards. */
static void send__with_invalidate(void **state)
{
	struct roce_mr *window;
	struct roce_sge sge;
	struct roce_send_wr wr;
	char expected[200];

	(void)state;
	fixture_init(&f);
	start();
	window = sim_stack_add_mr(&f.pair.hosts[1], REGION, 64,
				  ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE);
	window->can_invalidate = true;
	fixture_recv(&f, 1, 9, 0, 16);
	wr = fixture_wr(&f, 0, ROCE_WR_SEND_WITH_INV, 1, 8, &sge);
	wr.imm_be = window->rkey.v;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	snprintf(expected, sizeof(expected),
		 "> SEND_ONLY_INV psn 10 len 8 ackreq\n"
		 "< ACK psn 10 msn 1\n"
		 "0 cqe 1 SEND SUCCESS\n"
		 "1 cqe 9 RECV SUCCESS len 8 inv 0x%x\n",
		 window->rkey.v);
	fixture_expect(&f, expected);

	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, &sge);
	wr.rkey = window->rkey.v;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_expect(&f, "> WRITE_ONLY psn 11 len 8 ackreq\n"
			   "< NAK 2 psn 11 msn 1\n"
			   "0 cqe 2 REM_ACCESS_ERR\n"
			   "1 event QP_ACCESS_ERR\n");
	fixture_stop(&f);
}

/* case_008: path MTU 4096 against 1024 fails at once, on both sides. */
static void check_length__case_008(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	f.a->attr.path_mtu = 5;
	f.a->mtu = 4096;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 4096, 0);
	fixture_expect_within(&f, 2 * ROCE_NS_PER_US,
			      "> WRITE_ONLY psn 10 len 4096 ackreq\n"
			      "< NAK 1 psn 10 msn 0\n"
			      "0 cqe 1 REM_INV_REQ_ERR\n"
			      "1 event QP_REQ_ERR\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_BAD_LENGTH), 1);
	fixture_stop(&f);
}

/* ---- READ and atomics ---- */

/* A READ is asked for in chunks; the agreed number of requests is on its way, no more. */
static void read__chunks(void **state)
{
	(void)state;
	fixture_init(&f);
	f.tuning.read_chunk_packets = 2;
	f.conn.max_rd_atomic[0] = 2;
	start();
	memset(fixture_bytes(&f, 1, 0), 0x5a, 5000);
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 5000, 0);
	fixture_expect(&f, "> READ_REQUEST psn 10 dma_len 2048 ackreq\n"
			   "> READ_REQUEST psn 12 dma_len 2048 ackreq\n"
			   "< READ_RESPONSE_FIRST psn 10 len 1024 msn 1\n"
			   "< READ_RESPONSE_LAST psn 11 len 1024 msn 1\n"
			   "< READ_RESPONSE_FIRST psn 12 len 1024 msn 2\n"
			   "< READ_RESPONSE_LAST psn 13 len 1024 msn 2\n"
			   "> READ_REQUEST psn 14 dma_len 904 ackreq\n"
			   "< READ_RESPONSE_ONLY psn 14 len 904 msn 3\n"
			   "0 cqe 1 READ SUCCESS\n");
	assert_memory_equal(fixture_bytes(&f, 0, 0), fixture_bytes(&f, 1, 0), 5000);
	fixture_stop(&f);
}

/* case_023: host order at both ends, whatever the wire does. */
static void atomic__case_023(void **state)
{
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	start();
	*word(1) = 0x0102030405060708;
	fixture_post(&f, 0, ROCE_WR_ATOMIC_FETCH_AND_ADD, 1, 8, 0);
	fixture_expect(&f, "> FETCH_ADD psn 10 ackreq\n"
			   "< ATOMIC_ACK psn 10 msn 1\n"
			   "0 cqe 1 FETCH_ADD SUCCESS\n");
	assert_int_equal(*word(0), 0x0102030405060708);
	assert_int_equal(*word(1), 0x0102030405060709);

	wr = fixture_wr(&f, 0, ROCE_WR_ATOMIC_CMP_AND_SWP, 2, 8, &sge);
	wr.compare_add = 0x0102030405060708; /* a miss */
	wr.swap = 0x1122334455667788;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(*word(0), 0x0102030405060709);
	assert_int_equal(*word(1), 0x0102030405060709);

	wr.compare_add = 0x0102030405060709; /* a hit */
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(*word(0), 0x0102030405060709);
	assert_int_equal(*word(1), 0x1122334455667788);

	wr = fixture_wr(&f, 0, ROCE_WR_ATOMIC_FETCH_AND_ADD, 3, 8, &sge);
	wr.compare_add = UINT64_C(0) - 0x1122334455667789; /* wraps */
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(*word(1), UINT64_MAX);
	fixture_stop(&f);
}

/* A fence holds back only what follows it, until READs and atomics before it are done. */
static void fence__waits_for_reads(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 8, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 3, 8, ROCE_SEND_FENCE);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 4, 8, 0);
	fixture_expect(&f, "> READ_REQUEST psn 10 dma_len 8 ackreq\n"
			   "> WRITE_ONLY psn 11 len 8 ackreq\n"
			   "< READ_RESPONSE_ONLY psn 10 len 8 msn 1\n"
			   "< ACK psn 11 msn 2\n"
			   "> WRITE_ONLY psn 12 len 8 ackreq\n"
			   "> WRITE_ONLY psn 13 len 8 ackreq\n"
			   "< ACK psn 12 msn 3\n"
			   "< ACK psn 13 msn 4\n"
			   "0 cqe 1 READ SUCCESS\n"
			   "0 cqe 2 WRITE SUCCESS\n"
			   "0 cqe 3 WRITE SUCCESS\n"
			   "0 cqe 4 WRITE SUCCESS\n");
	fixture_stop(&f);
}

/* ---- AckReq, ACKs ---- */

/* AckReq on the last packet of a message, every so many packets, and where the window closes. */
static void ack_req__rules(void **state)
{
	(void)state;
	fixture_init(&f);
	f.tuning.ack_interval_packets = 3;
	f.tuning.window.initial = f.tuning.window.max = f.tuning.window.min =
		5 * (1024 + ROCE_WINDOW_PACKET_COST);
	start();
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 7 * 1024, 0);
	fixture_expect(&f, "> WRITE_FIRST psn 10 len 1024\n"
			   "> WRITE_MIDDLE psn 11 len 1024\n"
			   "> WRITE_MIDDLE psn 12 len 1024 ackreq\n"
			   "> WRITE_MIDDLE psn 13 len 1024\n"
			   "> WRITE_MIDDLE psn 14 len 1024 ackreq\n" /* the window is full */
			   "< ACK psn 12 msn 0\n"
			   "< ACK psn 14 msn 0\n"
			   "> WRITE_MIDDLE psn 15 len 1024\n"
			   "> WRITE_LAST psn 16 len 1024 ackreq\n"
			   "< ACK psn 16 msn 1\n"
			   "0 cqe 1 WRITE SUCCESS\n");
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_WINDOW_BLOCKED), 1);
	fixture_stop(&f);
}

/* A queue pair that its own window holds is counted like one that the peer's holds. */
static void own_window__holds_and_counts(void **state)
{
	(void)state;
	fixture_init(&f);
	f.tuning.ack_interval_packets = 16;
	f.tuning.qp_window_bytes = 3 * 1024;
	start();
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 5 * 1024, 0);
	fixture_expect(&f, "> WRITE_FIRST psn 10 len 1024\n"
			   "> WRITE_MIDDLE psn 11 len 1024\n"
			   "> WRITE_MIDDLE psn 12 len 1024 ackreq\n" /* the window is full */
			   "< ACK psn 12 msn 0\n"
			   "> WRITE_MIDDLE psn 13 len 1024\n"
			   "> WRITE_LAST psn 14 len 1024 ackreq\n"
			   "< ACK psn 14 msn 1\n"
			   "0 cqe 1 WRITE SUCCESS\n");
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_WINDOW_BLOCKED), 1);
	fixture_stop(&f);
}

/* The window is shared: where a turn ends the others may fill it, so the turn's last packet asks.
 */
static void ack_req__at_the_end_of_a_turn(void **state)
{
	struct sim_qp *qps[2];
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	f.tuning.burst_packets = 2;
	f.tuning.window.initial = f.tuning.window.max = f.tuning.window.min =
		4 * (1024 + ROCE_WINDOW_PACKET_COST);
	start();
	for (unsigned int i = 0; i < 2; i++)
		qps[i] = sim_stack_add_qp(&f.pair.hosts[i], &f.caps, f.send_cq[i], f.recv_cq[i]);
	f.conn.psn[0] = 700;
	assert_true(sim_pair_connect(&f.pair, &qps[0]->qp, &qps[1]->qp, &f.conn));
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 2, 5 * 1024, &sge);
	assert_int_equal(roce_post_send(&qps[0]->qp, &wr, 0), ROCE_POST_OK);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 5 * 1024, 0);
	fixture_expect_within(&f, 2 * ROCE_NS_PER_US,
			      "> WRITE_FIRST psn 10 len 1024\n"
			      "> WRITE_MIDDLE psn 11 len 1024 ackreq\n"
			      "> WRITE_FIRST psn 700 len 1024\n"
			      "> WRITE_MIDDLE psn 701 len 1024 ackreq\n"
			      "< ACK psn 11 msn 0\n"
			      "< ACK psn 701 msn 0\n"
			      "> WRITE_MIDDLE psn 12 len 1024\n"
			      "> WRITE_MIDDLE psn 13 len 1024 ackreq\n"
			      "> WRITE_MIDDLE psn 702 len 1024\n"
			      "> WRITE_MIDDLE psn 703 len 1024 ackreq\n");
	fixture_stop(&f);
}

/* A long READ's answer and the QP's own requests take turns. */
static void turn__read_response_leaves_room(void **state)
{
	const char *own, *last;

	(void)state;
	fixture_init(&f);
	f.tuning.burst_packets = 2;
	f.tuning.read_chunk_packets = 64;
	f.tuning.read_window = 1u << 20;
	f.link.pull_max = 2;
	f.link.ps_per_byte = 8000;
	start();
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 32 * 1024, 0);
	sim_pair_run(&f.pair, 20 * ROCE_NS_PER_US);
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 50, 8, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_S);
	own = strstr(f.pair.log.s, "< WRITE_ONLY psn 5000 len 8");
	last = strstr(f.pair.log.s, "< READ_RESPONSE_LAST");
	assert_non_null(own);
	assert_non_null(last);
	assert_true(own < last);
	fixture_stop(&f);
}

/* While the responder's line is busy its ACKs become one, for the newest PSN. */
static void ack__coalesces(void **state)
{
	(void)state;
	fixture_init(&f);
	f.link.ps_per_byte = 800;
	start();
	f.pair.is_quiet = true;
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 50, 16 * 1024, 0);
	for (uint64_t i = 1; i <= 5; i++)
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, i, 8, 0);
	fixture_expect(&f, "0 cqe 1 WRITE SUCCESS\n0 cqe 2 WRITE SUCCESS\n"
			   "0 cqe 3 WRITE SUCCESS\n0 cqe 4 WRITE SUCCESS\n"
			   "0 cqe 5 WRITE SUCCESS\n1 cqe 50 WRITE SUCCESS\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_STAT_TX_ACKS), 1);
	fixture_stop(&f);
}

/* An ACK does not overtake the READ responses before it, and they save the ACKs before them. */
static void ack__after_read_responses(void **state)
{
	(void)state;
	fixture_init(&f);
	f.link.ps_per_byte = 800;
	start();
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 50, 16 * 1024, 0);
	sim_text_clear(&f.pair.log);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 2, 2000, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 3, 8, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_S);
	assert_string_equal(strstr(f.pair.log.s, "< READ"),
			    "< READ_RESPONSE_FIRST psn 11 len 1024 msn 2\n"
			    "< READ_RESPONSE_LAST psn 12 len 976 msn 2\n"
			    "< ACK psn 13 msn 3\n"
			    "> ACK psn 5015 msn 1\n"
			    "0 cqe 1 WRITE SUCCESS\n"
			    "0 cqe 2 READ SUCCESS\n"
			    "0 cqe 3 WRITE SUCCESS\n"
			    "1 cqe 50 WRITE SUCCESS\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_STAT_TX_ACKS), 1);
	fixture_stop(&f);
}

/* A READ response acknowledges what was before it: no ACK of its own for that. */
static void ack__saved_by_a_read_response(void **state)
{
	(void)state;
	fixture_init(&f);
	f.link.ps_per_byte = 800;
	start();
	f.pair.is_quiet = true;
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 50, 16 * 1024, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 2, 8, 0);
	fixture_expect(&f, "0 cqe 1 WRITE SUCCESS\n0 cqe 2 READ SUCCESS\n1 cqe 50 WRITE SUCCESS\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_STAT_TX_ACKS), 0);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(send__three_packets),
		cmocka_unit_test(write__case_033),
		cmocka_unit_test(send__zero_length),
		cmocka_unit_test(send__with_invalidate),
		cmocka_unit_test(check_length__case_008),
		cmocka_unit_test(read__chunks),
		cmocka_unit_test(atomic__case_023),
		cmocka_unit_test(fence__waits_for_reads),
		cmocka_unit_test(ack_req__rules),
		cmocka_unit_test(own_window__holds_and_counts),
		cmocka_unit_test(ack_req__at_the_end_of_a_turn),
		cmocka_unit_test(turn__read_response_leaves_room),
		cmocka_unit_test(ack__coalesces),
		cmocka_unit_test(ack__after_read_responses),
		cmocka_unit_test(ack__saved_by_a_read_response),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
