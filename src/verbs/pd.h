/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection domains: which memory regions a queue pair may name. A domain counts its
 * objects and cannot go while there are any.
 */
#ifndef ROCE_VERBS_PD_H
#define ROCE_VERBS_PD_H

#include "verbs/context.h"

void roce_pd_init(struct roce_pd *pd, uint32_t handle);
/* It counts as a domain of the device, until it leaves. -ENOMEM: all are in use. */
int roce_pd_enter(struct roce_context *ctx);
void roce_pd_leave(struct roce_context *ctx);
/* One more object uses it. */
void roce_pd_hold(struct roce_context *ctx, struct roce_pd *pd);
/* -EBUSY while objects use it. */
int roce_pd_fini(struct roce_context *ctx, struct roce_pd *pd);

#endif
