/* SPDX-License-Identifier: BSD-2-Clause */
/* Spans begin and end once, add up, and are counted when there are too many. */
#include "record/spans.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void repeated_marks_are_one_span(void **state)
{
	const struct roce_span_lane *lane;
	struct roce_spans s;

	(void)state;
	assert_int_equal(roce_spans_init(&s, 3), 0);
	roce_spans_mark(&s, ROCE_SPAN_PAUSED, 2, 3, false, 5);
	roce_spans_mark(&s, ROCE_SPAN_PAUSED, 2, 3, true, 10);
	roce_spans_mark(&s, ROCE_SPAN_PAUSED, 2, 3, true, 12);
	roce_spans_mark(&s, ROCE_SPAN_STORMED, 2, 3, true, 15);
	roce_spans_mark(&s, ROCE_SPAN_PAUSED, 2, 3, false, 30);
	roce_spans_mark(&s, ROCE_SPAN_PAUSED, 2, 3, true, 100);
	assert_int_equal(s.count, 3);
	assert_int_equal(s.spans[0].from_ps, 10);
	assert_int_equal(s.spans[0].to_ps, 30);
	assert_int_equal(s.spans[0].port, 2);
	assert_int_equal(s.spans[0].prio, 3);
	assert_int_equal(s.spans[1].kind, ROCE_SPAN_STORMED);
	assert_true(s.spans[2].to_ps == ROCE_SPANS_OPEN);
	lane = roce_spans_lane(&s, ROCE_SPAN_PAUSED, 2, 3);
	assert_int_equal(lane->count, 2);
	assert_int_equal(roce_spans_total_ps(lane, 107), 27);
	lane = roce_spans_lane(&s, ROCE_SPAN_PAUSED, 2, 4);
	assert_int_equal(roce_spans_total_ps(lane, 107), 0);
	roce_spans_fini(&s);
}

static void too_many_are_added_up(void **state)
{
	const struct roce_span_lane *lane;
	struct roce_spans s;
	uint64_t now = 0;

	(void)state;
	assert_int_equal(roce_spans_init(&s, 1), 0);
	for (uint32_t i = 0; i < 2 * ROCE_SPANS_MAX; i++) {
		roce_spans_mark(&s, ROCE_SPAN_PAUSED, 0, 0, true, now);
		roce_spans_mark(&s, ROCE_SPAN_PAUSED, 0, 0, false, now + 3);
		now += 10;
	}
	assert_true(s.count >= ROCE_SPANS_MAX && s.count < 2 * ROCE_SPANS_MAX);
	assert_int_equal(s.count + s.left_out, 2 * ROCE_SPANS_MAX);
	lane = roce_spans_lane(&s, ROCE_SPAN_PAUSED, 0, 0);
	assert_int_equal(lane->count, 2 * ROCE_SPANS_MAX);
	assert_int_equal(roce_spans_total_ps(lane, now), UINT64_C(6) * ROCE_SPANS_MAX);
	roce_spans_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repeated_marks_are_one_span),
		cmocka_unit_test(too_many_are_added_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
