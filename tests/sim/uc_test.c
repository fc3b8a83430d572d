/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UC: nothing is ever answered. Each case of the table breaks one rule by changing one packet of an
 * honest sender: the message is lost in silence, counted under one verdict, its receive WQE serves
 * the next message (own queue) or completes in error (SRQ), and the QP goes on.
 */
#include "fixture.h"

#include "wire/opcode.h"

#include <string.h>

static struct fixture f;

/* Path MTU 1024, PSNs of `a` from 10 on; receives hold 8 KiB. */
static void start(bool has_srq)
{
	fixture_init(&f);
	f.types[0] = f.types[1] = ROCE_QP_UC;
	f.srq_depth = has_srq ? 8 : 0;
	fixture_start(&f, true);
}

/* Nothing came back, and the receiver is well. */
static void require_silence(void)
{
	assert_int_equal(f.pair.link.ends[1].fates[ROCE_LINK_SENT], 0);
	assert_int_equal(f.b->attr.state, ROCE_QP_RTS);
	assert_int_equal(f.pair.hosts[1].event_count, 0);
}

/* ---- what goes well ---- */

static void send_and_write__every_kind(void **state)
{
	(void)state;
	start(false);
	fixture_recv(&f, 1, 9, 100000, 8192);
	fixture_recv(&f, 1, 10, 120000, 8192);
	fixture_recv(&f, 1, 11, 140000, 8192);
	memset(fixture_bytes(&f, 0, 0), 0x5a, 3000);
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 2500, ROCE_SEND_SOLICITED);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 3000, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE_WITH_IMM, 3, 5, 0);
	fixture_post(&f, 0, ROCE_WR_SEND_WITH_IMM, 4, 0, 0);
	fixture_expect(&f, "> UC_SEND_FIRST psn 10 len 1024\n"
			   "> UC_SEND_MIDDLE psn 11 len 1024\n"
			   "> UC_SEND_LAST psn 12 len 452 se\n"
			   "> UC_WRITE_FIRST psn 13 len 1024\n"
			   "> UC_WRITE_MIDDLE psn 14 len 1024\n"
			   "> UC_WRITE_LAST psn 15 len 952\n"
			   "> UC_WRITE_ONLY_IMM psn 16 len 5\n"
			   "> UC_SEND_ONLY_IMM psn 17 len 0\n"
			   "0 cqe 1 SEND SUCCESS\n"
			   "0 cqe 2 WRITE SUCCESS\n"
			   "0 cqe 3 WRITE SUCCESS\n"
			   "0 cqe 4 SEND SUCCESS\n"
			   "1 cqe 9 RECV SUCCESS len 2500\n"
			   "1 cqe 10 RECV_RDMA_WITH_IMM SUCCESS len 5 imm 0x1234\n"
			   "1 cqe 11 RECV SUCCESS len 0 imm 0x1234\n");
	assert_memory_equal(fixture_bytes(&f, 0, 0), fixture_bytes(&f, 1, 0), 3000);
	assert_memory_equal(fixture_bytes(&f, 0, 0), fixture_bytes(&f, 1, 100000), 2500);
	assert_int_equal(f.pair.hosts[1].placed_bytes, 2500 + 3000 + 5);
	assert_int_equal(roce_deadline(&f.pair.hosts[0].transport), ROCE_NEVER);
	fixture_stop(&f);
}

/* More packets than one turn sends: a WQE completes when its last packet is out, no sooner. */
static void complete_unreliable__at_the_last_packet(void **state)
{
	struct roce_tx_pkt pkts[4];
	struct roce_sge sge;
	struct roce_send_wr wr;
	struct roce_cqe cqe;

	(void)state;
	start(false);
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 1, 4096, &sge);
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_OK);
	assert_int_equal(roce_tx(&f.pair.hosts[0].transport, pkts, 3, 0), 3);
	assert_int_equal(roce_cq_poll(&f.send_cq[0]->cq, &cqe, 1), 0);
	assert_int_equal(roce_tx(&f.pair.hosts[0].transport, pkts, 4, 0), 1);
	assert_int_equal(roce_cq_poll(&f.send_cq[0]->cq, &cqe, 1), 1);
	fixture_stop(&f);
}

/* READs, atomics and invalidations are not for UC. */
static void post_send__reliable_operations(void **state)
{
	static const uint8_t refused[] = {ROCE_WR_RDMA_READ, ROCE_WR_ATOMIC_CMP_AND_SWP,
					  ROCE_WR_ATOMIC_FETCH_AND_ADD, ROCE_WR_ATOMIC_WRITE,
					  ROCE_WR_SEND_WITH_INV};

	(void)state;
	start(false);
	for (size_t i = 0; i < sizeof(refused); i++) {
		struct roce_sge sge;
		struct roce_send_wr wr = fixture_wr(&f, 0, refused[i], 1, 8, &sge);

		assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_BAD_OPCODE);
	}
	fixture_expect(&f, "");
	fixture_stop(&f);
}

/* ---- losses ---- */

/* A First or Only packet is taken whatever its PSN, and sequence goes on from there. */
static void psn__first_packet_sets_it(void **state)
{
	(void)state;
	for (unsigned int has_srq = 0; has_srq < 2; has_srq++) {
		start(has_srq);
		fixture_recv(&f, 1, 9, 100000, 8192);
		fixture_recv(&f, 1, 10, 120000, 8192);
		fixture_lose(&f, 1 << 0 | 1 << 2, 0);
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
		fixture_post(&f, 0, ROCE_WR_SEND, 2, 1500, 0);
		fixture_post(&f, 0, ROCE_WR_SEND, 3, 1100, 0);
		fixture_post(&f, 0, ROCE_WR_SEND, 4, 64, 0);
		fixture_expect(&f, has_srq ? "x UC_WRITE_ONLY psn 10 len 64\n"
					     "> UC_SEND_FIRST psn 11 len 1024\n"
					     "x UC_SEND_LAST psn 12 len 476\n"
					     "> UC_SEND_FIRST psn 13 len 1024\n"
					     "> UC_SEND_LAST psn 14 len 76\n"
					     "> UC_SEND_ONLY psn 15 len 64\n"
					     "0 cqe 1 WRITE SUCCESS\n"
					     "0 cqe 2 SEND SUCCESS\n"
					     "0 cqe 3 SEND SUCCESS\n"
					     "0 cqe 4 SEND SUCCESS\n"
					     "1 cqe 9 LOC_QP_OP_ERR\n"
					     "1 cqe 10 RECV SUCCESS len 1100\n"
					   : "x UC_WRITE_ONLY psn 10 len 64\n"
					     "> UC_SEND_FIRST psn 11 len 1024\n"
					     "x UC_SEND_LAST psn 12 len 476\n"
					     "> UC_SEND_FIRST psn 13 len 1024\n"
					     "> UC_SEND_LAST psn 14 len 76\n"
					     "> UC_SEND_ONLY psn 15 len 64\n"
					     "0 cqe 1 WRITE SUCCESS\n"
					     "0 cqe 2 SEND SUCCESS\n"
					     "0 cqe 3 SEND SUCCESS\n"
					     "0 cqe 4 SEND SUCCESS\n"
					     "1 cqe 9 RECV SUCCESS len 1100\n"
					     "1 cqe 10 RECV SUCCESS len 64\n");
		assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_NO_RECV), has_srq);
		require_silence();
		fixture_stop(&f);
	}
}

/* A hole in the middle: the rest is dropped packet by packet, up to the next First. */
static void psn__gap_drops_the_rest(void **state)
{
	(void)state;
	start(false);
	fixture_lose(&f, 1 << 1, 0);
	f.pair.is_quiet = true;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 4096, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 64, 0);
	fixture_expect(&f, "0 cqe 1 WRITE SUCCESS\n0 cqe 2 WRITE SUCCESS\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_MESSAGE_DROPPED), 2);
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_ACCEPTED), 2);
	assert_int_equal(f.pair.hosts[1].placed_bytes, 1024 + 64);
	assert_int_equal(f.b->resp.expected_psn.v, 15);
	require_silence();
	fixture_stop(&f);
}

/* A First while another message is open, in sequence or not, ends that one. */
static void start__ends_the_open_message(void **state)
{
	(void)state;
	for (unsigned int has_srq = 0; has_srq < 2; has_srq++) {
		start(has_srq);
		fixture_recv(&f, 1, 9, 100000, 8192);
		fixture_recv(&f, 1, 10, 120000, 8192);
		fixture_lose(&f, 1 << 1, 0);
		f.pair.is_quiet = true;
		fixture_post(&f, 0, ROCE_WR_SEND, 1, 1500, 0);
		sim_pair_run(&f.pair, ROCE_NS_PER_MS);
		f.a->req.next_psn.v--; /* as if the lost one had never been */
		f.a->req.una.v--;
		fixture_post(&f, 0, ROCE_WR_SEND, 2, 64, 0);
		fixture_expect(&f, has_srq ? "0 cqe 1 SEND SUCCESS\n0 cqe 2 SEND SUCCESS\n"
					     "1 cqe 9 LOC_QP_OP_ERR\n"
					     "1 cqe 10 RECV SUCCESS len 64\n"
					   : "0 cqe 1 SEND SUCCESS\n0 cqe 2 SEND SUCCESS\n"
					     "1 cqe 9 RECV SUCCESS len 64\n");
		assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_ACCEPTED), 2);
		require_silence();
		fixture_stop(&f);
	}
}

/* ---- refusals ---- */

struct drop_case {
	const char *name;
	uint8_t opcode;
	uint32_t length;
	uint32_t nth; /* request packet that is changed, from 1 */
	struct {
		uint8_t opcode; /* 0: unchanged */
		int32_t length;
		int32_t dma_len;
		int32_t va;
		uint32_t rkey; /* bits to turn over */
		uint8_t pad;
	} add;
	enum roce_verdict verdict;
	bool takes_wqe; /* it had a receive WQE in hand */
};

static const struct drop_case drop_cases[] = {
	/* FIRST, MIDDLE, LAST */
	{"SEND MIDDLE without FIRST",
	 ROCE_WR_SEND,
	 1024,
	 1,
	 {.opcode = ROCE_UC_SEND_MIDDLE},
	 ROCE_RX_MESSAGE_DROPPED,
	 false},
	{"SEND LAST without FIRST",
	 ROCE_WR_SEND,
	 64,
	 1,
	 {.opcode = ROCE_UC_SEND_LAST},
	 ROCE_RX_MESSAGE_DROPPED,
	 false},
	{"WRITE MIDDLE without FIRST",
	 ROCE_WR_RDMA_WRITE,
	 1024,
	 1,
	 {.opcode = ROCE_UC_WRITE_MIDDLE},
	 ROCE_RX_MESSAGE_DROPPED,
	 false},
	{"WRITE LAST without FIRST",
	 ROCE_WR_RDMA_WRITE,
	 64,
	 1,
	 {.opcode = ROCE_UC_WRITE_LAST},
	 ROCE_RX_MESSAGE_DROPPED,
	 false},
	{"SEND LAST within a WRITE",
	 ROCE_WR_RDMA_WRITE,
	 2000,
	 2,
	 {.opcode = ROCE_UC_SEND_LAST},
	 ROCE_RX_BAD_OP_SEQUENCE,
	 false},
	{"WRITE LAST within a SEND",
	 ROCE_WR_SEND,
	 2000,
	 2,
	 {.opcode = ROCE_UC_WRITE_LAST},
	 ROCE_RX_BAD_OP_SEQUENCE,
	 true},
	/* lengths */
	{"WRITE FIRST too short",
	 ROCE_WR_RDMA_WRITE,
	 2000,
	 1,
	 {.length = -4},
	 ROCE_RX_BAD_LENGTH,
	 false},
	{"WRITE FIRST too long",
	 ROCE_WR_RDMA_WRITE,
	 2000,
	 1,
	 {.length = 4},
	 ROCE_RX_BAD_LENGTH,
	 false},
	{"SEND FIRST too short", ROCE_WR_SEND, 2000, 1, {.length = -4}, ROCE_RX_BAD_LENGTH, false},
	{"SEND MIDDLE too short", ROCE_WR_SEND, 3000, 2, {.length = -4}, ROCE_RX_BAD_LENGTH, true},
	{"SEND LAST too long", ROCE_WR_SEND, 2048, 2, {.length = 4}, ROCE_RX_BAD_LENGTH, true},
	{"SEND LAST empty", ROCE_WR_SEND, 2000, 2, {.length = -976}, ROCE_RX_BAD_LENGTH, true},
	{"SEND ONLY too long", ROCE_WR_SEND, 1024, 1, {.length = 4}, ROCE_RX_BAD_LENGTH, false},
	{"WRITE ONLY shorter than DMALen",
	 ROCE_WR_RDMA_WRITE,
	 64,
	 1,
	 {.dma_len = 1},
	 ROCE_RX_BAD_LENGTH,
	 false},
	{"WRITE ONLY longer than DMALen",
	 ROCE_WR_RDMA_WRITE,
	 64,
	 1,
	 {.dma_len = -1},
	 ROCE_RX_BAD_LENGTH,
	 false},
	{"WRITE LAST shorter than DMALen",
	 ROCE_WR_RDMA_WRITE,
	 2000,
	 2,
	 {.length = -4},
	 ROCE_RX_BAD_LENGTH,
	 false},
	{"WRITE MIDDLE that completes DMALen",
	 ROCE_WR_RDMA_WRITE,
	 2048,
	 2,
	 {.opcode = ROCE_UC_WRITE_MIDDLE},
	 ROCE_RX_BAD_LENGTH,
	 false},
	{"WRITE of more than 2^31",
	 ROCE_WR_RDMA_WRITE,
	 2000,
	 1,
	 {.dma_len = INT32_MAX},
	 ROCE_RX_BAD_LENGTH,
	 false},
	{"pad of a full word", ROCE_WR_SEND, 64, 1, {.pad = 1}, ROCE_RX_BAD_LENGTH, false},
	/* keys */
	{"WRITE, unknown R_Key",
	 ROCE_WR_RDMA_WRITE,
	 64,
	 1,
	 {.rkey = 0x5500},
	 ROCE_RX_BAD_RKEY,
	 false},
	{"WRITE of three packets, unknown R_Key",
	 ROCE_WR_RDMA_WRITE,
	 3000,
	 1,
	 {.rkey = 0x5500},
	 ROCE_RX_BAD_RKEY,
	 false},
	{"low byte of the R_Key", ROCE_WR_RDMA_WRITE, 64, 1, {.rkey = 1}, ROCE_RX_BAD_RKEY, false},
	{"WRITE before the region", ROCE_WR_RDMA_WRITE, 64, 1, {.va = -8}, ROCE_RX_BAD_RKEY, false},
	{"WRITE beyond the region",
	 ROCE_WR_RDMA_WRITE,
	 64,
	 1,
	 {.va = BUF - 32},
	 ROCE_RX_BAD_RKEY,
	 false},
	/* receives */
	{"SEND longer than the receive", ROCE_WR_SEND, 8193, 0, {0}, ROCE_RX_RECV_TOO_SMALL, true},
};

static const struct drop_case *current;

static bool tamper(struct sim_pair *p, unsigned int from, struct roce_link_pkt *pkt)
{
	if (from != 0 || ++p->tampered != current->nth)
		return true;
	if (current->add.opcode)
		pkt->hdr.opcode.v = current->add.opcode;
	pkt->payload_len += (uint32_t)current->add.length;
	pkt->hdr.dma_len += (uint32_t)current->add.dma_len;
	pkt->hdr.va += (uint64_t)current->add.va;
	pkt->hdr.rkey.v ^= current->add.rkey;
	pkt->hdr.pad_count += current->add.pad;
	return true;
}

/* What the packets before the bad one placed: all full. */
static uint64_t good_bytes(const struct drop_case *c)
{
	return c->verdict == ROCE_RX_RECV_TOO_SMALL ? 8192 : (c->nth - 1) * 1024;
}

static void run_drop_case(const struct drop_case *c, bool has_srq)
{
	bool is_lost = has_srq && c->takes_wqe;

	print_message("  %s%s\n", c->name, has_srq ? ", SRQ" : "");
	start(has_srq);
	f.pair.is_quiet = true;
	fixture_recv(&f, 1, 9, 100000, 8192);
	fixture_recv(&f, 1, 10, 120000, 8192);
	current = c;
	f.pair.tamper = tamper;
	fixture_post(&f, 0, c->opcode, 1, c->length, 0);
	fixture_expect(&f, c->opcode == ROCE_WR_SEND ? is_lost ? "0 cqe 1 SEND SUCCESS\n"
								 "1 cqe 9 LOC_QP_OP_ERR\n"
							       : "0 cqe 1 SEND SUCCESS\n"
						     : "0 cqe 1 WRITE SUCCESS\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], (uint32_t)c->verdict), 1);
	assert_int_equal(f.pair.hosts[1].placed_bytes, good_bytes(c));
	require_silence();

	/* the next message finds everything in order */
	fixture_post(&f, 0, ROCE_WR_SEND, 2, 64, 0);
	fixture_expect(&f, is_lost ? "0 cqe 2 SEND SUCCESS\n1 cqe 10 RECV SUCCESS len 64\n"
				   : "0 cqe 2 SEND SUCCESS\n1 cqe 9 RECV SUCCESS len 64\n");
	require_silence();
	fixture_stop(&f);
}

static void roce_uc_rx__drops_the_message(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(drop_cases) / sizeof(drop_cases[0]); i++)
		for (unsigned int has_srq = 0; has_srq < 2; has_srq++)
			run_drop_case(&drop_cases[i], has_srq);
}

/* No right to write: of the QP, or of the region. */
static void on_write__rights(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		start(false);
		f.pair.is_quiet = true;
		if (i)
			f.mr[1]->access &= ~(uint32_t)ROCE_ACCESS_REMOTE_WRITE;
		else
			f.b->attr.access_flags &= ~(uint32_t)ROCE_ACCESS_REMOTE_WRITE;
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
		fixture_expect(&f, "0 cqe 1 WRITE SUCCESS\n");
		assert_int_equal(sim_counter(&f.pair.hosts[1],
					     i ? ROCE_RX_BAD_RKEY : ROCE_RX_OP_NOT_ALLOWED),
				 1);
		assert_int_equal(f.pair.hosts[1].placed_bytes, 0);
		require_silence();
		fixture_stop(&f);
	}
}

/* Zero length: keys are not looked at. */
static void on_write__zero_length(void **state)
{
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	start(false);
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 1, 0, &sge);
	wr.rkey = 0xbad00;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_expect(&f, "> UC_WRITE_ONLY psn 10 len 0\n0 cqe 1 WRITE SUCCESS\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_ACCEPTED), 1);
	fixture_stop(&f);
}

/* Without a receive the message is dropped, its rest too; one posted later serves the next. */
static void roce_uc_rx__no_recv(void **state)
{
	(void)state;
	for (unsigned int has_srq = 0; has_srq < 2; has_srq++) {
		start(has_srq);
		f.pair.is_quiet = true;
		fixture_post(&f, 0, ROCE_WR_SEND, 1, 3000, 0);
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE_WITH_IMM, 2, 2000, 0);
		fixture_expect(&f, "0 cqe 1 SEND SUCCESS\n0 cqe 2 WRITE SUCCESS\n");
		assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_NO_RECV), 2);
		assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_MESSAGE_DROPPED), 2);
		/* of the WRITE only its first packet is placed */
		assert_int_equal(f.pair.hosts[1].placed_bytes, 1024);
		fixture_recv(&f, 1, 9, 100000, 8192);
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE_WITH_IMM, 3, 2000, 0);
		fixture_expect(&f, "0 cqe 3 WRITE SUCCESS\n"
				   "1 cqe 9 RECV_RDMA_WITH_IMM SUCCESS len 2000 imm 0x1234\n");
		require_silence();
		fixture_stop(&f);
	}
}

/* Memory that is gone: of a WRITE, the message is dropped; of a receive, the QP's own fault. */
static void roce_uc_rx__memory_is_gone(void **state)
{
	(void)state;
	start(false);
	f.pair.is_quiet = true;
	f.pair.hosts[1].copy_fault_in = 2;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 3000, 0);
	fixture_expect(&f, "0 cqe 1 WRITE SUCCESS\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_MEMORY_FAULT), 1);
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_MESSAGE_DROPPED), 1);
	require_silence();

	fixture_recv(&f, 1, 9, 100000, 8192);
	fixture_recv(&f, 1, 10, 100000, 8192);
	f.pair.hosts[1].copy_fault_in = 1;
	fixture_post(&f, 0, ROCE_WR_SEND, 2, 64, 0);
	fixture_expect(&f, "0 cqe 2 SEND SUCCESS\n1 cqe 9 LOC_PROT_ERR\n1 cqe 10 WR_FLUSH_ERR\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_RECV_BAD_SGE), 1);
	assert_int_equal(f.b->attr.state, ROCE_QP_ERR);
	fixture_stop(&f);
}

/* A bad key in the receive WQE: it completes in error, and the QP goes to ERR (class A). */
static void on_send__bad_recv_key(void **state)
{
	(void)state;
	for (unsigned int has_srq = 0; has_srq < 2; has_srq++) {
		start(has_srq);
		f.pair.is_quiet = true;
		fixture_recv(&f, 1, 9, 100000, 8192);
		fixture_recv(&f, 1, 10, 100000, 8192);
		f.mr[1]->access = 0;
		fixture_post(&f, 0, ROCE_WR_SEND, 1, 64, 0);
		fixture_expect(&f, has_srq ? "0 cqe 1 SEND SUCCESS\n1 cqe 9 LOC_PROT_ERR\n"
					     "1 event LAST_WQE_REACHED\n"
					   : "0 cqe 1 SEND SUCCESS\n1 cqe 9 LOC_PROT_ERR\n"
					     "1 cqe 10 WR_FLUSH_ERR\n");
		assert_int_equal(f.b->attr.state, ROCE_QP_ERR);
		assert_int_equal(f.pair.link.ends[1].fates[ROCE_LINK_SENT], 0);
		fixture_stop(&f);
	}
}

/* Packets of the other transports do not reach a UC QP, nor its packets an RC QP. */
static void roce_rx__other_transports(void **state)
{
	static const uint8_t opcodes[] = {ROCE_RC_WRITE_ONLY, ROCE_UD_SEND_ONLY,
					  ROCE_XRC_WRITE_ONLY, ROCE_RC_ACK};

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		const struct drop_case c = {.nth = 1, .add.opcode = opcodes[i]};

		start(false);
		f.pair.is_quiet = true;
		current = &c;
		f.pair.tamper = tamper;
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
		fixture_expect(&f, "0 cqe 1 WRITE SUCCESS\n");
		assert_int_equal(f.pair.last_verdict[1], ROCE_RX_WRONG_TRANSPORT);
		assert_int_equal(f.pair.hosts[1].placed_bytes, 0);
		require_silence();
		fixture_stop(&f);
	}
}

/* The receive CQ has no room: the message is in memory, but the QP can tell nothing any more. */
static void complete__cq_overrun(void **state)
{
	struct sim_cq *small;

	(void)state;
	start(false);
	f.pair.is_quiet = true;
	small = sim_stack_add_cq(&f.pair.hosts[1], 1);
	f.b->cfg.recv_cq = &small->cq;
	fixture_recv(&f, 1, 9, 0, 64);
	fixture_recv(&f, 1, 10, 0, 64);
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 64, 0);
	fixture_post(&f, 0, ROCE_WR_SEND, 2, 64, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(f.pair.last_verdict[1], ROCE_RX_CQ_OVERRUN);
	assert_int_equal(f.b->attr.state, ROCE_QP_ERR);
	assert_int_equal(sim_stack_event_count(&f.pair.hosts[1], ROCE_EVENT_QP_FATAL), 1);
	fixture_stop(&f);
}

/* The same when what has no room is the error of a broken message (SRQ). */
static void abandon_message__cq_overrun(void **state)
{
	struct sim_cq *small;

	(void)state;
	start(true);
	f.pair.is_quiet = true;
	small = sim_stack_add_cq(&f.pair.hosts[1], 1);
	f.b->cfg.recv_cq = &small->cq;
	for (uint64_t i = 9; i < 13; i++)
		fixture_recv(&f, 1, i, 0, 2048);
	fixture_lose(&f, 1 << 2, 0);
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 64, 0);
	fixture_post(&f, 0, ROCE_WR_SEND, 2, 2000, 0);
	fixture_post(&f, 0, ROCE_WR_SEND, 3, 64, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(f.pair.last_verdict[1], ROCE_RX_CQ_OVERRUN);
	assert_int_equal(f.b->attr.state, ROCE_QP_ERR);
	fixture_stop(&f);
}

/* ---- states ---- */

/* RTR is left by the program; the first good packet tells it that the peer is there. */
static void comm_est__once(void **state)
{
	(void)state;
	start(false);
	f.b->attr.state = ROCE_QP_RTR;
	f.pair.is_quiet = true;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 64, 0);
	fixture_expect(&f, "0 cqe 1 WRITE SUCCESS\n0 cqe 2 WRITE SUCCESS\n1 event COMM_EST\n");
	fixture_stop(&f);
}

static void roce_rx__requests_by_state(void **state)
{
	static const bool is_taken[] = {
		[ROCE_QP_RESET] = false, [ROCE_QP_INIT] = false, [ROCE_QP_RTR] = true,
		[ROCE_QP_RTS] = true,	 [ROCE_QP_SQD] = true,	 [ROCE_QP_SQE] = true,
		[ROCE_QP_ERR] = false,
	};

	(void)state;
	for (uint8_t s = 0; s < sizeof(is_taken); s++) {
		start(false);
		f.b->attr.state = s;
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
		sim_pair_run(&f.pair, 10 * ROCE_NS_PER_US);
		assert_int_equal(f.pair.last_verdict[1],
				 is_taken[s] ? ROCE_RX_ACCEPTED : ROCE_RX_WRONG_STATE);
		assert_int_equal(f.pair.hosts[1].placed_bytes, is_taken[s] ? 64 : 0);
		fixture_stop(&f);
	}
}

/* A failed send flushes what is behind it; receiving goes on; RTS opens the queue again. */
static void sqe__and_back(void **state)
{
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	start(false);
	fixture_recv(&f, 0, 7, 100000, 8192);
	wr = fixture_wr(&f, 0, ROCE_WR_SEND, 2, 64, &sge);
	sge.lkey ^= 0x100;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 3, 64, 0);
	fixture_expect(&f, "> UC_WRITE_ONLY psn 10 len 64\n"
			   "0 cqe 1 WRITE SUCCESS\n"
			   "0 cqe 2 LOC_PROT_ERR\n"
			   "0 cqe 3 WR_FLUSH_ERR\n");
	assert_int_equal(f.a->attr.state, ROCE_QP_SQE);

	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 4, 64, 0);
	fixture_post(&f, 1, ROCE_WR_SEND, 5, 64, 0);
	fixture_expect(&f, "< UC_SEND_ONLY psn 5000 len 64\n"
			   "0 cqe 4 WR_FLUSH_ERR\n"
			   "0 cqe 7 RECV SUCCESS len 64\n"
			   "1 cqe 5 SEND SUCCESS\n");

	assert_int_equal(sim_pair_set_state(&f.pair, 0, f.a, ROCE_QP_RTS), ROCE_MODIFY_OK);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 6, 64, 0);
	fixture_expect(&f, "> UC_WRITE_ONLY psn 11 len 64\n0 cqe 6 WRITE SUCCESS\n");
	fixture_stop(&f);
}

/* SQE to ERR flushes the receives too. */
static void sqe__to_err(void **state)
{
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	start(false);
	fixture_recv(&f, 0, 7, 100000, 8192);
	wr = fixture_wr(&f, 0, ROCE_WR_SEND, 1, 64, &sge);
	sge.addr -= 8;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_expect(&f, "0 cqe 1 LOC_PROT_ERR\n");
	assert_int_equal(sim_pair_set_state(&f.pair, 0, f.a, ROCE_QP_ERR), ROCE_MODIFY_OK);
	fixture_expect(&f, "0 cqe 7 WR_FLUSH_ERR\n");
	fixture_stop(&f);
}

/* SQD: what has started is finished, then the queue is drained. */
static void sqd__drains(void **state)
{
	struct roce_qp_attr attr = {.state = ROCE_QP_SQD, .en_sqd_async_notify = 1};
	uint32_t bad;

	(void)state;
	fixture_init(&f);
	f.types[0] = f.types[1] = ROCE_QP_UC;
	f.link.ps_per_byte = 8000;
	fixture_start(&f, true);
	f.pair.is_quiet = true;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 4096, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 64, 0);
	sim_pair_run(&f.pair, 10 * ROCE_NS_PER_US);
	assert_int_equal(roce_qp_modify(f.a, &attr, ROCE_ATTR_STATE | ROCE_ATTR_EN_SQD_ASYNC_NOTIFY,
					sim_pair_now(&f.pair), &bad),
			 ROCE_MODIFY_OK);
	fixture_expect(&f, "0 cqe 1 WRITE SUCCESS\n0 event SQ_DRAINED\n");
	assert_int_equal(sim_pair_set_state(&f.pair, 0, f.a, ROCE_QP_RTS), ROCE_MODIFY_OK);
	fixture_expect(&f, "0 cqe 2 WRITE SUCCESS\n");
	fixture_stop(&f);
}

/* The memory of a packet turns out to be gone when it is copied out: its message fails, and one
 * that had completed by then takes nobody else with it. */
static void roce_tx_fault__blames_its_own_message(void **state)
{
	struct roce_tx_pkt pkts[3];
	struct roce_transport *t;

	(void)state;
	start(false);
	t = &f.pair.hosts[0].transport;
	for (unsigned int i = 0; i < 2; i++) {
		struct roce_sge sge;
		struct roce_send_wr wr =
			fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, i, i ? 4096 : 64, &sge);

		assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_OK);
	}
	assert_int_equal(roce_tx(t, pkts, 3, 0), 3);
	roce_tx_fault(t, &pkts[0], 0);
	assert_int_equal(roce_tx(t, pkts, 1, 0), 1); /* the other goes on */
	assert_int_equal(f.a->attr.state, ROCE_QP_RTS);
	roce_tx_fault(t, &pkts[0], 0);
	assert_int_equal(roce_tx(t, pkts, 3, 0), 0);
	assert_int_equal(f.a->attr.state, ROCE_QP_SQE);
	fixture_expect(&f, "0 cqe 0 WRITE SUCCESS\n0 cqe 1 LOC_PROT_ERR\n");
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(send_and_write__every_kind),
		cmocka_unit_test(complete_unreliable__at_the_last_packet),
		cmocka_unit_test(post_send__reliable_operations),
		cmocka_unit_test(psn__first_packet_sets_it),
		cmocka_unit_test(psn__gap_drops_the_rest),
		cmocka_unit_test(start__ends_the_open_message),
		cmocka_unit_test(roce_uc_rx__drops_the_message),
		cmocka_unit_test(on_write__rights),
		cmocka_unit_test(on_write__zero_length),
		cmocka_unit_test(roce_uc_rx__no_recv),
		cmocka_unit_test(roce_uc_rx__memory_is_gone),
		cmocka_unit_test(on_send__bad_recv_key),
		cmocka_unit_test(roce_rx__other_transports),
		cmocka_unit_test(complete__cq_overrun),
		cmocka_unit_test(abandon_message__cq_overrun),
		cmocka_unit_test(comm_est__once),
		cmocka_unit_test(roce_rx__requests_by_state),
		cmocka_unit_test(sqe__and_back),
		cmocka_unit_test(sqe__to_err),
		cmocka_unit_test(sqd__drains),
		cmocka_unit_test(roce_tx_fault__blames_its_own_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
