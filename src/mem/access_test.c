/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a key may touch: each reason to refuse alone, every boundary of a region, and regions whose
 * iova is the address, another one, or zero.
 */
#include "mem/mem.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#define ADDR   UINT64_C(0x7f0000001000)
#define LENGTH 4096u

static struct roce_mr *buckets[4];
static struct roce_key_table table;
static struct roce_pd pd, other_pd;
static struct roce_mr mr;

static void start(uint64_t iova, uint32_t access)
{
	for (size_t i = 0; i < sizeof(buckets) / sizeof(buckets[0]); i++)
		buckets[i] = NULL;
	roce_key_table_init(&table, buckets, 4);
	mr = (struct roce_mr){
		.pd = &pd, .iova = iova, .addr = ADDR, .length = LENGTH, .access = access};
	assert_int_equal(roce_key_table_add(&table, &mr, 0xabcdef00, 0x11, 0x22), 0);
}

static enum roce_mem_verdict remote(uint64_t va, uint64_t length, struct roce_mem_place *out)
{
	return roce_mem_check_remote(&table, &pd, NULL, mr.rkey, va, length,
				     ROCE_ACCESS_REMOTE_READ, out);
}

/* How the bytes are to be reached follows from the region, for both keys. */
static void check__on_demand_is_told(void **state)
{
	(void)state;
	for (uint32_t flag = 0; flag <= ROCE_ACCESS_ON_DEMAND; flag += ROCE_ACCESS_ON_DEMAND) {
		struct roce_mem_place at = {.is_on_demand = !flag};

		start(ADDR, ROCE_ACCESS_REMOTE_READ | flag);
		assert_int_equal(remote(ADDR, 8, &at), ROCE_MEM_OK);
		assert_int_equal(at.is_on_demand, flag != 0);
		at.is_on_demand = !flag;
		assert_int_equal(roce_mem_check_local(&table, &pd, mr.lkey, ADDR, 8, 0, &at),
				 ROCE_MEM_OK);
		assert_int_equal(at.is_on_demand, flag != 0);
	}
}

static void check__every_boundary(void **state)
{
	static const uint64_t iovas[] = {ADDR, 0, UINT64_C(0x10000),
					 UINT64_MAX - LENGTH + 1}; /* up to the last address */
	struct roce_mem_place at = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(iovas) / sizeof(iovas[0]); i++) {
		uint64_t iova = iovas[i];

		start(iova, ROCE_ACCESS_REMOTE_READ);
		assert_int_equal(remote(iova, LENGTH, &at), ROCE_MEM_OK);
		assert_int_equal(at.ptr, ADDR);
		assert_int_equal(remote(iova + LENGTH - 1, 1, &at), ROCE_MEM_OK);
		assert_int_equal(at.ptr, ADDR + LENGTH - 1);
		assert_int_equal(remote(iova + 17, 100, &at), ROCE_MEM_OK);
		assert_int_equal(at.ptr, ADDR + 17);

		at.ptr = 1;
		assert_int_equal(remote(iova, LENGTH + 1, &at), ROCE_MEM_BAD_RANGE);
		assert_int_equal(remote(iova + 1, LENGTH, &at), ROCE_MEM_BAD_RANGE);
		assert_int_equal(remote(iova - 1, 1, &at), ROCE_MEM_BAD_RANGE);
		assert_int_equal(remote(iova - 1, LENGTH + 1, &at), ROCE_MEM_BAD_RANGE);
		assert_int_equal(remote(iova + LENGTH, 1, &at), ROCE_MEM_BAD_RANGE);
		assert_int_equal(remote(iova + 8, UINT64_MAX, &at), ROCE_MEM_BAD_RANGE);
		assert_int_equal(remote(iova + 8, UINT64_MAX - 7, &at), ROCE_MEM_BAD_RANGE);
		assert_int_equal(at.ptr, 1); /* untouched */
	}
}

static void check_remote__each_reason(void **state)
{
	struct roce_mem_place at = {0};

	(void)state;
	start(ADDR, ROCE_ACCESS_REMOTE_READ);
	assert_int_equal(roce_mem_check_remote(&table, &pd, NULL, mr.lkey, ADDR, 1,
					       ROCE_ACCESS_REMOTE_READ, &at),
			 ROCE_MEM_BAD_KEY);
	assert_int_equal(roce_mem_check_remote(&table, &pd, NULL, (roce_key_t){mr.rkey.v ^ 0x100},
					       ADDR, 1, ROCE_ACCESS_REMOTE_READ, &at),
			 ROCE_MEM_BAD_KEY);
	assert_int_equal(roce_mem_check_remote(&table, &other_pd, NULL, mr.rkey, ADDR, 1,
					       ROCE_ACCESS_REMOTE_READ, &at),
			 ROCE_MEM_BAD_PD);
	assert_int_equal(roce_mem_check_remote(&table, &pd, NULL, mr.rkey, ADDR, 1,
					       ROCE_ACCESS_REMOTE_WRITE, &at),
			 ROCE_MEM_BAD_ACCESS);
	assert_int_equal(roce_mem_check_remote(&table, &pd, NULL, mr.rkey, ADDR, 1,
					       ROCE_ACCESS_REMOTE_READ, &at),
			 ROCE_MEM_OK);
	mr.is_valid = false;
	assert_int_equal(roce_mem_check_remote(&table, &pd, NULL, mr.rkey, ADDR, 1,
					       ROCE_ACCESS_REMOTE_READ, &at),
			 ROCE_MEM_BAD_KEY);
}

static void check_local__each_reason(void **state)
{
	struct roce_mem_place at = {0};

	(void)state;
	start(ADDR, 0);
	/* local reading needs no right */
	assert_int_equal(roce_mem_check_local(&table, &pd, mr.lkey, ADDR, LENGTH, 0, &at),
			 ROCE_MEM_OK);
	assert_int_equal(
		roce_mem_check_local(&table, &pd, mr.lkey, ADDR, 1, ROCE_ACCESS_LOCAL_WRITE, &at),
		ROCE_MEM_BAD_ACCESS);
	assert_int_equal(roce_mem_check_local(&table, &pd, mr.rkey, ADDR, 1, 0, &at),
			 ROCE_MEM_BAD_KEY);
	assert_int_equal(roce_mem_check_local(&table, &other_pd, mr.lkey, ADDR, 1, 0, &at),
			 ROCE_MEM_BAD_PD);
	assert_int_equal(roce_mem_check_local(&table, &pd, mr.lkey, ADDR - 1, 1, 0, &at),
			 ROCE_MEM_BAD_RANGE);
}

static void invalidate__only_what_allows_it(void **state)
{
	struct roce_mem_place at = {0};

	(void)state;
	start(ADDR, ROCE_ACCESS_REMOTE_READ);
	assert_int_not_equal(roce_mem_invalidate(&table, &pd, NULL, mr.rkey), ROCE_MEM_OK);
	mr.can_invalidate = true;
	assert_int_not_equal(roce_mem_invalidate(&table, &other_pd, NULL, mr.rkey), ROCE_MEM_OK);
	assert_int_not_equal(roce_mem_invalidate(&table, &pd, NULL, mr.lkey), ROCE_MEM_OK);
	assert_int_equal(remote(ADDR, 1, &at), ROCE_MEM_OK);
	assert_int_equal(roce_mem_invalidate(&table, &pd, NULL, mr.rkey), ROCE_MEM_OK);
	assert_int_equal(remote(ADDR, 1, &at), ROCE_MEM_BAD_KEY);
	assert_int_not_equal(roce_mem_invalidate(&table, &pd, NULL, mr.rkey), ROCE_MEM_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check__every_boundary),
		cmocka_unit_test(check__on_demand_is_told),
		cmocka_unit_test(check_remote__each_reason),
		cmocka_unit_test(check_local__each_reason),
		cmocka_unit_test(invalidate__only_what_allows_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
