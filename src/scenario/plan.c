/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Overrides are applied to nodes and links; an override that meets nothing is a mistake. Then the
 * lists that name nodes are resolved (plan_lists.c), and the workloads become flows.
 */
#include "scenario/plan.h"

#include "scenario/select.h"
#include "scenario/topology.h"
#include "scenario/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t roce_link_delay_ps(const struct roce_link_conf *link)
{
	return link->delay != ROCE_AUTO ? link->delay : link->length * ROCE_PS_PER_MM;
}

/* ---- overrides ---- */

struct resolver {
	struct roce_plan *plan;
	struct roce_problems *problems;
	const struct roce_section *section;
	const struct roce_overrides *overrides;
	bool *is_used;
	uint32_t *matched; /* room for all */
	uint32_t matched_count;
};

static bool begin_resolver(struct resolver *r, struct roce_plan *plan,
			   struct roce_problems *problems, const struct roce_section *section,
			   const struct roce_overrides *overrides)
{
	*r = (struct resolver){
		.plan = plan, .problems = problems, .section = section, .overrides = overrides};
	r->is_used = calloc(overrides->count + 1, sizeof(*r->is_used));
	r->matched = calloc(overrides->count + 1, sizeof(*r->matched));
	if (!r->is_used || !r->matched)
		roce_problem_add(problems, 0, "out of memory");
	return r->is_used && r->matched;
}

static void end_resolver(struct resolver *r)
{
	for (uint32_t i = 0; r->is_used && i < r->overrides->count; i++) {
		if (!r->is_used[i])
			roce_problem_add(
				r->problems, r->overrides->at[i].line,
				"%s: \"%.60s\" matches nothing of this network; it may be %s",
				r->section->list, r->overrides->at[i].match, r->section->match);
	}
	free(r->is_used);
	free(r->matched);
}

static struct roce_variant *find_variant(const struct resolver *r, const void *base)
{
	struct roce_variant *v = r->plan->variants;

	for (; v; v = v->next) {
		if (v->base == base && v->override_count == r->matched_count &&
		    memcmp(v->overrides, r->matched, r->matched_count * sizeof(*r->matched)) == 0)
			return v;
	}
	return NULL;
}

static struct roce_variant *make_variant(const struct resolver *r, const void *base)
{
	struct roce_variant *v = calloc(1, sizeof(*v));
	void *conf = malloc(r->section->size);
	uint32_t *overrides = malloc((r->matched_count + 1) * sizeof(*overrides));

	if (!v || !conf || !overrides) {
		free(v);
		free(conf);
		free(overrides);
		return NULL;
	}
	memcpy(conf, base, r->section->size);
	memcpy(overrides, r->matched, r->matched_count * sizeof(*overrides));
	for (uint32_t i = 0; i < r->matched_count; i++)
		roce_scenario_apply(r->plan->scenario, r->section, &r->overrides->at[r->matched[i]],
				    conf);
	*v = (struct roce_variant){r->plan->variants, base, overrides, r->matched_count, conf};
	r->plan->variants = v;
	return v;
}

/* What `base` becomes by the overrides that were matched. */
static const void *resolve(struct resolver *r, const void *base)
{
	struct roce_variant *v;

	if (r->matched_count == 0)
		return base;
	v = find_variant(r, base);
	if (!v)
		v = make_variant(r, base);
	if (!v) {
		roce_problem_add(r->problems, 0, "out of memory");
		return base;
	}
	return v->conf;
}

static void match(struct resolver *r, uint32_t i, bool is_match)
{
	if (!is_match)
		return;
	r->matched[r->matched_count++] = i;
	r->is_used[i] = true;
}

static const void *resolve_node(struct resolver *r, const void *base, uint32_t node)
{
	r->matched_count = 0;
	for (uint32_t i = 0; i < r->overrides->count; i++)
		match(r, i,
		      roce_select_matches_node(&r->plan->graph, r->overrides->at[i].match, node));
	return resolve(r, base);
}

static void resolve_nodes(struct roce_plan *plan, struct roce_problems *problems, bool is_host)
{
	struct roce_scenario *s = plan->scenario;
	struct resolver r;

	if (begin_resolver(&r, plan, problems, is_host ? &roce_section_host : &roce_section_switch,
			   is_host ? &s->hosts : &s->switches)) {
		for (uint32_t n = 0; n < plan->graph.node_count; n++) {
			if (plan->graph.nodes[n].is_host != is_host)
				continue;
			if (is_host)
				plan->hosts[n] = resolve_node(&r, &s->host, n);
			else
				plan->switches[n] = resolve_node(&r, &s->sw, n);
		}
	}
	end_resolver(&r);
}

static void resolve_ports(struct roce_plan *plan, struct roce_problems *problems)
{
	const struct roce_graph *g = &plan->graph;
	struct resolver r;

	if (begin_resolver(&r, plan, problems, &roce_section_port, &plan->scenario->ports)) {
		for (uint32_t i = 0; i < 2 * g->edge_count; i++) {
			const struct roce_graph_edge *e = &g->edges[i / 2];
			uint32_t node = i & 1 ? e->b : e->a;

			if (g->nodes[node].is_host)
				continue;
			r.matched_count = 0;
			for (uint32_t k = 0; k < r.overrides->count; k++)
				match(&r, k,
				      roce_select_matches_port(g, r.overrides->at[k].match, node,
							       i & 1 ? e->a : e->b));
			plan->ports[i & 1][i / 2] = resolve(&r, plan->switches[node]);
		}
	}
	end_resolver(&r);
}

/* "3:1": hosts' rate of a leaf to its uplinks'. */
static void set_oversubscription(struct roce_plan *plan, struct roce_problems *problems,
				 struct roce_link_conf *fabric)
{
	const struct roce_topology_conf *t = &plan->scenario->topology;
	unsigned int n = 0;
	unsigned int m = 0;
	int end = 0;
	unsigned __int128 rate;

	if (!*t->oversubscription)
		return;
	if (t->oversubscription[strspn(t->oversubscription, "0123456789:")] ||
	    sscanf(t->oversubscription, "%4u:%4u%n", &n, &m, &end) != 2 || n == 0 || m == 0 ||
	    t->oversubscription[end]) {
		roce_problem_add(problems, t->where.oversubscription,
				 "oversubscription: found \"%.20s\", expected N:M, as 3:1",
				 t->oversubscription);
		return;
	}
	rate = (unsigned __int128)fabric->rate * t->hosts_per_leaf * m;
	fabric->rate = (uint64_t)(rate / (t->spines * t->uplinks * n));
	if (fabric->rate < 1000 || fabric->rate > UINT64_C(800000000000))
		roce_problem_add(
			problems, t->where.oversubscription,
			"oversubscription: uplinks of %llu bit/s, expected 1kb/s to 800Gb/s",
			(unsigned long long)fabric->rate);
}

static void resolve_links(struct roce_plan *plan, struct roce_problems *problems)
{
	struct roce_scenario *s = plan->scenario;
	const struct roce_graph *g = &plan->graph;
	struct resolver r;

	plan->fabric_link = s->link;
	set_oversubscription(plan, problems, &plan->fabric_link);
	if (begin_resolver(&r, plan, problems, &roce_section_link, &s->links)) {
		for (uint32_t e = 0; e < g->edge_count; e++) {
			r.matched_count = 0;
			for (uint32_t i = 0; i < r.overrides->count; i++)
				match(&r, i,
				      roce_select_matches_edge(g, r.overrides->at[i].match, e));
			plan->links[e] = resolve(&r, g->edges[e].class == ROCE_EDGE_FABRIC
							     ? &plan->fabric_link
							     : &s->link);
		}
	}
	end_resolver(&r);
}

/* ---- checks of what has come out ---- */

/* Each variant is looked at once; a default that is nobody's is not looked at. */
static void check_all(struct roce_plan *plan, struct roce_problems *problems)
{
	const struct roce_graph *g = &plan->graph;
	const void *last = NULL;

	for (uint32_t n = 0; n < g->node_count && problems->count < ROCE_PROBLEMS_MAX; n++) {
		const void *conf = g->nodes[n].is_host ? (const void *)plan->hosts[n]
						       : (const void *)plan->switches[n];

		if (conf == last)
			continue;
		last = conf;
		if (g->nodes[n].is_host)
			roce_check_host(plan->hosts[n], problems);
		else
			roce_check_switch(plan->switches[n], problems);
	}
	for (uint32_t i = 0; i < 2 * g->edge_count && problems->count < ROCE_PROBLEMS_MAX; i++) {
		const struct roce_graph_edge *e = &g->edges[i / 2];
		const struct roce_switch_conf *conf = plan->ports[i & 1][i / 2];

		if (conf && conf != plan->switches[i & 1 ? e->b : e->a] && conf != last)
			roce_check_switch(conf, problems);
		last = conf;
	}
}

/* ---- the whole ---- */

static bool make_tables(struct roce_plan *plan)
{
	uint32_t nodes = plan->graph.node_count + 1;
	uint32_t edges = plan->graph.edge_count + 1;

	plan->links = calloc(edges, sizeof(*plan->links));
	plan->switches = calloc(nodes, sizeof(*plan->switches));
	plan->hosts = calloc(nodes, sizeof(*plan->hosts));
	plan->ports[0] = calloc(edges, sizeof(*plan->ports[0]));
	plan->ports[1] = calloc(edges, sizeof(*plan->ports[1]));
	return plan->links && plan->switches && plan->hosts && plan->ports[0] && plan->ports[1];
}

bool roce_plan_begin(struct roce_plan *plan, struct roce_problems *problems)
{
	if (!make_tables(plan)) {
		free(plan->ports[1]);
		plan->ports[1] = NULL;
		roce_problem_add(problems, 0, "out of memory");
		return false;
	}
	for (uint32_t n = 0; n < plan->graph.node_count; n++) {
		if (plan->graph.nodes[n].is_host)
			plan->hosts[n] = &plan->scenario->host;
		else
			plan->switches[n] = &plan->scenario->sw;
	}
	return true;
}

static bool resolve_all(struct roce_plan *plan, struct roce_problems *problems)
{
	const struct roce_topology_conf *t = &plan->scenario->topology;

	if (t->routing == ROCE_ROUTING_CLOCKWISE && t->kind != ROCE_TOPOLOGY_RING)
		roce_problem_add(problems, t->where.routing, "routing: clockwise is for a ring");
	if (t->routing >= ROCE_ROUTING_MINIMAL && t->kind != ROCE_TOPOLOGY_DRAGONFLY)
		roce_problem_add(problems, t->where.routing, "routing: %s is for a dragonfly",
				 t->routing == ROCE_ROUTING_MINIMAL ? "minimal" : "valiant");
	if (!roce_plan_begin(plan, problems))
		return false;
	resolve_links(plan, problems);
	resolve_nodes(plan, problems, false);
	resolve_nodes(plan, problems, true);
	resolve_ports(plan, problems);
	check_all(plan, problems);
	roce_check_classes(plan, problems);
	roce_check_output(&plan->scenario->output, problems);
	roce_plan_resolve_lists(plan, problems);
	return true;
}

/* Results are told by name. */
static void check_names(const struct roce_scenario *s, struct roce_problems *problems)
{
	for (uint32_t i = 0; i < s->workload_count; i++) {
		for (uint32_t k = 0; k < i && *s->workloads[i].name; k++) {
			if (strcmp(s->workloads[i].name, s->workloads[k].name) == 0)
				roce_problem_add(problems, s->workloads[i].where.name,
						 "two workloads have the name %.40s",
						 s->workloads[i].name);
		}
	}
}

static void build_workloads(struct roce_plan *plan, const char *folder,
			    struct roce_problems *problems)
{
	struct roce_scenario *s = plan->scenario;
	uint64_t *rates = calloc(plan->graph.node_count + 1, sizeof(*rates));
	struct roce_workload_input in = {
		.graph = &plan->graph,
		.host_rates = rates,
		.folder = folder,
		.seed = s->general.seed,
	};

	for (uint32_t h = 0; rates && h < plan->graph.node_count; h++) {
		if (plan->graph.nodes[h].is_host)
			rates[h] = roce_plan_host_link(plan, h)->rate;
	}
	check_names(s, problems);
	for (uint32_t i = 0; rates && i < s->workload_count; i++)
		roce_workload_build(&s->workloads[i], i, &in, &plan->flows, problems);
	if (s->workload_count == 0)
		roce_problem_add(problems, 0, "no `workload`: nothing would happen");
	else if (plan->flows.count == 0 && problems->count == 0)
		roce_problem_add(problems, s->workloads[0].where.kind,
				 "no flow comes of any workload: nothing would happen");
	free(rates);
}

static void check_flows(struct roce_plan *plan, struct roce_problems *problems)
{
	const struct roce_graph *g = &plan->graph;

	for (uint32_t i = 0; i < plan->flows.count; i++) {
		const struct roce_flow *f = &plan->flows.at[i];

		if (plan->hosts[f->src]->address == plan->hosts[f->dst]->address)
			continue;
		roce_problem_add(
			problems, plan->scenario->workloads[f->workload].where.kind,
			"hosts %s and %s have addresses of different kinds, `host.address`",
			g->nodes[f->src].name, g->nodes[f->dst].name);
		return;
	}
}

bool roce_plan_init(struct roce_plan *plan, struct roce_scenario *scenario, const char *folder,
		    struct roce_problems *problems)
{
	memset(plan, 0, sizeof(*plan));
	plan->scenario = scenario;
	roce_graph_init(&plan->graph);
	if (!roce_topology_build(&scenario->topology, &plan->graph, problems))
		return false;
	if (resolve_all(plan, problems)) {
		build_workloads(plan, folder, problems);
		check_flows(plan, problems);
	}
	return problems->count == 0;
}

void roce_plan_fini(struct roce_plan *plan)
{
	while (plan->variants) {
		struct roce_variant *v = plan->variants;

		plan->variants = v->next;
		free(v->overrides);
		free(v->conf);
		free(v);
	}
	for (uint32_t i = 0; i < plan->acl_count; i++) {
		free(plan->acl[i].at.at);
		free(plan->acl[i].src.at);
		free(plan->acl[i].dst.at);
	}
	for (uint32_t i = 0; i < plan->route_count; i++) {
		free(plan->routes[i].to.at);
		free(plan->routes[i].via.at);
	}
	free(plan->acl);
	free(plan->routes);
	free(plan->faults);
	free(plan->links);
	free(plan->switches);
	free(plan->hosts);
	free(plan->ports[0]);
	free(plan->ports[1]);
	roce_flows_fini(&plan->flows);
	roce_graph_fini(&plan->graph);
	memset(plan, 0, sizeof(*plan));
}
