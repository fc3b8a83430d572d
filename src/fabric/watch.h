/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What polls: the PFC watchdogs of the switches, and the search for deadlocks. Their events go on
 * as long as the fabric runs, so a fabric where only they are left has nothing more to do.
 */
#ifndef ROCE_FABRIC_WATCH_H
#define ROCE_FABRIC_WATCH_H

#include "fabric/state.h"

/* One class of one port, as the last poll found it. */
struct roce_fabric_watched {
	uint64_t sent;	    /* frames so far */
	uint64_t paused_ps; /* so far */
	uint64_t for_ps;    /* how long it looks like a storm; stormed: like none */
};

struct roce_fabric_watch {
	struct roce_fabric_watch *next;
	struct roce_event ev;
	struct roce_fabric *f;
	struct roce_fabric_node *node;
	struct roce_fabric_watched *classes; /* by port and class */
};

/* The next look at whether anything moves; f->deadlock. */
struct roce_fabric_deadlock {
	struct roce_event ev;
	struct roce_fabric *f;
	uint64_t delivered;		 /* at the last look */
	uint32_t still_count;		 /* looks in a row that found nothing delivered */
	bool is_told;			 /* of the deadlock that holds */
	struct roce_fabric_cycle *found; /* of the last that was told */
	uint32_t found_count;
	uint8_t *marks; /* by port and priority, during a search */
	struct roce_fabric_cycle *path;
	uint32_t path_room;
};

/* ---- watchdog.c ---- */

int roce_fabric_watchdogs_start(struct roce_fabric *f);
void roce_fabric_watchdogs_free(struct roce_fabric *f);

/* ---- deadlock.c ---- */

int roce_fabric_deadlock_start(struct roce_fabric *f);
void roce_fabric_deadlock_free(struct roce_fabric *f);

/* Ends the run when nothing is left but what polls, and flows still wait. */
static inline void roce_fabric_look_for_idle(struct roce_fabric *f)
{
	if (!f->open_count || f->queue.near_count + f->queue.count > f->polling_count)
		return;
	f->end = ROCE_FABRIC_END_IDLE;
	f->is_stopped = true;
}

#endif
