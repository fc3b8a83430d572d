/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keys at the top of a scenario: what it is called, how long it runs, and by whose rules.
 */
#ifndef ROCE_SCENARIO_SECTION_GENERAL_H
#define ROCE_SCENARIO_SECTION_GENERAL_H

#include "scenario/key.h"

/* The words of `profile`. */
enum roce_profile { ROCE_PROFILE_REAL, ROCE_PROFILE_HPCC_NS3 };

/* The words of `payload`. */
enum roce_payload_kind { ROCE_PAYLOAD_PHANTOM, ROCE_PAYLOAD_REAL };

/* clang-format off */
#define ROCE_GENERAL_KEYS(X)                                                                       \
	X(name, "name", TEXT, "", NULL, NULL, NULL, 0,                                             \
	  "title of the scenario, printed above its results", NULL)                                \
	X(description, "description", TEXT, "", NULL, NULL, NULL, 0,                               \
	  "what it shows, in some lines", NULL)                                                    \
	X(seed, "seed", COUNT, "1", "0", NULL, NULL, 0,                                            \
	  "all chance comes from it: the same seed gives the same run", NULL)                      \
	X(until, "until", TIME, "0", NULL, "1000s", NULL, 0,                                       \
	  "simulated time at which the run ends; 0: when all flows have ended", NULL)              \
	X(profile, "profile", WORD, "real", NULL, NULL, "real|hpcc-ns3", 0,                        \
	  "rules of real devices, or those of the HPCC ns-3 simulator to compare with it", NULL)   \
	X(payload, "payload", WORD, "phantom", NULL, NULL, "phantom|real", 0,                      \
	  "messages are a length, or bytes that travel and are compared where they arrive; times are the same", \
	  "phantom: a run is faster and needs less memory")                                        \
	X(payload_memory, "payload_memory", BYTES, "1GiB", "1MiB", "1TB", NULL, 0,                 \
	  "a scenario is refused whose real messages may take more at once", NULL)                 \
	X(stall, "stall", TIME, "10ms", "10us", "100s", NULL, 0,                                   \
	  "nothing delivered for so long: paused ports are searched for a deadlock, which ends the run",             \
	  "thirty times the longest pause at 100G")
/* clang-format on */

struct roce_general_conf {
	ROCE_GENERAL_KEYS(ROCE_KEY_MEMBER)
	struct {
		ROCE_GENERAL_KEYS(ROCE_KEY_LINE)
	} where;
};

extern const struct roce_section roce_section_general;

#endif
