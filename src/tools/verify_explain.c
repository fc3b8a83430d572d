/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `uroce verify --explain`: what a case of the plan does and is held to, or what a kind of case can
 * be told. Both come from the tables that the plan is read by, so they say what holds.
 */
#include "tools/command.h"
#include "tools/verify.h"

#include "scenario/key.h"
#include "verify/kind.h"
#include "verify/page.h"

#include <string.h>

#define NAME_WIDTH 18

static void print_words(const char *words)
{
	for (; *words; words++)
		fputs(*words == '|' ? ", " : (char[]){*words, '\0'}, stdout);
}

static void print_parameter(const struct roce_key *key)
{
	printf("  %-*s %-10s %s [", NAME_WIDTH, key->path, *key->def ? key->def : "-", key->text);
	if (key->words)
		print_words(key->words);
	else if (key->min && key->max)
		printf("%s to %s", key->min, key->max);
	else
		printf("%s", roce_key_expected(key));
	printf("]\n");
}

static void print_kind(const struct roce_verify_kind *kind)
{
	printf("kind %s: %s\n\nparameters, with what they are if not given:\n", kind->name,
	       kind->text);
	for (uint32_t i = 0; i < kind->parameters.key_count; i++)
		print_parameter(&kind->parameters.keys[i]);
	printf("\nnumbers; the first one is a case's value, unless `value` names another:\n ");
	for (uint32_t i = 0; i < kind->number_count; i++) {
		const char *unit = roce_verify_unit_str(kind->numbers[i].unit);

		printf(" %s%s%s%s%s", kind->numbers[i].name, *unit ? " (" : "", unit,
		       *unit ? ")" : "", i + 1 < kind->number_count ? "," : "\n");
	}
}

static void print_kinds(void)
{
	for (uint32_t i = 0; i < roce_verify_kind_count; i++)
		printf("%-*s %s\n", NAME_WIDTH, roce_verify_kinds[i].name,
		       roce_verify_kinds[i].text);
}

static void print_case(const struct roce_verify_case *c)
{
	char text[512];

	printf("%s: %s\n\n", c->name, c->proves);
	printf("  %-*s %s: %s\n", NAME_WIDTH, "kind", c->kind->name, c->kind->text);
	roce_verify_page_parameters(c, text, sizeof(text));
	printf("  %-*s %s\n", NAME_WIDTH, "parameters", *text ? text : "none");
	printf("  %-*s %s\n", NAME_WIDTH, "value", c->kind->numbers[c->value].name);
	for (uint32_t i = 0; i < c->threshold_count; i++) {
		const struct roce_verify_threshold *t = &c->thresholds[i];
		struct roce_verify_outcome o = {.c = c, .threshold = t};
		char name[64];

		snprintf(name, sizeof(name), "profile %.50s", t->profile);
		roce_verify_threshold_text(&o, text, sizeof(text));
		printf("  %-*s %s, because: %s\n", NAME_WIDTH, name, text, t->source);
	}
	printf("  %-*s about %g s, ended after %g s\n", NAME_WIDTH, "takes", c->takes_s,
	       c->timeout_s);
}

int roce_verify_explain(const struct roce_verify_plan *plan, const char *name)
{
	const struct roce_verify_kind *kind = name ? roce_verify_kind_find(name) : NULL;
	const struct roce_verify_case *c = name ? roce_verify_plan_find(plan, name) : NULL;

	if (!name)
		print_kinds();
	else if (c)
		print_case(c);
	else if (kind)
		print_kind(kind);
	else
		return roce_usage_error("verify",
					"--explain: %s is no case of the plan (--list shows them) "
					"and no kind of case (--explain alone lists them)",
					name);
	return ROCE_EXIT_OK;
}
