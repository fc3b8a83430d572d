/* SPDX-License-Identifier: BSD-2-Clause */
/* How long flows took: distributions by kind of flow, and the slowest ones by name. */
#include "record/page.h"

#include "report/chart.h"
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

#define SLOWEST_SHOWN 15u

struct flow_line {
	uint32_t flow;
	uint32_t group;
	double seconds; /* it took, or is taking */
	double slowdown;
};

struct group {
	const char *name;
	double *seconds;
	double *slowdowns;
	uint32_t count; /* of finished flows */
};

struct flow_table {
	struct flow_line *lines;
	uint32_t count;
	uint32_t ended;
	struct group groups[ROCE_CHART_SERIES_MAX]; /* the last takes all that come too late */
	uint32_t group_count;
};

static uint32_t group_of(struct flow_table *t, const char *name)
{
	for (uint32_t i = 0; i < t->group_count; i++) {
		if (strcmp(t->groups[i].name, name) == 0)
			return i;
	}
	if (t->group_count == ROCE_CHART_SERIES_MAX - 1)
		name = "others";
	if (t->group_count == ROCE_CHART_SERIES_MAX)
		return t->group_count - 1;
	t->groups[t->group_count].name = name;
	return t->group_count++;
}

static void read_flow(const struct roce_record *r, const struct roce_record_page *page,
		      struct flow_table *t, uint32_t flow)
{
	const struct roce_fabric_flow_config *cfg = roce_fabric_flow_config(r->fabric, flow);
	uint64_t ideal_ps = roce_fabric_flow_ideal_ps(r->fabric, flow);
	struct roce_fabric_flow_result result;
	struct flow_line *line = &t->lines[t->count];
	uint64_t end_ps;
	bool is_done;

	roce_fabric_flow_result(r->fabric, flow, &result);
	if (result.started_ps == ROCE_FABRIC_NEVER)
		return;
	is_done = result.state == ROCE_FABRIC_FLOW_DONE && result.done_ps != ROCE_FABRIC_NEVER;
	end_ps = is_done ? result.done_ps : roce_fabric_now_ps(r->fabric);
	line->flow = flow;
	line->group =
		group_of(t, page->tag_name ? page->tag_name(page->tag_ctx, cfg->tag) : "flows");
	line->seconds = (double)(end_ps - result.started_ps) / ROCE_RECORD_PS_PER_S;
	line->slowdown = ideal_ps ? (double)(end_ps - result.started_ps) / (double)ideal_ps : 0;
	t->count++;
	if (is_done) {
		t->ended++;
		t->groups[line->group].count++;
	}
}

static bool is_done(const struct roce_record *r, uint32_t flow)
{
	struct roce_fabric_flow_result result;

	roce_fabric_flow_result(r->fabric, flow, &result);
	return result.state == ROCE_FABRIC_FLOW_DONE;
}

/* The times of each group's finished flows stand together in `all`. */
static void fill_groups(const struct roce_record *r, struct flow_table *t, double *all)
{
	for (uint32_t g = 0; g < t->group_count; g++) {
		t->groups[g].seconds = all;
		t->groups[g].slowdowns = all + t->ended;
		all += t->groups[g].count;
		t->groups[g].count = 0;
	}
	for (uint32_t i = 0; i < t->count; i++) {
		struct group *group = &t->groups[t->lines[i].group];

		if (!is_done(r, t->lines[i].flow))
			continue;
		group->seconds[group->count] = t->lines[i].seconds;
		group->slowdowns[group->count++] = t->lines[i].slowdown;
	}
}

static double at_share(const double *sorted, uint32_t count, double share)
{
	return sorted[(uint32_t)((double)(count - 1) * share + 0.5)];
}

/* Flows that go on by the clock have none. */
static void slowdown_format(double slowdown, char out[ROCE_AXIS_LABEL_MAX])
{
	if (slowdown > 0)
		snprintf(out, ROCE_AXIS_LABEL_MAX, "%.2f", slowdown);
	else
		snprintf(out, ROCE_AXIS_LABEL_MAX, "-");
}

static void group_table(const struct flow_table *t, FILE *out)
{
	static const char *const columns[] = {"Kind", "#Done",	  "#p50",	   "#p90",
					      "#p99", "#Longest", "#Slowdown p50", "#Slowdown p99"};
	static const double shares[] = {0.5, 0.9, 0.99, 1};

	roce_page_table_begin(out, columns, 8);
	for (uint32_t g = 0; g < t->group_count; g++) {
		const struct group *group = &t->groups[g];
		char text[7][ROCE_AXIS_LABEL_MAX];
		const char *cells[8] = {group->name};

		if (!group->count)
			continue;
		snprintf(text[0], sizeof(text[0]), "%u", group->count);
		for (uint32_t i = 0; i < 4; i++)
			roce_quantity_format(ROCE_QUANTITY_SECONDS,
					     at_share(group->seconds, group->count, shares[i]),
					     text[1 + i]);
		slowdown_format(at_share(group->slowdowns, group->count, 0.5), text[5]);
		slowdown_format(at_share(group->slowdowns, group->count, 0.99), text[6]);
		for (uint32_t i = 0; i < 7; i++)
			cells[1 + i] = text[i];
		roce_page_table_row(out, ROCE_TONE_PLAIN, columns, cells, 8);
	}
	roce_page_table_end(out);
}

/* Decades are for values that are decades apart. */
static bool is_wide(const struct roce_chart_set *sets, uint32_t count)
{
	double min = sets[0].values[0], max = min;

	for (uint32_t i = 0; i < count; i++) {
		for (size_t k = 0; k < sets[i].count; k++) {
			min = sets[i].values[k] < min ? sets[i].values[k] : min;
			max = sets[i].values[k] > max ? sets[i].values[k] : max;
		}
	}
	return min > 0 && max > 20 * min;
}

static void distributions(struct flow_table *t, FILE *out)
{
	struct roce_chart_set times[ROCE_CHART_SERIES_MAX], slowdowns[ROCE_CHART_SERIES_MAX];
	uint32_t n = 0, slowed = 0;

	for (uint32_t g = 0; g < t->group_count; g++) {
		struct group *group = &t->groups[g];

		if (!group->count)
			continue;
		times[n++] = (struct roce_chart_set){group->name, group->seconds, group->count};
		if (at_share(group->slowdowns, group->count, 1) > 0)
			slowdowns[slowed++] = (struct roce_chart_set){group->name, group->slowdowns,
								      group->count};
	}
	roce_page_charts_begin(out);
	roce_chart_distribution(out, "Flow completion times", "Completion time",
				ROCE_QUANTITY_SECONDS, is_wide(times, n), times, n);
	if (slowed)
		roce_chart_distribution(out, "Slowdown: time taken over time on an idle network",
					"Slowdown", ROCE_QUANTITY_RATIO, is_wide(slowdowns, slowed),
					slowdowns, slowed);
	roce_page_charts_end(out);
}

static int by_slowdown(const void *a, const void *b)
{
	const struct flow_line *x = a, *y = b;

	if (x->slowdown > y->slowdown || x->slowdown < y->slowdown)
		return x->slowdown > y->slowdown ? -1 : 1;
	return x->flow < y->flow ? -1 : x->flow > y->flow;
}

static void slowest_table(const struct roce_record *r, struct flow_table *t, FILE *out)
{
	static const char *const columns[] = {"#Flow", "From",	    "To",	 "What", "#Bytes",
					      "#Took", "#Slowdown", "#Repeated", "State"};
	uint32_t shown = t->count < SLOWEST_SHOWN ? t->count : SLOWEST_SHOWN;

	qsort(t->lines, t->count, sizeof(*t->lines), by_slowdown);
	fprintf(out, "<h3>The slowest</h3>\n");
	roce_page_table_begin(out, columns, 9);
	for (uint32_t i = 0; i < shown; i++) {
		const struct flow_line *line = &t->lines[i];
		const struct roce_fabric_flow_config *cfg =
			roce_fabric_flow_config(r->fabric, line->flow);
		struct roce_fabric_flow_result result;
		char number[16], what[32], bytes[ROCE_AXIS_LABEL_MAX], took[ROCE_AXIS_LABEL_MAX];
		char ratio[ROCE_AXIS_LABEL_MAX], slowdown[ROCE_AXIS_LABEL_MAX + 2], repeated[24];
		const char *cells[] = {number, r->names[cfg->src], r->names[cfg->dst], what, bytes,
				       took,   slowdown,	   repeated,	       NULL};

		roce_fabric_flow_result(r->fabric, line->flow, &result);
		snprintf(number, sizeof(number), "%u", line->flow);
		snprintf(what, sizeof(what), "%s %s",
			 roce_fabric_transport_str((enum roce_fabric_transport)cfg->transport),
			 roce_fabric_operation_str((enum roce_fabric_operation)cfg->operation));
		roce_quantity_format(ROCE_QUANTITY_BYTES, (double)cfg->bytes, bytes);
		roce_quantity_format(ROCE_QUANTITY_SECONDS, line->seconds, took);
		slowdown_format(line->slowdown, ratio);
		snprintf(slowdown, sizeof(slowdown), "%s%s",
			 line->slowdown > 0 && result.state == ROCE_FABRIC_FLOW_RUNNING ? "> " : "",
			 ratio);
		snprintf(repeated, sizeof(repeated), "%llu",
			 (unsigned long long)result.packets_repeated);
		cells[8] = roce_fabric_flow_state_str((enum roce_fabric_flow_state)result.state);
		roce_page_table_row(out,
				    result.state == ROCE_FABRIC_FLOW_DONE ? ROCE_TONE_PLAIN
									  : ROCE_TONE_BAD,
				    columns, cells, 9);
	}
	roce_page_table_end(out);
}

void roce_page_flows(const struct roce_record *r, const struct roce_record_page *page, FILE *out)
{
	uint32_t flows = roce_fabric_flow_count(r->fabric);
	struct flow_table t = {.lines = calloc((size_t)flows + 1, sizeof(*t.lines))};
	double *times;

	roce_page_section(out, "flows", "Flows",
			  "From the time a flow could start until its sender knew that all had "
			  "arrived.");
	for (uint32_t i = 0; t.lines && i < flows; i++)
		read_flow(r, page, &t, i);
	times = calloc((size_t)t.ended * 2 + 1, sizeof(*times));
	if (!t.lines || !times) {
		roce_page_message(out, ROCE_TONE_BAD, "out of memory for the flows");
	} else if (t.count) {
		fill_groups(r, &t, times);
		if (t.ended) {
			distributions(&t, out);
			group_table(&t, out);
		}
		slowest_table(r, &t, out);
	} else {
		roce_page_message(out, ROCE_TONE_WARN, "No flow has started.");
	}
	free(times);
	free(t.lines);
}
