/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that must be refused. Each case breaks one rule only, by changing one packet of an
 * honest requester on its way, and tells everything that must come of it: the verdict and its
 * counter, the NAK or the silence, the state of both QPs, completions and events on both sides.
 * After a silent refusal the untouched retransmission must succeed.
 */
#include "fixture.h"

#include "wire/aeth.h"
#include "wire/opcode.h"

#include <stdio.h>
#include <string.h>

static struct fixture f;

typedef void (*change)(struct roce_link_pkt *pkt);

static change change_packet;
static uint32_t change_nth; /* which request packet of host 0, from 1 */

static bool tamper_nth(struct sim_pair *p, unsigned int from, struct roce_link_pkt *pkt)
{
	if (from == 0 && roce_opcode_info(pkt->hdr.opcode)->is_request &&
	    ++p->tampered == change_nth)
		change_packet(pkt);
	return true;
}

/* ---- the ways to break a packet ---- */

static void set_other_qpn(struct roce_link_pkt *pkt)
{
	pkt->hdr.dest_qpn.v ^= 0x20; /* another place in the table */
}

static void set_colliding_qpn(struct roce_link_pkt *pkt)
{
	pkt->hdr.dest_qpn.v ^= 0x4000; /* the same place, another number */
}

static void set_uc(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_UC_WRITE_ONLY);
}

static void set_ud(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_UD_SEND_ONLY);
}

static void set_src(struct roce_link_pkt *pkt)
{
	pkt->src.raw[15] ^= 0x80;
}

static void set_dst(struct roce_link_pkt *pkt)
{
	pkt->dst.raw[15] ^= 0x80;
}

static void set_pkey_other(struct roce_link_pkt *pkt)
{
	pkt->hdr.pkey = 0x8001;
}

static void set_pkey_zero(struct roce_link_pkt *pkt)
{
	pkt->hdr.pkey = 0x8000;
}

static void set_reserved_opcode(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode.v = 0x15;
}

static void set_vendor_opcode(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode.v = 0xc0;
}

static void set_cnp(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_CNP);
	pkt->hdr.becn = true;
}

static void set_write_middle(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_WRITE_MIDDLE);
}

static void set_write_last(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_WRITE_LAST);
}

static void set_send_middle(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_SEND_MIDDLE);
}

static void set_send_last(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_SEND_LAST);
}

static void set_send_only(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_SEND_ONLY);
}

static void set_read_request(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_READ_REQUEST);
	pkt->payload_len = 0;
	pkt->hdr.pad_count = 0;
}

static void set_psn_before_all(struct roce_link_pkt *pkt)
{
	pkt->hdr.psn = (roce_psn_t){9};
}

static void set_flush(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_FLUSH);
	pkt->payload_len = 0;
}

static void set_payload_16(struct roce_link_pkt *pkt)
{
	pkt->payload_len = pkt->hdr.dma_len = 16;
}

static void set_dma_len_16(struct roce_link_pkt *pkt)
{
	pkt->hdr.dma_len = 16;
}

static void set_atomic_write(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_ATOMIC_WRITE);
	pkt->payload_len = pkt->hdr.dma_len = 8;
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

static void empty_payload(struct roce_link_pkt *pkt)
{
	pkt->payload_len = 0;
	pkt->hdr.pad_count = 0;
}

static void set_payload_8(struct roce_link_pkt *pkt)
{
	pkt->payload_len = 8;
}

static void set_pad(struct roce_link_pkt *pkt)
{
	pkt->hdr.pad_count = (uint8_t)(pkt->hdr.pad_count + 1) & 3;
}

static void set_dma_len_more(struct roce_link_pkt *pkt)
{
	pkt->hdr.dma_len += 1;
}

static void set_dma_len_less(struct roce_link_pkt *pkt)
{
	pkt->hdr.dma_len -= 1;
}

static void set_dma_len_huge(struct roce_link_pkt *pkt)
{
	pkt->hdr.dma_len = (1u << 31) + 1;
}

static void set_va_odd(struct roce_link_pkt *pkt)
{
	pkt->hdr.va += 4;
}

static void set_rkey_unknown(struct roce_link_pkt *pkt)
{
	pkt->hdr.rkey.v ^= 0x5500;
}

static void set_rkey_variant(struct roce_link_pkt *pkt)
{
	pkt->hdr.rkey.v ^= 0x01;
}

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

static void set_va_wrap(struct roce_link_pkt *pkt)
{
	pkt->hdr.va = UINT64_MAX - 7;
}

static void set_nothing(struct roce_link_pkt *pkt)
{
	(void)pkt;
}

static void set_inv(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_SEND_ONLY_INV);
	pkt->hdr.inv_rkey.v = 0x12345678;
}

static void set_inv_of_region(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_SEND_ONLY_INV);
	pkt->hdr.inv_rkey = f.mr[1]->rkey; /* a plain region is not for peers to end */
}

/* ---- silence ---- */

struct silent_case {
	const char *name;
	change change;
	enum roce_verdict verdict;
};

static const struct silent_case silent_cases[] = {
	{"no QP of that number", set_other_qpn, ROCE_RX_NO_QP},
	{"another QP's place", set_colliding_qpn, ROCE_RX_NO_QP},
	{"UC packet", set_uc, ROCE_RX_WRONG_TRANSPORT},
	{"UD packet", set_ud, ROCE_RX_WRONG_TRANSPORT},
	{"source address", set_src, ROCE_RX_WRONG_ADDRESS},
	{"destination address", set_dst, ROCE_RX_WRONG_ADDRESS},
	{"other P_Key", set_pkey_other, ROCE_RX_BAD_PKEY},
	{"P_Key 0", set_pkey_zero, ROCE_RX_BAD_PKEY},
	{"opcode 0x15", set_reserved_opcode, ROCE_RX_RESERVED_OPCODE},
	{"vendor opcode", set_vendor_opcode, ROCE_RX_RESERVED_OPCODE},
	{"CNP", set_cnp, ROCE_RX_CNP},
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
	change change;
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
	{"WRITE MIDDLE without FIRST", ROCE_WR_RDMA_WRITE, 1024, set_write_middle, 1,
	 ROCE_RX_BAD_OP_SEQUENCE, INV, NULL, "QP_REQ_ERR"},
	{"WRITE LAST without FIRST", ROCE_WR_RDMA_WRITE, 64, set_write_last, 1,
	 ROCE_RX_BAD_OP_SEQUENCE, INV, NULL, "QP_REQ_ERR"},
	{"SEND MIDDLE without FIRST", ROCE_WR_SEND, 1024, set_send_middle, 1,
	 ROCE_RX_BAD_OP_SEQUENCE, INV, NULL, "QP_REQ_ERR"},
	{"SEND LAST without FIRST", ROCE_WR_SEND, 64, set_send_last, 1, ROCE_RX_BAD_OP_SEQUENCE,
	 INV, NULL, "QP_REQ_ERR"},
	{"SEND LAST within a WRITE", ROCE_WR_RDMA_WRITE, 2000, set_send_last, 2,
	 ROCE_RX_BAD_OP_SEQUENCE, INV, NULL, "QP_REQ_ERR"},
	{"SEND ONLY within a WRITE", ROCE_WR_RDMA_WRITE, 2000, set_send_only, 2,
	 ROCE_RX_BAD_OP_SEQUENCE, INV, NULL, "QP_REQ_ERR"},
	{"WRITE LAST within a SEND", ROCE_WR_SEND, 2000, set_write_last, 2, ROCE_RX_BAD_OP_SEQUENCE,
	 INV, "LOC_QP_OP_ERR", NULL},
	{"READ within a SEND", ROCE_WR_SEND, 2000, set_read_request, 2, ROCE_RX_BAD_OP_SEQUENCE,
	 INV, "LOC_QP_OP_ERR", NULL},
	/* not offered */
	{"FLUSH", ROCE_WR_RDMA_WRITE, 64, set_flush, 1, ROCE_RX_OP_NOT_ALLOWED, INV, NULL,
	 "QP_REQ_ERR"},
	/* lengths */
	{"FIRST too short", ROCE_WR_RDMA_WRITE, 2000, cut_4, 1, ROCE_RX_BAD_LENGTH, INV, NULL,
	 "QP_REQ_ERR"},
	{"FIRST too long", ROCE_WR_RDMA_WRITE, 2000, grow_4, 1, ROCE_RX_BAD_LENGTH, INV, NULL,
	 "QP_REQ_ERR"},
	{"SEND FIRST too short", ROCE_WR_SEND, 2000, cut_4, 1, ROCE_RX_BAD_LENGTH, INV, NULL,
	 "QP_REQ_ERR"},
	{"MIDDLE too short", ROCE_WR_RDMA_WRITE, 3000, cut_4, 2, ROCE_RX_BAD_LENGTH, INV, NULL,
	 "QP_REQ_ERR"},
	{"SEND MIDDLE too long", ROCE_WR_SEND, 3000, grow_4, 2, ROCE_RX_BAD_LENGTH, INV,
	 "LOC_QP_OP_ERR", NULL},
	{"LAST empty", ROCE_WR_SEND, 2000, empty_payload, 2, ROCE_RX_BAD_LENGTH, INV,
	 "LOC_QP_OP_ERR", NULL},
	{"LAST too long", ROCE_WR_SEND, 2048, grow_4, 2, ROCE_RX_BAD_LENGTH, INV, "LOC_QP_OP_ERR",
	 NULL},
	{"ONLY too long", ROCE_WR_SEND, 1024, grow_4, 1, ROCE_RX_BAD_LENGTH, INV, NULL,
	 "QP_REQ_ERR"},
	{"WRITE ONLY shorter than DMALen", ROCE_WR_RDMA_WRITE, 64, set_dma_len_more, 1,
	 ROCE_RX_BAD_LENGTH, INV, NULL, "QP_REQ_ERR"},
	{"WRITE ONLY longer than DMALen", ROCE_WR_RDMA_WRITE, 64, set_dma_len_less, 1,
	 ROCE_RX_BAD_LENGTH, INV, NULL, "QP_REQ_ERR"},
	{"WRITE LAST shorter than DMALen", ROCE_WR_RDMA_WRITE, 2000, cut_4, 2, ROCE_RX_BAD_LENGTH,
	 INV, NULL, "QP_REQ_ERR"},
	{"WRITE LAST longer than DMALen", ROCE_WR_RDMA_WRITE, 2000, grow_4, 2, ROCE_RX_BAD_LENGTH,
	 INV, NULL, "QP_REQ_ERR"},
	{"WRITE MIDDLE that completes DMALen", ROCE_WR_RDMA_WRITE, 2048, set_write_middle, 2,
	 ROCE_RX_BAD_LENGTH, INV, NULL, "QP_REQ_ERR"},
	{"WRITE of more than 2^31", ROCE_WR_RDMA_WRITE, 2000, set_dma_len_huge, 1,
	 ROCE_RX_BAD_LENGTH, INV, NULL, "QP_REQ_ERR"},
	{"READ of more than 2^31", ROCE_WR_RDMA_READ, 64, set_dma_len_huge, 1, ROCE_RX_BAD_LENGTH,
	 INV, NULL, "QP_REQ_ERR"},
	{"READ with payload", ROCE_WR_RDMA_READ, 64, set_payload_8, 1, ROCE_RX_BAD_LENGTH, INV,
	 NULL, "QP_REQ_ERR"},
	{"atomic with payload", ROCE_WR_ATOMIC_FETCH_AND_ADD, 8, set_payload_8, 1,
	 ROCE_RX_BAD_LENGTH, INV, NULL, "QP_REQ_ERR"},
	{"pad of a full word", ROCE_WR_RDMA_WRITE, 64, set_pad, 1, ROCE_RX_BAD_LENGTH, INV, NULL,
	 "QP_REQ_ERR"},
	{"pad too short", ROCE_WR_SEND, 61, set_pad, 1, ROCE_RX_BAD_LENGTH, INV, NULL,
	 "QP_REQ_ERR"},
	/* atomics */
	{"CmpSwap at a multiple of 4", ROCE_WR_ATOMIC_CMP_AND_SWP, 8, set_va_odd, 1,
	 ROCE_RX_MISALIGNED_ATOMIC, INV, NULL, "QP_REQ_ERR"},
	{"FetchAdd at a multiple of 4", ROCE_WR_ATOMIC_FETCH_AND_ADD, 8, set_va_odd, 1,
	 ROCE_RX_MISALIGNED_ATOMIC, INV, NULL, "QP_REQ_ERR"},
	/* ATOMIC WRITE: one word, aligned */
	{"ATOMIC WRITE at a multiple of 4", ROCE_WR_ATOMIC_WRITE, 8, set_va_odd, 1,
	 ROCE_RX_MISALIGNED_ATOMIC, INV, NULL, "QP_REQ_ERR"},
	{"ATOMIC WRITE of 16 bytes", ROCE_WR_ATOMIC_WRITE, 8, set_payload_16, 1, ROCE_RX_BAD_LENGTH,
	 INV, NULL, "QP_REQ_ERR"},
	{"ATOMIC WRITE of 4 bytes", ROCE_WR_ATOMIC_WRITE, 8, cut_4, 1, ROCE_RX_BAD_LENGTH, INV,
	 NULL, "QP_REQ_ERR"},
	{"ATOMIC WRITE, DMALen 16", ROCE_WR_ATOMIC_WRITE, 8, set_dma_len_16, 1, ROCE_RX_BAD_LENGTH,
	 INV, NULL, "QP_REQ_ERR"},
	{"ATOMIC WRITE without payload", ROCE_WR_ATOMIC_WRITE, 8, empty_payload, 1,
	 ROCE_RX_BAD_LENGTH, INV, NULL, "QP_REQ_ERR"},
	{"ATOMIC WRITE, unknown R_Key", ROCE_WR_ATOMIC_WRITE, 8, set_rkey_unknown, 1,
	 ROCE_RX_BAD_RKEY, ACC, NULL, "QP_ACCESS_ERR"},
	{"ATOMIC WRITE before the region", ROCE_WR_ATOMIC_WRITE, 8, set_va_before, 1,
	 ROCE_RX_BAD_RKEY, ACC, NULL, "QP_ACCESS_ERR"},
	{"ATOMIC WRITE within a SEND", ROCE_WR_SEND, 2000, set_atomic_write, 2,
	 ROCE_RX_BAD_OP_SEQUENCE, INV, "LOC_QP_OP_ERR", NULL},
	/* keys */
	{"WRITE, unknown R_Key", ROCE_WR_RDMA_WRITE, 64, set_rkey_unknown, 1, ROCE_RX_BAD_RKEY, ACC,
	 NULL, "QP_ACCESS_ERR"},
	{"WRITE of three packets, unknown R_Key", ROCE_WR_RDMA_WRITE, 3000, set_rkey_unknown, 1,
	 ROCE_RX_BAD_RKEY, ACC, NULL, "QP_ACCESS_ERR"},
	{"READ, unknown R_Key", ROCE_WR_RDMA_READ, 64, set_rkey_unknown, 1, ROCE_RX_BAD_RKEY, ACC,
	 NULL, "QP_ACCESS_ERR"},
	{"FetchAdd, unknown R_Key", ROCE_WR_ATOMIC_FETCH_AND_ADD, 8, set_rkey_unknown, 1,
	 ROCE_RX_BAD_RKEY, ACC, NULL, "QP_ACCESS_ERR"},
	{"low byte of the R_Key", ROCE_WR_RDMA_WRITE, 64, set_rkey_variant, 1, ROCE_RX_BAD_RKEY,
	 ACC, NULL, "QP_ACCESS_ERR"},
	{"L_Key as R_Key", ROCE_WR_RDMA_WRITE, 64, set_rkey_lkey, 1, ROCE_RX_BAD_RKEY, ACC, NULL,
	 "QP_ACCESS_ERR"},
	{"WRITE before the region", ROCE_WR_RDMA_WRITE, 64, set_va_before, 1, ROCE_RX_BAD_RKEY, ACC,
	 NULL, "QP_ACCESS_ERR"},
	{"WRITE beyond the region", ROCE_WR_RDMA_WRITE, 64, set_va_beyond, 1, ROCE_RX_BAD_RKEY, ACC,
	 NULL, "QP_ACCESS_ERR"},
	{"READ beyond the region", ROCE_WR_RDMA_READ, 2000, set_va_beyond, 1, ROCE_RX_BAD_RKEY, ACC,
	 NULL, "QP_ACCESS_ERR"},
	{"WRITE around the end of addresses", ROCE_WR_RDMA_WRITE, 64, set_va_wrap, 1,
	 ROCE_RX_BAD_RKEY, ACC, NULL, "QP_ACCESS_ERR"},
	{"WRITE with immediate, unknown R_Key", ROCE_WR_RDMA_WRITE_WITH_IMM, 64, set_rkey_unknown,
	 1, ROCE_RX_BAD_RKEY, ACC, NULL, "QP_ACCESS_ERR"},
	/* invalidate */
	{"invalidate of an unknown key", ROCE_WR_SEND, 64, set_inv, 1, ROCE_RX_BAD_INVALIDATE, ACC,
	 "LOC_QP_OP_ERR", NULL},
	{"invalidate of a plain region", ROCE_WR_SEND, 64, set_inv_of_region, 1,
	 ROCE_RX_BAD_INVALIDATE, ACC, "LOC_QP_OP_ERR", NULL},
	/* receive buffers: 8 KiB, case_035 for the flush that follows */
	{"SEND longer than the receive", ROCE_WR_SEND, 8193, set_nothing, 1, ROCE_RX_RECV_TOO_SMALL,
	 INV, "LOC_LEN_ERR", NULL},
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

/* ---- refusals that need more than one changed packet ---- */

static void check_op_allowed__by_access_flags(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t missing;
	} cases[] = {
		{ROCE_WR_RDMA_WRITE, ROCE_ACCESS_REMOTE_WRITE},
		{ROCE_WR_RDMA_WRITE_WITH_IMM, ROCE_ACCESS_REMOTE_WRITE},
		{ROCE_WR_RDMA_READ, ROCE_ACCESS_REMOTE_READ},
		{ROCE_WR_ATOMIC_CMP_AND_SWP, ROCE_ACCESS_REMOTE_ATOMIC},
		{ROCE_WR_ATOMIC_FETCH_AND_ADD, ROCE_ACCESS_REMOTE_ATOMIC},
		{ROCE_WR_ATOMIC_WRITE, ROCE_ACCESS_REMOTE_WRITE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fixture_init(&f);
		f.conn.access_flags &= ~cases[i].missing;
		fixture_start(&f, true);
		fixture_post(&f, 0, cases[i].opcode, 1, 8, 0);
		sim_pair_run(&f.pair, ROCE_NS_PER_S);
		assert_string_equal(strchr(f.pair.log.s, '<'), "< NAK 1 psn 10 msn 0\n"
							       "0 cqe 1 REM_INV_REQ_ERR\n"
							       "1 event QP_REQ_ERR\n");
		assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_OP_NOT_ALLOWED), 1);
		fixture_stop(&f);

		/* the same right missing in the region only: an access error */
		fixture_init(&f);
		fixture_start(&f, true);
		f.mr[1]->access &= ~cases[i].missing;
		fixture_post(&f, 0, cases[i].opcode, 1, 8, 0);
		sim_pair_run(&f.pair, ROCE_NS_PER_S);
		assert_string_equal(strchr(f.pair.log.s, '<'), "< NAK 2 psn 10 msn 0\n"
							       "0 cqe 1 REM_ACCESS_ERR\n"
							       "1 event QP_ACCESS_ERR\n");
		assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_BAD_RKEY), 1);
		fixture_stop(&f);
	}
}

/* A key of another protection domain. */
static void check_rkey__case_027(void **state)
{
	struct roce_pd other = {.handle = 99};

	(void)state;
	fixture_init(&f);
	fixture_start(&f, true);
	f.mr[1]->pd = &other;
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 64, 0);
	fixture_expect(&f, "> READ_REQUEST psn 10 dma_len 64 ackreq\n"
			   "< NAK 2 psn 10 msn 0\n"
			   "0 cqe 1 REM_ACCESS_ERR\n"
			   "1 event QP_ACCESS_ERR\n");
	fixture_stop(&f);
}

/* The region goes between two packets of a WRITE: what was placed stays, the rest is refused. */
static void check_rkey__region_goes_within_a_write(void **state)
{
	(void)state;
	fixture_init(&f);
	f.link.ps_per_byte = 8000; /* the first packet is there after 10 us, the second after 19 */
	fixture_start(&f, true);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 2048, 0);
	sim_pair_run(&f.pair, 15 * ROCE_NS_PER_US);
	roce_key_table_remove(&f.pair.hosts[1].transport.keys, f.mr[1]);
	sim_pair_run(&f.pair, ROCE_NS_PER_S);
	assert_non_null(strstr(f.pair.log.s, "< NAK 2 psn 11 msn 0\n"
					     "0 cqe 1 REM_ACCESS_ERR\n"
					     "1 event QP_ACCESS_ERR\n"));
	assert_int_equal(f.pair.hosts[1].placed_bytes, 1024);
	fixture_stop(&f);
}

/* Zero-length accesses: keys and ranges are not looked at. */
static void check_rkey__zero_length_needs_no_key(void **state)
{
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	fixture_start(&f, true);
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 1, 0, &sge);
	wr.rkey = 0xbad00;
	wr.remote_addr = 3;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	wr.opcode = ROCE_WR_RDMA_READ;
	wr.wr_id = 2;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_expect(&f, "> WRITE_ONLY psn 10 len 0 ackreq\n"
			   "> READ_REQUEST psn 11 dma_len 0 ackreq\n"
			   "< ACK psn 10 msn 1\n"
			   "< READ_RESPONSE_ONLY psn 11 len 0 msn 2\n"
			   "0 cqe 1 WRITE SUCCESS\n"
			   "0 cqe 2 READ SUCCESS\n");
	fixture_stop(&f);
}

/* A second READ while the first, all that was agreed, still has responses to send. */
static void check_rd_atomic__too_many_reads(void **state)
{
	(void)state;
	fixture_init(&f);
	f.conn.max_dest_rd_atomic[1] = 1;
	f.conn.max_rd_atomic[0] = 2;
	f.tuning.read_chunk_packets = 64;
	f.tuning.read_window = 1u << 20;
	f.link.ps_per_byte = 800;
	fixture_start(&f, true);
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 40 * 1024, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 2, 64, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_S);
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_TOO_MANY_READS), 1);
	/* the answer that is due goes out first, then the NAK */
	assert_string_equal(strstr(f.pair.log.s, "< READ_RESPONSE_LAST"),
			    "< READ_RESPONSE_LAST psn 49 len 1024 msn 1\n"
			    "< NAK 1 psn 50 msn 1\n"
			    "0 cqe 1 READ SUCCESS\n"
			    "0 cqe 2 REM_INV_REQ_ERR\n"
			    "1 event QP_REQ_ERR\n");
	fixture_stop(&f);
}

/* Answers already given make room: four READs in a row through one resource. */
static void check_rd_atomic__answered_ones_make_room(void **state)
{
	(void)state;
	fixture_init(&f);
	f.conn.max_dest_rd_atomic[1] = 1;
	f.conn.max_rd_atomic[0] = 1;
	fixture_start(&f, true);
	f.pair.is_quiet = true;
	for (uint64_t i = 1; i <= 4; i++)
		fixture_post(&f, 0, ROCE_WR_RDMA_READ, i, 2000, 0);
	fixture_expect(&f, "0 cqe 1 READ SUCCESS\n0 cqe 2 READ SUCCESS\n"
			   "0 cqe 3 READ SUCCESS\n0 cqe 4 READ SUCCESS\n");
	fixture_stop(&f);
}

/* Class A: a bad local key in the receive WQE is this side's fault. */
static void place_send__bad_recv_key(void **state)
{
	struct roce_sge sge;

	(void)state;
	fixture_init(&f);
	fixture_start(&f, true);
	sge = (struct roce_sge){fixture_va(&f, 1, 0), 64, 0xbad00};
	assert_int_equal(sim_pair_recv(&f.pair, 1, f.b, 9, &sge, 1), ROCE_POST_OK);
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 64, 0);
	fixture_expect(&f, "> SEND_ONLY psn 10 len 64 ackreq\n"
			   "< NAK 3 psn 10 msn 0\n"
			   "0 cqe 1 REM_OP_ERR\n"
			   "1 cqe 9 LOC_PROT_ERR\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_RECV_BAD_SGE), 1);
	assert_int_equal(f.pair.hosts[1].placed_bytes, 0);
	fixture_stop(&f);
}

/* The receive WQE's region does not allow writing. */
static void place_send__recv_region_is_read_only(void **state)
{
	(void)state;
	fixture_init(&f);
	fixture_start(&f, true);
	f.mr[1]->access = 0;
	fixture_recv(&f, 1, 9, 0, 64);
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 64, 0);
	fixture_expect(&f, "> SEND_ONLY psn 10 len 64 ackreq\n"
			   "< NAK 3 psn 10 msn 0\n"
			   "0 cqe 1 REM_OP_ERR\n"
			   "1 cqe 9 LOC_PROT_ERR\n");
	fixture_stop(&f);
}

/* Registered memory that is no longer there. */
static void execute__memory_is_gone(void **state)
{
	static const uint8_t opcodes[] = {ROCE_WR_RDMA_WRITE, ROCE_WR_ATOMIC_CMP_AND_SWP,
					  ROCE_WR_ATOMIC_FETCH_AND_ADD, ROCE_WR_ATOMIC_WRITE};

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		fixture_init(&f);
		fixture_start(&f, true);
		f.pair.hosts[1].copy_fault_in = 1;
		fixture_post(&f, 0, opcodes[i], 1, 8, 0);
		sim_pair_run(&f.pair, ROCE_NS_PER_S);
		assert_string_equal(strchr(f.pair.log.s, '<'), "< NAK 3 psn 10 msn 0\n"
							       "0 cqe 1 REM_OP_ERR\n"
							       "1 event QP_ACCESS_ERR\n");
		assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_MEMORY_FAULT), 1);
		fixture_stop(&f);
	}
}

/* The longest message, 2^31 bytes, is within the rules; one more is not (see the table). */
static void check_length__longest_read(void **state)
{
	struct roce_rx_pkt rx = {
		.hdr = {.opcode = roce_opcode_make(ROCE_RC_READ_REQUEST),
			.pkey = 0xffff,
			.psn = {10},
			.dma_len = 1u << 31},
	};

	(void)state;
	fixture_init(&f);
	fixture_start(&f, true);
	f.mr[1]->length = UINT64_C(1) << 31;
	rx.src = &f.pair.hosts[0].gid;
	rx.dst = &f.pair.hosts[1].gid;
	rx.hdr.dest_qpn = f.b->cfg.qpn;
	rx.hdr.va = f.mr[1]->iova;
	rx.hdr.rkey = f.mr[1]->rkey;
	assert_int_equal(roce_rx(&f.pair.hosts[1].transport, &rx, 0), ROCE_RX_ACCEPTED);
	assert_int_equal(f.b->resp.expected_psn.v, 10 + (1u << 21));
	fixture_stop(&f);
}

/* ---- duplicates that do not match what was saved ---- */

static struct roce_link_pkt last_request;

static bool keep_request(struct sim_pair *p, unsigned int from, struct roce_link_pkt *pkt)
{
	(void)p;
	if (from == 0)
		last_request = *pkt;
	return true;
}

static void on_duplicate__mismatch_is_dropped(void **state)
{
	static const struct {
		uint8_t opcode;
		change change;
	} cases[] = {
		{ROCE_WR_RDMA_READ, set_rkey_unknown},
		{ROCE_WR_RDMA_READ, set_va_odd},
		{ROCE_WR_RDMA_READ, set_dma_len_less},
		{ROCE_WR_RDMA_READ, set_dma_len_more},
		{ROCE_WR_RDMA_READ, set_psn_before_all},
		{ROCE_WR_RDMA_READ, set_flush},
		{ROCE_WR_ATOMIC_FETCH_AND_ADD, set_read_request},
		{ROCE_WR_ATOMIC_FETCH_AND_ADD, set_psn_before_all},
		{ROCE_WR_ATOMIC_FETCH_AND_ADD, set_atomic_write},
		{ROCE_WR_RDMA_READ, set_atomic_write},
		{ROCE_WR_ATOMIC_WRITE, set_psn_before_all},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fixture_init(&f);
		fixture_start(&f, true);
		f.pair.tamper = keep_request;
		fixture_post(&f, 0, cases[i].opcode, 1, 8, 0);
		sim_pair_run(&f.pair, ROCE_NS_PER_MS);
		sim_text_clear(&f.pair.log);

		cases[i].change(&last_request);
		f.pair.is_quiet = true;
		roce_link_inject(&f.pair.link, 0, &last_request);
		sim_pair_run(&f.pair, ROCE_NS_PER_MS);
		assert_int_equal(f.pair.last_verdict[1], ROCE_RX_DUPLICATE_MISMATCH);
		assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_DUPLICATE_MISMATCH), 1);
		assert_int_equal(f.pair.link.ends[1].fates[ROCE_LINK_SENT], 1);
		assert_int_equal(f.b->attr.state, ROCE_QP_RTS);
		fixture_stop(&f);
	}
}

/* A repeated READ whose key is no longer good is dropped, never answered with a NAK. */
static void on_duplicate_read__key_is_checked_again(void **state)
{
	(void)state;
	fixture_init(&f);
	fixture_start(&f, true);
	f.pair.tamper = keep_request;
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 64, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	f.mr[1]->access &= ~(uint32_t)ROCE_ACCESS_REMOTE_READ;
	roce_link_inject(&f.pair.link, 0, &last_request);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(f.pair.last_verdict[1], ROCE_RX_DUPLICATE_MISMATCH);
	assert_int_equal(f.pair.link.ends[1].fates[ROCE_LINK_SENT], 1);
	fixture_stop(&f);
}

/* ---- completion queue ---- */

/* Class G: no room for the receive completion; both QPs of that CQ die when they need it. */
static void complete_recv__cq_overrun(void **state)
{
	struct sim_cq *small;
	struct sim_qp *qp;

	(void)state;
	fixture_init(&f);
	fixture_start(&f, false);
	small = sim_stack_add_cq(&f.pair.hosts[1], 1);
	qp = sim_stack_add_qp(&f.pair.hosts[1], &f.caps, f.send_cq[1], small);
	f.b = &qp->qp;
	assert_true(sim_pair_connect(&f.pair, f.a, f.b, &f.conn));
	fixture_recv(&f, 1, 9, 0, 64);
	fixture_recv(&f, 1, 10, 0, 64);
	fixture_recv(&f, 1, 11, 0, 64);
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 64, 0);
	fixture_post(&f, 0, ROCE_WR_SEND, 2, 64, 0);
	fixture_post(&f, 0, ROCE_WR_SEND, 3, 64, 0);
	sim_pair_run(&f.pair, 5 * ROCE_NS_PER_US);

	assert_true(small->cq.is_overrun);
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_STAT_CQ_OVERRUNS), 1);
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_CQ_OVERRUN), 1);
	assert_int_equal(f.b->attr.state, ROCE_QP_ERR);
	assert_int_equal(sim_stack_event_count(&f.pair.hosts[1], ROCE_EVENT_CQ_ERR), 1);
	assert_int_equal(sim_stack_event_count(&f.pair.hosts[1], ROCE_EVENT_QP_FATAL), 1);
	assert_ptr_equal(f.pair.hosts[1].events[0].cq, &small->cq);
	fixture_stop(&f);
}

/* Sends have a CQ of their own: what was posted ends there, each under its own name. */
static void complete_recv__cq_overrun_flushes_sends(void **state)
{
	struct roce_cqe cqes[4];
	struct sim_cq *small;
	struct sim_cq *sends;

	(void)state;
	fixture_init(&f);
	fixture_start(&f, false);
	small = sim_stack_add_cq(&f.pair.hosts[1], 1);
	sends = f.send_cq[1];
	f.b = &sim_stack_add_qp(&f.pair.hosts[1], &f.caps, sends, small)->qp;
	assert_true(sim_pair_connect(&f.pair, f.a, f.b, &f.conn));
	for (uint64_t i = 0; i < 3; i++)
		fixture_recv(&f, 1, 9 + i, 0, 64);
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 64, 0);
	fixture_post(&f, 0, ROCE_WR_SEND, 2, 64, 0);
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 21, 8, 0);
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 22, 8, 0);
	/* Not polled meanwhile: the second SEND finds no room, before an ACK comes back. */
	roce_event_queue_run(&f.pair.queue, f.pair.queue.now_ps + 1500 * ROCE_PS_PER_NS);
	assert_true(small->cq.is_overrun);
	assert_int_equal(f.b->attr.state, ROCE_QP_ERR);
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 23, 8, 0);
	assert_int_equal(roce_cq_poll(&sends->cq, cqes, 4), 3);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(cqes[i].wr_id, 21 + i);
		assert_int_equal(cqes[i].status, ROCE_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(sim_stack_event_count(&f.pair.hosts[1], ROCE_EVENT_QP_FATAL), 1);
	fixture_stop(&f);
}

/* The CQ is dead for everybody: another QP that needs it dies too, with an event of its own. */
static void push_cqe__second_qp_of_a_dead_cq(void **state)
{
	struct sim_cq *small;
	struct sim_qp *qps[2];

	(void)state;
	fixture_init(&f);
	fixture_start(&f, false);
	small = sim_stack_add_cq(&f.pair.hosts[1], 1);
	for (uint32_t i = 0; i < 2; i++)
		qps[i] = sim_stack_add_qp(&f.pair.hosts[1], &f.caps, small, small);
	f.b = &qps[0]->qp;
	assert_true(sim_pair_connect(&f.pair, f.a, f.b, &f.conn));
	f.conn.psn[0] = 77;
	assert_true(sim_pair_connect(
		&f.pair,
		&sim_stack_add_qp(&f.pair.hosts[0], &f.caps, f.send_cq[0], f.recv_cq[0])->qp,
		&qps[1]->qp, &f.conn));
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 1, 8, 0);
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	roce_event_queue_run(&f.pair.queue, f.pair.queue.now_ps + 5000 * ROCE_PS_PER_NS);
	assert_int_equal(qps[0]->qp.attr.state, ROCE_QP_ERR);
	assert_int_equal(qps[1]->qp.attr.state, ROCE_QP_RTS);

	f.b = &qps[1]->qp;
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 3, 8, 0);
	roce_event_queue_run(&f.pair.queue, f.pair.queue.now_ps + 5000 * ROCE_PS_PER_NS);
	assert_int_equal(qps[1]->qp.attr.state, ROCE_QP_ERR);
	assert_int_equal(sim_stack_event_count(&f.pair.hosts[1], ROCE_EVENT_CQ_ERR), 1);
	assert_int_equal(sim_stack_event_count(&f.pair.hosts[1], ROCE_EVENT_QP_FATAL), 2);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roce_rx__drops_in_silence),
		cmocka_unit_test(roce_rx__takes_matching_pkeys),
		cmocka_unit_test(roce_rx__requests_by_state),
		cmocka_unit_test(responder__refuses_with_nak),
		cmocka_unit_test(check_op_allowed__by_access_flags),
		cmocka_unit_test(check_rkey__case_027),
		cmocka_unit_test(check_rkey__region_goes_within_a_write),
		cmocka_unit_test(check_rkey__zero_length_needs_no_key),
		cmocka_unit_test(check_rd_atomic__too_many_reads),
		cmocka_unit_test(check_rd_atomic__answered_ones_make_room),
		cmocka_unit_test(place_send__bad_recv_key),
		cmocka_unit_test(place_send__recv_region_is_read_only),
		cmocka_unit_test(execute__memory_is_gone),
		cmocka_unit_test(check_length__longest_read),
		cmocka_unit_test(on_duplicate__mismatch_is_dropped),
		cmocka_unit_test(on_duplicate_read__key_is_checked_again),
		cmocka_unit_test(complete_recv__cq_overrun),
		cmocka_unit_test(complete_recv__cq_overrun_flushes_sends),
		cmocka_unit_test(push_cqe__second_qp_of_a_dead_cq),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
