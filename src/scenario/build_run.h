/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios of tests as fabrics: make() builds one and says whether it may be, run() takes it to
 * its end, drop() frees it. One at a time, and what it is made of can be looked at.
 */
#ifndef ROCE_SCENARIO_BUILD_RUN_H
#define ROCE_SCENARIO_BUILD_RUN_H

#include "scenario/build.h"
#include "scenario/outcome.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static struct roce_problems problems;
static struct roce_scenario *scenario;
static struct roce_plan plan;
static struct roce_built built;
static struct roce_outcome outcome;

static inline bool make(const char *text)
{
	roce_problems_init(&problems, "b.yaml");
	memset(&plan, 0, sizeof(plan));
	memset(&built, 0, sizeof(built));
	memset(&outcome, 0, sizeof(outcome));
	scenario = roce_scenario_load(text, strlen(text), "b.yaml", &problems);
	return scenario && roce_plan_init(&plan, scenario, NULL, &problems) &&
	       roce_build(&built, &plan, NULL, NULL, &problems);
}

static inline void drop(void)
{
	roce_outcome_fini(&outcome);
	roce_build_fini(&built);
	roce_plan_fini(&plan);
	roce_scenario_destroy(scenario);
}

/* To its end, with reroutes. */
static inline void run(const char *text)
{
	enum roce_fabric_end end = ROCE_FABRIC_END_TIME;
	uint64_t now = 0;
	uint64_t until;

	if (!make(text))
		fail_msg("%s: %s", text, problems.text[0]);
	until = scenario->general.until ? scenario->general.until : ROCE_FABRIC_NEVER;
	while (end == ROCE_FABRIC_END_TIME && now < until) {
		uint64_t stop = roce_build_next_stop(&built, now);

		end = roce_fabric_run(built.fabric, stop < until ? stop : until);
		now = roce_fabric_now_ps(built.fabric);
		if (now == stop)
			roce_build_reroute(&built);
	}
	assert_int_equal(roce_outcome_init(&outcome, &built, end), 0);
}

#endif
