/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A scenario that has been thought through: the graph, what each link, switch, port and host is
 * configured as (overrides applied, equal ones shared), and the flows. Everything that can be wrong
 * with a scenario is found while the plan is made; build.h makes a fabric of it.
 */
#ifndef ROCE_SCENARIO_PLAN_H
#define ROCE_SCENARIO_PLAN_H

#include "scenario/flow.h"
#include "scenario/graph.h"
#include "scenario/scenario.h"
#include "scenario/select.h"

/* Configurations that exist: one for each set of overrides that meets somewhere. */
struct roce_variant {
	struct roce_variant *next;
	const void *base;
	uint32_t *overrides; /* numbers of those that apply, in order */
	uint32_t override_count;
	void *conf;
};

/* A rule of a switch's filter, and a static route, with hosts found. */
struct roce_plan_acl {
	const struct roce_acl_conf *conf;
	struct roce_nodes at;
	struct roce_nodes src; /* no hosts: any */
	struct roce_nodes dst;
};

struct roce_plan_route {
	uint32_t at;
	struct roce_nodes to;
	struct roce_nodes via; /* neighbours */
};

struct roce_plan_fault {
	const struct roce_fault_conf *conf;
	uint32_t at; /* edge, or host, by its kind */
};

struct roce_plan {
	struct roce_scenario *scenario; /* borrowed */
	struct roce_graph graph;
	struct roce_variant *variants;
	struct roce_link_conf fabric_link;	  /* of class fabric, before overrides */
	const struct roce_link_conf **links;	  /* by edge */
	const struct roce_switch_conf **switches; /* by node; NULL for hosts */
	const struct roce_host_conf **hosts;	  /* by node; NULL for switches */
	const struct roce_switch_conf **ports[2]; /* by edge, of its ends a and b; NULL for hosts */
	uint8_t classes[8]; /* of a dragonfly, in the order in which packets go through them */
	uint32_t class_count;
	struct roce_flows flows;
	struct roce_plan_acl *acl;
	struct roce_plan_route *routes;
	struct roce_plan_fault *faults;
	uint32_t acl_count;
	uint32_t route_count;
	uint32_t fault_count;
	uint32_t fault_room;
};

/* False: what is wrong is in `problems`; the plan is to be ended all the same. `folder`: where
 * files of workloads are; NULL: none may be read. */
bool roce_plan_init(struct roce_plan *plan, struct roce_scenario *scenario, const char *folder,
		    struct roce_problems *problems);
void roce_plan_fini(struct roce_plan *plan);

/* For those who make graph and flows by themselves: behind the graph, makes the tables, with every
 * node as the scenario's defaults and links and ports still to be set. */
bool roce_plan_begin(struct roce_plan *plan, struct roce_problems *problems);

/* ---- plan_lists.c ---- */

/* Filters, routes and faults, with the nodes and links that they name. */
void roce_plan_resolve_lists(struct roce_plan *plan, struct roce_problems *problems);

/* ---- links ---- */

/* Time on a link. */
uint64_t roce_link_delay_ps(const struct roce_link_conf *link);
/* The link of a host. */
static inline const struct roce_link_conf *roce_plan_host_link(const struct roce_plan *plan,
							       uint32_t host)
{
	return plan->links[plan->graph.adjacency[plan->graph.adjacency_at[host]]];
}

/* ---- what keys mean together (check.c) ---- */

void roce_check_switch(const struct roce_switch_conf *conf, struct roce_problems *problems);
void roce_check_host(const struct roce_host_conf *conf, struct roce_problems *problems);
void roce_check_output(const struct roce_output_conf *conf, struct roce_problems *problems);
/* Lossless classes of a dragonfly, into plan->classes. */
void roce_check_classes(struct roce_plan *plan, struct roce_problems *problems);
/* "26:3" */
bool roce_dscp_prio_parse(const char *text, uint8_t *out_dscp, uint8_t *out_prio);
/* Bytes that a priority of one port may hold before XOFF, at most. */
uint64_t roce_xoff_most(const struct roce_switch_conf *conf);

#endif
