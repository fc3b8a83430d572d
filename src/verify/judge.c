/* SPDX-License-Identifier: BSD-2-Clause */
/* A failure beats a skip, a skip beats numbers, and numbers are held to the profile's threshold. */
#include "verify/judge.h"

#include "verify/kind.h"
#include "verify/lines.h"
#include "verify/others.h"

#include <math.h>
#include <string.h>

#define EXCUSED_MAX 100 /* times: others make things slower, but not without end */

/* Numbers of both sides, the initiator's where both have one. False: one that no report could
 * show, or below 0, which no quantity is, and which would hold any upper threshold. */
static bool take_values(struct roce_verify_outcome *o, json_t *const results[ROCE_VERIFY_SIDES])
{
	o->values = json_object();
	for (int side = ROCE_VERIFY_SIDES - 1; side >= 0; side--) {
		json_t *values = json_object_get(results[side], "values");
		const char *name;
		json_t *value;

		json_object_foreach(values, name, value)
		{
			bool is_known = roce_verify_number_find(o->c->kind, name) >= 0;

			if (!is_known || !json_is_number(value) ||
			    !isfinite(json_number_value(value)) || json_number_value(value) < 0) {
				o->verdict = ROCE_VERIFY_FAIL;
				roce_verify_outcome_reason(
					o, "the %s sent %s %s, %s kind %s",
					roce_verify_side_str((enum roce_verify_side)side),
					is_known ? "no number as" : "a number", name,
					is_known ? "which is one of" : "which is none of",
					o->c->kind->name);
				return false;
			}
			json_object_set(o->values, name, value);
		}
	}
	return true;
}

static json_t *take_picture(json_t *const results[ROCE_VERIFY_SIDES], const char *name)
{
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		json_t *found = json_object_get(results[side], name);

		if (found)
			return json_incref(found);
	}
	return NULL;
}

static void take_detail(struct roce_verify_outcome *o, json_t *const results[ROCE_VERIFY_SIDES])
{
	o->detail = json_object();
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		json_t *found = json_object_get(results[side], "detail");

		if (found)
			json_object_set(o->detail,
					roce_verify_side_str((enum roce_verify_side)side), found);
	}
}

/* The first side with this verdict gives the reason; where both have one, both are told. */
static bool take_verdict(struct roce_verify_outcome *o, json_t *const results[ROCE_VERIFY_SIDES],
			 const char *word, enum roce_verify_verdict verdict)
{
	const char *reasons[ROCE_VERIFY_SIDES];
	uint32_t count = 0;

	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		bool is_it = strcmp(roce_json_text(results[side], "verdict"), word) == 0;

		reasons[side] = is_it ? roce_json_text(results[side], "reason") : NULL;
		count += is_it;
	}
	if (!count)
		return false;
	o->verdict = verdict;
	if (count == 1)
		roce_verify_outcome_reason(o, "%s: %s", reasons[0] ? "initiator" : "target",
					   reasons[0] ? reasons[0] : reasons[1]);
	else if (strcmp(reasons[0], reasons[1]) == 0)
		roce_verify_outcome_reason(o, "both sides: %s", reasons[0]);
	else
		roce_verify_outcome_reason(o, "initiator: %s; target: %s", reasons[0], reasons[1]);
	return true;
}

/* "ok" is a word that has to be said; whatever else a side said was neither "fail" nor "skip". */
static bool have_both_said_ok(struct roce_verify_outcome *o,
			      json_t *const results[ROCE_VERIFY_SIDES])
{
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		if (results[side] && strcmp(roce_json_text(results[side], "verdict"), "ok") == 0)
			continue;
		o->verdict = ROCE_VERIFY_FAIL;
		roce_verify_outcome_reason(o, "the %s gave no %s",
					   roce_verify_side_str((enum roce_verify_side)side),
					   results[side] ? "verdict" : "result");
		return false;
	}
	return true;
}

/* What was missed while others had the machine was not this network's fault, as far as one can
 * know; what was held all the same is held. */
static bool can_be_judged(const struct roce_verify_outcome *o, enum roce_verify_unit unit)
{
	const struct roce_verify_threshold *t = o->threshold;
	double factor = t->of ? o->floor : 1;

	if (o->others <= ROCE_VERIFY_OTHERS_MAX || unit == ROCE_VERIFY_COUNT ||
	    unit == ROCE_VERIFY_SHARE)
		return true;
	return (t->has_least && o->value * EXCUSED_MAX < t->least * factor) ||
	       (t->has_most && o->value > t->most * factor * EXCUSED_MAX);
}

/* "98 %, expected at least 98 %" would say nothing. */
static void format_missed(enum roce_verify_unit unit, double value, double bound, char out[64])
{
	char its[64];

	roce_verify_unit_format(unit, value, out, 64);
	roce_verify_unit_format(unit, bound, its, sizeof(its));
	if (strcmp(out, its) == 0)
		roce_verify_unit_format_exact(unit, value, out, 64);
}

static void hold_to_threshold(struct roce_verify_outcome *o)
{
	const struct roce_verify_threshold *t = o->threshold;
	double factor = t->of ? o->floor : 1;
	enum roce_verify_unit unit = o->c->kind->numbers[o->c->value].unit;
	bool is_low = t->has_least && o->value < t->least * factor;
	bool is_high = t->has_most && o->value > t->most * factor;
	char value[64];
	char text[256];

	o->verdict = is_low || is_high ? ROCE_VERIFY_FAIL : ROCE_VERIFY_PASS;
	if (o->verdict == ROCE_VERIFY_PASS)
		return;
	format_missed(unit, o->value, (is_low ? t->least : t->most) * factor, value);
	roce_verify_threshold_text(o, text, sizeof(text));
	if (can_be_judged(o, unit)) {
		roce_verify_outcome_reason(o, "%s %s, expected %s",
					   o->c->kind->numbers[o->c->value].name, value, text);
		return;
	}
	o->verdict = ROCE_VERIFY_MEASURED;
	roce_verify_outcome_reason(o,
				   "not judged: other programs had %.0f %% of the processors; %s "
				   "%s, expected %s",
				   o->others, o->c->kind->numbers[o->c->value].name, value, text);
}

/* The case that this one's threshold names. NULL: it tells nothing, which is said; a floor of 0
 * would let every rate pass. */
static const struct roce_verify_outcome *find_measured(struct roce_verify_outcome *o,
						       const struct roce_verify_record *record,
						       const char *name)
{
	const struct roce_verify_outcome *found = roce_verify_record_find(record, name);

	if (found && found->verdict != ROCE_VERIFY_FAIL && found->value > 0)
		return found;
	o->verdict = ROCE_VERIFY_MEASURED;
	roce_verify_outcome_reason(o, "not judged: %s %s", name,
				   !found				? "has no value"
				   : found->verdict == ROCE_VERIFY_FAIL ? "has failed"
									: "is 0");
	return NULL;
}

/* What the threshold is a factor of. False: there is nothing to hold the value to. */
static bool take_floor(struct roce_verify_outcome *o, const struct roce_verify_record *record)
{
	const struct roce_verify_outcome *floor;

	if (!o->threshold->of)
		return true;
	floor = find_measured(o, record, o->threshold->of);
	if (!floor)
		return false;
	o->has_floor = true;
	o->floor = floor->value;
	return true;
}

/* Whether this machine is one that the threshold is for; says so where not. */
static bool is_held_here(struct roce_verify_outcome *o, const struct roce_verify_record *record)
{
	const struct roce_verify_threshold *t = o->threshold;
	const struct roce_verify_outcome *where;
	char found[64];
	char needed[64];

	if (!t->where)
		return true;
	where = find_measured(o, record, t->where);
	if (!where)
		return false;
	if (where->value >= t->reaches)
		return true;
	roce_verify_unit_format(t->reaches_unit, where->value, found, sizeof(found));
	roce_verify_unit_format(t->reaches_unit, t->reaches, needed, sizeof(needed));
	o->verdict = ROCE_VERIFY_MEASURED;
	roce_verify_outcome_reason(o, "not judged: %s is %s here, expected %s for it", t->where,
				   found, needed);
	return false;
}

static void judge_value(struct roce_verify_outcome *o, const struct roce_verify_record *record)
{
	const struct roce_verify_number *number = &o->c->kind->numbers[o->c->value];

	o->threshold = roce_verify_case_threshold(o->c, record->profile);
	if (!o->has_value) {
		/* A side that says "ok" of nothing has proved nothing. */
		o->verdict = ROCE_VERIFY_FAIL;
		roce_verify_outcome_reason(o, "no value %s was measured", number->name);
	} else if (!o->threshold) {
		/* Checks that found no fault need no threshold. */
		o->verdict =
			number->unit == ROCE_VERIFY_COUNT ? ROCE_VERIFY_PASS : ROCE_VERIFY_MEASURED;
	} else if (take_floor(o, record) && is_held_here(o, record)) {
		hold_to_threshold(o);
	}
}

void roce_verify_judge(struct roce_verify_outcome *outcome,
		       json_t *const results[ROCE_VERIFY_SIDES],
		       const struct roce_verify_record *record)
{
	const char *name = outcome->c->kind->numbers[outcome->c->value].name;
	bool is_good = take_values(outcome, results);
	json_t *value = json_object_get(outcome->values, name);

	take_detail(outcome, results);
	outcome->histogram = take_picture(results, "histogram");
	outcome->curves = take_picture(results, "curves");
	outcome->has_value = value != NULL;
	outcome->value = json_number_value(value);
	if (take_verdict(outcome, results, "fail", ROCE_VERIFY_FAIL) || !is_good ||
	    take_verdict(outcome, results, "skip", ROCE_VERIFY_SKIPPED))
		return;
	if (have_both_said_ok(outcome, results))
		judge_value(outcome, record);
}
