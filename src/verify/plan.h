/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plan as it is run: cases in order, each of a kind (verify/kinds.h), with parameters and with a
 * threshold for each profile that has one. Files are YAML; what is wrong with one is said with file
 * and line, and what was expected there.
 *
 *	name: what it is for
 *	cases:
 *	  - name: latency/write_64        group/name
 *	    kind: latency
 *	    proves: a sentence
 *	    parameters: {op: write, size: 64}
 *	    value: p50                    one of the kind's numbers; by default its first
 *	    takes: 2s                     for the time left that is shown
 *	    timeout: 60s                  then it has failed
 *	    thresholds:
 *	      soft: {at_most: 4, of: floor/udp_64, source: why this number}
 *	      100g: {at_most: 10us, source: where it is from}
 *
 * With `where: floor/tcp, reaches: 16Gb/s` the case is held to the threshold only where that one's
 * value is at least so much: a slow machine cannot show what a fast line carries.
 */
#ifndef ROCE_VERIFY_PLAN_H
#define ROCE_VERIFY_PLAN_H

#include "scenario/problem.h"
#include "verify/kind.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_VERIFY_CASES_MAX	 2000u
#define ROCE_VERIFY_PROFILES_MAX 8u

/* In the unit of the case's value; with `of` times the value of that case. */
struct roce_verify_threshold {
	const char *profile;
	bool has_least;
	bool has_most;
	double least;
	double most;
	const char *of;	   /* the name of an earlier case; NULL: absolute */
	const char *where; /* likewise; NULL: held everywhere */
	double reaches;	   /* in the unit of that case's value, which is the next */
	enum roce_verify_unit reaches_unit;
	const char *source; /* never empty */
	uint32_t line;
};

struct roce_verify_case {
	const char *name;
	const char *proves;
	const struct roce_verify_kind *kind;
	json_t *parameters; /* all of the kind's, as the agent gets them */
	uint32_t value;	    /* index into the kind's numbers */
	double takes_s;
	double timeout_s;
	struct roce_verify_threshold thresholds[ROCE_VERIFY_PROFILES_MAX];
	uint32_t threshold_count;
	uint32_t line;
	bool is_wanted; /* by --only and --skip, or because one that is names it in `of` */
};

struct roce_verify_plan {
	const char *file;
	const char *name;
	struct roce_verify_case *cases;
	uint32_t case_count;
	struct roce_yaml *yaml;		/* texts point into it */
	struct roce_yaml *profile_yaml; /* likewise; NULL: no profile was loaded */
};

/* NULL: `problems` says why. */
struct roce_verify_plan *roce_verify_plan_load(const char *text, size_t length, const char *file,
					       struct roce_problems *problems);
void roce_verify_plan_destroy(struct roce_verify_plan *plan);

/* Adds the thresholds of a profile that is a file of its own:
 *
 *	profile: its name
 *	patience: 5                       time limits of all cases, times this; may be left out
 *	base: soft                        whose thresholds hold for all other cases; may be left out
 *	thresholds:
 *	  - {case: latency/write_64, at_most: 8us, source: why}
 *
 * and returns its name, which lives as long as the plan. NULL: `problems` says why. */
const char *roce_verify_profile_load(struct roce_verify_plan *plan, const char *text, size_t length,
				     struct roce_problems *problems);

/* Marks what is wanted. A pattern is a name or a beginning of one up to a slash, with * for any
 * part. NULL: all, or none are skipped. False: no case has such a name. */
bool roce_verify_plan_select(struct roce_verify_plan *plan, const char *only, const char *skip,
			     const char *profile);

bool roce_verify_pattern_fits(const char *pattern, const char *name);
/* The first of the patterns, apart by commas, that fits no case of the plan, in `out`. False: each
 * fits one; a misspelt one would leave out what its user thinks is verified. */
bool roce_verify_plan_unfit(const struct roce_verify_plan *plan, const char *patterns, char *out,
			    size_t size);

const struct roce_verify_case *roce_verify_plan_find(const struct roce_verify_plan *plan,
						     const char *name);
/* NULL: it has none in this profile. */
const struct roce_verify_threshold *roce_verify_case_threshold(const struct roce_verify_case *c,
							       const char *profile);
/* Whether any case of the plan has a threshold in it. */
bool roce_verify_plan_has_profile(const struct roce_verify_plan *plan, const char *profile);
/* Those that any has: "soft, 100g". */
void roce_verify_plan_profiles(const struct roce_verify_plan *plan, char *out, size_t size);

/* The plans that are built in. */
struct roce_verify_text {
	const char *text;
	size_t length;
};
struct roce_verify_text roce_verify_default_plan(void);
struct roce_verify_text roce_verify_self_test_plan(void);

#endif
