/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Curves over an axis, and distributions, which are curves of what share is at most x. The values
 * that the page's script shows under the pointer are read back from the drawn line, so the frame
 * carries the ranges of its axes as attributes.
 */
#include "report/chart.h"

#include "report/page.h"
#include "report/svg.h"

#include <math.h>
#include <stdlib.h>

#define LEFT   58.0
#define TOP    26.0
#define RIGHT  30.0
#define BOTTOM 40.0

struct range {
	double min;
	double max;
	bool is_set;
};

static void widen(struct range *range, double value, bool is_log)
{
	if (!isfinite(value) || (is_log && value <= 0))
		return;
	if (!range->is_set || value < range->min)
		range->min = value;
	if (!range->is_set || value > range->max)
		range->max = value;
	range->is_set = true;
}

static void fit_axes(const struct roce_chart *chart, size_t drawn, struct roce_svg_frame *frame)
{
	struct range x = {0}, y = {0};

	for (size_t i = 0; i < drawn; i++) {
		for (size_t k = 0; k < chart->series[i].count; k++) {
			widen(&x, chart->series[i].points[k].x, chart->is_x_log);
			widen(&y, chart->series[i].points[k].y, chart->is_y_log);
		}
	}
	for (size_t i = 0; i < chart->mark_count; i++)
		widen(&y, chart->marks[i].y, chart->is_y_log);
	*frame = (struct roce_svg_frame){
		.left = LEFT,
		.top = TOP,
		.width = ROCE_SVG_WIDTH - LEFT - RIGHT,
		.height = ROCE_SVG_HEIGHT - TOP - BOTTOM,
	};
	roce_axis_fit(&frame->x, chart->x_quantity, chart->is_x_log, x.min, x.max);
	roce_axis_trim(&frame->x, x.max);
	roce_axis_fit(&frame->y, chart->y_quantity, chart->is_y_log, y.min, y.max);
}

/* The line so far: points of one pixel column are gathered, its first, extremes and last drawn. */
struct pen {
	FILE *out;
	const struct roce_svg_frame *frame;
	bool is_down;
	bool is_step;
	long column;
	double x;
	double first, low, high, last;
};

static void flush_column(struct pen *pen)
{
	if (!pen->is_down)
		return;
	fprintf(pen->out, "%.1f,%.1f ", pen->x, pen->first);
	if (pen->low < pen->first && pen->low < pen->last)
		fprintf(pen->out, "%.1f,%.1f ", pen->x, pen->low);
	if (pen->high > pen->first && pen->high > pen->last)
		fprintf(pen->out, "%.1f,%.1f ", pen->x, pen->high);
	if (pen->last < pen->first || pen->last > pen->first)
		fprintf(pen->out, "%.1f,%.1f ", pen->x, pen->last);
}

static void draw_to(struct pen *pen, double x, double y)
{
	long column = lround(x * 2);

	if (pen->is_down && column == pen->column) {
		pen->low = fmin(pen->low, y);
		pen->high = fmax(pen->high, y);
		pen->last = y;
		return;
	}
	flush_column(pen);
	if (pen->is_down && pen->is_step)
		fprintf(pen->out, "%.1f,%.1f ", x, pen->last);
	*pen = (struct pen){pen->out, pen->frame, true, pen->is_step, column, x, y, y, y, y};
}

static void draw_series(FILE *out, const struct roce_svg_frame *frame,
			const struct roce_chart_series *series, size_t index)
{
	struct pen pen = {.out = out, .frame = frame, .is_step = series->is_step};

	fprintf(out, "<polyline class=\"line s%zu\" data-name=\"", index);
	roce_page_text(out, series->name);
	fputs("\" points=\"", out);
	for (size_t i = 0; i < series->count; i++) {
		const struct roce_chart_point *p = &series->points[i];

		if (isfinite(p->x) && isfinite(p->y))
			draw_to(&pen, roce_svg_x(frame, p->x), roce_svg_y(frame, p->y));
	}
	flush_column(&pen);
	fputs("\"/>\n", out);
}

static void draw_dots(FILE *out, const struct roce_svg_frame *frame,
		      const struct roce_chart_series *series, size_t index)
{
	for (size_t i = 0; i < series->count; i++) {
		const struct roce_chart_point *p = &series->points[i];

		if (isfinite(p->x) && isfinite(p->y))
			fprintf(out,
				"<circle class=\"dot s%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n",
				index, roce_svg_x(frame, p->x), roce_svg_y(frame, p->y));
	}
}

static void draw_marks(FILE *out, const struct roce_svg_frame *frame,
		       const struct roce_chart *chart)
{
	for (size_t i = 0; i < chart->mark_count; i++) {
		double y = roce_svg_y(frame, chart->marks[i].y);

		fprintf(out,
			"<line class=\"mark\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
			"<text class=\"marktext\" x=\"%.1f\" y=\"%.1f\">",
			frame->left, y, frame->left + frame->width, y, frame->left + 5, y - 4);
		roce_page_text(out, chart->marks[i].name);
		fputs("</text>\n", out);
	}
}

/* What the script needs to turn a place into values. */
static void describe_axis(FILE *out, const char *which, const struct roce_axis *axis)
{
	fprintf(out, " data-%s=\"%.9g %.9g %d %.9g %s\"", which, axis->min, axis->max, axis->is_log,
		axis->scale, axis->quantity == ROCE_QUANTITY_SIZE ? "B" : axis->unit);
}

void roce_chart_curves(FILE *out, const struct roce_chart *chart)
{
	size_t drawn = chart->series_count < ROCE_CHART_SERIES_MAX ? chart->series_count
								   : ROCE_CHART_SERIES_MAX;
	const char *names[ROCE_CHART_SERIES_MAX];
	struct roce_svg_frame frame;

	fit_axes(chart, drawn, &frame);
	roce_svg_begin(out, chart->title, ROCE_SVG_WIDTH, ROCE_SVG_HEIGHT);
	roce_svg_x_axis(out, &frame, chart->x_name);
	roce_svg_y_axis(out, &frame, chart->y_name);
	fputs("<g class=\"plot\"", out);
	describe_axis(out, "x", &frame.x);
	describe_axis(out, "y", &frame.y);
	fprintf(out,
		"><rect class=\"area\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
		frame.left, frame.top, frame.width, frame.height);
	for (size_t i = 0; i < drawn; i++) {
		names[i] = chart->series[i].name;
		draw_series(out, &frame, &chart->series[i], i);
		if (chart->has_dots)
			draw_dots(out, &frame, &chart->series[i], i);
	}
	draw_marks(out, &frame, chart);
	fputs("</g>\n", out);
	roce_svg_end(out);
	roce_svg_legend(out, names, drawn, chart->series_count - drawn);
	roce_svg_figure_end(out);
}

/* ---- distributions ---- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* At most this many points of one curve; the ends are among them. */
#define CURVE_POINTS 2000u

/* From 0% at the smallest value to 100% at the largest. */
static size_t distribution_points(struct roce_chart_set *set, struct roce_chart_point *points)
{
	size_t step = set->count / CURVE_POINTS + 1;
	size_t n = 0;

	qsort(set->values, set->count, sizeof(double), compare);
	if (set->count)
		points[n++] = (struct roce_chart_point){set->values[0], 0};
	for (size_t i = 0; i < set->count; i += step)
		points[n++] = (struct roce_chart_point){set->values[i],
							100 * (double)(i + 1) / (double)set->count};
	if (set->count)
		points[n++] = (struct roce_chart_point){set->values[set->count - 1], 100};
	return n;
}

void roce_chart_distribution(FILE *out, const char *title, const char *x_name,
			     enum roce_quantity x_quantity, bool is_x_log,
			     struct roce_chart_set *sets, size_t set_count)
{
	size_t drawn = set_count < ROCE_CHART_SERIES_MAX ? set_count : ROCE_CHART_SERIES_MAX;
	struct roce_chart_series series[ROCE_CHART_SERIES_MAX] = {{0}};
	struct roce_chart_point *points = calloc(drawn * (CURVE_POINTS + 2), sizeof(*points));
	struct roce_chart chart = {
		.title = title,
		.x_name = x_name,
		.y_name = "Share at or below",
		.x_quantity = x_quantity,
		.y_quantity = ROCE_QUANTITY_PERCENT,
		.is_x_log = is_x_log,
		.series = series,
		.series_count = drawn,
	};

	if (!points) {
		roce_page_message(out, ROCE_TONE_BAD, "out of memory for a distribution");
		return;
	}
	for (size_t i = 0; i < drawn; i++) {
		struct roce_chart_point *mine = points + i * (CURVE_POINTS + 2);

		series[i].name = sets[i].name;
		series[i].points = mine;
		series[i].count = distribution_points(&sets[i], mine);
		series[i].is_step = true;
	}
	roce_chart_curves(out, &chart);
	free(points);
}
