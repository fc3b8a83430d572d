/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of keys: both keys of a region find it, taken indexes are refused, and a table under
 * random use agrees with a plain list. */
#include "mem/mem.h"

#include "base/prng.h"

#include <stdarg.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#define COUNT 200

static struct roce_mr *buckets[8];
static struct roce_key_table table;
static struct roce_mr mrs[COUNT];

static void start(void)
{
	memset(buckets, 0, sizeof(buckets));
	memset(mrs, 0, sizeof(mrs));
	roce_key_table_init(&table, buckets, 8);
}

static void add__keys_share_the_index(void **state)
{
	(void)state;
	start();
	assert_int_equal(roce_key_table_add(&table, &mrs[0], 0x12345699, 0x10, 0x20), 0);
	assert_int_equal(mrs[0].lkey.v, 0x12345610);
	assert_int_equal(mrs[0].rkey.v, 0x12345620);
	assert_ptr_equal(roce_key_table_find(&table, mrs[0].lkey), &mrs[0]);
	assert_ptr_equal(roce_key_table_find(&table, mrs[0].rkey), &mrs[0]);
	assert_null(roce_key_table_find(&table, (roce_key_t){0x12345710}));
}

static void add__refuses_taken_and_zero(void **state)
{
	(void)state;
	start();
	assert_int_equal(roce_key_table_add(&table, &mrs[0], 0x12345600, 1, 2), 0);
	assert_true(roce_key_table_add(&table, &mrs[1], 0x123456ff, 3, 4) < 0);
	assert_true(roce_key_table_add(&table, &mrs[1], 0x000000ff, 3, 4) < 0);
	assert_int_equal(table.count, 1);
	assert_null(roce_key_table_find(&table, (roce_key_t){0}));
}

static void remove__twice_is_harmless(void **state)
{
	(void)state;
	start();
	roce_key_table_add(&table, &mrs[0], 0x800, 1, 2);
	roce_key_table_add(&table, &mrs[1], 0x1000, 1, 2); /* the same bucket */
	roce_key_table_remove(&table, &mrs[0]);
	roce_key_table_remove(&table, &mrs[0]);
	assert_int_equal(table.count, 1);
	assert_null(roce_key_table_find(&table, (roce_key_t){0x801}));
	assert_ptr_equal(roce_key_table_find(&table, (roce_key_t){0x1001}), &mrs[1]);
}

static void table__same_as_plain_list(void **state)
{
	struct roce_prng prng = {3};
	bool is_in[COUNT] = {false};
	uint32_t count = 0;

	(void)state;
	start();
	for (int round = 0; round < 20000; round++) {
		size_t i = (size_t)roce_prng_below(&prng, COUNT);
		uint32_t index = (uint32_t)roce_prng_below(&prng, 300) << 8;

		if (is_in[i]) {
			assert_ptr_equal(roce_key_table_find(&table, mrs[i].rkey), &mrs[i]);
			roce_key_table_remove(&table, &mrs[i]);
			is_in[i] = false;
			count--;
		} else {
			bool is_taken = index == 0;

			for (size_t k = 0; k < COUNT; k++)
				is_taken |= is_in[k] && mrs[k].lkey.v >> 8 == index >> 8;
			assert_int_equal(roce_key_table_add(&table, &mrs[i], index, 1, 2) == 0,
					 !is_taken);
			is_in[i] = !is_taken;
			count += !is_taken;
		}
		assert_int_equal(table.count, count);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(add__keys_share_the_index),
		cmocka_unit_test(add__refuses_taken_and_zero),
		cmocka_unit_test(remove__twice_is_harmless),
		cmocka_unit_test(table__same_as_plain_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
