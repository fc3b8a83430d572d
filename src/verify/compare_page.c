/* SPDX-License-Identifier: BSD-2-Clause */
/* The comparison as a page: what became worse first, at length, then the rest as tables. */
#include "verify/compare.h"

#include "report/chart.h"
#include "report/page.h"
#include "verify/advice.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define BARS_MAX   40u
#define NAMES_SIZE 4096u /* of cases that are told in one row: all of them, as a rule */

static enum roce_tone tone_of(enum roce_verify_change change)
{
	switch (change) {
	case ROCE_VERIFY_WORSE:
		return ROCE_TONE_BAD;
	case ROCE_VERIFY_BETTER:
		return ROCE_TONE_GOOD;
	case ROCE_VERIFY_GONE:
		return ROCE_TONE_WARN;
	case ROCE_VERIFY_NEW:
	case ROCE_VERIFY_CHANGED:
	case ROCE_VERIFY_EQUAL:
	case ROCE_VERIFY_CHANGE_COUNT:
		return ROCE_TONE_PLAIN;
	}
	return ROCE_TONE_PLAIN;
}

static void tiles(const struct roce_verify_comparison *comparison, FILE *out)
{
	char text[32];

	roce_page_tiles_begin(out);
	for (int c = 0; c < ROCE_VERIFY_CHANGE_COUNT; c++) {
		enum roce_verify_change change = (enum roce_verify_change)c;

		if (change == ROCE_VERIFY_CHANGED && !comparison->counts[c])
			continue;
		snprintf(text, sizeof(text), "%u", comparison->counts[c]);
		roce_page_tile(out, comparison->counts[c] ? tone_of(change) : ROCE_TONE_PLAIN, text,
			       change == ROCE_VERIFY_CHANGED ? "Changed"
							     : roce_verify_change_headline(change),
			       NULL);
	}
	if (comparison->still_failing) {
		snprintf(text, sizeof(text), "%u", comparison->still_failing);
		roce_page_tile(out, ROCE_TONE_BAD, text, "Failing before and after", NULL);
	}
	roce_page_tiles_end(out);
}

/* ---- what became worse ---- */

static void range(const struct roce_verify_report_case *c, char *out, size_t size)
{
	size_t used;

	roce_verify_comparison_side(c, c && c->value_count && c->unit[0], out, size);
	used = strlen(out);
	if (c && c->value_count > 1 && c->unit[0])
		snprintf(out + used, size - used, " (%.3g to %.3g in %u rounds)", c->least, c->most,
			 c->rounds);
}

static void finding(const struct roce_verify_comparison_case *c, FILE *out)
{
	const char *advice[ROCE_VERIFY_ADVICE_MAX];
	char text[512];
	size_t count;

	roce_page_finding_begin(out, ROCE_TONE_BAD, c->after->name,
				c->is_by_verdict ? "fails now" : NULL);
	range(c->before, text, sizeof(text));
	roce_page_field(out, "Before", text);
	range(c->after, text, sizeof(text));
	roce_page_field(out, "After", text);
	roce_verify_comparison_remark(c, text, sizeof(text));
	if (*text)
		roce_page_field(out, "Change", text);
	if (c->after->threshold)
		roce_page_field(out, "Threshold", c->after->threshold);
	count = roce_verify_advice(c->after->name,
				   c->after->reason	     ? c->after->reason
				   : c->after->direction < 0 ? "expected at most"
							     : "expected at least",
				   advice);
	for (size_t i = 0; i < count; i++)
		roce_page_field(out, i ? "" : "Look at", advice[i]);
	roce_page_fields_end(out);
	roce_page_finding_end(out);
}

static void worse(const struct roce_verify_comparison *comparison, FILE *out)
{
	if (!comparison->counts[ROCE_VERIFY_WORSE])
		return;
	roce_page_section(out, "worse", "Worse", "Beyond what the rounds or the tolerance allow.");
	for (uint32_t i = 0; i < comparison->count; i++) {
		if (comparison->cases[i].change == ROCE_VERIFY_WORSE)
			finding(&comparison->cases[i], out);
	}
}

/* ---- tables ---- */

static const char *const columns[] = {"Case",	 "#Before",  "#After",
				      "#Change", "#Allowed", "~Remark"};

static void row(const struct roce_verify_comparison_case *c, enum roce_tone tone, FILE *out)
{
	const struct roce_verify_report_case *now = roce_verify_comparison_any(c);
	char before[128], after[128], change[32] = "", allowed[32] = "", remark[512] = "";
	const char *const cells[] = {now->name, before, after, change, allowed, remark};

	roce_verify_comparison_side(c->before, c->has_numbers, before, sizeof(before));
	roce_verify_comparison_side(c->after, c->has_numbers, after, sizeof(after));
	if (c->has_numbers) {
		snprintf(change, sizeof(change), "%+.1f%%", c->change_percent);
		snprintf(allowed, sizeof(allowed), "%.0f%%", c->allowed_percent);
	}
	if (now->reason && !c->has_numbers)
		snprintf(remark, sizeof(remark), "%s", now->reason);
	else if (roce_verify_is_disturbed(c))
		roce_verify_comparison_disturbance(c, remark, sizeof(remark));
	else if (c->has_numbers && now->of)
		snprintf(remark, sizeof(remark), "relative to %s", now->of);
	roce_page_table_row(out, tone, columns, cells, 6);
}

/* Those of a group of which there is the same to say. */
static void alike_row(const struct roce_verify_comparison *comparison,
		      const struct roce_verify_comparison_case *first, enum roce_tone tone,
		      FILE *out)
{
	const char *reason = roce_verify_comparison_alike_reason(first);
	char name[128], before[128], after[128], names[NAMES_SIZE], remark[NAMES_SIZE + 512];
	const char *const cells[] = {name, before, after, NULL, NULL, remark};

	roce_verify_comparison_alike_name(first, name, sizeof(name));
	roce_verify_comparison_alike_side(comparison, first, true, before, sizeof(before));
	roce_verify_comparison_alike_side(comparison, first, false, after, sizeof(after));
	roce_verify_comparison_alike_names(comparison, first, UINT32_MAX, names, sizeof(names));
	snprintf(remark, sizeof(remark), "%.500s%s%s", reason, *reason ? ": " : "", names);
	roce_page_table_row(out, tone, columns, cells, 6);
}

typedef bool roce_verify_comparison_filter_fn(const struct roce_verify_comparison_case *c,
					      enum roce_verify_change change);

static bool is_of_class(const struct roce_verify_comparison_case *c, enum roce_verify_change change)
{
	return c->change == change;
}

static bool is_failing(const struct roce_verify_comparison_case *c, enum roce_verify_change change)
{
	(void)change;
	return roce_verify_is_still_failing(c);
}

static void table(const struct roce_verify_comparison *comparison,
		  roce_verify_comparison_filter_fn *is_wanted, enum roce_verify_change change,
		  enum roce_tone tone, FILE *out)
{
	roce_page_table_begin(out, columns, 6);
	for (uint32_t i = 0; i < comparison->count; i++) {
		const struct roce_verify_comparison_case *c = &comparison->cases[i];

		if (!is_wanted(c, change) || c->is_told_with_another)
			continue;
		if (c->alike > 1)
			alike_row(comparison, c, tone, out);
		else
			row(c, tone, out);
	}
	roce_page_table_end(out);
}

static void tables(const struct roce_verify_comparison *comparison, FILE *out)
{
	if (comparison->still_failing) {
		roce_page_section(out, "failing", "Failing before and after", NULL);
		table(comparison, is_failing, ROCE_VERIFY_EQUAL, ROCE_TONE_BAD, out);
	}
	for (int c = ROCE_VERIFY_BETTER; c < ROCE_VERIFY_CHANGE_COUNT; c++) {
		enum roce_verify_change change = (enum roce_verify_change)c;

		if (!comparison->counts[c])
			continue;
		roce_page_section(out, roce_verify_change_str(change),
				  roce_verify_change_headline(change), NULL);
		table(comparison, is_of_class, change, tone_of(change), out);
	}
}

/* ---- the largest changes as a picture ---- */

/* Those that are neither noise nor nothing, the largest first. */
static uint32_t largest(const struct roce_verify_comparison *comparison,
			struct roce_chart_bar *bars)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < comparison->count; i++) {
		const struct roce_verify_comparison_case *c = &comparison->cases[i];
		double size = fabs(c->change_percent);
		uint32_t at = count;

		if (!c->has_numbers || size <= c->allowed_percent)
			continue;
		while (at > 0 && bars[at - 1].value < size)
			at--;
		if (at == BARS_MAX)
			continue;
		count += count < BARS_MAX;
		memmove(&bars[at + 1], &bars[at], (count - 1 - at) * sizeof(*bars));
		bars[at] = (struct roce_chart_bar){roce_verify_comparison_any(c)->name, size,
						   c->allowed_percent};
	}
	return count;
}

static void picture(const struct roce_verify_comparison *comparison, FILE *out)
{
	struct roce_chart_bar bars[BARS_MAX + 1];
	uint32_t count = largest(comparison, bars);

	if (!count)
		return;
	roce_page_section(out, "sizes", "How much",
			  "Changes beyond what is allowed, whichever way; the broken line is what "
			  "was allowed.");
	roce_page_charts_begin(out);
	roce_chart_bars(out, "Change", ROCE_QUANTITY_PERCENT, bars, count);
	roce_page_charts_end(out);
}

/* ---- the runs ---- */

static const char *const run_columns[] = {"", "~Before", "~After"};

static void run_row(FILE *out, enum roce_tone tone, const char *what, const char *before,
		    const char *after)
{
	const char *const cells[] = {what, before, after};

	roce_page_table_row(out, tone, run_columns, cells, 3);
}

static void difference_row(void *context, const char *what, const char *before, const char *after)
{
	run_row(context, ROCE_TONE_WARN, what, before, after);
}

static void runs(const struct roce_verify_comparison *comparison, FILE *out)
{
	const struct roce_verify_report *a = comparison->before, *b = comparison->after;

	roce_page_section(out, "runs", "The runs",
			  "And in what they differ: the first place to look for a cause.");
	roce_page_table_begin(out, run_columns, 3);
	run_row(out, ROCE_TONE_PLAIN, "file", a->file, b->file);
	run_row(out, ROCE_TONE_PLAIN, "started", roce_verify_report_text(a, "started"),
		roce_verify_report_text(b, "started"));
	roce_verify_compare_runs(comparison, difference_row, out);
	roce_page_table_end(out);
}

static void message(void *context, const char *sentence)
{
	char text[512];

	snprintf(text, sizeof(text), "%c%s.", toupper((unsigned char)*sentence), sentence + 1);
	roce_page_message(context, ROCE_TONE_WARN, text);
}

void roce_verify_comparison_page(const struct roce_verify_comparison *comparison, FILE *out)
{
	const char *caution = roce_verify_comparison_caution(comparison);
	char subtitle[256];

	snprintf(subtitle, sizeof(subtitle), "before: %s, after: %s",
		 roce_verify_report_text(comparison->before, "started"),
		 roce_verify_report_text(comparison->after, "started"));
	roce_page_begin(out, "RoCEv2 verification, compared", subtitle);
	roce_verify_compare_circumstances(comparison, message, out);
	tiles(comparison, out);
	if (caution)
		roce_page_message(out, ROCE_TONE_WARN, caution);
	worse(comparison, out);
	runs(comparison, out);
	picture(comparison, out);
	tables(comparison, out);
	roce_page_end(out, "uroce verify diff");
}
