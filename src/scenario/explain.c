/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `--explain`: what a key means, what it may be, what it is if nobody says, and why. Sections that
 * are mappings give their keys a prefix ("switch.ecn.kmin"), lists theirs ("workload.bytes").
 */
#include "scenario/explain.h"
#include "scenario/key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 128

static const char *prefix_of(const struct roce_section *section)
{
	if (!section->name)
		return section->list;
	return section->name;
}

static void name_of(const struct roce_section *section, const struct roce_key *key,
		    char out[NAME_BYTES])
{
	const char *prefix = prefix_of(section);

	snprintf(out, NAME_BYTES, "%s%s%s", prefix, *prefix ? "." : "", key->path);
}

static const char *default_of(const struct roce_key *key)
{
	return *key->def ? key->def : "none";
}

/* A port's keys are its switch's. */
static bool is_shown(const struct roce_section *section)
{
	return !section->refused;
}

/* "a, b": the kinds that a key belongs to, where it is not one of all. */
static void print_kinds(FILE *out, const struct roce_section *section, const struct roce_key *key)
{
	const char *comma = "";
	char word[32];

	for (uint32_t i = 0; i < 32; i++) {
		roce_words_at(section->kind->words, i, word, sizeof(word));
		if (!*word)
			break;
		if (key->only >> i & 1) {
			fprintf(out, "%s%s", comma, word);
			comma = ", ";
		}
	}
}

static bool is_of_kinds(const struct roce_section *section, const struct roce_key *key)
{
	return section->kind && key->only;
}

static void print_words(FILE *out, const char *words)
{
	for (; *words; words++) {
		if (*words == '|')
			fprintf(out, ", ");
		else
			fputc(*words, out);
	}
}

static void list_section(FILE *out, const struct roce_section *section, const char *group)
{
	size_t length = strlen(group);
	char name[NAME_BYTES];

	for (uint32_t i = 0; i < section->key_count; i++) {
		const struct roce_key *key = &section->keys[i];

		if (strncmp(key->path, group, length) != 0 || (key->only & section->refused))
			continue;
		name_of(section, key, name);
		fprintf(out, "  %-40s %-20s %s", name, default_of(key), key->text);
		if (key == section->kind) {
			fprintf(out, ": ");
			print_words(out, key->words);
		} else if (is_of_kinds(section, key)) {
			fprintf(out, " [");
			print_kinds(out, section, key);
			fprintf(out, "]");
		}
		fprintf(out, "\n");
	}
}

static void head_section(FILE *out, const struct roce_section *section)
{
	if (section->name && *section->name)
		fprintf(out, "%s: %s\n", section->name, section->text);
	else if (section->name)
		fprintf(out, "%s\n", section->text);
	else
		fprintf(out, "%s (a list): %s\n", section->list, section->text);
	if (section->match)
		fprintf(out, "  in the list `%s`, `match` is %s\n", section->list, section->match);
}

void roce_explain_list(FILE *out)
{
	for (uint32_t i = 0; i < roce_section_count; i++) {
		const struct roce_section *section = roce_sections[i];

		fprintf(out, "%s", i ? "\n" : "");
		head_section(out, section);
		if (is_shown(section))
			list_section(out, section, "");
		else
			fprintf(out, "  the keys of `switch` but those of a whole switch\n");
	}
}

static void print_key(FILE *out, const struct roce_section *section, const struct roce_key *key)
{
	char name[NAME_BYTES];

	name_of(section, key, name);
	fprintf(out, "%s: %s\n  %s\n", name, roce_key_kind_str(key), key->text);
	if (key->kind == ROCE_KIND_WORD) {
		fprintf(out, "  one of    ");
		print_words(out, key->words);
		fprintf(out, "\n");
	} else if (key->kind == ROCE_KIND_PARAM) {
		fprintf(out, "  written   %s%s%s\n", roce_key_expected(key),
			*key->words ? "; in " : "", key->words);
	} else {
		fprintf(out, "  written   %s\n", roce_key_expected(key));
	}
	if (key->kind == ROCE_KIND_PARAM)
		fprintf(out, "  range     %llu to %llu\n", strtoull(key->min, NULL, 0),
			strtoull(key->max, NULL, 0));
	else if (key->min || key->max)
		fprintf(out, "  range     %s to %s\n", key->min ? key->min : "0",
			key->max ? key->max : "any");
	fprintf(out, "  default   %s\n", default_of(key));
	if (key->source)
		fprintf(out, "  source    %s\n", key->source);
	if (is_of_kinds(section, key)) {
		fprintf(out, "  only for  ");
		print_kinds(out, section, key);
		fprintf(out, "\n");
	}
	if (section->match)
		fprintf(out, "  overrides in the list `%s`, for some by `match`\n", section->list);
}

/* Is `name` all of `full`, or its end behind a point? */
static bool is_end_of(const char *full, const char *name)
{
	size_t full_length = strlen(full);
	size_t length = strlen(name);

	return length <= full_length && strcmp(full + full_length - length, name) == 0 &&
	       (length == full_length || full[full_length - length - 1] == '.');
}

static uint32_t print_keys(FILE *out, const char *name, bool is_whole)
{
	uint32_t count = 0;
	char full[NAME_BYTES];

	for (uint32_t i = 0; i < roce_section_count; i++) {
		const struct roce_section *section = roce_sections[i];

		for (uint32_t k = 0; is_shown(section) && k < section->key_count; k++) {
			name_of(section, &section->keys[k], full);
			if (is_whole ? strcmp(full, name) != 0 : !is_end_of(full, name))
				continue;
			fprintf(out, "%s", count++ ? "\n" : "");
			print_key(out, section, &section->keys[k]);
		}
	}
	return count;
}

static bool print_section(FILE *out, const char *name)
{
	for (uint32_t i = 0; i < roce_section_count; i++) {
		const struct roce_section *section = roce_sections[i];
		const char *prefix = prefix_of(section);
		size_t length = strlen(prefix);

		if (strcmp(name, prefix) == 0 ||
		    (section->list && strcmp(name, section->list) == 0)) {
			head_section(out, section);
			list_section(out, section, "");
			return true;
		}
		if (*prefix && strncmp(name, prefix, length) == 0 && name[length] == '.' &&
		    roce_section_has_group(section, name + length + 1)) {
			head_section(out, section);
			list_section(out, section, name + length + 1);
			return true;
		}
	}
	return false;
}

/* A group by its last name alone: "pg_lossless" for "switch.buffer.pg_lossless". */
static bool print_group(FILE *out, const char *name)
{
	size_t length = strlen(name);
	char group[NAME_BYTES];

	for (uint32_t i = 0; i < roce_section_count; i++) {
		const struct roce_section *section = roce_sections[i];

		for (uint32_t k = 0; is_shown(section) && k < section->key_count; k++) {
			const char *path = section->keys[k].path;
			const char *at = strstr(path, name);

			if (!at || at[length] != '.' || (at > path && at[-1] != '.'))
				continue;
			snprintf(group, sizeof(group), "%.*s.", (int)(at + length - path), path);
			head_section(out, section);
			list_section(out, section, group);
			return true;
		}
	}
	return false;
}

static void find_nearest(const char *name, char *out)
{
	uint32_t best = 4;
	char full[NAME_BYTES];

	*out = '\0';
	for (uint32_t i = 0; i < roce_section_count; i++) {
		const struct roce_section *section = roce_sections[i];

		for (uint32_t k = 0; is_shown(section) && k < section->key_count; k++) {
			const char *leaf = strrchr(section->keys[k].path, '.');
			uint32_t distance;

			name_of(section, &section->keys[k], full);
			distance =
				roce_text_distance(name, leaf ? leaf + 1 : section->keys[k].path);
			if (roce_text_distance(name, full) < distance)
				distance = roce_text_distance(name, full);
			if (distance < best) {
				best = distance;
				memcpy(out, full, NAME_BYTES);
			}
		}
	}
}

int roce_explain_key(FILE *out, const char *name, char *out_nearest)
{
	if (*name && (print_keys(out, name, true) || print_section(out, name) ||
		      print_keys(out, name, false) || print_group(out, name)))
		return 0;
	find_nearest(name, out_nearest);
	return -ENOENT;
}
