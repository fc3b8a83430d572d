/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The timer heap against a plain array of deadlines: after every operation the minimum, the count
 * and each timer's own index agree.
 */
#include "base/timer_heap.h"

#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#define TIMERS 64u

static void expect_sound(const struct roce_timer_heap *heap, const struct roce_timer *timers)
{
	roce_ns_t min = ROCE_NEVER;
	uint32_t armed = 0;

	for (uint32_t i = 0; i < TIMERS; i++) {
		if (timers[i].deadline == ROCE_NEVER)
			continue;
		armed++;
		if (timers[i].deadline < min)
			min = timers[i].deadline;
		assert_true(timers[i].heap_index < heap->count);
		assert_ptr_equal(heap->items[timers[i].heap_index], &timers[i]);
	}
	assert_int_equal(heap->count, armed);
	assert_true(roce_timer_heap_deadline(heap) == min);
	if (armed)
		assert_true(roce_timer_heap_min(heap)->deadline == min);
	else
		assert_null(roce_timer_heap_min(heap));
}

static void set__random_against_array(void **state)
{
	uint64_t seed = 0x7153;
	struct roce_prng prng = {seed};
	struct roce_timer timers[TIMERS];
	struct roce_timer *items[TIMERS];
	struct roce_timer_heap heap;

	(void)state;
	print_message("seed %#llx\n", (unsigned long long)seed);
	roce_timer_heap_init(&heap, items, TIMERS);
	for (uint32_t i = 0; i < TIMERS; i++)
		roce_timer_init(&timers[i]);
	expect_sound(&heap, timers);
	for (int i = 0; i < 20000; i++) {
		struct roce_timer *t = &timers[roce_prng_below(&prng, TIMERS)];
		roce_ns_t deadline = roce_prng_below(&prng, 100);

		/* Long phases of mostly arming and mostly disarming, so both ends are met. */
		if (roce_prng_below(&prng, 100) < (i / 1000 % 2 ? 80u : 20u))
			deadline = ROCE_NEVER;
		roce_timer_heap_set(&heap, t, deadline);
		assert_true(t->deadline == deadline);
		expect_sound(&heap, timers);
	}
}

static void min__drains_in_order(void **state)
{
	struct roce_prng prng = {99};
	struct roce_timer timers[TIMERS];
	struct roce_timer *items[TIMERS];
	struct roce_timer_heap heap;
	roce_ns_t before = 0;

	(void)state;
	roce_timer_heap_init(&heap, items, TIMERS);
	for (uint32_t i = 0; i < TIMERS; i++) {
		roce_timer_init(&timers[i]);
		roce_timer_heap_set(&heap, &timers[i], roce_prng_below(&prng, 1000));
	}
	for (uint32_t i = 0; i < TIMERS; i++) {
		struct roce_timer *t = roce_timer_heap_min(&heap);

		assert_true(t->deadline >= before);
		before = t->deadline;
		roce_timer_heap_set(&heap, t, ROCE_NEVER);
	}
	assert_null(roce_timer_heap_min(&heap));
}

static void set__disarmed_twice_is_harmless(void **state)
{
	struct roce_timer timer;
	struct roce_timer *items[1];
	struct roce_timer_heap heap;

	(void)state;
	roce_timer_heap_init(&heap, items, 1);
	roce_timer_init(&timer);
	roce_timer_heap_set(&heap, &timer, ROCE_NEVER);
	roce_timer_heap_set(&heap, &timer, 5);
	roce_timer_heap_set(&heap, &timer, ROCE_NEVER);
	roce_timer_heap_set(&heap, &timer, ROCE_NEVER);
	assert_int_equal(heap.count, 0);
	assert_true(roce_timer_heap_deadline(&heap) == ROCE_NEVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set__random_against_array),
		cmocka_unit_test(min__drains_in_order),
		cmocka_unit_test(set__disarmed_twice_is_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
