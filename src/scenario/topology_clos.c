/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trees of switches: leaf-spine, three tiers, fat-tree. Levels are ranks (1 next to the hosts), so
 * that up-down routing knows what is up.
 */
#include "scenario/topology.h"

/* Hosts h0..., `per_switch` at each of the `count` switches that follow. */
static void add_edge_level(struct roce_graph *g, uint64_t count, uint64_t per_switch,
			   const char *prefix)
{
	uint32_t hosts = (uint32_t)(count * per_switch);

	for (uint32_t i = 0; i < hosts; i++)
		roce_graph_add_node(g, true, 0, "h%u", i);
	for (uint32_t i = 0; i < count; i++)
		roce_graph_add_node(g, false, 1, "%s%u", prefix, i);
	for (uint32_t i = 0; i < hosts; i++)
		roce_graph_add_edge(g, i, hosts + i / (uint32_t)per_switch, ROCE_EDGE_HOST);
}

/* So many as can be: products of what the keys allow are checked before anything is made. */
static bool fits(uint64_t nodes, uint64_t edges, uint32_t line, struct roce_problems *p)
{
	if (nodes <= ROCE_GRAPH_NODES_MAX && edges <= ROCE_GRAPH_EDGES_MAX)
		return true;
	roce_problem_add(p, line,
			 "too large: %llu nodes and %llu links, expected at most %u and %u",
			 (unsigned long long)nodes, (unsigned long long)edges, ROCE_GRAPH_NODES_MAX,
			 ROCE_GRAPH_EDGES_MAX);
	return false;
}

void roce_topology_leaf_spine(const struct roce_topology_conf *c, struct roce_graph *g,
			      struct roce_problems *p)
{
	uint32_t hosts = (uint32_t)(c->leaves * c->hosts_per_leaf);
	uint32_t leaf0 = hosts;
	uint32_t spine0 = leaf0 + (uint32_t)c->leaves;

	if (!fits(c->leaves * (c->hosts_per_leaf + 1) + c->spines,
		  c->leaves * (c->hosts_per_leaf + c->spines * c->uplinks), c->where.kind, p))
		return;
	add_edge_level(g, c->leaves, c->hosts_per_leaf, "leaf");
	for (uint32_t i = 0; i < c->spines; i++)
		roce_graph_add_node(g, false, 2, "spine%u", i);
	for (uint32_t leaf = 0; leaf < c->leaves; leaf++) {
		for (uint32_t up = 0; up < c->spines * c->uplinks; up++)
			roce_graph_add_edge(g, leaf0 + leaf, spine0 + up % (uint32_t)c->spines,
					    ROCE_EDGE_FABRIC);
	}
}

void roce_topology_three_tier(const struct roce_topology_conf *c, struct roce_graph *g,
			      struct roce_problems *p)
{
	uint32_t accesses = (uint32_t)(c->blocks * c->access);
	uint32_t dists = (uint32_t)(c->blocks * c->distribution);
	uint32_t access0 = (uint32_t)(accesses * c->hosts_per_access);
	uint32_t dist0 = access0 + accesses;
	uint32_t core0 = dist0 + dists;

	if (!fits(accesses * (c->hosts_per_access + 1) + dists + c->cores,
		  accesses * (c->hosts_per_access + c->distribution) + dists * c->cores,
		  c->where.kind, p))
		return;
	add_edge_level(g, accesses, c->hosts_per_access, "access");
	for (uint32_t i = 0; i < dists; i++)
		roce_graph_add_node(g, false, 2, "dist%u", i);
	for (uint32_t i = 0; i < c->cores; i++)
		roce_graph_add_node(g, false, 3, "core%u", i);
	for (uint32_t i = 0; i < accesses; i++) {
		uint32_t block = i / (uint32_t)c->access;

		for (uint32_t d = 0; d < c->distribution; d++)
			roce_graph_add_edge(g, access0 + i,
					    dist0 + block * (uint32_t)c->distribution + d,
					    ROCE_EDGE_FABRIC);
	}
	for (uint32_t i = 0; i < dists; i++) {
		for (uint32_t core = 0; core < c->cores; core++)
			roce_graph_add_edge(g, dist0 + i, core0 + core, ROCE_EDGE_CORE);
	}
}

/* Of switches with k ports: k pods of k/2 edge and k/2 aggregation switches, k^2/4 cores. */
void roce_topology_fat_tree(const struct roce_topology_conf *c, struct roce_graph *g,
			    struct roce_problems *p)
{
	uint32_t half = (uint32_t)c->k / 2;
	uint32_t edges = (uint32_t)c->k * half;
	uint32_t edge0 = edges * half;
	uint32_t agg0 = edge0 + edges;
	uint32_t core0 = agg0 + edges;

	if (c->k % 2) {
		roce_problem_add(p, c->where.k, "k: found %u, expected an even number",
				 (unsigned int)c->k);
		return;
	}
	add_edge_level(g, edges, half, "edge");
	for (uint32_t i = 0; i < edges; i++)
		roce_graph_add_node(g, false, 2, "agg%u", i);
	for (uint32_t i = 0; i < half * half; i++)
		roce_graph_add_node(g, false, 3, "core%u", i);
	for (uint32_t i = 0; i < edges * half; i++)
		roce_graph_add_edge(g, edge0 + i / half, agg0 + i / half / half * half + i % half,
				    ROCE_EDGE_FABRIC);
	for (uint32_t i = 0; i < edges * half; i++)
		roce_graph_add_edge(g, agg0 + i / half, core0 + i / half % half * half + i % half,
				    ROCE_EDGE_CORE);
}
