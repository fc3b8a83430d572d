/* SPDX-License-Identifier: BSD-2-Clause */
/* Pacing: exact over many packets, bursts, lateness forgone, and a debt that follows the rate. */
#include "cc/pace.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <cmocka.h>

/* 1106 bytes at 100 Gb/s take 88.48 ns: over 100 packets nothing is rounded away. */
static void on_send__carries_parts_of_a_nanosecond(void **state)
{
	const struct roce_pace_config cfg = {.kbit_per_s = 100000000};
	struct roce_pace pace = {0};

	(void)state;
	for (int i = 0; i < 100; i++)
		roce_pace_on_send(&pace, &cfg, 1106, roce_pace_next(&pace, &cfg));
	assert_int_equal(pace.passed_at, 8848);
}

static void next__burst_and_lateness(void **state)
{
	const struct roce_pace_config cfg = {.kbit_per_s = 8000, .burst_bytes = 100};
	struct roce_pace pace = {0};

	(void)state;
	/* A byte a microsecond: 300 bytes from 1 ms on, of which 100 may be ahead. */
	roce_pace_on_send(&pace, &cfg, 300, ROCE_NS_PER_MS);
	assert_int_equal(pace.passed_at, 1300 * ROCE_NS_PER_US);
	assert_int_equal(roce_pace_next(&pace, &cfg), 1200 * ROCE_NS_PER_US);
	/* Whoever comes late has lost what could have gone. */
	roce_pace_on_send(&pace, &cfg, 10, 5 * ROCE_NS_PER_MS);
	assert_int_equal(pace.passed_at, 5010 * ROCE_NS_PER_US);
}

static void change__what_is_left_passes_at_the_new_rate(void **state)
{
	const struct roce_pace_config cfg = {.kbit_per_s = 8000};
	struct roce_pace pace = {0};

	(void)state;
	roce_pace_on_send(&pace, &cfg, 1000, 0); /* until 1 ms */
	roce_pace_change(&pace, 8000, 4000, 400 * ROCE_NS_PER_US);
	assert_int_equal(pace.passed_at, 1600 * ROCE_NS_PER_US);
	roce_pace_change(&pace, 4000, 16000, 800 * ROCE_NS_PER_US);
	assert_int_equal(pace.passed_at, ROCE_NS_PER_MS);
	/* Nothing is left: nothing changes. */
	roce_pace_change(&pace, 16000, 1, 2 * ROCE_NS_PER_MS);
	assert_int_equal(pace.passed_at, ROCE_NS_PER_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_send__carries_parts_of_a_nanosecond),
		cmocka_unit_test(next__burst_and_lateness),
		cmocka_unit_test(change__what_is_left_passes_at_the_new_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
