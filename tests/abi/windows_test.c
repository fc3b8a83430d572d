/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows and ATOMIC WRITE through the public interface: what a bound window opens and for
 * how long, what cannot be bound, and what may not go before what.
 */
#include "lo_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define WINDOW_AT  4096u
#define WINDOW_LEN 1024u

struct pair {
	struct lo_device lo;
	struct ibv_mr *mr; /* may be bound to, opens nothing itself */
	struct ibv_qp *a;  /* writes */
	struct ibv_qp *b;  /* binds */
};

static struct ibv_qp *make_qp(struct pair *p)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = p->lo.cq,
		.recv_cq = p->lo.cq,
		.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = p->lo.pd,
		.send_ops_flags = IBV_QP_EX_WITH_ATOMIC_WRITE | IBV_QP_EX_WITH_BIND_MW |
				  IBV_QP_EX_WITH_LOCAL_INV,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(p->lo.context, &attr);

	assert_non_null(qp);
	return qp;
}

static int set_up(void **state)
{
	static struct pair p;

	lo_open(&p.lo);
	p.mr = ibv_reg_mr(p.lo.pd, p.lo.mem + WINDOW_AT, WINDOW_LEN,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	assert_non_null(p.mr);
	p.a = make_qp(&p);
	p.b = make_qp(&p);
	assert_int_equal(lo_bring(&p.lo, p.a, p.b->qp_num, IBV_QPS_RTS), 0);
	assert_int_equal(lo_bring(&p.lo, p.b, p.a->qp_num, IBV_QPS_RTS), 0);
	*state = &p;
	return 0;
}

static int tear_down(void **state)
{
	struct pair *p = *state;

	assert_int_equal(ibv_destroy_qp(p->a), 0);
	assert_int_equal(ibv_destroy_qp(p->b), 0);
	assert_int_equal(ibv_dereg_mr(p->mr), 0);
	lo_close(&p->lo);
	return 0;
}

static enum ibv_wc_status status_of_next(struct pair *p)
{
	struct ibv_wc wc;

	assert_true(lo_poll(&p->lo, &wc));
	return wc.status;
}

/* How a write of the other side under this key ends. */
static enum ibv_wc_status write_to(struct pair *p, uint32_t rkey, uint64_t addr)
{
	struct ibv_sge sge = {.addr = (uintptr_t)p->lo.mem, .length = 64, .lkey = p->lo.mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .wr.rdma = {.remote_addr = addr, .rkey = rkey}};
	struct ibv_send_wr *bad;

	assert_int_equal(ibv_post_send(p->a, &wr, &bad), 0);
	return status_of_next(p);
}

static struct ibv_mw_bind_info info_of(struct pair *p, uint32_t offset, uint32_t length)
{
	return (struct ibv_mw_bind_info){.mr = p->mr,
					 .addr = (uintptr_t)p->mr->addr + offset,
					 .length = length,
					 .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
}

static void type_1_opens_until_it_is_bound_to_nothing(void **state)
{
	struct pair *p = *state;
	struct ibv_mw *mw = ibv_alloc_mw(p->lo.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {.bind_info = info_of(p, 256, 256)};
	uint32_t first = mw->rkey;
	uint32_t bound;

	assert_non_null(mw);
	assert_int_equal(ibv_bind_mw(p->b, mw, &bind), 0);
	assert_int_equal(status_of_next(p), IBV_WC_SUCCESS);
	bound = mw->rkey;
	assert_int_not_equal(bound, first);
	assert_int_equal(bound >> 8, first >> 8);
	memset(p->lo.mem, 0x42, 64);
	assert_int_equal(write_to(p, bound, bind.bind_info.addr), IBV_WC_SUCCESS);
	assert_memory_equal(p->lo.mem + WINDOW_AT + 256, p->lo.mem, 64);
	assert_int_equal(ibv_dereg_mr(p->mr), EBUSY);
	bind.bind_info = (struct ibv_mw_bind_info){0};
	assert_int_equal(ibv_bind_mw(p->b, mw, &bind), 0);
	assert_int_equal(status_of_next(p), IBV_WC_SUCCESS);
	assert_int_equal(write_to(p, bound, (uintptr_t)p->mr->addr + 256), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void a_window_ends_where_it_was_bound_to(void **state)
{
	struct pair *p = *state;
	struct ibv_mw *mw = ibv_alloc_mw(p->lo.pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = {.bind_info = info_of(p, 256, 32)};

	assert_int_equal(ibv_bind_mw(p->b, mw, &bind), 0);
	assert_int_equal(status_of_next(p), IBV_WC_SUCCESS);
	assert_int_equal(write_to(p, mw->rkey, bind.bind_info.addr), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static int post_bind(struct pair *p, struct ibv_mw *mw, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {.mw = mw, .rkey = rkey, .bind_info = info_of(p, 0, WINDOW_LEN)}};
	struct ibv_send_wr *bad;

	return ibv_post_send(p->b, &wr, &bad);
}

static void type_2_is_bound_by_requests_and_invalidated(void **state)
{
	struct pair *p = *state;
	struct ibv_mw *mw = ibv_alloc_mw(p->lo.pd, IBV_MW_TYPE_2);
	struct ibv_mw *one = ibv_alloc_mw(p->lo.pd, IBV_MW_TYPE_1);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(p->b);
	struct ibv_mw_bind bind = {.bind_info = info_of(p, 0, 64)};
	uint32_t rkey = ibv_inc_rkey(mw->rkey);

	assert_int_equal(ibv_bind_mw(p->b, mw, &bind), EINVAL);
	assert_int_equal(post_bind(p, one, one->rkey), EINVAL);
	assert_int_equal(post_bind(p, mw, rkey ^ 0x100), EINVAL);
	assert_int_equal(post_bind(p, mw, rkey), 0);
	assert_int_equal(status_of_next(p), IBV_WC_SUCCESS);
	assert_int_equal(write_to(p, rkey, (uintptr_t)p->mr->addr), IBV_WC_SUCCESS);
	ibv_wr_start(ex);
	ibv_wr_local_inv(ex, rkey);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(status_of_next(p), IBV_WC_SUCCESS);
	mw->rkey = rkey; /* the program keeps account of it */
	rkey = ibv_inc_rkey(rkey);
	ibv_wr_start(ex);
	ibv_wr_bind_mw(ex, mw, rkey, &bind.bind_info);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(status_of_next(p), IBV_WC_SUCCESS);
	assert_int_equal(write_to(p, rkey, (uintptr_t)p->mr->addr), IBV_WC_SUCCESS);
	assert_int_equal(ibv_dealloc_mw(mw), 0); /* bound as it is */
	assert_int_equal(ibv_dealloc_mw(one), 0);
	assert_int_equal(write_to(p, rkey, (uintptr_t)p->mr->addr), IBV_WC_REM_ACCESS_ERR);
}

/* The window has had another key since. */
static void type_2_is_bound_by_its_present_key_only(void **state)
{
	struct pair *p = *state;
	struct ibv_mw *mw = ibv_alloc_mw(p->lo.pd, IBV_MW_TYPE_2);
	struct ibv_send_wr inv = {.opcode = IBV_WR_LOCAL_INV};
	struct ibv_send_wr *bad;

	inv.invalidate_rkey = ibv_inc_rkey(mw->rkey);
	assert_int_equal(post_bind(p, mw, inv.invalidate_rkey), 0);
	assert_int_equal(status_of_next(p), IBV_WC_SUCCESS);
	assert_int_equal(ibv_post_send(p->b, &inv, &bad), 0);
	assert_int_equal(status_of_next(p), IBV_WC_SUCCESS);
	assert_int_equal(post_bind(p, mw, ibv_inc_rkey(inv.invalidate_rkey)), 0);
	assert_int_equal(status_of_next(p), IBV_WC_MW_BIND_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void atomic_write_stores_eight_bytes(void **state)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(p->a);
	uint64_t value = 0x1122334455667788;
	uint64_t there = 0;

	ibv_wr_start(ex);
	ibv_wr_atomic_write(ex, p->lo.mr->rkey, (uintptr_t)p->lo.mem + 128, &value);
	value = 0;
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(status_of_next(p), IBV_WC_SUCCESS);
	memcpy(&there, p->lo.mem + 128, sizeof(there));
	assert_true(there == 0x1122334455667788);
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(type_1_opens_until_it_is_bound_to_nothing),
		T(a_window_ends_where_it_was_bound_to),
		T(type_2_is_bound_by_requests_and_invalidated),
		T(type_2_is_bound_by_its_present_key_only),
		T(atomic_write_stores_eight_bytes),
	};

	lo_enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
