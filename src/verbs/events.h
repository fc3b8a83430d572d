/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events on their way to the program: a queue of sources behind one pollable descriptor, used by
 * completion channels and by the asynchronous events of a context.
 *
 * The descriptor is an eventfd that is readable exactly while a source waits; a getter blocks in
 * read(), so the program's own O_NONBLOCK and its signal handlers work as on a kernel device.
 * Posting allocates nothing: a source is embedded in its object and remembers what waits.
 *
 * Its lock is taken inside the device lock, never around it.
 */
#ifndef ROCE_VERBS_EVENTS_H
#define ROCE_VERBS_EVENTS_H

#include "base/list.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Type of a counted event (a completion event); other types are 0 to 30 and coalesce. */
#define ROCE_EVENT_COUNTED 31u

enum roce_event_owner {
	ROCE_EVENT_OF_PORT,
	ROCE_EVENT_OF_QP,
	ROCE_EVENT_OF_CQ,
	ROCE_EVENT_OF_SRQ,
};

struct roce_event_source {
	struct roce_list link;	/* queue->ready while something waits */
	uint32_t pending_types; /* bit per coalescing type */
	uint32_t pending_count; /* counted events */
	uint32_t delivered;	/* handed to the program */
	uint32_t acked;		/* given back by it; both run freely */
	enum roce_event_owner kind;
	void *owner; /* the program-side object */
};

struct roce_events {
	pthread_mutex_t lock;
	pthread_cond_t acked;
	struct roce_list ready;
	int fd;
	bool is_token_out; /* the eventfd's count is 1, or a getter has just taken it */
};

/* 0 or -errno. */
int roce_events_init(struct roce_events *q);
/* The same without a descriptor: events are kept and coalesce, and nobody can wait for them. For
 * devices that nobody waits on, of which a simulation has thousands. */
void roce_events_init_mute(struct roce_events *q);
void roce_events_fini(struct roce_events *q);

void roce_event_source_init(struct roce_event_source *src, enum roce_event_owner kind, void *owner);

/* `type` below ROCE_EVENT_COUNTED waits at most once; ROCE_EVENT_COUNTED as often as posted. */
void roce_events_post(struct roce_events *q, struct roce_event_source *src, uint32_t type);

/* For two types that say the opposite of each other, each with a source of its own, `src` now and
 * `opposite` before: the last one that waits is always how things are. When `src` waits already
 * (then `opposite` came after it, and the program has seen neither), both become one. */
void roce_events_post_state(struct roce_events *q, struct roce_event_source *src,
			    struct roce_event_source *opposite, uint32_t type);

/* Takes the next event, blocking unless the descriptor is O_NONBLOCK. 0, -EAGAIN, -EINTR. */
int roce_events_get(struct roce_events *q, struct roce_event_source **out_src, uint32_t *out_type);

void roce_event_source_ack(struct roce_events *q, struct roce_event_source *src, uint32_t count);

/* Forgets what waits, then waits until everything delivered has been acknowledged. The caller has
 * made sure that nothing is posted any more and holds no lock. */
void roce_event_source_retire(struct roce_events *q, struct roce_event_source *src);

#endif
