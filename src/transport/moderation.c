/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moderation of completion events: the queue decides what it holds back (wq), here is the time it
 * needs for that. A timer runs exactly while a queue holds something, so the last completion of a
 * burst is told of when the period is over, whatever happens after it.
 */
#include "transport/roles.h"

#include "base/marks.h"

void roce_cq_moderate(struct roce_transport *t, struct roce_cq *cq, uint32_t count,
		      roce_ns_t period_ns)
{
	cq->timer.kind = ROCE_TIMER_OF_CQ;
	cq->moderate_count = count;
	cq->moderate_ns = period_ns;
	roce_cq_tell_held(cq);
	roce_cq_moderate_follow(t, cq);
}

void roce_cq_leave(struct roce_transport *t, struct roce_cq *cq)
{
	roce_timer_heap_set(&t->timers, &cq->timer, ROCE_NEVER);
}

void roce_cq_moderate_follow(struct roce_transport *t, struct roce_cq *cq)
{
	roce_timer_heap_set(&t->timers, &cq->timer, cq->event_due);
}

void roce_cq_on_deadline(struct roce_transport *t, struct roce_cq *cq)
{
	ROCE_MARK(moderation_period_over);
	roce_cq_tell_held(cq);
	roce_cq_moderate_follow(t, cq);
}
