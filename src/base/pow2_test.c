/* SPDX-License-Identifier: BSD-2-Clause */
/* Rounding up to powers of two, around each of them. */
#include "base/pow2.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void round_up__around_each_power(void **state)
{
	(void)state;
	assert_int_equal(roce_pow2_round_up(0), 1);
	assert_int_equal(roce_pow2_round_up(1), 1);
	assert_int_equal(roce_pow2_round_up(2), 2);
	assert_int_equal(roce_pow2_round_up(3), 4);
	for (uint32_t bit = 2; bit < 31; bit++) {
		assert_int_equal(roce_pow2_round_up((1u << bit) - 1), 1u << bit);
		assert_int_equal(roce_pow2_round_up(1u << bit), 1u << bit);
		assert_int_equal(roce_pow2_round_up((1u << bit) + 1), 2u << bit);
	}
	assert_int_equal(roce_pow2_round_up(1u << 31), 1u << 31);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_up__around_each_power),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
