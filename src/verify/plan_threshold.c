/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Thresholds: a bound or two in the unit of the case's value, or a factor on the value of another
 * case. What no value could hold is refused, and what no value could fail.
 */
#include "verify/plan_internal.h"

#include "verify/kind.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A factor ("3", "0.95", "95%") or a quantity of the unit. */
static int parse_bound(const char *text, bool is_factor, enum roce_verify_unit unit, double *out)
{
	uint64_t value;
	char *end;
	int rc;

	if (!is_factor)
		return roce_verify_unit_parse(unit, text, out);
	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	*out = strtod(text, &end);
	if (!*end)
		return *out <= 1e6 ? 0 : -ERANGE;
	rc = roce_unit_parse(ROCE_UNIT_PERCENT, text, &value);
	if (!rc)
		*out = (double)value / (double)ROCE_FRACTION_ONE;
	return rc;
}

static bool load_bound(struct roce_plan_loader *l, roce_yaml_node_t mapping, const char *name,
		       bool is_factor, enum roce_verify_unit unit, double *out)
{
	roce_yaml_node_t node = roce_plan_find_value(l, mapping, name);
	const char *text = node ? roce_yaml_text(l->yaml, node) : NULL;
	int rc;

	if (!node)
		return false;
	rc = text ? parse_bound(text, is_factor, unit, out) : -EINVAL;
	if (rc)
		roce_problem_add(l->problems, roce_yaml_line(l->yaml, node),
				 "%s: found %.60s, expected %s%s", name,
				 roce_yaml_what(l->yaml, node),
				 is_factor ? "how many times the value of the case in `of`, as 2.5"
					   : roce_verify_unit_expected(unit),
				 rc == -ERANGE ? ", and not so much" : "");
	return !rc;
}

/* What no value can hold, and what every one does. */
static void check_possible(struct roce_plan_loader *l, const struct roce_verify_threshold *t,
			   enum roce_verify_unit unit)
{
	double most = roce_verify_unit_most(unit);
	const char *text = roce_verify_unit_str(unit);

	if (t->has_least && t->has_most && t->least > t->most)
		roce_problem_add(l->problems, t->line,
				 "impossible threshold: at_least is above at_most");
	if (t->of && ((t->has_most && t->most <= 0) || (t->has_least && t->least <= 0)))
		roce_problem_add(l->problems, t->line,
				 "impossible threshold: a factor must be above 0");
	if (t->of)
		return;
	if (t->has_most && t->most <= 0 &&
	    (unit == ROCE_VERIFY_TIME || unit == ROCE_VERIFY_RATE || unit == ROCE_VERIFY_FREQUENCY))
		roce_problem_add(l->problems, t->line,
				 "impossible threshold: no value is at most 0 %s", text);
	if ((t->has_least && t->least > most) || (t->has_most && t->most > most))
		roce_problem_add(l->problems, t->line,
				 "impossible threshold: no value is above %.0f %s", most, text);
	if (t->has_least && t->least <= 0 && !t->has_most)
		roce_problem_add(l->problems, t->line,
				 "impossible threshold: every value is at least 0 %s, it could "
				 "never fail",
				 text);
}

/* The case of that name, which has to stand before this one; NULL: said. */
static const struct roce_verify_case *find_earlier(struct roce_plan_loader *l,
						   const struct roce_verify_case *c,
						   const struct roce_verify_threshold *t,
						   const char *key, const char *name)
{
	const struct roce_verify_case *found = roce_verify_plan_find(l->plan, name);

	if (found && found < c)
		return found;
	roce_problem_add(l->problems, t->line,
			 "%s: found %.60s, expected the name of a case before this one", key, name);
	return NULL;
}

static void load_condition(struct roce_plan_loader *l, const struct roce_verify_case *c,
			   struct roce_verify_threshold *t, roce_yaml_node_t node)
{
	bool is_bound_there = roce_plan_find_value(l, node, "reaches");
	const struct roce_verify_case *where;

	if (!roce_plan_find_value(l, node, "where")) {
		if (is_bound_there)
			roce_problem_add(l->problems, t->line,
					 "reaches: `where` is missing, expected the name of a case "
					 "before this one");
		return;
	}
	t->where = roce_plan_need_text(l, node, "a threshold", "where");
	where = t->where ? find_earlier(l, c, t, "where", t->where) : NULL;
	if (!is_bound_there)
		roce_problem_add(l->problems, t->line,
				 "where: `reaches` is missing, expected what the value of that "
				 "case has to be at least");
	else if (where && where->kind) {
		t->reaches_unit = where->kind->numbers[where->value].unit;
		load_bound(l, node, "reaches", false, t->reaches_unit, &t->reaches);
	}
}

static void check_floor(struct roce_plan_loader *l, const struct roce_verify_case *c,
			const struct roce_verify_threshold *t)
{
	const struct roce_verify_case *floor = find_earlier(l, c, t, "of", t->of);

	if (floor && floor->kind && c->kind &&
	    floor->kind->numbers[floor->value].unit != c->kind->numbers[c->value].unit)
		roce_problem_add(l->problems, t->line,
				 "of: %.60s is measured in %s, and this case in %s", t->of,
				 roce_verify_unit_str(floor->kind->numbers[floor->value].unit),
				 roce_verify_unit_str(c->kind->numbers[c->value].unit));
}

void roce_plan_load_threshold(struct roce_plan_loader *l, struct roce_verify_case *c,
			      const char *profile, roce_yaml_node_t node, const char *keys)
{
	enum roce_verify_unit unit = c->kind->numbers[c->value].unit;
	struct roce_verify_threshold *t = NULL;
	roce_yaml_node_t of;
	const char *source;

	for (uint32_t i = 0; i < c->threshold_count; i++) {
		if (strcmp(c->thresholds[i].profile, profile) == 0)
			t = &c->thresholds[i];
	}
	if (!roce_plan_check_keys(l, node, "a threshold", keys))
		return;
	if (!t && c->threshold_count == ROCE_VERIFY_PROFILES_MAX) {
		roce_problem_add(l->problems, roce_yaml_line(l->yaml, node),
				 "more than %u profiles", ROCE_VERIFY_PROFILES_MAX);
		return;
	}
	t = t ? t : &c->thresholds[c->threshold_count++];
	of = roce_plan_find_value(l, node, "of");
	source = roce_plan_need_text(l, node, "a threshold", "source");
	*t = (struct roce_verify_threshold){
		.profile = profile,
		.of = of ? roce_plan_need_text(l, node, "a threshold", "of") : NULL,
		.source = source ? source : "",
		.line = roce_yaml_line(l->yaml, node),
	};
	t->has_least = load_bound(l, node, "at_least", of, unit, &t->least);
	t->has_most = load_bound(l, node, "at_most", of, unit, &t->most);
	load_condition(l, c, t, node);
	if (!roce_plan_find_value(l, node, "at_least") && !roce_plan_find_value(l, node, "at_most"))
		roce_problem_add(l->problems, t->line,
				 "a threshold: neither at_least nor at_most is there");
	check_possible(l, t, unit);
	if (t->of)
		check_floor(l, c, t);
}
