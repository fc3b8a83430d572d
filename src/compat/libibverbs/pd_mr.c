/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection domains and memory regions.
 */
#include "compat/libibverbs/compat.h"

#include "verbs/refuse.h"

#include <stdlib.h>

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct compat_pd *pd;
	int err;

	if (roce_context_is_forked(compat_roce_of(context)))
		return compat_null(-COMPAT_FORKED);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return compat_null(-ENOMEM);
	err = roce_pd_enter(compat_roce_of(context));
	if (err) {
		free(pd);
		return compat_null(err);
	}
	pd->pd.context = context;
	pd->pd.handle = compat_next_handle();
	roce_pd_init(&pd->rpd, pd->pd.handle);
	compat_pd_enlist(pd);
	return &pd->pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct roce_context *ctx = compat_roce_of(pd->context);
	int err;

	if (roce_context_is_forked(ctx))
		return COMPAT_FORKED;
	err = roce_pd_fini(ctx, &compat_pd_of(pd)->rpd);
	if (err)
		return -err;
	compat_pd_delist(compat_pd_of(pd));
	if (compat_pd_of(pd)->base)
		compat_parent_domain_release(compat_pd_of(pd));
	else
		roce_pd_leave(ctx);
	free(compat_pd_of(pd));
	return 0;
}

static struct ibv_mr *finish_mr(struct compat_mr *mr, struct ibv_pd *pd, void *addr, size_t length)
{
	compat_pd_hold(pd);
	mr->mr = (struct ibv_mr){
		.context = pd->context,
		.pd = pd,
		.addr = addr,
		.length = length,
		.handle = compat_next_handle(),
		.lkey = mr->vmr.mr.lkey.v,
		.rkey = mr->vmr.mr.rkey.v,
	};
	return &mr->mr;
}

struct ibv_mr *compat_register(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       unsigned int access)
{
	struct roce_context *ctx = compat_roce_of(pd->context);
	struct compat_mr *mr;
	int err;

	if (roce_context_is_forked(ctx))
		return compat_null(-COMPAT_FORKED);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return compat_null(-ENOMEM);
	err = roce_verbs_mr_init(&mr->vmr, ctx, compat_rpd_of(pd), (uintptr_t)addr, length, iova,
				 access);
	if (err) {
		free(mr);
		return compat_null(err);
	}
	return finish_mr(mr, pd, addr, length);
}

struct ibv_mr *compat_alloc_null_mr(struct ibv_pd *pd)
{
	struct roce_context *ctx = compat_roce_of(pd->context);
	struct compat_mr *mr;
	int err;

	if (roce_context_is_forked(ctx))
		return compat_null(-COMPAT_FORKED);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return compat_null(-ENOMEM);
	err = roce_verbs_mr_init_null(&mr->vmr, ctx, compat_rpd_of(pd));
	if (err) {
		free(mr);
		return compat_null(err);
	}
	return finish_mr(mr, pd, NULL, SIZE_MAX);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return compat_register(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	return compat_register(pd, addr, length, iova, (unsigned int)access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	return compat_register(pd, addr, length, iova, access);
}

int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access)
{
	struct roce_mr_change change = {0};
	int err = 0;

	if (roce_context_is_forked(compat_roce_of(mr->context)))
		err = -COMPAT_FORKED;
	else if (flags == 0 || (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED))
		err = roce_refuse(EINVAL, "rereg_mr: flags 0x%x", (unsigned int)flags);
	else if ((flags & IBV_REREG_MR_CHANGE_PD) && !pd)
		err = roce_refuse(EINVAL, "rereg_mr: pd is NULL");
	if (!err) {
		if (flags & IBV_REREG_MR_CHANGE_PD)
			change.pd = compat_rpd_of(pd);
		change.is_range_given = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
		change.addr = (uintptr_t)addr;
		change.length = length;
		change.is_access_given = flags & IBV_REREG_MR_CHANGE_ACCESS;
		change.access = (uint32_t)access;
		err = roce_verbs_mr_change(&compat_mr_of(mr)->vmr, &change);
	}
	if (err) {
		errno = -err;
		return IBV_REREG_MR_ERR_INPUT;
	}
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		compat_pd_hold(pd);
		compat_pd_drop(mr->pd);
		mr->pd = pd;
	}
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		mr->addr = addr;
		mr->length = length;
	}
	return 0;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	int err;

	if (roce_context_is_forked(compat_roce_of(mr->context)))
		return COMPAT_FORKED;
	err = roce_verbs_mr_fini(&compat_mr_of(mr)->vmr);
	if (err)
		return -err;
	if (compat_mr_of(mr)->dm)
		compat_dm_drop(compat_mr_of(mr)->dm);
	compat_pd_drop(mr->pd);
	free(compat_mr_of(mr));
	return 0;
}

/* Nothing is ever prefetched, but the advice is checked as a device would: keys, domain, range, and
 * write intent only where writing is allowed. */
int compat_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		     struct ibv_sge *sg_list, uint32_t num_sge)
{
	struct roce_device *dev = compat_roce_of(pd->context)->dev;
	uint32_t need = 0;
	int err = 0;

	if (roce_context_is_forked(compat_roce_of(pd->context)))
		return COMPAT_FORKED;
	switch (advice) {
	case IBV_ADVISE_MR_ADVICE_PREFETCH:
	case IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		break;
	case IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		need = ROCE_ACCESS_LOCAL_WRITE;
		break;
	default:
		return EOPNOTSUPP;
	}
	if (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH)
		return EINVAL;
	if (num_sge == 0)
		return EINVAL;
	pthread_mutex_lock(&dev->lock);
	for (uint32_t i = 0; i < num_sge && !err; i++) {
		struct roce_mem_place place;
		enum roce_mem_verdict verdict = roce_mem_check_local(
			&dev->transport.keys, compat_rpd_of(pd), (roce_key_t){sg_list[i].lkey},
			sg_list[i].addr, sg_list[i].length, need, &place);

		switch (verdict) {
		case ROCE_MEM_OK:
			break;
		case ROCE_MEM_BAD_ACCESS:
		case ROCE_MEM_BAD_PD:
			err = EPERM;
			break;
		case ROCE_MEM_BAD_KEY:
		case ROCE_MEM_BAD_RANGE:
			err = EFAULT;
			break;
		}
	}
	pthread_mutex_unlock(&dev->lock);
	return err;
}
