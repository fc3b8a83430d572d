/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports of different plans lack many of each other's cases, and a run that broke off many of its
 * own: cases of one group of which there is the same to say are told in one line. What counts is
 * whether each side has the case, and why it was not run; a case with numbers on both sides, or one
 * that fails, is always told by itself.
 */
#include "verify/compare.h"

#include "verify/rollup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_END 32u /* room for "and N more" */

/* "-": not there, "s" and the reason: not run, "r": run. */
static void describe(const struct roce_verify_report_case *c, FILE *out)
{
	if (!c)
		fputc('-', out);
	else if (c->verdict == ROCE_VERIFY_SKIPPED)
		fprintf(out, "s%s", c->reason ? c->reason : "");
	else
		fputc('r', out);
}

static bool can_be_alike(const struct roce_verify_comparison_case *c)
{
	return c->change == ROCE_VERIFY_GONE || c->change == ROCE_VERIFY_NEW;
}

/* What two cases have in common that are told together. For free(); NULL: out of memory. */
static char *make_key(const struct roce_verify_comparison_case *c)
{
	const char *name = roce_verify_comparison_any(c)->name;
	char *key = NULL;
	size_t length;
	FILE *f = open_memstream(&key, &length);

	if (!f)
		return NULL;
	fprintf(f, "%.*s\n%d\n", (int)roce_verify_group_length(name), name, (int)c->change);
	describe(c->before, f);
	fputc('\n', f);
	describe(c->after, f);
	if (fclose(f)) {
		free(key);
		return NULL;
	}
	return key;
}

/* How many cases each group has, by its name. */
static int count_groups(const struct roce_verify_comparison *comparison, json_t *groups)
{
	for (uint32_t i = 0; i < comparison->count; i++) {
		const char *name = roce_verify_comparison_any(&comparison->cases[i])->name;
		size_t length = roce_verify_group_length(name);
		json_int_t count = json_integer_value(json_object_getn(groups, name, length));

		if (json_object_setn_new(groups, name, length, json_integer(count + 1)))
			return -ENOMEM;
	}
	return 0;
}

/* `lasts` has the index of the last one of each key so far. */
static int chain(struct roce_verify_comparison *comparison, uint32_t at, json_t *lasts,
		 json_t *firsts)
{
	char *key = make_key(&comparison->cases[at]);
	const json_t *last = key ? json_object_get(lasts, key) : NULL;
	int rc = key ? 0 : -ENOMEM;
	uint32_t first = at;

	if (last) {
		first = (uint32_t)json_integer_value(json_object_get(firsts, key));
		comparison->cases[json_integer_value(last)].next_alike = at;
		comparison->cases[at].is_told_with_another = true;
	}
	if (!rc)
		comparison->cases[first].alike++;
	if (!rc && (json_object_set_new(lasts, key, json_integer(at)) ||
		    json_object_set_new(firsts, key, json_integer(first))))
		rc = -ENOMEM;
	free(key);
	return rc;
}

int roce_verify_comparison_find_alike(struct roce_verify_comparison *comparison)
{
	json_t *groups = json_object(), *lasts = json_object(), *firsts = json_object();
	int rc = groups && lasts && firsts ? count_groups(comparison, groups) : -ENOMEM;

	for (uint32_t i = 0; !rc && i < comparison->count; i++) {
		struct roce_verify_comparison_case *c = &comparison->cases[i];
		const char *name = roce_verify_comparison_any(c)->name;

		c->of_group = (uint32_t)json_integer_value(
			json_object_getn(groups, name, roce_verify_group_length(name)));
		if (can_be_alike(c))
			rc = chain(comparison, i, lasts, firsts);
	}
	json_decref(groups);
	json_decref(lasts);
	json_decref(firsts);
	return rc;
}

/* ---- words ---- */

static const struct roce_verify_comparison_case *
next_of(const struct roce_verify_comparison *comparison,
	const struct roce_verify_comparison_case *c)
{
	return c->next_alike ? &comparison->cases[c->next_alike] : NULL;
}

void roce_verify_comparison_alike_side(const struct roce_verify_comparison *comparison,
				       const struct roce_verify_comparison_case *first,
				       bool is_before, char *out, size_t size)
{
	uint32_t counts[ROCE_VERIFY_VERDICT_COUNT] = {0};
	size_t used = 0;

	if (!(is_before ? first->before : first->after)) {
		snprintf(out, size, "not there");
		return;
	}
	for (const struct roce_verify_comparison_case *c = first; c; c = next_of(comparison, c))
		counts[(is_before ? c->before : c->after)->verdict]++;
	for (int v = 0; v < ROCE_VERIFY_VERDICT_COUNT && used < size; v++) {
		if (counts[v])
			used += (size_t)snprintf(
				out + used, size - used, "%s%u %s", used ? ", " : "", counts[v],
				roce_verify_verdict_str((enum roce_verify_verdict)v));
	}
}

const char *roce_verify_comparison_alike_reason(const struct roce_verify_comparison_case *first)
{
	const struct roce_verify_report_case *sides[] = {first->after, first->before};

	for (size_t i = 0; i < 2; i++) {
		if (sides[i] && sides[i]->verdict == ROCE_VERIFY_SKIPPED && sides[i]->reason)
			return sides[i]->reason;
	}
	return "";
}

void roce_verify_comparison_alike_name(const struct roce_verify_comparison_case *first, char *out,
				       size_t size)
{
	const char *name = roce_verify_comparison_any(first)->name;
	int length = (int)roce_verify_group_length(name);

	if (first->alike == first->of_group)
		snprintf(out, size, "%.*s/*, all %u", length, name, first->alike);
	else
		snprintf(out, size, "%.*s/*, %u of %u", length, name, first->alike,
			 first->of_group);
}

void roce_verify_comparison_alike_names(const struct roce_verify_comparison *comparison,
					const struct roce_verify_comparison_case *first,
					uint32_t most, char *out, size_t size)
{
	uint32_t told = 0;
	size_t used = 0;

	*out = '\0';
	for (const struct roce_verify_comparison_case *c = first; c && told < most;
	     c = next_of(comparison, c), told++) {
		const char *name = roce_verify_name_in_group(roce_verify_comparison_any(c)->name);

		if (used + strlen(name) + 2 + NAMES_END > size)
			break;
		used += (size_t)snprintf(out + used, size - used, "%s%s", told ? ", " : "", name);
	}
	if (told < first->alike)
		snprintf(out + used, size - used, "%s%u more", told ? " and " : "",
			 first->alike - told);
}
