/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues and completion channels. A queue that is armed posts one event to its channel
 * with the first matching completion; polling an empty queue makes the engine look at the network.
 */
#ifndef ROCE_VERBS_CQ_VERBS_H
#define ROCE_VERBS_CQ_VERBS_H

#include "verbs/allocator.h"
#include "verbs/context.h"

struct roce_comp_channel {
	struct roce_context *ctx;
	struct roce_events events;
	uint32_t cq_count; /* queues that report here; device lock */
};

struct roce_verbs_cq {
	struct roce_cq cq;
	struct roce_context *ctx;
	struct roce_list link;		   /* ctx->cqs */
	struct roce_comp_channel *channel; /* or NULL */
	struct roce_event_source comp_events;
	struct roce_event_source async_events;
	uint32_t qp_count; /* send and receive queues that report here */
	struct roce_block storage;
	struct roce_allocator from; /* of all its storage; read without the lock */
};

/* 0 or -errno: no descriptor to be had. */
int roce_comp_channel_init(struct roce_comp_channel *channel, struct roce_context *ctx);
/* -EBUSY while queues report to it. */
int roce_comp_channel_fini(struct roce_comp_channel *channel);
/* The queue that fired, after blocking as roce_events_get(); its owner is the program's. */
int roce_comp_channel_get(struct roce_comp_channel *channel, struct roce_verbs_cq **out_cq);

/* `min_depth` entries or more; cq.depth tells. -EINVAL: 0 or too many; -ENOMEM. `owner` is the
 * program-side object, found as comp_events.owner. `allocator` may be NULL. */
int roce_verbs_cq_init(struct roce_verbs_cq *vcq, struct roce_context *ctx, uint32_t min_depth,
		       struct roce_comp_channel *channel, const struct roce_allocator *allocator,
		       void *owner);
/* -EBUSY while queue pairs use it; waits until its events have been acknowledged. */
int roce_verbs_cq_fini(struct roce_verbs_cq *vcq);
/* -EINVAL if what waits in the queue does not fit. */
int roce_verbs_cq_resize(struct roce_verbs_cq *vcq, uint32_t min_depth);

/* One event for `count` completions, none later than `period_us` after its completion came; either
 * 0: an event for the first. */
void roce_verbs_cq_moderate(struct roce_verbs_cq *vcq, uint16_t count, uint16_t period_us);

/* Entries taken, or -EIO when an overrun queue has none left. */
int roce_verbs_cq_poll(struct roce_verbs_cq *vcq, struct roce_cqe *out, uint32_t max);
void roce_verbs_cq_arm(struct roce_verbs_cq *vcq, bool solicited_only);

/* Out of the transport; device lock held. */
void roce_verbs_cq_detach(struct roce_verbs_cq *vcq);

void roce_verbs_cq_on_async_event(struct roce_verbs_cq *vcq, enum roce_async_event event);

#endif
