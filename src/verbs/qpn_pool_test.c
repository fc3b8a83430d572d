/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QP numbers: none twice at a time, none soon after it was given back, all of them usable.
 */
#include "verbs/qpn_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static struct roce_qpn_pool *make_pool(void)
{
	struct roce_qpn_pool *pool = calloc(1, sizeof(*pool));

	assert_non_null(pool);
	return pool;
}

static void take__gives_every_number_once(void **state)
{
	struct roce_qpn_pool *pool = make_pool();
	static bool seen[ROCE_QPN_NUMBERS];
	uint16_t number;

	(void)state;
	for (uint32_t i = 0; i < ROCE_QPN_NUMBERS; i++) {
		assert_true(roce_qpn_pool_take(pool, (uint16_t)(i * 40503u), &number));
		assert_false(seen[number]);
		seen[number] = true;
	}
	assert_false(roce_qpn_pool_take(pool, 7, &number));
	free(pool);
}

static void take__gives_the_start_if_free(void **state)
{
	struct roce_qpn_pool *pool = make_pool();
	uint16_t number;

	(void)state;
	assert_true(roce_qpn_pool_take(pool, 0xffff, &number));
	assert_int_equal(number, 0xffff);
	assert_true(roce_qpn_pool_take(pool, 0xffff, &number));
	assert_int_equal(number, 0); /* wraps */
	free(pool);
}

static void give_back__number_rests_until_others_have(void **state)
{
	struct roce_qpn_pool *pool = make_pool();
	uint16_t first;
	uint16_t number;

	(void)state;
	assert_true(roce_qpn_pool_take(pool, 100, &first));
	roce_qpn_pool_give_back(pool, first);
	for (uint32_t i = 0; i < ROCE_QPN_QUARANTINE; i++) {
		assert_true(roce_qpn_pool_is_taken(pool, first));
		assert_true(roce_qpn_pool_take(pool, first, &number));
		assert_int_not_equal(number, first);
		roce_qpn_pool_give_back(pool, number);
	}
	assert_false(roce_qpn_pool_is_taken(pool, first));
	assert_true(roce_qpn_pool_take(pool, first, &number));
	assert_int_equal(number, first);
	free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(take__gives_every_number_once),
		cmocka_unit_test(take__gives_the_start_if_free),
		cmocka_unit_test(give_back__number_rests_until_others_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
