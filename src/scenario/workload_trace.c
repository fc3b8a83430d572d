/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows from a CSV file: start_us,src,dst,bytes[,prio]; '#' and a first line of names are passed
 * over. */
#include "scenario/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX 5

/* Cuts a line at its commas; how many there are. */
static uint32_t split_line(char *line, char *fields[FIELDS_MAX])
{
	uint32_t count = 0;

	line[strcspn(line, "#\r")] = '\0';
	if (!line[strspn(line, " \t")])
		return 0;
	while (line && count < FIELDS_MAX) {
		char *comma = strchr(line, ',');

		if (comma)
			*comma = '\0';
		line += strspn(line, " \t");
		line[strcspn(line, " \t")] = '\0';
		fields[count++] = line;
		line = comma ? comma + 1 : NULL;
	}
	return line ? FIELDS_MAX + 1 : count;
}

/* By name, or by number among the hosts. */
static uint32_t find_host(const struct roce_graph *g, const char *text)
{
	uint32_t node = roce_graph_find(g, text);
	uint64_t number;

	if (node != ROCE_GRAPH_NONE && g->nodes[node].is_host)
		return node;
	if (node == ROCE_GRAPH_NONE && roce_unit_parse(ROCE_UNIT_COUNT, text, &number) == 0 &&
	    number < g->host_count)
		return (uint32_t)number;
	return ROCE_GRAPH_NONE;
}

static void add_line(struct roce_workload *w, char *line, uint32_t number,
		     struct roce_problems *problems)
{
	const struct roce_graph *g = w->in->graph;
	char *fields[FIELDS_MAX];
	uint32_t count = split_line(line, fields);
	uint64_t start;
	uint64_t bytes;
	uint64_t prio = w->conf->prio;

	if (count == 0 || (number == 1 && strncmp(fields[0], "start", 5) == 0))
		return;
	if (count < 4 || count > FIELDS_MAX)
		roce_problem_add(problems, number, "expected start_us,src,dst,bytes[,prio]");
	else if (roce_unit_parse(ROCE_UNIT_TIME_US, fields[0], &start))
		roce_problem_add(problems, number, "start: found \"%.40s\", expected %s", fields[0],
				 roce_unit_expected(ROCE_UNIT_TIME_US));
	else if (find_host(g, fields[1]) == ROCE_GRAPH_NONE ||
		 find_host(g, fields[2]) == ROCE_GRAPH_NONE)
		roce_problem_add(problems, number, "no host %.40s",
				 fields[find_host(g, fields[1]) == ROCE_GRAPH_NONE ? 1 : 2]);
	else if (find_host(g, fields[1]) == find_host(g, fields[2]))
		roce_problem_add(problems, number, "from and to are one host, %.40s", fields[1]);
	else if (roce_unit_parse(ROCE_UNIT_BYTES, fields[3], &bytes) || bytes == 0)
		roce_problem_add(problems, number, "bytes: found \"%.40s\", expected %s", fields[3],
				 roce_unit_expected(ROCE_UNIT_BYTES));
	else if (count == 5 && (roce_unit_parse(ROCE_UNIT_COUNT, fields[4], &prio) || prio > 7))
		roce_problem_add(problems, number, "prio: found \"%.40s\", expected 0 to 7",
				 fields[4]);
	else {
		if (count == 5) {
			w->flow.prio = (uint8_t)prio;
			w->flow.dscp = prio == 3 ? 26 : (uint8_t)(prio * 8);
		}
		roce_workload_add(w, find_host(g, fields[1]), find_host(g, fields[2]), bytes,
				  w->conf->start + start, ROCE_FLOW_NONE);
	}
}

void roce_workload_trace(struct roce_workload *w)
{
	char path[512];
	struct roce_problems inner;
	uint32_t number = 1;
	uint32_t before = w->flows->count;
	char *text;

	if (!*w->conf->file) {
		roce_problem_add(w->problems, w->conf->where.kind,
				 "file: none, expected a CSV file");
		return;
	}
	text = roce_workload_read(w, w->conf->file, w->conf->where.file, path, sizeof(path));
	roce_problems_init(&inner, path);
	for (char *line = text; line && *line && inner.count == 0 && !w->flows->is_full; number++) {
		char *end = strchr(line, '\n');

		if (end)
			*end = '\0';
		add_line(w, line, number, &inner);
		line = end ? end + 1 : NULL;
	}
	if (text && !inner.count && w->flows->count == before)
		roce_problem_add(&inner, number > 1 ? number - 1 : 1,
				 "the file ends without a flow, expected "
				 "start_us,src,dst,bytes[,prio]");
	if (inner.count)
		roce_problem_add(w->problems, w->conf->where.file, "%.250s", inner.text[0]);
	free(text);
}
