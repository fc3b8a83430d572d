/* SPDX-License-Identifier: BSD-2-Clause */
/* The record as JSON. Names here are what scripts and `verify diff` read: they stay. */
#include "verify/record.h"

#include "verify/kind.h"
#include "verify/lines.h"
#include "verify/primitives.h"
#include "verify/protocol.h"

static json_t *number_or_null(bool is_there, double value)
{
	return is_there ? roce_json_real(value) : json_null();
}

static json_t *limit_json(const struct roce_verify_outcome *o)
{
	const struct roce_verify_threshold *t = o->threshold;

	if (!t)
		return json_null();
	return json_pack("{s:o, s:o, s:s?, s:o, s:s?, s:o, s:s}", "at_least",
			 number_or_null(t->has_least, t->least), "at_most",
			 number_or_null(t->has_most, t->most), "of", t->of, "floor",
			 number_or_null(o->has_floor, o->floor), "where", t->where, "reaches",
			 number_or_null(t->where, t->reaches), "source", t->source);
}

static json_t *values_json(const struct roce_verify_outcome *o)
{
	const struct roce_verify_kind *kind = o->c->kind;
	json_t *values = json_object();

	for (uint32_t i = 0; o->values && i < kind->number_count; i++) {
		json_t *value = json_object_get(o->values, kind->numbers[i].name);

		if (value)
			json_object_set_new(values, kind->numbers[i].name,
					    json_pack("{s:O, s:s}", "value", value, "unit",
						      roce_verify_unit_str(kind->numbers[i].unit)));
	}
	return values;
}

static json_t *outcome_json(const struct roce_verify_outcome *o)
{
	const struct roce_verify_case *c = o->c;
	const struct roce_verify_number *number = &c->kind->numbers[c->value];
	char threshold[256];
	json_t *json;

	roce_verify_threshold_text(o, threshold, sizeof(threshold));
	json = json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:s?, s:s?, s:o, s:i, s:I, s:f, s:O, "
			 "s:o, s:f, s:O*, s:O*, s:O*}",
			 "name", c->name, "kind", c->kind->name, "proves", c->proves, "verdict",
			 roce_verify_verdict_str(o->verdict), "value",
			 number_or_null(o->has_value, o->value), "unit",
			 roce_verify_unit_str(number->unit), "number", number->name, "threshold",
			 *threshold ? threshold : NULL, "reason", o->reason, "limit", limit_json(o),
			 "round", (int)o->round, "seed", (json_int_t)o->seed, "seconds", o->seconds,
			 "parameters", c->parameters, "values", values_json(o), "others", o->others,
			 "detail", o->detail, "histogram", o->histogram, "curves", o->curves);
	return json;
}

/* Of a run that was killed this is what its reader finds. */
static const char *why_incomplete(const struct roce_verify_record *record)
{
	return record->is_complete || record->broken_off
		       ? record->broken_off
		       : "this was written while the run was under way";
}

json_t *roce_verify_record_json(const struct roce_verify_record *record)
{
	struct roce_verify_others_sum others = roce_verify_record_others(record);
	char started[32];
	struct tm tm;
	json_t *cases = json_array();
	json_t *totals = json_object();

	gmtime_r(&record->started, &tm);
	strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", &tm);
	for (uint32_t i = 0; i < record->outcome_count; i++)
		json_array_append_new(cases, outcome_json(&record->outcomes[i]));
	for (int v = 0; v < ROCE_VERIFY_VERDICT_COUNT; v++)
		json_object_set_new(totals, roce_verify_verdict_str((enum roce_verify_verdict)v),
				    json_integer(roce_verify_record_count(
					    record, (enum roce_verify_verdict)v)));
	return json_pack(
		"{s:s, s:s, s:i, s:s, s:o, s:s, s:o, s:I, s:i, s:s, s:o, s:s, s:f, s:b, s:s?, "
		"s:o, s:o, s:o, s:{s:f, s:i, s:i}, s:{s:O?, s:O?}, s:o, s:o}",
		"program", "uroce verify", "version", UROCE_VERSION, "protocol",
		ROCE_VERIFY_PROTOCOL, "plan", record->plan->name, "plan_file",
		roce_json_plain(record->plan->file), "profile", record->profile, "profile_file",
		roce_json_plain(record->profile_file), "seed", (json_int_t)record->seed, "repeat",
		(int)record->repeat, "place", record->place, "peer", roce_json_plain(record->peer),
		"started", started, "seconds", record->seconds, "complete",
		(int)record->is_complete, "broken_off", why_incomplete(record), "totals", totals,
		"only", roce_json_plain(record->only), "skip", roce_json_plain(record->skip),
		"others", "percent", others.percent, "disturbed", (int)others.disturbed, "rounds",
		(int)others.rounds, "environment", "initiator",
		record->facts[ROCE_VERIFY_INITIATOR], "target", record->facts[ROCE_VERIFY_TARGET],
		"primitives", roce_verify_primitives_json(record), "cases", cases);
}
