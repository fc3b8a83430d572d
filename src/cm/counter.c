/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of the counters, from the same lists as the enums. */
#include "cm/counter.h"

#include <stddef.h>

const char *roce_cm_counter_str(uint32_t index)
{
	static const char *const names[ROCE_CM_COUNTER_COUNT] = {
#define X(id, name) [ROCE_CM_##id] = (name),
		ROCE_CM_VERDICTS(X)
#undef X
#define X(id, name) [ROCE_CM_STAT_##id] = (name),
			ROCE_CM_STATS(X)
#undef X
	};

	return index < ROCE_CM_COUNTER_COUNT ? names[index] : NULL;
}
