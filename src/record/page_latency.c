/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long requests waited for their answers. A client's requests are one flow, whose completion
 * says nothing of them, so workloads of requests have a section of their own, from the fabric's
 * histograms.
 */
#include "record/page.h"

#include "report/chart.h"
#include "report/page.h"

#include <stdlib.h>

#define POINTS 1000u /* of a curve: what is beyond the 99.9th percentile is in the table */

struct latencies {
	uint64_t tags[ROCE_CHART_SERIES_MAX];
	uint64_t messages[ROCE_CHART_SERIES_MAX];
	uint32_t count;
};

static void add_flow(struct latencies *l, uint64_t tag, uint64_t messages)
{
	uint32_t i = 0;

	while (i < l->count && l->tags[i] != tag)
		i++;
	if (i == ROCE_CHART_SERIES_MAX)
		return;
	if (i == l->count) {
		l->tags[i] = tag;
		l->messages[i] = 0;
		l->count++;
	}
	l->messages[i] += messages;
}

static void read_flows(const struct roce_record *r, const struct roce_record_page *page,
		       struct latencies *l)
{
	uint32_t flows = roce_fabric_flow_count(r->fabric);

	for (uint32_t i = 0; page->is_tag_requests && i < flows; i++) {
		uint64_t tag = roce_fabric_flow_config(r->fabric, i)->tag;
		struct roce_fabric_flow_result result;

		if (!page->is_tag_requests(page->tag_ctx, tag))
			continue;
		roce_fabric_flow_result(r->fabric, i, &result);
		if (result.messages.count)
			add_flow(l, tag, result.messages.count);
	}
}

static const char *name_of(const struct roce_record_page *page, uint64_t tag)
{
	return page->tag_name ? page->tag_name(page->tag_ctx, tag) : "requests";
}

static double at_share(const struct roce_record *r, uint64_t tag, double share)
{
	return (double)roce_fabric_latency_quantile(r->fabric, tag, share) / ROCE_RECORD_PS_PER_S;
}

static void chart(const struct roce_record *r, const struct roce_record_page *page,
		  const struct latencies *l, FILE *out)
{
	double *values = calloc((size_t)l->count * POINTS, sizeof(*values));
	struct roce_chart_set sets[ROCE_CHART_SERIES_MAX];
	bool is_wide = false;

	if (!values) {
		roce_page_message(out, ROCE_TONE_BAD, "out of memory for the latencies");
		return;
	}
	for (uint32_t i = 0; i < l->count; i++) {
		double *own = values + (size_t)i * POINTS;

		for (uint32_t k = 0; k < POINTS; k++)
			own[k] = at_share(r, l->tags[i], (k + 1) / (double)POINTS);
		is_wide |= own[POINTS - 1] > 20 * own[0];
		sets[i] = (struct roce_chart_set){name_of(page, l->tags[i]), own, POINTS};
	}
	roce_page_charts_begin(out);
	roce_chart_distribution(out, "Latency of requests", "Latency", ROCE_QUANTITY_SECONDS,
				is_wide, sets, l->count);
	roce_page_charts_end(out);
	free(values);
}

static void table(const struct roce_record *r, const struct roce_record_page *page,
		  const struct latencies *l, FILE *out)
{
	static const char *const columns[] = {"Kind", "#Answered", "#p50",    "#p90",
					      "#p99", "#p99.9",	   "#Longest"};
	static const double shares[] = {0.5, 0.9, 0.99, 0.999, 1};

	roce_page_table_begin(out, columns, 7);
	for (uint32_t i = 0; i < l->count; i++) {
		char text[6][ROCE_AXIS_LABEL_MAX];
		const char *cells[7] = {name_of(page, l->tags[i])};

		snprintf(text[0], sizeof(text[0]), "%llu", (unsigned long long)l->messages[i]);
		for (uint32_t k = 0; k < 5; k++)
			roce_quantity_format(ROCE_QUANTITY_SECONDS,
					     at_share(r, l->tags[i], shares[k]), text[1 + k]);
		for (uint32_t k = 0; k < 6; k++)
			cells[1 + k] = text[k];
		roce_page_table_row(out, ROCE_TONE_PLAIN, columns, cells, 7);
	}
	roce_page_table_end(out);
}

void roce_page_latency(const struct roce_record *r, const struct roce_record_page *page, FILE *out)
{
	struct latencies l = {0};

	read_flows(r, page, &l);
	if (!l.count)
		return;
	roce_page_section(out, "latency", "Latency",
			  "From a request to its answer, repetitions included.");
	chart(r, page, &l, out);
	table(r, page, &l, out);
}
