/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Histograms. Bars begin at half a sample, so that a single one is seen; names of marks stand in
 * rows above the plot, each where it does not run into the one before it.
 */
#include "report/chart.h"

#include "report/page.h"
#include "report/svg.h"

#include <math.h>
#include <string.h>

#define LEFT	  58.0
#define RIGHT	  30.0
#define BOTTOM	  40.0
#define HEAD	  26.0
#define ROW	  14.0
#define ROWS_MAX  4u
#define CHARACTER 6.6 /* width, at the size that marks are written in */
#define FLOOR	  0.5

static void fit(const struct roce_chart_histogram *h, struct roce_svg_frame *frame)
{
	double min = INFINITY, max = 0, most = 1;

	for (size_t i = 0; i < h->bucket_count; i++) {
		min = fmin(min, h->buckets[i].from);
		max = fmax(max, h->buckets[i].to);
		most = fmax(most, h->buckets[i].count);
	}
	for (size_t i = 0; i < h->mark_count; i++) {
		min = fmin(min, h->marks[i].x);
		max = fmax(max, h->marks[i].x);
	}
	roce_axis_fit_close(&frame->x, h->x_quantity, isfinite(min) ? min : 0, max);
	roce_axis_fit(&frame->y, ROCE_QUANTITY_COUNT, true, 1, most);
	frame->y.min = FLOOR;
}

static void draw_buckets(FILE *out, const struct roce_svg_frame *frame,
			 const struct roce_chart_histogram *h)
{
	double bottom = frame->top + frame->height;

	for (size_t i = 0; i < h->bucket_count; i++) {
		const struct roce_chart_bucket *b = &h->buckets[i];
		double left = roce_svg_x(frame, b->from);
		double right = roce_svg_x(frame, b->to);
		double top = roce_svg_y(frame, b->count);
		char from[ROCE_AXIS_LABEL_MAX], to[ROCE_AXIS_LABEL_MAX];

		roce_quantity_format(h->x_quantity, b->from, from);
		roce_quantity_format(h->x_quantity, b->to, to);
		fprintf(out,
			"<rect class=\"bucket s0\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
			"height=\"%.1f\"><title>%s to %s: %.0f</title></rect>\n",
			left, top, fmax(right - left - 0.4, 0.8), fmax(bottom - top, 0), from, to,
			b->count);
	}
}

/* The first row in which there is room at `x`; the last one when there is none. */
static unsigned int row_for(double *ends, double x, double width)
{
	unsigned int row = 0;

	while (row < ROWS_MAX - 1 && ends[row] > x)
		row++;
	ends[row] = x + width;
	return row;
}

static void draw_marks(FILE *out, const struct roce_svg_frame *frame,
		       const struct roce_chart_histogram *h)
{
	double ends[ROWS_MAX] = {0};

	for (size_t i = 0; i < h->mark_count; i++) {
		const struct roce_chart_at *mark = &h->marks[i];
		double x = roce_svg_x(frame, mark->x);
		double width = CHARACTER * (double)strlen(mark->name) + 8;
		bool is_left = x + width > frame->left + frame->width;
		unsigned int row = row_for(ends, is_left ? x - width : x, width);
		double y = HEAD + ROW * row;

		fprintf(out,
			"<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
			"<text class=\"marktext\" x=\"%.1f\" y=\"%.1f\"%s>",
			mark->is_limit ? "limit" : "mark", x, y - 8, x, frame->top + frame->height,
			is_left ? x - 4 : x + 4, y, is_left ? " text-anchor=\"end\"" : "");
		roce_page_text(out, mark->name);
		fputs("</text>\n", out);
	}
}

void roce_chart_histogram(FILE *out, const struct roce_chart_histogram *h)
{
	double top = HEAD + (h->mark_count ? ROW * ROWS_MAX - 6 : 0);
	struct roce_svg_frame frame = {
		.left = LEFT,
		.top = top,
		.width = ROCE_SVG_WIDTH - LEFT - RIGHT,
		.height = ROCE_SVG_HEIGHT - HEAD - BOTTOM,
	};

	fit(h, &frame);
	roce_svg_begin(out, h->title, ROCE_SVG_WIDTH, top + frame.height + BOTTOM);
	roce_svg_x_axis(out, &frame, h->x_name);
	roce_svg_y_axis(out, &frame, "Samples");
	draw_buckets(out, &frame, h);
	draw_marks(out, &frame, h);
	roce_svg_end(out);
	roce_svg_figure_end(out);
}
