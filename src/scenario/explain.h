/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of the sections for people (`uroce sim --explain`) and for editors (a JSON schema).
 */
#ifndef ROCE_SCENARIO_EXPLAIN_H
#define ROCE_SCENARIO_EXPLAIN_H

#include <stdio.h>

/* All keys, a line each. */
void roce_explain_list(FILE *out);

/* One key in full, or all keys of a section or group. `name` is "switch.ecn.kmin", or its end if
 * that is clear ("kmin"). -ENOENT: there is none; `out_nearest` (128 bytes) is like it or empty. */
int roce_explain_key(FILE *out, const char *name, char *out_nearest)
	__attribute__((warn_unused_result));

/* 0 or -ENOMEM. */
int roce_explain_schema(FILE *out) __attribute__((warn_unused_result));

#endif
