/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows. A window of type 1 is bound by ibv_bind_mw(), which chooses its next key; one of
 * type 2 by a work request, for which the program chooses it.
 */
#include "compat/libibverbs/compat.h"

#include "verbs/refuse.h"

#include <stdlib.h>

#define KEY_VARIANT 0xffu

#define BIND_ACCESS                                                        \
	((unsigned int)(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
			IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED))

struct ibv_mw *compat_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct roce_context *ctx = compat_roce_of(pd->context);
	struct compat_mw *mw;
	int err;

	if (roce_context_is_forked(ctx))
		return compat_null(-COMPAT_FORKED);
	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		return compat_null(
			roce_refuse(EINVAL, "alloc_mw: type %u is not 1 or 2", (unsigned int)type));
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return compat_null(-ENOMEM);
	err = roce_verbs_mw_init(&mw->vmw, ctx, compat_rpd_of(pd),
				 type == IBV_MW_TYPE_1 ? ROCE_MR_WINDOW_1 : ROCE_MR_WINDOW_2);
	if (err) {
		free(mw);
		return compat_null(err);
	}
	compat_pd_hold(pd);
	mw->mw = (struct ibv_mw){
		.context = pd->context,
		.pd = pd,
		.rkey = mw->vmw.mw.rkey.v,
		.handle = compat_next_handle(),
		.type = type,
	};
	return &mw->mw;
}

int compat_dealloc_mw(struct ibv_mw *mw)
{
	struct compat_mw *cmw = roce_container_of(mw, struct compat_mw, mw);

	if (roce_context_is_forked(cmw->vmw.ctx))
		return COMPAT_FORKED;
	roce_verbs_mw_fini(&cmw->vmw);
	compat_pd_drop(mw->pd);
	free(cmw);
	return 0;
}

void compat_fill_bind(struct roce_mem_bind *out, const struct ibv_mw *mw, uint32_t rkey,
		      const struct ibv_mw_bind_info *info)
{
	*out = (struct roce_mem_bind){
		.rkey = {rkey},
		.current = {mw->rkey},
		.lkey = info->mr ? info->mr->lkey : 0,
		.addr = info->addr,
		.length = info->length,
		.access = info->mw_access_flags & BIND_ACCESS,
	};
}

bool compat_may_bind(const struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	return mw && mw->type == IBV_MW_TYPE_2 && info->mr &&
	       (rkey & ~KEY_VARIANT) == (mw->rkey & ~KEY_VARIANT);
}

int compat_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *mw_bind)
{
	struct roce_verbs_qp *vqp = compat_vqp_of(qp);
	uint32_t rkey = (mw->rkey & ~KEY_VARIANT) | ((mw->rkey + 1) & KEY_VARIANT);
	struct roce_mem_bind bind;
	struct roce_send_wr wr = {
		.wr_id = mw_bind->wr_id,
		.opcode = ROCE_WR_BIND_MW,
		.flags = (uint8_t)(mw_bind->send_flags & (IBV_SEND_FENCE | IBV_SEND_SIGNALED)),
		.bind = &bind,
	};
	enum roce_post_result result;
	roce_ns_t now;

	if (roce_context_is_forked(vqp->ctx))
		return COMPAT_FORKED;
	compat_fill_bind(&bind, mw, rkey, &mw_bind->bind_info);
	now = roce_verbs_qp_lock(vqp);
	result = roce_post_send(&vqp->qp, &wr, now);
	roce_verbs_qp_unlock_send(vqp);
	if (result == ROCE_POST_OK)
		mw->rkey = rkey;
	return roce_verbs_qp_refuse_post(vqp, "post_send", result, IBV_WR_BIND_MW, 0);
}
