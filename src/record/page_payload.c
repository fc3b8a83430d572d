/* SPDX-License-Identifier: BSD-2-Clause */
/* What the comparison of real payload has found; nothing when all payload was phantom. */
#include "record/page.h"

#include "report/chart.h"
#include "report/page.h"

#include <math.h>
#include <stdlib.h>

#define WRONGS_SHOWN 15u

struct workload {
	uint64_t tag;
	uint64_t compared;
	uint64_t wrong;
	struct roce_chart_point *points;
	uint32_t count;
};

/* Those with real payload; what is too much for colours is left out. */
static uint32_t find_workloads(const struct roce_record *r, struct workload *out)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < roce_fabric_flow_count(r->fabric); i++) {
		const struct roce_fabric_flow_config *cfg = roce_fabric_flow_config(r->fabric, i);
		struct roce_fabric_flow_result result;
		uint32_t at = 0;

		while (at < count && out[at].tag != cfg->tag)
			at++;
		if (!cfg->is_real || at == ROCE_CHART_SERIES_MAX)
			continue;
		if (at == count)
			out[count++].tag = cfg->tag;
		roce_fabric_flow_result(r->fabric, i, &result);
		out[at].compared += result.messages_checked;
		out[at].wrong += result.messages_wrong;
	}
	return count;
}

static void add_point(struct workload *w, uint64_t ps, double y)
{
	w->points[w->count++] = (struct roce_chart_point){(double)ps / ROCE_RECORD_PS_PER_S, y};
}

/* From none at the start to all at the end. */
static bool fill(const struct roce_record *r, struct workload *w)
{
	double sum = 0;

	w->points = calloc((size_t)r->wrong_count + 2, sizeof(*w->points));
	if (!w->points)
		return false;
	add_point(w, 0, 0);
	for (uint32_t i = 0; i < r->wrong_count; i++) {
		const struct roce_record_wrong *wrong = &r->wrongs[i];

		if (roce_fabric_flow_config(r->fabric, wrong->flow)->tag == w->tag)
			add_point(w, wrong->ps, ++sum);
	}
	add_point(w, roce_fabric_now_ps(r->fabric), sum);
	return true;
}

static void charts(const struct roce_record *r, const struct roce_record_page *page, FILE *out)
{
	struct workload workloads[ROCE_CHART_SERIES_MAX] = {0};
	struct roce_chart_series series[ROCE_CHART_SERIES_MAX];
	struct roce_chart_bar bars[ROCE_CHART_SERIES_MAX];
	const struct roce_chart c = {
		.title = "Messages that arrived wrong",
		.x_name = "Time",
		.y_name = "Messages so far",
		.x_quantity = ROCE_QUANTITY_SECONDS,
		.y_quantity = ROCE_QUANTITY_COUNT,
		.series = series,
		.series_count = find_workloads(r, workloads),
	};
	bool is_filled = true;

	for (size_t i = 0; i < c.series_count && is_filled; i++) {
		const struct workload *w = &workloads[i];
		const char *name = page->tag_name ? page->tag_name(page->tag_ctx, w->tag) : "flows";

		is_filled = fill(r, &workloads[i]);
		series[i] = (struct roce_chart_series){name, w->points, w->count, true};
		bars[i] = (struct roce_chart_bar){
			name, w->compared ? 100.0 * (double)w->wrong / (double)w->compared : 0,
			NAN};
	}
	if (is_filled) {
		roce_page_charts_begin(out);
		roce_chart_curves(out, &c);
		roce_chart_bars(out, "Messages that arrived wrong, of those that arrived",
				ROCE_QUANTITY_PERCENT, bars, c.series_count);
		roce_page_charts_end(out);
	}
	for (size_t i = 0; i < c.series_count; i++)
		free(workloads[i].points);
}

static void row(const struct roce_record *r, const struct roce_fabric_wrong *w,
		const char *const *columns, FILE *out)
{
	const struct roce_fabric_flow_config *cfg = roce_fabric_flow_config(r->fabric, w->flow);
	char when[ROCE_AXIS_LABEL_MAX], text[7][32];
	const char *cells[] = {when,
			       text[0],
			       r->names[cfg->src],
			       r->names[cfg->dst],
			       text[1],
			       text[2],
			       text[3],
			       text[4],
			       text[5],
			       text[6]};

	roce_quantity_format(ROCE_QUANTITY_SECONDS, (double)w->ps / ROCE_RECORD_PS_PER_S, when);
	snprintf(text[0], sizeof(text[0]), "%u", w->flow);
	snprintf(text[1], sizeof(text[1]), "%llu%s", (unsigned long long)w->message,
		 w->is_answer ? " (answer)" : "");
	snprintf(text[2], sizeof(text[2]), "%u of %u", w->offset, w->length);
	snprintf(text[3], sizeof(text[3]), "0x%02x", w->expected);
	snprintf(text[4], sizeof(text[4]), "0x%02x", w->found);
	snprintf(text[5], sizeof(text[5]), "%u", w->wrong_bytes);
	snprintf(text[6], sizeof(text[6]), "%u", w->missing_bytes);
	roce_page_table_row(out, ROCE_TONE_PLAIN, columns, cells, 10);
}

static void table(const struct roce_record *r, FILE *out)
{
	static const char *const columns[] = {"#Time",	      "#Flow",	 "From",      "To",
					      "#Message",     "#Byte",	 "#Expected", "#Found",
					      "#Wrong bytes", "#Missing"};
	uint32_t count;
	const struct roce_fabric_wrong *wrongs = roce_fabric_wrongs(r->fabric, &count);

	fprintf(out, "<h3>The first of them</h3>\n");
	roce_page_table_begin(out, columns, 10);
	for (uint32_t i = 0; i < count && i < WRONGS_SHOWN; i++)
		row(r, &wrongs[i], columns, out);
	roce_page_table_end(out);
}

void roce_page_payload(const struct roce_record *r, const struct roce_record_page *page, FILE *out)
{
	struct roce_fabric_totals t;
	char text[160];

	roce_fabric_totals(r->fabric, &t);
	if (!t.messages_checked)
		return;
	roce_page_section(out, "payload", "Payload",
			  "Messages are compared byte by byte when they are complete.");
	snprintf(text, sizeof(text),
		 "%llu messages compared, %llu wrong: %llu bytes differ, %llu are missing.",
		 (unsigned long long)t.messages_checked, (unsigned long long)t.messages_wrong,
		 (unsigned long long)t.bytes_wrong, (unsigned long long)t.bytes_missing);
	roce_page_message(out, t.messages_wrong ? ROCE_TONE_BAD : ROCE_TONE_GOOD, text);
	if (!t.messages_wrong)
		return;
	charts(r, page, out);
	table(r, out);
}
