/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keys at the top of a scenario: what it is called, how long it runs, and by whose rules.
 */
#ifndef ROCE_SCENARIO_SECTION_GENERAL_H
#define ROCE_SCENARIO_SECTION_GENERAL_H

#include "scenario/key.h"

/* The words of `profile`. */
enum roce_profile { ROCE_PROFILE_REAL, ROCE_PROFILE_HPCC_NS3 };

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
