/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nodes, links, filters, routes, flows. What a scenario does not know stays as the fabric's
 * defaults have it. What the fabric refuses has passed the checks of the plan, so the few reasons
 * that are left need all ports of a switch to be known: the sum of its headrooms, mainly.
 */
#include "scenario/build.h"

#include "scenario/build_conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- refusals ---- */

/* The line that has to do with it, if it is one of the switch's own keys. */
static uint32_t line_of_fault(const struct roce_plan *plan, enum roce_fabric_fault fault,
			      uint32_t node)
{
	const struct roce_switch_conf *sw = NULL;

	if (fault == ROCE_FABRIC_FAULT_UNREACHABLE)
		return plan->scenario->topology.where.routing;
	if (node < plan->graph.node_count)
		sw = plan->switches[node];
	if (!sw)
		return 0;
	if (fault == ROCE_FABRIC_FAULT_XOFF)
		return sw->where.pg_static_th;
	if (fault != ROCE_FABRIC_FAULT_BUFFER)
		return 0;
	return sw->where.buffer_size ? sw->where.buffer_size : sw->where.pg_xoff;
}

static void add_refusal(struct roce_built *built, int r, const char *what,
			struct roce_problems *problems)
{
	const struct roce_graph *g = &built->plan->graph;
	enum roce_fabric_fault fault;
	uint32_t node;
	uint32_t port;
	uint32_t prio;
	char routing[32] = "";

	if (r != -EINVAL) {
		roce_problem_add(problems, 0, "%s: out of memory", what);
		return;
	}
	fault = roce_fabric_fault(built->fabric, &node, &port, &prio);
	if (node < g->node_count)
		what = g->nodes[node].name;
	/* The graph is whole, as the plan has seen. */
	if (fault == ROCE_FABRIC_FAULT_UNREACHABLE)
		roce_words_at(ROCE_ROUTING_WORDS, (uint32_t)built->plan->scenario->topology.routing,
			      routing, sizeof(routing));
	roce_problem_add(problems, line_of_fault(built->plan, fault, node), "%s: %s%s%s", what,
			 roce_fabric_fault_str(fault), *routing ? ", with routing: " : "", routing);
}

/* ---- nodes and links ---- */

/* The rules of this filter that `node` has, one for each pair of hosts that it names. */
static uint32_t add_acl(const struct roce_plan_acl *acl, uint32_t node,
			const struct roce_plan *plan, struct roce_fabric_acl_rule *out)
{
	uint32_t srcs = acl->src.count ? acl->src.count : 1;
	uint32_t dsts = acl->dst.count ? acl->dst.count : 1;
	uint32_t count = 0;
	bool is_there = false;

	for (uint32_t i = 0; i < acl->at.count; i++)
		is_there = is_there || acl->at.at[i] == node;
	for (uint32_t s = 0; is_there && s < srcs; s++) {
		for (uint32_t d = 0; d < dsts; d++, count++) {
			if (!out)
				continue;
			roce_build_acl_rule(acl->conf, &out[count]);
			if (acl->src.count)
				roce_build_acl_host(plan, acl->src.at[s], &out[count].src,
						    &out[count].src_bits);
			if (acl->dst.count)
				roce_build_acl_host(plan, acl->dst.at[d], &out[count].dst,
						    &out[count].dst_bits);
		}
	}
	return count;
}

/* For free(); NULL when there are none. */
static struct roce_fabric_acl_rule *make_acl(const struct roce_plan *plan, uint32_t node,
					     uint32_t *out_count)
{
	struct roce_fabric_acl_rule *rules;
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->acl_count; i++)
		count += add_acl(&plan->acl[i], node, plan, NULL);
	rules = count ? calloc(count, sizeof(*rules)) : NULL;
	*out_count = 0;
	for (uint32_t i = 0; rules && i < plan->acl_count; i++)
		*out_count += add_acl(&plan->acl[i], node, plan, rules + *out_count);
	return rules;
}

static int add_node(struct roce_built *built, uint32_t node)
{
	const struct roce_plan *plan = built->plan;
	struct roce_fabric_switch_config sw;
	struct roce_fabric_host_config host;
	struct roce_fabric_acl_rule *rules;
	uint32_t number;
	int r;

	if (plan->graph.nodes[node].is_host) {
		roce_build_host(plan, node, &host);
		return roce_fabric_add_host(built->fabric, &host, &number);
	}
	roce_build_switch(plan->switches[node], plan->graph.nodes[node].rank, &sw);
	sw.region = roce_build_region(plan, node);
	rules = make_acl(plan, node, &sw.acl_count);
	sw.acl = rules;
	r = roce_fabric_add_switch(built->fabric, &sw, &number);
	free(rules);
	return r;
}

/* What goes over a global link goes on in the next class. */
static void add_classes(const struct roce_plan *plan, struct roce_fabric_port_config *port)
{
	for (uint32_t i = 0; i + 1 < plan->class_count; i++)
		port->qos.remark[plan->classes[i]] = plan->classes[i + 1];
}

static int add_edge(struct roce_built *built, uint32_t edge)
{
	const struct roce_plan *plan = built->plan;
	const struct roce_graph_edge *e = &plan->graph.edges[edge];
	const uint32_t ends[2] = {e->a, e->b};
	struct roce_fabric_port_config ports[2];
	struct roce_fabric_link_config link;

	roce_build_link(plan->links[edge], &link);
	for (int side = 0; side < 2; side++) {
		const struct roce_switch_conf *conf = plan->ports[side][edge];

		bool has_classes = e->class == ROCE_EDGE_GLOBAL && plan->class_count;

		if (!conf || (conf == plan->switches[ends[side]] && !has_classes))
			continue;
		roce_build_switch_port(conf, &ports[side]);
		if (has_classes)
			add_classes(plan, &ports[side]);
		link.port[side] = &ports[side];
	}
	return roce_fabric_connect(built->fabric, e->a, e->b, &link, &built->edge_ports[0][edge],
				   &built->edge_ports[1][edge]);
}

static bool add_network(struct roce_built *built, struct roce_problems *problems)
{
	const struct roce_graph *g = &built->plan->graph;
	int r = 0;

	for (uint32_t n = 0; n < g->node_count && !r; n++)
		r = add_node(built, n);
	for (uint32_t e = 0; e < g->edge_count && !r; e++)
		r = add_edge(built, e);
	if (r)
		add_refusal(built, r, "network", problems);
	return r == 0;
}

/* ---- routes ---- */

static bool add_routes(struct roce_built *built, struct roce_problems *problems)
{
	int r = roce_build_routes(built);

	if (!r)
		r = roce_fabric_prepare(built->fabric);
	if (r)
		add_refusal(built, r, "network", problems);
	return r == 0;
}

/* ---- flows and faults ---- */

#define VIA_STREAM UINT64_C(0x7661) /* a stream of chance for itself */

static bool add_flows(struct roce_built *built, struct roce_problems *problems)
{
	const struct roce_flows *flows = &built->plan->flows;
	struct roce_prng prng = {built->plan->scenario->general.seed ^ VIA_STREAM};
	struct roce_fabric_flow_config cfg;
	uint32_t number;

	if (!roce_build_check_payload(built->plan, problems))
		return false;
	for (uint32_t i = 0; i < flows->count; i++) {
		int r;

		roce_build_flow(built->plan, &flows->at[i], &cfg);
		cfg.via = roce_build_via(built->plan, cfg.src, cfg.dst, &prng);
		r = roce_fabric_add_flow(built->fabric, &cfg, &number);
		if (r) {
			add_refusal(built, r, "flow", problems);
			return false;
		}
	}
	return true;
}

static int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int add_storm(struct roce_built *built, const struct roce_plan_fault *fault)
{
	const struct roce_fault_conf *c = fault->conf;
	int r = roce_fabric_schedule_storm(built->fabric, fault->at, true, c->at);

	if (!r && c->duration)
		r = roce_fabric_schedule_storm(built->fabric, fault->at, false,
					       c->at + c->duration);
	return r;
}

static int add_slowness(struct roce_built *built, const struct roce_plan_fault *fault)
{
	const struct roce_fault_conf *c = fault->conf;
	uint64_t usual = built->plan->hosts[fault->at]->drain_rate;
	int r = roce_fabric_schedule_drain(built->fabric, fault->at, c->drain_rate, c->at);

	if (!r && c->duration)
		r = roce_fabric_schedule_drain(built->fabric, fault->at, usual,
					       c->at + c->duration);
	return r;
}

static int add_link_fault(struct roce_built *built, const struct roce_plan_fault *fault)
{
	const struct roce_fault_conf *c = fault->conf;
	uint32_t node = built->plan->graph.edges[fault->at].a;
	uint32_t port = built->edge_ports[0][fault->at];
	int r = roce_fabric_schedule_link(built->fabric, node, port, false, c->at);

	if (!r && c->duration)
		r = roce_fabric_schedule_link(built->fabric, node, port, true, c->at + c->duration);
	if (c->reroute == ROCE_AUTO)
		return r;
	built->reroutes[built->reroute_count++] = c->at + c->reroute;
	if (c->duration)
		built->reroutes[built->reroute_count++] = c->at + c->duration + c->reroute;
	return r;
}

static int add_fault(struct roce_built *built, const struct roce_plan_fault *fault)
{
	switch ((enum roce_fault_kind)fault->conf->kind) {
	case ROCE_FAULT_LINK_DOWN:
		return add_link_fault(built, fault);
	case ROCE_FAULT_PAUSE_STORM:
		return add_storm(built, fault);
	case ROCE_FAULT_SLOW_RECEIVER:
		return add_slowness(built, fault);
	}
	return 0;
}

static bool add_faults(struct roce_built *built, struct roce_problems *problems)
{
	const struct roce_plan *plan = built->plan;
	int r = 0;

	for (uint32_t i = 0; i < plan->fault_count && !r; i++)
		r = add_fault(built, &plan->faults[i]);
	qsort(built->reroutes, built->reroute_count, sizeof(*built->reroutes), compare_times);
	if (r)
		add_refusal(built, r, "faults", problems);
	return r == 0;
}

/* ---- the whole ---- */

static bool make_tables(struct roce_built *built)
{
	const struct roce_plan *plan = built->plan;
	uint32_t edges = plan->graph.edge_count + 1;

	built->edge_ports[0] = calloc(edges, sizeof(uint32_t));
	built->edge_ports[1] = calloc(edges, sizeof(uint32_t));
	built->reroutes = calloc(2 * plan->fault_count + 1, sizeof(*built->reroutes));
	return built->edge_ports[0] && built->edge_ports[1] && built->reroutes;
}

bool roce_build(struct roce_built *built, const struct roce_plan *plan,
		const struct roce_fabric_observer *observer, void *observer_ctx,
		struct roce_problems *problems)
{
	struct roce_fabric_config cfg;

	memset(built, 0, sizeof(*built));
	built->plan = plan;
	roce_build_fabric(plan, &cfg);
	cfg.observer = observer;
	cfg.observer_ctx = observer_ctx;
	if (!make_tables(built) || roce_fabric_create(&cfg, &built->fabric)) {
		roce_problem_add(problems, 0, "out of memory");
		return false;
	}
	return add_network(built, problems) && add_routes(built, problems) &&
	       add_flows(built, problems) && add_faults(built, problems);
}

void roce_build_fini(struct roce_built *built)
{
	roce_fabric_destroy(built->fabric);
	free(built->edge_ports[0]);
	free(built->edge_ports[1]);
	free(built->reroutes);
	free(built->circle);
	memset(built, 0, sizeof(*built));
}

uint64_t roce_build_next_stop(const struct roce_built *built, uint64_t ps)
{
	for (uint32_t i = 0; i < built->reroute_count; i++) {
		if (built->reroutes[i] > ps)
			return built->reroutes[i];
	}
	return ROCE_FABRIC_NEVER;
}

/* Hosts that are cut off stay so; the others' routes are right all the same. */
void roce_build_reroute(struct roce_built *built)
{
	int r = roce_fabric_route(built->fabric, roce_build_routing(built->plan));

	(void)r;
}
