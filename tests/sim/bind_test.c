/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work requests that send nothing: binding memory windows and invalidating keys. Host 1 binds a
 * window over its region and host 0 uses it; then their place among the other requests of a queue,
 * under loss and with everything that can hold them up.
 */
#include "fixture.h"

#include "wire/aeth.h"
#include "wire/opcode.h"

#include <string.h>

#define WINDOW_OFFSET 4096u
#define WINDOW_BYTES  2048u

static struct fixture f;
static struct roce_mr mw[2]; /* one on each host */

static void start(uint8_t qp_type, enum roce_mr_kind kind)
{
	fixture_init(&f);
	f.types[0] = f.types[1] = qp_type;
	fixture_start(&f, true);
	for (unsigned int i = 0; i < 2; i++) {
		f.mr[i]->access |= ROCE_ACCESS_MW_BIND;
		assert_int_equal(roce_window_mr_add(&f.pair.hosts[i].transport.keys, &mw[i], kind,
						    &f.pair.hosts[i].pd, 0x77777700, 1),
				 0);
	}
}

static struct roce_mem_bind good_bind(unsigned int i)
{
	return (struct roce_mem_bind){
		.rkey = {mw[i].rkey.v + 1},
		.lkey = f.mr[i]->lkey.v,
		.addr = fixture_va(&f, i, WINDOW_OFFSET),
		.length = WINDOW_BYTES,
		.access = ROCE_ACCESS_REMOTE_WRITE | ROCE_ACCESS_REMOTE_READ,
	};
}

static void post_bind(unsigned int i, uint64_t wr_id, const struct roce_mem_bind *bind,
		      uint8_t flags)
{
	const struct roce_send_wr wr = {
		.wr_id = wr_id, .opcode = ROCE_WR_BIND_MW, .flags = flags, .bind = bind};

	assert_int_equal(sim_pair_send(&f.pair, i, i ? f.b : f.a, &wr), ROCE_POST_OK);
}

/* Host 1 binds its window as request 20. */
static void bind_it(void)
{
	struct roce_mem_bind bind = good_bind(1);

	post_bind(1, 20, &bind, ROCE_SEND_SIGNALED);
	fixture_expect(&f, "1 cqe 20 BIND_MW SUCCESS\n");
}

static void post_inv(unsigned int i, uint64_t wr_id, uint32_t rkey)
{
	const struct roce_send_wr wr = {.wr_id = wr_id,
					.opcode = ROCE_WR_LOCAL_INV,
					.flags = ROCE_SEND_SIGNALED,
					.imm_be = rkey};

	assert_int_equal(sim_pair_send(&f.pair, i, i ? f.b : f.a, &wr), ROCE_POST_OK);
}

/* A request of host 0 through the window of host 1. */
static void use_window(struct roce_qp *qp, uint8_t opcode, uint64_t wr_id, uint32_t offset,
		       uint32_t length)
{
	struct roce_sge sge;
	struct roce_send_wr wr = fixture_wr(&f, 0, opcode, wr_id, length, &sge);

	wr.rkey = mw[1].rkey.v;
	wr.remote_addr = fixture_va(&f, 1, WINDOW_OFFSET + offset);
	if (opcode == ROCE_WR_SEND_WITH_INV)
		wr.imm_be = mw[1].rkey.v;
	assert_int_equal(sim_pair_send(&f.pair, 0, qp, &wr), ROCE_POST_OK);
}

/* ---- using a window ---- */

static void bind__opens_its_range(void **state)
{
	static const struct {
		uint32_t offset;
		uint32_t length;
		bool is_good;
	} cases[] = {
		{0, WINDOW_BYTES, true},  {WINDOW_BYTES - 1, 1, true}, {0, WINDOW_BYTES + 1, false},
		{(uint32_t)-1, 1, false}, {WINDOW_BYTES, 1, false},
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		start(ROCE_QP_RC, i & 1 ? ROCE_MR_WINDOW_1 : ROCE_MR_WINDOW_2);
		bind_it();
		f.pair.is_quiet = true;
		memset(fixture_bytes(&f, 0, 0), 0x5a, WINDOW_BYTES + 1);
		{
			struct roce_sge sge;
			struct roce_send_wr wr =
				fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 1, cases[i / 2].length, &sge);

			wr.rkey = mw[1].rkey.v;
			wr.remote_addr = fixture_va(&f, 1, WINDOW_OFFSET) +
					 (uint64_t)(int64_t)(int32_t)cases[i / 2].offset;
			assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
		}
		fixture_expect(&f, cases[i / 2].is_good ? "0 cqe 1 WRITE SUCCESS\n"
							: "0 cqe 1 REM_ACCESS_ERR\n"
							  "1 event QP_ACCESS_ERR\n");
		assert_int_equal(f.pair.hosts[1].placed_bytes,
				 cases[i / 2].is_good ? cases[i / 2].length : 0);
		fixture_stop(&f);
	}
}

/* Type 1 belongs to the domain, type 2 to the QP that bound it. */
static void bind__which_qps_may_use_it(void **state)
{
	(void)state;
	for (unsigned int type_1 = 0; type_1 < 2; type_1++) {
		struct roce_qp *a2;
		struct roce_qp *b2;

		start(ROCE_QP_RC, type_1 ? ROCE_MR_WINDOW_1 : ROCE_MR_WINDOW_2);
		bind_it();
		f.pair.is_quiet = true;
		f.caps.type = 0;
		a2 = &sim_stack_add_qp(&f.pair.hosts[0], &f.caps, f.send_cq[0], f.recv_cq[0])->qp;
		b2 = &sim_stack_add_qp(&f.pair.hosts[1], &f.caps, f.send_cq[1], f.recv_cq[1])->qp;
		assert_true(sim_pair_connect(&f.pair, a2, b2, &f.conn));
		use_window(f.a, ROCE_WR_RDMA_READ, 1, 0, 64);
		fixture_expect(&f, "0 cqe 1 READ SUCCESS\n");
		use_window(a2, ROCE_WR_RDMA_READ, 2, 0, 64);
		fixture_expect(&f, type_1 ? "0 cqe 2 READ SUCCESS\n"
					  : "0 cqe 2 REM_ACCESS_ERR\n1 event QP_ACCESS_ERR\n");
		fixture_stop(&f);
	}
}

/* A QP that goes takes its windows with it. */
static void fini__unbinds(void **state)
{
	struct roce_qp_config cfg;

	(void)state;
	start(ROCE_QP_RC, ROCE_MR_WINDOW_2);
	bind_it();
	assert_true(mw[1].is_valid);
	cfg = f.b->cfg;
	roce_qp_fini(f.b);
	assert_false(mw[1].is_valid);
	assert_int_equal(f.mr[1]->window_count, 0);
	assert_true(roce_qp_init(f.b, &f.pair.hosts[1].transport, &cfg));
	fixture_stop(&f);
}

/* ---- ending a window ---- */

static void local_inv__ends_it(void **state)
{
	(void)state;
	start(ROCE_QP_RC, ROCE_MR_WINDOW_2);
	bind_it();
	f.pair.is_quiet = true;
	use_window(f.a, ROCE_WR_RDMA_WRITE, 1, 0, 64);
	fixture_expect(&f, "0 cqe 1 WRITE SUCCESS\n");
	post_inv(1, 21, mw[1].rkey.v);
	fixture_expect(&f, "1 cqe 21 LOCAL_INV SUCCESS\n");
	assert_int_equal(f.mr[1]->window_count, 0);
	use_window(f.a, ROCE_WR_RDMA_WRITE, 2, 0, 64);
	fixture_expect(&f, "0 cqe 2 REM_ACCESS_ERR\n1 event QP_ACCESS_ERR\n");
	fixture_stop(&f);
}

/* Not bound, a region, a window of type 1: the request fails, and what is behind it is flushed. */
static void local_inv__fails(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		start(ROCE_QP_RC, i == 2 ? ROCE_MR_WINDOW_1 : ROCE_MR_WINDOW_2);
		if (i == 2)
			bind_it();
		post_inv(1, 21, i == 1 ? f.mr[1]->rkey.v : mw[1].rkey.v);
		fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 22, 8, 0);
		fixture_expect(&f, "1 cqe 21 LOC_QP_OP_ERR\n1 cqe 22 WR_FLUSH_ERR\n");
		assert_int_equal(f.b->attr.state, ROCE_QP_ERR);
		fixture_stop(&f);
	}
}

/* The peer ends it with the message that says so; the receive names the key. */
static void send_with_inv__ends_it(void **state)
{
	(void)state;
	start(ROCE_QP_RC, ROCE_MR_WINDOW_2);
	bind_it();
	fixture_recv(&f, 1, 9, 0, 64);
	use_window(f.a, ROCE_WR_RDMA_WRITE, 1, 0, 64);
	use_window(f.a, ROCE_WR_SEND_WITH_INV, 2, 0, 5);
	fixture_expect(&f, "> WRITE_ONLY psn 10 len 64 ackreq\n"
			   "> SEND_ONLY_INV psn 11 len 5 ackreq\n"
			   "< ACK psn 10 msn 1\n"
			   "< ACK psn 11 msn 2\n"
			   "0 cqe 1 WRITE SUCCESS\n"
			   "0 cqe 2 SEND SUCCESS\n"
			   "1 cqe 9 RECV SUCCESS len 5 inv 0x77777702\n");
	assert_false(mw[1].is_valid);
	assert_int_equal(f.mr[1]->window_count, 0);
	/* free: it can be bound again */
	bind_it();
	fixture_stop(&f);
}

/* Windows of type 1, of another QP, or not bound are not the peer's to end (class J). */
static void send_with_inv__refused(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		static const int other_qp;

		start(ROCE_QP_RC, i == 0 ? ROCE_MR_WINDOW_1 : ROCE_MR_WINDOW_2);
		if (i < 2)
			bind_it();
		if (i == 1)
			mw[1].bound_qp = &other_qp;
		f.pair.is_quiet = true;
		fixture_recv(&f, 1, 9, 0, 64);
		use_window(f.a, ROCE_WR_SEND_WITH_INV, 2, 0, 5);
		fixture_expect(&f, "0 cqe 2 REM_ACCESS_ERR\n1 cqe 9 LOC_QP_OP_ERR\n");
		assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_BAD_INVALIDATE), 1);
		assert_int_equal(mw[1].is_valid, i < 2);
		fixture_stop(&f);
	}
}

/* ---- a bind that is refused ---- */

static void bind__error_flushes(void **state)
{
	struct roce_mem_bind bind;

	(void)state;
	for (unsigned int uc = 0; uc < 2; uc++) {
		start(uc ? ROCE_QP_UC : ROCE_QP_RC, ROCE_MR_WINDOW_2);
		bind = good_bind(1);
		bind.length = BUF;
		fixture_recv(&f, 1, 9, 0, 64);
		post_bind(1, 20, &bind, 0);
		fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 21, 8, 0);
		fixture_expect(&f, uc ? "1 cqe 20 MW_BIND_ERR\n1 cqe 21 WR_FLUSH_ERR\n"
				      : "1 cqe 20 MW_BIND_ERR\n1 cqe 21 WR_FLUSH_ERR\n"
					"1 cqe 9 WR_FLUSH_ERR\n");
		assert_int_equal(f.b->attr.state, uc ? ROCE_QP_SQE : ROCE_QP_ERR);
		assert_false(mw[1].is_valid);
		fixture_stop(&f);
	}
}

static void post_send__bind_without_parameters(void **state)
{
	const struct roce_send_wr wr = {.opcode = ROCE_WR_BIND_MW};

	(void)state;
	start(ROCE_QP_RC, ROCE_MR_WINDOW_2);
	assert_int_equal(sim_pair_send(&f.pair, 1, f.b, &wr), ROCE_POST_BAD_OPCODE);
	fixture_stop(&f);
}

/* ---- the place in the queue ---- */

/* Each kind between messages, with losses: everything completes once and in order; the
 * invalidation waits for what is before it and holds what is behind it, the bind does neither. */
static void run_local__in_order_under_loss(void **state)
{
	struct roce_mem_bind bind;

	(void)state;
	for (unsigned int lost = 0; lost < 16; lost++) {
		start(ROCE_QP_RC, ROCE_MR_WINDOW_2);
		f.pair.is_quiet = true;
		bind = good_bind(0);
		fixture_lose(&f, lost & 7, lost >> 3);
		fixture_recv(&f, 1, 9, 0, 64);
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
		post_bind(0, 2, &bind, ROCE_SEND_SIGNALED);
		fixture_post(&f, 0, ROCE_WR_RDMA_READ, 3, 64, 0);
		post_inv(0, 4, bind.rkey.v);
		bind.rkey.v++;
		post_bind(0, 5, &bind, 0);
		fixture_post(&f, 0, ROCE_WR_SEND, 6, 64, 0);
		post_inv(0, 7, bind.rkey.v);
		fixture_expect(&f, "0 cqe 1 WRITE SUCCESS\n"
				   "0 cqe 2 BIND_MW SUCCESS\n"
				   "0 cqe 3 READ SUCCESS\n"
				   "0 cqe 4 LOCAL_INV SUCCESS\n"
				   "0 cqe 6 SEND SUCCESS\n"
				   "0 cqe 7 LOCAL_INV SUCCESS\n"
				   "1 cqe 9 RECV SUCCESS len 64\n");
		assert_int_equal(f.mr[0]->window_count, 0);
		fixture_stop(&f);
	}
}

/* A bind is executed at once behind an unanswered WRITE, an invalidation is not. */
static void run_local__who_waits(void **state)
{
	struct roce_mem_bind bind;

	(void)state;
	start(ROCE_QP_RC, ROCE_MR_WINDOW_2);
	bind = good_bind(0);
	fixture_lose(&f, 1, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
	post_bind(0, 2, &bind, ROCE_SEND_SIGNALED);
	post_inv(0, 3, bind.rkey.v);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 4, 64, 0);
	fixture_expect_within(&f, ROCE_NS_PER_MS, "x WRITE_ONLY psn 10 len 64 ackreq\n");
	assert_true(mw[0].is_valid);
	fixture_expect(&f, "> WRITE_ONLY psn 10 len 64 ackreq\n"
			   "< ACK psn 10 msn 1\n"
			   "> WRITE_ONLY psn 11 len 64 ackreq\n"
			   "< ACK psn 11 msn 2\n"
			   "0 cqe 1 WRITE SUCCESS\n"
			   "0 cqe 2 BIND_MW SUCCESS\n"
			   "0 cqe 3 LOCAL_INV SUCCESS\n"
			   "0 cqe 4 WRITE SUCCESS\n");
	assert_false(mw[0].is_valid);
	fixture_stop(&f);
}

/* A refused bind fails when its turn to complete has come, and nothing passes it. */
static void run_local__failure_waits(void **state)
{
	struct roce_mem_bind bind;

	(void)state;
	start(ROCE_QP_RC, ROCE_MR_WINDOW_2);
	bind = good_bind(0);
	bind.lkey ^= 0x100;
	fixture_lose(&f, 1, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, 0);
	post_bind(0, 2, &bind, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 3, 64, 0);
	fixture_expect_within(&f, ROCE_NS_PER_MS, "x WRITE_ONLY psn 10 len 64 ackreq\n");
	assert_int_equal(f.a->attr.state, ROCE_QP_RTS);
	fixture_expect(&f, "> WRITE_ONLY psn 10 len 64 ackreq\n"
			   "< ACK psn 10 msn 1\n"
			   "0 cqe 1 WRITE SUCCESS\n"
			   "0 cqe 2 MW_BIND_ERR\n"
			   "0 cqe 3 WR_FLUSH_ERR\n");
	fixture_stop(&f);
}

/* With the fence a bind waits for the READs before it, without it does not. */
static void run_local__fence(void **state)
{
	(void)state;
	for (unsigned int fenced = 0; fenced < 2; fenced++) {
		struct roce_mem_bind bind;

		start(ROCE_QP_RC, ROCE_MR_WINDOW_2);
		f.pair.is_quiet = true;
		bind = good_bind(0);
		fixture_lose(&f, 0, 1);
		fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 64, 0);
		post_bind(0, 2, &bind,
			  (uint8_t)(ROCE_SEND_SIGNALED | (fenced ? ROCE_SEND_FENCE : 0)));
		fixture_expect_within(&f, ROCE_NS_PER_MS, "");
		assert_int_equal(mw[0].is_valid, !fenced);
		fixture_expect(&f, "0 cqe 1 READ SUCCESS\n0 cqe 2 BIND_MW SUCCESS\n");
		assert_true(mw[0].is_valid);
		fixture_stop(&f);
	}
}

/* Not in SQD: they are started like everything else, in RTS. */
static void run_local__not_in_sqd(void **state)
{
	struct roce_mem_bind bind;

	(void)state;
	start(ROCE_QP_RC, ROCE_MR_WINDOW_2);
	bind = good_bind(0);
	assert_int_equal(sim_pair_set_state(&f.pair, 0, f.a, ROCE_QP_SQD), ROCE_MODIFY_OK);
	post_bind(0, 2, &bind, ROCE_SEND_SIGNALED);
	fixture_expect(&f, "");
	assert_false(mw[0].is_valid);
	assert_int_equal(sim_pair_set_state(&f.pair, 0, f.a, ROCE_QP_RTS), ROCE_MODIFY_OK);
	fixture_expect(&f, "0 cqe 2 BIND_MW SUCCESS\n");
	fixture_stop(&f);
}

static enum roce_verdict respond(enum roce_op op, uint32_t psn, const void *payload,
				 uint32_t length, roce_ns_t now)
{
	const struct roce_rx_pkt pkt = {
		.hdr = {.opcode = roce_opcode_make(op),
			.pkey = 0xffff,
			.dest_qpn = f.a->cfg.qpn,
			.psn = {psn},
			.syndrome = roce_aeth_syndrome(ROCE_AETH_ACK, ROCE_CREDIT_NONE)},
		.payload = payload,
		.payload_len = length,
		.src = &f.pair.hosts[1].gid,
		.dst = &f.pair.hosts[0].gid,
	};

	return roce_rx(&f.pair.hosts[0].transport, &pkt, now);
}

/* Sending has gone back before a bind that was executed, and the old answers come late: the bind
 * completes between them though sending has not come by it again. */
static void complete_local__behind_old_answers(void **state)
{
	struct roce_transport *t;
	struct roce_tx_pkt pkts[4];
	struct roce_mem_bind bind;
	struct roce_sge sge;
	struct roce_send_wr wr;
	struct roce_cqe cqes[4];
	static const uint8_t bytes[8] = "answer";
	roce_ns_t now;

	(void)state;
	start(ROCE_QP_RC, ROCE_MR_WINDOW_2);
	t = &f.pair.hosts[0].transport;
	bind = good_bind(0);
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, &sge);
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_OK);
	wr = (struct roce_send_wr){
		.wr_id = 2, .opcode = ROCE_WR_BIND_MW, .flags = ROCE_SEND_SIGNALED, .bind = &bind};
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_OK);
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_READ, 3, 8, &sge);
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_OK);
	assert_int_equal(roce_tx(t, pkts, 4, 0), 2);
	now = roce_deadline(t);
	roce_on_deadline(t, now);
	assert_int_equal(roce_tx(t, pkts, 1, now), 1); /* the WRITE again */
	assert_int_equal(pkts[0].hdr.psn.v, 10);
	assert_int_equal(respond(ROCE_RC_ACK, 10, NULL, 0, now), ROCE_RX_ACCEPTED);
	assert_int_equal(respond(ROCE_RC_READ_RESPONSE_ONLY, 11, bytes, 8, now), ROCE_RX_ACCEPTED);
	assert_int_equal(roce_cq_poll(&f.send_cq[0]->cq, cqes, 4), 3);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(cqes[i].wr_id, i + 1);
		assert_int_equal(cqes[i].status, ROCE_WC_SUCCESS);
	}
	assert_int_equal(roce_tx(t, pkts, 4, now), 0);
	assert_int_equal(f.a->sq.next, f.a->sq.posted);
	fixture_stop(&f);
}

/* UC binds too, between its messages. */
static void bind__uc(void **state)
{
	struct roce_mem_bind bind;

	(void)state;
	start(ROCE_QP_UC, ROCE_MR_WINDOW_2);
	bind = good_bind(1);
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 19, 8, 0);
	post_bind(1, 20, &bind, ROCE_SEND_SIGNALED);
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 21, 8, 0);
	fixture_expect(&f, "< UC_WRITE_ONLY psn 5000 len 8\n"
			   "< UC_WRITE_ONLY psn 5001 len 8\n"
			   "1 cqe 19 WRITE SUCCESS\n"
			   "1 cqe 20 BIND_MW SUCCESS\n"
			   "1 cqe 21 WRITE SUCCESS\n");
	use_window(f.a, ROCE_WR_RDMA_WRITE, 1, 0, 64);
	fixture_expect(&f, "> UC_WRITE_ONLY psn 10 len 64\n0 cqe 1 WRITE SUCCESS\n");
	assert_int_equal(f.pair.hosts[1].placed_bytes, 64);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bind__opens_its_range),
		cmocka_unit_test(bind__which_qps_may_use_it),
		cmocka_unit_test(fini__unbinds),
		cmocka_unit_test(local_inv__ends_it),
		cmocka_unit_test(local_inv__fails),
		cmocka_unit_test(send_with_inv__ends_it),
		cmocka_unit_test(send_with_inv__refused),
		cmocka_unit_test(bind__error_flushes),
		cmocka_unit_test(post_send__bind_without_parameters),
		cmocka_unit_test(run_local__in_order_under_loss),
		cmocka_unit_test(run_local__who_waits),
		cmocka_unit_test(run_local__failure_waits),
		cmocka_unit_test(run_local__fence),
		cmocka_unit_test(run_local__not_in_sqd),
		cmocka_unit_test(complete_local__behind_old_answers),
		cmocka_unit_test(bind__uc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
