/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sifting of the timer heap. Every move of an item writes its heap_index, the only link back.
 */
#include "base/timer_heap.h"

#include "base/assert.h"
#include "base/marks.h"

static void place(struct roce_timer_heap *heap, uint32_t index, struct roce_timer *timer)
{
	heap->items[index] = timer;
	timer->heap_index = index;
}

/* Moves `timer` from the hole at `index` towards the root, to where it belongs. */
static void sift_up(struct roce_timer_heap *heap, uint32_t index, struct roce_timer *timer)
{
	while (index > 0) {
		uint32_t parent = (index - 1) / 2;

		if (heap->items[parent]->deadline <= timer->deadline)
			break;
		place(heap, index, heap->items[parent]);
		index = parent;
	}
	place(heap, index, timer);
}

/* The same towards the leaves. */
static void sift_down(struct roce_timer_heap *heap, uint32_t index, struct roce_timer *timer)
{
	for (;;) {
		uint64_t child = (uint64_t)index * 2 + 1;

		if (child >= heap->count)
			break;
		if (child + 1 < heap->count &&
		    heap->items[child + 1]->deadline < heap->items[child]->deadline)
			child++;
		if (timer->deadline <= heap->items[child]->deadline)
			break;
		place(heap, index, heap->items[child]);
		index = (uint32_t)child;
	}
	place(heap, index, timer);
}

static void remove_timer(struct roce_timer_heap *heap, struct roce_timer *timer)
{
	uint32_t index = timer->heap_index;
	struct roce_timer *last = heap->items[--heap->count];

	timer->deadline = ROCE_NEVER;
	if (last == timer)
		return;
	if (index > 0 && last->deadline < heap->items[(index - 1) / 2]->deadline) {
		ROCE_MARK(timer_heap_last_rises);
		sift_up(heap, index, last);
	} else {
		sift_down(heap, index, last);
	}
}

void roce_timer_heap_set(struct roce_timer_heap *heap, struct roce_timer *timer, roce_ns_t deadline)
{
	roce_ns_t before = timer->deadline;

	if (deadline == before)
		return;
	if (before == ROCE_NEVER) {
		ROCE_ASSERT(heap->count < heap->capacity);
		timer->deadline = deadline;
		sift_up(heap, heap->count++, timer);
		return;
	}
	ROCE_ASSERT_SLOW(heap->items[timer->heap_index] == timer);
	if (deadline == ROCE_NEVER) {
		remove_timer(heap, timer);
		return;
	}
	timer->deadline = deadline;
	if (deadline < before)
		sift_up(heap, timer->heap_index, timer);
	else
		sift_down(heap, timer->heap_index, timer);
}
