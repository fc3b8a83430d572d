/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is to be known before the numbers of two runs are read against each other. A verdict says by
 * itself when it was not judged for such a reason; a comparison of numbers does not see it.
 */
#include "verify/compare.h"

#include "verify/lines.h"
#include "verify/others.h"
#include "verify/rollup.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Measured on rented machines: 60 ns near, 350 ns apart; rounds stray by a third. */
#define PROCESSORS_FACTOR 2
#define PROCESSORS_KIND	  "processors"

struct telling {
	const struct roce_verify_comparison *comparison;
	roce_verify_caution_fn *found;
	void *context;
};

__attribute__((format(printf, 2, 3))) static void tell(const struct telling *t, const char *fmt,
						       ...)
{
	char sentence[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	t->found(t->context, sentence);
}

/* ---- other programs ---- */

static bool has_disturbed_changes(const struct roce_verify_comparison *comparison, bool is_before)
{
	for (uint32_t i = 0; i < comparison->count; i++) {
		const struct roce_verify_comparison_case *c = &comparison->cases[i];

		if (roce_verify_is_disturbed(c) &&
		    (is_before ? c->before : c->after)->others > ROCE_VERIFY_OTHERS_MAX)
			return true;
	}
	return false;
}

static void tell_others(const struct telling *t, bool is_before)
{
	const struct roce_verify_report *report =
		is_before ? t->comparison->before : t->comparison->after;
	char text[256];

	if (!roce_verify_others_are_many(&report->others) &&
	    !has_disturbed_changes(t->comparison, is_before))
		return;
	roce_verify_others_text(&report->others, "the initiator's", text, sizeof(text));
	tell(t, "%s: %s", is_before ? "before" : "after", text);
}

/* ---- processors ---- */

/* Of a side: the case's own number is the initiator's. */
static double processors_of(const json_t *entry, enum roce_verify_side side)
{
	const json_t *target = json_object_get(json_object_get(entry, "values"), "target");
	const json_t *value = side == ROCE_VERIFY_INITIATOR ? json_object_get(entry, "value")
							    : json_object_get(target, "value");
	double found = json_number_value(value);

	return isfinite(found) && found > 0 ? found : 0;
}

double roce_verify_report_processors(const struct roce_verify_report *report,
				     enum roce_verify_side side)
{
	const json_t *entries = json_object_get(report->json, "cases");
	double *values = calloc(json_array_size(entries) + 1, sizeof(*values));
	uint32_t count = 0;
	double found;

	for (size_t i = 0; values && i < json_array_size(entries); i++) {
		const json_t *entry = json_array_get(entries, i);

		if (strcmp(roce_json_text(entry, "kind"), PROCESSORS_KIND) != 0)
			continue;
		values[count] = processors_of(entry, side);
		count += values[count] > 0;
	}
	found = values ? roce_verify_median(values, count) : 0;
	free(values);
	return found;
}

static void tell_processors(const struct telling *t, enum roce_verify_side side)
{
	double before = roce_verify_report_processors(t->comparison->before, side);
	double after = roce_verify_report_processors(t->comparison->after, side);

	if (before <= 0 || after <= 0 ||
	    fmax(before, after) < PROCESSORS_FACTOR * fmin(before, after))
		return;
	tell(t,
	     "the %s's processors are %s each other (a cache line there and back: %.3g us before, "
	     "%.3g us after), which moves every time and rate: the figures are not comparable",
	     roce_verify_side_str(side), after > before ? "farther from" : "nearer to", before,
	     after);
}

/* ---- runs that are not whole ---- */

static void tell_broken_off(const struct telling *t, bool is_before)
{
	const json_t *json = (is_before ? t->comparison->before : t->comparison->after)->json;
	const char *why = roce_json_text(json, "broken_off");

	if (json_is_false(json_object_get(json, "complete")))
		tell(t, "%s: the run is not complete%s%s", is_before ? "before" : "after",
		     *why ? ": " : "", why);
}

void roce_verify_compare_circumstances(const struct roce_verify_comparison *comparison,
				       roce_verify_caution_fn *found, void *context)
{
	struct telling t = {comparison, found, context};

	tell_broken_off(&t, true);
	tell_broken_off(&t, false);
	tell_others(&t, true);
	tell_others(&t, false);
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++)
		tell_processors(&t, (enum roce_verify_side)side);
}
