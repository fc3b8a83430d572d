/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of the table of validation. A test that measures something known from elsewhere says what,
 * what is expected and what came out: the row goes to the file that UROCE_MEASURED names, if it
 * does (`make validate`), and the test fails where it does not hold.
 */
#ifndef ROCE_TESTS_FABRIC_MEASURE_H
#define ROCE_TESTS_FABRIC_MEASURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* The file for rows, or NULL: nobody asked for them. */
static inline const char *measured_rows(void)
{
	return getenv("UROCE_MEASURED");
}

__attribute__((format(printf, 4, 5))) static inline void
measured(bool holds, const char *what, const char *expected, const char *form, ...)
{
	const char *path = measured_rows();
	FILE *out = path ? fopen(path, "a") : NULL;
	char text[256];
	va_list args;

	va_start(args, form);
	vsnprintf(text, sizeof(text), form, args);
	va_end(args);
	if (out) {
		fprintf(out, "%s\t%s\t%s\t%s\n", what, expected, text, holds ? "holds" : "FAILS");
		fclose(out);
	}
	if (!holds)
		fail_msg("%s: expected %s, measured %s", what, expected, text);
}

#endif
