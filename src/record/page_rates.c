/* SPDX-License-Identifier: BSD-2-Clause */
/* What congestion control allowed, over time: the queue pairs that it held down most. */
#include "record/page.h"

#include "report/chart.h"
#include "report/page.h"

#include <stdlib.h>

#define CURVES_SHOWN 6u

/* Of the time that it ran; 0: it never did. */
static double mean_bps(const struct roce_rates *rates, uint32_t lane)
{
	const double *bps = roce_rates_of(rates, lane);
	double sum = 0;
	uint32_t ran = 0;

	for (uint32_t i = 0; i < rates->count; i++) {
		sum += bps[i];
		ran += bps[i] > 0;
	}
	return ran ? sum / ran : 0;
}

/* The slowest by their mean, slowest first. */
static uint32_t find_slowest(const struct roce_rates *rates, uint32_t *out)
{
	double means[CURVES_SHOWN];
	uint32_t count = 0;

	for (uint32_t lane = 0; lane < rates->lane_count; lane++) {
		double mean = mean_bps(rates, lane);
		uint32_t at = count;

		if (mean <= 0 || (count == CURVES_SHOWN && mean >= means[count - 1]))
			continue;
		if (count < CURVES_SHOWN)
			count++;
		else
			at--;
		for (; at > 0 && means[at - 1] > mean; at--) {
			means[at] = means[at - 1];
			out[at] = out[at - 1];
		}
		means[at] = mean;
		out[at] = lane;
	}
	return count;
}

/* Only where it ran: before and behind there is no rate. */
static uint32_t points_of(const struct roce_rates *rates, uint32_t lane,
			  struct roce_chart_point *out)
{
	const double *bps = roce_rates_of(rates, lane);
	uint32_t n = 0;

	for (uint32_t i = 0; i < rates->count; i++) {
		double at = (double)(rates->from_ps + (i + 1) * rates->interval_ps);

		if (bps[i] > 0)
			out[n++] = (struct roce_chart_point){at / ROCE_RECORD_PS_PER_S, bps[i]};
	}
	return n;
}

static void label_of(const struct roce_record *r, uint32_t lane, char *out)
{
	const struct roce_rates_lane *at = &r->rates.lanes[lane];
	const struct roce_fabric_flow_config *cfg = roce_fabric_flow_config(r->fabric, at->flow);

	if (cfg->qp_count > 1)
		snprintf(out, ROCE_RECORD_LABEL_MAX, "%s to %s, flow %u, %u", r->names[cfg->src],
			 r->names[cfg->dst], at->flow, at->qp);
	else
		snprintf(out, ROCE_RECORD_LABEL_MAX, "%s to %s, flow %u", r->names[cfg->src],
			 r->names[cfg->dst], at->flow);
}

void roce_page_rates(const struct roce_record *r, FILE *out)
{
	const struct roce_rates *rates = &r->rates;
	struct roce_chart_series series[CURVES_SHOWN];
	char labels[CURVES_SHOWN][ROCE_RECORD_LABEL_MAX];
	uint32_t lanes[CURVES_SHOWN];
	uint32_t count = rates->count ? find_slowest(rates, lanes) : 0;
	struct roce_chart_point *points;

	if (!count)
		return;
	roce_page_section(out, "rates", "Congestion control",
			  "The rates of the queue pairs that it held down most.");
	points = calloc((size_t)count * rates->count, sizeof(*points));
	if (!points) {
		roce_page_message(out, ROCE_TONE_BAD, "out of memory for a picture");
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct roce_chart_point *mine = points + (size_t)i * rates->count;

		label_of(r, lanes[i], labels[i]);
		series[i] = (struct roce_chart_series){labels[i], mine,
						       points_of(rates, lanes[i], mine), false};
	}
	roce_page_charts_begin(out);
	roce_chart_curves(out, &(struct roce_chart){
				       .title = "Allowed rates",
				       .x_name = "Time",
				       .y_name = "Allowed",
				       .x_quantity = ROCE_QUANTITY_SECONDS,
				       .y_quantity = ROCE_QUANTITY_BITS_RATE,
				       .series = series,
				       .series_count = count,
			       });
	roce_page_charts_end(out);
	free(points);
}
