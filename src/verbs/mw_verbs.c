/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows draw their keys as regions do: unguessable, and never one that a region has. */
#include "verbs/mw_verbs.h"

#include "verbs/limits.h"
#include "verbs/refuse.h"

#include <errno.h>

int roce_verbs_mw_init(struct roce_verbs_mw *vmw, struct roce_context *ctx, struct roce_pd *pd,
		       enum roce_mr_kind kind)
{
	struct roce_device *dev = ctx->dev;
	int err;

	*vmw = (struct roce_verbs_mw){.ctx = ctx};
	pthread_mutex_lock(&dev->lock);
	if (dev->mw_count >= ROCE_MAX_MW) {
		pthread_mutex_unlock(&dev->lock);
		return roce_refuse(ENOMEM, "alloc_mw: all %u windows are in use", ROCE_MAX_MW);
	}
	do {
		uint32_t index = roce_device_random(dev);

		err = roce_window_mr_add(&dev->transport.keys, &vmw->mw, kind, pd, index,
					 (uint8_t)roce_device_random(dev));
	} while (err);
	dev->mw_count++;
	pd->use_count++;
	roce_list_add_tail(&ctx->mws, &vmw->link);
	pthread_mutex_unlock(&dev->lock);
	return 0;
}

void roce_verbs_mw_detach(struct roce_verbs_mw *vmw)
{
	struct roce_device *dev = vmw->ctx->dev;

	roce_window_mr_remove(&dev->transport.keys, &vmw->mw);
	dev->mw_count--;
	vmw->mw.pd->use_count--;
	roce_list_remove(&vmw->link);
}

void roce_verbs_mw_fini(struct roce_verbs_mw *vmw)
{
	pthread_mutex_lock(&vmw->ctx->dev->lock);
	roce_verbs_mw_detach(vmw);
	pthread_mutex_unlock(&vmw->ctx->dev->lock);
}
