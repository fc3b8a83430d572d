/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers in order, late, twice and never, against a plain array of what has come. */
#include "fabric/seen.h"

#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static void add__in_order_takes_one_word(void **state)
{
	struct roce_fabric_seen seen = {0};

	(void)state;
	for (uint64_t n = 0; n < 100000; n++) {
		assert_true(roce_fabric_seen_add(&seen, n));
		assert_false(roce_fabric_seen_add(&seen, n));
		assert_false(roce_fabric_seen_add(&seen, n / 2));
	}
	assert_int_equal(seen.count, 1);
	roce_fabric_seen_fini(&seen);
}

static void add__a_hole_stays_open(void **state)
{
	struct roce_fabric_seen seen = {0};

	(void)state;
	for (uint64_t n = 0; n < 10000; n++)
		assert_true(n == 70 || roce_fabric_seen_add(&seen, n));
	assert_int_equal(seen.base, 64);
	assert_true(roce_fabric_seen_add(&seen, 70));
	assert_false(roce_fabric_seen_add(&seen, 70));
	roce_fabric_seen_fini(&seen);
}

static void add_psn__counts_on_when_psns_wrap(void **state)
{
	struct roce_fabric_seen seen = {0};

	(void)state;
	for (uint64_t n = 0; n < (UINT64_C(1) << 24) + 100; n++) {
		roce_psn_t psn = {(uint32_t)(n & ROCE_PSN_MASK)};

		if (n % 1000 == 7)
			continue; /* late by eleven packets */
		assert_true(roce_fabric_seen_add_psn(&seen, psn));
		if (n % 1000 != 18)
			continue;
		psn.v = (uint32_t)((n - 11) & ROCE_PSN_MASK);
		assert_true(roce_fabric_seen_add_psn(&seen, psn));
		assert_false(roce_fabric_seen_add_psn(&seen, psn));
	}
	assert_int_equal(seen.newest, (UINT64_C(1) << 24) + 99);
	/* Before the first there is nothing. */
	roce_fabric_seen_fini(&seen);
	assert_false(roce_fabric_seen_add_psn(&seen, (roce_psn_t){ROCE_PSN_MASK}));
	assert_true(roce_fabric_seen_add_psn(&seen, (roce_psn_t){0}));
	roce_fabric_seen_fini(&seen);
}

#define DRAWS 20000u

static void add__as_an_array_says(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct roce_prng prng = {seed};
		struct roce_fabric_seen seen = {0};
		bool *has_come = calloc(2 * DRAWS, sizeof(*has_come));
		uint64_t spread = 1 + roce_prng_below(&prng, 2000);

		assert_non_null(has_come);
		for (uint64_t i = 0; i < DRAWS; i++) {
			uint64_t n = i + roce_prng_below(&prng, spread);
			bool is_new = !has_come[n];

			if (roce_fabric_seen_add(&seen, n) != is_new)
				fail_msg("seed %u: number %u", (unsigned int)seed, (unsigned int)n);
			has_come[n] = true;
		}
		free(has_come);
		roce_fabric_seen_fini(&seen);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(add__in_order_takes_one_word),
		cmocka_unit_test(add__a_hole_stays_open),
		cmocka_unit_test(add_psn__counts_on_when_psns_wrap),
		cmocka_unit_test(add__as_an_array_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
