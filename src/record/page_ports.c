/* SPDX-License-Identifier: BSD-2-Clause */
/* What the sections of the page measure of ports, and which ports have most of it. */
#include "record/page.h"

double roce_page_run_seconds(const struct roce_record *r)
{
	return (double)roce_fabric_now_ps(r->fabric) / ROCE_RECORD_PS_PER_S;
}

void roce_page_view(const struct roce_record *r, uint32_t index, struct roce_fabric_port_view *out)
{
	struct roce_record_port at = roce_record_port_at(r, index);

	(void)roce_fabric_port_view(r->fabric, at.node, at.port, out);
}

void roce_page_label(const struct roce_record *r, uint32_t index, char out[ROCE_RECORD_LABEL_MAX])
{
	struct roce_record_port at = roce_record_port_at(r, index);

	roce_record_port_label(r, at.node, at.port, out);
}

uint32_t roce_page_top_ports(const struct roce_record *r,
			     double (*value)(const struct roce_record *r, uint32_t index),
			     uint32_t *out, uint32_t max)
{
	double values[ROCE_PAGE_PORTS_MAX];
	uint32_t count = 0;

	for (uint32_t i = 0; i < roce_record_port_total(r); i++) {
		double v = value(r, i);
		uint32_t at = count;

		if (v <= 0 || (count == max && v <= values[count - 1]))
			continue;
		if (count < max)
			count++;
		else
			at--;
		for (; at > 0 && values[at - 1] < v; at--) {
			values[at] = values[at - 1];
			out[at] = out[at - 1];
		}
		values[at] = v;
		out[at] = i;
	}
	return count;
}

double roce_page_busyness(const struct roce_record *r, uint32_t index)
{
	struct roce_fabric_port_view view;
	double seconds = roce_page_run_seconds(r);

	roce_page_view(r, index, &view);
	if (seconds <= 0 || !view.rate_bps)
		return 0;
	return (double)roce_record_tx_bytes(&view) * 8 / seconds / (double)view.rate_bps;
}

double roce_page_longest_queue(const struct roce_record *r, uint32_t index)
{
	struct roce_fabric_port_view view;
	double sum = 0;

	roce_page_view(r, index, &view);
	for (uint32_t tc = 0; tc < ROCE_FABRIC_PRIOS; tc++)
		sum += view.queue_bytes_max[tc];
	return sum;
}

double roce_page_paused_seconds(const struct roce_record *r, uint32_t index)
{
	uint64_t now_ps = roce_fabric_now_ps(r->fabric);
	uint64_t longest = 0;

	for (uint32_t p = 0; p < ROCE_SPANS_PRIOS; p++) {
		uint64_t ps = roce_spans_total_ps(
			roce_spans_lane(&r->spans, ROCE_SPAN_PAUSED, index, p), now_ps);

		longest = ps > longest ? ps : longest;
	}
	return (double)longest / ROCE_RECORD_PS_PER_S;
}
