/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Responses that the requester must ignore, or that must end its QP. One response of an honest
 * responder is changed on its way, or one is made up.
 */
#include "fixture.h"

#include "wire/aeth.h"
#include "wire/opcode.h"

#include <stdio.h>
#include <string.h>

static struct fixture f;
static struct roce_link_pkt last_response;
static void (*change_response)(struct roce_link_pkt *pkt);

static bool tamper_first_response(struct sim_pair *p, unsigned int from, struct roce_link_pkt *pkt)
{
	if (from == 1) {
		if (p->tampered++ == 0 && change_response)
			change_response(pkt);
		last_response = *pkt;
	}
	return true;
}

static void start(void (*change)(struct roce_link_pkt *pkt))
{
	fixture_start(&f, true);
	f.pair.tamper = tamper_first_response;
	change_response = change;
}

/* ---- ignored ---- */

static void set_reserved_kind(struct roce_link_pkt *pkt)
{
	pkt->hdr.syndrome = 0x5f;
}

static void set_bit_7(struct roce_link_pkt *pkt)
{
	pkt->hdr.syndrome |= 0x80;
}

static void set_nak_4(struct roce_link_pkt *pkt)
{
	pkt->hdr.syndrome = 0x64;
}

static void set_nak_31(struct roce_link_pkt *pkt)
{
	pkt->hdr.syndrome = 0x7f;
}

static void set_psn_next(struct roce_link_pkt *pkt)
{
	pkt->hdr.psn = roce_psn_add(pkt->hdr.psn, 1); /* never sent */
}

static void set_psn_far(struct roce_link_pkt *pkt)
{
	pkt->hdr.psn = roce_psn_add(pkt->hdr.psn, 1u << 22);
}

static void set_psn_before(struct roce_link_pkt *pkt)
{
	pkt->hdr.psn = roce_psn_add(pkt->hdr.psn, ROCE_PSN_MASK);
}

static void set_stale_rnr(struct roce_link_pkt *pkt)
{
	set_psn_before(pkt);
	pkt->hdr.syndrome = 0x20;
}

static void set_stale_sequence_nak(struct roce_link_pkt *pkt)
{
	set_psn_before(pkt);
	pkt->hdr.syndrome = 0x60;
}

static void set_stale_access_nak(struct roce_link_pkt *pkt)
{
	set_psn_before(pkt);
	pkt->hdr.syndrome = 0x62;
}

static void set_ghost_access_nak(struct roce_link_pkt *pkt)
{
	set_psn_next(pkt);
	pkt->hdr.syndrome = 0x62;
}

/* The response is as good as lost: nothing happens until the timeout, then all is well. */
static void completer__ignores(void **state)
{
	static const struct {
		const char *name;
		void (*change)(struct roce_link_pkt *pkt);
		enum roce_verdict verdict;
	} cases[] = {
		{"reserved AETH kind", set_reserved_kind, ROCE_RX_RESPONSE_RESERVED},
		{"bit 7 of the syndrome", set_bit_7, ROCE_RX_RESPONSE_RESERVED},
		{"NAK code 4", set_nak_4, ROCE_RX_RESPONSE_RESERVED},
		{"NAK code 31", set_nak_31, ROCE_RX_RESPONSE_RESERVED},
		{"ACK of a PSN not sent", set_psn_next, ROCE_RX_RESPONSE_GHOST},
		{"ACK of a PSN far ahead", set_psn_far, ROCE_RX_RESPONSE_GHOST},
		{"NAK of a PSN not sent", set_ghost_access_nak, ROCE_RX_RESPONSE_GHOST},
		{"ACK of an old PSN", set_psn_before, ROCE_RX_RESPONSE_STALE},
		{"RNR NAK of an old PSN", set_stale_rnr, ROCE_RX_RESPONSE_STALE},
		{"sequence NAK of an old PSN", set_stale_sequence_nak, ROCE_RX_RESPONSE_STALE},
		{"access NAK of an old PSN", set_stale_access_nak, ROCE_RX_RESPONSE_STALE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		print_message("  %s\n", cases[i].name);
		fixture_init(&f);
		start(cases[i].change);
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
		sim_pair_run(&f.pair, 60 * ROCE_NS_PER_MS);
		assert_int_equal(f.pair.last_verdict[0], cases[i].verdict);
		assert_int_equal(sim_counter(&f.pair.hosts[0], (uint32_t)cases[i].verdict), 1);
		assert_int_equal(f.pair.link.ends[0].fates[ROCE_LINK_SENT], 1);
		sim_text_clear(&f.pair.log);
		/* the repeated WRITE is not executed again */
		fixture_expect(&f, "> WRITE_ONLY psn 10 len 64 ackreq\n"
				   "< ACK psn 10 msn 1\n"
				   "0 cqe 1 WRITE SUCCESS\n");
		assert_int_equal(f.pair.hosts[1].placed_bytes, 64);
		fixture_stop(&f);
	}
}

/* Responses are for RTS and SQD. */
static void roce_rx__responses_by_state(void **state)
{
	static const struct {
		enum roce_qp_state state;
		bool is_taken;
	} cases[] = {
		{ROCE_QP_RESET, false}, {ROCE_QP_INIT, false}, {ROCE_QP_RTR, false},
		{ROCE_QP_RTS, true},	{ROCE_QP_SQD, true},   {ROCE_QP_SQE, false},
		{ROCE_QP_ERR, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fixture_init(&f);
		start(NULL);
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
		f.a->attr.state = (uint8_t)cases[i].state;
		sim_pair_run(&f.pair, 10 * ROCE_NS_PER_US);
		assert_int_equal(f.pair.last_verdict[0],
				 cases[i].is_taken ? ROCE_RX_ACCEPTED : ROCE_RX_WRONG_STATE);
		fixture_stop(&f);
	}
}

/* ---- the end of the QP ---- */

static void set_read_response(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_READ_RESPONSE_ONLY);
}

static void set_atomic_ack(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_ATOMIC_ACK);
	pkt->payload_len = 0;
}

static void set_only(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_READ_RESPONSE_ONLY);
}

static void set_middle(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_READ_RESPONSE_MIDDLE);
}

static void set_rnr_syndrome(struct roce_link_pkt *pkt)
{
	pkt->hdr.syndrome = 0x2c;
}

static void cut_4(struct roce_link_pkt *pkt)
{
	pkt->payload_len -= 4;
}

static void grow_4(struct roce_link_pkt *pkt)
{
	memset(pkt->payload + pkt->payload_len, 0, 4);
	pkt->payload_len += 4;
}

static void completer__bad_response_ends_the_qp(void **state)
{
	static const struct {
		const char *name;
		uint8_t opcode;
		uint32_t length;
		void (*change)(struct roce_link_pkt *pkt);
		const char *status;
	} cases[] = {
		{"READ response for a WRITE", ROCE_WR_RDMA_WRITE, 64, set_read_response,
		 "BAD_RESP_ERR"},
		{"atomic ACK for a WRITE", ROCE_WR_RDMA_WRITE, 64, set_atomic_ack, "BAD_RESP_ERR"},
		{"atomic ACK for a READ", ROCE_WR_RDMA_READ, 64, set_atomic_ack, "BAD_RESP_ERR"},
		{"READ response for an atomic", ROCE_WR_ATOMIC_FETCH_AND_ADD, 8, set_read_response,
		 "BAD_RESP_ERR"},
		{"ONLY where FIRST is due", ROCE_WR_RDMA_READ, 2000, set_only, "BAD_RESP_ERR"},
		{"MIDDLE where ONLY is due", ROCE_WR_RDMA_READ, 64, set_middle, "BAD_RESP_ERR"},
		{"READ response with an RNR syndrome", ROCE_WR_RDMA_READ, 64, set_rnr_syndrome,
		 "BAD_RESP_ERR"},
		{"atomic ACK with an RNR syndrome", ROCE_WR_ATOMIC_FETCH_AND_ADD, 8,
		 set_rnr_syndrome, "BAD_RESP_ERR"},
		{"READ response too short", ROCE_WR_RDMA_READ, 64, cut_4, "LOC_LEN_ERR"},
		{"READ response too long", ROCE_WR_RDMA_READ, 64, grow_4, "LOC_LEN_ERR"},
		{"READ FIRST too short", ROCE_WR_RDMA_READ, 2000, cut_4, "LOC_LEN_ERR"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char expected[100];

		print_message("  %s\n", cases[i].name);
		fixture_init(&f);
		start(cases[i].change);
		fixture_post(&f, 0, cases[i].opcode, 1, cases[i].length, 0);
		f.pair.is_quiet = true;
		sim_text_clear(&f.pair.log);
		snprintf(expected, sizeof(expected), "0 cqe 1 %s\n", cases[i].status);
		fixture_expect(&f, expected);
		assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_RX_RESPONSE_BAD), 1);
		assert_int_equal(f.a->attr.state, ROCE_QP_ERR);
		assert_int_equal(f.b->attr.state, ROCE_QP_RTS); /* it has done nothing wrong */
		assert_int_equal(f.pair.hosts[0].placed_bytes, 0);
		fixture_stop(&f);
	}
}

/* case_025: what each NAK means to the request that it names; those before it succeed. */
static uint8_t nak_syndrome;

static void set_nak(struct roce_link_pkt *pkt)
{
	pkt->hdr.syndrome = nak_syndrome;
}

static void on_nak__case_025(void **state)
{
	static const struct {
		uint8_t syndrome;
		const char *status;
		enum roce_verdict verdict;
	} cases[] = {
		{0x61, "REM_INV_REQ_ERR", ROCE_RX_NAK_INVALID_REQUEST},
		{0x62, "REM_ACCESS_ERR", ROCE_RX_NAK_ACCESS},
		{0x63, "REM_OP_ERR", ROCE_RX_NAK_OPERATION},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char expected[200];

		/* one ACK for all three, which becomes a NAK of the third */
		fixture_init(&f);
		f.link.ps_per_byte = 800;
		nak_syndrome = cases[i].syndrome;
		start(NULL);
		f.pair.is_quiet = true;
		fixture_lose(&f, 0, ~UINT64_C(0));
		for (uint64_t k = 1; k <= 4; k++)
			fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, k, 64, 0);
		sim_pair_run(&f.pair, 20 * ROCE_NS_PER_US);
		f.pair.tamper = tamper_first_response;
		change_response = set_nak;
		snprintf(expected, sizeof(expected),
			 "0 cqe 1 WRITE SUCCESS\n0 cqe 2 WRITE SUCCESS\n0 cqe 3 WRITE SUCCESS\n"
			 "0 cqe 4 %s\n",
			 cases[i].status);
		fixture_expect(&f, expected);
		assert_int_equal(sim_counter(&f.pair.hosts[0], (uint32_t)cases[i].verdict), 1);
		fixture_stop(&f);
	}
}

/* READ data that cannot be stored. */
static void store__memory_is_gone(void **state)
{
	(void)state;
	fixture_init(&f);
	start(NULL);
	f.pair.hosts[0].copy_fault_in = 1;
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 64, 0);
	fixture_expect(&f, "> READ_REQUEST psn 10 dma_len 64 ackreq\n"
			   "< READ_RESPONSE_ONLY psn 10 len 64 msn 1\n"
			   "0 cqe 1 LOC_PROT_ERR\n");
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_RX_MEMORY_FAULT), 1);
	fixture_stop(&f);
}

/* The region goes while the READ is on its way. */
static void store__region_is_gone(void **state)
{
	(void)state;
	fixture_init(&f);
	start(NULL);
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 64, 0);
	roce_key_table_remove(&f.pair.hosts[0].transport.keys, f.mr[0]);
	fixture_expect(&f, "> READ_REQUEST psn 10 dma_len 64 ackreq\n"
			   "< READ_RESPONSE_ONLY psn 10 len 64 msn 1\n"
			   "0 cqe 1 LOC_PROT_ERR\n");
	fixture_stop(&f);
}

/* A late copy of an answer, after everything has completed. */
static void completer__late_copies(void **state)
{
	(void)state;
	fixture_init(&f);
	start(NULL);
	fixture_post(&f, 0, ROCE_WR_ATOMIC_FETCH_AND_ADD, 1, 8, 0);
	fixture_expect(&f, "> FETCH_ADD psn 10 ackreq\n"
			   "< ATOMIC_ACK psn 10 msn 1\n"
			   "0 cqe 1 FETCH_ADD SUCCESS\n");
	roce_link_inject(&f.pair.link, 1, &last_response);
	fixture_expect(&f, "< ATOMIC_ACK psn 10 msn 1\n");
	assert_int_equal(f.pair.last_verdict[0], ROCE_RX_RESPONSE_STALE);
	assert_int_equal(f.pair.hosts[0].placed_bytes, 8);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(completer__ignores),
		cmocka_unit_test(roce_rx__responses_by_state),
		cmocka_unit_test(completer__bad_response_ends_the_qp),
		cmocka_unit_test(on_nak__case_025),
		cmocka_unit_test(store__memory_is_gone),
		cmocka_unit_test(store__region_is_gone),
		cmocka_unit_test(completer__late_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
