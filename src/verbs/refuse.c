/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The line is formatted into one buffer and written with one call, so lines of several threads do
 * not mix. errno is left as it was: the caller's error is the one that counts.
 */
#include "verbs/refuse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	DEBUG_UNKNOWN,
	DEBUG_OFF,
	DEBUG_ON,
};

bool roce_debug_is_on(void)
{
	static atomic_int state;
	int s = atomic_load_explicit(&state, memory_order_relaxed);

	if (s == DEBUG_UNKNOWN) {
		const char *value = getenv("UROCE_DEBUG");

		s = value && *value && strcmp(value, "0") != 0 ? DEBUG_ON : DEBUG_OFF;
		atomic_store_explicit(&state, s, memory_order_relaxed);
	}
	return s == DEBUG_ON;
}

int roce_refuse(int err, const char *format, ...)
{
	char line[512] = "uroce: ";
	const size_t prefix = 7;
	int saved = errno;
	va_list args;
	int n;

	if (!roce_debug_is_on())
		return -err;
	va_start(args, format);
	n = vsnprintf(line + prefix, sizeof(line) - prefix - 1, format, args);
	va_end(args);
	if (n > 0) {
		size_t length = strlen(line);

		line[length++] = '\n';
		if (write(STDERR_FILENO, line, length) < 0)
			errno = saved;
	}
	errno = saved;
	return -err;
}
