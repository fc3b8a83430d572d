/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How busy the machine was with something else. A time that was measured while other programs had
 * the processors says nothing of what was to be verified, so the judge asks; programs that the run
 * started (agents, daemons, what cases start) are no others.
 */
#ifndef ROCE_VERIFY_OTHERS_H
#define ROCE_VERIFY_OTHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Percent of all processors: less is the system's own business. */
#define ROCE_VERIFY_OTHERS_MAX 10

/* Of a run, by what its cases tell. */
struct roce_verify_others_sum {
	double percent;	    /* in the mean of the time of the cases */
	uint32_t rounds;    /* cases that were run, each round */
	uint32_t disturbed; /* those in which they had more than ROCE_VERIFY_OTHERS_MAX */
};

/* Whether the run's figures say little because of them: single cases do not make it. */
bool roce_verify_others_are_many(const struct roce_verify_others_sum *sum);
/* "other programs had 71% of this machine's processors, more than 10% in 9 of 97 cases that were
 * run: its times and rates say little". */
void roce_verify_others_text(const struct roce_verify_others_sum *sum, const char *whose, char *out,
			     size_t size);

/* Clock ticks since the machine's start, of all processors. */
struct roce_verify_ticks {
	uint64_t all;
	uint64_t busy; /* with programs; interrupts belong to nobody */
	uint64_t own;  /* of this process and all below it */
};

/* All zero where there is no /proc to be read. */
void roce_verify_ticks_now(struct roce_verify_ticks *out);

/* What others had of all processors between the two, in percent; 0 when that is not known. */
double roce_verify_others(const struct roce_verify_ticks *from, const struct roce_verify_ticks *to);

#endif
