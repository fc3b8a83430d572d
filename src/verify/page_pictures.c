/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pictures of a group. Cases whose names differ in a number at their end (write_64, write_1024) are
 * of one family: a family of one has its histogram, one of several has its tails in one picture,
 * and its values over the size in another. Curves that a case brought along are drawn as they are.
 */
#include "verify/page_internal.h"

#include "report/chart.h"
#include "verify/kind.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAMILIES_MAX 64u
#define CURVES_MAX   256u /* of a case; a peer may send a million */

struct family {
	const char *name; /* of the first of them, in the group */
	size_t length;	  /* without the number at its end */
	const struct roce_verify_rollup *members[ROCE_CHART_SERIES_MAX];
	uint32_t count;
	uint32_t left_out; /* for which there is no room; the legend counts them */
};

/* ---- units ---- */

static enum roce_quantity quantity_of(const char *unit, double *out_scale)
{
	static const struct {
		const char *unit;
		enum roce_quantity quantity;
		double scale;
	} units[] = {
		{"us", ROCE_QUANTITY_SECONDS, 1e-6},	{"ns", ROCE_QUANTITY_SECONDS, 1e-9},
		{"ms", ROCE_QUANTITY_SECONDS, 1e-3},	{"s", ROCE_QUANTITY_SECONDS, 1},
		{"Gb/s", ROCE_QUANTITY_BITS_RATE, 1e9}, {"Mb/s", ROCE_QUANTITY_BITS_RATE, 1e6},
		{"b/s", ROCE_QUANTITY_BITS_RATE, 1},	{"%", ROCE_QUANTITY_PERCENT, 1},
		{"B", ROCE_QUANTITY_SIZE, 1},		{"KiB", ROCE_QUANTITY_SIZE, 1024},
	};

	for (size_t i = 0; unit && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(units[i].unit, unit) == 0) {
			*out_scale = units[i].scale;
			return units[i].quantity;
		}
	}
	*out_scale = 1;
	return ROCE_QUANTITY_COUNT;
}

/* ---- histograms ---- */

static size_t take_buckets(const json_t *histogram, double scale, struct roce_chart_bucket *out,
			   size_t max)
{
	const json_t *buckets = json_object_get(histogram, "buckets");
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(buckets) && count < max; i++) {
		const json_t *b = json_array_get(buckets, i);
		struct roce_chart_bucket *to = &out[count];

		to->from = json_number_value(json_array_get(b, 0)) * scale;
		to->to = json_number_value(json_array_get(b, 1)) * scale;
		to->count = json_number_value(json_array_get(b, 2));
		/* a logarithmic axis has no zero: what took nothing is drawn at its start */
		if (to->from <= 0)
			to->from = to->to / 2;
		if (to->to > to->from && to->count > 0)
			count++;
	}
	return count;
}

static const char *const percentiles[] = {"p50", "p90", "p99", "p99.9", "p99.99"};

#define MARKS_MAX (sizeof(percentiles) / sizeof(percentiles[0]) + 2)

static int compare_marks(const void *a, const void *b)
{
	double x = ((const struct roce_chart_at *)a)->x;
	double y = ((const struct roce_chart_at *)b)->x;

	return x < y ? -1 : x > y;
}

static bool is_of_time(const struct roce_verify_outcome *o)
{
	return o->c->kind->numbers[o->c->value].unit == ROCE_VERIFY_TIME;
}

static size_t take_marks(const struct roce_verify_outcome *o, double scale,
			 struct roce_chart_at *out)
{
	size_t count = 0;

	for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++) {
		const json_t *value = json_object_get(o->values, percentiles[i]);

		if (value)
			out[count++] = (struct roce_chart_at){
				.name = percentiles[i], .x = json_number_value(value) * scale};
	}
	if (o->threshold && o->threshold->has_most && is_of_time(o))
		out[count++] = (struct roce_chart_at){
			.name = "threshold",
			.x = o->threshold->most * (o->threshold->of ? o->floor : 1) * scale,
			.is_limit = true,
		};
	qsort(out, count, sizeof(*out), compare_marks);
	return count;
}

void roce_verify_page_histogram(const struct roce_verify_outcome *o, FILE *out)
{
	size_t max = json_array_size(json_object_get(o->histogram, "buckets"));
	struct roce_chart_bucket *buckets = calloc(max + 1, sizeof(*buckets));
	struct roce_chart_at marks[MARKS_MAX];
	struct roce_chart_histogram histogram = {
		.title = o->c->name,
		.x_name = "Time",
		.buckets = buckets,
		.marks = marks,
	};
	double scale;

	if (!buckets)
		return;
	histogram.x_quantity =
		quantity_of(json_string_value(json_object_get(o->histogram, "unit")), &scale);
	if (histogram.x_quantity != ROCE_QUANTITY_SECONDS)
		histogram.x_name = "Value";
	histogram.bucket_count = take_buckets(o->histogram, scale, buckets, max);
	histogram.mark_count = take_marks(o, scale, marks);
	if (histogram.bucket_count)
		roce_chart_histogram(out, &histogram);
	free(buckets);
}

/* ---- tails: what share took longer than x ---- */

static size_t tail_points(const struct roce_chart_bucket *buckets, size_t count,
			  struct roce_chart_point *out)
{
	double sum = 0, left;

	for (size_t i = 0; i < count; i++)
		sum += buckets[i].count;
	left = sum;
	for (size_t i = 0; i < count; i++) {
		out[i] = (struct roce_chart_point){buckets[i].from, 100 * left / sum};
		left -= buckets[i].count;
	}
	return count;
}

static void draw_tails(const struct family *family, FILE *out)
{
	struct roce_chart_series series[ROCE_CHART_SERIES_MAX] = {{0}};
	struct roce_chart_point *points[ROCE_CHART_SERIES_MAX] = {NULL};
	char title[160];
	struct roce_chart chart = {
		.title = title,
		.x_name = "Time",
		.y_name = "Share that took longer",
		.x_quantity = ROCE_QUANTITY_SECONDS,
		.y_quantity = ROCE_QUANTITY_PERCENT,
		.is_x_log = true,
		.is_y_log = true,
		.series = series,
		.series_count = family->count + family->left_out,
	};

	snprintf(title, sizeof(title), "%.*s: how long the slow ones took", (int)family->length,
		 family->name);
	for (uint32_t i = 0; i < family->count; i++) {
		const struct roce_verify_outcome *o = family->members[i]->shown;
		size_t max = json_array_size(json_object_get(o->histogram, "buckets"));
		struct roce_chart_bucket *buckets = calloc(max + 1, sizeof(*buckets));
		double scale;

		points[i] = calloc(max + 1, sizeof(**points));
		chart.x_quantity = quantity_of(
			json_string_value(json_object_get(o->histogram, "unit")), &scale);
		series[i].name = roce_verify_name_in_group(o->c->name);
		series[i].is_step = true;
		series[i].points = points[i];
		if (buckets && points[i])
			series[i].count = tail_points(
				buckets, take_buckets(o->histogram, scale, buckets, max),
				points[i]);
		free(buckets);
	}
	roce_chart_curves(out, &chart);
	for (uint32_t i = 0; i < family->count; i++)
		free(points[i]);
}

/* ---- families ---- */

/* How much of a name is left without "_64", "_4k", "_1MiB" at its end. */
static size_t stem_length(const char *name)
{
	const char *last = strrchr(name, '_');
	const char *p = last ? last + 1 : name;

	if (!last || !isdigit((unsigned char)*p))
		return strlen(name);
	while (isdigit((unsigned char)*p))
		p++;
	return strlen(p) <= 3 ? (size_t)(last - name) : strlen(name);
}

static struct family *family_of(struct family *families, uint32_t *count, const char *name)
{
	size_t length = stem_length(name);

	for (uint32_t i = 0; i < *count; i++) {
		if (families[i].length == length && strncmp(families[i].name, name, length) == 0)
			return &families[i];
	}
	if (*count == FAMILIES_MAX)
		return NULL;
	families[*count] = (struct family){.name = name, .length = length};
	return &families[(*count)++];
}

typedef bool roce_verify_filter_fn(const struct roce_verify_rollup *r);

static bool has_histogram(const struct roce_verify_rollup *r)
{
	return r->shown->histogram != NULL;
}

static bool has_size(const struct roce_verify_rollup *r)
{
	return r->value_count && json_is_number(json_object_get(r->c->parameters, "size"));
}

static uint32_t find_families(const struct roce_verify_page_group *group,
			      roce_verify_filter_fn *is_wanted, struct family *families)
{
	uint32_t count = 0;

	for (uint32_t i = group->first; i < group->end; i++) {
		const struct roce_verify_rollup *r = &group->pages->cases[i];
		struct family *family =
			is_wanted(r)
				? family_of(families, &count, roce_verify_name_in_group(r->c->name))
				: NULL;

		if (family && family->count < ROCE_CHART_SERIES_MAX)
			family->members[family->count++] = r;
		else if (family)
			family->left_out++;
	}
	return count;
}

static void draw_distributions(const struct roce_verify_page_group *group, FILE *out)
{
	static struct family families[FAMILIES_MAX];
	uint32_t count = find_families(group, has_histogram, families);

	if (!count)
		return;
	roce_page_subsection(out, "Distributions");
	roce_page_charts_begin(out);
	for (uint32_t i = 0; i < count; i++) {
		if (families[i].count == 1)
			roce_verify_page_histogram(families[i].members[0]->shown, out);
		else
			draw_tails(&families[i], out);
	}
	roce_page_charts_end(out);
}

/* ---- over the size ---- */

#define SIZES_MAX 32u

struct sizes {
	struct roce_chart_series series[ROCE_CHART_SERIES_MAX];
	struct roce_chart_point points[ROCE_CHART_SERIES_MAX][SIZES_MAX];
	char names[ROCE_CHART_SERIES_MAX][64];
	uint32_t count;
};

/* Beyond what one picture can show the table of numbers has them. */
static void add_to_series(struct sizes *sizes, const struct roce_verify_rollup *r, double scale)
{
	const char *name = roce_verify_name_in_group(r->c->name);
	size_t length = stem_length(name);
	double size = json_number_value(json_object_get(r->c->parameters, "size"));
	uint32_t i = 0;

	length = length < sizeof(sizes->names[0]) ? length : sizeof(sizes->names[0]) - 1;
	while (i < sizes->count &&
	       (strlen(sizes->names[i]) != length || strncmp(sizes->names[i], name, length) != 0))
		i++;
	if (i == ROCE_CHART_SERIES_MAX)
		return;
	if (i == sizes->count) {
		snprintf(sizes->names[i], sizeof(sizes->names[i]), "%.*s", (int)length, name);
		sizes->series[i] = (struct roce_chart_series){.name = sizes->names[i],
							      .points = sizes->points[i]};
		sizes->count++;
	}
	if (sizes->series[i].count < SIZES_MAX)
		sizes->points[i][sizes->series[i].count++] =
			(struct roce_chart_point){size, r->median * scale};
}

static int compare_points(const void *a, const void *b)
{
	double x = ((const struct roce_chart_point *)a)->x;
	double y = ((const struct roce_chart_point *)b)->x;

	return x < y ? -1 : x > y;
}

/* Series of fewer than three sizes are no curves; what is left stands first. */
static void keep_curves(struct sizes *sizes)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < sizes->count; i++) {
		if (sizes->series[i].count < 3)
			continue;
		qsort(sizes->points[i], sizes->series[i].count, sizeof(sizes->points[i][0]),
		      compare_points);
		sizes->series[kept++] = sizes->series[i];
	}
	sizes->count = kept;
}

static void draw_sizes_in(const struct roce_verify_page_group *group, enum roce_verify_unit unit,
			  FILE *out)
{
	static struct sizes sizes;
	const char *name = roce_verify_unit_str(unit);
	double scale;
	enum roce_quantity quantity = quantity_of(name, &scale);
	bool is_time = quantity == ROCE_QUANTITY_SECONDS;
	struct roce_chart chart = {
		.title = is_time ? "Time over size" : "Rate over size",
		.x_name = "Size of a message",
		.y_name = is_time ? "Time" : "Rate",
		.x_quantity = ROCE_QUANTITY_SIZE,
		.y_quantity = quantity,
		.is_x_log = true,
		.is_y_log = is_time,
		.has_dots = true,
		.series = sizes.series,
	};

	memset(&sizes, 0, sizeof(sizes));
	for (uint32_t i = group->first; i < group->end; i++) {
		const struct roce_verify_rollup *r = &group->pages->cases[i];

		if (has_size(r) && r->c->kind->numbers[r->c->value].unit == unit)
			add_to_series(&sizes, r, scale);
	}
	keep_curves(&sizes);
	chart.series_count = sizes.count;
	if (sizes.count)
		roce_chart_curves(out, &chart);
}

/* ---- curves of the cases themselves ---- */

static void draw_case_curves(const struct roce_verify_outcome *o, const char *unit, FILE *out)
{
	struct roce_chart_series series[ROCE_CHART_SERIES_MAX] = {{0}};
	struct roce_chart_point *points[ROCE_CHART_SERIES_MAX] = {NULL};
	const char *x_name = NULL;
	double x_scale = 1, y_scale;
	struct roce_chart chart = {
		.title = o->c->name,
		.y_name = "Value",
		.y_quantity = quantity_of(unit, &y_scale),
		.is_x_log = true,
		.has_dots = true,
		.series = series,
	};

	for (size_t i = 0; i < json_array_size(o->curves) && i < CURVES_MAX; i++) {
		const json_t *curve = json_array_get(o->curves, i);
		const json_t *given = json_object_get(curve, "points");
		const char *its = json_string_value(json_object_get(curve, "unit"));
		size_t n = chart.series_count;

		if (strcmp(its ? its : "", unit) != 0 || n == ROCE_CHART_SERIES_MAX)
			continue;
		x_name = json_string_value(json_object_get(curve, "x"));
		chart.x_quantity =
			quantity_of(json_string_value(json_object_get(curve, "x_unit")), &x_scale);
		points[n] = calloc(json_array_size(given) + 1, sizeof(**points));
		for (size_t k = 0; points[n] && k < json_array_size(given); k++) {
			const json_t *pair = json_array_get(given, k);
			double x = json_number_value(json_array_get(pair, 0)) * x_scale;

			chart.is_x_log &= x > 0;
			points[n][series[n].count++] = (struct roce_chart_point){
				x, json_number_value(json_array_get(pair, 1)) * y_scale};
		}
		series[n].points = points[n];
		series[n].name = json_string_value(json_object_get(curve, "name"));
		series[n].name = series[n].name ? series[n].name : "";
		chart.series_count++;
	}
	chart.x_name = x_name ? x_name : "";
	chart.y_name = chart.y_quantity == ROCE_QUANTITY_SECONDS     ? "Time"
		       : chart.y_quantity == ROCE_QUANTITY_BITS_RATE ? "Rate"
		       : chart.y_quantity == ROCE_QUANTITY_PERCENT   ? "Share"
		       : *unit					     ? unit
								     : "Value";
	/* times over sizes span decades, as the sizes do */
	chart.is_y_log = chart.is_x_log && chart.y_quantity == ROCE_QUANTITY_SECONDS;
	if (chart.series_count)
		roce_chart_curves(out, &chart);
	for (size_t i = 0; i < chart.series_count; i++)
		free(points[i]);
}

/* One picture for each unit, in the order in which they come. */
static void draw_all_case_curves(const struct roce_verify_outcome *o, FILE *out)
{
	for (size_t i = 0; i < json_array_size(o->curves) && i < CURVES_MAX; i++) {
		const char *unit =
			json_string_value(json_object_get(json_array_get(o->curves, i), "unit"));
		bool is_new = true;

		for (size_t k = 0; k < i; k++) {
			const char *before = json_string_value(
				json_object_get(json_array_get(o->curves, k), "unit"));

			is_new &= strcmp(before ? before : "", unit ? unit : "") != 0;
		}
		if (is_new)
			draw_case_curves(o, unit ? unit : "", out);
	}
}

static void draw_curves(const struct roce_verify_page_group *group, FILE *out)
{
	static const enum roce_verify_unit units[] = {ROCE_VERIFY_TIME, ROCE_VERIFY_RATE,
						      ROCE_VERIFY_FREQUENCY};

	roce_page_charts_begin(out);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		draw_sizes_in(group, units[i], out);
	for (uint32_t i = group->first; i < group->end; i++)
		draw_all_case_curves(group->pages->cases[i].shown, out);
	roce_page_charts_end(out);
}

void roce_verify_page_pictures(const struct roce_verify_page_group *group, FILE *out)
{
	draw_curves(group, out);
	draw_distributions(group, out);
}
