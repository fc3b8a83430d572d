/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether there is memory for what a scenario asks for, before any of it is taken: a network whose
 * size was mistyped must not take the machine down. Counted is what is sure to be there at one
 * time: nodes, ports and routes, all flows, and the queue pairs of those that begin at one moment.
 * So nothing is refused that could run.
 */
#include "scenario/build.h"
#include "scenario/build_conf.h"

#include <stdlib.h>

#define MIB (UINT64_C(1) << 20)

struct needs {
	uint64_t network;
	uint64_t flows;
};

static struct roce_fabric_size size_of(const struct roce_graph *g, double part)
{
	return (struct roce_fabric_size){
		.hosts = (uint64_t)(g->host_count * part),
		.switches = (uint64_t)((g->node_count - g->host_count) * part),
		.links = (uint64_t)(g->edge_count * part),
	};
}

struct begin {
	uint64_t ps;
	uint64_t bytes; /* of the queue pairs */
};

static int compare_begins(const void *a, const void *b)
{
	const struct begin *x = a, *y = b;

	return x->ps < y->ps ? -1 : x->ps > y->ps;
}

/* False: there is no memory even for this. */
static bool add_flows(const struct roce_plan *plan, struct needs *needs)
{
	const struct roce_flows *flows = &plan->flows;
	struct begin *begins = calloc((size_t)flows->count + 1, sizeof(*begins));
	uint64_t most = 0, sum = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; begins && i < flows->count; i++) {
		struct roce_fabric_flow_config cfg;

		roce_build_flow(plan, &flows->at[i], &cfg);
		needs->flows += roce_fabric_flow_bytes(&cfg);
		if (!cfg.after_count)
			begins[count++] =
				(struct begin){cfg.start_ps, roce_fabric_flow_running_bytes(&cfg)};
	}
	if (begins)
		qsort(begins, count, sizeof(*begins), compare_begins);
	for (uint32_t i = 0; begins && i < count; i++) {
		sum = i && begins[i].ps == begins[i - 1].ps ? sum + begins[i].bytes
							    : begins[i].bytes;
		most = sum > most ? sum : most;
	}
	needs->flows += most;
	free(begins);
	return begins != NULL;
}

/* So large a part of the network as there is room for. */
static double part_that_fits(const struct roce_graph *g, uint64_t room)
{
	double low = 0, high = 1;

	for (int i = 0; i < 40; i++) {
		double middle = (low + high) / 2;
		struct roce_fabric_size size = size_of(g, middle);

		if (roce_fabric_size_bytes(&size) <= room)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static uint64_t in_mib(uint64_t bytes)
{
	return (bytes + MIB - 1) / MIB;
}

static void refuse_network(const struct roce_plan *plan, uint64_t bytes, uint64_t room,
			   struct roce_problems *problems)
{
	const struct roce_graph *g = &plan->graph;
	struct roce_fabric_size fits = size_of(g, part_that_fits(g, room));

	roce_problem_add(problems, plan->scenario->topology.where.kind,
			 "topology: %u hosts, %u switches and %u links take at least %llu MiB, and "
			 "there are %llu; about %llu hosts and %llu switches would fit",
			 g->host_count, g->node_count - g->host_count, g->edge_count,
			 (unsigned long long)in_mib(bytes), (unsigned long long)(room / MIB),
			 (unsigned long long)fits.hosts, (unsigned long long)fits.switches);
}

static void refuse_flows(const struct roce_plan *plan, const struct needs *needs, uint64_t room,
			 struct roce_problems *problems)
{
	const struct roce_scenario *s = plan->scenario;
	double part = (double)(room - needs->network) / (double)needs->flows;

	roce_problem_add(
		problems, s->workload_count ? s->workloads[0].where.kind : 0,
		"workload: %u flows take at least %llu MiB beside a network of %llu MiB, and "
		"there are %llu; about %llu such flows would fit",
		plan->flows.count, (unsigned long long)in_mib(needs->flows),
		(unsigned long long)in_mib(needs->network), (unsigned long long)(room / MIB),
		(unsigned long long)(plan->flows.count * part));
}

bool roce_build_check_memory(const struct roce_plan *plan, uint64_t room,
			     struct roce_problems *problems)
{
	struct roce_fabric_size size = size_of(&plan->graph, 1);
	struct needs needs = {.network = roce_fabric_size_bytes(&size)};

	if (needs.network > room) {
		refuse_network(plan, needs.network, room, problems);
		return false;
	}
	if (!add_flows(plan, &needs)) {
		roce_problem_add(problems, 0, "out of memory");
		return false;
	}
	if (needs.network + needs.flows <= room)
		return true;
	refuse_flows(plan, &needs, room, problems);
	return false;
}
