/* SPDX-License-Identifier: BSD-2-Clause */
/* What every subcommand says of an argument that it cannot take. */
#include "tools/command.h"

#include <stdarg.h>
#include <stdio.h>

int roce_usage_error(const char *command, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "uroce %s: ", command);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (see: uroce help %s)\n", command);
	return ROCE_EXIT_USAGE;
}
