/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that must be refused. Each case breaks one rule only, by changing one packet of an
 * honest requester on its way, and tells everything that must come of it: the verdict and its
 * counter, the NAK or the silence, the state of both QPs, completions and events on both sides.
 * After a silent refusal the untouched retransmission must succeed.
 */
#include "break.h"
#include "fixture.h"

#include "wire/aeth.h"
#include "wire/opcode.h"

#include <stdio.h>
#include <string.h>

static struct fixture f;

static sim_change change_packet;
static uint32_t change_nth; /* which request packet of host 0, from 1 */

static bool tamper_nth(struct sim_pair *p, unsigned int from, struct roce_link_pkt *pkt)
{
	if (from == 0 && roce_opcode_info(pkt->hdr.opcode)->is_request &&
	    ++p->tampered == change_nth)
		change_packet(pkt);
	return true;
}

/* ---- changes that need to know the region ---- */

static void set_rkey_lkey(struct roce_link_pkt *pkt)
{
	pkt->hdr.rkey = f.mr[1]->lkey;
}

static void set_va_before(struct roce_link_pkt *pkt)
{
	pkt->hdr.va = f.mr[1]->iova - 8;
}

static void set_va_beyond(struct roce_link_pkt *pkt)
{
	pkt->hdr.va = f.mr[1]->iova + f.mr[1]->length - 8;
}

static void set_inv_of_region(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_SEND_ONLY_INV);
	pkt->hdr.inv_rkey = f.mr[1]->rkey; /* a plain region is not for peers to end */
}

/* ---- silence ---- */

struct silent_case {
	const char *name;
	sim_change change;
	enum roce_verdict verdict;
};

static const struct silent_case silent_cases[] = {
	{"no QP of that number", sim_set_other_qpn, ROCE_RX_NO_QP},
	{"another QP's place", sim_set_colliding_qpn, ROCE_RX_NO_QP},
	{"UC packet", sim_set_uc, ROCE_RX_WRONG_TRANSPORT},
	{"UD packet", sim_set_ud, ROCE_RX_WRONG_TRANSPORT},
	{"source address", sim_set_src, ROCE_RX_WRONG_ADDRESS},
	{"destination address", sim_set_dst, ROCE_RX_WRONG_ADDRESS},
	{"other P_Key", sim_set_pkey_other, ROCE_RX_BAD_PKEY},
	{"P_Key 0", sim_set_pkey_zero, ROCE_RX_BAD_PKEY},
	{"opcode 0x15", sim_set_reserved_opcode, ROCE_RX_RESERVED_OPCODE},
	{"vendor opcode", sim_set_vendor_opcode, ROCE_RX_RESERVED_OPCODE},
	{"CNP", sim_set_cnp, ROCE_RX_CNP_IGNORED},
};

static void roce_rx__drops_in_silence(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(silent_cases) / sizeof(silent_cases[0]); i++) {
		const struct silent_case *c = &silent_cases[i];

		print_message("  %s\n", c->name);
		fixture_init(&f);
		fixture_start(&f, true);
		change_packet = c->change;
		change_nth = 1;
		f.pair.tamper = tamper_nth;
		fixture_bytes(&f, 0, 0)[0] = 0x77;
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
		sim_text_clear(&f.pair.log); /* the changed packet's line */

		fixture_expect_within(&f, 60 * ROCE_NS_PER_MS, "");
		assert_int_equal(f.pair.last_verdict[1], c->verdict);
		assert_int_equal(sim_counter(&f.pair.hosts[1], (uint32_t)c->verdict), 1);
		assert_int_equal(fixture_bytes(&f, 1, 0)[0], 0);
		assert_int_equal(f.b->attr.state, ROCE_QP_RTS);
		assert_int_equal(f.pair.hosts[1].event_count, 0);

		fixture_expect(&f, "> WRITE_ONLY psn 10 len 64 ackreq\n"
				   "< ACK psn 10 msn 1\n"
				   "0 cqe 1 WRITE SUCCESS\n");
		assert_int_equal(fixture_bytes(&f, 1, 0)[0], 0x77);
		assert_int_equal(sim_counter(&f.pair.hosts[1], (uint32_t)c->verdict), 1);
		fixture_stop(&f);
	}
}

/* 15 bits must be equal and one side must be a full member. */
static void roce_rx__takes_matching_pkeys(void **state)
{
	static const struct {
		uint16_t own;
		uint16_t theirs;
		bool is_match;
	} cases[] = {
		{0xffff, 0xffff, true},	 {0xffff, 0x7fff, true},  {0x7fff, 0xffff, true},
		{0x7fff, 0x7fff, false}, {0x8001, 0x8001, true},  {0x8001, 0x0001, true},
		{0x8001, 0x8002, false}, {0x8000, 0x8000, false}, {0x0000, 0x0000, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fixture_init(&f);
		fixture_start(&f, true);
		f.b->attr.path.pkey = cases[i].own;
		f.a->attr.path.pkey = cases[i].theirs;
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
		sim_pair_run(&f.pair, 10 * ROCE_NS_PER_US);
		assert_int_equal(f.pair.hosts[1].placed_bytes, cases[i].is_match ? 64 : 0);
		assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_BAD_PKEY),
				 cases[i].is_match ? 0 : 1);
		fixture_stop(&f);
	}
}

/* Requests are for RTR, RTS and SQD; in the other states they are dropped without a word. */
static void roce_rx__requests_by_state(void **state)
{
	static const struct {
		enum roce_qp_state state;
		bool is_taken;
	} cases[] = {
		{ROCE_QP_RESET, false}, {ROCE_QP_INIT, false}, {ROCE_QP_RTR, true},
		{ROCE_QP_RTS, true},	{ROCE_QP_SQD, true},   {ROCE_QP_SQE, false},
		{ROCE_QP_ERR, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fixture_init(&f);
		fixture_start(&f, true);
		f.b->attr.state = (uint8_t)cases[i].state;
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
		sim_pair_run(&f.pair, 10 * ROCE_NS_PER_US);
		assert_int_equal(f.pair.last_verdict[1],
				 cases[i].is_taken ? ROCE_RX_ACCEPTED : ROCE_RX_WRONG_STATE);
		assert_int_equal(f.pair.hosts[1].placed_bytes, cases[i].is_taken ? 64 : 0);
		fixture_stop(&f);
	}
}

/* ---- NAKs ---- */

struct nak_case {
	const char *name;
	uint8_t opcode;
	uint32_t length;
	sim_change change;
	uint32_t nth; /* request packet that is changed */
	enum roce_verdict verdict;
	enum roce_nak code;
	const char *recv; /* completion of receive 9, NULL: it is flushed, as all receives are */
	const char *event;
};

#define INV  ROCE_NAK_INVALID_REQUEST
#define ACC  ROCE_NAK_REMOTE_ACCESS
#define OPER ROCE_NAK_REMOTE_OPERATIONAL

/* Path MTU 1024. Receive 9 holds 8 KiB. */
static const struct nak_case nak_cases[] = {
	/* FIRST, MIDDLE, LAST */
	{"WRITE MIDDLE without FIRST", ROCE_WR_RDMA_WRITE, 1024, sim_set_write_middle, 1,
	 ROCE_RX_BAD_OP_SEQUENCE, INV, NULL, "QP_REQ_ERR"},
	{"WRITE LAST without FIRST", ROCE_WR_RDMA_WRITE, 64, sim_set_write_last, 1,
	 ROCE_RX_BAD_OP_SEQUENCE, INV, NULL, "QP_REQ_ERR"},
	{"SEND MIDDLE without FIRST", ROCE_WR_SEND, 1024, sim_set_send_middle, 1,
	 ROCE_RX_BAD_OP_SEQUENCE, INV, NULL, "QP_REQ_ERR"},
	{"SEND LAST without FIRST", ROCE_WR_SEND, 64, sim_set_send_last, 1, ROCE_RX_BAD_OP_SEQUENCE,
	 INV, NULL, "QP_REQ_ERR"},
	{"SEND LAST within a WRITE", ROCE_WR_RDMA_WRITE, 2000, sim_set_send_last, 2,
	 ROCE_RX_BAD_OP_SEQUENCE, INV, NULL, "QP_REQ_ERR"},
	{"SEND ONLY within a WRITE", ROCE_WR_RDMA_WRITE, 2000, sim_set_send_only, 2,
	 ROCE_RX_BAD_OP_SEQUENCE, INV, NULL, "QP_REQ_ERR"},
	{"WRITE LAST within a SEND", ROCE_WR_SEND, 2000, sim_set_write_last, 2,
	 ROCE_RX_BAD_OP_SEQUENCE, INV, "LOC_QP_OP_ERR", NULL},
	{"READ within a SEND", ROCE_WR_SEND, 2000, sim_set_read_request, 2, ROCE_RX_BAD_OP_SEQUENCE,
	 INV, "LOC_QP_OP_ERR", NULL},
	/* not offered */
	{"FLUSH", ROCE_WR_RDMA_WRITE, 64, sim_set_flush, 1, ROCE_RX_OP_NOT_ALLOWED, INV, NULL,
	 "QP_REQ_ERR"},
	/* lengths */
	{"FIRST too short", ROCE_WR_RDMA_WRITE, 2000, sim_cut_4, 1, ROCE_RX_BAD_LENGTH, INV, NULL,
	 "QP_REQ_ERR"},
	{"FIRST too long", ROCE_WR_RDMA_WRITE, 2000, sim_grow_4, 1, ROCE_RX_BAD_LENGTH, INV, NULL,
	 "QP_REQ_ERR"},
	{"SEND FIRST too short", ROCE_WR_SEND, 2000, sim_cut_4, 1, ROCE_RX_BAD_LENGTH, INV, NULL,
	 "QP_REQ_ERR"},
	{"MIDDLE too short", ROCE_WR_RDMA_WRITE, 3000, sim_cut_4, 2, ROCE_RX_BAD_LENGTH, INV, NULL,
	 "QP_REQ_ERR"},
	{"SEND MIDDLE too long", ROCE_WR_SEND, 3000, sim_grow_4, 2, ROCE_RX_BAD_LENGTH, INV,
	 "LOC_QP_OP_ERR", NULL},
	{"LAST empty", ROCE_WR_SEND, 2000, sim_empty_payload, 2, ROCE_RX_BAD_LENGTH, INV,
	 "LOC_QP_OP_ERR", NULL},
	{"LAST too long", ROCE_WR_SEND, 2048, sim_grow_4, 2, ROCE_RX_BAD_LENGTH, INV,
	 "LOC_QP_OP_ERR", NULL},
	{"ONLY too long", ROCE_WR_SEND, 1024, sim_grow_4, 1, ROCE_RX_BAD_LENGTH, INV, NULL,
	 "QP_REQ_ERR"},
	{"WRITE ONLY shorter than DMALen", ROCE_WR_RDMA_WRITE, 64, sim_set_dma_len_more, 1,
	 ROCE_RX_BAD_LENGTH, INV, NULL, "QP_REQ_ERR"},
	{"WRITE ONLY longer than DMALen", ROCE_WR_RDMA_WRITE, 64, sim_set_dma_len_less, 1,
	 ROCE_RX_BAD_LENGTH, INV, NULL, "QP_REQ_ERR"},
	{"WRITE LAST shorter than DMALen", ROCE_WR_RDMA_WRITE, 2000, sim_cut_4, 2,
	 ROCE_RX_BAD_LENGTH, INV, NULL, "QP_REQ_ERR"},
	{"WRITE LAST longer than DMALen", ROCE_WR_RDMA_WRITE, 2000, sim_grow_4, 2,
	 ROCE_RX_BAD_LENGTH, INV, NULL, "QP_REQ_ERR"},
	{"WRITE MIDDLE that completes DMALen", ROCE_WR_RDMA_WRITE, 2048, sim_set_write_middle, 2,
	 ROCE_RX_BAD_LENGTH, INV, NULL, "QP_REQ_ERR"},
	{"WRITE of more than 2^31", ROCE_WR_RDMA_WRITE, 2000, sim_set_dma_len_huge, 1,
	 ROCE_RX_BAD_LENGTH, INV, NULL, "QP_REQ_ERR"},
	{"READ of more than 2^31", ROCE_WR_RDMA_READ, 64, sim_set_dma_len_huge, 1,
	 ROCE_RX_BAD_LENGTH, INV, NULL, "QP_REQ_ERR"},
	{"READ with payload", ROCE_WR_RDMA_READ, 64, sim_set_payload_8, 1, ROCE_RX_BAD_LENGTH, INV,
	 NULL, "QP_REQ_ERR"},
	{"atomic with payload", ROCE_WR_ATOMIC_FETCH_AND_ADD, 8, sim_set_payload_8, 1,
	 ROCE_RX_BAD_LENGTH, INV, NULL, "QP_REQ_ERR"},
	{"pad of a full word", ROCE_WR_RDMA_WRITE, 64, sim_set_pad, 1, ROCE_RX_BAD_LENGTH, INV,
	 NULL, "QP_REQ_ERR"},
	{"pad too short", ROCE_WR_SEND, 61, sim_set_pad, 1, ROCE_RX_BAD_LENGTH, INV, NULL,
	 "QP_REQ_ERR"},
	/* atomics */
	{"CmpSwap at a multiple of 4", ROCE_WR_ATOMIC_CMP_AND_SWP, 8, sim_set_va_odd, 1,
	 ROCE_RX_MISALIGNED_ATOMIC, INV, NULL, "QP_REQ_ERR"},
	{"FetchAdd at a multiple of 4", ROCE_WR_ATOMIC_FETCH_AND_ADD, 8, sim_set_va_odd, 1,
	 ROCE_RX_MISALIGNED_ATOMIC, INV, NULL, "QP_REQ_ERR"},
	/* ATOMIC WRITE: one word, aligned */
	{"ATOMIC WRITE at a multiple of 4", ROCE_WR_ATOMIC_WRITE, 8, sim_set_va_odd, 1,
	 ROCE_RX_MISALIGNED_ATOMIC, INV, NULL, "QP_REQ_ERR"},
	{"ATOMIC WRITE of 16 bytes", ROCE_WR_ATOMIC_WRITE, 8, sim_set_payload_16, 1,
	 ROCE_RX_BAD_LENGTH, INV, NULL, "QP_REQ_ERR"},
	{"ATOMIC WRITE of 4 bytes", ROCE_WR_ATOMIC_WRITE, 8, sim_cut_4, 1, ROCE_RX_BAD_LENGTH, INV,
	 NULL, "QP_REQ_ERR"},
	{"ATOMIC WRITE, DMALen 16", ROCE_WR_ATOMIC_WRITE, 8, sim_set_dma_len_16, 1,
	 ROCE_RX_BAD_LENGTH, INV, NULL, "QP_REQ_ERR"},
	{"ATOMIC WRITE without payload", ROCE_WR_ATOMIC_WRITE, 8, sim_empty_payload, 1,
	 ROCE_RX_BAD_LENGTH, INV, NULL, "QP_REQ_ERR"},
	{"ATOMIC WRITE, unknown R_Key", ROCE_WR_ATOMIC_WRITE, 8, sim_set_rkey_unknown, 1,
	 ROCE_RX_BAD_RKEY, ACC, NULL, "QP_ACCESS_ERR"},
	{"ATOMIC WRITE before the region", ROCE_WR_ATOMIC_WRITE, 8, set_va_before, 1,
	 ROCE_RX_BAD_RKEY, ACC, NULL, "QP_ACCESS_ERR"},
	{"ATOMIC WRITE within a SEND", ROCE_WR_SEND, 2000, sim_set_atomic_write, 2,
	 ROCE_RX_BAD_OP_SEQUENCE, INV, "LOC_QP_OP_ERR", NULL},
	/* keys */
	{"WRITE, unknown R_Key", ROCE_WR_RDMA_WRITE, 64, sim_set_rkey_unknown, 1, ROCE_RX_BAD_RKEY,
	 ACC, NULL, "QP_ACCESS_ERR"},
	{"WRITE of three packets, unknown R_Key", ROCE_WR_RDMA_WRITE, 3000, sim_set_rkey_unknown, 1,
	 ROCE_RX_BAD_RKEY, ACC, NULL, "QP_ACCESS_ERR"},
	{"READ, unknown R_Key", ROCE_WR_RDMA_READ, 64, sim_set_rkey_unknown, 1, ROCE_RX_BAD_RKEY,
	 ACC, NULL, "QP_ACCESS_ERR"},
	{"FetchAdd, unknown R_Key", ROCE_WR_ATOMIC_FETCH_AND_ADD, 8, sim_set_rkey_unknown, 1,
	 ROCE_RX_BAD_RKEY, ACC, NULL, "QP_ACCESS_ERR"},
	{"low byte of the R_Key", ROCE_WR_RDMA_WRITE, 64, sim_set_rkey_variant, 1, ROCE_RX_BAD_RKEY,
	 ACC, NULL, "QP_ACCESS_ERR"},
	{"L_Key as R_Key", ROCE_WR_RDMA_WRITE, 64, set_rkey_lkey, 1, ROCE_RX_BAD_RKEY, ACC, NULL,
	 "QP_ACCESS_ERR"},
	{"WRITE before the region", ROCE_WR_RDMA_WRITE, 64, set_va_before, 1, ROCE_RX_BAD_RKEY, ACC,
	 NULL, "QP_ACCESS_ERR"},
	{"WRITE beyond the region", ROCE_WR_RDMA_WRITE, 64, set_va_beyond, 1, ROCE_RX_BAD_RKEY, ACC,
	 NULL, "QP_ACCESS_ERR"},
	{"READ beyond the region", ROCE_WR_RDMA_READ, 2000, set_va_beyond, 1, ROCE_RX_BAD_RKEY, ACC,
	 NULL, "QP_ACCESS_ERR"},
	{"WRITE around the end of addresses", ROCE_WR_RDMA_WRITE, 64, sim_set_va_wrap, 1,
	 ROCE_RX_BAD_RKEY, ACC, NULL, "QP_ACCESS_ERR"},
	{"WRITE with immediate, unknown R_Key", ROCE_WR_RDMA_WRITE_WITH_IMM, 64,
	 sim_set_rkey_unknown, 1, ROCE_RX_BAD_RKEY, ACC, NULL, "QP_ACCESS_ERR"},
	/* invalidate */
	{"invalidate of an unknown key", ROCE_WR_SEND, 64, sim_set_inv, 1, ROCE_RX_BAD_INVALIDATE,
	 ACC, "LOC_QP_OP_ERR", NULL},
	{"invalidate of a plain region", ROCE_WR_SEND, 64, set_inv_of_region, 1,
	 ROCE_RX_BAD_INVALIDATE, ACC, "LOC_QP_OP_ERR", NULL},
	/* receive buffers: 8 KiB, case_035 for the flush that follows */
	{"SEND longer than the receive", ROCE_WR_SEND, 8193, sim_set_nothing, 1,
	 ROCE_RX_RECV_TOO_SMALL, INV, "LOC_LEN_ERR", NULL},
};

static enum roce_wc_status status_of(enum roce_nak code)
{
	switch (code) {
	case ROCE_NAK_INVALID_REQUEST:
		return ROCE_WC_REM_INV_REQ_ERR;
	case ROCE_NAK_REMOTE_ACCESS:
		return ROCE_WC_REM_ACCESS_ERR;
	case ROCE_NAK_REMOTE_OPERATIONAL:
		return ROCE_WC_REM_OP_ERR;
	case ROCE_NAK_PSN_SEQUENCE:
	case ROCE_NAK_INVALID_RD_REQUEST:
		break;
	}
	return ROCE_WC_SUCCESS;
}

/* PSN of the packet that must be NAKed: the first bad one. */
static uint32_t bad_psn(const struct nak_case *c)
{
	if (c->verdict == ROCE_RX_RECV_TOO_SMALL)
		return 10 + 8; /* the packet that does not fit */
	return 10 + c->nth - 1;
}

/* What the packets before the bad one placed: all full. */
static uint64_t good_bytes(const struct nak_case *c)
{
	return (bad_psn(c) - 10) * 1024;
}

/* What both programs see, after the packets. */
static void expect_outcome(const struct nak_case *c)
{
	char expected[400];
	int n = 0;

	n += snprintf(expected + n, sizeof(expected) - (size_t)n,
		      "< NAK %u psn %u msn 0\n"
		      "0 cqe 1 %s\n"
		      "0 cqe 2 WR_FLUSH_ERR\n"
		      "0 cqe 7 WR_FLUSH_ERR\n",
		      c->code, bad_psn(c), sim_text_status((uint8_t)status_of(c->code)));
	n += snprintf(expected + n, sizeof(expected) - (size_t)n,
		      "1 cqe 9 %s\n"
		      "1 cqe 10 WR_FLUSH_ERR\n",
		      c->recv ? c->recv : "WR_FLUSH_ERR");
	if (c->event)
		snprintf(expected + n, sizeof(expected) - (size_t)n, "1 event %s\n", c->event);
	assert_non_null(strstr(f.pair.log.s, "< NAK"));
	assert_string_equal(strstr(f.pair.log.s, "< NAK"), expected);
}

static void run_nak_case(const struct nak_case *c)
{
	print_message("  %s\n", c->name);
	fixture_init(&f);
	fixture_start(&f, true);
	memset(fixture_bytes(&f, 0, 0), 0x5a, 10000);
	change_packet = c->change;
	change_nth = c->nth;
	f.pair.tamper = tamper_nth;
	fixture_recv(&f, 0, 7, 200000, 100);
	fixture_recv(&f, 1, 9, 100000, 8192);
	fixture_recv(&f, 1, 10, 120000, 8192);
	fixture_post(&f, 0, c->opcode, 1, c->length, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 1, 0);
	sim_pair_run(&f.pair, 20 * ROCE_NS_PER_S);

	assert_int_equal(sim_counter(&f.pair.hosts[1], (uint32_t)c->verdict), 1);
	expect_outcome(c);
	assert_int_equal(f.a->attr.state, ROCE_QP_ERR);
	assert_int_equal(f.b->attr.state, ROCE_QP_ERR);
	/* nothing of the refused packet, nor of what came behind it, is in memory; but a receive
	 * buffer may be filled before its message turns out to be bad */
	if (c->verdict != ROCE_RX_BAD_INVALIDATE)
		assert_int_equal(f.pair.hosts[1].placed_bytes, good_bytes(c));
	assert_int_equal(f.pair.hosts[1].atomic_count, 0);
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_STAT_TX_NAKS), 1);
	fixture_stop(&f);
}

static void responder__refuses_with_nak(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(nak_cases) / sizeof(nak_cases[0]); i++)
		run_nak_case(&nak_cases[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roce_rx__drops_in_silence),
		cmocka_unit_test(roce_rx__takes_matching_pkeys),
		cmocka_unit_test(roce_rx__requests_by_state),
		cmocka_unit_test(responder__refuses_with_nak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
