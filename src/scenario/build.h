/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plan becomes a fabric: the calls of fabric/fabric.h in their order. Nodes of the fabric have
 * the numbers of the graph, flows those of the plan.
 */
#ifndef ROCE_SCENARIO_BUILD_H
#define ROCE_SCENARIO_BUILD_H

#include "fabric/fabric.h"
#include "scenario/plan.h"

struct roce_built {
	const struct roce_plan *plan; /* borrowed */
	struct roce_fabric *fabric;
	uint32_t *edge_ports[2]; /* port number at end a and b of each edge */
	uint64_t *reroutes;	 /* times at which routes are to be computed anew, rising */
	uint32_t reroute_count;
	/* By the routes that there are now and the flows: a circle of switches that may come to
	 * wait for each other, as roce_fabric_find_circle() has it. */
	struct roce_fabric_cycle *circle;
	uint32_t circle_count;	/* 0: there is none, unless */
	bool is_circle_unknown; /* there were too many routes to look at */
};

/* Whether a fabric of this plan fits into `room` bytes, as far as that is known before; false:
 * told. */
bool roce_build_check_memory(const struct roce_plan *plan, uint64_t room,
			     struct roce_problems *problems);

/* False: the reason is in `problems`; the struct is to be ended all the same. The observer may be
 * NULL. */
bool roce_build(struct roce_built *built, const struct roce_plan *plan,
		const struct roce_fabric_observer *observer, void *observer_ctx,
		struct roce_problems *problems);
void roce_build_fini(struct roce_built *built);

/* Fills in `circle`; roce_build() does not, since it may take a while. 0 or -ENOMEM. */
int roce_build_find_circle(struct roce_built *built) __attribute__((warn_unused_result));
/* One line about it, for free(); NULL: there is nothing to say. */
char *roce_build_circle_text(const struct roce_built *built);
/* The same about flows whose way is longer than the hop limit of their frames. */
char *roce_build_way_text(const struct roce_built *built);

/* The tag of flows of a workload; latencies are gathered by it, 0 is for those that are not. */
static inline uint64_t roce_build_tag(uint32_t workload)
{
	return workload + UINT64_C(1);
}

static inline uint32_t roce_build_workload(uint64_t tag)
{
	return (uint32_t)(tag - 1);
}

/* The first time after `ps` at which the run has to come back for roce_build_reroute();
 * ROCE_FABRIC_NEVER if none. */
uint64_t roce_build_next_stop(const struct roce_built *built, uint64_t ps);
void roce_build_reroute(struct roce_built *built);

#endif
