/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exchanges of two transports as transcripts: what goes over the link, in order, and what the
 * programs see. pair.h explains the lines.
 */
#include "fixture.h"

#include "wire/aeth.h"
#include "wire/opcode.h"

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
	static const uint32_t lengths[] = {0, 1, 1023, 1024, 1025, 1900, 2000, 200 * 1024 + 1};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint32_t n = lengths[i];

		fixture_init(&f);
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

/* ---- loss ---- */

/* One sequence NAK, go-back-N from the PSN that it names; the next loss is NAKed again. */
static void loss__sequence_nak_once(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	/* psn 11 at first; in the second round psn 13 */
	fixture_lose(&f, 1u << 1 | 1u << 7, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 5 * 1024, 0);
	fixture_expect(&f, "> WRITE_FIRST psn 10 len 1024\n"
			   "x WRITE_MIDDLE psn 11 len 1024\n"
			   "> WRITE_MIDDLE psn 12 len 1024\n"
			   "> WRITE_MIDDLE psn 13 len 1024\n"
			   "> WRITE_LAST psn 14 len 1024 ackreq\n"
			   "< NAK 0 psn 11 msn 0\n"
			   "> WRITE_MIDDLE psn 11 len 1024\n"
			   "> WRITE_MIDDLE psn 12 len 1024\n"
			   "x WRITE_MIDDLE psn 13 len 1024\n"
			   "> WRITE_LAST psn 14 len 1024 ackreq\n"
			   "< NAK 0 psn 13 msn 0\n"
			   "> WRITE_MIDDLE psn 13 len 1024\n"
			   "> WRITE_LAST psn 14 len 1024 ackreq\n"
			   "< ACK psn 14 msn 1\n"
			   "0 cqe 1 WRITE SUCCESS\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_OUT_OF_SEQUENCE), 4);
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_RX_NAK_SEQUENCE), 2);
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_TX_RETRANSMITTED), 6);
	assert_int_equal(f.pair.hosts[1].placed_bytes, 5 * 1024);
	fixture_stop(&f);
}

/* A sequence NAK acknowledges what was before it. */
static void loss__nak_acknowledges(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	fixture_lose(&f, 1u << 1, 1u << 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 3, 8, 0);
	fixture_expect(&f, "> WRITE_ONLY psn 10 len 8 ackreq\n"
			   "x WRITE_ONLY psn 11 len 8 ackreq\n"
			   "> WRITE_ONLY psn 12 len 8 ackreq\n"
			   "y ACK psn 10 msn 1\n"
			   "< NAK 0 psn 11 msn 1\n"
			   "> WRITE_ONLY psn 11 len 8 ackreq\n"
			   "> WRITE_ONLY psn 12 len 8 ackreq\n"
			   "< ACK psn 11 msn 2\n"
			   "< ACK psn 12 msn 3\n"
			   "0 cqe 1 WRITE SUCCESS\n"
			   "0 cqe 2 WRITE SUCCESS\n"
			   "0 cqe 3 WRITE SUCCESS\n");
	fixture_stop(&f);
}

/* Implied NAK: an ACK beyond an unanswered READ says that its response was lost. */
static void loss__implied_nak(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	fixture_lose(&f, 0, 1u << 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 8, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 3, 8, 0);
	fixture_expect_within(
		&f, 10 * ROCE_NS_PER_US,
		"> READ_REQUEST psn 10 dma_len 8 ackreq\n"
		"> WRITE_ONLY psn 11 len 8 ackreq\n"
		"> WRITE_ONLY psn 12 len 8 ackreq\n"
		"y READ_RESPONSE_ONLY psn 10 len 8 msn 1\n"
		"< ACK psn 11 msn 2\n"
		"< ACK psn 12 msn 3\n"
		"> READ_REQUEST psn 10 dma_len 8 ackreq\n" /* once, not for each ACK */
		"> WRITE_ONLY psn 11 len 8 ackreq\n"
		"> WRITE_ONLY psn 12 len 8 ackreq\n"
		"< READ_RESPONSE_ONLY psn 10 len 8 msn 1\n"
		"< ACK psn 12 msn 3\n"
		"< ACK psn 12 msn 3\n"
		"0 cqe 1 READ SUCCESS\n"
		"0 cqe 2 WRITE SUCCESS\n"
		"0 cqe 3 WRITE SUCCESS\n");
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_RX_RESPONSE_GAP), 2);
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_ACK_TIMEOUTS), 0);
	fixture_stop(&f);
}

/* A READ response lost in the middle: the retry asks for the rest only. */
static void loss__read_retry_is_a_suffix(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	memset(fixture_bytes(&f, 1, 0), 0x5a, 4000);
	fixture_lose(&f, 0, 1u << 1);
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 4000, 0);
	fixture_expect_within(&f, 10 * ROCE_NS_PER_US,
			      "> READ_REQUEST psn 10 dma_len 4000 ackreq\n"
			      "< READ_RESPONSE_FIRST psn 10 len 1024 msn 1\n"
			      "y READ_RESPONSE_MIDDLE psn 11 len 1024\n"
			      "< READ_RESPONSE_MIDDLE psn 12 len 1024\n"
			      "< READ_RESPONSE_LAST psn 13 len 928 msn 1\n"
			      "> READ_REQUEST psn 11 dma_len 2976 ackreq\n"
			      "< READ_RESPONSE_FIRST psn 11 len 1024 msn 1\n"
			      "< READ_RESPONSE_MIDDLE psn 12 len 1024\n"
			      "< READ_RESPONSE_LAST psn 13 len 928 msn 1\n"
			      "0 cqe 1 READ SUCCESS\n");
	assert_memory_equal(fixture_bytes(&f, 0, 0), fixture_bytes(&f, 1, 0), 4000);
	assert_int_equal(f.pair.hosts[0].placed_bytes, 4000);
	fixture_stop(&f);
}

/* An atomic whose answer was lost is answered again, not executed again. */
static void loss__atomic_is_replayed(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	*word(1) = 41;
	fixture_lose(&f, 0, 1u << 0);
	fixture_post(&f, 0, ROCE_WR_ATOMIC_FETCH_AND_ADD, 1, 8, 0);
	fixture_expect(&f, "> FETCH_ADD psn 10 ackreq\n"
			   "y ATOMIC_ACK psn 10 msn 1\n"
			   "> FETCH_ADD psn 10 ackreq\n"
			   "< ATOMIC_ACK psn 10 msn 1\n"
			   "0 cqe 1 FETCH_ADD SUCCESS\n");
	assert_int_equal(*word(0), 41);
	assert_int_equal(*word(1), 42);
	assert_int_equal(f.pair.hosts[1].atomic_count, 1);
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_DUPLICATE), 1);
	fixture_stop(&f);
}

/* The ACK of a repeated WRITE must not pass a later READ whose answer may be lost. */
static void duplicate__ack_stays_before_a_read(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	fixture_lose(&f, 1u << 5, 7); /* all answers at first; then the repeated READ is lost */
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 3, 8, 0);
	sim_pair_run(&f.pair, 10 * ROCE_NS_PER_US);
	assert_string_equal(f.pair.log.s, "> WRITE_ONLY psn 10 len 8 ackreq\n"
					  "> WRITE_ONLY psn 11 len 8 ackreq\n"
					  "> READ_REQUEST psn 12 dma_len 8 ackreq\n"
					  "y ACK psn 10 msn 1\n"
					  "y ACK psn 11 msn 2\n"
					  "y READ_RESPONSE_ONLY psn 12 len 8 msn 3\n");
	sim_text_clear(&f.pair.log);
	fixture_expect(&f, "> WRITE_ONLY psn 10 len 8 ackreq\n"
			   "> WRITE_ONLY psn 11 len 8 ackreq\n"
			   "x READ_REQUEST psn 12 dma_len 8 ackreq\n"
			   "< ACK psn 11 msn 3\n" /* not 12 */
			   "< ACK psn 11 msn 3\n"
			   "> READ_REQUEST psn 12 dma_len 8 ackreq\n"
			   "< READ_RESPONSE_ONLY psn 12 len 8 msn 3\n"
			   "0 cqe 1 WRITE SUCCESS\n"
			   "0 cqe 2 WRITE SUCCESS\n"
			   "0 cqe 3 READ SUCCESS\n");
	fixture_stop(&f);
}

/* An old ACK may answer more than was repeated so far: sending goes on behind it. */
static void loss__late_ack_ends_a_retransmission(void **state)
{
	(void)state;
	fixture_init(&f);
	f.link.delay_ps = 40 * ROCE_NS_PER_MS * ROCE_PS_PER_NS; /* the timeout is 67.1 ms */
	f.tuning.window.initial = f.tuning.window.min = f.tuning.window.max = 20 * 1536;
	start();
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	fixture_expect(&f, "> WRITE_ONLY psn 10 len 8 ackreq\n"
			   "> WRITE_ONLY psn 11 len 8 ackreq\n"
			   "< ACK psn 10 msn 1\n"
			   "< ACK psn 11 msn 2\n"
			   "> WRITE_ONLY psn 10 len 8 ackreq\n"
			   "> WRITE_ONLY psn 11 len 8 ackreq\n"
			   "< ACK psn 11 msn 2\n"
			   "< ACK psn 11 msn 2\n"
			   "0 cqe 1 WRITE SUCCESS\n"
			   "0 cqe 2 WRITE SUCCESS\n");
	assert_int_equal(f.pair.hosts[1].placed_bytes, 16);
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_DUPLICATE), 2);
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_RX_RESPONSE_STALE), 2);
	fixture_stop(&f);
}

/* A sequence NAK that is still owed when the missing packets come again is not sent. */
static void loss__nak_that_came_too_late(void **state)
{
	(void)state;
	fixture_init(&f);
	f.link.ps_per_byte = 800;
	f.conn.timeout = 1; /* 8 us */
	start();
	/* host 1's line is busy for 14 us, so that what it owes waits */
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 50, 16 * 1024, 0);
	sim_text_clear(&f.pair.log);
	fixture_lose(&f, 1u << 0, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_null(strstr(f.pair.log.s, "NAK"));
	assert_non_null(strstr(f.pair.log.s, "< ACK psn 11 msn 2\n"));
	assert_non_null(strstr(f.pair.log.s, "0 cqe 1 WRITE SUCCESS\n"
					     "0 cqe 2 WRITE SUCCESS\n"));
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_RX_RESPONSE_GHOST), 0);
	fixture_stop(&f);
}

/* A repeated READ on its way does not take the place of a new one. */
static struct roce_link_pkt first_request;

static bool keep_first_request(struct sim_pair *p, unsigned int from, struct roce_link_pkt *pkt)
{
	if (from == 0 && p->tampered++ == 0)
		first_request = *pkt;
	return true;
}

static void duplicate__read_gives_way_to_a_new_one(void **state)
{
	(void)state;
	fixture_init(&f);
	f.link.ps_per_byte = 800;
	f.conn.max_rd_atomic[0] = f.conn.max_dest_rd_atomic[1] = 1;
	f.tuning.read_chunk_packets = 64;
	start();
	f.pair.is_quiet = true;
	f.pair.tamper = keep_first_request;
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 40 * 1024, 0);
	fixture_expect(&f, "0 cqe 1 READ SUCCESS\n");
	roce_link_inject(&f.pair.link, 0, &first_request);
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 2, 8, 0);
	fixture_expect(&f, "0 cqe 2 READ SUCCESS\n");
	assert_int_equal(f.b->attr.state, ROCE_QP_RTS);
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_DUPLICATE), 1);
	fixture_stop(&f);
}

/* ---- receiver not ready ---- */

/* Only the packet that needs the receive WQE comes again, and nothing moves before. */
static void rnr__write_with_immediate_at_its_last(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE_WITH_IMM, 1, 3000, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	fixture_expect_within(&f, 600 * ROCE_NS_PER_US,
			      "> WRITE_FIRST psn 10 len 1024\n"
			      "> WRITE_MIDDLE psn 11 len 1024\n"
			      "> WRITE_LAST_IMM psn 12 len 952 ackreq\n"
			      "> WRITE_ONLY psn 13 len 8 ackreq\n"
			      "< RNR_NAK 12 psn 12 msn 0\n");
	assert_int_equal(f.pair.hosts[1].placed_bytes, 2048);
	fixture_recv(&f, 1, 9, 0, 0);
	fixture_expect(&f, "> WRITE_LAST_IMM psn 12 len 952 ackreq\n"
			   "> WRITE_ONLY psn 13 len 8 ackreq\n"
			   "< ACK psn 12 msn 1\n"
			   "< ACK psn 13 msn 2\n"
			   "0 cqe 1 WRITE SUCCESS\n"
			   "0 cqe 2 WRITE SUCCESS\n"
			   "1 cqe 9 RECV_RDMA_WITH_IMM SUCCESS len 3000 imm 0x1234\n");
	assert_int_equal(f.pair.hosts[1].placed_bytes, 3008);
	fixture_stop(&f);
}

/* Another NAK for the same PSN during the wait neither ends nor prolongs it. */
static struct roce_link_pkt rnr_nak;

static bool keep_nak(struct sim_pair *p, unsigned int from, struct roce_link_pkt *pkt)
{
	(void)p;
	if (from == 1)
		rnr_nak = *pkt;
	return true;
}

static void rnr__other_naks_while_waiting(void **state)
{
	static const uint8_t syndromes[] = {0x60, 0x20, 0x2c};

	(void)state;
	for (size_t i = 0; i < sizeof(syndromes); i++) {
		fixture_init(&f);
		start();
		f.pair.tamper = keep_nak;
		fixture_post(&f, 0, ROCE_WR_SEND, 1, 8, 0);
		sim_pair_run(&f.pair, 100 * ROCE_NS_PER_US);
		rnr_nak.hdr.syndrome = syndromes[i];
		roce_link_inject(&f.pair.link, 1, &rnr_nak);
		sim_text_clear(&f.pair.log);
		fixture_recv(&f, 1, 9, 0, 8);
		/* code 12 is 640 us from 2 us on */
		sim_pair_run(&f.pair, 541 * ROCE_NS_PER_US);
		assert_null(strchr(f.pair.log.s, '>'));
		sim_pair_run(&f.pair, 2 * ROCE_NS_PER_US);
		assert_non_null(strstr(f.pair.log.s, "> SEND_ONLY psn 10 len 8 ackreq\n"));
		fixture_stop(&f);
	}
}

/* ---- errors and flushing ---- */

/* A request that fails locally does so in its turn. */
static void local_error__waits_for_its_turn(void **state)
{
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	start();
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 2000, 0);
	wr = fixture_wr(&f, 0, ROCE_WR_SEND, 2, 8, &sge);
	sge.lkey = 0xbad00;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 3, 8, 0);
	fixture_expect(&f, "> WRITE_FIRST psn 10 len 1024\n"
			   "> WRITE_LAST psn 11 len 976 ackreq\n"
			   "< ACK psn 11 msn 1\n"
			   "0 cqe 1 WRITE SUCCESS\n"
			   "0 cqe 2 LOC_PROT_ERR\n"
			   "0 cqe 3 WR_FLUSH_ERR\n");
	assert_int_equal(f.a->attr.state, ROCE_QP_ERR);
	fixture_stop(&f);
}

/* READ into memory that may not be written: refused before anything is asked for. */
static void local_error__read_into_read_only_memory(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	f.mr[0]->access = 0;
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 8, 0);
	fixture_expect(&f, "0 cqe 1 LOC_PROT_ERR\n");
	fixture_stop(&f);
}

/* READ without any agreed: the work request is wrong. */
static void local_error__no_reads_agreed(void **state)
{
	(void)state;
	fixture_init(&f);
	f.conn.max_rd_atomic[0] = 0;
	start();
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 8, 0);
	fixture_expect(&f, "0 cqe 1 LOC_QP_OP_ERR\n");
	fixture_stop(&f);
}

/* case_035: posting in ERR is allowed and flushed, in order. */
static void flush__case_035(void **state)
{
	char expected[1000];
	int n = 0;

	(void)state;
	fixture_init(&f);
	start();
	fixture_recv(&f, 0, 5, 0, 8);
	assert_int_equal(sim_pair_set_state(&f.pair, 0, f.a, ROCE_QP_ERR), ROCE_MODIFY_OK);
	for (uint64_t i = 0; i < 10; i++) {
		fixture_post(&f, 0, ROCE_WR_SEND, 10 + i, 8, 0);
		fixture_recv(&f, 0, 30 + i, 0, 8);
	}
	for (unsigned int i = 0; i < 10; i++)
		n += snprintf(expected + n, sizeof(expected) - (size_t)n, "0 cqe %u WR_FLUSH_ERR\n",
			      10 + i);
	n += snprintf(expected + n, sizeof(expected) - (size_t)n, "0 cqe 5 WR_FLUSH_ERR\n");
	for (unsigned int i = 0; i < 10; i++)
		n += snprintf(expected + n, sizeof(expected) - (size_t)n, "0 cqe %u WR_FLUSH_ERR\n",
			      30 + i);
	fixture_expect(&f, expected);
	fixture_stop(&f);
}

/* Unsignalled requests give a completion only when they fail; their slots come back. */
static void completion__unsignalled(void **state)
{
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	f.caps.send_wr = 4;
	start();
	f.pair.is_quiet = true;
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, &sge);
	wr.flags = 0;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_expect(&f, "");
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_FULL);
	fixture_expect(&f, "0 cqe 2 WRITE SUCCESS\n");

	for (uint32_t i = 0; i < 3; i++) {
		wr.wr_id = 10 + i;
		wr.rkey = i == 1 ? 0xbad00 : f.mr[1]->rkey.v;
		assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	}
	fixture_expect(&f, "0 cqe 11 REM_ACCESS_ERR\n"
			   "0 cqe 12 WR_FLUSH_ERR\n"
			   "1 event QP_ACCESS_ERR\n");
	fixture_stop(&f);
}

/* RESET forgets everything, also what failed; then the QP is as new. */
static void reset__as_new(void **state)
{
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	start();
	wr = fixture_wr(&f, 0, ROCE_WR_SEND, 1, 8, &sge);
	sge.lkey = 0xbad00;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_recv(&f, 1, 3, 0, 8);
	/* the failure's completion is never polled */
	assert_int_equal(f.a->attr.state, ROCE_QP_ERR);
	assert_int_equal(sim_pair_set_state(&f.pair, 0, f.a, ROCE_QP_RESET), ROCE_MODIFY_OK);
	assert_int_equal(sim_pair_set_state(&f.pair, 1, f.b, ROCE_QP_RESET), ROCE_MODIFY_OK);
	f.conn.psn[0] = 500;
	assert_true(sim_pair_connect(&f.pair, f.a, f.b, &f.conn));
	fixture_recv(&f, 1, 4, 0, 8);
	fixture_post(&f, 0, ROCE_WR_SEND, 2, 8, 0);
	fixture_expect(&f, "> SEND_ONLY psn 500 len 8 ackreq\n"
			   "< ACK psn 500 msn 1\n"
			   "0 cqe 2 SEND SUCCESS\n"
			   "1 cqe 4 RECV SUCCESS len 8\n");
	fixture_stop(&f);
}

/* ---- states and events ---- */

/* The first packet in RTR is told once. */
static void comm_est__once(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	f.b->attr.state = ROCE_QP_RTR;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	fixture_expect(&f, "> WRITE_ONLY psn 10 len 8 ackreq\n"
			   "> WRITE_ONLY psn 11 len 8 ackreq\n"
			   "< ACK psn 10 msn 1\n"
			   "< ACK psn 11 msn 2\n"
			   "0 cqe 1 WRITE SUCCESS\n"
			   "0 cqe 2 WRITE SUCCESS\n"
			   "1 event COMM_EST\n");
	fixture_stop(&f);
}

static void enter_sqd(bool wants_event)
{
	struct roce_qp_attr attr = {.state = ROCE_QP_SQD, .en_sqd_async_notify = wants_event};
	uint32_t bad;

	assert_int_equal(roce_qp_modify(f.a, &attr, ROCE_ATTR_STATE | ROCE_ATTR_EN_SQD_ASYNC_NOTIFY,
					sim_pair_now(&f.pair), &bad),
			 ROCE_MODIFY_OK);
	roce_link_kick(&f.pair.link, 0);
}

/* SQD: what has started is finished, the rest waits; then the event; RTS goes on. */
static void sqd__drains(void **state)
{
	(void)state;
	fixture_init(&f);
	f.tuning.window.initial = f.tuning.window.min = f.tuning.window.max =
		2 * (1024 + ROCE_WINDOW_PACKET_COST);
	start();
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 3000, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	enter_sqd(true);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 3, 8, 0);
	fixture_expect(&f, "> WRITE_FIRST psn 10 len 1024\n"
			   "> WRITE_MIDDLE psn 11 len 1024 ackreq\n"
			   "< ACK psn 11 msn 0\n"
			   "> WRITE_LAST psn 12 len 952 ackreq\n"
			   "< ACK psn 12 msn 1\n"
			   "0 cqe 1 WRITE SUCCESS\n"
			   "0 event SQ_DRAINED\n");
	assert_int_equal(sim_pair_set_state(&f.pair, 0, f.a, ROCE_QP_RTS), ROCE_MODIFY_OK);
	fixture_expect(&f, "> WRITE_ONLY psn 13 len 8 ackreq\n"
			   "> WRITE_ONLY psn 14 len 8 ackreq\n"
			   "< ACK psn 13 msn 2\n"
			   "< ACK psn 14 msn 3\n"
			   "0 cqe 2 WRITE SUCCESS\n"
			   "0 cqe 3 WRITE SUCCESS\n");
	fixture_stop(&f);
}

/* An idle QP is drained at once; without the wish there is no event. */
static void sqd__idle(void **state)
{
	(void)state;
	for (unsigned int wants_event = 0; wants_event < 2; wants_event++) {
		fixture_init(&f);
		start();
		enter_sqd(wants_event);
		fixture_expect(&f, wants_event ? "0 event SQ_DRAINED\n" : "");
		fixture_stop(&f);
	}
}

/* A new path while packets are on their way: the windows of both peers stay right. */
static void sqd__new_peer_takes_the_window_along(void **state)
{
	struct roce_qp_attr attr;
	struct roce_peer *old;
	struct roce_peer *new;
	uint32_t bad;

	(void)state;
	fixture_init(&f);
	start();
	old = f.a->peer;
	fixture_lose(&f, 1, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, 0);
	assert_int_not_equal(old->window.inflight, 0);
	enter_sqd(false);
	sim_conn_attr(&f.pair, 0, f.a, f.b, &f.conn, &attr);
	new = sim_stack_peer(&f.pair.hosts[0], &f.pair.hosts[1].gid, 200);
	attr.peer = new;
	attr.state = ROCE_QP_SQD;
	assert_int_equal(roce_qp_modify(f.a, &attr, ROCE_ATTR_STATE | ROCE_ATTR_AV,
					sim_pair_now(&f.pair), &bad),
			 ROCE_MODIFY_OK);
	assert_int_equal(old->window.inflight, 0);
	assert_int_not_equal(new->window.inflight, 0);
	sim_text_clear(&f.pair.log);
	fixture_expect(&f, "> WRITE_ONLY psn 10 len 8 ackreq\n"
			   "< ACK psn 10 msn 1\n"
			   "0 cqe 1 WRITE SUCCESS\n");
	assert_int_equal(new->window.inflight, 0);
	fixture_stop(&f);
}

/* ---- completion events ---- */

static void cq__solicited_only(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	for (uint64_t i = 0; i < 4; i++)
		fixture_recv(&f, 1, i, 0, 2000);
	roce_cq_arm(&f.recv_cq[1]->cq, true);
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 2000, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(f.recv_cq[1]->event_count, 0);
	fixture_post(&f, 0, ROCE_WR_SEND, 2, 2000, ROCE_SEND_SOLICITED);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(f.recv_cq[1]->event_count, 1);
	fixture_post(&f, 0, ROCE_WR_SEND, 3, 2000, ROCE_SEND_SOLICITED);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(f.recv_cq[1]->event_count, 1); /* one shot */

	/* an error counts as solicited */
	roce_cq_arm(&f.recv_cq[1]->cq, true);
	sim_pair_set_state(&f.pair, 1, f.b, ROCE_QP_ERR);
	assert_int_equal(f.recv_cq[1]->event_count, 2);
	fixture_stop(&f);
}

/* ---- memory that vanishes under what is sent ---- */

static void tx_fault__of_a_request(void **state)
{
	struct roce_tx_pkt pkts[4];
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	start();
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, &sge);
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_OK);
	wr.wr_id = 2;
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_OK);
	assert_int_equal(roce_tx(&f.pair.hosts[0].transport, pkts, 4, 0), 2);
	roce_tx_fault(&f.pair.hosts[0].transport, &pkts[0], 0);
	fixture_expect(&f, "0 cqe 1 LOC_PROT_ERR\n0 cqe 2 WR_FLUSH_ERR\n");
	fixture_stop(&f);
}

static void tx_fault__of_a_read_response(void **state)
{
	struct roce_tx_pkt pkts[4];
	struct roce_sge sge;
	struct roce_send_wr wr;
	struct roce_rx_pkt rx;

	(void)state;
	fixture_init(&f);
	start();
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_READ, 1, 8, &sge);
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_OK);
	assert_int_equal(roce_tx(&f.pair.hosts[0].transport, pkts, 4, 0), 1);
	rx = (struct roce_rx_pkt){
		.hdr = pkts[0].hdr, .src = &f.pair.hosts[0].gid, .dst = &f.pair.hosts[1].gid};
	assert_int_equal(roce_rx(&f.pair.hosts[1].transport, &rx, 0), ROCE_RX_ACCEPTED);
	assert_int_equal(roce_tx(&f.pair.hosts[1].transport, pkts, 4, 0), 1);
	roce_tx_fault(&f.pair.hosts[1].transport, &pkts[0], 0);
	fixture_expect(&f, "< NAK 2 psn 10 msn 1\n"
			   "0 cqe 1 REM_ACCESS_ERR\n"
			   "1 event QP_ACCESS_ERR\n");
	fixture_stop(&f);
}

/* ---- posting ---- */

static void post__refusals(void **state)
{
	struct roce_sge sges[8] = {{0}};
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	start();
	fixture_expect(&f, "");
	wr = fixture_wr(&f, 0, ROCE_WR_SEND, 1, 8, &sge);
	wr.opcode = ROCE_WR_BIND_MW;
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_BAD_OPCODE);
	wr.opcode = 200;
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_BAD_OPCODE);
	wr.opcode = ROCE_WR_SEND;
	wr.sge = sges;
	wr.sge_count = 5;
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_TOO_MANY_SGE);
	wr.sge = &sge;
	wr.sge_count = 1;
	wr.flags = ROCE_SEND_INLINE;
	sge.length = 129;
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_BAD_INLINE);
	sge.length = 8;
	wr.opcode = ROCE_WR_RDMA_READ;
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_BAD_INLINE);
	wr.flags = 0;
	sge.length = (1u << 31) + 1;
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_BAD_LENGTH);
	sge.length = 7;
	wr.opcode = ROCE_WR_ATOMIC_FETCH_AND_ADD;
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_BAD_LENGTH);
	assert_int_equal(roce_post_recv(f.a, 1, sges, 5, 0), ROCE_POST_TOO_MANY_SGE);
	for (uint64_t i = 0; i < 16; i++)
		assert_int_equal(roce_post_recv(f.a, i, &sge, 1, 0), ROCE_POST_OK);
	assert_int_equal(roce_post_recv(f.a, 16, &sge, 1, 0), ROCE_POST_FULL);
	assert_false(roce_tx_is_pending(&f.pair.hosts[0].transport));
	fixture_stop(&f);
}

/* Section 11 of the verbs' states: who may post when. */
static void post__by_state(void **state)
{
	static const struct {
		enum roce_qp_state state;
		enum roce_post_result send;
		enum roce_post_result recv;
	} cases[] = {
		{ROCE_QP_RESET, ROCE_POST_BAD_STATE, ROCE_POST_BAD_STATE},
		{ROCE_QP_INIT, ROCE_POST_BAD_STATE, ROCE_POST_OK},
		{ROCE_QP_RTR, ROCE_POST_BAD_STATE, ROCE_POST_OK},
		{ROCE_QP_RTS, ROCE_POST_OK, ROCE_POST_OK},
		{ROCE_QP_SQD, ROCE_POST_OK, ROCE_POST_OK},
		{ROCE_QP_ERR, ROCE_POST_OK, ROCE_POST_OK},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct roce_sge sge;
		struct roce_send_wr wr;

		fixture_init(&f);
		start();
		f.a->attr.state = (uint8_t)cases[i].state;
		wr = fixture_wr(&f, 0, ROCE_WR_SEND, 1, 8, &sge);
		assert_int_equal(roce_post_send(f.a, &wr, 0), cases[i].send);
		assert_int_equal(roce_post_recv(f.a, 1, &sge, 1, 0), cases[i].recv);
		fixture_stop(&f);
	}
}

/* Bytes are sent from where they are, whatever the region calls them. */
static void send__from_a_region_with_an_iova(void **state)
{
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	start();
	memset(fixture_bytes(&f, 0, 100), 0x5a, 64);
	f.mr[0]->iova = 0x1000;
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, &sge);
	sge.addr = 0x1000 + 100;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_expect(&f, "> WRITE_ONLY psn 10 len 64 ackreq\n"
			   "< ACK psn 10 msn 1\n"
			   "0 cqe 1 WRITE SUCCESS\n");
	assert_memory_equal(fixture_bytes(&f, 1, 0), fixture_bytes(&f, 0, 100), 64);
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
		cmocka_unit_test(ack__coalesces),
		cmocka_unit_test(ack__after_read_responses),
		cmocka_unit_test(loss__sequence_nak_once),
		cmocka_unit_test(loss__nak_acknowledges),
		cmocka_unit_test(loss__implied_nak),
		cmocka_unit_test(loss__read_retry_is_a_suffix),
		cmocka_unit_test(loss__atomic_is_replayed),
		cmocka_unit_test(duplicate__ack_stays_before_a_read),
		cmocka_unit_test(loss__late_ack_ends_a_retransmission),
		cmocka_unit_test(loss__nak_that_came_too_late),
		cmocka_unit_test(duplicate__read_gives_way_to_a_new_one),
		cmocka_unit_test(rnr__write_with_immediate_at_its_last),
		cmocka_unit_test(rnr__other_naks_while_waiting),
		cmocka_unit_test(local_error__waits_for_its_turn),
		cmocka_unit_test(local_error__read_into_read_only_memory),
		cmocka_unit_test(local_error__no_reads_agreed),
		cmocka_unit_test(flush__case_035),
		cmocka_unit_test(completion__unsignalled),
		cmocka_unit_test(reset__as_new),
		cmocka_unit_test(comm_est__once),
		cmocka_unit_test(sqd__drains),
		cmocka_unit_test(sqd__idle),
		cmocka_unit_test(sqd__new_peer_takes_the_window_along),
		cmocka_unit_test(cq__solicited_only),
		cmocka_unit_test(tx_fault__of_a_request),
		cmocka_unit_test(tx_fault__of_a_read_response),
		cmocka_unit_test(post__refusals),
		cmocka_unit_test(post__by_state),
		cmocka_unit_test(send__from_a_region_with_an_iova),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
