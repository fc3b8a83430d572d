/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether what was built can lock up, in words. It is no mistake: deadlocks are built on purpose,
 * to be looked at. So it is told, and nothing is refused.
 */
#include "scenario/build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Some seconds. A fat-tree of 8,192 hosts that all send to all takes a tenth of it. */
#define STEPS_MAX UINT64_C(200000000)
#define SHOWN	  12u

int roce_build_find_circle(struct roce_built *built)
{
	int r = roce_fabric_find_circle(built->fabric, STEPS_MAX, &built->circle,
					&built->circle_count);

	built->is_circle_unknown = r == -E2BIG;
	return r == -E2BIG ? 0 : r;
}

static const char *peer_name(const struct roce_built *built, const struct roce_fabric_cycle *at)
{
	struct roce_fabric_port_view view;

	return roce_fabric_port_view(built->fabric, at->node, at->port, &view)
		       ? "?"
		       : built->plan->graph.nodes[view.peer_node].name;
}

static bool is_of_one_prio(const struct roce_built *built)
{
	for (uint32_t i = 1; i < built->circle_count; i++)
		if (built->circle[i].prio != built->circle[0].prio)
			return false;
	return true;
}

static void print_circle(const struct roce_built *built, FILE *out)
{
	bool is_one = is_of_one_prio(built);

	fputs("switches can wait for each other in a circle, a deadlock is possible: ", out);
	for (uint32_t i = 0; i < built->circle_count && i < SHOWN; i++) {
		const struct roce_fabric_cycle *at = &built->circle[i];

		fprintf(out, "%s%s to %s", i ? ", " : "", built->plan->graph.nodes[at->node].name,
			peer_name(built, at));
		if (!is_one)
			fprintf(out, " (priority %u)", at->prio);
	}
	if (built->circle_count > SHOWN)
		fprintf(out, " and %u more", built->circle_count - SHOWN);
	if (is_one)
		fprintf(out, "; all on priority %u", built->circle[0].prio);
}

char *roce_build_circle_text(const struct roce_built *built)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	if (!built->circle_count && !built->is_circle_unknown)
		return NULL;
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	if (built->circle_count)
		print_circle(built, out);
	else
		fputs("too many routes to say whether switches can wait for each other in a circle",
		      out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
