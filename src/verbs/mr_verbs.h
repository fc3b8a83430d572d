/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registering memory. Nothing is pinned: a region is a range of the process's own memory and two
 * random keys, so its cost does not depend on its size and no memlock limit applies.
 */
#ifndef ROCE_VERBS_MR_VERBS_H
#define ROCE_VERBS_MR_VERBS_H

#include "verbs/context.h"

struct roce_verbs_mr {
	struct roce_mr mr;
	struct roce_context *ctx;
	struct roce_list link; /* ctx->mrs */
};

/* -EINVAL: flags, range or iova; -EFAULT: part of the range is not mapped; -ENOMEM: too many. */
int roce_verbs_mr_init(struct roce_verbs_mr *vmr, struct roce_context *ctx, struct roce_pd *pd,
		       uint64_t addr, uint64_t length, uint64_t iova, uint32_t access);
/* A null region: its lkey goes with any address and length, its rkey opens nothing. -ENOMEM. */
int roce_verbs_mr_init_null(struct roce_verbs_mr *vmr, struct roce_context *ctx,
			    struct roce_pd *pd);
/* -EBUSY while windows are bound to it. */
int roce_verbs_mr_fini(struct roce_verbs_mr *vmr);

struct roce_mr_change {
	struct roce_pd *pd; /* NULL: as it is */
	bool is_range_given;
	uint64_t addr;
	uint64_t length;
	bool is_access_given;
	uint32_t access;
};

/* Changes range, domain or rights in place; the keys stay. On failure nothing has changed. */
int roce_verbs_mr_change(struct roce_verbs_mr *vmr, const struct roce_mr_change *change);

/* Takes its keys out of the transport; device lock held. */
void roce_verbs_mr_detach(struct roce_verbs_mr *vmr);

#endif
