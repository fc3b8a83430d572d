/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transcripts of what goes wrong on the way and is mended: lost packets in both directions, late
 * duplicates, a receiver that is not ready.
 */
#include "fixture.h"

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

/* ---- loss ---- */

/* One sequence NAK, go-back-N from the PSN that it names; the next loss is NAKed again. */
static void loss__case_025(void **state)
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
	f.tuning.read_window = 1 << 20;
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

/* An RNR NAK that is still owed when its packet comes again, and is taken, is not sent. */
static void rnr__nak_that_came_too_late(void **state)
{
	(void)state;
	fixture_init(&f);
	f.link.ps_per_byte = 800;
	start();
	/* host 1's line is busy for 14 us */
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 50, 16 * 1024, 0);
	f.pair.tamper = keep_first_request;
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 8, 0);
	sim_pair_run(&f.pair, 5 * ROCE_NS_PER_US);
	assert_int_equal(f.pair.last_verdict[1], ROCE_RX_RNR);
	fixture_recv(&f, 1, 9, 0, 8);
	roce_link_inject(&f.pair.link, 0, &first_request);
	sim_text_clear(&f.pair.log);
	sim_pair_run(&f.pair, 300 * ROCE_NS_PER_US);
	assert_null(strstr(f.pair.log.s, "NAK"));
	assert_non_null(strstr(f.pair.log.s, "< ACK psn 10 msn 1\n"));
	assert_non_null(strstr(f.pair.log.s, "0 cqe 1 SEND SUCCESS\n"
					     "1 cqe 50 WRITE SUCCESS\n"
					     "1 cqe 9 RECV SUCCESS len 8\n"));
	fixture_stop(&f);
}

/* A loss that is told halves the window, one that is not takes it to the minimum. */
static void loss__cuts_the_window(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	fixture_lose(&f, 1, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 2000, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(f.a->peer->window.limit, f.tuning.window.initial / 2);
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_WINDOW_CUTS), 1);

	fixture_lose(&f, 1, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	sim_pair_run(&f.pair, 100 * ROCE_NS_PER_MS);
	assert_int_equal(f.a->peer->window.limit, f.tuning.window.min);
	assert_int_equal(f.a->peer->window.inflight, 0);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loss__case_025),
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
		cmocka_unit_test(rnr__nak_that_came_too_late),
		cmocka_unit_test(loss__cuts_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
