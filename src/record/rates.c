/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples of what congestion control allows; see rates.h. */
#include "record/record_internal.h"

#include <errno.h>
#include <stdlib.h>

#define INTERVAL_PS_DEFAULT UINT64_C(1000000) /* 1 us */

static uint32_t count_lanes(const struct roce_record *r)
{
	uint32_t max = r->cfg.rate_count < ROCE_RATES_MAX ? r->cfg.rate_count : ROCE_RATES_MAX;
	uint32_t flows = roce_fabric_flow_count(r->fabric);
	uint32_t count = 0;

	for (uint32_t i = 0; i < flows && count < max; i++)
		count += roce_fabric_flow_config(r->fabric, i)->qp_count;
	return count < max ? count : max;
}

static void fill_lanes(const struct roce_record *r, struct roce_rates *rates)
{
	uint32_t lane = 0;

	for (uint32_t flow = 0; lane < rates->lane_count; flow++) {
		uint32_t qps = roce_fabric_flow_config(r->fabric, flow)->qp_count;

		for (uint32_t qp = 0; qp < qps && lane < rates->lane_count; qp++)
			rates->lanes[lane++] = (struct roce_rates_lane){flow, qp};
	}
}

int roce_rates_begin(struct roce_record *r)
{
	struct roce_rates *rates = &r->rates;

	*rates = (struct roce_rates){
		.lane_count = count_lanes(r),
		.interval_ps = r->cfg.sample_ps ? r->cfg.sample_ps : INTERVAL_PS_DEFAULT,
		.from_ps = roce_fabric_now_ps(r->fabric),
	};
	if (!rates->lane_count)
		return 0;
	rates->lanes = calloc(rates->lane_count, sizeof(*rates->lanes));
	rates->bps =
		calloc((size_t)rates->lane_count * ROCE_RATES_SAMPLES_MAX, sizeof(*rates->bps));
	if (!rates->lanes || !rates->bps)
		return -ENOMEM;
	fill_lanes(r, rates);
	return 0;
}

void roce_rates_fini(struct roce_rates *rates)
{
	free(rates->lanes);
	free(rates->bps);
	*rates = (struct roce_rates){0};
}

uint64_t roce_rates_next_ps(const struct roce_rates *rates)
{
	return rates->lane_count ? rates->from_ps + (rates->count + 1) * rates->interval_ps
				 : ROCE_FABRIC_NEVER;
}

static void join_pairs(struct roce_rates *rates)
{
	for (uint32_t lane = 0; lane < rates->lane_count; lane++) {
		double *bps = rates->bps + (size_t)lane * ROCE_RATES_SAMPLES_MAX;

		for (uint32_t i = 0; i < ROCE_RATES_SAMPLES_MAX / 2; i++)
			bps[i] = (bps[2 * i] + bps[2 * i + 1]) / 2;
	}
	rates->count = ROCE_RATES_SAMPLES_MAX / 2;
	rates->interval_ps *= 2;
}

void roce_rates_take(struct roce_record *r)
{
	struct roce_rates *rates = &r->rates;

	for (uint32_t lane = 0; lane < rates->lane_count; lane++) {
		const struct roce_rates_lane *at = &rates->lanes[lane];

		rates->bps[(size_t)lane * ROCE_RATES_SAMPLES_MAX + rates->count] =
			(double)roce_fabric_flow_rate_bps(r->fabric, at->flow, at->qp);
	}
	if (++rates->count == ROCE_RATES_SAMPLES_MAX)
		join_pairs(rates);
}
