/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables as a JSON schema (draft 2020-12), which editors use to complete and check scenarios.
 * Quantities are strings or numbers there; what a string may be is for the loader to say.
 */
#include "scenario/explain.h"
#include "scenario/key.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *describe_words(const char *words)
{
	json_t *array = json_array();

	while (*words) {
		size_t n = strcspn(words, "|");

		json_array_append_new(array, json_stringn(words, n));
		words += n + (words[n] == '|');
	}
	return array;
}

static json_t *types(const char *a, const char *b)
{
	return json_pack("[ss]", a, b);
}

static void describe_type(json_t *o, const struct roce_key *key)
{
	switch (key->kind) {
	case ROCE_KIND_WORD:
		json_object_set_new(o, "enum", describe_words(key->words));
		break;
	case ROCE_KIND_BOOL:
		json_object_set_new(o, "type", json_string("boolean"));
		break;
	case ROCE_KIND_TEXT:
		json_object_set_new(o, "type", json_string("string"));
		break;
	case ROCE_KIND_PARAM:
		json_object_set_new(o, "type", json_pack("[sss]", "integer", "string", "boolean"));
		break;
	case ROCE_KIND_COUNT:
	case ROCE_KIND_SIGNED:
		json_object_set_new(o, "type", json_string("integer"));
		break;
	case ROCE_KIND_LIST:
	case ROCE_KIND_PFC:
	case ROCE_KIND_PRIO_TC:
	case ROCE_KIND_TSA:
	case ROCE_KIND_TCBW:
		json_object_set_new(o, "type", types("string", "array"));
		break;
	default:
		json_object_set_new(o, "type", types("string", "number"));
		break;
	}
}

static json_t *describe_key(const struct roce_key *key)
{
	char range[128];
	char text[512];
	json_t *o = json_object();

	if (key->kind == ROCE_KIND_PARAM)
		snprintf(range, sizeof(range), "%llu to %llu %s", strtoull(key->min, NULL, 0),
			 strtoull(key->max, NULL, 0), key->words);
	else if (key->min || key->max)
		snprintf(range, sizeof(range), "%s, %s to %s", roce_key_kind_str(key),
			 key->min ? key->min : "0", key->max ? key->max : "any");
	else
		snprintf(range, sizeof(range), "%s", roce_key_kind_str(key));
	snprintf(text, sizeof(text), "%s (%s)%s%s", key->text, range,
		 key->source ? "; default: " : "", key->source ? key->source : "");
	json_object_set_new(o, "description", json_string(text));
	describe_type(o, key);
	if (key->kind == ROCE_KIND_BOOL)
		json_object_set_new(o, "default", json_boolean(strcmp(key->def, "true") == 0));
	else if (key->kind == ROCE_KIND_COUNT || key->kind == ROCE_KIND_SIGNED)
		json_object_set_new(o, "default", json_integer(atoi(key->def)));
	else if (*key->def)
		json_object_set_new(o, "default", json_string(key->def));
	return o;
}

static json_t *closed_object(void)
{
	return json_pack("{s:s, s:b, s:{}}", "type", "object", "additionalProperties", 0,
			 "properties");
}

/* The object that `path` ("buffer.size") is a property of, made where it is missing. */
static json_t *group_of(json_t *root, const char *path, const char **out_leaf)
{
	json_t *at = root;
	const char *point;

	while ((point = strchr(path, '.'))) {
		json_t *properties = json_object_get(at, "properties");
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)(point - path), path);
		if (!json_object_get(properties, name))
			json_object_set_new(properties, name, closed_object());
		at = json_object_get(properties, name);
		path = point + 1;
	}
	*out_leaf = path;
	return at;
}

static json_t *describe_section(const struct roce_section *section, bool is_override)
{
	json_t *root = closed_object();

	json_object_set_new(root, "description", json_string(section->text));
	if (is_override) {
		json_object_set_new(
			json_object_get(root, "properties"), "match",
			json_pack("{s:s, s:s}", "type", "string", "description", section->match));
		json_object_set_new(root, "required", json_pack("[s]", "match"));
	}
	for (uint32_t i = 0; i < section->key_count; i++) {
		const struct roce_key *key = &section->keys[i];
		const char *leaf;
		json_t *group;

		if (key->only & section->refused)
			continue;
		group = group_of(root, key->path, &leaf);
		json_object_set_new(json_object_get(group, "properties"), leaf, describe_key(key));
	}
	return root;
}

static void add_section(json_t *properties, const struct roce_section *section)
{
	if (section->name && *section->name)
		json_object_set_new(properties, section->name, describe_section(section, false));
	if (section->list)
		json_object_set_new(properties, section->list,
				    json_pack("{s:s, s:o}", "type", "array", "items",
					      describe_section(section, section->match != NULL)));
	if (section->name && !*section->name) {
		for (uint32_t i = 0; i < section->key_count; i++)
			json_object_set_new(properties, section->keys[i].path,
					    describe_key(&section->keys[i]));
	}
}

int roce_explain_schema(FILE *out)
{
	json_t *root = closed_object();
	int r;

	json_object_set_new(root, "$schema",
			    json_string("https://json-schema.org/draft/2020-12/schema"));
	json_object_set_new(root, "title", json_string("a scenario of `uroce sim`"));
	for (uint32_t i = 0; i < roce_section_count; i++)
		add_section(json_object_get(root, "properties"), roce_sections[i]);
	r = json_dumpf(root, out, JSON_INDENT(1));
	fputc('\n', out);
	json_decref(root);
	return r ? -ENOMEM : 0;
}
