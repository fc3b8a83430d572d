/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See lo_device.h. With UROCE_DAEMON=off the process has the address to itself, which is enough for
 * queue pairs that talk to each other.
 */
#include "lo_device.h"

#include "harness/loopback.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

void lo_enter_namespace(void)
{
	setenv("UROCE_DAEMON", "off", 1);
	unsetenv("UROCE_NAME");
	if (!loopback_enter()) {
		puts("no network namespace may be made here");
		exit(LO_SKIP);
	}
}

static struct ibv_context *open_named(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	assert_non_null(list);
	for (size_t i = 0; list[i] && !context; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			context = ibv_open_device(list[i]);
	}
	ibv_free_device_list(list);
	assert_non_null(context);
	return context;
}

void lo_open(struct lo_device *lo)
{
	lo_open_other(lo, "uroce_lo");
}

void lo_open_other(struct lo_device *lo, const char *name)
{
	lo->context = open_named(name);
	lo->pd = ibv_alloc_pd(lo->context);
	assert_non_null(lo->pd);
	lo->channel = ibv_create_comp_channel(lo->context);
	assert_non_null(lo->channel);
	lo->cq = ibv_create_cq(lo->context, 100, lo, lo->channel, 0);
	assert_non_null(lo->cq);
	lo->mem = calloc(1, LO_BYTES);
	lo->mr = ibv_reg_mr(lo->pd, lo->mem, LO_BYTES,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	assert_non_null(lo->mr);
}

void lo_close(struct lo_device *lo)
{
	assert_int_equal(ibv_dereg_mr(lo->mr), 0);
	assert_int_equal(ibv_destroy_cq(lo->cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(lo->channel), 0);
	assert_int_equal(ibv_dealloc_pd(lo->pd), 0);
	assert_int_equal(ibv_close_device(lo->context), 0);
	free(lo->mem);
}

int lo_set_up(void **state)
{
	struct lo_device *lo = calloc(1, sizeof(*lo));

	assert_non_null(lo);
	lo_open(lo);
	*state = lo;
	return 0;
}

int lo_tear_down(void **state)
{
	lo_close(*state);
	free(*state);
	return 0;
}

struct ibv_qp *lo_make_qp(struct lo_device *lo)
{
	struct ibv_qp_init_attr attr = {
		.qp_context = lo,
		.send_cq = lo->cq,
		.recv_cq = lo->cq,
		.cap = {.max_send_wr = 8,
			.max_recv_wr = 8,
			.max_send_sge = 2,
			.max_recv_sge = 2,
			.max_inline_data = 64},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_qp *qp = ibv_create_qp(lo->pd, &attr);

	assert_non_null(qp);
	return qp;
}

struct ibv_ah_attr lo_ah_attr(struct lo_device *lo)
{
	struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}};

	assert_int_equal(ibv_query_gid(lo->context, 1, 0, &attr.grh.dgid), 0);
	return attr;
}

struct ibv_qp_attr lo_attr(struct lo_device *lo, uint32_t dest_qpn)
{
	return (struct ibv_qp_attr){
		.path_mtu = IBV_MTU_1024,
		.rq_psn = 0xfffffe,
		.sq_psn = 0xfffffe,
		.dest_qp_num = dest_qpn,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.ah_attr = lo_ah_attr(lo),
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.port_num = 1,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
}

int lo_bring(struct lo_device *lo, struct ibv_qp *qp, uint32_t dest_qpn, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = lo_attr(lo, dest_qpn);

	return lo_bring_with(qp, &attr, state);
}

int lo_bring_with(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state state)
{
	static const struct {
		enum ibv_qp_state state;
		int mask;
	} steps[] = {
		{IBV_QPS_INIT, LO_INIT_MASK},
		{IBV_QPS_RTR, LO_RTR_MASK},
		{IBV_QPS_RTS, LO_RTS_MASK},
		{IBV_QPS_SQD, IBV_QP_STATE},
	};

	if (state == IBV_QPS_RESET)
		return 0;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int err;

		attr->qp_state = steps[i].state;
		err = ibv_modify_qp(qp, attr, steps[i].mask);
		if (err || steps[i].state == state)
			return err;
		if (state == IBV_QPS_ERR)
			break;
	}
	attr->qp_state = IBV_QPS_ERR;
	return ibv_modify_qp(qp, attr, IBV_QP_STATE);
}

bool lo_poll(struct lo_device *lo, struct ibv_wc *wc)
{
	time_t end = time(NULL) + LO_PATIENCE_S;
	bool is_last;

	do { /* who stood still meanwhile looks once more */
		int n;

		is_last = time(NULL) >= end;
		n = ibv_poll_cq(lo->cq, 1, wc);
		if (n)
			return n == 1;
	} while (!is_last);
	return false;
}
