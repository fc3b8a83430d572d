/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs that draw their receives from a shared queue: RC ones in turn, and XRC targets, whose
 * peer names the queue with each message.
 */
#include "fixture.h"

#include "wire/opcode.h"

#include <string.h>

static struct fixture f;
static struct roce_qp *a2; /* a second connection, b2 draws from the same queue */
static struct roce_qp *b2;

/* ---- RC ---- */

static void start(void)
{
	fixture_init(&f);
	f.srq_depth = 8;
	fixture_start(&f, true);
	b2 = &sim_stack_add_qp(&f.pair.hosts[1], &f.caps, f.send_cq[1], f.recv_cq[1])->qp;
	f.caps.srq = NULL;
	a2 = &sim_stack_add_qp(&f.pair.hosts[0], &f.caps, f.send_cq[0], f.recv_cq[0])->qp;
	f.conn.psn[0] = 700;
	assert_true(sim_pair_connect(&f.pair, a2, b2, &f.conn));
}

static void send_by(struct roce_qp *qp, uint8_t opcode, uint64_t wr_id, uint32_t length)
{
	struct roce_sge sge;
	struct roce_send_wr wr = fixture_wr(&f, 0, opcode, wr_id, length, &sge);

	assert_int_equal(sim_pair_send(&f.pair, 0, qp, &wr), ROCE_POST_OK);
}

/* Taken when a message begins, first come first served, whoever completes first. */
static void take__by_the_first_packet(void **state)
{
	(void)state;
	start();
	memset(fixture_bytes(&f, 0, 0), 0x5a, 1500);
	fixture_recv(&f, 1, 9, 100000, 4096);
	fixture_recv(&f, 1, 10, 110000, 4096);
	fixture_recv(&f, 1, 11, 120000, 4096);
	fixture_lose(&f, 1 << 1, 0);
	send_by(f.a, ROCE_WR_SEND, 1, 1500);
	send_by(a2, ROCE_WR_SEND, 2, 1400);
	fixture_expect(&f, "> SEND_FIRST psn 10 len 1024\n"
			   "x SEND_LAST psn 11 len 476 ackreq\n"
			   "> SEND_FIRST psn 700 len 1024\n"
			   "> SEND_LAST psn 701 len 376 ackreq\n"
			   "< ACK psn 701 msn 1\n"
			   "> SEND_FIRST psn 10 len 1024\n"
			   "> SEND_LAST psn 11 len 476 ackreq\n"
			   "< ACK psn 11 msn 1\n"
			   "0 cqe 2 SEND SUCCESS\n"
			   "0 cqe 1 SEND SUCCESS\n"
			   "1 cqe 10 RECV SUCCESS len 1400\n"
			   "1 cqe 9 RECV SUCCESS len 1500\n");
	assert_memory_equal(fixture_bytes(&f, 1, 100000), fixture_bytes(&f, 0, 0), 1500);
	assert_memory_equal(fixture_bytes(&f, 1, 110000), fixture_bytes(&f, 0, 0), 1400);
	assert_int_equal(roce_srq_count(&f.srq->srq), 1);
	fixture_stop(&f);
}

/* A WRITE with immediate takes one with its last packet, a plain WRITE none. */
static void take__by_the_last_packet_of_a_write(void **state)
{
	(void)state;
	start();
	f.pair.is_quiet = true;
	fixture_recv(&f, 1, 9, 100000, 0);
	fixture_lose(&f, 1 << 1, 0);
	send_by(f.a, ROCE_WR_RDMA_WRITE_WITH_IMM, 1, 1500);
	send_by(a2, ROCE_WR_SEND, 2, 0);
	fixture_expect_within(&f, 10 * ROCE_NS_PER_MS,
			      "0 cqe 2 SEND SUCCESS\n1 cqe 9 RECV SUCCESS len 0\n");
	fixture_recv(&f, 1, 10, 100000, 0);
	fixture_expect(&f, "0 cqe 1 WRITE SUCCESS\n"
			   "1 cqe 10 RECV_RDMA_WITH_IMM SUCCESS len 1500 imm 0x1234\n");
	fixture_stop(&f);
}

/* Empty: RNR NAK, and the message comes again. */
static void take__empty(void **state)
{
	(void)state;
	start();
	send_by(f.a, ROCE_WR_SEND, 1, 64);
	fixture_expect_within(&f, 10 * ROCE_NS_PER_US,
			      "> SEND_ONLY psn 10 len 64 ackreq\n< RNR_NAK 12 psn 10 msn 0\n");
	fixture_recv(&f, 1, 9, 100000, 64);
	fixture_expect(&f, "> SEND_ONLY psn 10 len 64 ackreq\n"
			   "< ACK psn 10 msn 1\n"
			   "0 cqe 1 SEND SUCCESS\n"
			   "1 cqe 9 RECV SUCCESS len 64\n");
	fixture_stop(&f);
}

/* The limit counts what is left in the queue, and tells it once. */
static void limit__once(void **state)
{
	(void)state;
	start();
	f.pair.is_quiet = true;
	for (uint64_t i = 0; i < 5; i++)
		fixture_recv(&f, 1, i, 100000, 64);
	f.srq->srq.limit = 4;
	for (uint64_t i = 1; i <= 5; i++) {
		send_by(i & 1 ? f.a : a2, ROCE_WR_SEND, i, 64);
		sim_pair_run(&f.pair, ROCE_NS_PER_MS);
		assert_int_equal(f.srq->limit_count, i >= 2);
		assert_int_equal(f.srq->srq.limit, i >= 2 ? 0 : 4);
	}
	fixture_stop(&f);
}

/* Another depth in the middle of a message. */
static void resize__under_an_open_message(void **state)
{
	(void)state;
	start();
	f.pair.is_quiet = true;
	fixture_recv(&f, 1, 9, 100000, 4096);
	fixture_recv(&f, 1, 10, 110000, 4096);
	fixture_lose(&f, 1 << 1, 0);
	send_by(f.a, ROCE_WR_SEND, 1, 1500);
	fixture_expect_within(&f, ROCE_NS_PER_MS, "");
	sim_srq_resize(f.srq, 2);
	send_by(a2, ROCE_WR_SEND, 2, 64);
	fixture_expect(&f, "0 cqe 2 SEND SUCCESS\n"
			   "0 cqe 1 SEND SUCCESS\n"
			   "1 cqe 10 RECV SUCCESS len 64\n"
			   "1 cqe 9 RECV SUCCESS len 1500\n");
	fixture_stop(&f);
}

/* ERR: the WQE in hand is flushed, the rest stays for others, and one event says it was the last.
 */
static void last_wqe_reached__once(void **state)
{
	(void)state;
	for (unsigned int is_open = 0; is_open < 2; is_open++) {
		start();
		f.pair.is_quiet = true;
		fixture_recv(&f, 1, 9, 100000, 4096);
		fixture_recv(&f, 1, 10, 110000, 4096);
		if (is_open) {
			fixture_lose(&f, 1 << 1, 0);
			send_by(f.a, ROCE_WR_SEND, 1, 1500);
			fixture_expect_within(&f, ROCE_NS_PER_MS, "");
		}
		sim_pair_set_state(&f.pair, 1, f.b, ROCE_QP_ERR);
		sim_pair_set_state(&f.pair, 1, f.b, ROCE_QP_ERR);
		fixture_expect_within(&f, ROCE_NS_PER_MS,
				      is_open ? "1 cqe 9 WR_FLUSH_ERR\n1 event LAST_WQE_REACHED\n"
					      : "1 event LAST_WQE_REACHED\n");
		assert_int_equal(roce_srq_count(&f.srq->srq), is_open ? 1 : 2);
		send_by(a2, ROCE_WR_SEND, 2, 64);
		fixture_expect_within(
			&f, ROCE_NS_PER_MS,
			is_open ? "0 cqe 2 SEND SUCCESS\n1 cqe 10 RECV SUCCESS len 64\n"
				: "0 cqe 2 SEND SUCCESS\n1 cqe 9 RECV SUCCESS len 64\n");
		fixture_stop(&f);
	}
}

/* The message does not fit: the WQE taken tells it, then the last-WQE event. */
static void take__too_small(void **state)
{
	(void)state;
	start();
	fixture_recv(&f, 1, 9, 100000, 63);
	fixture_recv(&f, 1, 10, 100000, 64);
	send_by(f.a, ROCE_WR_SEND, 1, 64);
	fixture_expect(&f, "> SEND_ONLY psn 10 len 64 ackreq\n"
			   "< NAK 1 psn 10 msn 0\n"
			   "0 cqe 1 REM_INV_REQ_ERR\n"
			   "1 cqe 9 LOC_LEN_ERR\n"
			   "1 event LAST_WQE_REACHED\n");
	assert_int_equal(roce_srq_count(&f.srq->srq), 1);
	fixture_stop(&f);
}

/* RESET forgets the WQE in hand without a word; the next message takes the next one. */
static void reset__forgets_the_wqe_in_hand(void **state)
{
	(void)state;
	start();
	f.pair.is_quiet = true;
	fixture_recv(&f, 1, 9, 100000, 4096);
	fixture_recv(&f, 1, 10, 110000, 4096);
	fixture_lose(&f, 1 << 1, 0);
	send_by(f.a, ROCE_WR_SEND, 1, 1500);
	fixture_expect_within(&f, ROCE_NS_PER_MS, "");
	sim_pair_set_state(&f.pair, 0, f.a, ROCE_QP_RESET);
	sim_pair_set_state(&f.pair, 1, f.b, ROCE_QP_RESET);
	assert_true(sim_pair_connect(&f.pair, f.a, f.b, &f.conn));
	send_by(f.a, ROCE_WR_SEND, 2, 64);
	fixture_expect(&f, "0 cqe 2 SEND SUCCESS\n1 cqe 10 RECV SUCCESS len 64\n");
	fixture_stop(&f);
}

/* The keys in its WQEs belong to the queue's domain, not to the QP's. */
static void place__domain_of_the_queue(void **state)
{
	struct roce_pd other = {.handle = 9};

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		start();
		f.pair.is_quiet = true;
		f.srq->srq.pd = &other;
		if (i)
			f.mr[1]->pd = &other;
		fixture_recv(&f, 1, 9, 100000, 64);
		send_by(f.a, ROCE_WR_SEND, 1, 64);
		fixture_expect(&f, i ? "0 cqe 1 SEND SUCCESS\n1 cqe 9 RECV SUCCESS len 64\n"
				     : "0 cqe 1 REM_OP_ERR\n1 cqe 9 LOC_PROT_ERR\n"
				       "1 event LAST_WQE_REACHED\n");
		fixture_stop(&f);
	}
}

static void post_recv__not_to_the_qp(void **state)
{
	struct roce_sge sge = {0};

	(void)state;
	start();
	assert_int_equal(sim_pair_recv(&f.pair, 1, f.b, 9, &sge, 0), ROCE_POST_BAD_STATE);
	fixture_stop(&f);
}

/* ---- XRC ---- */

static struct sim_srq *srqs[2];
static struct sim_cq *srq_cqs[2];

static void start_xrc(uint32_t ps_per_byte)
{
	fixture_init(&f);
	f.types[0] = ROCE_QP_XRC_INI;
	f.types[1] = ROCE_QP_XRC_TGT;
	f.caps.recv_wr = 1;
	f.link.ps_per_byte = ps_per_byte;
	fixture_start(&f, true);
	for (unsigned int i = 0; i < 2; i++) {
		srq_cqs[i] = sim_stack_add_cq(&f.pair.hosts[1], 16);
		srqs[i] = sim_stack_add_srq(&f.pair.hosts[1], 8, srq_cqs[i]);
	}
}

static void recv_xrc(unsigned int which, uint64_t wr_id, size_t offset, uint32_t length)
{
	const struct roce_sge sge = {fixture_va(&f, 1, offset), length, f.mr[1]->lkey.v};

	assert_true(sim_srq_post(srqs[which], wr_id, &sge, 1));
}

static void send_xrc(uint8_t opcode, uint64_t wr_id, uint32_t length, uint32_t number)
{
	struct roce_sge sge;
	struct roce_send_wr wr = fixture_wr(&f, 0, opcode, wr_id, length, &sge);

	wr.remote_srqn = number;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
}

static void xrc__two_queues(void **state)
{
	(void)state;
	start_xrc(0);
	memset(fixture_bytes(&f, 0, 0), 0x5a, 1500);
	recv_xrc(0, 9, 100000, 4096);
	recv_xrc(1, 19, 110000, 4096);
	recv_xrc(1, 20, 120000, 4096);
	send_xrc(ROCE_WR_SEND, 1, 64, srqs[1]->number);
	send_xrc(ROCE_WR_SEND_WITH_IMM, 2, 1500, srqs[0]->number);
	send_xrc(ROCE_WR_RDMA_WRITE_WITH_IMM, 3, 8, srqs[1]->number);
	fixture_expect(&f, "> XRC_SEND_ONLY psn 10 len 64 ackreq\n"
			   "> XRC_SEND_FIRST psn 11 len 1024\n"
			   "> XRC_SEND_LAST_IMM psn 12 len 476 ackreq\n"
			   "> XRC_WRITE_ONLY_IMM psn 13 len 8 ackreq\n"
			   "< ACK psn 10 msn 1\n"
			   "< ACK psn 12 msn 2\n"
			   "< ACK psn 13 msn 3\n"
			   "0 cqe 1 SEND SUCCESS\n"
			   "0 cqe 2 SEND SUCCESS\n"
			   "0 cqe 3 WRITE SUCCESS\n"
			   "1 cqe 9 RECV SUCCESS len 1500 imm 0x1234\n"
			   "1 cqe 19 RECV SUCCESS len 64\n"
			   "1 cqe 20 RECV_RDMA_WITH_IMM SUCCESS len 8 imm 0x1234\n");
	assert_memory_equal(fixture_bytes(&f, 1, 100000), fixture_bytes(&f, 0, 0), 1500);
	assert_memory_equal(fixture_bytes(&f, 1, 110000), fixture_bytes(&f, 0, 0), 64);
	fixture_stop(&f);
}

static void xrc__one_sided(void **state)
{
	(void)state;
	start_xrc(0);
	f.pair.is_quiet = true;
	send_xrc(ROCE_WR_RDMA_WRITE, 1, 3000, srqs[0]->number);
	send_xrc(ROCE_WR_RDMA_READ, 2, 3000, srqs[1]->number);
	send_xrc(ROCE_WR_ATOMIC_FETCH_AND_ADD, 3, 8, srqs[0]->number);
	send_xrc(ROCE_WR_ATOMIC_WRITE, 4, 8, srqs[0]->number);
	fixture_expect(&f, "0 cqe 1 WRITE SUCCESS\n"
			   "0 cqe 2 READ SUCCESS\n"
			   "0 cqe 3 FETCH_ADD SUCCESS\n"
			   "0 cqe 4 ATOMIC_WRITE SUCCESS\n");
	fixture_stop(&f);
}

static void xrc__unknown_queue(void **state)
{
	static const uint8_t opcodes[] = {ROCE_WR_SEND, ROCE_WR_RDMA_WRITE, ROCE_WR_RDMA_READ,
					  ROCE_WR_ATOMIC_FETCH_AND_ADD};

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		start_xrc(0);
		f.pair.is_quiet = true;
		recv_xrc(0, 9, 100000, 4096);
		send_xrc(opcodes[i], 1, 8, 0x99);
		send_xrc(ROCE_WR_RDMA_WRITE, 2, 8, srqs[0]->number);
		fixture_expect(&f, "0 cqe 1 REM_INV_REQ_ERR\n"
				   "0 cqe 2 WR_FLUSH_ERR\n"
				   "1 event QP_REQ_ERR\n");
		assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_NO_SRQ), 1);
		assert_int_equal(f.b->attr.state, ROCE_QP_ERR);
		assert_int_equal(roce_srq_count(&srqs[0]->srq), 1);
		assert_int_equal(f.pair.hosts[1].placed_bytes, 0);
		fixture_stop(&f);
	}
}

static void xrc__empty_queue(void **state)
{
	(void)state;
	start_xrc(0);
	recv_xrc(1, 19, 100000, 64);
	send_xrc(ROCE_WR_SEND, 1, 64, srqs[0]->number);
	fixture_expect_within(&f, 10 * ROCE_NS_PER_US,
			      "> XRC_SEND_ONLY psn 10 len 64 ackreq\n< RNR_NAK 12 psn 10 msn 0\n");
	recv_xrc(0, 9, 100000, 64);
	f.pair.is_quiet = true;
	fixture_expect(&f, "0 cqe 1 SEND SUCCESS\n1 cqe 9 RECV SUCCESS len 64\n");
	assert_int_equal(roce_srq_count(&srqs[1]->srq), 1);
	fixture_stop(&f);
}

/* Keys belong to the domain of the queue that the request names; one in progress, or repeated,
 * keeps its own when the next request names another. */
static void xrc__domain_of_the_named_queue(void **state)
{
	struct roce_pd other = {.handle = 9};
	struct roce_mr *second;

	(void)state;
	for (unsigned int lost = 0; lost < 2; lost++) {
		struct roce_sge sge;
		struct roce_send_wr wr;

		start_xrc(lost ? 0 : 800);
		f.pair.is_quiet = true;
		second = sim_stack_add_mr(&f.pair.hosts[1], 0, 4096,
					  ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE);
		second->pd = &other;
		srqs[1]->srq.pd = &other;
		fixture_lose(&f, 0, lost);
		send_xrc(ROCE_WR_RDMA_READ, 1, lost ? 64 : 16 * 1024, srqs[0]->number);
		wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 2, 64, &sge);
		wr.rkey = second->rkey.v;
		wr.remote_addr = second->iova;
		wr.remote_srqn = srqs[1]->number;
		assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
		fixture_expect(&f, "0 cqe 1 READ SUCCESS\n0 cqe 2 WRITE SUCCESS\n");

		/* the key of one domain under the name of the other */
		wr.remote_srqn = srqs[0]->number;
		wr.wr_id = 3;
		assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
		fixture_expect(&f, "0 cqe 3 REM_ACCESS_ERR\n1 event QP_ACCESS_ERR\n");
		fixture_stop(&f);
	}
}

/* The program destroyed the queue in the middle of a SEND: what follows is refused. */
static void xrc__queue_gone_within_a_send(void **state)
{
	(void)state;
	start_xrc(0);
	f.pair.is_quiet = true;
	recv_xrc(0, 9, 100000, 4096);
	fixture_lose(&f, 1 << 1, 0);
	send_xrc(ROCE_WR_SEND, 1, 3000, srqs[0]->number);
	sim_pair_run(&f.pair, ROCE_NS_PER_US);
	assert_true(f.b->is_held);
	f.b->is_held = false;
	f.b->srq = NULL;
	fixture_expect(&f, "0 cqe 1 REM_INV_REQ_ERR\n1 event QP_REQ_ERR\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_NO_SRQ), 1);
	fixture_stop(&f);
}

/* ERR: the WQE in hand completes on its queue's CQ; no last-WQE event, the queue has no owner. */
static void xrc__err_flushes_the_wqe_in_hand(void **state)
{
	(void)state;
	start_xrc(0);
	f.pair.is_quiet = true;
	recv_xrc(0, 9, 100000, 4096);
	recv_xrc(0, 10, 100000, 4096);
	fixture_lose(&f, 1 << 1, 0);
	send_xrc(ROCE_WR_SEND, 1, 1500, srqs[0]->number);
	fixture_expect_within(&f, ROCE_NS_PER_MS, "");
	sim_pair_set_state(&f.pair, 1, f.b, ROCE_QP_ERR);
	fixture_expect_within(&f, ROCE_NS_PER_MS, "1 cqe 9 WR_FLUSH_ERR\n");
	fixture_stop(&f);
}

static void xrc__posts_that_are_refused(void **state)
{
	struct roce_sge sge = {0};

	(void)state;
	start_xrc(0);
	assert_int_equal(sim_pair_recv(&f.pair, 0, f.a, 9, &sge, 0), ROCE_POST_BAD_STATE);
	assert_int_equal(sim_pair_recv(&f.pair, 1, f.b, 9, &sge, 0), ROCE_POST_BAD_STATE);
	for (uint8_t opcode = 0; opcode <= ROCE_WR_ATOMIC_WRITE; opcode++) {
		const struct roce_send_wr wr = {.opcode = opcode};

		assert_int_equal(sim_pair_send(&f.pair, 1, f.b, &wr), ROCE_POST_BAD_OPCODE);
	}
	fixture_stop(&f);
}

/* An initiator takes responses only, a target requests only, and both of XRC only. */
static void xrc__which_packets_reach_it(void **state)
{
	static const struct {
		unsigned int to;
		uint8_t opcode;
	} cases[] = {
		{0, ROCE_XRC_SEND_ONLY}, {0, ROCE_RC_ACK},	 {0, ROCE_XRC_READ_REQUEST},
		{1, ROCE_XRC_ACK},	 {1, ROCE_RC_SEND_ONLY}, {1, ROCE_XRC_READ_RESPONSE_ONLY},
	};

	(void)state;
	start_xrc(0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct sim_stack *from = &f.pair.hosts[!cases[i].to];
		struct sim_stack *to = &f.pair.hosts[cases[i].to];
		const struct roce_rx_pkt pkt = {
			.hdr = {.opcode = {cases[i].opcode},
				.pkey = 0xffff,
				.dest_qpn = to->qps[0]->qp.cfg.qpn,
				.psn = {cases[i].to ? 10 : 5000}},
			.src = &from->gid,
			.dst = &to->gid,
		};

		assert_int_equal(roce_rx(&to->transport, &pkt, 0), ROCE_RX_WRONG_TRANSPORT);
	}
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(take__by_the_first_packet),
		cmocka_unit_test(take__by_the_last_packet_of_a_write),
		cmocka_unit_test(take__empty),
		cmocka_unit_test(limit__once),
		cmocka_unit_test(resize__under_an_open_message),
		cmocka_unit_test(last_wqe_reached__once),
		cmocka_unit_test(take__too_small),
		cmocka_unit_test(reset__forgets_the_wqe_in_hand),
		cmocka_unit_test(place__domain_of_the_queue),
		cmocka_unit_test(post_recv__not_to_the_qp),
		cmocka_unit_test(xrc__two_queues),
		cmocka_unit_test(xrc__one_sided),
		cmocka_unit_test(xrc__unknown_queue),
		cmocka_unit_test(xrc__empty_queue),
		cmocka_unit_test(xrc__domain_of_the_named_queue),
		cmocka_unit_test(xrc__queue_gone_within_a_send),
		cmocka_unit_test(xrc__err_flushes_the_wqe_in_hand),
		cmocka_unit_test(xrc__posts_that_are_refused),
		cmocka_unit_test(xrc__which_packets_reach_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
