/* SPDX-License-Identifier: BSD-2-Clause */
/* The head of the page: the result in tiles, what failed, what could not be done. */
#include "verify/page_internal.h"

#include "verify/advice.h"
#include "verify/kind.h"
#include "verify/lines.h"
#include "verify/sides.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum roce_tone roce_verify_tone(enum roce_verify_verdict verdict)
{
	switch (verdict) {
	case ROCE_VERIFY_PASS:
		return ROCE_TONE_GOOD;
	case ROCE_VERIFY_FAIL:
		return ROCE_TONE_BAD;
	case ROCE_VERIFY_SKIPPED:
		return ROCE_TONE_WARN;
	case ROCE_VERIFY_MEASURED:
	case ROCE_VERIFY_VERDICT_COUNT:
		return ROCE_TONE_PLAIN;
	}
	return ROCE_TONE_PLAIN;
}

void roce_verify_page_value(const struct roce_verify_rollup *r, double value, char *out,
			    size_t size)
{
	const struct roce_verify_number *number = &r->c->kind->numbers[r->c->value];
	size_t used;

	*out = '\0';
	if (!r->value_count)
		return;
	roce_verify_unit_format(number->unit, value, out, size);
	/* a count says nothing without what was counted */
	used = strlen(out);
	if (number->unit == ROCE_VERIFY_COUNT)
		snprintf(out + used, size - used, " %s", number->name);
}

static bool is_place(const struct roce_verify_record *record, const char *place)
{
	return record->place && strcmp(record->place, place) == 0;
}

static void append_member(const char *name, const json_t *value, char *out, size_t size)
{
	size_t used = strlen(out);
	char text[ROCE_VERIFY_TEXT_MAX];

	roce_json_format(value, text, sizeof(text));
	if (*text)
		snprintf(out + used, size - used, "%s%s %s", used ? ", " : "", name, text);
}

void roce_verify_page_parameters(const struct roce_verify_case *c, char *out, size_t size)
{
	const char *name;
	json_t *value;

	*out = '\0';
	json_object_foreach(c->parameters, name, value)
	{
		const struct roce_key *key = roce_section_find(&c->kind->parameters, name);
		uint64_t number = (uint64_t)json_integer_value(value);
		char text[64];

		if (strlen(out) + 2 >= size)
			break;
		if (!key || !json_is_integer(value) ||
		    (key->kind != ROCE_KIND_TIME && key->kind != ROCE_KIND_BYTES &&
		     key->kind != ROCE_KIND_RATE)) {
			append_member(name, value, out, size);
			continue;
		}
		/* agents get nanoseconds, units are read in picoseconds */
		roce_unit_format(key->kind, key->kind == ROCE_KIND_TIME ? number * 1000 : number,
				 text, sizeof(text));
		snprintf(out + strlen(out), size - strlen(out), "%s%s %s", *out ? ", " : "", name,
			 text);
	}
}

void roce_verify_page_flat(const json_t *object, char *out, size_t size)
{
	const char *name;
	json_t *value;

	*out = '\0';
	json_object_foreach((json_t *)object, name, value)
	{
		if (strlen(out) + 2 < size)
			append_member(name, value, out, size);
	}
}

/* ---- the result ---- */

static void tile(FILE *out, const struct roce_verify_record *record,
		 enum roce_verify_verdict verdict, const char *label, const char *note)
{
	uint32_t count = roce_verify_record_count(record, verdict);
	char text[32];

	snprintf(text, sizeof(text), "%u", count);
	roce_page_tile(out, count ? roce_verify_tone(verdict) : ROCE_TONE_PLAIN, text, label, note);
}

static void tiles(const struct roce_verify_record *record, FILE *out)
{
	uint32_t failed = roce_verify_record_count(record, ROCE_VERIFY_FAIL);
	bool is_whole = record->is_complete && !record->broken_off;
	uint32_t unjudged = roce_verify_record_unjudged(record);
	char text[64], note[64];

	snprintf(note, sizeof(note), "%u not judged", unjudged);
	roce_page_tiles_begin(out);
	roce_page_tile(out,
		       failed	  ? ROCE_TONE_BAD
		       : is_whole ? ROCE_TONE_GOOD
				  : ROCE_TONE_WARN,
		       failed	  ? "failed"
		       : is_whole ? "passed"
				  : "broken off",
		       "Result",
		       failed && !is_whole ? "and broken off"
		       : unjudged	   ? note
					   : NULL);
	tile(out, record, ROCE_VERIFY_PASS, "Passed", NULL);
	tile(out, record, ROCE_VERIFY_FAIL, "Failed", NULL);
	tile(out, record, ROCE_VERIFY_SKIPPED, "Skipped", "cannot be done here");
	tile(out, record, ROCE_VERIFY_MEASURED, "Measured", "no threshold, or not judged");
	if (record->seconds >= 120)
		snprintf(text, sizeof(text), "%.0f min", record->seconds / 60);
	else
		snprintf(text, sizeof(text), "%.0f s", record->seconds);
	snprintf(note, sizeof(note), "%u of %u cases", record->outcome_count, record->outcome_size);
	roce_page_tile(out, is_whole ? ROCE_TONE_PLAIN : ROCE_TONE_WARN, text, "Took", note);
	roce_page_tile(out, ROCE_TONE_PLAIN, record->profile, "Profile", "of thresholds");
	snprintf(text, sizeof(text), "%llu", (unsigned long long)record->seed);
	snprintf(note, sizeof(note), "%u rounds", record->repeat);
	roce_page_tile(out, ROCE_TONE_PLAIN, text, "Seed", record->repeat > 1 ? note : NULL);
	roce_page_tiles_end(out);
	if (!is_whole) {
		char line[ROCE_VERIFY_TEXT_MAX];

		snprintf(line, sizeof(line), "The run was not finished: %s.",
			 record->broken_off ? record->broken_off : "no reason is known");
		roce_page_message(out, ROCE_TONE_WARN, line);
	}
}

/* ---- failures ---- */

/* What each round came to, where there were several. */
static void failure_rounds(const struct roce_verify_record *record,
			   const struct roce_verify_rollup *r, FILE *out)
{
	char text[ROCE_VERIFY_TEXT_MAX] = "";

	for (uint32_t i = 0; r->rounds > 1 && i < record->outcome_count; i++) {
		const struct roce_verify_outcome *o = &record->outcomes[i];
		size_t used = strlen(text);
		char value[64] = "";

		if (o->c != r->c || used + 2 >= sizeof(text))
			continue;
		if (o->has_value)
			roce_verify_page_value(r, o->value, value, sizeof(value));
		snprintf(text + used, sizeof(text) - used, "%s%s%s%s", used ? ", " : "",
			 roce_verify_verdict_str(o->verdict), *value ? " " : "", value);
	}
	if (*text)
		roce_page_field(out, "Rounds", text);
}

static void failure_threshold(const struct roce_verify_outcome *o, FILE *out)
{
	char text[ROCE_VERIFY_TEXT_MAX];

	if (!o->threshold)
		return;
	roce_verify_threshold_text(o, text, sizeof(text));
	roce_page_field(out, "Expected", text);
	roce_page_field(out, "Because", o->threshold->source);
}

static void failure_numbers(const struct roce_verify_outcome *o, FILE *out)
{
	const struct roce_verify_kind *kind = o->c->kind;
	char text[ROCE_VERIFY_TEXT_MAX] = "";

	for (uint32_t i = 0; i < kind->number_count; i++) {
		const json_t *value = json_object_get(o->values, kind->numbers[i].name);
		size_t used = strlen(text);
		char number[64];

		if (!value || used + 2 >= sizeof(text))
			continue;
		roce_verify_unit_format(kind->numbers[i].unit, json_number_value(value), number,
					sizeof(number));
		snprintf(text + used, sizeof(text) - used, "%s%s %s", used ? ", " : "",
			 kind->numbers[i].name, number);
	}
	if (*text)
		roce_page_field(out, "Measured", text);
	roce_verify_page_parameters(o->c, text, sizeof(text));
	if (*text)
		roce_page_field(out, "Parameters", text);
}

static void failure_advice(const struct roce_verify_outcome *o, FILE *out)
{
	const char *advice[ROCE_VERIFY_ADVICE_MAX];
	size_t count = roce_verify_advice(o->c->name, o->reason, advice);

	for (size_t i = 0; i < count; i++)
		roce_page_field(out, i ? "" : "Look at", advice[i]);
}

static void failure(const struct roce_verify_record *record, const struct roce_verify_rollup *r,
		    FILE *out)
{
	const struct roce_verify_outcome *o = r->shown;
	char text[ROCE_VERIFY_TEXT_MAX];

	roce_page_finding_begin(out, ROCE_TONE_BAD, o->c->name, o->c->proves);
	roce_page_field(out, "Reason", o->reason ? o->reason : "none was given");
	failure_rounds(record, r, out);
	failure_threshold(o, out);
	failure_numbers(o, out);
	failure_advice(o, out);
	roce_verify_page_command(record, o, text, sizeof(text));
	roce_page_command(out, "Again", text);
	roce_page_fields_end(out);
	if (o->histogram)
		roce_verify_page_histogram(o, out);
	roce_page_finding_end(out);
}

#define FAILURES_MAX 100u /* a report of thousands is read by nobody; JSON has all */

static void failures(const struct roce_verify_pages *pages, FILE *out)
{
	uint32_t failed = 0;
	char line[96];

	for (uint32_t i = 0; i < pages->count; i++) {
		if (pages->cases[i].verdict != ROCE_VERIFY_FAIL)
			continue;
		if (!failed)
			roce_page_section(out, "failures", "Failures",
					  "Begin with the lowest group: what fails there shows "
					  "itself above as well.");
		if (failed++ < FAILURES_MAX)
			failure(pages->record, &pages->cases[i], out);
	}
	if (failed <= FAILURES_MAX)
		return;
	snprintf(line, sizeof(line), "and %u more, which the tables below have",
		 failed - FAILURES_MAX);
	roce_page_message(out, ROCE_TONE_BAD, line);
}

/* Cases that were not decided, each with the reason. */
static void list_undecided(const struct roce_verify_pages *pages, FILE *out,
			   enum roce_verify_verdict verdict, const char *id, const char *title,
			   const char *text)
{
	static const char *const columns[] = {"Case", "~What it would prove", "~Why not"};
	bool is_any = false;

	for (uint32_t i = 0; i < pages->count; i++) {
		const struct roce_verify_rollup *r = &pages->cases[i];
		const char *const cells[] = {r->c->name, r->c->proves, r->shown->reason};

		if (r->verdict != verdict || !r->shown->reason)
			continue;
		if (!is_any) {
			roce_page_section(out, id, title, text);
			roce_page_table_begin(out, columns, 3);
		}
		is_any = true;
		roce_page_table_row(out, ROCE_TONE_WARN, columns, cells, 3);
	}
	if (is_any)
		roce_page_table_end(out);
}

/* ---- the whole ---- */

static const char *fact(const struct roce_verify_record *record, int side, const char *name)
{
	const json_t *facts = json_object_get(record->facts[side], "facts");
	const char *text = json_string_value(json_object_get(facts, name));

	return text ? text : "?";
}

static void begin(const struct roce_verify_record *record, FILE *out)
{
	const char *initiator = fact(record, ROCE_VERIFY_INITIATOR, "host");
	const char *target = fact(record, ROCE_VERIFY_TARGET, "host");
	const char *ours = roce_verify_side_implementation(record, ROCE_VERIFY_INITIATOR);
	const char *theirs = roce_verify_side_implementation(record, ROCE_VERIFY_TARGET);
	char title[ROCE_VERIFY_TEXT_MAX], subtitle[ROCE_VERIFY_TEXT_MAX], when[64];
	char between[200] = "";
	bool is_one = !record->peer;
	struct tm tm;

	gmtime_r(&record->started, &tm);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M UTC", &tm);
	if (is_one)
		snprintf(title, sizeof(title), "RoCEv2 verification of %s", initiator);
	else
		snprintf(title, sizeof(title), "RoCEv2 verification between %s and %s", initiator,
			 target);
	if (strcmp(ours, theirs) != 0)
		snprintf(between, sizeof(between), ", %.90s with %.90s", ours, theirs);
	snprintf(subtitle, sizeof(subtitle), "%s, uroce %s, %s, %s%s", when, UROCE_VERSION,
		 record->plan->name,
		 is_place(record, "namespaces")
			 ? "two network namespaces of this host, joined by a veth"
		 : is_place(record, "here")		? "the loopback device of this host"
		 : is_place(record, "system") && is_one ? "the verbs devices of this host"
							: "two hosts",
		 between);
	roce_page_begin(out, title, subtitle);
}

static void tell_others(const struct roce_verify_record *record, FILE *out)
{
	struct roce_verify_others_sum others = roce_verify_record_others(record);
	char text[256];
	char line[300];

	if (!roce_verify_others_are_many(&others))
		return;
	roce_verify_others_text(&others, "the initiator's", text, sizeof(text));
	snprintf(line, sizeof(line), "%c%s.", toupper((unsigned char)*text), text + 1);
	roce_page_message(out, ROCE_TONE_WARN, line);
}

bool roce_verify_page(const struct roce_verify_record *record, FILE *out)
{
	struct roce_verify_pages pages = {.record = record};
	struct roce_verify_rollup *cases = roce_verify_rollup(record, &pages.count);

	if (!cases)
		return false;
	pages.cases = cases;
	begin(record, out);
	tiles(record, out);
	tell_others(record, out);
	failures(&pages, out);
	list_undecided(&pages, out, ROCE_VERIFY_SKIPPED, "skipped", "Skipped",
		       "These could not be done here: nothing is known about them.");
	list_undecided(&pages, out, ROCE_VERIFY_MEASURED, "not-judged", "Not judged",
		       "These have a threshold, but other programs had much of this machine's "
		       "processors, it is not fast enough for the threshold, or what they are "
		       "compared with has failed. Run them again when the machine is quiet.");
	roce_verify_page_groups(&pages, out);
	roce_verify_page_primitives(record, out);
	roce_verify_page_environment(record, out);
	roce_verify_page_plan(&pages, out);
	roce_page_end(out, "uroce verify; the JSON report of the same run has every number.");
	free(cases);
	return true;
}
