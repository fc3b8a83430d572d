/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lossless classes of a dragonfly. Buffers of one class wait for each other along the way of a
 * packet: local, global, local link, and twice that by Valiant's routes. If packets change class
 * with each global link, no class has more than one kind of way in a row, and nothing can wait in a
 * circle. That holds only where each class has PFC and a queue of its own, everywhere.
 *
 * One class alone is taken as it is written, so that a deadlock can be looked at.
 */
#include "scenario/plan.h"

#include <string.h>

/* Minimal routes have one global link, shortest ones may have two. */
static uint32_t needed(const struct roce_topology_conf *t)
{
	return t->routing == ROCE_ROUTING_MINIMAL ? 2 : 3;
}

static void parse(struct roce_plan *plan, struct roce_problems *problems)
{
	const struct roce_topology_conf *t = &plan->scenario->topology;
	uint8_t seen = 0;

	for (uint32_t i = 0; i < t->classes.count; i++) {
		const char *word = t->classes.at[i];

		if (strlen(word) != 1 || *word < '0' || *word > '7' || seen >> (*word - '0') & 1) {
			roce_problem_add(problems, t->where.classes,
					 "classes: found \"%.20s\", expected different priorities, "
					 "as 3,4,5",
					 word);
			plan->class_count = 0;
			return;
		}
		seen |= (uint8_t)(1u << (*word - '0'));
		plan->classes[plan->class_count++] = (uint8_t)(*word - '0');
	}
}

/* False: told. */
static bool check_qos(const struct roce_plan *plan, const struct roce_switch_conf *c,
		      const char *name, struct roce_problems *problems)
{
	uint32_t line = plan->scenario->topology.where.classes;
	uint8_t tcs = 0;

	for (uint32_t i = 0; i < plan->class_count; i++) {
		uint8_t prio = plan->classes[i];

		if (!c->pfc.at[prio]) {
			roce_problem_add(
				problems, line,
				"classes: priority %u is not lossless at %s, `switch.qos.pfc`",
				prio, name);
			return false;
		}
		if (tcs >> c->prio_tc.at[prio] & 1) {
			roce_problem_add(
				problems, line,
				"classes: priority %u has no traffic class of its own at %s, "
				"`switch.qos.prio_tc`",
				prio, name);
			return false;
		}
		tcs |= (uint8_t)(1u << c->prio_tc.at[prio]);
	}
	return true;
}

static void check_switches(const struct roce_plan *plan, struct roce_problems *problems)
{
	const struct roce_graph *g = &plan->graph;
	const struct roce_switch_conf *last = NULL;

	for (uint32_t n = g->host_count; n < g->node_count; n++) {
		if (plan->switches[n] == last)
			continue;
		last = plan->switches[n];
		if (!check_qos(plan, last, g->nodes[n].name, problems))
			return;
	}
}

/* All that is lossless begins in the first class. */
static void check_workloads(const struct roce_plan *plan, struct roce_problems *problems)
{
	const struct roce_scenario *s = plan->scenario;
	const struct roce_topology_conf *t = &s->topology;
	const struct roce_switch_conf *sw = plan->switches[plan->graph.host_count];

	for (uint32_t i = 0; i < s->workload_count; i++) {
		const struct roce_workload_conf *w = &s->workloads[i];

		if (!sw->pfc.at[w->prio])
			continue;
		if (plan->class_count && w->prio != plan->classes[0])
			roce_problem_add(
				problems, w->where.prio,
				"prio: %u is lossless, but `topology.classes` begin with %u",
				(unsigned int)w->prio, plan->classes[0]);
		else if (!plan->class_count && t->routing == ROCE_ROUTING_VALIANT) {
			roce_problem_add(
				problems, t->where.routing,
				"routing: valiant in one lossless class can lock up, expected "
				"`classes` too, as 3,4,5, or %u to see it",
				(unsigned int)w->prio);
			return;
		}
	}
}

void roce_check_classes(struct roce_plan *plan, struct roce_problems *problems)
{
	const struct roce_topology_conf *t = &plan->scenario->topology;

	if (t->kind != ROCE_TOPOLOGY_DRAGONFLY)
		return;
	parse(plan, problems);
	if (plan->class_count > 1 && plan->class_count < needed(t))
		roce_problem_add(problems, t->where.classes,
				 "classes: found %u, expected %u for such routes",
				 plan->class_count, needed(t));
	check_switches(plan, problems);
	check_workloads(plan, problems);
}
