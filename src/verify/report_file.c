/* SPDX-License-Identifier: BSD-2-Clause */
/* Two passes: what the file says is checked, then the rounds of each case are summed up. Before,
 * texts lose what would steer the terminal that they are shown on. */
#include "verify/report_file.h"

#include "base/plain.h"
#include "verify/rollup.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MAX 1e9

struct loading {
	struct roce_verify_report *report;
	json_t *entries; /* of the file */
	char *err;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct loading *l, const char *fmt,
							...)
{
	int used = snprintf(l->err, ROCE_VERIFY_ERR_MAX, "%s: ", l->report->file);
	va_list ap;

	va_start(ap, fmt);
	if (used > 0 && used < (int)ROCE_VERIFY_ERR_MAX)
		vsnprintf(l->err + used, ROCE_VERIFY_ERR_MAX - (size_t)used, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* ---- what the file says ---- */

static int verdict_of(const json_t *entry)
{
	const char *word = json_string_value(json_object_get(entry, "verdict"));

	for (int v = 0; word && v < ROCE_VERIFY_VERDICT_COUNT; v++) {
		if (strcmp(word, roce_verify_verdict_str((enum roce_verify_verdict)v)) == 0)
			return v;
	}
	return -1;
}

static int check_entry(const struct loading *l, size_t index)
{
	const json_t *entry = json_array_get(l->entries, index);
	const json_t *value = json_object_get(entry, "value");
	const char *name = json_string_value(json_object_get(entry, "name"));

	if (!name || !*name)
		return refuse(l, "cases[%zu] has no name", index);
	if (verdict_of(entry) < 0)
		return refuse(l, "%s: verdict is none of pass, fail, skipped, measured", name);
	if (value && !json_is_null(value) && !json_is_number(value))
		return refuse(l, "%s: value is no number", name);
	if (!json_is_string(json_object_get(entry, "unit")))
		return refuse(l, "%s: unit is missing", name);
	return 0;
}

static int check_file(const struct loading *l)
{
	const char *program = json_string_value(json_object_get(l->report->json, "program"));
	size_t count = json_array_size(l->entries);
	int rc = 0;

	if (!program || strcmp(program, "uroce verify") != 0)
		return refuse(l, "no report of uroce verify (\"program\" says %s)",
			      program ? program : "nothing");
	if (!json_is_array(l->entries))
		return refuse(l, "\"cases\" is no list");
	for (size_t i = 0; !rc && i < count; i++)
		rc = check_entry(l, i);
	return rc;
}

/* ---- cases ---- */

static const char *text_of(const json_t *entry, const char *name)
{
	return json_string_value(json_object_get(entry, name));
}

static bool is_number(const json_t *limit, const char *name)
{
	return json_is_number(json_object_get(limit, name));
}

/* A threshold tells which way is better; without one the unit does. */
static int direction_of(const json_t *entry)
{
	const json_t *limit = json_object_get(entry, "limit");
	const char *unit = text_of(entry, "unit");
	bool has_least = is_number(limit, "at_least"), has_most = is_number(limit, "at_most");

	if (has_least != has_most)
		return has_least ? 1 : -1;
	if (strcmp(unit, "us") == 0)
		return -1;
	return strcmp(unit, "Gb/s") == 0 || strcmp(unit, "1/s") == 0 ? 1 : 0;
}

static void add_round(struct roce_verify_report_case *c, const json_t *entry)
{
	enum roce_verify_verdict verdict = (enum roce_verify_verdict)verdict_of(entry);
	const json_t *limit = json_object_get(entry, "limit");
	const char *number = text_of(entry, "number");

	if (!c->rounds ||
	    roce_verify_verdict_weight(verdict) > roce_verify_verdict_weight(c->verdict)) {
		c->verdict = verdict;
		c->reason = text_of(entry, "reason");
	}
	if (!c->rounds || (!c->of && text_of(limit, "of"))) {
		c->number = number ? number : "";
		c->unit = text_of(entry, "unit");
		c->threshold = text_of(entry, "threshold");
		c->of = text_of(limit, "of");
		c->direction = direction_of(entry);
	}
	c->fails += verdict == ROCE_VERIFY_FAIL;
	c->rounds++;
}

/* A share of the time of whatever is summed up; strangers' numbers may be any. */
static double number_within(const json_t *entry, const char *name, double most)
{
	double value = json_number_value(json_object_get(entry, name));

	return value > 0 && value <= most ? value : 0;
}

/* Sums of percent by seconds, divided in the end. */
static void add_others(struct roce_verify_report *report, struct roce_verify_report_case *c,
		       const json_t *entry)
{
	double seconds = number_within(entry, "seconds", SECONDS_MAX);
	double others = number_within(entry, "others", 100);

	c->seconds += seconds;
	c->others += others * seconds;
	report->others.rounds += seconds > 0;
	report->others.disturbed += seconds > 0 && others > ROCE_VERIFY_OTHERS_MAX;
}

static void divide_others(struct roce_verify_report *report)
{
	double seconds = 0, sum = 0;

	for (uint32_t i = 0; i < report->count; i++) {
		struct roce_verify_report_case *c = &report->cases[i];

		seconds += c->seconds;
		sum += c->others;
		c->others = c->seconds > 0 ? c->others / c->seconds : 0;
	}
	report->others.percent = seconds > 0 ? sum / seconds : 0;
}

static int gather(struct loading *l)
{
	struct roce_verify_report *report = l->report;
	size_t entries = json_array_size(l->entries);

	report->cases = calloc(entries + 1, sizeof(*report->cases));
	l->report->places = json_object();
	if (!report->cases || !l->report->places)
		return -ENOMEM;
	for (size_t i = 0; i < entries; i++) {
		const json_t *entry = json_array_get(l->entries, i);
		const char *name = text_of(entry, "name");
		json_t *place = json_object_get(l->report->places, name);
		uint32_t at = place ? (uint32_t)json_integer_value(place) : report->count;

		if (!place && json_object_set_new(l->report->places, name, json_integer(at)))
			return -ENOMEM;
		report->count += !place;
		report->cases[at].name = name;
		add_round(&report->cases[at], entry);
		add_others(report, &report->cases[at], entry);
	}
	divide_others(report);
	return 0;
}

/* ---- values ---- */

struct values {
	double *all;	  /* of one case */
	double *measures; /* with floors divided out, where each has one */
	uint32_t count;
	bool has_floors;
};

/* How far the rounds stray, as a share of the middle: all of it when they are few, else the middle
 * half and as much again, so that one round gone wrong does not hide everything. */
static double spread_of(const double *sorted, uint32_t count, double middle)
{
	uint32_t low = count / 4, high = count - 1 - count / 4;
	double width;

	if (count < 2 || fabs(middle) < 1e-300)
		return 0;
	width = count < 5 ? sorted[count - 1] - sorted[0] : 2 * (sorted[high] - sorted[low]);
	return width / fabs(middle);
}

static void sum_up(struct roce_verify_report_case *c, struct values *v)
{
	if (!v->count)
		return;
	c->value_count = v->count;
	c->median = roce_verify_median(v->all, v->count);
	c->least = v->all[0];
	c->most = v->all[v->count - 1];
	if (!v->has_floors) {
		c->of = NULL;
		c->measure = c->median;
		c->spread = spread_of(v->all, v->count, c->median);
		return;
	}
	c->measure = roce_verify_median(v->measures, v->count);
	c->spread = spread_of(v->measures, v->count, c->measure);
}

static void take_value(struct values *v, const json_t *entry)
{
	const json_t *value = json_object_get(entry, "value");
	double floor = json_number_value(json_object_get(json_object_get(entry, "limit"), "floor"));

	if (!json_is_number(value) || !isfinite(json_number_value(value)))
		return;
	v->all[v->count] = json_number_value(value);
	v->has_floors &= floor > 0;
	v->measures[v->count] = floor > 0 ? v->all[v->count] / floor : 0;
	v->count++;
}

/* The entries of one case may be anywhere, so they are chained by name first. */
static int sum_up_all(struct loading *l)
{
	size_t entries = json_array_size(l->entries);
	uint32_t *next = calloc(entries + 1, sizeof(*next));
	uint32_t *first = calloc(l->report->count + 1, sizeof(*first));
	double *storage = calloc(2 * (entries + 1), sizeof(*storage));
	int rc = next && first && storage ? 0 : -ENOMEM;

	/* chains of numbers from 1, the last entry first */
	for (size_t i = 0; !rc && i < entries; i++) {
		const char *name = text_of(json_array_get(l->entries, i), "name");
		uint32_t at =
			(uint32_t)json_integer_value(json_object_get(l->report->places, name));

		next[i] = first[at];
		first[at] = (uint32_t)i + 1;
	}
	for (uint32_t c = 0; !rc && c < l->report->count; c++) {
		struct values v = {
			.all = storage, .measures = storage + entries + 1, .has_floors = true};

		for (uint32_t i = first[c]; i; i = next[i - 1])
			take_value(&v, json_array_get(l->entries, i - 1));
		sum_up(&l->report->cases[c], &v);
	}
	free(next);
	free(first);
	free(storage);
	return rc;
}

/* ---- the whole ---- */

static void make_plain_text(json_t *text)
{
	const char *value = json_string_value(text);
	char *copy = roce_plain_is(value, false) ? NULL : strdup(value);

	if (copy) {
		roce_plain_make(copy);
		(void)json_string_set(text, copy);
	}
	free(copy);
}

/* As deep as the reader of JSON lets it be. */
static void make_plain(json_t *json)
{
	const char *name;
	json_t *value;
	size_t i;

	if (json_is_string(json))
		make_plain_text(json);
	json_array_foreach(json, i, value) make_plain(value);
	json_object_foreach(json, name, value)
	{
		make_plain(value);
	}
}

int roce_verify_report_take(struct roce_verify_report *out, json_t *json, const char *file,
			    char err[ROCE_VERIFY_ERR_MAX])
{
	struct loading l = {.report = out, .err = err};
	int rc;

	*out = (struct roce_verify_report){.file = file, .json = json_incref(json)};
	*err = '\0';
	l.entries = json_object_get(json, "cases");
	rc = check_file(&l);
	if (!rc)
		rc = gather(&l);
	if (!rc)
		rc = sum_up_all(&l);
	if (rc == -ENOMEM)
		snprintf(err, ROCE_VERIFY_ERR_MAX, "%s: out of memory", file);
	if (rc)
		roce_verify_report_fini(out);
	return rc;
}

int roce_verify_report_load(struct roce_verify_report *out, const char *file,
			    char err[ROCE_VERIFY_ERR_MAX])
{
	json_error_t error;
	FILE *f = fopen(file, "re");
	json_t *json;
	int rc = -errno;

	*out = (struct roce_verify_report){.file = file};
	if (!f) {
		snprintf(err, ROCE_VERIFY_ERR_MAX, "%s: %s", file, strerror(-rc));
		return rc;
	}
	json = json_loadf(f, 0, &error);
	fclose(f);
	if (!json) {
		snprintf(err, ROCE_VERIFY_ERR_MAX, "%s:%d: no JSON: %s", file, error.line,
			 error.text);
		return -EINVAL;
	}
	make_plain(json);
	rc = roce_verify_report_take(out, json, file, err);
	json_decref(json);
	return rc;
}

void roce_verify_report_fini(struct roce_verify_report *report)
{
	free(report->cases);
	json_decref(report->json);
	json_decref(report->places);
	report->cases = NULL;
	report->json = NULL;
	report->places = NULL;
	report->count = 0;
}

const char *roce_verify_report_text(const struct roce_verify_report *report, const char *name)
{
	const char *text = json_string_value(json_object_get(report->json, name));

	return text ? text : "?";
}

const struct roce_verify_report_case *
roce_verify_report_find(const struct roce_verify_report *report, const char *name)
{
	const json_t *place = json_object_get(report->places, name);

	return place ? &report->cases[json_integer_value(place)] : NULL;
}
