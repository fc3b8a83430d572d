/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection domains. use_count is guarded by the device lock and kept by those who make and
 * destroy the objects: regions, queue pairs, address handles.
 */
#include "verbs/pd.h"

#include "verbs/limits.h"
#include "verbs/refuse.h"

#include <errno.h>

void roce_pd_init(struct roce_pd *pd, uint32_t handle)
{
	*pd = (struct roce_pd){.handle = handle};
}

int roce_pd_enter(struct roce_context *ctx)
{
	struct roce_device *dev = ctx->dev;
	int err = 0;

	pthread_mutex_lock(&dev->lock);
	if (dev->pd_count >= ROCE_MAX_PD) {
		err = roce_refuse(ENOMEM, "alloc_pd: all %u domains are in use", ROCE_MAX_PD);
	} else {
		dev->pd_count++;
		ctx->pd_count++;
	}
	pthread_mutex_unlock(&dev->lock);
	return err;
}

void roce_pd_leave(struct roce_context *ctx)
{
	pthread_mutex_lock(&ctx->dev->lock);
	ctx->dev->pd_count--;
	ctx->pd_count--;
	pthread_mutex_unlock(&ctx->dev->lock);
}

int roce_pd_fini(struct roce_context *ctx, struct roce_pd *pd)
{
	uint32_t users;

	pthread_mutex_lock(&ctx->dev->lock);
	users = pd->use_count;
	pthread_mutex_unlock(&ctx->dev->lock);
	if (users)
		return roce_refuse(EBUSY, "dealloc_pd: %u objects still use the domain", users);
	return 0;
}

void roce_pd_hold(struct roce_context *ctx, struct roce_pd *pd)
{
	pthread_mutex_lock(&ctx->dev->lock);
	pd->use_count++;
	pthread_mutex_unlock(&ctx->dev->lock);
}
