/* SPDX-License-Identifier: BSD-2-Clause */
/* The profiles of timing.h, found by name. */
#include "transport/timing.h"

#include <stddef.h>
#include <string.h>

static const struct roce_timing timings[] = {
#define X(name, code_min, permille) {name, code_min, permille},
	ROCE_TIMINGS(X)
#undef X
};

const struct roce_timing *roce_timing_find(const char *name)
{
	for (size_t i = 0; i < sizeof(timings) / sizeof(timings[0]); i++)
		if (strcmp(timings[i].name, name) == 0)
			return &timings[i];
	return NULL;
}
