/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules of binding, one by one: each case is a good bind with one thing wrong, and a refused
 * bind changes nothing. Then what a bound window opens, to whom, and how it ends.
 */
#include "mem/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define ADDR   0x10000u
#define IOVA   0x700000u
#define LENGTH 0x1000u
#define RIGHTS                                                                          \
	(ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE | ROCE_ACCESS_REMOTE_READ | \
	 ROCE_ACCESS_MW_BIND)

static struct roce_mr *buckets[4];
static struct roce_key_table table;
static struct roce_pd pd;
static struct roce_pd other_pd;
static struct roce_mr mr;
static struct roce_mr mw;
static struct roce_mem_bind bind;
static const int qp;
static const int other_qp;

static void start(enum roce_mr_kind kind)
{
	memset(buckets, 0, sizeof(buckets));
	roce_key_table_init(&table, buckets, 4);
	mr = (struct roce_mr){
		.pd = &pd, .iova = IOVA, .addr = ADDR, .length = LENGTH, .access = RIGHTS};
	assert_int_equal(roce_key_table_add(&table, &mr, 0x11100, 0x10, 0x20), 0);
	assert_int_equal(roce_window_mr_add(&table, &mw, kind, &pd, 0x22200, 0x30), 0);
	bind = (struct roce_mem_bind){
		.rkey = {0x22200 | 0x31},
		.lkey = mr.lkey.v,
		.addr = IOVA + 0x100,
		.length = 0x200,
		.access = ROCE_ACCESS_REMOTE_READ | ROCE_ACCESS_REMOTE_WRITE,
	};
}

static enum roce_mem_verdict try_bind(void)
{
	return roce_mem_bind(&table, &pd, &qp, &bind);
}

static enum roce_mem_verdict reach(const void *who, uint32_t rkey, uint64_t va, uint64_t length,
				   uint32_t need)
{
	struct roce_mem_place at = {0};

	return roce_mem_check_remote(&table, &pd, who, (roce_key_t){rkey}, va, length, need, &at);
}

static void refuse(enum roce_mem_verdict verdict)
{
	struct roce_mr mr_before = mr;
	struct roce_mr mw_before = mw;

	assert_int_equal(try_bind(), verdict);
	assert_memory_equal(&mr, &mr_before, sizeof(mr));
	assert_memory_equal(&mw, &mw_before, sizeof(mw));
}

/* ---- binding ---- */

static void bind__by_the_present_key(void **state)
{
	(void)state;
	start(ROCE_MR_WINDOW_2);
	bind.current = (roce_key_t){0x22200 | 0x2f};
	refuse(ROCE_MEM_BAD_KEY);
	bind.current = mw.rkey;
	assert_int_equal(try_bind(), ROCE_MEM_OK);
	assert_int_equal(roce_mem_invalidate(&table, &pd, &qp, mw.rkey), ROCE_MEM_OK);
	bind.current = (roce_key_t){0x22200 | 0x30}; /* what it was before */
	bind.rkey = (roce_key_t){0x22200 | 0x32};
	refuse(ROCE_MEM_BAD_KEY);
	bind.current = (roce_key_t){0x22200 | 0x31};
	assert_int_equal(try_bind(), ROCE_MEM_OK);
}

static void bind__rules_for_both_types(void **state)
{
	(void)state;
	for (int kind = ROCE_MR_WINDOW_1; kind <= ROCE_MR_WINDOW_2; kind++) {
#define CASE(change, verdict)                   \
	do {                                    \
		start((enum roce_mr_kind)kind); \
		change;                         \
		refuse(verdict);                \
	} while (0)
		CASE(bind.rkey.v = 0x33331, ROCE_MEM_BAD_KEY);
		CASE(bind.rkey = mr.rkey, ROCE_MEM_BAD_KEY);
		CASE(mw.pd = &other_pd, ROCE_MEM_BAD_PD);
		CASE(mr.pd = &other_pd, ROCE_MEM_BAD_PD);
		CASE(bind.lkey ^= 0x400, ROCE_MEM_BAD_KEY);
		CASE(bind.lkey = mr.rkey.v, ROCE_MEM_BAD_KEY);
		CASE(bind.lkey = mw.lkey.v, ROCE_MEM_BAD_KEY);
		CASE(mr.is_valid = false, ROCE_MEM_BAD_KEY);
		CASE(mr.access &= ~(uint32_t)ROCE_ACCESS_MW_BIND, ROCE_MEM_BAD_ACCESS);
		CASE(mr.access |= ROCE_ACCESS_ZERO_BASED, ROCE_MEM_BAD_ACCESS);
		CASE(mr.access &= ~(uint32_t)ROCE_ACCESS_LOCAL_WRITE, ROCE_MEM_BAD_ACCESS);
		CASE((mr.access &= ~(uint32_t)ROCE_ACCESS_LOCAL_WRITE,
		      bind.access = ROCE_ACCESS_REMOTE_ATOMIC),
		     ROCE_MEM_BAD_ACCESS);
		CASE(bind.addr = IOVA - 1, ROCE_MEM_BAD_RANGE);
		CASE(bind.addr = ADDR, ROCE_MEM_BAD_RANGE);
		CASE(bind.addr = IOVA + LENGTH - 0x1ff, ROCE_MEM_BAD_RANGE);
		CASE(bind.length = UINT64_MAX, ROCE_MEM_BAD_RANGE);
#undef CASE
		/* the whole region, and only to read where the program itself may not write */
		start((enum roce_mr_kind)kind);
		mr.access = ROCE_ACCESS_MW_BIND;
		bind.access = ROCE_ACCESS_REMOTE_READ;
		bind.addr = IOVA;
		bind.length = LENGTH;
		assert_int_equal(try_bind(), ROCE_MEM_OK);
	}
}

static void bind__rules_of_type_2(void **state)
{
	(void)state;
	start(ROCE_MR_WINDOW_2);
	bind.length = 0;
	refuse(ROCE_MEM_BAD_ACCESS);
	bind.length = 0x200;
	assert_int_equal(try_bind(), ROCE_MEM_OK);
	bind.rkey.v ^= 1;
	refuse(ROCE_MEM_BAD_ACCESS); /* bound already */
	assert_int_equal(roce_mem_invalidate(&table, &pd, &qp, mw.rkey), ROCE_MEM_OK);
	assert_int_equal(try_bind(), ROCE_MEM_OK);
	assert_int_equal(mr.window_count, 1);
}

static void bind__rules_of_type_1(void **state)
{
	uint32_t first_key;

	(void)state;
	start(ROCE_MR_WINDOW_1);
	bind.access |= ROCE_ACCESS_ZERO_BASED;
	refuse(ROCE_MEM_BAD_ACCESS);
	bind.access = ROCE_ACCESS_REMOTE_READ;
	assert_int_equal(try_bind(), ROCE_MEM_OK);
	/* bound again, elsewhere and under another key: the old one is gone */
	first_key = bind.rkey.v;
	bind.rkey.v++;
	bind.addr = IOVA + 0x800;
	assert_int_equal(try_bind(), ROCE_MEM_OK);
	assert_int_equal(mr.window_count, 1);
	assert_int_equal(reach(&qp, first_key, IOVA + 0x800, 1, ROCE_ACCESS_REMOTE_READ),
			 ROCE_MEM_BAD_KEY);
	assert_int_equal(reach(&qp, bind.rkey.v, IOVA + 0x100, 1, ROCE_ACCESS_REMOTE_READ),
			 ROCE_MEM_BAD_RANGE);
	assert_int_equal(reach(&qp, bind.rkey.v, IOVA + 0x800, 1, ROCE_ACCESS_REMOTE_READ),
			 ROCE_MEM_OK);
	/* length 0 unbinds; the region does not matter */
	bind.rkey.v++;
	bind.length = 0;
	bind.lkey = 0;
	assert_int_equal(try_bind(), ROCE_MEM_OK);
	assert_int_equal(mr.window_count, 0);
	assert_int_equal(mw.rkey.v, bind.rkey.v);
	assert_int_equal(reach(&qp, bind.rkey.v, IOVA + 0x800, 1, ROCE_ACCESS_REMOTE_READ),
			 ROCE_MEM_BAD_KEY);
}

/* ---- using ---- */

/* A window's bytes are reached as its region's are. */
static void reach__on_demand_as_the_region(void **state)
{
	(void)state;
	for (int is_on_demand = 0; is_on_demand < 2; is_on_demand++) {
		struct roce_mem_place at = {.is_on_demand = !is_on_demand};

		start(ROCE_MR_WINDOW_1);
		if (is_on_demand)
			mr.access |= ROCE_ACCESS_ON_DEMAND;
		assert_int_equal(try_bind(), ROCE_MEM_OK);
		assert_int_equal(roce_mem_check_remote(&table, &pd, &qp, bind.rkey, IOVA + 0x100, 8,
						       ROCE_ACCESS_REMOTE_READ, &at),
				 ROCE_MEM_OK);
		assert_int_equal(at.is_on_demand, is_on_demand);
	}
}

static void reach__only_what_is_bound(void **state)
{
	struct roce_mem_place at = {0};

	(void)state;
	for (int kind = ROCE_MR_WINDOW_1; kind <= ROCE_MR_WINDOW_2; kind++) {
		start((enum roce_mr_kind)kind);
		assert_int_equal(reach(&qp, mw.rkey.v, IOVA + 0x100, 1, ROCE_ACCESS_REMOTE_READ),
				 ROCE_MEM_BAD_KEY); /* not bound yet */
		bind.access = ROCE_ACCESS_REMOTE_READ;
		assert_int_equal(try_bind(), ROCE_MEM_OK);
		assert_int_equal(roce_mem_check_remote(&table, &pd, &qp, bind.rkey, IOVA + 0x100,
						       0x200, ROCE_ACCESS_REMOTE_READ, &at),
				 ROCE_MEM_OK);
		assert_int_equal(at.ptr, ADDR + 0x100);
		assert_int_equal(reach(&qp, bind.rkey.v, IOVA + 0xff, 1, ROCE_ACCESS_REMOTE_READ),
				 ROCE_MEM_BAD_RANGE);
		assert_int_equal(
			reach(&qp, bind.rkey.v, IOVA + 0x100, 0x201, ROCE_ACCESS_REMOTE_READ),
			ROCE_MEM_BAD_RANGE);
		assert_int_equal(reach(&qp, bind.rkey.v, IOVA + 0x100, 1, ROCE_ACCESS_REMOTE_WRITE),
				 ROCE_MEM_BAD_ACCESS); /* the region's right is not the window's */
		assert_int_equal(
			reach(&qp, bind.rkey.v ^ 1, IOVA + 0x100, 1, ROCE_ACCESS_REMOTE_READ),
			ROCE_MEM_BAD_KEY);
		assert_int_equal(
			reach(&other_qp, bind.rkey.v, IOVA + 0x100, 1, ROCE_ACCESS_REMOTE_READ),
			kind == ROCE_MR_WINDOW_2 ? ROCE_MEM_BAD_ACCESS : ROCE_MEM_OK);
		assert_int_equal(roce_mem_check_remote(&table, &other_pd, &qp, bind.rkey,
						       IOVA + 0x100, 1, ROCE_ACCESS_REMOTE_READ,
						       &at),
				 ROCE_MEM_BAD_PD);
		/* a window is nothing for local use */
		assert_int_equal(
			roce_mem_check_local(&table, &pd, bind.rkey, IOVA + 0x100, 1, 0, &at),
			ROCE_MEM_BAD_KEY);
	}
}

static void reach__zero_based(void **state)
{
	struct roce_mem_place at = {0};

	(void)state;
	start(ROCE_MR_WINDOW_2);
	bind.access |= ROCE_ACCESS_ZERO_BASED;
	assert_int_equal(try_bind(), ROCE_MEM_OK);
	assert_int_equal(roce_mem_check_remote(&table, &pd, &qp, bind.rkey, 0x1ff, 1,
					       ROCE_ACCESS_REMOTE_READ, &at),
			 ROCE_MEM_OK);
	assert_int_equal(at.ptr, ADDR + 0x100 + 0x1ff);
	assert_int_equal(reach(&qp, bind.rkey.v, 0x200, 1, ROCE_ACCESS_REMOTE_READ),
			 ROCE_MEM_BAD_RANGE);
	assert_int_equal(reach(&qp, bind.rkey.v, IOVA + 0x100, 1, ROCE_ACCESS_REMOTE_READ),
			 ROCE_MEM_BAD_RANGE);
}

/* ---- ending ---- */

static void invalidate__by_its_own_qp_only(void **state)
{
	(void)state;
	start(ROCE_MR_WINDOW_2);
	assert_int_equal(roce_mem_invalidate(&table, &pd, &qp, mw.rkey), ROCE_MEM_BAD_KEY);
	assert_int_equal(try_bind(), ROCE_MEM_OK);
	assert_int_equal(roce_mem_invalidate(&table, &pd, &other_qp, mw.rkey), ROCE_MEM_BAD_ACCESS);
	assert_int_equal(roce_mem_invalidate(&table, &other_pd, &qp, mw.rkey), ROCE_MEM_BAD_PD);
	assert_int_equal(roce_mem_invalidate(&table, &pd, &qp, (roce_key_t){mw.rkey.v ^ 1}),
			 ROCE_MEM_BAD_KEY);
	assert_true(mw.is_valid);
	assert_int_equal(roce_mem_invalidate(&table, &pd, &qp, mw.rkey), ROCE_MEM_OK);
	assert_int_equal(mr.window_count, 0);
	assert_int_equal(roce_mem_invalidate(&table, &pd, &qp, mw.rkey), ROCE_MEM_BAD_KEY);

	/* type 1 ends by an unbind only */
	start(ROCE_MR_WINDOW_1);
	assert_int_equal(try_bind(), ROCE_MEM_OK);
	assert_int_equal(roce_mem_invalidate(&table, &pd, &qp, mw.rkey), ROCE_MEM_BAD_ACCESS);
	assert_true(mw.is_valid);
}

static void remove__unbinds(void **state)
{
	(void)state;
	start(ROCE_MR_WINDOW_2);
	assert_int_equal(try_bind(), ROCE_MEM_OK);
	assert_int_equal(mr.window_count, 1);
	roce_window_mr_remove(&table, &mw);
	assert_int_equal(mr.window_count, 0);
	assert_int_equal(table.window_count, 0);
	assert_null(roce_key_table_find(&table, bind.rkey));
}

/* Another QP may be made at the same address: it must not inherit windows. */
static void unbind_all__of_a_qp(void **state)
{
	struct roce_mr mw1;

	(void)state;
	start(ROCE_MR_WINDOW_2);
	assert_int_equal(roce_window_mr_add(&table, &mw1, ROCE_MR_WINDOW_1, &pd, 0x44400, 0), 0);
	assert_int_equal(try_bind(), ROCE_MEM_OK);
	bind.rkey.v = 0x44401;
	assert_int_equal(try_bind(), ROCE_MEM_OK);
	roce_mem_unbind_all(&table, &other_qp);
	assert_true(mw.is_valid);
	roce_mem_unbind_all(&table, &qp);
	assert_false(mw.is_valid);
	assert_true(mw1.is_valid); /* belongs to the domain */
	assert_int_equal(mr.window_count, 1);
}

static void add__index_taken(void **state)
{
	struct roce_mr second;

	(void)state;
	start(ROCE_MR_WINDOW_2);
	assert_int_not_equal(roce_window_mr_add(&table, &second, ROCE_MR_WINDOW_2, &pd, 0x11100, 0),
			     0);
	assert_int_equal(table.window_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bind__by_the_present_key),
		cmocka_unit_test(bind__rules_for_both_types),
		cmocka_unit_test(bind__rules_of_type_2),
		cmocka_unit_test(bind__rules_of_type_1),
		cmocka_unit_test(reach__on_demand_as_the_region),
		cmocka_unit_test(reach__only_what_is_bound),
		cmocka_unit_test(reach__zero_based),
		cmocka_unit_test(invalidate__by_its_own_qp_only),
		cmocka_unit_test(remove__unbinds),
		cmocka_unit_test(unbind_all__of_a_qp),
		cmocka_unit_test(add__index_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
