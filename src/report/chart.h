/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pictures of numbers, as SVG within a page: curves, distributions, histograms, bars, what held
 * when, and a network with its busy links. Colours come from the page's style by class, so they
 * follow light and dark and survive printing; what a colour says is said by the legend or a title
 * as well.
 *
 * Numbers are in base units (axis.h). Points are drawn in the order given; more of them than pixels
 * are thinned by keeping the lowest and the highest in each column, so no spike is lost.
 */
#ifndef ROCE_REPORT_CHART_H
#define ROCE_REPORT_CHART_H

#include "report/axis.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ROCE_CHART_SERIES_MAX 8u /* more colours than that nobody tells apart */

struct roce_chart_point {
	double x;
	double y;
};

struct roce_chart_series {
	const char *name; /* for the legend */
	const struct roce_chart_point *points;
	size_t count;
	bool is_step; /* a value holds until the next point */
};

/* A horizontal line with a name: a threshold, a theoretical value. */
struct roce_chart_mark {
	const char *name;
	double y;
};

struct roce_chart {
	const char *title;
	const char *x_name;
	const char *y_name;
	enum roce_quantity x_quantity;
	enum roce_quantity y_quantity;
	bool is_x_log;
	bool is_y_log;
	bool has_dots; /* each point is marked: for few of them, or a single one */
	const struct roce_chart_series *series;
	size_t series_count; /* of which ROCE_CHART_SERIES_MAX are drawn, and the rest is counted */
	const struct roce_chart_mark *marks;
	size_t mark_count;
};

void roce_chart_curves(FILE *out, const struct roce_chart *chart);

/* The share of values that are at most x, in percent; `values` are sorted in place. Up to
 * ROCE_CHART_SERIES_MAX sets. */
struct roce_chart_set {
	const char *name;
	double *values;
	size_t count;
};

void roce_chart_distribution(FILE *out, const char *title, const char *x_name,
			     enum roce_quantity x_quantity, bool is_x_log,
			     struct roce_chart_set *sets, size_t set_count);

/* How often something took how long: buckets of different widths on a logarithmic axis. How many is
 * drawn logarithmically as well, so that the one in a million is seen beside the rest. */
struct roce_chart_bucket {
	double from;
	double to; /* > from > 0 */
	double count;
};

/* A vertical line with a name: a percentile, a threshold. */
struct roce_chart_at {
	const char *name;
	double x;
	bool is_limit; /* drawn as a threshold is */
};

struct roce_chart_histogram {
	const char *title;
	const char *x_name;
	enum roce_quantity x_quantity;
	const struct roce_chart_bucket *buckets;
	size_t bucket_count;
	const struct roce_chart_at *marks; /* from left to right */
	size_t mark_count;
};

void roce_chart_histogram(FILE *out, const struct roce_chart_histogram *histogram);

struct roce_chart_bar {
	const char *name;
	double value;
	double mark; /* what it should be; NaN: nothing */
};

void roce_chart_bars(FILE *out, const char *title, enum roce_quantity quantity,
		     const struct roce_chart_bar *bars, size_t count);

/* When something held: a lane for each name, a block for each span, or for several that no pixel
 * tells apart. Spans of one lane and kind come in the order of time. */
struct roce_chart_span {
	uint32_t lane;
	uint32_t kind; /* colour, below ROCE_CHART_SERIES_MAX */
	double from;   /* seconds */
	double to;
};

struct roce_chart_timeline {
	const char *title;
	const char *const *lanes;
	size_t lane_count;
	const char *const *kinds; /* names for the legend */
	size_t kind_count;
	const struct roce_chart_span *spans;
	size_t span_count;
	double from; /* what is drawn, seconds */
	double to;
};

void roce_chart_timeline(FILE *out, const struct roce_chart_timeline *timeline);

/* A network: nodes in rows by rank (0 at the bottom), links coloured by `heat`. */
struct roce_chart_node {
	const char *name;
	uint32_t rank;
	bool is_host;
};

struct roce_chart_link {
	uint32_t a; /* indices of nodes */
	uint32_t b;
	double heat;	  /* 0 to 1, the busier direction */
	bool is_paused;	  /* drawn broken */
	const char *note; /* for the pointer: "83% busy, 12 pauses"; or NULL */
};

struct roce_chart_network {
	const char *title;
	const struct roce_chart_node *nodes;
	size_t node_count;
	const struct roce_chart_link *links;
	size_t link_count;
	bool is_ring; /* rank 1 and above on a circle rather than in rows */
};

void roce_chart_network(FILE *out, const struct roce_chart_network *network);

#endif
