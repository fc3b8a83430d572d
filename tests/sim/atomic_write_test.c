/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ATOMIC WRITE: 8 bytes that appear at once, answered by an empty READ response. It is counted with
 * the READs and atomics, executed once, and repeated answers are given from memory. What a peer may
 * not do with it stands in reject_request_test.c.
 */
#include "fixture.h"

#include "wire/aeth.h"
#include "wire/opcode.h"

#include <string.h>

static struct fixture f;

static void start(void)
{
	fixture_init(&f);
	fixture_start(&f, true);
	memcpy(fixture_bytes(&f, 0, 0), "ATOMICAL", 8);
}

static void write__places_the_word(void **state)
{
	(void)state;
	for (unsigned int is_inline = 0; is_inline < 2; is_inline++) {
		start();
		fixture_post(&f, 0, ROCE_WR_ATOMIC_WRITE, 1, 8, is_inline ? ROCE_SEND_INLINE : 0);
		fixture_expect(&f, "> ATOMIC_WRITE psn 10 len 8 ackreq\n"
				   "< READ_RESPONSE_ONLY psn 10 len 0 msn 1\n"
				   "0 cqe 1 ATOMIC_WRITE SUCCESS\n");
		assert_memory_equal(fixture_bytes(&f, 1, 0), "ATOMICAL", 8);
		assert_int_equal(f.pair.hosts[1].placed_bytes, 8);
		fixture_stop(&f);
	}
}

static void post_send__one_word_only(void **state)
{
	static const uint32_t lengths[] = {0, 4, 7, 9, 16};

	(void)state;
	start();
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct roce_sge sge;
		struct roce_send_wr wr =
			fixture_wr(&f, 0, ROCE_WR_ATOMIC_WRITE, 1, lengths[i], &sge);

		assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_BAD_LENGTH);
	}
	fixture_stop(&f);
}

/* The answer is lost: the repetition is answered, and the word that has changed since stays. */
static void duplicate__is_not_executed_again(void **state)
{
	(void)state;
	start();
	fixture_lose(&f, 0, 1);
	fixture_post(&f, 0, ROCE_WR_ATOMIC_WRITE, 1, 8, 0);
	fixture_expect_within(&f, ROCE_NS_PER_MS,
			      "> ATOMIC_WRITE psn 10 len 8 ackreq\n"
			      "y READ_RESPONSE_ONLY psn 10 len 0 msn 1\n");
	memcpy(fixture_bytes(&f, 1, 0), "CHANGED.", 8);
	fixture_expect(&f, "> ATOMIC_WRITE psn 10 len 8 ackreq\n"
			   "< READ_RESPONSE_ONLY psn 10 len 0 msn 1\n"
			   "0 cqe 1 ATOMIC_WRITE SUCCESS\n");
	assert_memory_equal(fixture_bytes(&f, 1, 0), "CHANGED.", 8);
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_DUPLICATE), 1);
	fixture_stop(&f);
}

/* The answer is lost and a later one arrives: an implied NAK, as with READs. */
static void response__missing_one_is_seen(void **state)
{
	(void)state;
	start();
	fixture_lose(&f, 0, 1);
	f.pair.is_quiet = true;
	fixture_post(&f, 0, ROCE_WR_ATOMIC_WRITE, 1, 8, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	fixture_expect_within(&f, ROCE_NS_PER_MS,
			      "0 cqe 1 ATOMIC_WRITE SUCCESS\n0 cqe 2 WRITE SUCCESS\n");
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_RX_RESPONSE_GAP), 1);
	fixture_stop(&f);
}

/* It counts against max_rd_atomic, and a fence waits for it. */
static void quota__is_shared_with_reads(void **state)
{
	(void)state;
	fixture_init(&f);
	f.conn.max_rd_atomic[0] = 1;
	fixture_start(&f, true);
	fixture_post(&f, 0, ROCE_WR_ATOMIC_WRITE, 1, 8, 0);
	fixture_post(&f, 0, ROCE_WR_ATOMIC_WRITE, 2, 8, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 3, 8, ROCE_SEND_FENCE);
	fixture_expect(&f, "> ATOMIC_WRITE psn 10 len 8 ackreq\n"
			   "< READ_RESPONSE_ONLY psn 10 len 0 msn 1\n"
			   "> ATOMIC_WRITE psn 11 len 8 ackreq\n"
			   "< READ_RESPONSE_ONLY psn 11 len 0 msn 2\n"
			   "> WRITE_ONLY psn 12 len 8 ackreq\n"
			   "< ACK psn 12 msn 3\n"
			   "0 cqe 1 ATOMIC_WRITE SUCCESS\n"
			   "0 cqe 2 ATOMIC_WRITE SUCCESS\n"
			   "0 cqe 3 WRITE SUCCESS\n");
	fixture_stop(&f);
}

/* Without READs and atomics agreed upon it fails here, and is refused there. */
static void quota__of_nothing(void **state)
{
	(void)state;
	fixture_init(&f);
	f.conn.max_rd_atomic[0] = 0;
	fixture_start(&f, true);
	fixture_post(&f, 0, ROCE_WR_ATOMIC_WRITE, 1, 8, 0);
	fixture_expect(&f, "0 cqe 1 LOC_QP_OP_ERR\n");
	fixture_stop(&f);

	fixture_init(&f);
	f.conn.max_dest_rd_atomic[1] = 0;
	fixture_start(&f, true);
	fixture_post(&f, 0, ROCE_WR_ATOMIC_WRITE, 1, 8, 0);
	fixture_expect(&f, "> ATOMIC_WRITE psn 10 len 8 ackreq\n"
			   "< NAK 1 psn 10 msn 0\n"
			   "0 cqe 1 REM_INV_REQ_ERR\n"
			   "1 event QP_REQ_ERR\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_TOO_MANY_READS), 1);
	fixture_stop(&f);
}

/* The source region goes, or was never readable by this key. */
static void write__local_key(void **state)
{
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	start();
	wr = fixture_wr(&f, 0, ROCE_WR_ATOMIC_WRITE, 1, 8, &sge);
	sge.lkey ^= 0x100;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_expect(&f, "0 cqe 1 LOC_PROT_ERR\n");
	fixture_stop(&f);
}

/* The va is aligned, the memory behind it is not: the region maps it elsewhere. */
static void write__misaligned_memory(void **state)
{
	(void)state;
	start();
	f.mr[1]->iova -= 4;
	f.mr[1]->addr -= 8;
	{
		struct roce_sge sge;
		struct roce_send_wr wr = fixture_wr(&f, 0, ROCE_WR_ATOMIC_WRITE, 1, 8, &sge);

		wr.remote_addr = f.mr[1]->iova + 4;
		assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	}
	fixture_expect(&f, "> ATOMIC_WRITE psn 10 len 8 ackreq\n"
			   "< NAK 1 psn 10 msn 0\n"
			   "0 cqe 1 REM_INV_REQ_ERR\n"
			   "1 event QP_REQ_ERR\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_MISALIGNED_ATOMIC), 1);
	fixture_stop(&f);
}

/* ---- answers that are no answer to it ---- */

static uint8_t answer_opcode;
static uint32_t answer_length;
static uint8_t answer_syndrome;

static bool change_answer(struct sim_pair *p, unsigned int from, struct roce_link_pkt *pkt)
{
	(void)p;
	if (from == 1) {
		pkt->hdr.opcode.v = answer_opcode;
		pkt->hdr.syndrome = answer_syndrome;
		pkt->payload_len = answer_length;
	}
	return true;
}

static void response__wrong(void **state)
{
	const uint8_t ack = roce_aeth_syndrome(ROCE_AETH_ACK, ROCE_CREDIT_NONE);
	const struct {
		uint8_t opcode;
		uint8_t syndrome;
		uint32_t length;
	} cases[] = {
		{ROCE_RC_READ_RESPONSE_FIRST, ack, 0},
		{ROCE_RC_READ_RESPONSE_LAST, ack, 0},
		{ROCE_RC_READ_RESPONSE_MIDDLE, ack, 0},
		{ROCE_RC_READ_RESPONSE_ONLY, ack, 8},
		{ROCE_RC_READ_RESPONSE_ONLY, roce_aeth_nak(ROCE_NAK_REMOTE_ACCESS), 0},
		{ROCE_RC_ATOMIC_ACK, ack, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		start();
		answer_opcode = cases[i].opcode;
		answer_syndrome = cases[i].syndrome;
		answer_length = cases[i].length;
		f.pair.tamper = change_answer;
		f.pair.is_quiet = true;
		fixture_post(&f, 0, ROCE_WR_ATOMIC_WRITE, 1, 8, 0);
		fixture_expect(&f, "0 cqe 1 BAD_RESP_ERR\n");
		assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_RX_RESPONSE_BAD), 1);
		fixture_stop(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write__places_the_word),
		cmocka_unit_test(post_send__one_word_only),
		cmocka_unit_test(duplicate__is_not_executed_again),
		cmocka_unit_test(response__missing_one_is_seen),
		cmocka_unit_test(quota__is_shared_with_reads),
		cmocka_unit_test(quota__of_nothing),
		cmocka_unit_test(write__local_key),
		cmocka_unit_test(write__misaligned_memory),
		cmocka_unit_test(response__wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
