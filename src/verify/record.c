/* SPDX-License-Identifier: BSD-2-Clause */
/* The record's memory; what is written of it is in record_json.c and record_junit.c. */
#include "verify/record.h"

#include "base/plain.h"
#include "verify/kind.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *roce_verify_verdict_str(enum roce_verify_verdict verdict)
{
	static const char *const names[] = {
#define NAME(name, text) text,
		ROCE_VERIFY_VERDICTS(NAME)
#undef NAME
	};

	return names[verdict];
}

const char *roce_verify_side_str(enum roce_verify_side side)
{
	return side == ROCE_VERIFY_INITIATOR ? "initiator" : "target";
}

bool roce_verify_record_init(struct roce_verify_record *record, const struct roce_verify_plan *plan,
			     uint32_t repeat)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->case_count; i++)
		count += plan->cases[i].is_wanted;
	*record = (struct roce_verify_record){.plan = plan, .repeat = repeat};
	record->outcome_size = count * repeat;
	record->outcomes =
		calloc(record->outcome_size ? record->outcome_size : 1, sizeof(*record->outcomes));
	return record->outcomes != NULL;
}

void roce_verify_record_fini(struct roce_verify_record *record)
{
	for (uint32_t i = 0; i < record->outcome_count; i++) {
		struct roce_verify_outcome *o = &record->outcomes[i];

		free(o->reason);
		json_decref(o->values);
		json_decref(o->detail);
		json_decref(o->histogram);
		json_decref(o->curves);
	}
	free(record->outcomes);
	free(record->broken_off);
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++)
		json_decref(record->facts[side]);
	*record = (struct roce_verify_record){0};
}

struct roce_verify_outcome *roce_verify_record_add(struct roce_verify_record *record,
						   const struct roce_verify_case *c, uint32_t round)
{
	struct roce_verify_outcome *o = &record->outcomes[record->outcome_count++];

	*o = (struct roce_verify_outcome){
		.c = c,
		.round = round,
		.verdict = ROCE_VERIFY_SKIPPED,
	};
	return o;
}

const struct roce_verify_outcome *roce_verify_record_find(const struct roce_verify_record *record,
							  const char *name)
{
	for (uint32_t i = record->outcome_count; i-- > 0;) {
		if (record->outcomes[i].has_value && strcmp(record->outcomes[i].c->name, name) == 0)
			return &record->outcomes[i];
	}
	return NULL;
}

uint32_t roce_verify_record_count(const struct roce_verify_record *record,
				  enum roce_verify_verdict verdict)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < record->outcome_count; i++)
		count += record->outcomes[i].verdict == verdict;
	return count;
}

uint32_t roce_verify_record_unjudged(const struct roce_verify_record *record)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < record->outcome_count; i++)
		count += record->outcomes[i].verdict == ROCE_VERIFY_MEASURED &&
			 record->outcomes[i].reason;
	return count;
}

struct roce_verify_others_sum roce_verify_record_others(const struct roce_verify_record *record)
{
	struct roce_verify_others_sum sum = {0};
	double seconds = 0;

	for (uint32_t i = 0; i < record->outcome_count; i++) {
		const struct roce_verify_outcome *o = &record->outcomes[i];

		seconds += o->seconds;
		sum.percent += o->others * o->seconds;
		sum.rounds += o->seconds > 0;
		sum.disturbed += o->seconds > 0 && o->others > ROCE_VERIFY_OTHERS_MAX;
	}
	sum.percent = seconds > 0 ? sum.percent / seconds : 0;
	return sum;
}

void roce_verify_outcome_reason(struct roce_verify_outcome *outcome, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (text)
		roce_plain_make(text);
	free(outcome->reason);
	outcome->reason = text;
}

static size_t append_bound(const struct roce_verify_outcome *o, const char *word, double bound,
			   char *out, size_t size)
{
	enum roce_verify_unit unit = o->c->kind->numbers[o->c->value].unit;
	char text[64];
	char floor[64];

	if (!o->threshold->of) {
		roce_verify_unit_format(unit, bound, text, sizeof(text));
		return (size_t)snprintf(out, size, "%s %s", word, text);
	}
	if (!o->has_floor)
		return (size_t)snprintf(out, size, "%s %g x %s", word, bound, o->threshold->of);
	roce_verify_unit_format(unit, o->floor * bound, floor, sizeof(floor));
	return (size_t)snprintf(out, size, "%s %g x %s (%s)", word, bound, o->threshold->of, floor);
}

void roce_verify_threshold_text(const struct roce_verify_outcome *outcome, char *out, size_t size)
{
	const struct roce_verify_threshold *t = outcome->threshold;
	size_t used = 0;

	*out = '\0';
	if (!t)
		return;
	if (t->has_least)
		used = append_bound(outcome, "at least", t->least, out, size);
	if (t->has_least && t->has_most && used < size)
		used += (size_t)snprintf(out + used, size - used, " and ");
	if (t->has_most && used < size)
		used += append_bound(outcome, "at most", t->most, out + used, size - used);
	if (t->where && used < size) {
		char needed[64];

		roce_verify_unit_format(t->reaches_unit, t->reaches, needed, sizeof(needed));
		snprintf(out + used, size - used, " where %s is %s or more", t->where, needed);
	}
}
