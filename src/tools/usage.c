/* SPDX-License-Identifier: BSD-2-Clause */
/* What every subcommand says of an argument that it cannot take, a number out of range among them.
 */
#include "tools/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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

int roce_usage_number(const char *command, const char *option, const char *text, uint64_t least,
		      uint64_t most, uint64_t *out)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || end == text || *text == '-' || value < least || value > most)
		return roce_usage_error(command,
					"%s: found %s, expected a number from %llu to %llu", option,
					text, (unsigned long long)least, (unsigned long long)most);
	*out = value;
	return ROCE_EXIT_OK;
}
