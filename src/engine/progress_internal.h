/* SPDX-License-Identifier: BSD-2-Clause */
/* What the program's side and the thread's side of progress share. */
#ifndef ROCE_ENGINE_PROGRESS_INTERNAL_H
#define ROCE_ENGINE_PROGRESS_INTERNAL_H

#include "engine/progress.h"
#include "transport/qp.h"

/* How soon the thread notices that polling has stopped; polls put its look off at half of this. */
#define PROGRESS_LOOK_NS (400 * ROCE_NS_PER_US)

/* data.u32 of an epoll entry */
enum progress_source {
	PROGRESS_SOCKET,
	PROGRESS_TIMER,
	PROGRESS_STOP,
	PROGRESS_LEASE,
};

void roce_progress_set_armed(struct roce_progress *p, bool armed);
/* Brings the thread's timer forward to `when`; never puts it off. */
void roce_progress_wake_at(struct roce_progress *p, roce_ns_t when);
/* For the next look, or when nobody polls for the next deadline. */
void roce_progress_wake_for_next(struct roce_progress *p, roce_ns_t now);
/* Returns the time that it was in the end: `now`, or later. */
roce_ns_t roce_progress_run_timers(struct roce_progress *p, roce_ns_t now);

#endif
