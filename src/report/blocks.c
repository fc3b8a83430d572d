/* SPDX-License-Identifier: BSD-2-Clause */
/* Charts of blocks: bars of values, and lanes of what held when. */
#include "report/chart.h"

#include "report/page.h"
#include "report/svg.h"

#include <math.h>
#include <stdlib.h>

#define ROW	 20.0
#define TOP	 10.0
#define NAMES	 170.0
#define WIDE	 1000.0 /* timelines take the width of the page */
#define RIGHT	 70.0
#define AXIS	 40.0

#define GAP_SEEN 0.5 /* pixels between two blocks */

static void row_name(FILE *out, double y, const char *name)
{
	fprintf(out, "<text class=\"row\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", NAMES - 8,
		y + ROW * 0.7);
	roce_page_text(out, name);
	fputs("</text>", out);
}

void roce_chart_bars(FILE *out, const char *title, enum roce_quantity quantity,
		     const struct roce_chart_bar *bars, size_t count)
{
	double max = 0;
	struct roce_svg_frame frame = {
		.left = NAMES, .top = TOP, .width = ROCE_SVG_WIDTH - NAMES - RIGHT};

	for (size_t i = 0; i < count; i++) {
		max = fmax(max, bars[i].value);
		if (isfinite(bars[i].mark))
			max = fmax(max, bars[i].mark);
	}
	roce_axis_fit(&frame.x, quantity, false, 0, max);
	roce_svg_begin(out, title, ROCE_SVG_WIDTH, TOP * 2 + ROW * (double)count);
	for (size_t i = 0; i < count; i++) {
		double y = TOP + ROW * (double)i;
		double end = roce_svg_x(&frame, bars[i].value);
		char text[ROCE_AXIS_LABEL_MAX];

		row_name(out, y, bars[i].name);
		roce_quantity_format(quantity, bars[i].value, text);
		fprintf(out,
			"<rect class=\"bar s0\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			"height=\"%.1f\"/>"
			"<text class=\"row\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
			NAMES, y + 3, fmax(end - NAMES, 1), ROW - 6, end + 5, y + ROW * 0.7, text);
		if (isfinite(bars[i].mark)) {
			double x = roce_svg_x(&frame, bars[i].mark);

			fprintf(out,
				"<line class=\"mark\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
				"y2=\"%.1f\"/>\n",
				x, y + 1, x, y + ROW - 1);
		}
	}
	roce_svg_end(out);
	roce_svg_figure_end(out);
}

/* Spans that no pixel would tell apart, drawn as one. */
struct merged {
	double from;
	double to;
	double sum; /* seconds, gaps left out */
	uint32_t count;
};

static void draw_merged(FILE *out, const struct roce_svg_frame *frame,
			const struct roce_chart_timeline *timeline, uint32_t lane, uint32_t kind,
			struct merged *m)
{
	double from = roce_svg_x(frame, fmax(m->from, timeline->from));
	double to = roce_svg_x(frame, fmin(m->to, timeline->to));
	char start[ROCE_AXIS_LABEL_MAX], length[ROCE_AXIS_LABEL_MAX];

	if (!m->count)
		return;
	roce_quantity_format(ROCE_QUANTITY_SECONDS, m->from, start);
	roce_quantity_format(ROCE_QUANTITY_SECONDS, m->sum, length);
	/* however short it was, it is seen */
	fprintf(out,
		"<rect class=\"span s%u\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\">"
		"<title>",
		kind, from, frame->top + ROW * lane + 4, fmax(to - from, 0.6), ROW - 8);
	if (kind < timeline->kind_count)
		roce_page_text(out, timeline->kinds[kind]);
	if (m->count > 1)
		fprintf(out, " %u times from %s, for %s in all</title></rect>\n", m->count, start,
			length);
	else
		fprintf(out, " from %s for %s</title></rect>\n", start, length);
	m->count = 0;
}

/* Of one lane and kind, spans come in the order of time. */
static void add_span(FILE *out, const struct roce_svg_frame *frame,
		     const struct roce_chart_timeline *timeline, const struct roce_chart_span *span,
		     struct merged *m)
{
	if (m->count && roce_svg_x(frame, span->from) - roce_svg_x(frame, m->to) > GAP_SEEN)
		draw_merged(out, frame, timeline, span->lane, span->kind, m);
	if (!m->count)
		*m = (struct merged){.from = span->from};
	m->to = span->to;
	m->sum += span->to - span->from;
	m->count++;
}

static void draw_spans(FILE *out, const struct roce_svg_frame *frame,
		       const struct roce_chart_timeline *timeline)
{
	size_t places = timeline->lane_count * ROCE_CHART_SERIES_MAX;
	struct merged *merged = calloc(places + 1, sizeof(*merged));

	if (!merged)
		return;
	for (size_t i = 0; i < timeline->span_count; i++) {
		const struct roce_chart_span *span = &timeline->spans[i];

		if (span->to >= timeline->from && span->from <= timeline->to &&
		    span->lane < timeline->lane_count && span->kind < ROCE_CHART_SERIES_MAX)
			add_span(out, frame, timeline, span,
				 &merged[span->lane * ROCE_CHART_SERIES_MAX + span->kind]);
	}
	for (size_t i = 0; i < places; i++)
		draw_merged(out, frame, timeline, (uint32_t)(i / ROCE_CHART_SERIES_MAX),
			    (uint32_t)(i % ROCE_CHART_SERIES_MAX), &merged[i]);
	free(merged);
}

void roce_chart_timeline(FILE *out, const struct roce_chart_timeline *timeline)
{
	struct roce_svg_frame frame = {
		.left = NAMES,
		.top = TOP,
		.width = WIDE - NAMES - 14,
		.height = ROW * (double)timeline->lane_count,
	};

	roce_axis_fit(&frame.x, ROCE_QUANTITY_SECONDS, false, timeline->from, timeline->to);
	roce_axis_trim(&frame.x, timeline->to);
	roce_svg_begin(out, timeline->title, WIDE, TOP + frame.height + AXIS);
	roce_svg_x_axis(out, &frame, "Time");
	for (size_t i = 0; i < timeline->lane_count; i++) {
		double y = TOP + ROW * (double)i;

		row_name(out, y, timeline->lanes[i]);
		fprintf(out,
			"<line class=\"lane\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
			NAMES, y + ROW / 2, NAMES + frame.width, y + ROW / 2);
	}
	draw_spans(out, &frame, timeline);
	roce_svg_end(out);
	roce_svg_legend(out, timeline->kinds, timeline->kind_count, 0);
	roce_svg_figure_end(out);
}
