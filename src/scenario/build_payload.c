/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which flows have real payload, and whether there is memory for all that may be under way at once.
 * A flow that waits for another one comes in its place; so flows are laid in chains, of which each
 * needs what its largest flow does. What starts by the clock may overlap with everything.
 */
#include "scenario/build_conf.h"

#include <stdlib.h>

#define MIB (UINT64_C(1) << 20)

bool roce_build_is_real(const struct roce_scenario *scenario, uint32_t workload)
{
	uint32_t own = workload < scenario->workload_count ? scenario->workloads[workload].payload
							   : ROCE_WORKLOAD_PAYLOAD_DEFAULT;

	if (own == ROCE_WORKLOAD_PAYLOAD_DEFAULT)
		return scenario->general.payload == ROCE_PAYLOAD_REAL;
	return own == ROCE_WORKLOAD_PAYLOAD_REAL;
}

static bool is_real(const struct roce_plan *plan, uint32_t flow)
{
	return roce_build_is_real(plan->scenario, plan->flows.at[flow].workload);
}

static uint64_t bytes_of(const struct roce_plan *plan, uint32_t flow)
{
	struct roce_fabric_flow_config cfg;

	if (!is_real(plan, flow))
		return 0;
	roce_build_flow(plan, &plan->flows.at[flow], &cfg);
	return roce_fabric_flow_memory_bytes(&cfg);
}

/* The first of a flow's predecessors that nobody has come behind yet. */
static uint32_t find_place(const struct roce_flows *flows, const struct roce_flow *flow,
			   const bool *is_followed)
{
	for (uint32_t i = 0; i < flow->after_count; i++) {
		uint32_t before = flows->after[flow->after_at + i];

		if (!is_followed[before])
			return before;
	}
	return ROCE_FLOW_NONE;
}

/* False: out of memory. */
static bool add_up(const struct roce_plan *plan, uint64_t *out_bytes)
{
	const struct roce_flows *flows = &plan->flows;
	bool *is_followed = calloc(flows->count + 1, sizeof(*is_followed));
	uint64_t *most = calloc(flows->count + 1, sizeof(*most)); /* of the chain up to here */
	uint64_t sum = 0;

	for (uint32_t i = 0; is_followed && most && i < flows->count; i++) {
		uint32_t place = find_place(flows, &flows->at[i], is_followed);

		most[i] = bytes_of(plan, i);
		if (place != ROCE_FLOW_NONE) {
			is_followed[place] = true;
			sum -= most[place];
			if (most[place] > most[i])
				most[i] = most[place];
		}
		sum += most[i];
	}
	*out_bytes = sum;
	free(most);
	free(is_followed);
	return is_followed && most;
}

/* The line that asks for it. */
static uint32_t line_of_payload(const struct roce_scenario *s)
{
	for (uint32_t i = 0; i < s->workload_count; i++) {
		if (s->workloads[i].payload == ROCE_WORKLOAD_PAYLOAD_REAL)
			return s->workloads[i].where.payload;
	}
	return s->general.where.payload;
}

static void check_memory(const struct roce_plan *plan, struct roce_problems *problems)
{
	const struct roce_general_conf *g = &plan->scenario->general;
	uint64_t bytes;

	if (!add_up(plan, &bytes))
		roce_problem_add(problems, 0, "out of memory");
	else if (bytes > g->payload_memory)
		roce_problem_add(problems, line_of_payload(plan->scenario),
				 "payload: real: up to %llu MiB of messages may be under way at "
				 "once, and payload_memory is %llu MiB; shorter or fewer messages "
				 "need less, as does `payload: phantom` for some workloads",
				 (unsigned long long)((bytes + MIB - 1) / MIB),
				 (unsigned long long)(g->payload_memory / MIB));
}

/* A fault that can never show is a mistake. */
static void check_nics(const struct roce_plan *plan, struct roce_problems *problems)
{
	const struct roce_flows *flows = &plan->flows;
	const struct roce_host_conf *faulty = NULL;

	for (uint32_t n = 0; n < plan->graph.node_count && !faulty; n++) {
		if (plan->graph.nodes[n].is_host && plan->hosts[n]->nic == ROCE_HOST_NIC_FAULTY_UD)
			faulty = plan->hosts[n];
	}
	if (!faulty)
		return;
	for (uint32_t i = 0; i < flows->count; i++) {
		if (flows->at[i].service == ROCE_SERVICE_UD && is_real(plan, i))
			return;
	}
	roce_problem_add(problems, faulty->where.nic,
			 "nic: faulty-ud changes bytes of UD messages, expected a workload with "
			 "`service: ud` and `payload: real`");
}

bool roce_build_check_payload(const struct roce_plan *plan, struct roce_problems *problems)
{
	uint32_t before = problems->count;

	check_nics(plan, problems);
	check_memory(plan, problems);
	return problems->count == before;
}
