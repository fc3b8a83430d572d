/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of events and states, from the same lists as the enums. */
#include "cm/cm.h"

#include "base/assert.h"

const char *roce_cm_report_str(enum roce_cm_report_type type)
{
	switch (type) {
#define X(name, value)              \
	case ROCE_CM_REPORT_##name: \
		return #name;
		ROCE_CM_REPORT_LIST(X)
#undef X
	}
	return "unknown";
}

const char *roce_cm_state_str(enum roce_cm_state state)
{
	static const char *const names[] = {
#define X(name) [ROCE_CM_STATE_##name] = #name,
		ROCE_CM_STATE_LIST(X)
#undef X
	};

	ROCE_ASSERT(state < ROCE_CM_STATE_COUNT);
	return names[state];
}
