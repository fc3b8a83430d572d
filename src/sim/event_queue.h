/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtual time of the simulator: events in picoseconds, fired in order of time and, at one time, in
 * the order in which they were scheduled. So a run is a function of its seed alone.
 *
 * An event lives inside the object that it is about and is queued at most once: scheduling it again
 * moves it. The next two microseconds are a wheel of short buckets, found by a bitmap, since nearly
 * all events of a network are that near; later ones wait in a heap and fire from there.
 */
#ifndef ROCE_SIM_EVENT_QUEUE_H
#define ROCE_SIM_EVENT_QUEUE_H

#include "base/ns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_PS_PER_NS	   UINT64_C(1000)
#define ROCE_PS_NEVER	   UINT64_MAX
#define ROCE_EVENT_MAX_NS  (UINT64_MAX / ROCE_PS_PER_NS) /* later deadlines never come: 213 days */

#define ROCE_EVENT_BUCKETS 8192u /* of the wheel */

struct roce_event {
	uint64_t at_ps;		 /* ROCE_PS_NEVER: not queued */
	struct roce_event *next; /* in its bucket, a ring */
	struct roce_event *prev;
	void (*fire)(struct roce_event *ev); /* the event is not queued while it runs */
	const void *touch;		     /* what it will look at first, or NULL: a hint */
	uint32_t heap_index;		     /* in the heap, or none */
};

struct roce_event_slot {
	uint64_t at_ps;
	uint64_t order;
	struct roce_event *ev;
};

struct roce_event_wheel {
	uint64_t summary[ROCE_EVENT_BUCKETS / 64 / 64]; /* words that are not 0 */
	uint64_t words[ROCE_EVENT_BUCKETS / 64];	/* buckets that are not empty */
	struct roce_event *buckets[ROCE_EVENT_BUCKETS]; /* the earliest of each */
};

struct roce_event_queue {
	uint64_t now_ps;
	uint64_t fired_count;
	uint64_t next_order;
	struct roce_event *first;	/* the next event, or NULL: not looked for yet */
	struct roce_event_wheel *wheel; /* made with the first event */
	uint32_t near_count;		/* events in the wheel */
	struct roce_event_slot *heap;	/* four children to a node: shallower, one line a node */
	uint32_t count;			/* in the heap */
	uint32_t capacity;
};

void roce_event_queue_init(struct roce_event_queue *q);
void roce_event_queue_fini(struct roce_event_queue *q);

void roce_event_init(struct roce_event *ev, void (*fire)(struct roce_event *ev));

static inline bool roce_event_is_queued(const struct roce_event *ev)
{
	return ev->at_ps != ROCE_PS_NEVER;
}

/* `at_ps` before now means now; ROCE_PS_NEVER means cancel. */
void roce_event_schedule(struct roce_event_queue *q, struct roce_event *ev, uint64_t at_ps);
void roce_event_cancel(struct roce_event_queue *q, struct roce_event *ev);

/* Time of the next event, ROCE_PS_NEVER when there is none. */
uint64_t roce_event_queue_next_ps(const struct roce_event_queue *q);

/* Advances to the next event and fires it; false when there is none. */
bool roce_event_queue_step(struct roce_event_queue *q);

/* Fires everything up to and including `until_ps`, then stands there. */
void roce_event_queue_run(struct roce_event_queue *q, uint64_t until_ps);

/* Fires the same, but time stands at the last event, and it returns behind one that has set *stop.
 */
void roce_event_queue_run_until(struct roce_event_queue *q, uint64_t until_ps, const bool *stop);

/* The core's clock: rounded down. */
static inline roce_ns_t roce_event_queue_now_ns(const struct roce_event_queue *q)
{
	return q->now_ps / ROCE_PS_PER_NS;
}

/* When a deadline of the core has come: exact, since its nanoseconds are whole. */
static inline uint64_t roce_ps_from_ns(roce_ns_t ns)
{
	return ns > ROCE_EVENT_MAX_NS ? ROCE_PS_NEVER : ns * ROCE_PS_PER_NS;
}

#endif
