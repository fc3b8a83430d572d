/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The completion queue against what verbs promise: order, one-shot events, send slots that come
 * back by polling, overrun for good, and entries of one QP taken out of the middle.
 */
#include "wq/wq.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#define DEPTH 4u

static struct roce_cqe ring[DEPTH];
static struct roce_cq cq;
static uint32_t events;

static void on_event(struct roce_cq *c)
{
	assert_ptr_equal(c->owner, ring);
	events++;
}

static void start(void)
{
	roce_cq_init(&cq, ring, DEPTH, on_event, ring);
	events = 0;
}

static bool push(uint64_t wr_id, const void *qp, uint8_t status, bool is_solicited)
{
	const struct roce_cqe cqe = {.wr_id = wr_id, .qp = qp, .status = status};

	return roce_cq_push(&cq, &cqe, is_solicited);
}

static uint64_t poll_one(void)
{
	struct roce_cqe cqe;

	return roce_cq_poll(&cq, &cqe, 1) ? cqe.wr_id : 0;
}

static void poll__in_order_across_the_wrap(void **state)
{
	uint64_t next = 1;
	uint64_t polled = 1;

	(void)state;
	start();
	cq.head = cq.tail = UINT32_MAX - 2; /* indexes run freely */
	for (int round = 0; round < 10; round++) {
		while (cq.tail - cq.head < DEPTH)
			assert_true(push(next++, NULL, ROCE_WC_SUCCESS, false));
		for (int i = 0; i < 3; i++)
			assert_int_equal(poll_one(), polled++);
	}
	assert_false(cq.is_overrun);
}

static void rewind__only_an_empty_queue_begins_anew(void **state)
{
	(void)state;
	start();
	assert_true(push(1, NULL, ROCE_WC_SUCCESS, false));
	assert_true(push(2, NULL, ROCE_WC_SUCCESS, false));
	assert_int_equal(poll_one(), 1);
	roce_cq_rewind(&cq);
	assert_int_equal(cq.head, 1);
	assert_int_equal(poll_one(), 2);
	roce_cq_rewind(&cq);
	assert_int_equal(cq.head, 0);
	assert_true(roce_cq_is_empty(&cq));
	assert_true(push(3, NULL, ROCE_WC_SUCCESS, false));
	assert_int_equal(poll_one(), 3);
}

static void poll__takes_no_more_than_asked(void **state)
{
	struct roce_cqe cqes[DEPTH];

	(void)state;
	start();
	push(1, NULL, ROCE_WC_SUCCESS, false);
	push(2, NULL, ROCE_WC_SUCCESS, false);
	assert_int_equal(roce_cq_poll(&cq, cqes, 0), 0);
	assert_int_equal(roce_cq_poll(&cq, cqes, 1), 1);
	assert_int_equal(roce_cq_poll(&cq, cqes, DEPTH), 1);
	assert_int_equal(cqes[0].wr_id, 2);
	assert_true(roce_cq_is_empty(&cq));
	assert_int_equal(roce_cq_poll(&cq, cqes, DEPTH), 0);
}

/* The slot of a completion, and of all before it, is free once the program has polled it. */
static void poll__reclaims_send_slots(void **state)
{
	uint64_t storage[256];
	struct roce_send_queue sq;
	struct roce_cqe cqe = {.sq = &sq, .sq_reclaim = 3};

	(void)state;
	start();
	assert_true(roce_send_queue_bytes(4, 1, 0) <= sizeof(storage));
	roce_send_queue_init(&sq, storage, 4, 1, 0);
	sq.posted = 4;
	assert_true(roce_send_queue_is_full(&sq));
	roce_cq_push(&cq, &cqe, false);
	assert_true(roce_send_queue_is_full(&sq));
	poll_one();
	assert_int_equal(sq.reclaimed, 3);
	assert_false(roce_send_queue_is_full(&sq));
}

static void push__overrun_is_for_good(void **state)
{
	(void)state;
	start();
	for (uint64_t i = 1; i <= DEPTH; i++)
		assert_true(push(i, NULL, ROCE_WC_SUCCESS, false));
	assert_false(cq.is_overrun);
	assert_false(push(9, NULL, ROCE_WC_SUCCESS, false));
	assert_true(cq.is_overrun);
	assert_int_equal(poll_one(), 1);
	assert_false(push(10, NULL, ROCE_WC_SUCCESS, false)); /* room or not */
	assert_int_equal(poll_one(), 2);
}

static void arm__one_shot(void **state)
{
	(void)state;
	start();
	push(1, NULL, ROCE_WC_SUCCESS, true);
	assert_int_equal(events, 0); /* not armed */
	roce_cq_arm(&cq, false);
	assert_int_equal(events, 0); /* what is there already does not fire */
	push(2, NULL, ROCE_WC_SUCCESS, false);
	assert_int_equal(events, 1);
	push(3, NULL, ROCE_WC_SUCCESS, false);
	assert_int_equal(events, 1);
}

static void arm__solicited_only(void **state)
{
	(void)state;
	start();
	roce_cq_arm(&cq, true);
	push(1, NULL, ROCE_WC_SUCCESS, false);
	assert_int_equal(events, 0);
	push(2, NULL, ROCE_WC_SUCCESS, true);
	assert_int_equal(events, 1);
	roce_cq_arm(&cq, true);
	push(3, NULL, ROCE_WC_WR_FLUSH_ERR, false); /* an error counts as solicited */
	assert_int_equal(events, 2);
}

/* The stronger wish stays. */
static void arm__solicited_does_not_weaken_any(void **state)
{
	(void)state;
	start();
	roce_cq_arm(&cq, false);
	roce_cq_arm(&cq, true);
	push(1, NULL, ROCE_WC_SUCCESS, false);
	assert_int_equal(events, 1);
	roce_cq_arm(&cq, true);
	roce_cq_arm(&cq, false);
	push(2, NULL, ROCE_WC_SUCCESS, false);
	assert_int_equal(events, 2);
}

static void clean__takes_one_qp_out(void **state)
{
	int a, b;

	(void)state;
	start();
	cq.head = cq.tail = UINT32_MAX - 1;
	push(1, &a, ROCE_WC_SUCCESS, false);
	push(2, &b, ROCE_WC_SUCCESS, false);
	push(3, &a, ROCE_WC_SUCCESS, false);
	push(4, &b, ROCE_WC_SUCCESS, false);
	roce_cq_clean(&cq, &a);
	assert_int_equal(poll_one(), 2);
	push(5, &a, ROCE_WC_SUCCESS, false);
	assert_int_equal(poll_one(), 4);
	assert_int_equal(poll_one(), 5);
	assert_true(roce_cq_is_empty(&cq));
}

/* ---- moderation ---- */

static void push_at(uint64_t now, uint8_t status)
{
	const struct roce_cqe cqe = {.status = status, .timestamp_ns = now};

	assert_true(roce_cq_push(&cq, &cqe, false));
}

static void moderate__one_event_for_count(void **state)
{
	(void)state;
	start();
	cq.moderate_count = 3;
	cq.moderate_ns = 1000;
	push_at(1, ROCE_WC_SUCCESS); /* not armed: does not count */
	assert_int_equal(cq.event_due, ROCE_NEVER);
	roce_cq_arm(&cq, false);
	push_at(10, ROCE_WC_SUCCESS);
	assert_int_equal(cq.event_due, 1010);
	push_at(20, ROCE_WC_SUCCESS);
	assert_int_equal(cq.event_due, 1010); /* of the first */
	assert_int_equal(events, 0);
	while (poll_one() || !roce_cq_is_empty(&cq))
		;
	push_at(30, ROCE_WC_SUCCESS);
	assert_int_equal(events, 1);
	assert_int_equal(cq.event_due, ROCE_NEVER);
	assert_int_equal(cq.arm, ROCE_CQ_DISARMED);
}

static void moderate__failure_and_full_queue_tell_at_once(void **state)
{
	(void)state;
	start();
	cq.moderate_count = 100;
	cq.moderate_ns = 1000;
	roce_cq_arm(&cq, false);
	push_at(1, ROCE_WC_SUCCESS);
	push_at(2, ROCE_WC_WR_FLUSH_ERR);
	assert_int_equal(events, 1);
	roce_cq_arm(&cq, false);
	push_at(3, ROCE_WC_SUCCESS);
	assert_int_equal(events, 1);
	push_at(4, ROCE_WC_SUCCESS); /* the last that fits */
	assert_int_equal(events, 2);
	assert_false(cq.is_overrun);
}

static void moderate__either_zero_is_none(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		start();
		cq.moderate_count = i == 0 ? 0 : 8;
		cq.moderate_ns = i == 1 ? 0 : 1000;
		roce_cq_arm(&cq, false);
		push_at(1, ROCE_WC_SUCCESS);
		assert_int_equal(events, i < 2);
	}
	assert_int_equal(cq.held_count, 1);
	roce_cq_tell_held(&cq);
	assert_int_equal(events, 1);
	roce_cq_tell_held(&cq);
	assert_int_equal(events, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(poll__in_order_across_the_wrap),
		cmocka_unit_test(rewind__only_an_empty_queue_begins_anew),
		cmocka_unit_test(poll__takes_no_more_than_asked),
		cmocka_unit_test(poll__reclaims_send_slots),
		cmocka_unit_test(push__overrun_is_for_good),
		cmocka_unit_test(arm__one_shot),
		cmocka_unit_test(arm__solicited_only),
		cmocka_unit_test(arm__solicited_does_not_weaken_any),
		cmocka_unit_test(clean__takes_one_qp_out),
		cmocka_unit_test(moderate__one_event_for_count),
		cmocka_unit_test(moderate__failure_and_full_queue_tell_at_once),
		cmocka_unit_test(moderate__either_zero_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
