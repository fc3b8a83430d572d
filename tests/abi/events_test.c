/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each asynchronous event of a queue pair comes when its cause does, once, and names its object.
 * Those of queues (CQ_ERR, SRQ_LIMIT_REACHED) are in lifetime_test.c, where they also hold their
 * object back. PATH_MIG never comes: there is no path migration, and what would arm it is refused.
 */
#include "lo_device.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define PATIENCE_MS (LO_PATIENCE_S * 1000)

struct pair {
	struct lo_device lo;
	struct ibv_qp *a; /* asks */
	struct ibv_qp *b; /* answers */
};

static int set_up(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));

	lo_open(&p->lo);
	assert_int_equal(fcntl(p->lo.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	p->a = lo_make_qp(&p->lo);
	p->b = lo_make_qp(&p->lo);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct pair *p = *state;

	assert_int_equal(ibv_destroy_qp(p->a), 0);
	assert_int_equal(ibv_destroy_qp(p->b), 0);
	lo_close(&p->lo);
	free(p);
	return 0;
}

static void connect_as(struct pair *p, enum ibv_qp_state state_of_b, unsigned int access_of_b)
{
	struct ibv_qp_attr attr = lo_attr(&p->lo, p->a->qp_num);

	attr.qp_access_flags = access_of_b;
	assert_int_equal(lo_bring_with(p->b, &attr, state_of_b), 0);
	assert_int_equal(lo_bring(&p->lo, p->a, p->b->qp_num, IBV_QPS_RTS), 0);
}

static enum ibv_wc_status run(struct pair *p, enum ibv_wr_opcode opcode, uint32_t rkey)
{
	struct ibv_sge sge = {.addr = (uintptr_t)p->lo.mem, .length = 64, .lkey = p->lo.mr->lkey};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = (uintptr_t)p->lo.mem + 4096, .rkey = rkey}};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	assert_int_equal(ibv_post_send(p->a, &wr, &bad), 0);
	assert_true(lo_poll(&p->lo, &wc));
	return wc.status;
}

static void expect_event(struct pair *p, enum ibv_event_type type, const struct ibv_qp *qp)
{
	struct pollfd fd = {.fd = p->lo.context->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
	assert_int_equal(ibv_get_async_event(p->lo.context, &event), 0);
	assert_int_equal(event.event_type, type);
	assert_ptr_equal(event.element.qp, qp);
	ibv_ack_async_event(&event);
}

static void expect_no_event(struct pair *p)
{
	struct ibv_async_event event;

	errno = 0;
	assert_int_equal(ibv_get_async_event(p->lo.context, &event), -1);
	assert_int_equal(errno, EAGAIN);
}

static void comm_est(void **state)
{
	struct pair *p = *state;

	connect_as(p, IBV_QPS_RTR, IBV_ACCESS_REMOTE_WRITE);
	expect_no_event(p);
	assert_int_equal(run(p, IBV_WR_RDMA_WRITE, p->lo.mr->rkey), IBV_WC_SUCCESS);
	expect_event(p, IBV_EVENT_COMM_EST, p->b);
	assert_int_equal(run(p, IBV_WR_RDMA_WRITE, p->lo.mr->rkey), IBV_WC_SUCCESS);
	expect_no_event(p);
}

static void sq_drained(void **state)
{
	struct pair *p = *state;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
	struct ibv_qp_init_attr init;

	connect_as(p, IBV_QPS_RTS, IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(run(p, IBV_WR_RDMA_WRITE, p->lo.mr->rkey), IBV_WC_SUCCESS);
	assert_int_equal(ibv_modify_qp(p->a, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	expect_event(p, IBV_EVENT_SQ_DRAINED, p->a);
	assert_int_equal(ibv_query_qp(p->a, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_SQD);
	assert_int_equal(attr.sq_draining, 0);
	/* It goes on, and without being asked to it does not tell. */
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(p->a, &attr, IBV_QP_STATE), 0);
	assert_int_equal(run(p, IBV_WR_RDMA_WRITE, p->lo.mr->rkey), IBV_WC_SUCCESS);
	attr.qp_state = IBV_QPS_SQD;
	attr.en_sqd_async_notify = 0;
	assert_int_equal(ibv_modify_qp(p->a, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	expect_no_event(p);
}

/* A request that the queue pair does not allow is invalid. */
static void qp_req_err(void **state)
{
	struct pair *p = *state;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	connect_as(p, IBV_QPS_RTS, 0);
	assert_int_equal(run(p, IBV_WR_RDMA_WRITE, p->lo.mr->rkey), IBV_WC_REM_INV_REQ_ERR);
	expect_event(p, IBV_EVENT_QP_REQ_ERR, p->b);
	assert_int_equal(ibv_query_qp(p->b, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	expect_no_event(p);
}

static void qp_access_err(void **state)
{
	struct pair *p = *state;

	connect_as(p, IBV_QPS_RTS, IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(run(p, IBV_WR_RDMA_WRITE, p->lo.mr->lkey), IBV_WC_REM_ACCESS_ERR);
	expect_event(p, IBV_EVENT_QP_ACCESS_ERR, p->b);
	expect_no_event(p);
}

/* An error that a receive completion tells of is no event. */
static void told_by_the_completion(void **state)
{
	struct pair *p = *state;
	struct ibv_sge sge = {.addr = (uintptr_t)p->lo.mem, .length = 8, .lkey = p->lo.mr->lkey};
	struct ibv_recv_wr recv = {.wr_id = 5, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;
	struct ibv_wc wc;

	connect_as(p, IBV_QPS_RTS, 0);
	assert_int_equal(ibv_post_recv(p->b, &recv, &bad), 0);
	assert_int_equal(run(p, IBV_WR_SEND, 0), IBV_WC_LOC_LEN_ERR); /* the receive's */
	assert_true(lo_poll(&p->lo, &wc));
	assert_int_equal(wc.status, IBV_WC_REM_INV_REQ_ERR);
	expect_no_event(p);
}

static void path_mig__never(void **state)
{
	struct pair *p = *state;
	struct ibv_qp_attr attr = lo_attr(&p->lo, p->a->qp_num);
	struct ibv_qp_init_attr init;

	connect_as(p, IBV_QPS_RTS, IBV_ACCESS_REMOTE_WRITE);
	attr.path_mig_state = IBV_MIG_REARM;
	attr.alt_ah_attr = attr.ah_attr;
	attr.alt_port_num = 1;
	assert_int_equal(ibv_modify_qp(p->a, &attr, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE),
			 EINVAL);
	assert_int_equal(ibv_query_qp(p->a, &attr, IBV_QP_PATH_MIG_STATE, &init), 0);
	assert_int_equal(attr.path_mig_state, IBV_MIG_MIGRATED);
	assert_int_equal(run(p, IBV_WR_RDMA_WRITE, p->lo.mr->rkey), IBV_WC_SUCCESS);
	expect_no_event(p);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(comm_est),
		TEST(sq_drained),
		TEST(qp_req_err),
		TEST(qp_access_err),
		TEST(told_by_the_completion),
		TEST(path_mig__never),
	};

	lo_enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
