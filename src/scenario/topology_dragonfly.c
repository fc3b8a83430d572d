/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dragonfly: groups of `routers` (a) switches that are all linked to each other, each with
 * `hosts_per_switch` (p) hosts and `global_links` (h) links to other groups. A group's a*h global
 * ports are dealt to the other groups in turn: port n of a group leads to the group n + 1 further
 * on, and comes back to the port that leads as far the other way. With fewer than a*h+1 groups the
 * dealing goes round again as often as it can; ports that would give some pair one more than others
 * stay empty.
 */
#include "scenario/topology.h"

struct shape {
	uint32_t routers;
	uint32_t hosts;
	uint32_t links;
	uint32_t groups;
	uint32_t switch0;
};

static uint32_t router_of(const struct shape *s, uint32_t group, uint32_t port)
{
	return s->switch0 + group * s->routers + port / s->links;
}

static void add_groups(const struct shape *s, struct roce_graph *g)
{
	for (uint32_t i = 0; i < s->switch0; i++)
		roce_graph_add_node(g, true, 0, "h%u", i);
	for (uint32_t i = 0; i < s->groups * s->routers; i++)
		roce_graph_add_node(g, false, -1, "g%ur%u", i / s->routers, i % s->routers);
	for (uint32_t i = 0; i < s->switch0; i++)
		roce_graph_add_edge(g, i, s->switch0 + i / s->hosts, ROCE_EDGE_HOST);
	for (uint32_t i = 0; i < s->groups * s->routers; i++) {
		uint32_t end = (i / s->routers + 1) * s->routers;

		for (uint32_t k = i + 1; k < end; k++)
			roce_graph_add_edge(g, s->switch0 + i, s->switch0 + k, ROCE_EDGE_LOCAL);
	}
}

static void add_global(const struct shape *s, struct roce_graph *g)
{
	uint32_t others = s->groups - 1;
	uint32_t rounds = s->routers * s->links / others;

	for (uint32_t group = 0; group < s->groups; group++) {
		for (uint32_t n = 0; n < rounds * others; n++) {
			uint32_t peer = (group + n % others + 1) % s->groups;
			uint32_t back = n / others * others + (others - 1 - n % others);

			if (group < peer)
				roce_graph_add_edge(g, router_of(s, group, n),
						    router_of(s, peer, back), ROCE_EDGE_GLOBAL);
		}
	}
}

void roce_topology_dragonfly(const struct roce_topology_conf *c, struct roce_graph *g,
			     struct roce_problems *p)
{
	uint64_t most = c->routers * c->global_links + 1;
	uint64_t groups = c->groups ? c->groups : most;
	struct shape s = {
		.routers = (uint32_t)c->routers,
		.hosts = (uint32_t)c->hosts_per_switch,
		.links = (uint32_t)c->global_links,
		.groups = (uint32_t)groups,
		.switch0 = (uint32_t)(groups * c->routers * c->hosts_per_switch),
	};

	if (groups > most || groups < 2) {
		roce_problem_add(
			p, c->where.groups,
			"groups: found %llu, expected 2 to %llu (routers * global_links + 1)",
			(unsigned long long)groups, (unsigned long long)most);
		return;
	}
	if (groups * c->routers * (c->hosts_per_switch + 1) > ROCE_GRAPH_NODES_MAX ||
	    groups * c->routers * (c->routers + c->hosts_per_switch) > ROCE_GRAPH_EDGES_MAX) {
		roce_problem_add(p, c->where.kind, "too large: %llu switches",
				 (unsigned long long)(groups * c->routers));
		return;
	}
	add_groups(&s, g);
	add_global(&s, g);
}
