/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pages and pictures as text: what must be in them, and that they are well-formed whatever goes in
 * (each element that is opened is closed, in order, and text is escaped). With UROCE_SAMPLE=FILE
 * the page that these tests make is kept, to be looked at.
 */
#include "report/chart.h"
#include "report/page.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/markup_check.h"

struct text {
	FILE *out;
	char *bytes;
	size_t size;
};

static void open_text(struct text *text)
{
	text->out = open_memstream(&text->bytes, &text->size);
	assert_non_null(text->out);
}

static void finish_text(struct text *text)
{
	assert_int_equal(fclose(text->out), 0);
}

static void draw_curves(FILE *out)
{
	struct roce_chart_point *points = calloc(50000, sizeof(*points));
	struct roce_chart_series series[10];
	struct roce_chart_mark mark = {"XOFF <point>", 250e3};
	struct roce_chart chart = {
		.title = "Queue & pauses",
		.x_name = "Time",
		.y_name = "Queue",
		.x_quantity = ROCE_QUANTITY_SECONDS,
		.y_quantity = ROCE_QUANTITY_BYTES,
		.series = series,
		.series_count = 10,
		.marks = &mark,
		.mark_count = 1,
	};

	assert_non_null(points);
	for (int i = 0; i < 50000; i++)
		points[i] = (struct roce_chart_point){i * 1e-7, 1e5 + 1e5 * sin(i / 3000.0)};
	points[31234].y = 300e3; /* one spike, no wider than a point */
	for (int i = 0; i < 10; i++)
		series[i] = (struct roce_chart_series){.name = i ? "\"other\" > flow" : "flow",
						       .points = points + i,
						       .count = i == 1 ? 0 : 50000 - (size_t)i,
						       .is_step = i % 2};
	roce_chart_curves(out, &chart);
	free(points);
}

/* 50,000 points are thinned, but the one that sticks out is drawn, at the top of its column. */
static void a_spike_survives_thinning(void **state)
{
	struct text text;
	double top = 1e9;
	const char *line;

	(void)state;
	open_text(&text);
	draw_curves(text.out);
	finish_text(&text);
	assert_true(text.size < 400000);
	line = strstr(text.bytes, "points=\"");
	assert_non_null(line);
	for (const char *p = strchr(line, ','); p && p < strchr(line, '/'); p = strchr(p + 1, ','))
		top = fmin(top, atof(p + 1));
	assert_true(top < 60); /* all others are below 100 */
	free(text.bytes);
}

static void curves_beyond_the_colours_are_counted(void **state)
{
	struct text text;

	(void)state;
	open_text(&text);
	draw_curves(text.out);
	finish_text(&text);
	assert_int_equal(count_of(text.bytes, "<polyline"), ROCE_CHART_SERIES_MAX);
	assert_non_null(strstr(text.bytes, "and 2 more, not drawn"));
	assert_non_null(strstr(text.bytes, "XOFF &lt;point&gt;"));
	assert_null(strstr(text.bytes, "\"other\""));
	assert_well_formed(text.bytes);
	free(text.bytes);
}

static void a_single_point_is_seen_by_its_dot(void **state)
{
	static const struct roce_chart_point point = {1 << 30, 3e-6};
	static const struct roce_chart_series series = {
		.name = "one", .points = &point, .count = 1};
	struct roce_chart chart = {
		.title = "One",
		.x_name = "Size",
		.y_name = "Time",
		.x_quantity = ROCE_QUANTITY_SIZE,
		.y_quantity = ROCE_QUANTITY_SECONDS,
		.is_x_log = true,
		.is_y_log = true,
		.has_dots = true,
		.series = &series,
		.series_count = 1,
	};
	struct text text;

	(void)state;
	open_text(&text);
	roce_chart_curves(text.out, &chart);
	finish_text(&text);
	assert_int_equal(count_of(text.bytes, "<circle class=\"dot s0\""), 1);
	assert_null(strstr(text.bytes, "nan"));
	assert_well_formed(text.bytes);
	free(text.bytes);
}

static void draw_distribution(FILE *out)
{
	double a[1000], b[1] = {5e-6}, none[1];
	struct roce_chart_set sets[] = {{"many", a, 1000}, {"one", b, 1}, {"none", none, 0}};

	for (int i = 0; i < 1000; i++)
		a[i] = 1e-6 * (1000 - i);
	roce_chart_distribution(out, "FCT", "Time", ROCE_QUANTITY_SECONDS, true, sets, 3);
	assert_true(a[0] <= a[1] && a[998] <= a[999]);
}

static void a_distribution_ends_at_its_top(void **state)
{
	struct text text;

	(void)state;
	open_text(&text);
	draw_distribution(text.out);
	finish_text(&text);
	assert_int_equal(count_of(text.bytes, "<polyline"), 3);
	/* 100% is the top of the plot: both curves with values reach it */
	assert_int_equal(count_of(text.bytes, ",26.0 \"/>"), 2);
	assert_well_formed(text.bytes);
	free(text.bytes);
}

static void draw_blocks(FILE *out)
{
	static const char *const lanes[] = {"leaf1 port 3 <prio 3>", "leaf2"};
	static const char *const kinds[] = {"paused", "storm"};
	static const struct roce_chart_span spans[] = {{0, 0, 1e-6, 2e-6},
						       {1, 1, 0.5e-3, 9},
						       {0, 0, 5, 6},
						       {7, 0, 0, 1},
						       {1, 0, 1e-9, 1.1e-9}};
	static const struct roce_chart_bar bars[] = {{"TC 3", 60e9, 59e9}, {"idle", 0, NAN}};
	struct roce_chart_timeline timeline = {"Pauses", lanes, 2, kinds, 2, spans, 5, 0, 1e-3};

	roce_chart_timeline(out, &timeline);
	roce_chart_bars(out, "Shares", ROCE_QUANTITY_BITS_RATE, bars, 2);
}

/* Thousands in one pixel are one block that says how many. */
static void spans_of_one_pixel_are_merged(void **state)
{
	static const char *const lanes[] = {"port"}, *const kinds[] = {"paused"};
	static struct roce_chart_span spans[10000];
	struct roce_chart_timeline timeline = {"Pauses", lanes, 1, kinds, 1, spans, 10000, 0, 2};
	struct text text;

	(void)state;
	for (int i = 0; i < 9999; i++)
		spans[i] = (struct roce_chart_span){0, 0, i * 1e-4, i * 1e-4 + 5e-5};
	spans[9999] = (struct roce_chart_span){0, 0, 1.5, 1.6};
	open_text(&text);
	roce_chart_timeline(text.out, &timeline);
	finish_text(&text);
	assert_int_equal(count_of(text.bytes, "<rect class=\"span"), 2);
	assert_non_null(strstr(text.bytes, "paused 9999 times from 0, for 500 ms in all"));
	assert_non_null(strstr(text.bytes, "paused from 1.50 s for 100 ms"));
	free(text.bytes);
}

/* Spans outside the time or the lanes are not drawn, one of no width is. */
static void spans_are_drawn_within_their_lanes(void **state)
{
	struct text text;

	(void)state;
	open_text(&text);
	draw_blocks(text.out);
	finish_text(&text);
	assert_int_equal(count_of(text.bytes, "<rect class=\"span"), 3);
	assert_int_equal(count_of(text.bytes, "width=\"0.60\""), 1);
	assert_non_null(strstr(text.bytes, "60.0 Gb/s"));
	assert_well_formed(text.bytes);
	free(text.bytes);
}

static void draw_histogram(FILE *out)
{
	static const struct roce_chart_bucket buckets[] = {
		{2e-6, 2.5e-6, 9000}, {2.5e-6, 3e-6, 999}, {40e-6, 48e-6, 1}};
	static const struct roce_chart_at marks[] = {
		{"p50", 2.2e-6, false}, {"p99", 2.9e-6, false}, {"<limit>", 30e-6, true}};
	struct roce_chart_histogram h = {"write & read", "Time", ROCE_QUANTITY_SECONDS, buckets, 3,
					 marks,		 3};

	roce_chart_histogram(out, &h);
}

static double attribute_of(const char *element, const char *name)
{
	const char *at = strstr(element, name);

	assert_non_null(at);
	return atof(at + strlen(name));
}

/* One sample beside 9000 has a bar that is seen. */
static void a_single_sample_is_seen(void **state)
{
	struct text text;
	const char *last;

	(void)state;
	open_text(&text);
	draw_histogram(text.out);
	finish_text(&text);
	assert_int_equal(count_of(text.bytes, "<rect class=\"bucket"), 3);
	assert_int_equal(count_of(text.bytes, "<line class=\"mark\""), 2);
	assert_int_equal(count_of(text.bytes, "<line class=\"limit\""), 1);
	assert_non_null(strstr(text.bytes, "40.0 us to 48.0 us: 1<"));
	last = strstr(text.bytes, "<rect class=\"bucket");
	last = strstr(last + 1, "<rect class=\"bucket");
	last = strstr(last + 1, "<rect class=\"bucket");
	assert_true(attribute_of(last, " height=\"") > 5);
	assert_true(attribute_of(last, " width=\"") > 5);
	assert_well_formed(text.bytes);
	free(text.bytes);
}

/* Nothing at all, and all in one place, are pictures too. */
static void a_histogram_of_nothing_is_drawn(void **state)
{
	static const struct roce_chart_bucket one = {5e-6, 5.5e-6, 3};
	struct roce_chart_histogram h = {"none", "Time", ROCE_QUANTITY_SECONDS, &one, 0, NULL, 0};

	(void)state;
	for (size_t n = 0; n < 2; n++) {
		struct text text;

		h.bucket_count = n;
		open_text(&text);
		roce_chart_histogram(text.out, &h);
		finish_text(&text);
		assert_int_equal(count_of(text.bytes, "<rect class=\"bucket"), n);
		assert_null(strstr(text.bytes, "nan"));
		assert_null(strstr(text.bytes, "inf"));
		assert_well_formed(text.bytes);
		free(text.bytes);
	}
}

static void draw_network(FILE *out, bool is_ring, uint32_t switches)
{
	struct roce_chart_node *nodes = calloc(switches * 3, sizeof(*nodes));
	struct roce_chart_link *links = calloc(switches * 3, sizeof(*links));
	struct roce_chart_network net = {
		is_ring ? "Ring" : "Rows", nodes, switches * 3, links, switches * 3, is_ring};

	assert_non_null(nodes);
	assert_non_null(links);
	for (uint32_t i = 0; i < switches * 3; i++) {
		bool is_host = i >= switches;

		nodes[i] = (struct roce_chart_node){is_host ? "h&" : "s", !is_host, is_host};
		links[i] = (struct roce_chart_link){i, is_host ? i % switches : (i + 1) % switches,
						    i / (switches * 3.0), !is_host, "50% busy"};
	}
	roce_chart_network(out, &net);
	free(nodes);
	free(links);
}

static void a_network_shows_every_node_and_link(void **state)
{
	(void)state;
	for (uint32_t switches = 1; switches < 90; switches += 44) {
		for (int is_ring = 0; is_ring < 2; is_ring++) {
			struct text text;

			open_text(&text);
			draw_network(text.out, is_ring, switches);
			finish_text(&text);
			assert_int_equal(count_of(text.bytes, "<circle"), 2 * switches);
			assert_int_equal(count_of(text.bytes, "<line class=\"link"), 3 * switches);
			assert_int_equal(count_of(text.bytes, " paused\""), switches);
			assert_null(strstr(text.bytes, "nan"));
			assert_well_formed(text.bytes);
			free(text.bytes);
		}
	}
}

static void a_whole_page_is_well_formed(void **state)
{
	static const char *const columns[] = {"Port", "#Sent", "~Remark"};
	static const char *const row[] = {"leaf<1>", "1,234", NULL};
	const char *sample = getenv("UROCE_SAMPLE");
	struct text text;

	(void)state;
	open_text(&text);
	roce_page_begin(text.out, "A <title> & more", "16 hosts, seed 1");
	roce_page_tiles_begin(text.out);
	roce_page_tile(text.out, ROCE_TONE_GOOD, "96.4 Gb/s", "Goodput", "of 100 Gb/s");
	roce_page_tile(text.out, ROCE_TONE_BAD, "312", "Drops", NULL);
	roce_page_tiles_end(text.out);
	roce_page_section(text.out, "pictures", "Pictures", "All kinds.");
	roce_page_charts_begin(text.out);
	draw_curves(text.out);
	draw_distribution(text.out);
	draw_blocks(text.out);
	roce_page_charts_end(text.out);
	draw_network(text.out, false, 4);
	draw_network(text.out, true, 4);
	roce_page_table_begin(text.out, columns, 3);
	roce_page_table_row(text.out, ROCE_TONE_WARN, columns, row, 3);
	roce_page_table_end(text.out);
	roce_page_message(text.out, ROCE_TONE_BAD, "s0 -> s1 -> s0");
	roce_page_subsection(text.out, "Less & less");
	roce_page_finding_begin(text.out, ROCE_TONE_BAD, "latency/<x>", "beside");
	roce_page_field(text.out, "Reason", "a < b");
	roce_page_command(text.out, "Again", "run --only 'x' && echo");
	roce_page_fields_end(text.out);
	draw_histogram(text.out);
	roce_page_finding_end(text.out);
	roce_page_end(text.out, "end");
	finish_text(&text);
	assert_well_formed(text.bytes);
	assert_non_null(strstr(text.bytes, "A &lt;title&gt; &amp; more"));
	assert_non_null(strstr(text.bytes, "<td class=\"number\">1,234</td>"));
	assert_non_null(strstr(text.bytes, "<th class=\"prose\">Remark</th>"));
	assert_non_null(strstr(text.bytes, "<code>run --only 'x' &amp;&amp; echo</code>"));
	assert_null(strstr(text.bytes, "http")); /* nothing is fetched */
	if (sample) {
		FILE *file = fopen(sample, "w");

		assert_non_null(file);
		assert_int_equal(fwrite(text.bytes, 1, text.size, file), text.size);
		assert_int_equal(fclose(file), 0);
	}
	free(text.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_spike_survives_thinning),
		cmocka_unit_test(curves_beyond_the_colours_are_counted),
		cmocka_unit_test(a_single_point_is_seen_by_its_dot),
		cmocka_unit_test(a_distribution_ends_at_its_top),
		cmocka_unit_test(spans_of_one_pixel_are_merged),
		cmocka_unit_test(spans_are_drawn_within_their_lanes),
		cmocka_unit_test(a_single_sample_is_seen),
		cmocka_unit_test(a_histogram_of_nothing_is_drawn),
		cmocka_unit_test(a_network_shows_every_node_and_link),
		cmocka_unit_test(a_whole_page_is_well_formed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
