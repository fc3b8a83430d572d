/* SPDX-License-Identifier: BSD-2-Clause */
/* The kinds of verify/kinds.h as tables: parameters to read, numbers with their units. */
#ifndef ROCE_VERIFY_KIND_H
#define ROCE_VERIFY_KIND_H

#include "scenario/key.h"
#include "verify/kinds.h"

#include <jansson.h>

enum roce_verify_unit {
#define UNIT(name, text, unit, one, most) ROCE_VERIFY_##name,
	ROCE_VERIFY_UNITS(UNIT)
#undef UNIT
};

struct roce_verify_number {
	const char *name;
	enum roce_verify_unit unit;
};

struct roce_verify_kind {
	const char *name;
	const char *text;
	struct roce_section parameters; /* its struct is only there to be read into */
	const struct roce_verify_number *numbers;
	uint32_t number_count;
};

/* Room for the parameters of any kind, read. */
#define ROCE_VERIFY_PARAMETERS_SIZE 1024

extern const struct roce_verify_kind roce_verify_kinds[];
extern const uint32_t roce_verify_kind_count;

const struct roce_verify_kind *roce_verify_kind_find(const char *name);
/* -1: it has none of that name. */
int roce_verify_number_find(const struct roce_verify_kind *kind, const char *name);

/* "us", "Gb/s"; "" for counts. */
const char *roce_verify_unit_str(enum roce_verify_unit unit);
/* A quantity as people write it, in the unit that reports have it in. 0; -EINVAL, -EDOM, -ERANGE.
 */
int roce_verify_unit_parse(enum roce_verify_unit unit, const char *text, double *out);
/* What roce_verify_unit_parse() takes: "a time, as 5us". */
const char *roce_verify_unit_expected(enum roce_verify_unit unit);
/* The most that a value of this unit can be. */
double roce_verify_unit_most(enum roce_verify_unit unit);
/* "3.21 us", "12.4 Gb/s", "98 %", "1234". */
void roce_verify_unit_format(enum roce_verify_unit unit, double value, char *out, size_t size);
/* With more digits: for two values that look the same in the form above. */
void roce_verify_unit_format_exact(enum roce_verify_unit unit, double value, char *out,
				   size_t size);

/* Parameters that were read into the kind's struct, as the agent gets them. NULL: out of memory. */
json_t *roce_verify_parameters_json(const struct roce_verify_kind *kind, const void *in);

#endif
