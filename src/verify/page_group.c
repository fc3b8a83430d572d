/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cases of each group: a table of verdicts with thresholds and their sources, one of all
 * numbers where kinds have several, tables that cases brought along as detail, and the pictures.
 */
#include "verify/page_internal.h"

#include "verify/kind.h"
#include "verify/lines.h"

#include <stdlib.h>
#include <string.h>

#define NUMBERS_MAX 16u
#define COLUMNS_MAX (NUMBERS_MAX + 2u)

/* ---- verdicts ---- */

/* Verdicts stand where a narrow window shows them. */
enum column { NAME, VERDICT, VALUE, SPREAD, THRESHOLD, PROVES, SOURCE, SECONDS, COLUMN_COUNT };

static const char *const names[COLUMN_COUNT] = {
	"Case", "Verdict", "#Value", "#Range", "~Threshold", "~What it proves", "~Its source", "#s",
};

/* Checks count the same in each round. */
static bool has_spread(const struct roce_verify_rollup *r)
{
	return r->value_count > 1 && r->c->kind->numbers[r->c->value].unit != ROCE_VERIFY_COUNT;
}

static void format_spread(const struct roce_verify_rollup *r, char *out, size_t size)
{
	char least[64], most[64];

	*out = '\0';
	if (!has_spread(r))
		return;
	roce_verify_page_value(r, r->least, least, sizeof(least));
	roce_verify_page_value(r, r->most, most, sizeof(most));
	snprintf(out, size, "%s to %s", least, most);
}

static void verdict_row(const struct roce_verify_rollup *r, const bool *is_shown, FILE *out)
{
	char value[64], spread[160], verdict[64], threshold[ROCE_VERIFY_TEXT_MAX], seconds[32];
	const char *all[COLUMN_COUNT] = {
		[NAME] = roce_verify_name_in_group(r->c->name),
		[PROVES] = r->c->proves,
		[VERDICT] = verdict,
		[VALUE] = value,
		[SPREAD] = spread,
		[THRESHOLD] = threshold,
		[SOURCE] = r->shown->threshold ? r->shown->threshold->source : NULL,
		[SECONDS] = seconds,
	};
	const char *columns[COLUMN_COUNT], *cells[COLUMN_COUNT];
	size_t count = 0;

	roce_verify_page_value(r, r->median, value, sizeof(value));
	format_spread(r, spread, sizeof(spread));
	roce_verify_threshold_text(r->shown, threshold, sizeof(threshold));
	snprintf(seconds, sizeof(seconds), "%.1f", r->shown->seconds);
	if (r->fails && r->rounds > 1)
		snprintf(verdict, sizeof(verdict), "fail in %u of %u", r->fails, r->rounds);
	else
		snprintf(verdict, sizeof(verdict), "%s", roce_verify_verdict_str(r->verdict));
	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (!is_shown[i])
			continue;
		columns[count] = names[i];
		cells[count++] = all[i];
	}
	roce_page_table_row(out, roce_verify_tone(r->verdict), columns, cells, count);
}

static void verdict_table(const struct roce_verify_page_group *group, FILE *out)
{
	bool is_shown[COLUMN_COUNT] = {
		[NAME] = true, [PROVES] = true, [VERDICT] = true, [SECONDS] = true};
	const char *columns[COLUMN_COUNT];
	size_t count = 0;

	for (uint32_t i = group->first; i < group->end; i++) {
		const struct roce_verify_rollup *r = &group->pages->cases[i];

		is_shown[VALUE] |= r->value_count > 0;
		is_shown[SPREAD] |= has_spread(r);
		is_shown[THRESHOLD] |= r->shown->threshold != NULL;
	}
	is_shown[SOURCE] = is_shown[THRESHOLD];
	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (is_shown[i])
			columns[count++] = names[i];
	}
	roce_page_table_begin(out, columns, count);
	for (uint32_t i = group->first; i < group->end; i++)
		verdict_row(&group->pages->cases[i], is_shown, out);
	roce_page_table_end(out);
}

/* ---- all numbers ---- */

/* Kinds whose value is no time, rate or share are checks: their counts say little side by side. */
static bool has_numbers(const struct roce_verify_rollup *r, const struct roce_verify_kind *kind)
{
	return r->c->kind == kind && r->value_count && kind->number_count > 1 &&
	       kind->numbers[0].unit != ROCE_VERIFY_COUNT;
}

static void number_row(const struct roce_verify_rollup *r, const uint32_t *numbers,
		       const char *const *columns, uint32_t count, FILE *out)
{
	char texts[NUMBERS_MAX][32];
	const char *cells[COLUMNS_MAX] = {roce_verify_name_in_group(r->c->name)};

	for (uint32_t i = 0; i < count; i++) {
		const json_t *value =
			json_object_get(r->shown->values, r->c->kind->numbers[numbers[i]].name);
		double x = json_number_value(value);

		*texts[i] = '\0';
		if (value)
			snprintf(texts[i], sizeof(texts[i]),
				 x >= 1000 || x <= -1000 ? "%.0f" : "%.3g", x);
		cells[i + 1] = texts[i];
	}
	roce_page_table_row(out, ROCE_TONE_PLAIN, columns, cells, count + 1);
}

/* Those that some case of the group has. */
static uint32_t find_numbers(const struct roce_verify_page_group *group,
			     const struct roce_verify_kind *kind, uint32_t *out)
{
	uint32_t count = 0;

	for (uint32_t n = 0; n < kind->number_count && count < NUMBERS_MAX; n++) {
		bool is_any = false;

		for (uint32_t i = group->first; i < group->end; i++) {
			const struct roce_verify_rollup *r = &group->pages->cases[i];

			is_any |= has_numbers(r, kind) &&
				  json_object_get(r->shown->values, kind->numbers[n].name);
		}
		if (is_any)
			out[count++] = n;
	}
	return count;
}

static void number_table(const struct roce_verify_page_group *group,
			 const struct roce_verify_kind *kind, FILE *out)
{
	uint32_t numbers[NUMBERS_MAX];
	uint32_t count = find_numbers(group, kind, numbers);
	const char *columns[COLUMNS_MAX] = {"Case"};
	char titles[NUMBERS_MAX][64], headline[96];

	for (uint32_t i = 0; i < count; i++) {
		const struct roce_verify_number *number = &kind->numbers[numbers[i]];
		const char *unit = roce_verify_unit_str(number->unit);

		snprintf(titles[i], sizeof(titles[i]), *unit ? "#%s (%s)" : "#%s", number->name,
			 unit);
		columns[i + 1] = titles[i];
	}
	if (count < 2) /* the table of verdicts has it */
		return;
	snprintf(headline, sizeof(headline), "All numbers of %s", kind->name);
	roce_page_subsection(out, headline);
	roce_page_table_begin(out, columns, count + 1);
	for (uint32_t i = group->first; i < group->end; i++) {
		if (has_numbers(&group->pages->cases[i], kind))
			number_row(&group->pages->cases[i], numbers, columns, count, out);
	}
	roce_page_table_end(out);
}

/* A table for each kind, in the order in which they come. */
static void number_tables(const struct roce_verify_page_group *group, FILE *out)
{
	const struct roce_verify_rollup *cases = group->pages->cases;

	for (uint32_t i = group->first; i < group->end; i++) {
		const struct roce_verify_kind *kind = cases[i].c->kind;
		bool is_new = has_numbers(&cases[i], kind);

		for (uint32_t k = group->first; k < i; k++)
			is_new &= !has_numbers(&cases[k], kind);
		if (is_new)
			number_table(group, kind, out);
	}
}

/* ---- tables in the detail ---- */

static void detail_row(const json_t *row, const char *const *keys, const char *const *columns,
		       size_t count, FILE *out)
{
	char texts[COLUMNS_MAX][ROCE_VERIFY_TEXT_MAX];
	const char *cells[COLUMNS_MAX];
	enum roce_tone tone = ROCE_TONE_PLAIN;

	for (size_t i = 0; i < count; i++) {
		roce_json_format(json_object_get(row, keys[i]), texts[i], sizeof(texts[i]));
		cells[i] = texts[i];
		if (strncmp(texts[i], "WRONG", 5) == 0) /* a cell of kind matrix */
			tone = ROCE_TONE_BAD;
	}
	roce_page_table_row(out, tone, columns, cells, count);
}

/* "p50 (us)" of "p50_us", as other tables have it. */
static void write_title(const char *key, const char *sign, char *out, size_t size)
{
	static const struct {
		const char *ending, *unit;
	} endings[] = {{"_us", "us"}, {"_ns", "ns"}, {"_ms", "ms"}, {"_percent", "%"}};
	size_t length = strlen(key);

	snprintf(out, size, "%s%s", sign, key);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t n = strlen(endings[i].ending);

		if (length > n && strcmp(key + length - n, endings[i].ending) == 0)
			snprintf(out, size, "%s%.*s (%s)", sign, (int)(length - n), key,
				 endings[i].unit);
	}
}

/* An array of objects with the same members is a table, its columns those of the first. */
static void detail_table(const struct roce_verify_rollup *r, const char *name, const json_t *rows,
			 FILE *out)
{
	char titles[COLUMNS_MAX][64], headline[ROCE_VERIFY_TEXT_MAX];
	const char *columns[COLUMNS_MAX], *keys[COLUMNS_MAX];
	const char *key;
	json_t *value;
	size_t count = 0;

	json_object_foreach(json_array_get(rows, 0), key, value)
	{
		bool is_long = json_string_length(value) > 24;

		if (count == COLUMNS_MAX)
			break;
		write_title(key,
			    json_is_number(value) ? "#"
			    : is_long		  ? "~"
						  : "",
			    titles[count], sizeof(titles[0]));
		keys[count] = key;
		columns[count] = titles[count];
		count++;
	}
	snprintf(headline, sizeof(headline), "%s: %s", roce_verify_name_in_group(r->c->name), name);
	roce_page_subsection(out, headline);
	roce_page_table_begin(out, columns, count);
	for (size_t i = 0; i < json_array_size(rows); i++)
		detail_row(json_array_get(rows, i), keys, columns, count, out);
	roce_page_table_end(out);
}

static void detail_tables(const struct roce_verify_page_group *group, FILE *out)
{
	for (uint32_t i = group->first; i < group->end; i++) {
		const struct roce_verify_rollup *r = &group->pages->cases[i];
		const char *side, *name;
		json_t *of_side, *value;

		json_object_foreach(r->shown->detail, side, of_side)
		{
			json_object_foreach(of_side, name, value)
			{
				if (json_array_size(value) > 1 &&
				    json_object_size(json_array_get(value, 0)) > 1)
					detail_table(r, name, value, out);
			}
		}
	}
}

/* ---- groups ---- */

/* Letters, digits and dashes; what else there is becomes a dash. A plan may come back to a group,
 * so the number of its first case is in it. */
static void make_id(const char *name, uint32_t length, uint32_t number, char *out, size_t size)
{
	size_t used = (size_t)snprintf(out, size, "g%u-", number);

	for (uint32_t i = 0; i < length && used + 1 < size; i++) {
		bool is_plain =
			(name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9');

		out[used++] = is_plain ? name[i] : '-';
	}
	out[used] = '\0';
}

static void write_group(const struct roce_verify_page_group *group, FILE *out)
{
	const char *name = group->pages->cases[group->first].c->name;
	uint32_t length = roce_verify_group_length(name);
	uint32_t counts[ROCE_VERIFY_VERDICT_COUNT] = {0};
	char id[64], title[64], intro[160] = "";

	for (uint32_t i = group->first; i < group->end; i++)
		counts[group->pages->cases[i].verdict]++;
	for (int v = 0; v < ROCE_VERIFY_VERDICT_COUNT; v++) {
		size_t used = strlen(intro);

		if (counts[v])
			snprintf(intro + used, sizeof(intro) - used, "%s%u %s", used ? ", " : "",
				 counts[v],
				 v == ROCE_VERIFY_PASS ? "passed"
				 : v == ROCE_VERIFY_FAIL
					 ? "failed"
					 : roce_verify_verdict_str((enum roce_verify_verdict)v));
	}
	make_id(name, length, group->first, id, sizeof(id));
	snprintf(title, sizeof(title), "%.*s", (int)(length < 60 ? length : 60), name);
	if (title[0] >= 'a' && title[0] <= 'z')
		title[0] = (char)(title[0] - 'a' + 'A');
	roce_page_section(out, id, title, intro);
	verdict_table(group, out);
	number_tables(group, out);
	roce_verify_page_harm(group, out);
	detail_tables(group, out);
	roce_verify_page_pictures(group, out);
}

static bool is_same_group(const struct roce_verify_rollup *a, const struct roce_verify_rollup *b)
{
	uint32_t length = roce_verify_group_length(a->c->name);

	return length == roce_verify_group_length(b->c->name) &&
	       strncmp(a->c->name, b->c->name, length) == 0;
}

void roce_verify_page_groups(const struct roce_verify_pages *pages, FILE *out)
{
	struct roce_verify_page_group group = {.pages = pages};

	for (uint32_t i = 1; i <= pages->count; i++) {
		if (i < pages->count && is_same_group(&pages->cases[group.first], &pages->cases[i]))
			continue;
		group.end = i;
		write_group(&group, out);
		group.first = i;
	}
}
