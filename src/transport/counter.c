/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of the counters, from the same lists as the enums. */
#include "transport/counter.h"

#include <stddef.h>

const char *roce_counter_str(uint32_t index)
{
	static const char *const names[ROCE_COUNTER_COUNT] = {
#define X(id, name) [ROCE_##id] = (name),
		ROCE_VERDICTS(X)
#undef X
#define X(id, name) [ROCE_STAT_##id] = (name),
			ROCE_STATS(X)
#undef X
	};

	return index < ROCE_COUNTER_COUNT ? names[index] : NULL;
}
