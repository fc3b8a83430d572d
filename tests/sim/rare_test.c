/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Branches that ordinary traffic does not reach: a region that is mapped askew or goes while its
 * READ is being answered, more atomics than were agreed, sequence NAKs without end, a QPN in use.
 */
#include "fixture.h"

#include "wire/aeth.h"
#include "wire/opcode.h"

#include <string.h>

static struct fixture f;

/* The peer's address is aligned, but the word behind it is not: nothing is executed. */
static void execute_atomic__region_is_askew(void **state)
{
	(void)state;
	fixture_init(&f);
	fixture_start(&f, true);
	f.mr[1]->addr += 4;
	fixture_post(&f, 0, ROCE_WR_ATOMIC_FETCH_AND_ADD, 1, 8, 0);
	fixture_expect(&f, "> FETCH_ADD psn 10 ackreq\n"
			   "< NAK 1 psn 10 msn 0\n"
			   "0 cqe 1 REM_INV_REQ_ERR\n"
			   "1 event QP_REQ_ERR\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_MISALIGNED_ATOMIC), 1);
	assert_int_equal(f.pair.hosts[1].atomic_count, 0);
	fixture_stop(&f);
}

/* The READ was accepted, then the program deregisters: what the link has not taken yet is refused.
 */
static void send_read_response__region_goes(void **state)
{
	(void)state;
	fixture_init(&f);
	f.link.ps_per_byte = 8000;
	f.tuning.read_chunk_packets = 64;
	f.tuning.read_window = 1u << 20;
	fixture_start(&f, true);
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 32768, 0);
	sim_pair_run(&f.pair, 20 * ROCE_NS_PER_US);
	roce_key_table_remove(&f.pair.hosts[1].transport.keys, f.mr[1]);
	sim_pair_run(&f.pair, ROCE_NS_PER_S);
	assert_string_equal(strstr(f.pair.log.s, "< READ_RESPONSE_MIDDLE psn 25"),
			    "< READ_RESPONSE_MIDDLE psn 25 len 1024\n"
			    "< NAK 2 psn 26 msn 1\n"
			    "0 cqe 1 REM_ACCESS_ERR\n"
			    "1 event QP_ACCESS_ERR\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_MEMORY_FAULT), 1);
	fixture_stop(&f);
}

/* An atomic beyond max_rd_atomic waits for an answer. */
static void send_atomic__beyond_max_rd_atomic(void **state)
{
	(void)state;
	fixture_init(&f);
	f.conn.max_rd_atomic[0] = 1;
	fixture_start(&f, true);
	fixture_post(&f, 0, ROCE_WR_ATOMIC_FETCH_AND_ADD, 1, 8, 0);
	fixture_post(&f, 0, ROCE_WR_ATOMIC_CMP_AND_SWP, 2, 8, 0);
	fixture_expect(&f, "> FETCH_ADD psn 10 ackreq\n"
			   "< ATOMIC_ACK psn 10 msn 1\n"
			   "> CMP_SWAP psn 11 ackreq\n"
			   "< ATOMIC_ACK psn 11 msn 2\n"
			   "0 cqe 1 FETCH_ADD SUCCESS\n"
			   "0 cqe 2 COMP_SWAP SUCCESS\n");
	fixture_stop(&f);
}

static bool lose_requests(struct sim_pair *p, unsigned int from, struct roce_link_pkt *pkt)
{
	(void)p;
	(void)pkt;
	return from == 1;
}

/* Sequence NAKs spend retry_cnt as time-outs do: the third of two is the last. */
static void on_sequence_nak__retry_cnt_is_spent(void **state)
{
	struct roce_link_pkt nak = {
		.hdr = {.opcode = roce_opcode_make(ROCE_RC_ACK),
			.pkey = 0xffff,
			.psn = {10},
			.syndrome = roce_aeth_nak(ROCE_NAK_PSN_SEQUENCE)},
	};

	(void)state;
	fixture_init(&f);
	f.conn.retry_cnt = 2;
	f.conn.timeout = 0;
	fixture_start(&f, true);
	f.pair.tamper = lose_requests;
	nak.hdr.dest_qpn = f.a->cfg.qpn;
	nak.src = f.pair.hosts[1].gid;
	nak.dst = f.pair.hosts[0].gid;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
	fixture_expect(&f, "x WRITE_ONLY psn 10 len 64 ackreq\n");
	for (uint32_t i = 1; i <= 2; i++) {
		roce_link_inject(&f.pair.link, 1, &nak);
		fixture_expect(&f, "< NAK 0 psn 10 msn 0\n"
				   "x WRITE_ONLY psn 10 len 64 ackreq\n");
		assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_RX_NAK_SEQUENCE), i);
	}
	roce_link_inject(&f.pair.link, 1, &nak);
	fixture_expect(&f, "< NAK 0 psn 10 msn 0\n"
			   "0 cqe 1 RETRY_EXC_ERR\n");
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_RETRY_EXCEEDED), 1);
	fixture_stop(&f);
}

static void init__number_is_taken(void **state)
{
	struct roce_qp other;

	(void)state;
	fixture_init(&f);
	fixture_start(&f, true);
	assert_false(roce_qp_init(&other, &f.pair.hosts[0].transport, &f.a->cfg));
	assert_int_equal(f.pair.hosts[0].transport.qp_count, 1);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(execute_atomic__region_is_askew),
		cmocka_unit_test(send_read_response__region_goes),
		cmocka_unit_test(send_atomic__beyond_max_rd_atomic),
		cmocka_unit_test(on_sequence_nak__retry_cnt_is_spent),
		cmocka_unit_test(init__number_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
