/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows: keys without memory until a work request binds them to a part of a region. What
 * binding means is in mem/window.c; here are their making and end.
 */
#ifndef ROCE_VERBS_MW_VERBS_H
#define ROCE_VERBS_MW_VERBS_H

#include "verbs/context.h"

struct roce_verbs_mw {
	struct roce_mr mw;
	struct roce_context *ctx;
	struct roce_list link; /* ctx->mws */
};

/* `kind`: one of the windows. -ENOMEM: too many. */
int roce_verbs_mw_init(struct roce_verbs_mw *vmw, struct roce_context *ctx, struct roce_pd *pd,
		       enum roce_mr_kind kind);
/* Bound or not: its key opens nothing from here on. */
void roce_verbs_mw_fini(struct roce_verbs_mw *vmw);

/* Takes its key out of the transport; device lock held. */
void roce_verbs_mw_detach(struct roce_verbs_mw *vmw);

#endif
