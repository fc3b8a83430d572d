/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts of a device: what is opened and closed with them. The fork
 * generation counts how often this process image came out of fork(): a context of an older
 * generation is a parent's.
 */
#include "verbs/context.h"

#include "verbs/mr_verbs.h"
#include "verbs/mw_verbs.h"
#include "verbs/qp_verbs.h"
#include "verbs/srq_verbs.h"

static uint32_t fork_generation;

static void on_fork_child(void)
{
	fork_generation++;
}

static void watch_forks(void)
{
	/* Without memory for the handler a child just is not told apart. */
	(void)pthread_atfork(NULL, NULL, on_fork_child);
}

static void enter(struct roce_context *ctx, struct roce_device *dev, void *owner)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
	ctx->dev = dev;
	ctx->fork_generation = fork_generation;
	for (uint32_t i = 0; i < ROCE_PORT_EVENT_COUNT; i++)
		roce_event_source_init(&ctx->port_events[i], ROCE_EVENT_OF_PORT, owner);
	roce_list_init(&ctx->qps);
	roce_list_init(&ctx->mrs);
	roce_list_init(&ctx->mws);
	roce_list_init(&ctx->srqs);
	roce_list_init(&ctx->cqs);
	pthread_mutex_lock(&dev->lock);
	roce_list_add_tail(&dev->contexts, &ctx->link);
	dev->context_count++;
	pthread_mutex_unlock(&dev->lock);
}

int roce_context_init(struct roce_context *ctx, struct roce_device *dev, void *owner)
{
	int err;

	*ctx = (struct roce_context){0};
	err = roce_events_init(&ctx->async);
	if (err)
		return err;
	enter(ctx, dev, owner);
	return 0;
}

void roce_context_init_mute(struct roce_context *ctx, struct roce_device *dev, void *owner)
{
	*ctx = (struct roce_context){0};
	roce_events_init_mute(&ctx->async);
	enter(ctx, dev, owner);
}

void roce_context_fini(struct roce_context *ctx)
{
	struct roce_device *dev = ctx->dev;
	struct roce_list *pos;
	struct roce_list *tmp;

	pthread_mutex_lock(&dev->lock);
	roce_list_for_each_safe (pos, tmp, &ctx->qps)
		roce_verbs_qp_detach(roce_container_of(pos, struct roce_verbs_qp, link));
	roce_list_for_each_safe (pos, tmp, &ctx->srqs)
		roce_verbs_srq_detach(roce_container_of(pos, struct roce_verbs_srq, link));
	roce_list_for_each_safe (pos, tmp, &ctx->mws)
		roce_verbs_mw_detach(roce_container_of(pos, struct roce_verbs_mw, link));
	roce_list_for_each_safe (pos, tmp, &ctx->mrs)
		roce_verbs_mr_detach(roce_container_of(pos, struct roce_verbs_mr, link));
	roce_list_for_each_safe (pos, tmp, &ctx->cqs)
		roce_verbs_cq_detach(roce_container_of(pos, struct roce_verbs_cq, link));
	dev->pd_count -= ctx->pd_count;
	dev->ah_count -= ctx->ah_count;
	roce_list_remove(&ctx->link);
	dev->context_count--;
	pthread_mutex_unlock(&dev->lock);
	roce_events_fini(&ctx->async);
}

bool roce_context_is_forked(const struct roce_context *ctx)
{
	return ctx->fork_generation != fork_generation;
}
