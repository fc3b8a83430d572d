/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Earliest-deadline queue: a binary heap of pointers in an array that the caller owns and sizes
 * once, so arming a timer never allocates. A timer lives inside its object (a QP's deadline) and
 * knows its place, so moving or removing it is O(log n) without a search.
 *
 * Invariant: a timer is in the heap exactly when its deadline is not ROCE_NEVER. Ties leave in no
 * promised order, but the same sequence of calls always gives the same order.
 */
#ifndef ROCE_BASE_TIMER_HEAP_H
#define ROCE_BASE_TIMER_HEAP_H

#include "base/ns.h"

#include <stddef.h>
#include <stdint.h>

struct roce_timer {
	roce_ns_t deadline;  /* ROCE_NEVER: not armed */
	uint32_t heap_index; /* place in items[] while armed */
	uint8_t kind;	     /* the owner's: what the timer is a part of */
};

struct roce_timer_heap {
	struct roce_timer **items; /* `capacity` slots of the caller; [0] is the earliest */
	uint32_t count;
	uint32_t capacity; /* arming more timers than this is a bug of the caller (asserted) */
};

static inline void roce_timer_init(struct roce_timer *t)
{
	t->deadline = ROCE_NEVER;
	t->heap_index = 0;
	t->kind = 0;
}

static inline void roce_timer_heap_init(struct roce_timer_heap *heap, struct roce_timer **items,
					uint32_t capacity)
{
	heap->items = items;
	heap->count = 0;
	heap->capacity = capacity;
}

/* Arms, moves or (with ROCE_NEVER) disarms a timer that roce_timer_init() has seen. */
void roce_timer_heap_set(struct roce_timer_heap *heap, struct roce_timer *timer,
			 roce_ns_t deadline);

/* The earliest armed timer, or NULL. It stays armed: the caller sets its next deadline. */
static inline struct roce_timer *roce_timer_heap_min(const struct roce_timer_heap *heap)
{
	return heap->count ? heap->items[0] : NULL;
}

/* The earliest deadline, ROCE_NEVER when nothing is armed. */
static inline roce_ns_t roce_timer_heap_deadline(const struct roce_timer_heap *heap)
{
	return heap->count ? heap->items[0]->deadline : ROCE_NEVER;
}

#endif
