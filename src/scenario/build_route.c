/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes that are not the fabric's own: round a ring, by way of a group of a dragonfly, and those
 * that a scenario gives one by one, which come last and win.
 */
#include "scenario/build_conf.h"

#include "scenario/build.h"

/* Ports of `node` towards `peer`, also if links are parallel. */
static uint32_t find_ports(const struct roce_built *built, uint32_t node, uint32_t peer,
			   uint32_t *out, uint32_t max)
{
	const struct roce_graph *g = &built->plan->graph;
	uint32_t count = 0;

	for (uint32_t i = 0; i < roce_graph_degree(g, node) && count < max; i++) {
		uint32_t edge;

		if (roce_graph_neighbour(g, node, i, &edge) == peer)
			out[count++] = built->edge_ports[g->edges[edge].b == node][edge];
	}
	return count;
}

#define PORTS_MAX 256

static int add_static(struct roce_built *built, const struct roce_plan_route *route)
{
	uint32_t ports[PORTS_MAX];
	uint32_t count = 0;
	int r = 0;

	for (uint32_t i = 0; i < route->via.count; i++)
		count += find_ports(built, route->at, route->via.at[i], ports + count,
				    PORTS_MAX - count);
	for (uint32_t i = 0; i < route->to.count && !r; i++)
		r = roce_fabric_route_static(built->fabric, route->at, route->to.at[i], ports,
					     count);
	return r;
}

/* Round the ring in the order of its switches, whatever is shorter. */
static int add_clockwise(struct roce_built *built)
{
	const struct roce_graph *g = &built->plan->graph;
	uint32_t switches = g->node_count - g->host_count;
	uint32_t port;
	int r = 0;

	for (uint32_t s = 0; s < switches; s++) {
		uint32_t node = g->host_count + s;

		find_ports(built, node, g->host_count + (s + 1) % switches, &port, 1);
		if (!r)
			r = roce_fabric_route_static(built->fabric, node, ROCE_FABRIC_ANY_HOST,
						     &port, 1);
	}
	return r;
}

/* Switches of a dragonfly are numbered group by group. */
static uint32_t group_of(const struct roce_plan *plan, uint32_t node)
{
	return (node - plan->graph.host_count) / (uint32_t)plan->scenario->topology.routers;
}

uint32_t roce_build_region(const struct roce_plan *plan, uint32_t node)
{
	return plan->scenario->topology.routing >= ROCE_ROUTING_MINIMAL ? group_of(plan, node)
									: ROCE_FABRIC_REGION_OWN;
}

/* A group that is neither's, drawn for the flow: its first host stands for it. */
uint32_t roce_build_via(const struct roce_plan *plan, uint32_t src, uint32_t dst,
			struct roce_prng *prng)
{
	const struct roce_topology_conf *t = &plan->scenario->topology;
	const struct roce_graph *g = &plan->graph;
	uint32_t hosts = (uint32_t)(t->routers * t->hosts_per_switch);
	uint32_t groups = g->host_count / hosts;
	uint32_t away[2] = {src / hosts, dst / hosts};
	uint32_t group;

	if (t->routing != ROCE_ROUTING_VALIANT || away[0] == away[1] || groups < 3)
		return ROCE_FABRIC_DIRECT;
	do {
		group = (uint32_t)roce_prng_below(prng, groups);
	} while (group == away[0] || group == away[1]);
	return group * hosts;
}

enum roce_fabric_routing roce_build_routing(const struct roce_plan *plan)
{
	switch ((enum roce_routing)plan->scenario->topology.routing) {
	case ROCE_ROUTING_UP_DOWN:
		return ROCE_FABRIC_ROUTING_UP_DOWN;
	case ROCE_ROUTING_MINIMAL:
	case ROCE_ROUTING_VALIANT:
		return ROCE_FABRIC_ROUTING_MINIMAL;
	case ROCE_ROUTING_SHORTEST:
	case ROCE_ROUTING_CLOCKWISE:
		break;
	}
	return ROCE_FABRIC_ROUTING_SHORTEST;
}

int roce_build_routes(struct roce_built *built)
{
	const struct roce_plan *plan = built->plan;
	int r = roce_fabric_route(built->fabric, roce_build_routing(plan));

	if (!r && plan->scenario->topology.routing == ROCE_ROUTING_CLOCKWISE)
		r = add_clockwise(built);
	for (uint32_t i = 0; i < plan->route_count && !r; i++)
		r = add_static(built, &plan->routes[i]);
	return r;
}
