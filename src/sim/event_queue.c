/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A four-ary heap with the keys beside the pointers, so that sifting touches no event but the one
 * that moves (to tell it its new place).
 */
#include "sim/event_queue.h"

#include "base/assert.h"

#include <stdlib.h>

#define CHILDREN 4u

void roce_event_queue_init(struct roce_event_queue *q)
{
	*q = (struct roce_event_queue){0};
}

void roce_event_queue_fini(struct roce_event_queue *q)
{
	free(q->heap);
	*q = (struct roce_event_queue){0};
}

void roce_event_init(struct roce_event *ev, void (*fire)(struct roce_event *ev))
{
	ev->heap_index = ROCE_EVENT_IDLE;
	ev->fire = fire;
}

static bool is_before(const struct roce_event_slot *a, const struct roce_event_slot *b)
{
	return a->at_ps != b->at_ps ? a->at_ps < b->at_ps : a->order < b->order;
}

static void place(struct roce_event_queue *q, uint32_t index, struct roce_event_slot slot)
{
	q->heap[index] = slot;
	slot.ev->heap_index = index;
}

static void sift_up(struct roce_event_queue *q, uint32_t index, struct roce_event_slot slot)
{
	while (index > 0) {
		uint32_t parent = (index - 1) / CHILDREN;

		if (is_before(&q->heap[parent], &slot))
			break;
		place(q, index, q->heap[parent]);
		index = parent;
	}
	place(q, index, slot);
}

static void sift_down(struct roce_event_queue *q, uint32_t index, struct roce_event_slot slot)
{
	for (;;) {
		uint32_t first = index * CHILDREN + 1;
		uint32_t best = first;

		if (first >= q->count)
			break;
		for (uint32_t i = first + 1; i < first + CHILDREN && i < q->count; i++)
			if (is_before(&q->heap[i], &q->heap[best]))
				best = i;
		if (is_before(&slot, &q->heap[best]))
			break;
		place(q, index, q->heap[best]);
		index = best;
	}
	place(q, index, slot);
}

static void grow(struct roce_event_queue *q)
{
	uint32_t capacity = q->capacity ? q->capacity * 2 : 64;
	struct roce_event_slot *heap = realloc(q->heap, capacity * sizeof(*heap));

	ROCE_ASSERT(heap); /* a simulation without memory has no result to give */
	q->heap = heap;
	q->capacity = capacity;
}

static void remove_at(struct roce_event_queue *q, uint32_t index)
{
	struct roce_event_slot last = q->heap[--q->count];

	q->heap[index].ev->heap_index = ROCE_EVENT_IDLE;
	if (index == q->count)
		return;
	if (index > 0 && is_before(&last, &q->heap[(index - 1) / CHILDREN]))
		sift_up(q, index, last);
	else
		sift_down(q, index, last);
}

void roce_event_schedule(struct roce_event_queue *q, struct roce_event *ev, uint64_t at_ps)
{
	if (roce_event_is_queued(ev)) {
		if (q->heap[ev->heap_index].at_ps == at_ps)
			return;
		remove_at(q, ev->heap_index);
	}
	if (at_ps == ROCE_PS_NEVER)
		return;
	if (at_ps < q->now_ps)
		at_ps = q->now_ps;
	if (q->count == q->capacity)
		grow(q);
	sift_up(q, q->count++, (struct roce_event_slot){at_ps, q->next_order++, ev});
}

void roce_event_cancel(struct roce_event_queue *q, struct roce_event *ev)
{
	if (roce_event_is_queued(ev))
		remove_at(q, ev->heap_index);
}

bool roce_event_queue_step(struct roce_event_queue *q)
{
	struct roce_event_slot slot;

	if (!q->count)
		return false;
	slot = q->heap[0];
	remove_at(q, 0);
	q->now_ps = slot.at_ps;
	q->fired_count++;
	slot.ev->fire(slot.ev);
	return true;
}

void roce_event_queue_run(struct roce_event_queue *q, uint64_t until_ps)
{
	while (q->count && q->heap[0].at_ps <= until_ps)
		roce_event_queue_step(q);
	if (q->now_ps < until_ps)
		q->now_ps = until_ps;
}
