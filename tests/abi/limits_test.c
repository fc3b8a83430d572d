/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limits that ibv_query_device() tells of are true: exactly so many objects of each kind can be
 * made, the last one as well as the first, and one more is refused with ENOMEM; a queue of the
 * greatest depth can be made and one of a greater depth is EINVAL. Whoever gives one back can make
 * another.
 */
#include "lo_device.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define IDLE_QP_BYTES_MAX 4096u

struct limits {
	struct lo_device lo;
	struct ibv_device_attr attr;
	struct ibv_device_attr_ex ex;
};

static int set_up(void **state)
{
	struct limits *l = calloc(1, sizeof(*l));

	lo_open(&l->lo);
	assert_int_equal(ibv_query_device(l->lo.context, &l->attr), 0);
	assert_int_equal(ibv_query_device_ex(l->lo.context, NULL, &l->ex), 0);
	assert_memory_equal(&l->attr, &l->ex.orig_attr, sizeof(l->attr));
	*state = l;
	return 0;
}

static int tear_down(void **state)
{
	struct limits *l = *state;

	lo_close(&l->lo);
	free(l);
	return 0;
}

/* ---- how many ---- */

typedef void *make_fn(struct limits *l);
typedef int end_fn(void *object);

/* `max` of them, of which `there` are there already. */
static void make_all(struct limits *l, make_fn *make, end_fn *end, int max, int there)
{
	size_t count = (size_t)(max - there);
	void **objects = calloc(count, sizeof(*objects));

	assert_true(max > there);
	for (size_t i = 0; i < count; i++) {
		objects[i] = make(l);
		if (!objects[i])
			fail_msg("number %zu of %d: %s", i + 1 + (size_t)there, max,
				 strerror(errno));
	}
	for (int i = 0; i < 2; i++) {
		errno = 0;
		assert_null(make(l));
		assert_int_equal(errno, ENOMEM);
		/* a place that is given back can be had again */
		assert_int_equal(end(objects[count / 2]), 0);
		objects[count / 2] = make(l);
		assert_non_null(objects[count / 2]);
	}
	for (size_t i = 0; i < count; i++)
		assert_int_equal(end(objects[i]), 0);
	free(objects);
}

static void *make_pd(struct limits *l)
{
	return ibv_alloc_pd(l->lo.context);
}

static int end_pd(void *object)
{
	return ibv_dealloc_pd(object);
}

static void max_pd(void **state)
{
	struct limits *l = *state;

	make_all(l, make_pd, end_pd, l->attr.max_pd, 1);
}

static void *make_cq(struct limits *l)
{
	return ibv_create_cq(l->lo.context, 1, NULL, NULL, 0);
}

static int end_cq(void *object)
{
	return ibv_destroy_cq(object);
}

static void max_cq(void **state)
{
	struct limits *l = *state;

	make_all(l, make_cq, end_cq, l->attr.max_cq, 1);
}

static void *make_mr(struct limits *l)
{
	return ibv_reg_mr(l->lo.pd, l->lo.mem, 64, 0);
}

static int end_mr(void *object)
{
	return ibv_dereg_mr(object);
}

static void max_mr(void **state)
{
	struct limits *l = *state;

	make_all(l, make_mr, end_mr, l->attr.max_mr, 1);
}

static void *make_mw(struct limits *l)
{
	return ibv_alloc_mw(l->lo.pd, IBV_MW_TYPE_2);
}

static int end_mw(void *object)
{
	return ibv_dealloc_mw(object);
}

static void max_mw(void **state)
{
	struct limits *l = *state;

	make_all(l, make_mw, end_mw, l->attr.max_mw, 0);
}

static void *make_ah(struct limits *l)
{
	struct ibv_ah_attr attr = lo_ah_attr(&l->lo);

	return ibv_create_ah(l->lo.pd, &attr);
}

static int end_ah(void *object)
{
	return ibv_destroy_ah(object);
}

static void max_ah(void **state)
{
	struct limits *l = *state;

	make_all(l, make_ah, end_ah, l->attr.max_ah, 0);
}

static void *make_srq(struct limits *l)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 1, .max_sge = 1}};

	return ibv_create_srq(l->lo.pd, &attr);
}

static int end_srq(void *object)
{
	return ibv_destroy_srq(object);
}

static void max_srq(void **state)
{
	struct limits *l = *state;

	make_all(l, make_srq, end_srq, l->attr.max_srq, 0);
}

static void *make_qp(struct limits *l)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = l->lo.cq,
		.recv_cq = l->lo.cq,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};

	return ibv_create_qp(l->lo.pd, &attr);
}

static int end_qp(void *object)
{
	return ibv_destroy_qp(object);
}

static size_t resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*u %zu", &pages), 1);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void max_qp(void **state)
{
	struct limits *l = *state;

	assert_true(l->attr.max_qp >= 10000);
	make_all(l, make_qp, end_qp, l->attr.max_qp, 0);
}

/* 10,000 idle ones; a sanitizer keeps more for itself than they need. */
static void qp__idle_ones_are_small(void **state)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	struct limits *l = *state;
	static void *qps[10000];
	size_t before;
	size_t each;

	malloc_trim(0); /* what others have freed must not serve now */
	before = resident_bytes();

	for (size_t i = 0; i < 10000; i++) {
		qps[i] = make_qp(l);
		assert_non_null(qps[i]);
	}
	each = (resident_bytes() - before) / 10000;
	for (size_t i = 0; i < 10000; i++)
		assert_int_equal(end_qp(qps[i]), 0);
	print_message("%zu bytes each\n", each);
	assert_in_range(each, 1, IDLE_QP_BYTES_MAX);
#else
	(void)state;
	(void)resident_bytes;
#endif
}

/* ---- multicast ---- */

static struct ibv_qp *make_ud(struct limits *l)
{
	struct ibv_qp_init_attr attr = {.send_cq = l->lo.cq,
					.recv_cq = l->lo.cq,
					.cap = {.max_recv_wr = 1, .max_recv_sge = 1},
					.qp_type = IBV_QPT_UD};

	return ibv_create_qp(l->lo.pd, &attr);
}

static union ibv_gid group_of(int number)
{
	return (union ibv_gid){
		.raw = {[10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1, [15] = (uint8_t)number}};
}

static void max_mcast(void **state)
{
	struct limits *l = *state;
	int groups = l->attr.max_mcast_grp;
	int members = l->attr.max_total_mcast_qp_attach / groups;
	struct ibv_qp **qps = calloc((size_t)members + 1, sizeof(*qps));
	union ibv_gid gid = group_of(groups);

	assert_int_equal(l->attr.max_total_mcast_qp_attach % groups, 0);
	for (int q = 0; q <= members; q++) {
		qps[q] = make_ud(l);
		assert_non_null(qps[q]);
	}
	for (int g = 0; g < groups; g++) {
		union ibv_gid each = group_of(g);

		assert_int_equal(ibv_attach_mcast(qps[0], &each, 0), 0);
	}
	assert_int_equal(ibv_attach_mcast(qps[0], &gid, 0), ENOMEM);
	for (int q = 1; q < members; q++) {
		for (int g = 0; g < groups; g++) {
			union ibv_gid each = group_of(g);

			assert_int_equal(ibv_attach_mcast(qps[q], &each, 0), 0);
		}
	}
	gid = group_of(0);
	assert_int_equal(ibv_attach_mcast(qps[members], &gid, 0), ENOMEM);
	for (int q = 0; q < members; q++) {
		for (int g = 0; g < groups; g++) {
			union ibv_gid each = group_of(g);

			assert_int_equal(ibv_detach_mcast(qps[q], &each, 0), 0);
		}
	}
	for (int q = 0; q <= members; q++)
		assert_int_equal(ibv_destroy_qp(qps[q]), 0);
	free(qps);
}

/* ---- how large ---- */

static void max_qp_wr_and_sge(void **state)
{
	struct limits *l = *state;
	const uint32_t wr = (uint32_t)l->attr.max_qp_wr;
	const uint32_t sge = (uint32_t)l->attr.max_sge;
	const struct ibv_qp_cap good = {
		.max_send_wr = wr, .max_recv_wr = wr, .max_send_sge = sge, .max_recv_sge = sge};
	struct ibv_qp_init_attr attr = {
		.send_cq = l->lo.cq, .recv_cq = l->lo.cq, .cap = good, .qp_type = IBV_QPT_RC};
	struct ibv_qp *qp = ibv_create_qp(l->lo.pd, &attr);
	struct ibv_recv_wr recv = {0};
	struct ibv_recv_wr *bad;

	assert_non_null(qp);
	assert_true(attr.cap.max_send_wr >= wr && attr.cap.max_recv_wr >= wr);
	assert_int_equal(
		ibv_modify_qp(qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_INIT, .port_num = 1},
			      LO_INIT_MASK),
		0);
	for (uint32_t i = 0; i < wr; i++)
		assert_int_equal(ibv_post_recv(qp, &recv, &bad), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	for (int i = 0; i < 4; i++) {
		attr.cap = good;
		attr.cap.max_send_wr += i == 0;
		attr.cap.max_recv_wr += i == 1;
		attr.cap.max_send_sge += i == 2;
		attr.cap.max_recv_sge += i == 3;
		errno = 0;
		assert_null(ibv_create_qp(l->lo.pd, &attr));
		assert_int_equal(errno, EINVAL);
	}
}

/* Pieces of a READ are pieces as all others. */
static void max_sge_rd(void **state)
{
	struct limits *l = *state;
	struct ibv_sge sges[64];
	int count = l->attr.max_sge_rd;
	struct ibv_qp_init_attr attr = {.send_cq = l->lo.cq,
					.recv_cq = l->lo.cq,
					.cap = {.max_send_wr = 1, .max_send_sge = (uint32_t)count},
					.qp_type = IBV_QPT_RC};
	struct ibv_qp *qp = ibv_create_qp(l->lo.pd, &attr);
	struct ibv_send_wr wr = {
		.sg_list = sges,
		.num_sge = count,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = (uintptr_t)l->lo.mem, .rkey = l->lo.mr->rkey}};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	assert_non_null(qp);
	assert_in_range(count, 1, 64);
	assert_int_equal(lo_bring(&l->lo, qp, qp->qp_num, IBV_QPS_RTS), 0);
	for (int i = 0; i < count; i++)
		sges[i] = (struct ibv_sge){.addr = (uintptr_t)l->lo.mem + 8192 + (size_t)i * 16,
					   .length = 8,
					   .lkey = l->lo.mr->lkey};
	for (size_t i = 0; i < (size_t)count * 8; i++)
		l->lo.mem[i] = (unsigned char)(i * 3 + 1);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	assert_true(lo_poll(&l->lo, &wc));
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	for (int i = 0; i < count; i++)
		assert_memory_equal(l->lo.mem + 8192 + (size_t)i * 16, l->lo.mem + (size_t)i * 8,
				    8);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void max_cqe(void **state)
{
	struct limits *l = *state;
	struct ibv_cq *cq = ibv_create_cq(l->lo.context, l->attr.max_cqe, NULL, NULL, 0);

	assert_non_null(cq);
	assert_true(cq->cqe >= l->attr.max_cqe);
	assert_int_equal(ibv_resize_cq(cq, l->attr.max_cqe + 1), EINVAL);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	errno = 0;
	assert_null(ibv_create_cq(l->lo.context, l->attr.max_cqe + 1, NULL, NULL, 0));
	assert_int_equal(errno, EINVAL);
}

static void max_srq_wr_and_sge(void **state)
{
	struct limits *l = *state;
	const struct ibv_srq_attr good = {.max_wr = (uint32_t)l->attr.max_srq_wr,
					  .max_sge = (uint32_t)l->attr.max_srq_sge};
	struct ibv_srq_init_attr attr = {.attr = good};
	struct ibv_srq *srq = ibv_create_srq(l->lo.pd, &attr);
	struct ibv_recv_wr recv = {0};
	struct ibv_recv_wr *bad;

	assert_non_null(srq);
	for (uint32_t i = 0; i < good.max_wr; i++)
		assert_int_equal(ibv_post_srq_recv(srq, &recv, &bad), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	for (int i = 0; i < 2; i++) {
		attr.attr = good;
		attr.attr.max_wr += i == 0;
		attr.attr.max_sge += i == 1;
		errno = 0;
		assert_null(ibv_create_srq(l->lo.pd, &attr));
		assert_int_equal(errno, EINVAL);
	}
}

static void max_rd_atom(void **state)
{
	struct limits *l = *state;
	struct ibv_qp_attr attr;

	for (int over = 0; over < 2; over++) {
		struct ibv_qp *qp = make_qp(l);

		attr = lo_attr(&l->lo, 1);
		attr.max_dest_rd_atomic = (uint8_t)(l->attr.max_qp_rd_atom + over);
		assert_int_equal(lo_bring_with(qp, &attr, IBV_QPS_RTR), over ? EINVAL : 0);
		assert_int_equal(ibv_destroy_qp(qp), 0);
		qp = make_qp(l);
		attr = lo_attr(&l->lo, 1);
		attr.max_rd_atomic = (uint8_t)(l->attr.max_qp_init_rd_atom + over);
		assert_int_equal(lo_bring_with(qp, &attr, IBV_QPS_RTS), over ? EINVAL : 0);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
	/* Each queue pair has its own. */
	assert_int_equal(l->attr.max_res_rd_atom, l->attr.max_qp_rd_atom * l->attr.max_qp);
}

static void max_mr_size(void **state)
{
	struct limits *l = *state;
	struct ibv_mr *all;

	assert_int_equal(l->attr.max_mr_size, UINT64_MAX);
	all = ibv_reg_mr(l->lo.pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND);
	assert_non_null(all);
	assert_int_equal(ibv_dereg_mr(all), 0);
}

static void max_dm_size(void **state)
{
	struct limits *l = *state;
	struct ibv_alloc_dm_attr attr = {.length = l->ex.max_dm_size};
	struct ibv_alloc_dm_attr more = {.length = 1};
	struct ibv_dm *dm = ibv_alloc_dm(l->lo.context, &attr);

	assert_non_null(dm);
	errno = 0;
	assert_null(ibv_alloc_dm(l->lo.context, &more));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_free_dm(dm), 0);
}

/* A closed context takes along what its program forgot. */
static void close__gives_everything_back(void **state)
{
	struct limits *l = *state;
	struct ibv_context *other = ibv_open_device(l->lo.context->device);
	static struct ibv_pd *pd; /* still pointed at, as a program might */
	static struct ibv_cq *cq;

	pd = ibv_alloc_pd(other);
	cq = ibv_create_cq(other, 1, NULL, NULL, 0);
	assert_non_null(pd);
	assert_non_null(cq);
	assert_int_equal(ibv_close_device(other), 0);
	make_all(l, make_pd, end_pd, l->attr.max_pd, 1);
	make_all(l, make_cq, end_cq, l->attr.max_cq, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(qp__idle_ones_are_small),
		TEST(max_pd),
		TEST(max_cq),
		TEST(max_mr),
		TEST(max_mw),
		TEST(max_ah),
		TEST(max_srq),
		TEST(max_qp),
		TEST(max_mcast),
		TEST(max_qp_wr_and_sge),
		TEST(max_sge_rd),
		TEST(max_cqe),
		TEST(max_srq_wr_and_sge),
		TEST(max_rd_atom),
		TEST(max_mr_size),
		TEST(max_dm_size),
		TEST(close__gives_everything_back),
	};

	lo_enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
