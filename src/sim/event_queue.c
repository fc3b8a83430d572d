/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The wheel covers ROCE_EVENT_BUCKETS buckets of 256 ps from now on; a bucket is a ring in order of
 * time, and mostly has one event or none. What is later goes into a four-ary heap with the keys
 * beside the pointers, and stays there: the next event is the earlier of the two firsts. At one
 * time that of the heap was scheduled before, since then the time was still beyond the wheel.
 *
 * Wider buckets make longer rings, narrower ones a shorter wheel; two microseconds hold 300 m of
 * cable.
 */
#include "sim/event_queue.h"

#include "base/assert.h"

#include <stdlib.h>

#define CHILDREN      4u
#define BUCKET_SHIFT  8u /* of picoseconds */
#define BUCKET_MASK   (ROCE_EVENT_BUCKETS - 1)
#define WORD_BITS     64u
#define WORDS	      (ROCE_EVENT_BUCKETS / WORD_BITS)
#define SUMMARY_WORDS (WORDS / WORD_BITS)
#define NOT_IN_HEAP   UINT32_MAX

void roce_event_queue_init(struct roce_event_queue *q)
{
	*q = (struct roce_event_queue){0};
}

void roce_event_queue_fini(struct roce_event_queue *q)
{
	free(q->heap);
	free(q->wheel);
	*q = (struct roce_event_queue){0};
}

void roce_event_init(struct roce_event *ev, void (*fire)(struct roce_event *ev))
{
	ev->at_ps = ROCE_PS_NEVER;
	ev->heap_index = NOT_IN_HEAP;
	ev->touch = NULL;
	ev->fire = fire;
}

/* ---- wheel ---- */

static void wheel_add(struct roce_event_queue *q, struct roce_event *ev)
{
	uint32_t index = (uint32_t)(ev->at_ps >> BUCKET_SHIFT) & BUCKET_MASK;
	struct roce_event_wheel *wheel = q->wheel;
	struct roce_event *first = wheel->buckets[index];
	struct roce_event *behind;

	q->near_count++;
	if (!first) {
		ev->next = ev->prev = ev;
		wheel->buckets[index] = ev;
		wheel->words[index / WORD_BITS] |= UINT64_C(1) << (index % WORD_BITS);
		wheel->summary[index / WORD_BITS / WORD_BITS] |= UINT64_C(1)
								 << (index / WORD_BITS % WORD_BITS);
		return;
	}
	behind = first->prev;
	while (behind->at_ps > ev->at_ps && behind != first)
		behind = behind->prev;
	if (behind == first && first->at_ps > ev->at_ps) {
		wheel->buckets[index] = ev;
		behind = first->prev;
	}
	ev->prev = behind;
	ev->next = behind->next;
	behind->next->prev = ev;
	behind->next = ev;
}

static void wheel_remove(struct roce_event_queue *q, struct roce_event *ev)
{
	uint32_t index = (uint32_t)(ev->at_ps >> BUCKET_SHIFT) & BUCKET_MASK;
	struct roce_event_wheel *wheel = q->wheel;
	uint32_t word = index / WORD_BITS;

	q->near_count--;
	if (ev->next != ev) {
		ev->next->prev = ev->prev;
		ev->prev->next = ev->next;
		if (wheel->buckets[index] == ev)
			wheel->buckets[index] = ev->next;
		return;
	}
	wheel->buckets[index] = NULL;
	wheel->words[word] &= ~(UINT64_C(1) << (index % WORD_BITS));
	if (!wheel->words[word])
		wheel->summary[word / WORD_BITS] &= ~(UINT64_C(1) << (word % WORD_BITS));
}

/* The first word that is not 0, from `word` on and around; there is one. */
static uint32_t find_word(const struct roce_event_wheel *wheel, uint32_t word)
{
	uint32_t at = word / WORD_BITS;
	uint64_t bits = wheel->summary[at] & (UINT64_MAX << (word % WORD_BITS));

	while (!bits) {
		at = (at + 1) % SUMMARY_WORDS;
		bits = wheel->summary[at];
	}
	return at * WORD_BITS + (uint32_t)__builtin_ctzll(bits);
}

static struct roce_event *wheel_first(const struct roce_event_queue *q)
{
	uint32_t index = (uint32_t)(q->now_ps >> BUCKET_SHIFT) & BUCKET_MASK;
	const struct roce_event_wheel *wheel = q->wheel;
	uint32_t word = index / WORD_BITS;
	uint64_t bits;

	if (!q->near_count)
		return NULL;
	bits = wheel->words[word] & (UINT64_MAX << (index % WORD_BITS));
	if (!bits) {
		word = find_word(wheel, (word + 1) % WORDS);
		bits = wheel->words[word];
	}
	return wheel->buckets[word * WORD_BITS + (uint32_t)__builtin_ctzll(bits)];
}

/* ---- heap ---- */

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

static void heap_add(struct roce_event_queue *q, struct roce_event *ev)
{
	if (q->count == q->capacity)
		grow(q);
	sift_up(q, q->count++, (struct roce_event_slot){ev->at_ps, q->next_order++, ev});
}

static void heap_remove(struct roce_event_queue *q, struct roce_event *ev)
{
	uint32_t index = ev->heap_index;
	struct roce_event_slot last = q->heap[--q->count];

	ev->heap_index = NOT_IN_HEAP;
	if (index == q->count)
		return;
	if (index > 0 && is_before(&last, &q->heap[(index - 1) / CHILDREN]))
		sift_up(q, index, last);
	else
		sift_down(q, index, last);
}

/* ---- both ---- */

static void take_out(struct roce_event_queue *q, struct roce_event *ev)
{
	if (q->first == ev)
		q->first = NULL;
	if (ev->heap_index == NOT_IN_HEAP)
		wheel_remove(q, ev);
	else
		heap_remove(q, ev);
	ev->at_ps = ROCE_PS_NEVER;
}

void roce_event_schedule(struct roce_event_queue *q, struct roce_event *ev, uint64_t at_ps)
{
	if (at_ps < q->now_ps)
		at_ps = q->now_ps;
	if (roce_event_is_queued(ev)) {
		if (ev->at_ps == at_ps)
			return;
		take_out(q, ev);
	}
	if (at_ps == ROCE_PS_NEVER)
		return;
	ev->at_ps = at_ps;
	if (q->first && at_ps < q->first->at_ps)
		q->first = ev;
	if ((at_ps >> BUCKET_SHIFT) - (q->now_ps >> BUCKET_SHIFT) >= ROCE_EVENT_BUCKETS) {
		heap_add(q, ev);
		return;
	}
	if (__builtin_expect(!q->wheel, 0)) {
		q->wheel = calloc(1, sizeof(*q->wheel));
		ROCE_ASSERT(q->wheel);
	}
	wheel_add(q, ev);
}

void roce_event_cancel(struct roce_event_queue *q, struct roce_event *ev)
{
	if (roce_event_is_queued(ev))
		take_out(q, ev);
}

static struct roce_event *first_of(const struct roce_event_queue *q)
{
	struct roce_event *near;

	if (q->first)
		return q->first;
	near = wheel_first(q);

	if (q->count && (!near || q->heap[0].at_ps <= near->at_ps))
		return q->heap[0].ev;
	return near;
}

static void fire(struct roce_event_queue *q, struct roce_event *ev)
{
	q->now_ps = ev->at_ps;
	take_out(q, ev);
	q->fired_count++;
	/* While this one runs, what the next one needs comes into the cache. */
	q->first = first_of(q);
	if (q->first)
		__builtin_prefetch(q->first->touch);
	ev->fire(ev);
}

uint64_t roce_event_queue_next_ps(const struct roce_event_queue *q)
{
	const struct roce_event *ev = first_of(q);

	return ev ? ev->at_ps : ROCE_PS_NEVER;
}

bool roce_event_queue_step(struct roce_event_queue *q)
{
	struct roce_event *ev = first_of(q);

	if (!ev)
		return false;
	fire(q, ev);
	return true;
}

void roce_event_queue_run(struct roce_event_queue *q, uint64_t until_ps)
{
	static const bool never;

	roce_event_queue_run_until(q, until_ps, &never);
	if (q->now_ps < until_ps)
		q->now_ps = until_ps;
}

void roce_event_queue_run_until(struct roce_event_queue *q, uint64_t until_ps, const bool *stop)
{
	struct roce_event *ev;

	while ((ev = first_of(q)) && ev->at_ps <= until_ps) {
		fire(q, ev);
		if (*stop)
			return;
	}
}
