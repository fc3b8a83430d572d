/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues: storage, polling, arming, and the events that arming leads to. Polling is the
 * program's main way to drive the engine, so an empty queue is looked at again after one round of
 * progress.
 */
#include "verbs/cq_verbs.h"

#include "base/pow2.h"
#include "verbs/limits.h"
#include "verbs/refuse.h"

#include <errno.h>

/* ---- channels ---- */

int roce_comp_channel_init(struct roce_comp_channel *channel, struct roce_context *ctx)
{
	*channel = (struct roce_comp_channel){.ctx = ctx};
	return roce_events_init(&channel->events);
}

int roce_comp_channel_fini(struct roce_comp_channel *channel)
{
	struct roce_device *dev = channel->ctx->dev;
	uint32_t users;

	pthread_mutex_lock(&dev->lock);
	users = channel->cq_count;
	pthread_mutex_unlock(&dev->lock);
	if (users)
		return roce_refuse(EBUSY, "destroy_comp_channel: %u completion queues use it",
				   users);
	roce_events_fini(&channel->events);
	return 0;
}

int roce_comp_channel_get(struct roce_comp_channel *channel, struct roce_verbs_cq **out_cq)
{
	struct roce_device *dev = channel->ctx->dev;
	struct roce_event_source *src;
	uint32_t type;
	int err;

	/* We may block: from here on the progress thread has to look at the network. */
	pthread_mutex_lock(&dev->lock);
	dev->env->arm(dev->env_ctx);
	pthread_mutex_unlock(&dev->lock);
	err = roce_events_get(&channel->events, &src, &type);
	if (err)
		return err;
	*out_cq = roce_container_of(src, struct roce_verbs_cq, comp_events);
	return 0;
}

/* ---- queues ---- */

static void on_comp_event(struct roce_cq *cq)
{
	struct roce_verbs_cq *vcq = cq->owner;

	if (vcq->channel)
		roce_events_post(&vcq->channel->events, &vcq->comp_events, ROCE_EVENT_COUNTED);
}

void roce_verbs_cq_on_async_event(struct roce_verbs_cq *vcq, enum roce_async_event event)
{
	roce_events_post(&vcq->ctx->async, &vcq->async_events, event);
}

static int check_depth(const char *call, uint32_t min_depth)
{
	if (min_depth == 0 || min_depth > ROCE_MAX_CQE)
		return roce_refuse(EINVAL, "%s: cqe %u is not in 1..%u", call, min_depth,
				   ROCE_MAX_CQE);
	return 0;
}

int roce_verbs_cq_init(struct roce_verbs_cq *vcq, struct roce_context *ctx, uint32_t min_depth,
		       struct roce_comp_channel *channel, const struct roce_allocator *allocator,
		       void *owner)
{
	struct roce_device *dev = ctx->dev;
	int err = check_depth("create_cq", min_depth);
	struct roce_block storage;
	uint32_t depth;

	if (err)
		return err;
	depth = roce_pow2_round_up(min_depth);
	if (roce_block_get(&storage, allocator, roce_cq_bytes(depth)))
		return -ENOMEM;
	*vcq = (struct roce_verbs_cq){
		.ctx = ctx, .channel = channel, .storage = storage, .from = storage.from};
	roce_list_init(&vcq->link);
	roce_cq_init(&vcq->cq, storage.ptr, depth, on_comp_event, vcq);
	roce_event_source_init(&vcq->comp_events, ROCE_EVENT_OF_CQ, owner);
	roce_event_source_init(&vcq->async_events, ROCE_EVENT_OF_CQ, owner);
	pthread_mutex_lock(&dev->lock);
	if (dev->cq_count >= ROCE_MAX_CQ) {
		pthread_mutex_unlock(&dev->lock);
		roce_block_put(&vcq->storage);
		return roce_refuse(ENOMEM, "create_cq: all %u queues are in use", ROCE_MAX_CQ);
	}
	if (roce_device_fit_timers(dev)) {
		pthread_mutex_unlock(&dev->lock);
		roce_block_put(&vcq->storage);
		return -ENOMEM;
	}
	dev->cq_count++;
	roce_list_add_tail(&ctx->cqs, &vcq->link);
	if (channel)
		channel->cq_count++;
	pthread_mutex_unlock(&dev->lock);
	return 0;
}

void roce_verbs_cq_detach(struct roce_verbs_cq *vcq)
{
	struct roce_device *dev = vcq->ctx->dev;

	roce_cq_leave(&dev->transport, &vcq->cq);
	roce_list_remove(&vcq->link);
	dev->cq_count--;
}

int roce_verbs_cq_fini(struct roce_verbs_cq *vcq)
{
	struct roce_device *dev = vcq->ctx->dev;

	pthread_mutex_lock(&dev->lock);
	if (vcq->qp_count) {
		uint32_t users = vcq->qp_count;

		pthread_mutex_unlock(&dev->lock);
		return roce_refuse(EBUSY, "destroy_cq: %u work queues report to it", users);
	}
	/* No queue pair is left to write an entry, so no event is posted after this. */
	roce_verbs_cq_detach(vcq);
	pthread_mutex_unlock(&dev->lock);
	if (vcq->channel)
		roce_event_source_retire(&vcq->channel->events, &vcq->comp_events);
	roce_event_source_retire(&vcq->ctx->async, &vcq->async_events);
	pthread_mutex_lock(&dev->lock);
	if (vcq->channel)
		vcq->channel->cq_count--;
	pthread_mutex_unlock(&dev->lock);
	roce_block_put(&vcq->storage);
	vcq->cq.ring = NULL;
	return 0;
}

int roce_verbs_cq_resize(struct roce_verbs_cq *vcq, uint32_t min_depth)
{
	struct roce_device *dev = vcq->ctx->dev;
	struct roce_cq *cq = &vcq->cq;
	int err = check_depth("resize_cq", min_depth);
	struct roce_block storage;
	struct roce_block old;
	struct roce_cqe *ring;
	uint32_t depth;
	uint32_t waiting;

	if (err)
		return err;
	depth = roce_pow2_round_up(min_depth);
	if (roce_block_get(&storage, &vcq->from, roce_cq_bytes(depth)))
		return -ENOMEM;
	ring = storage.ptr;
	pthread_mutex_lock(&dev->lock);
	waiting = cq->tail - cq->head;
	if (waiting > depth) {
		pthread_mutex_unlock(&dev->lock);
		roce_block_put(&storage);
		return roce_refuse(EINVAL, "resize_cq: %u completions wait, cqe %u is too few",
				   waiting, min_depth);
	}
	for (uint32_t i = cq->head; i != cq->tail; i++)
		ring[i & (depth - 1)] = cq->ring[i & (cq->depth - 1)];
	cq->ring = ring;
	cq->depth = depth;
	old = vcq->storage;
	vcq->storage = storage;
	pthread_mutex_unlock(&dev->lock);
	roce_block_put(&old);
	return 0;
}

void roce_verbs_cq_moderate(struct roce_verbs_cq *vcq, uint16_t count, uint16_t period_us)
{
	struct roce_device *dev = vcq->ctx->dev;

	pthread_mutex_lock(&dev->lock);
	roce_cq_moderate(&dev->transport, &vcq->cq, count, period_us * ROCE_NS_PER_US);
	pthread_mutex_unlock(&dev->lock);
}

int roce_verbs_cq_poll(struct roce_verbs_cq *vcq, struct roce_cqe *out, uint32_t max)
{
	struct roce_device *dev = vcq->ctx->dev;
	bool is_dead;
	uint32_t n;

	pthread_mutex_lock(&dev->lock);
	n = roce_cq_poll(&vcq->cq, out, max);
	if (!n && max) {
		dev->env->progress(dev->env_ctx, true);
		n = roce_cq_poll(&vcq->cq, out, max);
	}
	if (n)
		dev->env->on_completions(dev->env_ctx);
	is_dead = !n && vcq->cq.is_overrun;
	pthread_mutex_unlock(&dev->lock);
	return is_dead ? -EIO : (int)n;
}

void roce_verbs_cq_arm(struct roce_verbs_cq *vcq, bool solicited_only)
{
	struct roce_device *dev = vcq->ctx->dev;

	pthread_mutex_lock(&dev->lock);
	roce_cq_arm(&vcq->cq, solicited_only);
	dev->env->arm(dev->env_ctx);
	pthread_mutex_unlock(&dev->lock);
}
