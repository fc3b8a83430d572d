/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rounds of one case as one: with --repeat a case has been run several times, and readers want
 * to know its middle and how far it strays.
 */
#ifndef ROCE_VERIFY_ROLLUP_H
#define ROCE_VERIFY_ROLLUP_H

#include "verify/record.h"

struct roce_verify_rollup {
	const struct roce_verify_case *c;
	const struct roce_verify_outcome *shown; /* the first that failed, or the last */
	enum roce_verify_verdict verdict;	 /* the worst: fail, pass, measured, skipped */
	uint32_t rounds;
	uint32_t fails;
	uint32_t value_count;
	double median; /* of those that have a value */
	double least;
	double most;
};

/* One for each case of the record, in its order. NULL: out of memory. For free(). */
struct roce_verify_rollup *roce_verify_rollup(const struct roce_verify_record *record,
					      uint32_t *out_count);

/* What weighs more in the sum of several rounds. */
int roce_verify_verdict_weight(enum roce_verify_verdict verdict);

/* The middle of values, which are sorted in place; 0 when there is none. */
double roce_verify_median(double *values, uint32_t count);

/* "latency" of "latency/write_64": how long it is. */
uint32_t roce_verify_group_length(const char *name);
/* "write_64" of it. */
const char *roce_verify_name_in_group(const char *name);

#endif
