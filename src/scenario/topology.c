/* SPDX-License-Identifier: BSD-2-Clause */
/* Picks the builder, and checks what every network must be. */
#include "scenario/topology.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef void build_fn(const struct roce_topology_conf *c, struct roce_graph *g,
		      struct roce_problems *p);

static build_fn *const builders[ROCE_TOPOLOGY_KIND_COUNT] = {
	[ROCE_TOPOLOGY_STAR] = roce_topology_star,
	[ROCE_TOPOLOGY_DUMBBELL] = roce_topology_dumbbell,
	[ROCE_TOPOLOGY_PARKING_LOT] = roce_topology_parking_lot,
	[ROCE_TOPOLOGY_RING] = roce_topology_ring,
	[ROCE_TOPOLOGY_LEAF_SPINE] = roce_topology_leaf_spine,
	[ROCE_TOPOLOGY_THREE_TIER] = roce_topology_three_tier,
	[ROCE_TOPOLOGY_FAT_TREE] = roce_topology_fat_tree,
	[ROCE_TOPOLOGY_DRAGONFLY] = roce_topology_dragonfly,
	[ROCE_TOPOLOGY_GRAPH] = roce_topology_graph,
};

static void check_hosts(const struct roce_graph *g, uint32_t line, struct roce_problems *problems)
{
	for (uint32_t n = 0; n < g->node_count; n++) {
		uint32_t degree = roce_graph_degree(g, n);
		uint32_t peer = degree ? roce_graph_neighbour(g, n, 0, NULL) : 0;

		if (!g->nodes[n].is_host)
			continue;
		if (degree != 1)
			roce_problem_add(problems, line, "host %s has %u links, expected one",
					 g->nodes[n].name, degree);
		else if (g->nodes[peer].is_host && peer > n && g->node_count > 2)
			roce_problem_add(
				problems, line,
				"hosts %s and %s are linked to each other and to nothing else",
				g->nodes[n].name, g->nodes[peer].name);
	}
	if (g->host_count < 2)
		roce_problem_add(problems, line, "%u hosts, expected at least 2", g->host_count);
}

static void check_connected(const struct roce_graph *g, uint32_t line,
			    struct roce_problems *problems)
{
	uint32_t *distances = malloc(2 * (g->node_count + 1) * sizeof(*distances));
	uint32_t missing = 0;
	uint32_t example = 0;

	if (!distances) {
		roce_problem_add(problems, line, "out of memory");
		return;
	}
	roce_graph_distances(g, 0, distances, distances + g->node_count);
	for (uint32_t n = 0; n < g->node_count; n++) {
		if (distances[n] != ROCE_GRAPH_NONE)
			continue;
		example = missing++ ? example : n;
	}
	if (missing)
		roce_problem_add(problems, line,
				 "the network falls apart: no way from %s to %s (%u of %u nodes)",
				 g->nodes[0].name, g->nodes[example].name, missing, g->node_count);
	free(distances);
}

bool roce_topology_finish(struct roce_graph *g, uint32_t line, struct roce_problems *problems)
{
	uint32_t before = problems->count;
	uint32_t node = 0;
	int r = roce_graph_finish(g, &node);

	if (r == -EEXIST)
		roce_problem_add(problems, line, "two nodes have the name %s", g->nodes[node].name);
	else if (r)
		roce_problem_add(problems, line, "too large: at most %u nodes and %u links",
				 ROCE_GRAPH_NODES_MAX, ROCE_GRAPH_EDGES_MAX);
	if (r)
		return false;
	check_hosts(g, line, problems);
	if (problems->count == before)
		check_connected(g, line, problems);
	return problems->count == before;
}

bool roce_topology_build(const struct roce_topology_conf *conf, struct roce_graph *g,
			 struct roce_problems *problems)
{
	uint32_t before = problems->count;

	builders[conf->kind](conf, g, problems);
	return problems->count == before &&
	       roce_topology_finish(g, conf->where.edges ? conf->where.edges : conf->where.kind,
				    problems);
}
