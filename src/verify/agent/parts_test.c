/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts that go on evenly, by jerks, with pauses, and too slowly. */
#include "verify/agent/parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#define WHILE_NS (1000 * ROCE_NS_PER_MS)
#define BEGIN	 (77 * ROCE_NS_PER_MS)
#define PER_MS	 10 /* what comes in a millisecond */

/* Something comes each `step_ms`, but in a pause of `pause_ms` at 300 ms; what was due in it comes
 * behind it or, if `is_lost`, not at all. */
static double usual(uint64_t step_ms, uint64_t pause_ms, bool is_lost, uint32_t *count)
{
	double rates[VA_PARTS];
	struct va_parts parts;
	uint64_t done = 0;

	va_parts_begin(&parts, BEGIN, WHILE_NS);
	for (uint64_t ms = step_ms; ms <= 1000 + step_ms; ms += step_ms) {
		bool is_pause = ms > 300 && ms <= 300 + pause_ms;

		if (!is_pause || !is_lost)
			done += step_ms * PER_MS;
		if (!is_pause)
			va_parts_note(&parts, BEGIN + ms * ROCE_NS_PER_MS, done);
	}
	*count = va_parts_rates(&parts, rates);
	return va_parts_median(rates, *count);
}

static bool is_near(double a, double b)
{
	return a > b * 0.999 && a < b * 1.001;
}

static void even_pace__is_its_rate(void **state)
{
	static const uint64_t steps[] = {1, 3, 7, 49, 50};
	uint32_t count;

	(void)state;
	for (uint32_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		assert_true(is_near(usual(steps[i], 0, false, &count), 1000 * PER_MS));
		assert_int_equal(count, VA_PARTS);
	}
}

static void steps_longer_than_a_part__fill_all_parts(void **state)
{
	uint32_t count;

	(void)state;
	assert_true(is_near(usual(200, 0, false, &count), 1000 * PER_MS));
	assert_int_equal(count, VA_PARTS);
}

static void pause__does_not_count_before_half_of_it(void **state)
{
	uint32_t count;

	(void)state;
	assert_true(is_near(usual(1, 300, true, &count), 1000 * PER_MS));
	assert_int_equal(count, VA_PARTS);
	assert_true(usual(1, 600, true, &count) < 500 * PER_MS);
	assert_int_equal(count, VA_PARTS);
}

static void what_comes_late__makes_nothing_faster(void **state)
{
	uint32_t count;

	(void)state;
	for (uint64_t pause = 10; pause < 450; pause += 10)
		assert_true(is_near(usual(1, pause, false, &count), 1000 * PER_MS));
}

static void few_parts__have_no_usual_pace(void **state)
{
	double rates[VA_PARTS];
	struct va_parts parts;

	(void)state;
	va_parts_begin(&parts, BEGIN, WHILE_NS);
	assert_int_equal(va_parts_rates(&parts, rates), 0);
	for (uint64_t part = 1; part < VA_PARTS_MIN; part++) {
		va_parts_note(&parts, BEGIN + part * WHILE_NS / VA_PARTS, part);
		assert_int_equal(va_parts_rates(&parts, rates), part);
		assert_true(va_parts_median(rates, (uint32_t)part) == 0);
	}
	va_parts_note(&parts, BEGIN + VA_PARTS_MIN * WHILE_NS / VA_PARTS, VA_PARTS_MIN);
	assert_int_equal(va_parts_rates(&parts, rates), VA_PARTS_MIN);
	assert_true(is_near(va_parts_median(rates, VA_PARTS_MIN), VA_PARTS));
}

static void the_end__takes_no_more_marks(void **state)
{
	double rates[VA_PARTS];
	struct va_parts parts;

	(void)state;
	va_parts_begin(&parts, BEGIN, WHILE_NS);
	for (uint64_t ms = 1; ms < 5000; ms++)
		va_parts_note(&parts, BEGIN + ms * ROCE_NS_PER_MS, ms);
	assert_int_equal(va_parts_rates(&parts, rates), VA_PARTS);
	assert_int_equal(parts.marks[VA_PARTS].done, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(even_pace__is_its_rate),
		cmocka_unit_test(steps_longer_than_a_part__fill_all_parts),
		cmocka_unit_test(pause__does_not_count_before_half_of_it),
		cmocka_unit_test(what_comes_late__makes_nothing_faster),
		cmocka_unit_test(few_parts__have_no_usual_pace),
		cmocka_unit_test(the_end__takes_no_more_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
