/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables are made by the preprocessor; each kind has a struct of its own to read into. */
#include "verify/kind.h"

#include <stdio.h>
#include <string.h>

#define COUNT_OF(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

#define MEMBER(T, field, path, kind, def, min, max, words, only, text, source) \
	ROCE_CTYPE_##kind field;
#define LINE(T, field, path, kind, def, min, max, words, only, text, source) uint32_t field;
#define STRUCT(name, PARAMETERS, NUMBERS, text)                                         \
	struct parameters_##name {                                                      \
		PARAMETERS(MEMBER, )                                                    \
		struct {                                                                \
			PARAMETERS(LINE, )                                              \
		} where;                                                                \
	};                                                                              \
	_Static_assert(sizeof(struct parameters_##name) <= ROCE_VERIFY_PARAMETERS_SIZE, \
		       "room for what is read");                                        \
	static const struct roce_key keys_##name[] = {                                  \
		PARAMETERS(ROCE_KEY_ROW, struct parameters_##name)};                    \
	static const struct roce_verify_number numbers_##name[] = {NUMBERS(NUMBER)};
#define NUMBER(name, unit) {name, ROCE_VERIFY_##unit},
ROCE_VERIFY_KINDS(STRUCT)

#define ROW(name_, PARAMETERS, NUMBERS, text_)                             \
	{                                                                  \
		.name = #name_,                                            \
		.text = text_,                                             \
		.parameters =                                              \
			{                                                  \
				.name = #name_,                            \
				.text = text_,                             \
				.keys = keys_##name_,                      \
				.key_count = COUNT_OF(keys_##name_),       \
				.size = sizeof(struct parameters_##name_), \
			},                                                 \
		.numbers = numbers_##name_,                                \
		.number_count = COUNT_OF(numbers_##name_),                 \
	},
const struct roce_verify_kind roce_verify_kinds[] = {ROCE_VERIFY_KINDS(ROW)};
const uint32_t roce_verify_kind_count = COUNT_OF(roce_verify_kinds);

const struct roce_verify_kind *roce_verify_kind_find(const char *name)
{
	for (uint32_t i = 0; i < roce_verify_kind_count; i++) {
		if (strcmp(roce_verify_kinds[i].name, name) == 0)
			return &roce_verify_kinds[i];
	}
	return NULL;
}

int roce_verify_number_find(const struct roce_verify_kind *kind, const char *name)
{
	for (uint32_t i = 0; i < kind->number_count; i++) {
		if (strcmp(kind->numbers[i].name, name) == 0)
			return (int)i;
	}
	return -1;
}

/* ---- units ---- */

static const struct unit {
	const char *text;
	enum roce_unit parsed;
	double one; /* so many of the parsed unit */
	double most;
} units[] = {
#define UNIT(name, text, unit, one, most) {text, unit, one, most},
	ROCE_VERIFY_UNITS(UNIT)
#undef UNIT
};

const char *roce_verify_unit_str(enum roce_verify_unit unit)
{
	return units[unit].text;
}

int roce_verify_unit_parse(enum roce_verify_unit unit, const char *text, double *out)
{
	uint64_t value;
	int rc = roce_unit_parse(units[unit].parsed, text, &value);

	if (!rc)
		*out = (double)value / units[unit].one;
	return rc;
}

const char *roce_verify_unit_expected(enum roce_verify_unit unit)
{
	return roce_unit_expected(units[unit].parsed);
}

double roce_verify_unit_most(enum roce_verify_unit unit)
{
	return units[unit].most;
}

/* What would have too many digits to be read; the first that fits. */
static const struct scale {
	enum roce_verify_unit unit;
	double least;
	double one;
	const char *text;
} scales[] = {
	{ROCE_VERIFY_TIME, 1e6, 1e6, "s"},
	{ROCE_VERIFY_TIME, 1e4, 1e3, "ms"},
	{ROCE_VERIFY_FREQUENCY, 1e6, 1e6, "M/s"},
	{ROCE_VERIFY_FREQUENCY, 1e4, 1e3, "k/s"},
};

static void format(enum roce_verify_unit unit, double value, int digits, char *out, size_t size)
{
	const char *text = units[unit].text;

	for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
		if (unit != scales[i].unit || value < scales[i].least)
			continue;
		value /= scales[i].one;
		text = scales[i].text;
		break;
	}
	if (unit == ROCE_VERIFY_COUNT || ((value >= 1000 || value <= -1000) && digits <= 3))
		snprintf(out, size, "%.0f%s%s", value, *text ? " " : "", text);
	else
		snprintf(out, size, "%.*g%s%s", digits, value, *text ? " " : "", text);
}

void roce_verify_unit_format(enum roce_verify_unit unit, double value, char *out, size_t size)
{
	format(unit, value, 3, out, size);
}

void roce_verify_unit_format_exact(enum roce_verify_unit unit, double value, char *out, size_t size)
{
	format(unit, value, 7, out, size);
}

/* ---- parameters ---- */

static json_t *value_json(const struct roce_key *key, const void *base)
{
	const char *in = (const char *)base + key->offset;
	char text[64];
	uint64_t value;
	const char *s;

	switch (key->kind) {
	case ROCE_KIND_TEXT:
		memcpy(&s, in, sizeof(s));
		return json_string(s);
	case ROCE_KIND_WORD:
		roce_key_format(key, base, text, sizeof(text));
		return json_string(text);
	case ROCE_KIND_BOOL:
		return json_boolean(*(const bool *)in);
	case ROCE_KIND_TIME:
	case ROCE_KIND_TIME_US:
		memcpy(&value, in, sizeof(value));
		return json_integer((json_int_t)(value / ROCE_PS_PER_NS));
	case ROCE_KIND_COUNT:
	case ROCE_KIND_BYTES:
	case ROCE_KIND_RATE:
		memcpy(&value, in, sizeof(value));
		return json_integer((json_int_t)value);
	case ROCE_KIND_FRACTION:
	case ROCE_KIND_PERCENT:
		memcpy(&value, in, sizeof(value));
		return json_real((double)value / (double)ROCE_FRACTION_ONE);
	default:
		return NULL; /* no kind has such a parameter */
	}
}

json_t *roce_verify_parameters_json(const struct roce_verify_kind *kind, const void *in)
{
	json_t *object = json_object();

	for (uint32_t i = 0; i < kind->parameters.key_count; i++) {
		const struct roce_key *key = &kind->parameters.keys[i];

		if (json_object_set_new(object, key->path, value_json(key, in))) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}
