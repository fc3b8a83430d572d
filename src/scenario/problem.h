/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is wrong with a scenario: one line each, `file:line: what was found, what was expected`. All
 * of a file's mistakes are told at once, up to a limit; beyond it they are only counted. Whoever
 * finds a mistake adds it and goes on, and whoever called looks at the count.
 */
#ifndef ROCE_SCENARIO_PROBLEM_H
#define ROCE_SCENARIO_PROBLEM_H

#include <stdint.h>

#define ROCE_PROBLEMS_MAX     20
#define ROCE_PROBLEM_TEXT_MAX 320

struct roce_problems {
	const char *file; /* the name that is printed; the caller's */
	uint32_t count;	  /* of all, also those not kept */
	char text[ROCE_PROBLEMS_MAX][ROCE_PROBLEM_TEXT_MAX];
};

void roce_problems_init(struct roce_problems *problems, const char *file);

/* `line` 0: the file as a whole. */
__attribute__((format(printf, 3, 4))) void roce_problem_add(struct roce_problems *problems,
							    uint32_t line, const char *fmt, ...);

/* Of those kept. */
static inline uint32_t roce_problems_kept(const struct roce_problems *problems)
{
	return problems->count < ROCE_PROBLEMS_MAX ? problems->count : ROCE_PROBLEMS_MAX;
}

#endif
