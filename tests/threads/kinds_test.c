/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every kind of queue pair at once on one device, a thread for each: UC and UD, RC on a shared
 * receive queue, XRC, memory windows that are bound, used and invalidated. The shared receives
 * report to one queue, whose events are moderated and for which one thread sleeps; two more make,
 * change and end all that can be changed under traffic. Right bytes, in order, and under
 * ThreadSanitizer nothing may race. Usage: kinds_test [MESSAGES_OF_EACH_THREAD]
 *
 * A thread may not fail with cmocka's means, since those leave by longjmp: hence require().
 */
#include "lo_device.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define LANES	      6u
#define CHURNERS      2u
#define LANE_BYTES    8192u
#define MESSAGE_BYTES 200u
#define GRH_BYTES     40u
#define SINK_AT	      2048u
#define POOL_AT	      (LANES * LANE_BYTES) /* landing places of the shared queues */
#define POOL_SLOTS    16u
#define TIMEOUT_CODE  18 /* 1 s: a loaded machine may starve us */
#define QKEY	      0x1234u
#define LOST_AFTER_S  30 /* late is not lost: its place would be taken for the next one's */

enum kind { KIND_UC, KIND_UD, KIND_SRQ, KIND_SRQ_TOO, KIND_XRC, KIND_WINDOW };

struct lane {
	enum kind kind;
	struct ibv_cq *cq;
	struct ibv_qp *from;
	struct ibv_qp *to;
	unsigned char *mem;
	uint32_t srqn;
	atomic_uint arrived; /* what came by the shared queues */
	uint32_t lost;
};

static struct lo_device lo;
static struct lane lanes[LANES];
static struct ibv_cq *shared_cq;
static struct ibv_srq *srq;
static struct ibv_srq *xrc_srq;
static struct ibv_xrcd *xrcd;
static uint32_t message_count = 200;
static atomic_bool is_over;

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	_exit(1);
}

static void fill(unsigned char *to, const struct lane *l, uint32_t n)
{
	memcpy(to, &n, sizeof(n));
	for (uint32_t i = sizeof(n); i < MESSAGE_BYTES; i++)
		to[i] = (unsigned char)(n * 13 + (uint32_t)l->kind * 41 + i);
}

static bool is_filled(const unsigned char *bytes, const struct lane *l, uint32_t n)
{
	unsigned char expected[MESSAGE_BYTES];

	fill(expected, l, n);
	return memcmp(bytes, expected, MESSAGE_BYTES) == 0;
}

/* ---- one lane ---- */

static struct ibv_sge sge_at(unsigned char *at, uint32_t length)
{
	return (struct ibv_sge){.addr = (uintptr_t)at, .length = length, .lkey = lo.mr->lkey};
}

/* The next completion of the lane's own queue; false when none comes for a while. */
static bool next_completion(struct lane *l, struct ibv_wc *wc)
{
	time_t end = time(NULL) + LOST_AFTER_S;
	bool is_last = false;
	int n;

	while ((n = ibv_poll_cq(l->cq, 1, wc)) == 0) {
		if (is_last)
			return false;
		is_last = time(NULL) > end; /* who stood still meanwhile looks once more */
		sched_yield();
	}
	require(n == 1, "polling works");
	return true;
}

static void expect(struct lane *l, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc;

	for (int i = 0; i < 10; i++)
		if (next_completion(l, &wc)) {
			require(wc.status == IBV_WC_SUCCESS && wc.opcode == opcode,
				"a request succeeds");
			return;
		}
	require(false, "a request ends");
}

static void post_send(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->send_flags |= IBV_SEND_SIGNALED;
	require(ibv_post_send(qp, wr, &bad) == 0, "a request is taken");
}

static void post_recv(struct ibv_qp *qp, unsigned char *at)
{
	struct ibv_sge sge = sge_at(at, MESSAGE_BYTES + GRH_BYTES);
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	require(ibv_post_recv(qp, &wr, &bad) == 0, "a receive is taken");
}

/* UC and UD: what does not arrive may be lost, what arrives is right. */
static void run_unreliable(struct lane *l)
{
	struct ibv_ah_attr ah_attr = lo_ah_attr(&lo);
	struct ibv_sge sge = sge_at(l->mem, MESSAGE_BYTES);
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	bool is_posted = false;

	for (uint32_t n = 0; n < message_count; n++) {
		uint32_t skip = l->kind == KIND_UD ? GRH_BYTES : 0;
		bool is_sent = false;
		bool is_received = false;
		struct ibv_wc wc;

		if (l->kind == KIND_UD) {
			wr.wr.ud.ah = ibv_create_ah(lo.pd, &ah_attr);
			wr.wr.ud.remote_qpn = l->to->qp_num;
			wr.wr.ud.remote_qkey = QKEY;
		}
		if (!is_posted)
			post_recv(l->to, l->mem + SINK_AT);
		is_posted = true;
		fill(l->mem, l, n);
		post_send(l->from, &wr);
		while (!is_received && next_completion(l, &wc)) {
			require(wc.status == IBV_WC_SUCCESS, "it succeeds");
			is_sent |= wc.opcode == IBV_WC_SEND;
			is_received |= wc.opcode == IBV_WC_RECV;
		}
		if (is_received) {
			is_posted = false;
			require(is_filled(l->mem + SINK_AT + skip, l, n), "the bytes are right");
		} else {
			l->lost++;
		}
		if (!is_sent)
			expect(l, IBV_WC_SEND);
		if (l->kind == KIND_UD)
			require(ibv_destroy_ah(wr.wr.ud.ah) == 0, "a handle ends");
	}
	require(l->lost < message_count / 4, "most arrive");
}

static void run_shared(struct lane *l)
{
	struct ibv_sge sge = sge_at(l->mem, MESSAGE_BYTES);
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};

	wr.qp_type.xrc.remote_srqn = l->srqn;
	for (uint32_t n = 0; n < message_count; n++) {
		fill(l->mem, l, n);
		post_send(l->from, &wr);
		expect(l, IBV_WC_SEND);
	}
	while (atomic_load(&l->arrived) != message_count)
		sched_yield();
}

static void run_windows(struct lane *l)
{
	struct ibv_mr *mr = ibv_reg_mr(lo.pd, l->mem + SINK_AT, 1024,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(lo.pd, IBV_MW_TYPE_2);
	struct ibv_sge sge = sge_at(l->mem, MESSAGE_BYTES);

	for (uint32_t n = 0; n < message_count; n++) {
		struct ibv_send_wr bind = {.opcode = IBV_WR_BIND_MW};
		struct ibv_send_wr write = {
			.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};
		struct ibv_send_wr invalidate = {.opcode = IBV_WR_LOCAL_INV};

		bind.bind_mw.mw = mw;
		bind.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
		bind.bind_mw.bind_info =
			(struct ibv_mw_bind_info){.mr = mr,
						  .addr = (uintptr_t)l->mem + SINK_AT,
						  .length = 1024,
						  .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
		post_send(l->to, &bind);
		expect(l, IBV_WC_BIND_MW);
		mw->rkey = bind.bind_mw.rkey;
		write.wr.rdma.remote_addr = (uintptr_t)l->mem + SINK_AT;
		write.wr.rdma.rkey = mw->rkey;
		fill(l->mem, l, n);
		post_send(l->from, &write);
		expect(l, IBV_WC_RDMA_WRITE);
		require(is_filled(l->mem + SINK_AT, l, n), "a window opens its part");
		invalidate.invalidate_rkey = mw->rkey;
		post_send(l->to, &invalidate);
		expect(l, IBV_WC_LOCAL_INV);
	}
	require(ibv_dealloc_mw(mw) == 0 && ibv_dereg_mr(mr) == 0, "both end");
}

static void *run_lane(void *arg)
{
	struct lane *l = arg;

	switch (l->kind) {
	case KIND_UC:
	case KIND_UD:
		run_unreliable(l);
		break;
	case KIND_SRQ:
	case KIND_SRQ_TOO:
	case KIND_XRC:
		run_shared(l);
		break;
	case KIND_WINDOW:
		run_windows(l);
		break;
	}
	return NULL;
}

/* ---- the shared queues ---- */

static void post_shared(uint32_t slot)
{
	unsigned char *at = lo.mem + POOL_AT + slot * MESSAGE_BYTES;
	struct ibv_sge sge = sge_at(at, MESSAGE_BYTES);
	struct ibv_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	require(ibv_post_srq_recv(slot % 2 ? xrc_srq : srq, &wr, &bad) == 0,
		"a shared receive is taken");
}

static void on_shared(const struct ibv_wc *wc)
{
	struct lane *l = NULL;

	require(wc->status == IBV_WC_SUCCESS && wc->opcode == IBV_WC_RECV, "a receive ends");
	for (uint32_t i = 0; i < LANES; i++)
		if (lanes[i].to->qp_num == wc->qp_num)
			l = &lanes[i];
	require(l != NULL, "it is a lane's");
	require(is_filled(lo.mem + POOL_AT + wc->wr_id * MESSAGE_BYTES, l,
			  atomic_load(&l->arrived)),
		"messages come in order with their bytes");
	post_shared((uint32_t)wc->wr_id);
	atomic_fetch_add(&l->arrived, 1);
}

/* Sleeps for each (moderated) event. */
static void *run_receiver(void *arg)
{
	uint32_t left = 3 * message_count;

	(void)arg;
	while (left) {
		struct ibv_cq *cq;
		void *context;
		struct ibv_wc wc;
		int n;

		require(ibv_req_notify_cq(shared_cq, 0) == 0, "arming works");
		while ((n = ibv_poll_cq(shared_cq, 1, &wc)) > 0) {
			on_shared(&wc);
			left--;
		}
		require(n == 0, "polling works");
		if (!left)
			break;
		require(ibv_get_cq_event(lo.channel, &cq, &context) == 0, "an event comes");
		ibv_ack_cq_events(cq, 1);
	}
	return NULL;
}

/* ---- changes under traffic ---- */

static void *run_churner(void *arg)
{
	struct ibv_ah_attr ah_attr = lo_ah_attr(&lo);
	uint32_t round = 0;

	(void)arg;
	while (!atomic_load(&is_over)) {
		struct ibv_modify_cq_attr moderate = {
			.attr_mask = IBV_CQ_ATTR_MODERATE,
			.moderate = {.cq_count = (uint16_t)(round % 5),
				     .cq_period = (uint16_t)(100 * (round % 3))}};
		struct ibv_srq_attr size = {.max_wr = POOL_SLOTS << (round % 3),
					    .srq_limit = round % 2};
		struct ibv_qp_rate_limit_attr rate = {.rate_limit = round % 2 ? 400000 : 0};
		struct ibv_qp_init_attr init = {.send_cq = shared_cq,
						.recv_cq = shared_cq,
						.srq = srq,
						.cap = {.max_send_wr = 1, .max_send_sge = 1},
						.qp_type = IBV_QPT_RC};
		struct ibv_mr *null = ibv_alloc_null_mr(lo.pd);
		struct ibv_ah *ah = ibv_create_ah(lo.pd, &ah_attr);
		struct ibv_mw *mw = ibv_alloc_mw(lo.pd, IBV_MW_TYPE_1);
		struct ibv_qp *qp = ibv_create_qp(lo.pd, &init);
		struct ibv_async_event event;

		require(null && ah && mw && qp, "all kinds are made");
		require(ibv_modify_cq(shared_cq, &moderate) == 0, "moderation changes");
		require(ibv_modify_srq(srq, &size, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) == 0,
			"a shared queue changes");
		require(ibv_modify_qp_rate_limit(lanes[round % LANES].from, &rate) == 0,
			"a rate changes");
		while (ibv_get_async_event(lo.context, &event) == 0)
			ibv_ack_async_event(&event);
		require(ibv_destroy_qp(qp) == 0 && ibv_dealloc_mw(mw) == 0 &&
				ibv_destroy_ah(ah) == 0 && ibv_dereg_mr(null) == 0,
			"all kinds end");
		round++;
		sched_yield();
	}
	return NULL;
}

/* ---- setting up ---- */

static struct ibv_qp *make_qp(const struct lane *l, bool is_receiver)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = l->cq,
		.recv_cq = l->cq,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = lo.pd,
	};
	struct ibv_qp *qp;

	if (l->kind == KIND_UC)
		attr.qp_type = IBV_QPT_UC;
	if (l->kind == KIND_UD)
		attr.qp_type = IBV_QPT_UD;
	if (is_receiver && (l->kind == KIND_SRQ || l->kind == KIND_SRQ_TOO)) {
		attr.srq = srq;
		attr.recv_cq = shared_cq;
	}
	if (l->kind == KIND_XRC) {
		attr.qp_type = is_receiver ? IBV_QPT_XRC_RECV : IBV_QPT_XRC_SEND;
		if (is_receiver) {
			attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
			attr.xrcd = xrcd;
		}
	}
	qp = ibv_create_qp_ex(lo.context, &attr);
	assert_non_null(qp);
	return qp;
}

static void bring_up(const struct lane *l, struct ibv_qp *qp, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = lo_attr(&lo, dest_qpn);
	int init = LO_INIT_MASK;
	int rtr = LO_RTR_MASK;
	int rts = LO_RTS_MASK;

	attr.timeout = TIMEOUT_CODE;
	attr.qkey = QKEY;
	if (l->kind == KIND_UC) {
		rtr &= ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
		rts = IBV_QP_STATE | IBV_QP_SQ_PSN;
	}
	if (l->kind == KIND_UD) {
		init = (init & ~IBV_QP_ACCESS_FLAGS) | IBV_QP_QKEY;
		rtr = IBV_QP_STATE;
		rts = IBV_QP_STATE | IBV_QP_SQ_PSN;
	}
	attr.qp_state = IBV_QPS_INIT;
	assert_int_equal(ibv_modify_qp(qp, &attr, init), 0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp, &attr, rtr), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, rts), 0);
}

static void make_shared(void)
{
	struct ibv_xrcd_init_attr xrcd_attr = {.comp_mask = IBV_XRCD_INIT_ATTR_FD |
							    IBV_XRCD_INIT_ATTR_OFLAGS,
					       .fd = -1,
					       .oflags = O_CREAT};
	struct ibv_srq_init_attr plain = {.attr = {.max_wr = POOL_SLOTS, .max_sge = 1}};
	struct ibv_srq_init_attr_ex ex = {.attr = {.max_wr = POOL_SLOTS, .max_sge = 1},
					  .comp_mask =
						  IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						  IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					  .srq_type = IBV_SRQT_XRC,
					  .pd = lo.pd};

	shared_cq = ibv_create_cq(lo.context, 256, NULL, lo.channel, 0);
	srq = ibv_create_srq(lo.pd, &plain);
	xrcd = ibv_open_xrcd(lo.context, &xrcd_attr);
	ex.xrcd = xrcd;
	ex.cq = shared_cq;
	xrc_srq = ibv_create_srq_ex(lo.context, &ex);
	assert_true(shared_cq && srq && xrcd && xrc_srq);
	for (uint32_t slot = 0; slot < POOL_SLOTS; slot++)
		post_shared(slot);
}

static void make_lanes(void)
{
	for (uint32_t i = 0; i < LANES; i++) {
		struct lane *l = &lanes[i];

		l->kind = (enum kind)i;
		l->mem = lo.mem + i * LANE_BYTES;
		l->cq = ibv_create_cq(lo.context, 16, NULL, NULL, 0);
		assert_non_null(l->cq);
		l->from = make_qp(l, false);
		l->to = make_qp(l, true);
		bring_up(l, l->to, l->from->qp_num);
		bring_up(l, l->from, l->to->qp_num);
		if (l->kind == KIND_XRC)
			assert_int_equal(ibv_get_srq_num(xrc_srq, &l->srqn), 0);
	}
}

static void end_all(void)
{
	for (uint32_t i = 0; i < LANES; i++) {
		assert_int_equal(ibv_destroy_qp(lanes[i].from), 0);
		assert_int_equal(ibv_destroy_qp(lanes[i].to), 0);
		assert_int_equal(ibv_destroy_cq(lanes[i].cq), 0);
	}
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_srq(xrc_srq), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	assert_int_equal(ibv_destroy_cq(shared_cq), 0);
}

static void kinds__all_at_once(void **state)
{
	pthread_t threads[LANES + CHURNERS + 1];
	struct ibv_async_event event;

	(void)state;
	lo_open(&lo);
	assert_int_equal(fcntl(lo.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	make_shared();
	make_lanes();
	assert_int_equal(pthread_create(&threads[LANES], NULL, run_receiver, NULL), 0);
	for (uint32_t i = 0; i < LANES; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_lane, &lanes[i]), 0);
	for (uint32_t i = 0; i < CHURNERS; i++)
		assert_int_equal(pthread_create(&threads[LANES + 1 + i], NULL, run_churner, NULL),
				 0);
	for (uint32_t i = 0; i <= LANES; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	atomic_store(&is_over, true);
	for (uint32_t i = 0; i < CHURNERS; i++)
		assert_int_equal(pthread_join(threads[LANES + 1 + i], NULL), 0);
	while (ibv_get_async_event(lo.context, &event) == 0)
		ibv_ack_async_event(&event);
	for (uint32_t i = 0; i < LANES; i++)
		if (lanes[i].lost)
			print_message("lane %u lost %u\n", i, lanes[i].lost);
	end_all();
	lo_close(&lo);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(kinds__all_at_once)};

	if (argc > 1)
		message_count = (uint32_t)strtoul(argv[1], NULL, 10);
	lo_enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
