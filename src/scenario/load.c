/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * YAML to a scenario, by the tables of the sections: there is no code for a single key here. A
 * mapping below a key's group ("buffer:" of "buffer.size") is entered, a list where a value is
 * wanted is taken for "a,b,c". Going on after a mistake finds the others too.
 */
#include "scenario/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_MAX_BYTES 128

struct loader {
	struct roce_scenario *scenario;
	struct roce_yaml *yaml;
	struct roce_problems *problems;
};

/* ---- values ---- */

/* "a,b" and [a, b] to one text with commas; NULL when an item is no word. For free(). */
static char *join_list(struct roce_yaml *yaml, roce_yaml_node_t node)
{
	uint32_t count = roce_yaml_count(yaml, node);
	size_t size = 1;
	size_t used = 0;
	char *text;

	for (uint32_t i = 0; i < count; i++) {
		const char *item = roce_yaml_text(yaml, roce_yaml_item(yaml, node, i));

		if (!item)
			return NULL;
		size += strlen(item) + 1;
	}
	text = calloc(1, size);
	for (uint32_t i = 0; text && i < count; i++) {
		const char *item = roce_yaml_text(yaml, roce_yaml_item(yaml, node, i));
		size_t length = strlen(item);

		if (i)
			text[used++] = ',';
		memcpy(text + used, item, length);
		used += length;
	}
	return text;
}

static void set_line(const struct roce_key *key, void *out, uint32_t line)
{
	memcpy((char *)out + key->line_offset, &line, sizeof(line));
}

static void load_value(struct loader *l, const struct roce_key *key, const char *path,
		       roce_yaml_node_t node, void *out)
{
	uint32_t line = roce_yaml_line(l->yaml, node);
	const char *text = roce_yaml_text(l->yaml, node);
	char *joined = NULL;
	char reason[256];

	if (key->kind >= ROCE_KIND_LIST && roce_yaml_is_list(l->yaml, node))
		text = joined = join_list(l->yaml, node);
	if (!text)
		roce_problem_add(l->problems, line, "%s: found %s, expected %s", path,
				 roce_yaml_what(l->yaml, node), roce_key_expected(key));
	else if (key->kind == ROCE_KIND_LIST) {
		struct roce_words words;

		if (roce_words_split(&l->scenario->words, text, &words))
			memcpy((char *)out + key->offset, &words, sizeof(words));
		else
			roce_problem_add(l->problems, line, "out of memory");
	} else if (!roce_key_parse(key, text, out, reason, sizeof(reason)))
		roce_problem_add(l->problems, line, "%s: %s", path, reason);
	if (text)
		set_line(key, out, line);
	free(joined);
}

/* ---- mappings ---- */

/* "switch:" and nothing behind it. */
static bool is_empty(struct loader *l, roce_yaml_node_t node)
{
	const char *text = roce_yaml_text(l->yaml, node);

	return text && !*text;
}

static void add_unknown(struct loader *l, const struct roce_section *section, const char *where,
			const char *path, uint32_t line)
{
	char nearest[PATH_MAX_BYTES];
	bool is_near = roce_section_nearest(section, path, nearest, sizeof(nearest));

	roce_problem_add(l->problems, line, "unknown key %.80s in %s%s%s%s", path, where,
			 is_near ? "; did you mean " : "", is_near ? nearest : "",
			 is_near ? "?" : "");
}

static bool is_repeated(struct loader *l, roce_yaml_node_t mapping, uint32_t i, const char *name)
{
	roce_yaml_node_t key;

	while (i--) {
		roce_yaml_pair(l->yaml, mapping, i, &key);
		if (roce_yaml_text(l->yaml, key) && strcmp(roce_yaml_text(l->yaml, key), name) == 0)
			return true;
	}
	return false;
}

/* "group.name", or the name alone at the top of its section. */
static bool join_path(char out[PATH_MAX_BYTES], const char *group, const char *name)
{
	int n = snprintf(out, PATH_MAX_BYTES, "%s%s%s", group, *group ? "." : "", name);

	return n > 0 && n < PATH_MAX_BYTES;
}

/* "{pfc: 0,0,0,1}": YAML ends the value at the first comma, and makes keys of the rest. */
static bool is_torn_list(struct loader *l, const char *name, roce_yaml_node_t value)
{
	const char *text = roce_yaml_text(l->yaml, value);

	return text && !*text &&
	       (strcmp(name, "ets") == 0 || strcmp(name, "strict") == 0 ||
		(*name && !name[strspn(name, "0123456789")]));
}

/* The name of key `i`, if it is one that can be looked at. */
static const char *key_name(struct loader *l, roce_yaml_node_t mapping, uint32_t i,
			    roce_yaml_node_t *out_value, uint32_t *out_line)
{
	roce_yaml_node_t key;
	const char *name;

	*out_value = roce_yaml_pair(l->yaml, mapping, i, &key);
	*out_line = roce_yaml_line(l->yaml, key);
	name = roce_yaml_text(l->yaml, key);
	if (!name) {
		roce_problem_add(l->problems, *out_line, "found %s, expected the name of a key",
				 roce_yaml_what(l->yaml, key));
		return NULL;
	}
	if (is_torn_list(l, name, *out_value)) {
		roce_problem_add(l->problems, *out_line,
				 "a list between { and } needs brackets or quotes, as [0,0,0,1]");
		return NULL;
	}
	if (i < 1000 && is_repeated(l, mapping, i, name)) {
		roce_problem_add(l->problems, *out_line, "key %.80s is there twice", name);
		return NULL;
	}
	return name;
}

/* `where`: the section as messages name it. Keys named `passed` are somebody else's. */
static void load_group(struct loader *l, const struct roce_section *section, const char *where,
		       const char *group, roce_yaml_node_t mapping, const char *passed, void *out)
{
	uint32_t count = roce_yaml_count(l->yaml, mapping);
	char path[PATH_MAX_BYTES];

	for (uint32_t i = 0; i < count; i++) {
		const struct roce_key *key = NULL;
		roce_yaml_node_t value;
		uint32_t line;
		const char *name = key_name(l, mapping, i, &value, &line);

		if (!name || (!*group && passed && strcmp(name, passed) == 0))
			continue;
		if (join_path(path, group, name))
			key = roce_section_find(section, path);
		if (key && (key->only & section->refused))
			roce_problem_add(l->problems, line,
					 "%s in %s: it is of a whole switch, not of a port", path,
					 where);
		else if (key)
			load_value(l, key, path, value, out);
		else if (roce_section_has_group(section, path) &&
			 roce_yaml_is_mapping(l->yaml, value))
			load_group(l, section, where, path, value, passed, out);
		else if (roce_section_has_group(section, path))
			roce_problem_add(l->problems, line, "%s: found %s, expected a mapping",
					 path, roce_yaml_what(l->yaml, value));
		else
			add_unknown(l, section, where, path, line);
	}
}

/* Messages about what an entry does not have are about its first key, and name its line. */
static void set_entry_line(const struct roce_section *section, void *entry, uint32_t line)
{
	uint32_t known;

	memcpy(&known, (const char *)entry + section->keys[0].line_offset, sizeof(known));
	if (!known)
		set_line(&section->keys[0], entry, line);
}

static bool is_set(const struct roce_key *key, const void *in, uint32_t *out_line)
{
	memcpy(out_line, (const char *)in + key->line_offset, sizeof(*out_line));
	return *out_line != 0;
}

/* Keys that mean nothing for the kind of topology or workload at hand. */
static void check_only(struct loader *l, const struct roce_section *section, const void *in)
{
	uint32_t kind;
	uint32_t line;
	char name[32];

	if (!section->kind)
		return;
	memcpy(&kind, (const char *)in + section->kind->offset, sizeof(kind));
	roce_words_at(section->kind->words, kind, name, sizeof(name));
	for (uint32_t i = 0; i < section->key_count; i++) {
		const struct roce_key *key = &section->keys[i];

		if (key->only && !(key->only >> kind & 1) && is_set(key, in, &line))
			roce_problem_add(l->problems, line, "%s: means nothing for kind %s",
					 key->path, name);
	}
}

static void load_section(struct loader *l, const struct roce_section *section, const char *where,
			 roce_yaml_node_t node, const char *passed, void *out)
{
	if (is_empty(l, node))
		return;
	if (!roce_yaml_is_mapping(l->yaml, node)) {
		roce_problem_add(l->problems, roce_yaml_line(l->yaml, node),
				 "%s: found %s, expected a mapping", where,
				 roce_yaml_what(l->yaml, node));
		return;
	}
	load_group(l, section, where, "", node, passed, out);
	check_only(l, section, out);
}

/* ---- lists ---- */

static uint32_t list_count(struct loader *l, const char *name, roce_yaml_node_t node)
{
	uint32_t count = roce_yaml_count(l->yaml, node);

	if (is_empty(l, node))
		return 0;
	if (!roce_yaml_is_list(l->yaml, node)) {
		roce_problem_add(l->problems, roce_yaml_line(l->yaml, node),
				 "%s: found %s, expected a list", name,
				 roce_yaml_what(l->yaml, node));
		return 0;
	}
	if (count > ROCE_SCENARIO_LIST_MAX) {
		roce_problem_add(l->problems, roce_yaml_line(l->yaml, node),
				 "%s: %u entries, expected at most %u", name, count,
				 ROCE_SCENARIO_LIST_MAX);
		return 0;
	}
	return count;
}

/* The array of structs of a list section; NULL when it is empty. */
static void *load_entries(struct loader *l, const struct roce_section *section,
			  roce_yaml_node_t node, uint32_t *out_count)
{
	uint32_t count = list_count(l, section->list, node);
	char *entries = count ? calloc(count, section->size) : NULL;
	char where[64];

	if (count && !entries) {
		roce_problem_add(l->problems, 0, "out of memory");
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++) {
		char *entry = entries + (size_t)i * section->size;

		snprintf(where, sizeof(where), "entry %u of %s", i + 1, section->list);
		if (!roce_section_defaults(section, &l->scenario->words, entry))
			roce_problem_add(l->problems, 0, "out of memory");
		load_section(l, section, where, roce_yaml_item(l->yaml, node, i), NULL, entry);
		set_entry_line(section, entry,
			       roce_yaml_line(l->yaml, roce_yaml_item(l->yaml, node, i)));
	}
	*out_count = count;
	return entries;
}

static const char *find_match(struct loader *l, roce_yaml_node_t node, const char *where)
{
	uint32_t count = roce_yaml_is_mapping(l->yaml, node) ? roce_yaml_count(l->yaml, node) : 0;

	for (uint32_t i = 0; i < count; i++) {
		roce_yaml_node_t key;
		roce_yaml_node_t value = roce_yaml_pair(l->yaml, node, i, &key);
		const char *name = roce_yaml_text(l->yaml, key);

		if (name && strcmp(name, "match") == 0 && roce_yaml_text(l->yaml, value))
			return roce_yaml_text(l->yaml, value);
	}
	roce_problem_add(l->problems, roce_yaml_line(l->yaml, node), "%s: no `match`", where);
	return NULL;
}

static void load_overrides(struct loader *l, const struct roce_section *section,
			   roce_yaml_node_t node, struct roce_overrides *out)
{
	uint32_t count = list_count(l, section->list, node);
	void *scratch = malloc(section->size);
	char where[64];

	out->at = count ? calloc(count, sizeof(*out->at)) : NULL;
	if (!scratch || (count && !out->at)) {
		roce_problem_add(l->problems, 0, "out of memory");
		count = 0;
	}
	for (uint32_t i = 0; i < count; i++) {
		roce_yaml_node_t item = roce_yaml_item(l->yaml, node, i);
		const char *match;

		snprintf(where, sizeof(where), "entry %u of %s", i + 1, section->list);
		match = find_match(l, item, where);
		if (!roce_section_defaults(section, &l->scenario->words, scratch))
			roce_problem_add(l->problems, 0, "out of memory");
		load_section(l, section, where, item, "match", scratch);
		if (match)
			out->at[out->count++] = (struct roce_override){
				.match = match,
				.line = roce_yaml_line(l->yaml, item),
				.node = item,
			};
	}
	free(scratch);
}

/* ---- the file ---- */

static void *struct_of(struct roce_scenario *s, const struct roce_section *section)
{
	if (section == &roce_section_topology)
		return &s->topology;
	if (section == &roce_section_link)
		return &s->link;
	if (section == &roce_section_switch)
		return &s->sw;
	if (section == &roce_section_host)
		return &s->host;
	return section == &roce_section_output ? (void *)&s->output : &s->general;
}

static struct roce_overrides *overrides_of(struct roce_scenario *s,
					   const struct roce_section *section)
{
	if (section == &roce_section_link)
		return &s->links;
	if (section == &roce_section_switch)
		return &s->switches;
	return section == &roce_section_port ? &s->ports : &s->hosts;
}

static void load_list(struct loader *l, const struct roce_section *section, roce_yaml_node_t node)
{
	struct roce_scenario *s = l->scenario;

	if (section->match)
		load_overrides(l, section, node, overrides_of(s, section));
	else if (section == &roce_section_acl)
		s->acl = load_entries(l, section, node, &s->acl_count);
	else if (section == &roce_section_route)
		s->routes = load_entries(l, section, node, &s->route_count);
	else if (section == &roce_section_workload)
		s->workloads = load_entries(l, section, node, &s->workload_count);
	else
		s->faults = load_entries(l, section, node, &s->fault_count);
}

static void add_unknown_top(struct loader *l, const char *name, uint32_t line)
{
	const char *best = NULL;
	uint32_t best_distance = 1 + (uint32_t)strlen(name) / 3;
	char nearest[PATH_MAX_BYTES];

	for (uint32_t i = 0; i < 2 * roce_section_count; i++) {
		const char *candidate =
			i & 1 ? roce_sections[i / 2]->list : roce_sections[i / 2]->name;
		uint32_t distance =
			candidate && *candidate ? roce_text_distance(name, candidate) : UINT32_MAX;

		if (distance <= best_distance && distance < 3) {
			best_distance = distance;
			best = candidate;
		}
	}
	if (!best && roce_section_nearest(&roce_section_general, name, nearest, sizeof(nearest)))
		best = nearest;
	roce_problem_add(l->problems, line, "unknown section %.80s%s%s%s", name,
			 best ? "; did you mean " : "", best ? best : "", best ? "?" : "");
}

static void load_top(struct loader *l, const char *name, uint32_t line, roce_yaml_node_t value)
{
	const struct roce_key *key = roce_section_find(&roce_section_general, name);

	if (key) {
		load_value(l, key, name, value, &l->scenario->general);
		return;
	}
	for (uint32_t i = 0; i < roce_section_count; i++) {
		const struct roce_section *section = roce_sections[i];

		if (section->name && *name && strcmp(section->name, name) == 0) {
			load_section(l, section, name, value, NULL,
				     struct_of(l->scenario, section));
			return;
		}
		if (section->list && strcmp(section->list, name) == 0) {
			load_list(l, section, value);
			return;
		}
	}
	add_unknown_top(l, name, line);
}

static void load_file(struct loader *l)
{
	uint32_t count = roce_yaml_count(l->yaml, ROCE_YAML_ROOT);

	if (!roce_yaml_line(l->yaml, ROCE_YAML_ROOT))
		return; /* an empty file: all defaults */
	if (!roce_yaml_is_mapping(l->yaml, ROCE_YAML_ROOT)) {
		roce_problem_add(l->problems, roce_yaml_line(l->yaml, ROCE_YAML_ROOT),
				 "found %s, expected a mapping",
				 roce_yaml_what(l->yaml, ROCE_YAML_ROOT));
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		roce_yaml_node_t value;
		uint32_t line;
		const char *name = key_name(l, ROCE_YAML_ROOT, i, &value, &line);

		if (name)
			load_top(l, name, line, value);
	}
}

struct roce_scenario *roce_scenario_load(const char *text, size_t length, const char *file,
					 struct roce_problems *problems)
{
	struct loader l = {.problems = problems};

	l.yaml = roce_yaml_create(text, length, problems);
	if (!l.yaml)
		return NULL;
	l.scenario = roce_scenario_create(file);
	if (!l.scenario) {
		roce_problem_add(problems, 0, "out of memory");
		roce_yaml_destroy(l.yaml);
		return NULL;
	}
	l.scenario->yaml = l.yaml;
	load_file(&l);
	if (problems->count) {
		roce_scenario_destroy(l.scenario);
		return NULL;
	}
	return l.scenario;
}

void roce_scenario_apply(struct roce_scenario *scenario, const struct roce_section *section,
			 const struct roce_override *override, void *out)
{
	struct roce_problems none;
	struct loader l = {.scenario = scenario, .yaml = scenario->yaml, .problems = &none};

	roce_problems_init(&none, scenario->file);
	load_section(&l, section, section->list, override->node, "match", out);
}
