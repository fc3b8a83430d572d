/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of the HPCC ns-3 simulator, read as they are: topology, flows, configuration. They
 * become a plan by that simulator's rules, as far as the fabric has them:
 *
 *   - frames have its sizes (data 48 bytes more than their payload, acknowledgements 60, no
 * preamble)
 *   - a packet carries PACKET_PAYLOAD_SIZE bytes, which is no path MTU: each is a message of its
 * own
 *   - acknowledgements are first at hosts, also while their priority is paused if ACK_HIGH_PRIO is
 * 1; in switches they stand behind data. Queue 0 is strict, the others take turns
 *   - PFC never expires; XOFF at an eighth of the free pool; headroom of 3 rate*delay of each link
 *   - marks on the way out; DCQCN by its rules, told of marks by acknowledgements
 *   - ECMP by murmur3 over its addresses and ports, seeded by the switch's number; next hops in the
 *     order in which a search from the destination finds them, the last number first
 *
 *   - HAS_WIN: a queue pair has at most the largest product of bandwidth and round trip on its way,
 *     with VAR_WIN 1 a part of it as its rate is of the line
 *   - L2_BACK_TO_ZERO: after a loss the chunk is sent again, which is a message here
 *
 * What changes results and is not simulated (other CC_MODEs, windows that differ by pair) is
 * refused.
 */
#ifndef ROCE_SCENARIO_HPCC_H
#define ROCE_SCENARIO_HPCC_H

#include "scenario/plan.h"

struct roce_hpcc_files {
	const char *topology;
	const char *flows;
	const char *config;
};

/* Fills scenario (fresh) and plan. False: what is wrong is in `problems`; the plan is to be ended
 * all the same. */
bool roce_hpcc_plan(struct roce_plan *plan, struct roce_scenario *scenario,
		    const struct roce_hpcc_files *files, struct roce_problems *problems);

#endif
