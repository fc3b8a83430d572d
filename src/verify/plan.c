/* SPDX-License-Identifier: BSD-2-Clause */
/* Looking things up in a plan, and choosing what is run of it. */
#include "verify/plan.h"

#include "scenario/yaml.h"
#include "verify/embedded.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN_SIZE 128 /* longer than a name can be */

void roce_verify_plan_destroy(struct roce_verify_plan *plan)
{
	if (!plan)
		return;
	for (uint32_t i = 0; i < plan->case_count; i++)
		json_decref(plan->cases[i].parameters);
	free(plan->cases);
	roce_yaml_destroy(plan->yaml);
	roce_yaml_destroy(plan->profile_yaml);
	free(plan);
}

const struct roce_verify_case *roce_verify_plan_find(const struct roce_verify_plan *plan,
						     const char *name)
{
	for (uint32_t i = 0; i < plan->case_count; i++) {
		if (plan->cases[i].name && strcmp(plan->cases[i].name, name) == 0)
			return &plan->cases[i];
	}
	return NULL;
}

const struct roce_verify_threshold *roce_verify_case_threshold(const struct roce_verify_case *c,
							       const char *profile)
{
	for (uint32_t i = 0; i < c->threshold_count; i++) {
		if (strcmp(c->thresholds[i].profile, profile) == 0)
			return &c->thresholds[i];
	}
	return NULL;
}

bool roce_verify_plan_has_profile(const struct roce_verify_plan *plan, const char *profile)
{
	for (uint32_t i = 0; i < plan->case_count; i++) {
		if (roce_verify_case_threshold(&plan->cases[i], profile))
			return true;
	}
	return false;
}

static bool is_first_of_profile(const struct roce_verify_plan *plan, uint32_t i, uint32_t j)
{
	const char *profile = plan->cases[i].thresholds[j].profile;

	for (uint32_t k = 0; k < i; k++) {
		if (roce_verify_case_threshold(&plan->cases[k], profile))
			return false;
	}
	return true;
}

void roce_verify_plan_profiles(const struct roce_verify_plan *plan, char *out, size_t size)
{
	size_t used = 0;

	snprintf(out, size, "none");
	for (uint32_t i = 0; i < plan->case_count; i++) {
		for (uint32_t j = 0; j < plan->cases[i].threshold_count && used < size; j++) {
			if (is_first_of_profile(plan, i, j))
				used += (size_t)snprintf(out + used, size - used, "%s%s",
							 used ? ", " : "",
							 plan->cases[i].thresholds[j].profile);
		}
	}
}

/* "latency" is all of latency/..., "*read*" whatever has it in its name. */
bool roce_verify_pattern_fits(const char *pattern, const char *name)
{
	size_t length = strlen(pattern);

	if (fnmatch(pattern, name, 0) == 0)
		return true;
	return strncmp(pattern, name, length) == 0 && (name[length] == '/' || name[length] == '\0');
}

/* The next of some patterns with commas, as far as there is room; false: there is none. */
static bool next_pattern(const char **patterns, char *out, size_t size)
{
	size_t n;

	*patterns += strspn(*patterns, ",");
	n = strcspn(*patterns, ",");
	snprintf(out, size, "%.*s", (int)n, *patterns);
	*patterns += n;
	return n > 0;
}

static bool is_any_match(const char *patterns, const char *name)
{
	char pattern[PATTERN_SIZE];

	while (next_pattern(&patterns, pattern, sizeof(pattern))) {
		if (roce_verify_pattern_fits(pattern, name))
			return true;
	}
	return false;
}

bool roce_verify_plan_unfit(const struct roce_verify_plan *plan, const char *patterns, char *out,
			    size_t size)
{
	char pattern[PATTERN_SIZE];

	while (next_pattern(&patterns, pattern, sizeof(pattern))) {
		uint32_t i = 0;

		while (i < plan->case_count &&
		       !roce_verify_pattern_fits(pattern, plan->cases[i].name))
			i++;
		if (i < plan->case_count)
			continue;
		snprintf(out, size, "%s", pattern);
		return true;
	}
	return false;
}

static bool is_name(const char *name, const char *wanted)
{
	return wanted && strcmp(name, wanted) == 0;
}

/* What a wanted case is compared with has to be measured too; floors stand before it. */
static void want_floors(struct roce_verify_plan *plan, const char *profile)
{
	for (uint32_t i = plan->case_count; i-- > 0;) {
		const struct roce_verify_case *c = &plan->cases[i];
		const struct roce_verify_threshold *t = roce_verify_case_threshold(c, profile);

		for (uint32_t j = 0; c->is_wanted && t && j < i; j++) {
			if (is_name(plan->cases[j].name, t->of) ||
			    is_name(plan->cases[j].name, t->where))
				plan->cases[j].is_wanted = true;
		}
	}
}

bool roce_verify_plan_select(struct roce_verify_plan *plan, const char *only, const char *skip,
			     const char *profile)
{
	bool is_any = false;

	for (uint32_t i = 0; i < plan->case_count; i++) {
		struct roce_verify_case *c = &plan->cases[i];

		c->is_wanted = (!only || is_any_match(only, c->name)) &&
			       !(skip && is_any_match(skip, c->name));
		is_any |= c->is_wanted;
	}
	want_floors(plan, profile);
	return is_any;
}

struct roce_verify_text roce_verify_default_plan(void)
{
	return (struct roce_verify_text){(const char *)roce_verify_plan_default,
					 roce_verify_plan_default_size};
}

struct roce_verify_text roce_verify_self_test_plan(void)
{
	return (struct roce_verify_text){(const char *)roce_verify_plan_self_test,
					 roce_verify_plan_self_test_size};
}
