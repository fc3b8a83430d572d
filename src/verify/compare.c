/* SPDX-License-Identifier: BSD-2-Clause */
/* Which class each case belongs to, and the words for it; see compare.h. */
#include "verify/compare.h"

#include "verify/lines.h"
#include "verify/others.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *roce_verify_change_str(enum roce_verify_change change)
{
	static const char *const words[] = {
#define CHANGE(name, word, headline) word,
		ROCE_VERIFY_CHANGES(CHANGE)
#undef CHANGE
	};

	return change < ROCE_VERIFY_CHANGE_COUNT ? words[change] : "?";
}

const char *roce_verify_change_headline(enum roce_verify_change change)
{
	static const char *const headlines[] = {
#define CHANGE(name, word, headline) headline,
		ROCE_VERIFY_CHANGES(CHANGE)
#undef CHANGE
	};

	return change < ROCE_VERIFY_CHANGE_COUNT ? headlines[change] : "?";
}

#define CHANGE_MAX 1e9 /* percent: damaged reports have any number */

/* ---- classes ---- */

static bool is_run(const struct roce_verify_report_case *c)
{
	return c && c->verdict != ROCE_VERIFY_SKIPPED;
}

/* The same number in the same unit, held to the same floor if to one. */
static bool is_comparable(const struct roce_verify_report_case *a,
			  const struct roce_verify_report_case *b)
{
	bool is_same_floor = (!a->of && !b->of) || (a->of && b->of && strcmp(a->of, b->of) == 0);

	return a->value_count && b->value_count && strcmp(a->number, b->number) == 0 &&
	       strcmp(a->unit, b->unit) == 0 && is_same_floor && fabs(a->measure) > 0 &&
	       isfinite(a->measure) && isfinite(b->measure);
}

/* What may be noise. Rounds on one side only tell of that side, so the tolerance stands beside. */
static double allowed_percent(const struct roce_verify_report_case *a,
			      const struct roce_verify_report_case *b, double asked)
{
	bool is_known = a->value_count > 1 && b->value_count > 1;
	double spread = 100 * (a->spread + b->spread);
	double least = asked >= 0 ? asked
		       : is_known ? ROCE_VERIFY_NOISE_PERCENT
				  : ROCE_VERIFY_TOLERANCE_PERCENT;

	return fmax(least, spread);
}

static enum roce_verify_change judge_numbers(struct roce_verify_comparison_case *c, double asked)
{
	int direction = c->after->direction ? c->after->direction : c->before->direction;

	if (!is_comparable(c->before, c->after))
		return ROCE_VERIFY_EQUAL;
	c->has_numbers = c->after->unit[0] != '\0' || direction != 0;
	c->change_percent =
		100 * ((c->after->measure - c->before->measure) / fabs(c->before->measure));
	c->change_percent = fmax(-CHANGE_MAX, fmin(c->change_percent, CHANGE_MAX));
	c->allowed_percent = allowed_percent(c->before, c->after, asked);
	/* counts of checks are what the plan says */
	if (!c->has_numbers || fabs(c->change_percent) <= c->allowed_percent)
		return ROCE_VERIFY_EQUAL;
	if (!direction)
		return ROCE_VERIFY_CHANGED;
	return (c->change_percent > 0) == (direction > 0) ? ROCE_VERIFY_BETTER : ROCE_VERIFY_WORSE;
}

static enum roce_verify_change judge(struct roce_verify_comparison_case *c, double asked)
{
	bool is_before = is_run(c->before), is_after = is_run(c->after);
	bool failed = is_before && c->before->verdict == ROCE_VERIFY_FAIL;
	bool fails = is_after && c->after->verdict == ROCE_VERIFY_FAIL;
	enum roce_verify_change by_numbers;

	if (!is_before && !is_after)
		return c->before && c->after ? ROCE_VERIFY_EQUAL
		       : c->after	     ? ROCE_VERIFY_NEW
					     : ROCE_VERIFY_GONE;
	if (!is_after)
		return ROCE_VERIFY_GONE;
	/* a failure is one, whether or not the case was run before */
	c->is_by_verdict = failed != fails;
	if (fails && !failed)
		return ROCE_VERIFY_WORSE;
	if (!is_before)
		return ROCE_VERIFY_NEW;
	by_numbers = judge_numbers(c, asked);
	return failed && !fails ? ROCE_VERIFY_BETTER : by_numbers;
}

bool roce_verify_is_still_failing(const struct roce_verify_comparison_case *c)
{
	return c->before && c->after && c->before->verdict == ROCE_VERIFY_FAIL &&
	       c->after->verdict == ROCE_VERIFY_FAIL;
}

static void add(struct roce_verify_comparison *out, const struct roce_verify_report_case *before,
		const struct roce_verify_report_case *after)
{
	struct roce_verify_comparison_case *c = &out->cases[out->count++];

	*c = (struct roce_verify_comparison_case){.before = before, .after = after};
	c->change = judge(c, out->tolerance_percent);
	out->counts[c->change]++;
	out->still_failing += roce_verify_is_still_failing(c);
}

int roce_verify_compare(struct roce_verify_comparison *out, const struct roce_verify_report *before,
			const struct roce_verify_report *after, double tolerance_percent)
{
	*out = (struct roce_verify_comparison){
		.before = before, .after = after, .tolerance_percent = tolerance_percent};
	out->cases = calloc(before->count + after->count + 1, sizeof(*out->cases));
	if (!out->cases)
		return -ENOMEM;
	for (uint32_t i = 0; i < after->count; i++)
		add(out, roce_verify_report_find(before, after->cases[i].name), &after->cases[i]);
	for (uint32_t i = 0; i < before->count; i++) {
		if (!roce_verify_report_find(after, before->cases[i].name))
			add(out, &before->cases[i], NULL);
	}
	if (roce_verify_comparison_find_alike(out)) {
		roce_verify_comparison_fini(out);
		return -ENOMEM;
	}
	return 0;
}

void roce_verify_comparison_fini(struct roce_verify_comparison *comparison)
{
	free(comparison->cases);
	comparison->cases = NULL;
	comparison->count = 0;
}

/* ---- words ---- */

const struct roce_verify_report_case *
roce_verify_comparison_any(const struct roce_verify_comparison_case *c)
{
	return c->after ? c->after : c->before;
}

const char *roce_verify_comparison_caution(const struct roce_verify_comparison *comparison)
{
	bool is_any = false;

	for (uint32_t i = 0; i < comparison->count; i++) {
		const struct roce_verify_comparison_case *c = &comparison->cases[i];

		if (!c->has_numbers || c->change == ROCE_VERIFY_EQUAL)
			continue;
		is_any = true;
		if (c->before->value_count > 1 && c->after->value_count > 1)
			return NULL;
	}
	return is_any ? "One of the runs had one round, so nothing is known of its noise: --repeat "
			"3 or more on both tells a change from chance."
		      : NULL;
}

void roce_verify_comparison_side(const struct roce_verify_report_case *c, bool has_numbers,
				 char *out, size_t size)
{
	size_t used = 0;

	if (!c) {
		snprintf(out, size, "not there");
		return;
	}
	if (c->fails && c->fails < c->rounds)
		used = (size_t)snprintf(out, size, "fail in %u of %u", c->fails, c->rounds);
	else if (c->verdict == ROCE_VERIFY_FAIL || !has_numbers)
		used = (size_t)snprintf(out, size, "%s", roce_verify_verdict_str(c->verdict));
	if (has_numbers && c->value_count && used < size)
		snprintf(out + used, size - used, "%s%.*f %s", used ? ", " : "",
			 fabs(c->median) < 10	 ? 2
			 : fabs(c->median) < 100 ? 1
						 : 0,
			 c->median, c->unit);
}

bool roce_verify_is_disturbed(const struct roce_verify_comparison_case *c)
{
	return c->has_numbers && c->change != ROCE_VERIFY_EQUAL &&
	       fmax(c->before->others, c->after->others) > ROCE_VERIFY_OTHERS_MAX;
}

void roce_verify_comparison_disturbance(const struct roce_verify_comparison_case *c, char *out,
					size_t size)
{
	snprintf(out, size, "other programs %.0f%% -> %.0f%%", c->before->others, c->after->others);
}

void roce_verify_comparison_remark(const struct roce_verify_comparison_case *c, char *out,
				   size_t size)
{
	const struct roce_verify_report_case *now = roce_verify_comparison_any(c);
	size_t used = 0;

	*out = '\0';
	if (c->has_numbers)
		used = (size_t)snprintf(out, size, "%+.0f%%%s%s, %.0f%% allowed", c->change_percent,
					now->of ? " relative to " : "", now->of ? now->of : "",
					c->allowed_percent);
	if (used < size && now->reason &&
	    (now->verdict == ROCE_VERIFY_FAIL || now->verdict == ROCE_VERIFY_SKIPPED))
		used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "; " : "",
					 now->reason);
	if (used + 2 < size && roce_verify_is_disturbed(c)) {
		memcpy(out + used, "; ", 3);
		roce_verify_comparison_disturbance(c, out + used + 2, size - used - 2);
	}
}

/* ---- the runs ---- */

static void compare_member(const json_t *a, const json_t *b, const char *name, const char *what,
			   roce_verify_difference_fn *found, void *context)
{
	char before[256], after[256];

	roce_json_format(json_object_get(a, name), before, sizeof(before));
	roce_json_format(json_object_get(b, name), after, sizeof(after));
	if (strcmp(before, after) != 0)
		found(context, what, before, after);
}

/* The device that the plan most likely used: the first of the list. */
static const json_t *first_device(const json_t *facts)
{
	return json_array_get(json_object_get(facts, "devices"), 0);
}

static void compare_side(const json_t *a, const json_t *b, const char *side,
			 roce_verify_difference_fn *found, void *context)
{
	static const char *const names[] = {"host", "kernel",	    "cpu",
					    "cpus", "memory_bytes", "libibverbs"};
	static const char *const of_device[] = {"name", "firmware", "active_mtu", "state"};
	const json_t *before = json_object_get(a, "facts"), *after = json_object_get(b, "facts");
	char what[96];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(what, sizeof(what), "%s's %s", side, names[i]);
		compare_member(before, after, names[i], what, found, context);
	}
	for (size_t i = 0; i < sizeof(of_device) / sizeof(of_device[0]); i++) {
		snprintf(what, sizeof(what), "%s's device: %s", side, of_device[i]);
		compare_member(first_device(before), first_device(after), of_device[i], what, found,
			       context);
	}
	snprintf(what, sizeof(what), "%s's uroce", side);
	compare_member(a, b, "version", what, found, context);
}

void roce_verify_compare_runs(const struct roce_verify_comparison *comparison,
			      roce_verify_difference_fn *found, void *context)
{
	static const char *const names[] = {"plan",   "only",  "skip", "profile", "seed",
					    "repeat", "place", "peer", "complete"};
	const json_t *a = comparison->before->json, *b = comparison->after->json;
	const json_t *before = json_object_get(a, "environment");
	const json_t *after = json_object_get(b, "environment");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		compare_member(a, b, names[i], names[i], found, context);
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		const char *name = roce_verify_side_str((enum roce_verify_side)side);

		compare_side(json_object_get(before, name), json_object_get(after, name), name,
			     found, context);
	}
}
