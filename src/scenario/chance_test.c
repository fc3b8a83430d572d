/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The logarithm against known values; the exponential's mean and tail; known first numbers, which
 * every compiler must give; permutations.
 */
#include "scenario/chance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void chance_minus_ln__known(void **state)
{
	static const struct {
		uint64_t x;
		double expected;
	} rows[] = {
		{UINT64_C(1) << 63, 0.69314718055994531},
		{UINT64_C(1) << 62, 1.38629436111989062},
		{UINT64_C(0xc000000000000000), 0.28768207245178093}, /* 3/4 */
		{UINT64_C(0x1999999999999999), 2.30258509299404568}, /* 1/10 */
		{1, 44.3614195558365},
		{0, 44.3614195558365},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double got = (double)roce_chance_minus_ln(rows[i].x) / 4294967296.0;

		assert_true(got > rows[i].expected - 1e-9 && got < rows[i].expected + 1e-9);
	}
	assert_true(roce_chance_minus_ln(UINT64_MAX) <= 2);
}

static void chance_exponential__mean_and_tail(void **state)
{
	struct roce_prng prng = roce_stream_init(1, 0, ROCE_STREAM_ARRIVALS);
	uint64_t sum = 0;
	uint32_t above = 0;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint64_t x = roce_chance_exponential(&prng, 1000000);

		sum += x;
		above += x > 3000000; /* e^-3: 4.98% */
	}
	assert_in_range(sum / 100000, 990000, 1010000);
	assert_in_range(above, 4700, 5260);
}

static void chance__known_numbers(void **state)
{
	struct roce_prng a = roce_stream_init(1, 0, ROCE_STREAM_ARRIVALS);
	struct roce_prng b = roce_stream_init(1, 0, ROCE_STREAM_SIZES);
	struct roce_prng c = roce_stream_init(1, 1, ROCE_STREAM_ARRIVALS);

	(void)state;
	assert_int_equal(roce_chance_exponential(&a, 1000000), 261367);
	assert_int_equal(roce_chance_exponential(&b, 1000000), 121399);
	assert_int_equal(roce_chance_exponential(&c, 1000000), 96206);
}

static void chance_derange__nobody_stays(void **state)
{
	struct roce_prng prng = {9};
	uint32_t out[33];

	(void)state;
	for (uint32_t count = 2; count < 33; count++) {
		uint64_t seen = 0;

		roce_chance_derange(&prng, out, count);
		for (uint32_t i = 0; i < count; i++) {
			assert_int_not_equal(out[i], i);
			seen |= UINT64_C(1) << out[i];
		}
		assert_int_equal(seen, (UINT64_C(1) << count) - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chance_minus_ln__known),
		cmocka_unit_test(chance_exponential__mean_and_tail),
		cmocka_unit_test(chance__known_numbers),
		cmocka_unit_test(chance_derange__nobody_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
