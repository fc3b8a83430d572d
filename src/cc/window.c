/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The window towards one receive queue: additive growth (one packet for each full window that was
 * acknowledged), halved on loss, back to the minimum on a time-out.
 */
#include "cc/window.h"

/* Growth step: one packet of 4 KiB; smaller MTUs reach the same bytes. */
#define STEP (4096u + ROCE_WINDOW_PACKET_COST)

void roce_window_init(struct roce_window *w, const struct roce_window_config *cfg)
{
	*w = (struct roce_window){.limit = cfg->initial};
}

void roce_window_release(struct roce_window *w, uint32_t cost)
{
	w->inflight = cost < w->inflight ? w->inflight - cost : 0;
}

void roce_window_on_ack(struct roce_window *w, const struct roce_window_config *cfg, uint32_t cost)
{
	roce_window_release(w, cost);
	if (w->limit >= cfg->max)
		return;
	w->growth += cost;
	if (w->growth < w->limit)
		return;
	w->growth = 0;
	w->limit = cfg->max - w->limit > STEP ? w->limit + STEP : cfg->max;
}

void roce_window_on_loss(struct roce_window *w, const struct roce_window_config *cfg)
{
	w->growth = 0;
	w->limit = w->limit / 2 > cfg->min ? w->limit / 2 : cfg->min;
}

void roce_window_on_timeout(struct roce_window *w, const struct roce_window_config *cfg)
{
	w->growth = 0;
	w->limit = cfg->min;
}
