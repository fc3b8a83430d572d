/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flows of which nothing arrives, since each switch takes one from a frame's hop limit: on a ring
 * or a line of very many switches, or in a loop of routes. Such a run looks like heavy loss and
 * ends with retries. Loops are built on purpose, to be looked at, so it is told and nothing is
 * refused.
 */
#include "scenario/build.h"

#include <stdio.h>

char *roce_build_way_text(const struct roce_built *built)
{
	uint32_t flows = roce_fabric_flow_count(built->fabric);
	const struct roce_fabric_flow_config *first = NULL;
	uint32_t count = 0;
	char *text;

	for (uint32_t i = 0; i < flows; i++) {
		if (roce_fabric_flow_arrives(built->fabric, i))
			continue;
		if (!count++)
			first = roce_fabric_flow_config(built->fabric, i);
	}
	if (!first ||
	    asprintf(&text,
		     "%u of %u flows never arrive, %s to %s is the first: there or back they pass "
		     "64 switches, where frames with a hop limit of 64 are dropped",
		     count, flows, built->plan->graph.nodes[first->src].name,
		     built->plan->graph.nodes[first->dst].name) < 0)
		return NULL;
	return text;
}
