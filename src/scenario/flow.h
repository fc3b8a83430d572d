/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flows, before there is a fabric: what a workload comes down to. The list is in an order in which
 * a flow only comes after flows that stand before it.
 */
#ifndef ROCE_SCENARIO_FLOW_H
#define ROCE_SCENARIO_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#define ROCE_FLOWS_MAX 4000000u
#define ROCE_FLOW_NONE UINT32_MAX

struct roce_flow {
	uint32_t src; /* nodes of the graph; src asks */
	uint32_t dst;
	uint64_t bytes;
	uint32_t message_bytes; /* 0: as large as can be */
	uint32_t response_bytes;
	uint64_t start_ps;    /* or so long after its predecessors */
	uint64_t interval_ps; /* between messages; 0: as fast as possible */
	uint32_t after_at;    /* in `after` of the list */
	uint32_t after_count;
	uint32_t workload; /* which of the scenario's */
	uint16_t queue_pairs;
	uint16_t depth;	 /* messages of a queue pair that are posted at a time; 0: the fabric's
			    default */
	uint16_t sport;	 /* 0: from the queue pair's number */
	uint8_t op;	 /* enum roce_op */
	uint8_t service; /* enum roce_service */
	uint8_t prio;
	uint8_t dscp;
	bool is_after_delivery; /* predecessors: when their data is there, not when src knows it */
	bool is_poisson;
	bool is_not_ecn;
};

struct roce_flows {
	struct roce_flow *at;
	uint32_t *after;
	uint32_t count;
	uint32_t after_count;
	uint32_t room;
	uint32_t after_room;
	bool is_full; /* too many, or out of memory */
};

/* The number of the new flow; when the list is full its number means nothing. */
uint32_t roce_flows_add(struct roce_flows *flows, const struct roce_flow *flow);
/* The flow that was added last begins when `predecessor` has ended too; ROCE_FLOW_NONE: nothing. */
void roce_flows_add_after(struct roce_flows *flows, uint32_t predecessor);
void roce_flows_fini(struct roce_flows *flows);

#endif
