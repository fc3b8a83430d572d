/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lists of a scenario that name nodes or links: filters, static routes, faults. Each name is
 * looked up in the graph; one that meets nothing is a mistake.
 */
#include "scenario/plan.h"

#include "scenario/select.h"

#include <stdlib.h>
#include <string.h>

static bool is_all(const struct roce_words *words)
{
	return words->count == 1 && strcmp(words->at[0], "*") == 0;
}

static void resolve_acl(struct roce_plan *plan, struct roce_problems *problems)
{
	const struct roce_scenario *s = plan->scenario;
	const struct roce_graph *g = &plan->graph;

	plan->acl = calloc(s->acl_count + 1, sizeof(*plan->acl));
	if (!plan->acl)
		roce_problem_add(problems, 0, "out of memory");
	for (uint32_t i = 0; plan->acl && i < s->acl_count; i++) {
		const struct roce_acl_conf *c = &s->acl[i];
		struct roce_plan_acl *acl = &plan->acl[plan->acl_count++];

		acl->conf = c;
		roce_select_nodes(g, &c->at, false, "acl: at", c->where.at, problems, &acl->at);
		if (!is_all(&c->src))
			roce_select_nodes(g, &c->src, true, "acl: src", c->where.src, problems,
					  &acl->src);
		if (!is_all(&c->dst))
			roce_select_nodes(g, &c->dst, true, "acl: dst", c->where.dst, problems,
					  &acl->dst);
	}
}

static bool is_neighbour(const struct roce_graph *g, uint32_t node, uint32_t of)
{
	for (uint32_t i = 0; i < roce_graph_degree(g, of); i++) {
		if (roce_graph_neighbour(g, of, i, NULL) == node)
			return true;
	}
	return false;
}

static void resolve_route(struct roce_plan *plan, const struct roce_route_conf *c,
			  struct roce_plan_route *route, struct roce_problems *problems)
{
	const struct roce_graph *g = &plan->graph;

	route->at = roce_graph_find(g, c->at);
	if (route->at == ROCE_GRAPH_NONE || g->nodes[route->at].is_host) {
		roce_problem_add(problems, c->where.at, "routes: at: \"%.40s\" is no switch",
				 c->at);
		return;
	}
	roce_select_nodes(g, &c->to, true, "routes: to", c->where.to ? c->where.to : c->where.at,
			  problems, &route->to);
	roce_select_nodes(g, &c->via, false, "routes: via",
			  c->where.via ? c->where.via : c->where.at, problems, &route->via);
	for (uint32_t i = 0; i < route->via.count; i++) {
		if (!is_neighbour(g, route->via.at[i], route->at))
			roce_problem_add(problems, c->where.via,
					 "routes: via: %s has no link to %s", c->at,
					 g->nodes[route->via.at[i]].name);
	}
}

static void resolve_routes(struct roce_plan *plan, struct roce_problems *problems)
{
	const struct roce_scenario *s = plan->scenario;

	plan->routes = calloc(s->route_count + 1, sizeof(*plan->routes));
	if (!plan->routes)
		roce_problem_add(problems, 0, "out of memory");
	for (uint32_t i = 0; plan->routes && i < s->route_count; i++)
		resolve_route(plan, &s->routes[i], &plan->routes[plan->route_count++], problems);
}

static void add_fault(struct roce_plan *plan, const struct roce_fault_conf *conf, uint32_t at,
		      struct roce_problems *problems)
{
	if (plan->fault_count == plan->fault_room) {
		uint32_t room = plan->fault_room ? 2 * plan->fault_room : 16;
		struct roce_plan_fault *grown = realloc(plan->faults, room * sizeof(*plan->faults));

		if (!grown) {
			roce_problem_add(problems, 0, "out of memory");
			return;
		}
		plan->faults = grown;
		plan->fault_room = room;
	}
	plan->faults[plan->fault_count++] = (struct roce_plan_fault){conf, at};
}

static void resolve_link_fault(struct roce_plan *plan, const struct roce_fault_conf *c,
			       struct roce_problems *problems)
{
	uint32_t before = plan->fault_count;

	for (uint32_t e = 0; e < plan->graph.edge_count; e++) {
		if (*c->link && roce_select_matches_edge(&plan->graph, c->link, e))
			add_fault(plan, c, e, problems);
	}
	if (plan->fault_count == before)
		roce_problem_add(problems, c->where.link ? c->where.link : c->where.kind,
				 "faults: link: \"%.40s\" is no link of this network, expected %s",
				 c->link, roce_section_link.match);
}

static void resolve_host_fault(struct roce_plan *plan, const struct roce_fault_conf *c,
			       struct roce_problems *problems)
{
	struct roce_nodes hosts;

	roce_select_nodes(&plan->graph, &c->host, true, "faults: host",
			  c->where.host ? c->where.host : c->where.kind, problems, &hosts);
	for (uint32_t i = 0; i < hosts.count; i++)
		add_fault(plan, c, hosts.at[i], problems);
	free(hosts.at);
}

static void resolve_faults(struct roce_plan *plan, struct roce_problems *problems)
{
	struct roce_scenario *s = plan->scenario;

	for (uint32_t i = 0; i < s->fault_count; i++) {
		if (s->faults[i].kind == ROCE_FAULT_LINK_DOWN)
			resolve_link_fault(plan, &s->faults[i], problems);
		else
			resolve_host_fault(plan, &s->faults[i], problems);
	}
}

void roce_plan_resolve_lists(struct roce_plan *plan, struct roce_problems *problems)
{
	resolve_acl(plan, problems);
	resolve_routes(plan, problems);
	resolve_faults(plan, problems);
}
