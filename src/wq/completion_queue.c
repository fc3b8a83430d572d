/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The completion queue: a ring of CQEs, armed for at most one event at a time. Polling a send
 * completion gives its slot, and those of unsignalled requests before it, back to the send queue
 * (verbs: an SQ slot is free once its completion, or a later one, has been polled).
 */
#include "wq/wq.h"

#include "base/assert.h"

static struct roce_cqe *entry_at(const struct roce_cq *cq, uint32_t index)
{
	return &cq->ring[index & (cq->depth - 1)];
}

size_t roce_cq_bytes(uint32_t depth)
{
	return (size_t)depth * sizeof(struct roce_cqe);
}

void roce_cq_init(struct roce_cq *cq, void *storage, uint32_t depth,
		  void (*on_event)(struct roce_cq *), void *owner)
{
	ROCE_ASSERT(depth && (depth & (depth - 1)) == 0);
	*cq = (struct roce_cq){.ring = storage,
			       .depth = depth,
			       .on_event = on_event,
			       .owner = owner,
			       .event_due = ROCE_NEVER};
	roce_timer_init(&cq->timer);
}

static void tell(struct roce_cq *cq)
{
	cq->arm = ROCE_CQ_DISARMED;
	cq->held_count = 0;
	cq->event_due = ROCE_NEVER;
	cq->on_event(cq);
}

void roce_cq_tell_held(struct roce_cq *cq)
{
	if (cq->held_count)
		tell(cq);
}

/* Failed completions count as solicited. */
static bool is_awaited(const struct roce_cq *cq, const struct roce_cqe *cqe, bool is_solicited)
{
	return cq->arm == ROCE_CQ_ARMED_ANY || (cq->arm == ROCE_CQ_ARMED_SOLICITED &&
						(is_solicited || cqe->status != ROCE_WC_SUCCESS));
}

/* May the event for an awaited entry wait for more? Not for a failure, and not when no more fit. */
static bool may_hold(const struct roce_cq *cq, const struct roce_cqe *cqe)
{
	return cq->held_count + 1 < cq->moderate_count && cq->moderate_ns &&
	       cqe->status == ROCE_WC_SUCCESS && cq->tail - cq->head < cq->depth;
}

bool roce_cq_push(struct roce_cq *cq, const struct roce_cqe *cqe, bool is_solicited)
{
	if (cq->is_overrun || cq->tail - cq->head >= cq->depth) {
		cq->is_overrun = true;
		return false;
	}
	*entry_at(cq, cq->tail++) = *cqe;
	if (!is_awaited(cq, cqe, is_solicited))
		return true;
	if (!may_hold(cq, cqe))
		tell(cq);
	else if (cq->held_count++ == 0)
		cq->event_due = cqe->timestamp_ns + cq->moderate_ns;
	return true;
}

uint32_t roce_cq_poll(struct roce_cq *cq, struct roce_cqe *out, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && cq->head != cq->tail) {
		const struct roce_cqe *cqe = entry_at(cq, cq->head++);

		if (cqe->sq)
			cqe->sq->reclaimed = cqe->sq_reclaim;
		out[n++] = *cqe;
	}
	return n;
}

void roce_cq_arm(struct roce_cq *cq, bool solicited_only)
{
	/* Arming for solicited ones must not weaken an earlier request for any. */
	if (!solicited_only)
		cq->arm = ROCE_CQ_ARMED_ANY;
	else if (cq->arm == ROCE_CQ_DISARMED)
		cq->arm = ROCE_CQ_ARMED_SOLICITED;
}

void roce_cq_clean(struct roce_cq *cq, const void *qp)
{
	uint32_t to = cq->head;

	for (uint32_t from = cq->head; from != cq->tail; from++) {
		const struct roce_cqe *cqe = entry_at(cq, from);

		if (cqe->qp != qp)
			*entry_at(cq, to++) = *cqe;
	}
	cq->tail = to;
}

void roce_cq_disown(struct roce_cq *cq, const void *qp)
{
	for (uint32_t i = cq->head; i != cq->tail; i++)
		if (entry_at(cq, i)->qp == qp)
			entry_at(cq, i)->qp = NULL;
}
