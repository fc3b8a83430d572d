/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile of one's own: thresholds for cases of a plan, in a file beside it. Patterns are those
 * of --only; a later entry replaces an earlier one, and any replaces what `base` has for the case.
 * Time limits are the plan's, or all of them so many times longer for machines that are far slower,
 * for instance emulated.
 */
#include "verify/plan_internal.h"

#include "verify/kind.h"

#include <stdlib.h>

#define PATIENCE_MAX 1000

static void load_entry(struct roce_plan_loader *l, const char *profile, roce_yaml_node_t node)
{
	const char *pattern = roce_yaml_is_mapping(l->yaml, node)
				      ? roce_plan_need_text(l, node, "a threshold", "case")
				      : NULL;
	uint32_t count = 0;

	if (!pattern) {
		roce_plan_check_keys(l, node, "a threshold", "case|" ROCE_THRESHOLD_KEYS);
		return;
	}
	for (uint32_t i = 0; i < l->plan->case_count; i++) {
		struct roce_verify_case *c = &l->plan->cases[i];

		if (!roce_verify_pattern_fits(pattern, c->name))
			continue;
		count++;
		roce_plan_load_threshold(l, c, profile, node, "case|" ROCE_THRESHOLD_KEYS);
	}
	if (!count)
		roce_problem_add(l->problems, roce_yaml_line(l->yaml, node),
				 "case: the plan has none of the name %.60s", pattern);
}

static void load_patience(struct roce_plan_loader *l)
{
	roce_yaml_node_t node = roce_plan_find_value(l, ROCE_YAML_ROOT, "patience");
	const char *text = node ? roce_yaml_text(l->yaml, node) : NULL;
	char *end = NULL;
	double factor = text ? strtod(text, &end) : 0;

	if (!node)
		return;
	if (!text || *end || !(factor >= 1 && factor <= PATIENCE_MAX)) {
		roce_problem_add(l->problems, roce_yaml_line(l->yaml, node),
				 "patience: found %.60s, expected a number of 1 to %d",
				 roce_yaml_what(l->yaml, node), PATIENCE_MAX);
		return;
	}
	for (uint32_t i = 0; i < l->plan->case_count; i++)
		l->plan->cases[i].timeout_s *= factor;
}

/* All thresholds of a profile of the plan, under the name of this one. */
static void take_base(struct roce_plan_loader *l, const char *profile)
{
	const char *base = roce_plan_need_text(l, ROCE_YAML_ROOT, "a profile", "base");
	uint32_t line = roce_yaml_line(l->yaml, roce_plan_find_value(l, ROCE_YAML_ROOT, "base"));
	char known[128];

	if (!base)
		return;
	if (!roce_verify_plan_has_profile(l->plan, base)) {
		roce_verify_plan_profiles(l->plan, known, sizeof(known));
		roce_problem_add(l->problems, line,
				 "base: no case of the plan has a threshold for %.60s, but for %s",
				 base, known);
		return;
	}
	for (uint32_t i = 0; i < l->plan->case_count; i++) {
		struct roce_verify_case *c = &l->plan->cases[i];
		const struct roce_verify_threshold *t = roce_verify_case_threshold(c, base);

		if (!t || roce_verify_case_threshold(c, profile))
			continue;
		if (c->threshold_count == ROCE_VERIFY_PROFILES_MAX) {
			roce_problem_add(l->problems, line, "more than %u profiles",
					 ROCE_VERIFY_PROFILES_MAX);
			return;
		}
		c->thresholds[c->threshold_count] = *t;
		c->thresholds[c->threshold_count++].profile = profile;
	}
}

static const char *load(struct roce_plan_loader *l)
{
	roce_yaml_node_t list;
	const char *profile;

	if (!roce_yaml_line(l->yaml, ROCE_YAML_ROOT) ||
	    !roce_plan_check_keys(l, ROCE_YAML_ROOT, "a profile",
				  "profile|base|patience|thresholds"))
		return NULL;
	profile = roce_plan_need_text(l, ROCE_YAML_ROOT, "a profile", "profile");
	load_patience(l);
	list = roce_plan_find_value(l, ROCE_YAML_ROOT, "thresholds");
	if (!list || !roce_yaml_is_list(l->yaml, list)) {
		roce_problem_add(l->problems, list ? roce_yaml_line(l->yaml, list) : 0,
				 "thresholds: found %.60s, expected a list",
				 list ? roce_yaml_what(l->yaml, list) : "nothing");
		return NULL;
	}
	if (profile && roce_plan_find_value(l, ROCE_YAML_ROOT, "base"))
		take_base(l, profile);
	for (uint32_t i = 0; profile && i < roce_yaml_count(l->yaml, list); i++)
		load_entry(l, profile, roce_yaml_item(l->yaml, list, i));
	return profile;
}

const char *roce_verify_profile_load(struct roce_verify_plan *plan, const char *text, size_t length,
				     struct roce_problems *problems)
{
	struct roce_plan_loader l = {.plan = plan, .problems = problems};
	const char *profile;

	l.yaml = roce_yaml_create(text, length, problems);
	if (!l.yaml)
		return NULL;
	roce_yaml_destroy(plan->profile_yaml);
	plan->profile_yaml = l.yaml;
	profile = load(&l);
	if (!profile && !problems->count)
		roce_problem_add(problems, 0, "the profile is empty");
	return problems->count ? NULL : profile;
}
