/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues and rates over time, of the ports that have most of them. */
#include "record/page.h"

#include "report/chart.h"
#include "report/page.h"

#include <math.h>
#include <stdlib.h>

#define CURVES_SHOWN   6u
#define PORTS_SHOWN    24u
#define RATE_POINTS    200u
#define RATE_WINDOW_PS UINT64_C(2000000)

static double sample_time(const struct roce_series *s, uint32_t sample)
{
	return (double)(s->from_ps + sample * s->interval_ps) / ROCE_RECORD_PS_PER_S;
}

static uint32_t queue_points(const struct roce_series *s, uint32_t port,
			     struct roce_chart_point *out)
{
	const struct roce_series_sample *samples = roce_series_of(s, port);

	for (uint32_t i = 0; i < s->count; i++)
		out[i] = (struct roce_chart_point){sample_time(s, i + 1), samples[i].queue_bytes};
	return s->count;
}

/* A rate over less than a few packets is either that of the line or nothing; and since a packet
 * counts as sent when it begins, a short time may seem to have more than the line takes. */
static uint32_t rate_points(const struct roce_series *s, uint32_t port, double line_bps,
			    struct roce_chart_point *out)
{
	const struct roce_series_sample *samples = roce_series_of(s, port);
	uint32_t by_window = (uint32_t)(RATE_WINDOW_PS / s->interval_ps) + 1;
	uint32_t by_count = s->count / RATE_POINTS + 1;
	uint32_t group = by_window > by_count ? by_window : by_count;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->count; i += group) {
		uint32_t end = i + group < s->count ? i + group : s->count;
		double sum = 0;

		for (uint32_t k = i; k < end; k++)
			sum += (double)samples[k].rate_bps;
		out[n++] = (struct roce_chart_point){sample_time(s, end),
						     fmin(sum / (end - i), line_bps)};
	}
	return n;
}

static void curves_of(const struct roce_record *r, const uint32_t *ports, uint32_t count,
		      const char *title, bool is_rate, FILE *out)
{
	const struct roce_series *s = &r->series;
	struct roce_chart_point *points = calloc((size_t)count * s->count + 1, sizeof(*points));
	struct roce_chart_series series[CURVES_SHOWN];
	char labels[CURVES_SHOWN][ROCE_RECORD_LABEL_MAX];
	struct roce_chart chart = {
		.title = title,
		.x_name = "Time",
		.y_name = is_rate ? "Sent" : "Queue",
		.x_quantity = ROCE_QUANTITY_SECONDS,
		.y_quantity = is_rate ? ROCE_QUANTITY_BITS_RATE : ROCE_QUANTITY_BYTES,
		.series = series,
		.series_count = count,
	};

	if (!points) {
		roce_page_message(out, ROCE_TONE_BAD, "out of memory for a picture");
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct roce_chart_point *mine = points + (size_t)i * s->count;
		struct roce_fabric_port_view view;
		uint32_t n;

		roce_page_view(r, ports[i], &view);
		n = is_rate ? rate_points(s, ports[i], (double)view.rate_bps, mine)
			    : queue_points(s, ports[i], mine);
		roce_page_label(r, ports[i], labels[i]);
		series[i] = (struct roce_chart_series){labels[i], mine, n, false};
	}
	roce_chart_curves(out, &chart);
	free(points);
}

static void busiest_table(const struct roce_record *r, FILE *out)
{
	static const char *const columns[] = {"Port",	 "#Line",      "#Busy",	  "#Longest queue",
					      "#Paused", "#Marked CE", "#Dropped"};
	uint32_t ports[PORTS_SHOWN];
	uint32_t count = roce_page_top_ports(r, roce_page_busyness, ports, PORTS_SHOWN);

	roce_page_table_begin(out, columns, 7);
	for (uint32_t i = 0; i < count; i++) {
		struct roce_fabric_port_view view;
		char label[ROCE_RECORD_LABEL_MAX], line[ROCE_AXIS_LABEL_MAX];
		char busy[16], queue[ROCE_AXIS_LABEL_MAX], paused[ROCE_AXIS_LABEL_MAX];
		char marked[24], dropped[24];
		const char *cells[] = {label, line, busy, queue, paused, marked, dropped};
		uint64_t marks = 0, drops = 0;

		roce_page_view(r, ports[i], &view);
		for (uint32_t p = 0; p < ROCE_FABRIC_PRIOS; p++) {
			marks += view.prio_counters[p][ROCE_FABRIC_TX_ECN_MARKED];
			drops += view.prio_counters[p][ROCE_FABRIC_TX_DISCARDS] +
				 view.prio_counters[p][ROCE_FABRIC_RX_DISCARDS];
		}
		roce_page_label(r, ports[i], label);
		roce_quantity_format(ROCE_QUANTITY_BITS_RATE, (double)view.rate_bps, line);
		snprintf(busy, sizeof(busy), "%.1f%%", roce_page_busyness(r, ports[i]) * 100);
		roce_quantity_format(ROCE_QUANTITY_BYTES, roce_page_longest_queue(r, ports[i]),
				     queue);
		roce_quantity_format(ROCE_QUANTITY_SECONDS, roce_page_paused_seconds(r, ports[i]),
				     paused);
		snprintf(marked, sizeof(marked), "%llu", (unsigned long long)marks);
		snprintf(dropped, sizeof(dropped), "%llu", (unsigned long long)drops);
		roce_page_table_row(out, drops ? ROCE_TONE_BAD : ROCE_TONE_PLAIN, columns, cells,
				    7);
	}
	roce_page_table_end(out);
}

void roce_page_queues(const struct roce_record *r, FILE *out)
{
	uint32_t ports[CURVES_SHOWN];
	uint32_t count;

	roce_page_section(out, "queues", "Queues and rates",
			  "The ports with the longest queues and those that sent most.");
	if (r->cfg.has_series && r->series.count) {
		roce_page_charts_begin(out);
		count = roce_page_top_ports(r, roce_page_longest_queue, ports, CURVES_SHOWN);
		curves_of(r, ports, count, "Egress queues", false, out);
		count = roce_page_top_ports(r, roce_page_busyness, ports, CURVES_SHOWN);
		curves_of(r, ports, count, "Rates on the line", true, out);
		roce_page_charts_end(out);
	}
	busiest_table(r, out);
}
