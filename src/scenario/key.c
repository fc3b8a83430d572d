/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looking keys up, and values from text to their place in a struct and back. Lists of eight and of
 * words are split here; the words themselves are kept by the caller (load.c).
 */
#include "scenario/key.h"

#include "base/assert.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct roce_key *roce_section_find(const struct roce_section *section, const char *path)
{
	for (uint32_t i = 0; i < section->key_count; i++) {
		if (strcmp(section->keys[i].path, path) == 0)
			return &section->keys[i];
	}
	return NULL;
}

bool roce_section_has_group(const struct roce_section *section, const char *path)
{
	size_t length = strlen(path);

	for (uint32_t i = 0; i < section->key_count; i++) {
		if (strncmp(section->keys[i].path, path, length) == 0 &&
		    section->keys[i].path[length] == '.')
			return true;
	}
	return false;
}

int roce_words_find(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (int i = 0; *words; i++) {
		size_t n = strcspn(words, "|");

		if (n == length && memcmp(words, word, n) == 0)
			return i;
		words += n + (words[n] == '|');
	}
	return -1;
}

void roce_words_at(const char *words, uint32_t index, char *out, size_t size)
{
	for (; index && *words; index--) {
		words += strcspn(words, "|");
		words += *words == '|';
	}
	snprintf(out, size, "%.*s", (int)strcspn(words, "|"), words);
}

static bool is_quantity(const struct roce_key *key)
{
	return key->kind <= ROCE_KIND_TIME_AUTO;
}

static bool may_be_auto(const struct roce_key *key)
{
	return key->kind == ROCE_KIND_BYTES_AUTO || key->kind == ROCE_KIND_TIME_AUTO;
}

static enum roce_unit unit_of(const struct roce_key *key)
{
	if (key->kind == ROCE_KIND_BYTES_AUTO)
		return ROCE_UNIT_BYTES;
	if (key->kind == ROCE_KIND_TIME_AUTO)
		return ROCE_UNIT_TIME;
	return (enum roce_unit)key->kind;
}

static const struct kind_facts {
	const char *name;
	const char *expected;
} kinds[] = {
	[ROCE_KIND_COUNT] = {"number", NULL},
	[ROCE_KIND_RATE] = {"rate", NULL},
	[ROCE_KIND_RATE_MBPS] = {"rate (Mb/s)", NULL},
	[ROCE_KIND_TIME] = {"time", NULL},
	[ROCE_KIND_TIME_US] = {"time (us)", NULL},
	[ROCE_KIND_BYTES] = {"bytes", NULL},
	[ROCE_KIND_LENGTH] = {"length", NULL},
	[ROCE_KIND_FRACTION] = {"fraction", NULL},
	[ROCE_KIND_PERCENT] = {"percentage", NULL},
	[ROCE_KIND_FREQUENCY] = {"per second", NULL},
	[ROCE_KIND_BYTES_AUTO] = {"bytes or auto", NULL},
	[ROCE_KIND_TIME_AUTO] = {"time or auto", NULL},
	[ROCE_KIND_PARAM] = {"parameter", "a whole number, with its unit if you like, or preset"},
	[ROCE_KIND_SIGNED] = {"number", "a whole number"},
	[ROCE_KIND_BOOL] = {"true or false", "true or false"},
	[ROCE_KIND_WORD] = {"word", NULL},
	[ROCE_KIND_TEXT] = {"text", "text"},
	[ROCE_KIND_LIST] = {"list", "a list of words, as [h0, h1] or h0..h7"},
	[ROCE_KIND_PFC] = {"8 bits", "0 or 1 for each of 8 priorities, as 0,0,0,1,0,0,0,0"},
	[ROCE_KIND_PRIO_TC] = {"8 classes",
			       "a class, 0 to 7, for each of 8 priorities, as 0,1,2,3,4,5,6,7"},
	[ROCE_KIND_TSA] = {"8 words", "ets or strict for each of 8 classes, as ets,ets,...,strict"},
	[ROCE_KIND_TCBW] = {"8 percentages", "8 percentages with sum 100, as 50,0,0,50,0,0,0,0"},
};

const char *roce_key_kind_str(const struct roce_key *key)
{
	return kinds[key->kind].name;
}

const char *roce_key_expected(const struct roce_key *key)
{
	if (key->kind == ROCE_KIND_WORD)
		return key->words;
	return is_quantity(key) ? roce_unit_expected(unit_of(key)) : kinds[key->kind].expected;
}

/* ---- from text ---- */

static bool parse_bound(const struct roce_key *key, const char *text, uint64_t *out)
{
	return text && roce_unit_parse(unit_of(key), text, out) == 0;
}

static bool parse_quantity(const struct roce_key *key, const char *text, void *out, char *reason,
			   size_t reason_size)
{
	uint64_t value;
	uint64_t bound;
	int r;

	if (may_be_auto(key) && strcmp(text, "auto") == 0) {
		value = ROCE_AUTO;
		memcpy(out, &value, sizeof(value));
		return true;
	}
	r = roce_unit_parse(unit_of(key), text, &value);
	if (r) {
		snprintf(reason, reason_size, "%s \"%.40s\", expected %s%s",
			 r == -EDOM	? "wrong unit in"
			 : r == -EINVAL ? "found"
					: "out of range:",
			 text, roce_key_expected(key), may_be_auto(key) ? ", or auto" : "");
		return false;
	}
	if ((parse_bound(key, key->min, &bound) && value < bound) ||
	    (parse_bound(key, key->max, &bound) && value > bound)) {
		snprintf(reason, reason_size, "found \"%.40s\", expected %s%s%s%s", text,
			 key->min ? key->min : "0", key->max ? " to " : " or more",
			 key->max ? key->max : "", may_be_auto(key) ? ", or auto" : "");
		return false;
	}
	memcpy(out, &value, sizeof(value));
	return true;
}

static bool parse_bool(const char *text, bool *out)
{
	static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};

	for (unsigned int i = 0; i < 8; i++) {
		if (strcmp(text, words[i]) == 0) {
			*out = i & 1;
			return true;
		}
	}
	return false;
}

/* A parameter's unit, and what its 1 is there. */
static enum roce_unit unit_of_param(const char *name, uint64_t *out_one)
{
	*out_one = 1;
	if (strcmp(name, "us") == 0) {
		*out_one = ROCE_PS_PER_US;
		return ROCE_UNIT_TIME_US;
	}
	if (strcmp(name, "Mb/s") == 0) {
		*out_one = 1000000;
		return ROCE_UNIT_RATE_MBPS;
	}
	if (strcmp(name, "%") == 0) {
		*out_one = ROCE_FRACTION_ONE / 100;
		return ROCE_UNIT_PERCENT;
	}
	return ROCE_UNIT_COUNT;
}

static bool parse_param(const struct roce_key *key, const char *text, void *out, char *reason,
			size_t reason_size)
{
	uint64_t min = strtoull(key->min, NULL, 0);
	uint64_t max = strtoull(key->max, NULL, 0);
	uint64_t value = ROCE_AUTO;
	uint64_t one;
	enum roce_unit unit = unit_of_param(key->words, &one);
	bool word;

	if (strcmp(text, "preset") != 0) {
		if (strcmp(key->words, "bool") == 0 && parse_bool(text, &word))
			value = word;
		else if (roce_unit_parse(unit, text, &value) || value % one || value / one < min ||
			 value / one > max) {
			snprintf(reason, reason_size,
				 "found \"%.40s\", expected a whole number from %llu to %llu %s, "
				 "or preset",
				 text, (unsigned long long)min, (unsigned long long)max,
				 key->words);
			return false;
		} else
			value /= one;
	}
	memcpy(out, &value, sizeof(value));
	return true;
}

static bool parse_signed(const struct roce_key *key, const char *text, void *out, char *reason,
			 size_t reason_size)
{
	char *end;
	long value = strtol(text, &end, 10);
	int32_t stored;

	if (end == text || *end || value < atoi(key->min) || value > atoi(key->max)) {
		snprintf(reason, reason_size,
			 "found \"%.40s\", expected a whole number from %s to %s", text, key->min,
			 key->max);
		return false;
	}
	stored = (int32_t)value;
	memcpy(out, &stored, sizeof(stored));
	return true;
}

/* One of eight, by the kind. */
static bool parse_item(uint8_t kind, const char *item, uint8_t *out)
{
	char *end;
	long value;

	if (kind == ROCE_KIND_TSA) {
		*out = strcmp(item, "strict") == 0;
		return *out || strcmp(item, "ets") == 0;
	}
	value = strtol(item, &end, 10);
	*out = (uint8_t)value;
	return isdigit((unsigned char)*item) && !*end &&
	       value <= (kind == ROCE_KIND_PFC	     ? 1
			 : kind == ROCE_KIND_PRIO_TC ? 7
						     : 100);
}

static bool parse_eight(const struct roce_key *key, const char *text, void *out)
{
	struct roce_eight eight;
	unsigned int sum = 0;
	unsigned int n = 0;

	for (const char *p = text;; p++) {
		char item[16];
		size_t length;

		p += strspn(p, " ");
		length = strcspn(p, ", ");
		if (n == 8 || length == 0 || length >= sizeof(item))
			return false;
		memcpy(item, p, length);
		item[length] = '\0';
		if (!parse_item(key->kind, item, &eight.at[n]))
			return false;
		sum += eight.at[n++];
		p += length;
		p += strspn(p, " ");
		if (!*p)
			break;
		if (*p != ',')
			return false;
	}
	if (n != 8 || (key->kind == ROCE_KIND_TCBW && sum != 100))
		return false;
	memcpy(out, &eight, sizeof(eight));
	return true;
}

bool roce_key_parse(const struct roce_key *key, const char *text, void *base, char *reason,
		    size_t reason_size)
{
	void *out = (char *)base + key->offset;
	char near[48];
	int index;

	*reason = '\0';
	if (is_quantity(key))
		return parse_quantity(key, text, out, reason, reason_size);
	switch (key->kind) {
	case ROCE_KIND_PARAM:
		return parse_param(key, text, out, reason, reason_size);
	case ROCE_KIND_SIGNED:
		return parse_signed(key, text, out, reason, reason_size);
	case ROCE_KIND_BOOL:
		if (parse_bool(text, out))
			return true;
		break;
	case ROCE_KIND_WORD:
		index = roce_words_find(key->words, text);
		if (index >= 0) {
			memcpy(out, &(uint32_t){(uint32_t)index}, sizeof(uint32_t));
			return true;
		}
		break;
	case ROCE_KIND_TEXT:
		memcpy(out, &text, sizeof(text));
		return true;
	default:
		if (key->kind != ROCE_KIND_LIST && parse_eight(key, text, out))
			return true;
		break;
	}
	if (key->kind == ROCE_KIND_WORD && roce_words_nearest(key->words, text, near, sizeof(near)))
		snprintf(reason, reason_size, "found \"%.60s\"; did you mean %s?", text, near);
	else
		snprintf(reason, reason_size, "found \"%.60s\", expected %s", text,
			 roce_key_expected(key));
	return false;
}

bool roce_section_defaults(const struct roce_section *section, struct roce_word_store *store,
			   void *out)
{
	char reason[256];

	memset(out, 0, section->size);
	for (uint32_t i = 0; i < section->key_count; i++) {
		const struct roce_key *key = &section->keys[i];
		struct roce_words words;

		if (key->kind != ROCE_KIND_LIST) {
			ROCE_ASSERT(roce_key_parse(key, key->def, out, reason, sizeof(reason)));
			continue;
		}
		if (!roce_words_split(store, key->def, &words))
			return false;
		memcpy((char *)out + key->offset, &words, sizeof(words));
	}
	return true;
}

/* ---- to text ---- */

static void format_eight(const struct roce_key *key, const struct roce_eight *eight, char *out,
			 size_t size)
{
	size_t n = 0;

	for (unsigned int i = 0; i < 8 && n < size; i++) {
		const char *comma = i ? "," : "";

		if (key->kind == ROCE_KIND_TSA)
			n += (size_t)snprintf(out + n, size - n, "%s%s", comma,
					      eight->at[i] ? "strict" : "ets");
		else
			n += (size_t)snprintf(out + n, size - n, "%s%u", comma, eight->at[i]);
	}
}

static void format_list(const struct roce_words *words, char *out, size_t size)
{
	size_t n = 0;

	*out = '\0';
	for (uint32_t i = 0; i < words->count && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%s", i ? "," : "", words->at[i]);
}

void roce_key_format(const struct roce_key *key, const void *base, char *out, size_t size)
{
	const void *in = (const char *)base + key->offset;
	uint64_t value;
	uint32_t word;
	int32_t number;
	const char *text;

	if (is_quantity(key)) {
		memcpy(&value, in, sizeof(value));
		if (may_be_auto(key) && value == ROCE_AUTO)
			snprintf(out, size, "auto");
		else
			roce_unit_format(unit_of(key), value, out, size);
		return;
	}
	switch (key->kind) {
	case ROCE_KIND_PARAM:
		memcpy(&value, in, sizeof(value));
		if (value == ROCE_AUTO)
			snprintf(out, size, "preset");
		else
			snprintf(out, size, "%llu", (unsigned long long)value);
		break;
	case ROCE_KIND_SIGNED:
		memcpy(&number, in, sizeof(number));
		snprintf(out, size, "%d", number);
		break;
	case ROCE_KIND_BOOL:
		snprintf(out, size, "%s", *(const bool *)in ? "true" : "false");
		break;
	case ROCE_KIND_WORD:
		memcpy(&word, in, sizeof(word));
		roce_words_at(key->words, word, out, size);
		break;
	case ROCE_KIND_TEXT:
		memcpy(&text, in, sizeof(text));
		snprintf(out, size, "%s", text);
		break;
	case ROCE_KIND_LIST:
		format_list(in, out, size);
		break;
	default:
		format_eight(key, in, out, size);
		break;
	}
}
