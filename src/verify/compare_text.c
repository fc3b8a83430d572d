/* SPDX-License-Identifier: BSD-2-Clause */
/* The comparison for the terminal and for scripts. What is equal is counted and not listed for the
 * former; the latter have every case. */
#include "verify/compare.h"

#include "verify/lines.h"

#include <string.h>

#define NAMES_MAX 4u /* of cases that are told together, the rest is counted */

/* ---- text ---- */

static void print_report(FILE *out, const char *which, const struct roce_verify_report *report)
{
	fprintf(out, "%-7s %s  (%s, %s, profile %s)\n", which, report->file,
		roce_verify_report_text(report, "started"), roce_verify_report_text(report, "plan"),
		roce_verify_report_text(report, "profile"));
}

static void print_difference(void *context, const char *what, const char *before, const char *after)
{
	fprintf(context, "        %s: %s -> %s\n", what, *before ? before : "nothing",
		*after ? after : "nothing");
}

static void print_caution(void *context, const char *sentence)
{
	fprintf(context, "caution %s\n", sentence);
}

static void print_case(FILE *out, const struct roce_verify_comparison_case *c)
{
	char before[128], after[128], remark[512];

	roce_verify_comparison_side(c->before, c->has_numbers, before, sizeof(before));
	roce_verify_comparison_side(c->after, c->has_numbers, after, sizeof(after));
	roce_verify_comparison_remark(c, remark, sizeof(remark));
	fprintf(out, "  %-32s %s -> %s%s%s\n", roce_verify_comparison_any(c)->name, before, after,
		*remark ? "   " : "", remark);
}

/* Those of a group that have the same to say, without a line for each. */
static void print_alike(FILE *out, const struct roce_verify_comparison *comparison,
			const struct roce_verify_comparison_case *first)
{
	const char *reason = roce_verify_comparison_alike_reason(first);
	char name[128], before[128], after[128], names[256] = "";

	roce_verify_comparison_alike_name(first, name, sizeof(name));
	roce_verify_comparison_alike_side(comparison, first, true, before, sizeof(before));
	roce_verify_comparison_alike_side(comparison, first, false, after, sizeof(after));
	if (first->alike < first->of_group)
		roce_verify_comparison_alike_names(comparison, first, NAMES_MAX, names,
						   sizeof(names));
	fprintf(out, "  %-32s %s -> %s%s%s%s%s\n", name, before, after, *reason ? "   " : "",
		reason, *names ? "   " : "", names);
}

static void print_class(FILE *out, const struct roce_verify_comparison *comparison,
			enum roce_verify_change change)
{
	if (!comparison->counts[change])
		return;
	fprintf(out, "\n%s\n", roce_verify_change_headline(change));
	for (uint32_t i = 0; i < comparison->count; i++) {
		const struct roce_verify_comparison_case *c = &comparison->cases[i];

		if (c->change != change || c->is_told_with_another)
			continue;
		if (c->alike > 1)
			print_alike(out, comparison, c);
		else
			print_case(out, c);
	}
}

static void print_failing(FILE *out, const struct roce_verify_comparison *comparison)
{
	if (!comparison->still_failing)
		return;
	fputs("\nFailing before and after\n", out);
	for (uint32_t i = 0; i < comparison->count; i++) {
		if (roce_verify_is_still_failing(&comparison->cases[i]))
			print_case(out, &comparison->cases[i]);
	}
}

void roce_verify_comparison_text(const struct roce_verify_comparison *comparison, FILE *out)
{
	const char *caution = roce_verify_comparison_caution(comparison);

	print_report(out, "before", comparison->before);
	print_report(out, "after", comparison->after);
	roce_verify_compare_runs(comparison, print_difference, out);
	roce_verify_compare_circumstances(comparison, print_caution, out);
	for (int c = 0; c < ROCE_VERIFY_EQUAL; c++)
		print_class(out, comparison, (enum roce_verify_change)c);
	print_failing(out, comparison);
	fprintf(out, "\n%u worse, %u better, %u no longer verified, %u new, %u equal",
		comparison->counts[ROCE_VERIFY_WORSE], comparison->counts[ROCE_VERIFY_BETTER],
		comparison->counts[ROCE_VERIFY_GONE], comparison->counts[ROCE_VERIFY_NEW],
		comparison->counts[ROCE_VERIFY_EQUAL]);
	if (comparison->counts[ROCE_VERIFY_CHANGED])
		fprintf(out, ", %u changed", comparison->counts[ROCE_VERIFY_CHANGED]);
	if (comparison->still_failing)
		fprintf(out, "; %u failing before and after", comparison->still_failing);
	fputc('\n', out);
	if (caution)
		fprintf(out, "%s\n", caution);
}

/* ---- JSON ---- */

static json_t *side_json(const struct roce_verify_report_case *c)
{
	if (!c)
		return json_null();
	return json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:s?, s:s?, s:f}", "verdict",
			 roce_verify_verdict_str(c->verdict), "rounds", (int)c->rounds, "fails",
			 (int)c->fails, "value",
			 c->value_count ? roce_json_real(c->median) : json_null(), "least",
			 c->value_count ? roce_json_real(c->least) : json_null(), "most",
			 c->value_count ? roce_json_real(c->most) : json_null(), "threshold",
			 c->threshold, "reason", c->reason, "others", c->others);
}

static json_t *case_json(const struct roce_verify_comparison_case *c)
{
	const struct roce_verify_report_case *now = roce_verify_comparison_any(c);

	return json_pack("{s:s, s:s, s:s, s:s?, s:o, s:o, s:b, s:o, s:o}", "name", now->name,
			 "change", roce_verify_change_str(c->change), "unit",
			 now->unit ? now->unit : "", "relative_to", now->of, "change_percent",
			 c->has_numbers ? roce_json_real(c->change_percent) : json_null(),
			 "allowed_percent",
			 c->has_numbers ? roce_json_real(c->allowed_percent) : json_null(),
			 "still_failing", (int)roce_verify_is_still_failing(c), "before",
			 side_json(c->before), "after", side_json(c->after));
}

static json_t *processors_json(const struct roce_verify_report *report, enum roce_verify_side side)
{
	double us = roce_verify_report_processors(report, side);

	return us > 0 ? roce_json_real(us) : json_null();
}

static json_t *report_json(const struct roce_verify_report *report)
{
	return json_pack("{s:o, s:s, s:s, s:s, s:{s:f, s:i, s:i}, s:{s:o, s:o}}", "file",
			 roce_json_plain(report->file), "started",
			 roce_verify_report_text(report, "started"), "plan",
			 roce_verify_report_text(report, "plan"), "profile",
			 roce_verify_report_text(report, "profile"), "others", "percent",
			 report->others.percent, "disturbed", (int)report->others.disturbed,
			 "rounds", (int)report->others.rounds, "processors_us", "initiator",
			 processors_json(report, ROCE_VERIFY_INITIATOR), "target",
			 processors_json(report, ROCE_VERIFY_TARGET));
}

static void add_caution(void *context, const char *sentence)
{
	json_array_append_new(context, json_string(sentence));
}

static void add_difference(void *context, const char *what, const char *before, const char *after)
{
	json_array_append_new(context, json_pack("{s:s, s:s, s:s}", "what", what, "before", before,
						 "after", after));
}

json_t *roce_verify_comparison_json(const struct roce_verify_comparison *comparison)
{
	json_t *cases = json_array(), *differences = json_array(), *totals = json_object();
	json_t *cautions = json_array();

	for (uint32_t i = 0; i < comparison->count; i++)
		json_array_append_new(cases, case_json(&comparison->cases[i]));
	for (int c = 0; c < ROCE_VERIFY_CHANGE_COUNT; c++)
		json_object_set_new(totals, roce_verify_change_str((enum roce_verify_change)c),
				    json_integer(comparison->counts[c]));
	json_object_set_new(totals, "still_failing", json_integer(comparison->still_failing));
	roce_verify_compare_runs(comparison, add_difference, differences);
	roce_verify_compare_circumstances(comparison, add_caution, cautions);
	return json_pack(
		"{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "program", "uroce verify diff",
		"version", UROCE_VERSION, "before", report_json(comparison->before), "after",
		report_json(comparison->after), "tolerance_percent",
		comparison->tolerance_percent >= 0 ? json_real(comparison->tolerance_percent)
						   : json_null(),
		"cautions", cautions, "totals", totals, "differences", differences, "cases", cases);
}
