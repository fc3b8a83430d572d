/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * YAML to a plan. Parameters are read by the tables of their kind (scenario/key.h); thresholds in
 * the unit of the case's value. One mistake does not keep the others from being found.
 */
#include "verify/plan_internal.h"

#include "verify/kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAKES_S	  2.0
#define TIMEOUT_S 60.0
#define KEYS_MAX  64u /* in one mapping: more than there are */
#define CASE_KEYS "name|kind|proves|parameters|value|takes|timeout|thresholds"

/* Pair i of a mapping, if its key is a text that stood not there before. */
const char *roce_plan_take_key(struct roce_plan_loader *l, roce_yaml_node_t mapping, uint32_t i,
			       roce_yaml_node_t *out_value)
{
	roce_yaml_node_t key;
	const char *name;

	*out_value = roce_yaml_pair(l->yaml, mapping, i, &key);
	if (i >= KEYS_MAX) { /* each is compared with all before it */
		roce_problem_add(l->problems, roce_yaml_line(l->yaml, key),
				 "more than %u keys in a mapping", KEYS_MAX);
		return NULL;
	}
	name = roce_yaml_text(l->yaml, key);
	if (!name) {
		roce_problem_add(l->problems, roce_yaml_line(l->yaml, key),
				 "found %s, expected the name of a key",
				 roce_yaml_what(l->yaml, key));
		return NULL;
	}
	for (uint32_t j = 0; j < i; j++) {
		roce_yaml_node_t other;

		roce_yaml_pair(l->yaml, mapping, j, &other);
		if (roce_yaml_text(l->yaml, other) &&
		    strcmp(roce_yaml_text(l->yaml, other), name) == 0) {
			roce_problem_add(l->problems, roce_yaml_line(l->yaml, key),
					 "key %.80s is there twice", name);
			return NULL;
		}
	}
	return name;
}

roce_yaml_node_t roce_plan_find_value(struct roce_plan_loader *l, roce_yaml_node_t mapping,
				      const char *name)
{
	uint32_t count =
		roce_yaml_is_mapping(l->yaml, mapping) ? roce_yaml_count(l->yaml, mapping) : 0;

	for (uint32_t i = 0; i < count; i++) {
		roce_yaml_node_t key;
		roce_yaml_node_t value = roce_yaml_pair(l->yaml, mapping, i, &key);

		if (roce_yaml_text(l->yaml, key) && strcmp(roce_yaml_text(l->yaml, key), name) == 0)
			return value;
	}
	return 0;
}

void roce_plan_add_unknown(struct roce_plan_loader *l, uint32_t line, const char *what,
			   const char *name, const char *words)
{
	char nearest[64];
	bool is_near = roce_words_nearest(words, name, nearest, sizeof(nearest));

	roce_problem_add(l->problems, line, "unknown %s %.60s, expected %s%s%s%.200s", what, name,
			 is_near ? "perhaps " : "one of ", is_near ? nearest : "",
			 is_near ? "; there are " : "", words);
}

/* The keys of a mapping are among `words`; says so where not. */
bool roce_plan_check_keys(struct roce_plan_loader *l, roce_yaml_node_t node, const char *where,
			  const char *words)
{
	if (!roce_yaml_is_mapping(l->yaml, node)) {
		roce_problem_add(l->problems, roce_yaml_line(l->yaml, node),
				 "%s: found %.60s, expected a mapping", where,
				 roce_yaml_what(l->yaml, node));
		return false;
	}
	for (uint32_t i = 0; i < roce_yaml_count(l->yaml, node); i++) {
		roce_yaml_node_t value;
		const char *name = roce_plan_take_key(l, node, i, &value);

		if (name && roce_words_find(words, name) < 0)
			roce_plan_add_unknown(l, roce_yaml_line(l->yaml, value), "key", name,
					      words);
	}
	return true;
}

/* NULL, said, where it is missing or no text. */
const char *roce_plan_need_text(struct roce_plan_loader *l, roce_yaml_node_t mapping,
				const char *where, const char *name)
{
	roce_yaml_node_t node = roce_plan_find_value(l, mapping, name);
	const char *text = node ? roce_yaml_text(l->yaml, node) : NULL;

	if (text && *text)
		return text;
	roce_problem_add(l->problems, roce_yaml_line(l->yaml, node ? node : mapping),
			 "%s: `%s` is %s, expected a text", where, name,
			 node ? (text ? "empty" : roce_yaml_what(l->yaml, node)) : "missing");
	return NULL;
}

static double load_seconds(struct roce_plan_loader *l, roce_yaml_node_t mapping, const char *name,
			   double def)
{
	roce_yaml_node_t node = roce_plan_find_value(l, mapping, name);
	const char *text = node ? roce_yaml_text(l->yaml, node) : NULL;
	uint64_t ps;

	if (!node)
		return def;
	if (text && !roce_unit_parse(ROCE_UNIT_TIME, text, &ps) && ps > 0 &&
	    ps <= 3600 * ROCE_PS_PER_S)
		return (double)ps / (double)ROCE_PS_PER_S;
	roce_problem_add(l->problems, roce_yaml_line(l->yaml, node),
			 "%s: found %.60s, expected a time up to 3600s, as 5s", name,
			 roce_yaml_what(l->yaml, node));
	return def;
}

/* ---- kind and parameters ---- */

static const struct roce_verify_kind *load_kind(struct roce_plan_loader *l, roce_yaml_node_t node,
						const char *where)
{
	const char *name = roce_plan_need_text(l, node, where, "kind");
	const struct roce_verify_kind *kind = name ? roce_verify_kind_find(name) : NULL;
	char words[512] = "";
	size_t used = 0;

	if (kind || !name)
		return kind;
	for (uint32_t i = 0; i < roce_verify_kind_count && used < sizeof(words); i++)
		used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s", i ? "|" : "",
					 roce_verify_kinds[i].name);
	roce_plan_add_unknown(l, roce_yaml_line(l->yaml, roce_plan_find_value(l, node, "kind")),
			      "kind of case", name, words);
	return NULL;
}

static void load_parameter(struct roce_plan_loader *l, const struct roce_verify_kind *kind,
			   const char *name, roce_yaml_node_t node, void *out)
{
	const struct roce_key *key = roce_section_find(&kind->parameters, name);
	uint32_t line = roce_yaml_line(l->yaml, node);
	const char *text = roce_yaml_text(l->yaml, node);
	char reason[256];
	char nearest[64];
	bool is_near;

	if (!key) {
		is_near = roce_section_nearest(&kind->parameters, name, nearest, sizeof(nearest));
		roce_problem_add(l->problems, line, "kind %s has no parameter %.60s%s%s%s",
				 kind->name, name, is_near ? "; did you mean " : "",
				 is_near ? nearest : "", is_near ? "?" : "");
	} else if (!text) {
		roce_problem_add(l->problems, line, "%s: found %s, expected %s", name,
				 roce_yaml_what(l->yaml, node), roce_key_expected(key));
	} else if (!roce_key_parse(key, text, out, reason, sizeof(reason))) {
		roce_problem_add(l->problems, line, "%s: %s", name, reason);
	}
}

static json_t *load_parameters(struct roce_plan_loader *l, const struct roce_verify_kind *kind,
			       roce_yaml_node_t node)
{
	struct roce_word_store store = {0};
	uint64_t out[ROCE_VERIFY_PARAMETERS_SIZE / sizeof(uint64_t)];
	json_t *json;

	if (!roce_section_defaults(&kind->parameters, &store, out)) {
		roce_problem_add(l->problems, 0, "out of memory");
		return NULL;
	}
	if (node && !roce_yaml_is_mapping(l->yaml, node))
		roce_problem_add(l->problems, roce_yaml_line(l->yaml, node),
				 "parameters: found %.60s, expected a mapping",
				 roce_yaml_what(l->yaml, node));
	for (uint32_t i = 0;
	     node && roce_yaml_is_mapping(l->yaml, node) && i < roce_yaml_count(l->yaml, node);
	     i++) {
		roce_yaml_node_t value;
		const char *name = roce_plan_take_key(l, node, i, &value);

		if (name)
			load_parameter(l, kind, name, value, out);
	}
	json = roce_verify_parameters_json(kind, out);
	if (!json)
		roce_problem_add(l->problems, 0, "out of memory");
	return json;
}

/* ---- thresholds ---- */

static void load_thresholds(struct roce_plan_loader *l, struct roce_verify_case *c,
			    roce_yaml_node_t node)
{
	if (!roce_yaml_is_mapping(l->yaml, node)) {
		roce_problem_add(l->problems, roce_yaml_line(l->yaml, node),
				 "thresholds: found %.60s, expected a mapping of profiles",
				 roce_yaml_what(l->yaml, node));
		return;
	}
	for (uint32_t i = 0; i < roce_yaml_count(l->yaml, node); i++) {
		roce_yaml_node_t value;
		const char *profile = roce_plan_take_key(l, node, i, &value);

		if (profile)
			roce_plan_load_threshold(l, c, profile, value, ROCE_THRESHOLD_KEYS);
	}
}

/* ---- cases ---- */

static bool is_good_name(const char *name)
{
	return strlen(name) < 100 && strchr(name, '/') && *name != '/' &&
	       name[strlen(name) - 1] != '/' &&
	       !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-./")];
}

static const char *load_name(struct roce_plan_loader *l, roce_yaml_node_t node, const char *where,
			     uint32_t index)
{
	const char *name = roce_plan_need_text(l, node, where, "name");
	uint32_t line = roce_yaml_line(l->yaml, node);

	if (!name)
		return NULL;
	if (!is_good_name(name)) {
		roce_problem_add(l->problems, line,
				 "name: found %.60s, expected group/case of small letters, digits, "
				 "_, - and .",
				 name);
		return NULL;
	}
	for (uint32_t i = 0; i < index; i++) {
		if (l->plan->cases[i].name && strcmp(l->plan->cases[i].name, name) == 0) {
			roce_problem_add(l->problems, line, "name: %.60s is line %u's already",
					 name, l->plan->cases[i].line);
			return NULL;
		}
	}
	return name;
}

static uint32_t load_value(struct roce_plan_loader *l, const struct roce_verify_kind *kind,
			   roce_yaml_node_t node)
{
	roce_yaml_node_t value = roce_plan_find_value(l, node, "value");
	const char *text = value ? roce_yaml_text(l->yaml, value) : NULL;
	int index = text ? roce_verify_number_find(kind, text) : -1;
	char words[256] = "";
	size_t used = 0;

	if (!value)
		return 0;
	if (index >= 0)
		return (uint32_t)index;
	for (uint32_t i = 0; i < kind->number_count && used < sizeof(words); i++)
		used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s", i ? "|" : "",
					 kind->numbers[i].name);
	roce_plan_add_unknown(l, roce_yaml_line(l->yaml, value), "value",
			      roce_yaml_what(l->yaml, value), words);
	return 0;
}

static void load_case(struct roce_plan_loader *l, roce_yaml_node_t node, uint32_t index)
{
	struct roce_verify_case *c = &l->plan->cases[index];
	const char *proves;
	char where[64];

	snprintf(where, sizeof(where), "case %u", index + 1);
	c->line = roce_yaml_line(l->yaml, node);
	if (!roce_plan_check_keys(l, node, where, CASE_KEYS))
		return;
	c->name = load_name(l, node, where, index);
	c->kind = load_kind(l, node, where);
	proves = roce_plan_need_text(l, node, where, "proves");
	c->proves = proves ? proves : "";
	c->takes_s = load_seconds(l, node, "takes", TAKES_S);
	c->timeout_s = load_seconds(l, node, "timeout", TIMEOUT_S);
	if (!c->kind)
		return;
	c->parameters = load_parameters(l, c->kind, roce_plan_find_value(l, node, "parameters"));
	c->value = load_value(l, c->kind, node);
	if (roce_plan_find_value(l, node, "thresholds"))
		load_thresholds(l, c, roce_plan_find_value(l, node, "thresholds"));
}

static bool load_list(struct roce_plan_loader *l, roce_yaml_node_t *out)
{
	roce_yaml_node_t node = roce_plan_find_value(l, ROCE_YAML_ROOT, "cases");

	if (!node || !roce_yaml_is_list(l->yaml, node) || !roce_yaml_count(l->yaml, node)) {
		roce_problem_add(l->problems, node ? roce_yaml_line(l->yaml, node) : 0,
				 "cases: found %.60s, expected a list of cases",
				 node ? roce_yaml_what(l->yaml, node) : "nothing");
		return false;
	}
	if (roce_yaml_count(l->yaml, node) > ROCE_VERIFY_CASES_MAX) {
		roce_problem_add(l->problems, roce_yaml_line(l->yaml, node),
				 "cases: %u, expected at most %u", roce_yaml_count(l->yaml, node),
				 ROCE_VERIFY_CASES_MAX);
		return false;
	}
	*out = node;
	return true;
}

static void load_file(struct roce_plan_loader *l)
{
	roce_yaml_node_t list;
	const char *name;
	uint32_t count;

	if (!roce_yaml_line(l->yaml, ROCE_YAML_ROOT) ||
	    !roce_plan_check_keys(l, ROCE_YAML_ROOT, "a plan", "name|cases")) {
		if (!l->problems->count)
			roce_problem_add(l->problems, 0, "the plan is empty");
		return;
	}
	name = roce_plan_need_text(l, ROCE_YAML_ROOT, "a plan", "name");
	l->plan->name = name ? name : "";
	if (!load_list(l, &list))
		return;
	count = roce_yaml_count(l->yaml, list);
	l->plan->cases = calloc(count, sizeof(*l->plan->cases));
	if (!l->plan->cases) {
		roce_problem_add(l->problems, 0, "out of memory");
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		l->plan->case_count = i + 1;
		load_case(l, roce_yaml_item(l->yaml, list, i), i);
	}
}

struct roce_verify_plan *roce_verify_plan_load(const char *text, size_t length, const char *file,
					       struct roce_problems *problems)
{
	struct roce_plan_loader l = {.problems = problems};

	l.yaml = roce_yaml_create(text, length, problems);
	if (!l.yaml)
		return NULL;
	l.plan = calloc(1, sizeof(*l.plan));
	if (!l.plan) {
		roce_problem_add(problems, 0, "out of memory");
		roce_yaml_destroy(l.yaml);
		return NULL;
	}
	l.plan->yaml = l.yaml;
	l.plan->file = file;
	load_file(&l);
	if (problems->count) {
		roce_verify_plan_destroy(l.plan);
		return NULL;
	}
	return l.plan;
}
