/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats the lines; bytes of the file that are no printable text are shown as '?'. */
#include "scenario/problem.h"

#include "base/plain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void roce_problems_init(struct roce_problems *problems, const char *file)
{
	problems->file = file;
	problems->count = 0;
}

void roce_problem_add(struct roce_problems *problems, uint32_t line, const char *fmt, ...)
{
	char *out;
	int n;
	va_list ap;

	if (problems->count++ >= ROCE_PROBLEMS_MAX)
		return;
	out = problems->text[problems->count - 1];
	if (line)
		n = snprintf(out, ROCE_PROBLEM_TEXT_MAX, "%.120s:%u: ", problems->file, line);
	else
		n = snprintf(out, ROCE_PROBLEM_TEXT_MAX, "%.120s: ", problems->file);
	va_start(ap, fmt);
	vsnprintf(out + n, ROCE_PROBLEM_TEXT_MAX - (size_t)n, fmt, ap);
	va_end(ap);
	roce_plain_make(out);
	/* The same mistake is met again wherever its key applies. */
	for (uint32_t i = 0; i + 1 < problems->count; i++) {
		if (strcmp(problems->text[i], out) == 0) {
			problems->count--;
			return;
		}
	}
}
