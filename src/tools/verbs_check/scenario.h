/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Named scenarios: programs that are written and not drawn, each for one thing that must be seen to
 * work or to fail as it should, so that a table of results can say which. The client is always the
 * requester; both directions of two devices are two runs. What a seed still decides is the
 * payloads, the PSNs, and what surrounds a faulty request. Pure, but for the list of names.
 */
#ifndef VERBS_CHECK_SCENARIO_H
#define VERBS_CHECK_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/verbs_check/program.h"

enum { VC_SCENARIO_WORDS = 2 };

/* Bit per scenario. */
struct vc_scenario_set {
	uint64_t words[VC_SCENARIO_WORDS];
};

struct vc_scenario {
	const char *name; /* transport/what */
	const char *what; /* in a few words */
	enum vc_transport transport;
	enum vc_fault fault; /* of a faulty request, or NONE */
	uint32_t ops;	     /* bit per enum vc_op: those it is made of */
	uint32_t needs;	     /* VC_NEEDS_... */
	uint32_t features;   /* bit per enum vc_feature: those it uses, all of them needed */
	void (*write)(struct vc_program *program, const struct vc_scenario *scenario);
};

#define VC_NEEDS_WINDOW2      0x01u
#define VC_NEEDS_ATOMICS      0x02u
#define VC_NEEDS_ATOMIC_WRITE 0x04u
#define VC_NEEDS_16_READS     0x08u /* READs and atomics outstanding */
#define VC_NEEDS_MISALIGNED   0x10u /* a library that posts what cannot succeed */

/* NULL behind the last one. */
const struct vc_scenario *vc_scenario_at(uint32_t index);

/* Lists of names; a transport stands for all of its scenarios, "all" for all. False: out_bad is the
 * name that is none. */
bool vc_scenarios_parse(const char *list, struct vc_scenario_set *out_set, char *out_bad,
			size_t out_bad_size);
void vc_scenarios_list(void);

static inline bool vc_scenario_set_has(const struct vc_scenario_set *set, uint32_t index)
{
	return set->words[index / 64] >> index % 64 & 1;
}

static inline bool vc_scenario_set_is_empty(const struct vc_scenario_set *set)
{
	return !set->words[0] && !set->words[1];
}

/* Why it cannot be run between these devices, or NULL. */
const char *vc_scenario_refusal(const struct vc_scenario *scenario, const struct vc_limits *limits);
void vc_scenario_write(struct vc_program *program, const struct vc_limits *limits,
		       const struct vc_scenario *scenario, uint64_t seed);

#endif
