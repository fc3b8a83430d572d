/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenario files: whatever the bytes, loading ends with a scenario or with a reason, never with
 * both and never with neither; and what was loaded becomes a plan, or has a reason why not. Numbers
 * that only make it large are cut before that.
 */
#include "fuzz.h"

#include "scenario/plan.h"

static struct roce_problems problems;

static void cut(uint64_t *value, uint64_t most)
{
	if (*value > most)
		*value = most;
}

static void make_small(struct roce_scenario *s)
{
	struct roce_topology_conf *t = &s->topology;
	uint64_t *const counts[] = {&t->hosts,
				    &t->left,
				    &t->right,
				    &t->switches,
				    &t->hosts_per_switch,
				    &t->leaves,
				    &t->spines,
				    &t->hosts_per_leaf,
				    &t->uplinks,
				    &t->cores,
				    &t->blocks,
				    &t->distribution,
				    &t->access,
				    &t->hosts_per_access,
				    &t->routers,
				    &t->global_links,
				    &t->groups};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		cut(counts[i], 6);
	cut(&t->k, 8);
	for (uint32_t i = 0; i < s->workload_count; i++) {
		struct roce_workload_conf *w = &s->workloads[i];

		cut(&w->rounds, 3);
		cut(&w->operations, 20);
		cut(&w->depth, 8);
		cut(&w->duration,
		    w->kind == ROCE_WORKLOAD_POISSON ? ROCE_PS_PER_US : ROCE_PS_PER_S);
	}
	if (s->workload_count > 4)
		s->workload_count = 4;
}

static void plan_it(struct roce_scenario *s)
{
	struct roce_plan plan;
	bool is_good;

	make_small(s);
	is_good = roce_plan_init(&plan, s, NULL, &problems);
	fuzz_require(is_good == (problems.count == 0), "a plan or a reason");
	roce_plan_fini(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct roce_scenario *s;

	roce_problems_init(&problems, "fuzz.yaml");
	s = roce_scenario_load((const char *)data, size, "fuzz.yaml", &problems);
	fuzz_require(!s == (problems.count != 0), "a scenario or a reason");
	if (s)
		plan_it(s);
	roce_scenario_destroy(s);
	return 0;
}
