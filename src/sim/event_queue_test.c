/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Order of events: by time, then by the order of scheduling; against a plain sorted model, with
 * events that are moved and cancelled in between.
 */
#include "sim/event_queue.h"

#include "base/list.h"
#include "base/prng.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#define EVENT_COUNT 300

struct probe {
	struct roce_event ev;
	uint64_t at_ps; /* model: when it is to fire; ROCE_PS_NEVER if it is not queued */
	uint64_t order;
};

static struct roce_event_queue queue;
static struct probe probes[EVENT_COUNT];
static struct probe *last_fired;

static void on_fire(struct roce_event *ev)
{
	last_fired = roce_container_of(ev, struct probe, ev);
	assert_false(roce_event_is_queued(ev));
}

static struct probe *model_first(void)
{
	struct probe *best = NULL;

	for (size_t i = 0; i < EVENT_COUNT; i++) {
		struct probe *p = &probes[i];

		if (p->at_ps == ROCE_PS_NEVER)
			continue;
		if (!best || p->at_ps < best->at_ps ||
		    (p->at_ps == best->at_ps && p->order < best->order))
			best = p;
	}
	return best;
}

static void queue__same_as_sorted_model(void **state)
{
	struct roce_prng prng = {7};
	uint64_t order = 0;

	(void)state;
	roce_event_queue_init(&queue);
	for (size_t i = 0; i < EVENT_COUNT; i++) {
		roce_event_init(&probes[i].ev, on_fire);
		probes[i].at_ps = ROCE_PS_NEVER;
	}
	for (int round = 0; round < 20000; round++) {
		struct probe *p = &probes[roce_prng_below(&prng, EVENT_COUNT)];
		/* mostly ties and neighbours; some at the end of the wheel, and far behind it */
		static const uint64_t spans[] = {50, 50, 5000, 2200000, 100000000};
		uint64_t at_ps =
			queue.now_ps + roce_prng_below(&prng, spans[roce_prng_below(&prng, 5)]);

		switch (roce_prng_below(&prng, 5)) {
		case 0:
			roce_event_cancel(&queue, &p->ev);
			p->at_ps = ROCE_PS_NEVER;
			break;
		case 1:
			p = model_first();
			last_fired = NULL;
			assert_int_equal(roce_event_queue_next_ps(&queue),
					 p ? p->at_ps : ROCE_PS_NEVER);
			assert_int_equal(roce_event_queue_step(&queue), p != NULL);
			assert_ptr_equal(last_fired, p);
			if (p) {
				assert_int_equal(queue.now_ps, p->at_ps);
				p->at_ps = ROCE_PS_NEVER;
			}
			break;
		default:
			/* an event that is asked for the time it already has keeps its place */
			if (p->at_ps != at_ps)
				p->order = order++;
			p->at_ps = at_ps;
			roce_event_schedule(&queue, &p->ev, at_ps);
			break;
		}
	}
	roce_event_queue_fini(&queue);
}

/* An event that was far when it was scheduled is before one that was near, at the same time. */
static void queue__far_comes_before_near_at_one_time(void **state)
{
	const uint64_t at_ps = 3000000;

	(void)state;
	roce_event_queue_init(&queue);
	roce_event_init(&probes[0].ev, on_fire);
	roce_event_init(&probes[1].ev, on_fire);
	roce_event_schedule(&queue, &probes[0].ev, at_ps);
	roce_event_queue_run(&queue, at_ps - 1000);
	roce_event_schedule(&queue, &probes[1].ev, at_ps);
	assert_true(roce_event_queue_step(&queue));
	assert_ptr_equal(last_fired, &probes[0]);
	assert_true(roce_event_queue_step(&queue));
	assert_ptr_equal(last_fired, &probes[1]);
	roce_event_queue_fini(&queue);
}

static bool is_stopped;

static void on_fire_stop(struct roce_event *ev)
{
	on_fire(ev);
	is_stopped = true;
}

static void run_until__stands_where_it_was_stopped(void **state)
{
	(void)state;
	roce_event_queue_init(&queue);
	roce_event_init(&probes[0].ev, on_fire_stop);
	roce_event_init(&probes[1].ev, on_fire);
	roce_event_schedule(&queue, &probes[0].ev, 100);
	roce_event_schedule(&queue, &probes[1].ev, 200);
	is_stopped = false;
	roce_event_queue_run_until(&queue, 1000, &is_stopped);
	assert_int_equal(queue.now_ps, 100);
	assert_ptr_equal(last_fired, &probes[0]);
	is_stopped = false;
	roce_event_queue_run_until(&queue, 1000, &is_stopped);
	assert_int_equal(queue.now_ps, 200);
	assert_int_equal(queue.fired_count, 2);
	roce_event_queue_fini(&queue);
}

static void schedule__past_is_now_and_never_is_cancel(void **state)
{
	(void)state;
	roce_event_queue_init(&queue);
	roce_event_init(&probes[0].ev, on_fire);
	roce_event_queue_run(&queue, 5000);
	assert_int_equal(queue.now_ps, 5000);
	assert_int_equal(roce_event_queue_now_ns(&queue), 5);

	roce_event_schedule(&queue, &probes[0].ev, 10);
	assert_int_equal(roce_event_queue_next_ps(&queue), 5000);
	roce_event_schedule(&queue, &probes[0].ev, ROCE_PS_NEVER);
	assert_false(roce_event_is_queued(&probes[0].ev));
	assert_false(roce_event_queue_step(&queue));
	roce_event_queue_fini(&queue);
}

static void run__fires_up_to_and_at_its_end(void **state)
{
	(void)state;
	roce_event_queue_init(&queue);
	roce_event_init(&probes[0].ev, on_fire);
	roce_event_init(&probes[1].ev, on_fire);
	roce_event_schedule(&queue, &probes[0].ev, 100);
	roce_event_schedule(&queue, &probes[1].ev, 101);
	roce_event_queue_run(&queue, 100);
	assert_ptr_equal(last_fired, &probes[0]);
	assert_true(roce_event_is_queued(&probes[1].ev));
	assert_int_equal(queue.now_ps, 100);
	roce_event_queue_fini(&queue);
}

static void ps_from_ns__never_stays_never(void **state)
{
	(void)state;
	assert_int_equal(roce_ps_from_ns(4096), 4096000);
	assert_int_equal(roce_ps_from_ns(ROCE_NEVER), ROCE_PS_NEVER);
	assert_int_equal(roce_ps_from_ns(ROCE_EVENT_MAX_NS), ROCE_EVENT_MAX_NS * ROCE_PS_PER_NS);
	assert_int_equal(roce_ps_from_ns(ROCE_EVENT_MAX_NS + 1), ROCE_PS_NEVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queue__same_as_sorted_model),
		cmocka_unit_test(queue__far_comes_before_near_at_one_time),
		cmocka_unit_test(run_until__stands_where_it_was_stopped),
		cmocka_unit_test(schedule__past_is_now_and_never_is_cancel),
		cmocka_unit_test(run__fires_up_to_and_at_its_end),
		cmocka_unit_test(ps_from_ns__never_stays_never),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
