/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names and texts of the fabric's lists, for reports and error messages. Every list is one X-macro
 * in its header; a value beyond a list has the text "unknown".
 */
#include "fabric/fabric.h"

#include <stdio.h>

#define TEXT_OF(function, type, LIST)                                                       \
	const char *function(enum type value)                                               \
	{                                                                                   \
		static const char *const texts[] = {LIST(ENTRY)};                           \
		uint32_t index = (uint32_t)value;                                           \
                                                                                            \
		return index < sizeof(texts) / sizeof(texts[0]) ? texts[index] : "unknown"; \
	}

#define ENTRY(id, text) text,

TEXT_OF(roce_fabric_scheduler_str, roce_fabric_scheduler, ROCE_FABRIC_SCHEDULERS)
TEXT_OF(roce_fabric_buffer_kind_str, roce_fabric_buffer_kind, ROCE_FABRIC_BUFFER_KINDS)
TEXT_OF(roce_fabric_operation_str, roce_fabric_operation, ROCE_FABRIC_OPERATIONS)
TEXT_OF(roce_fabric_transport_str, roce_fabric_transport, ROCE_FABRIC_TRANSPORTS)
TEXT_OF(roce_fabric_flow_state_str, roce_fabric_flow_state, ROCE_FABRIC_FLOW_STATES)
TEXT_OF(roce_fabric_drop_str, roce_fabric_drop, ROCE_FABRIC_DROPS)
TEXT_OF(roce_fabric_fault_str, roce_fabric_fault, ROCE_FABRIC_FAULTS)
TEXT_OF(roce_fabric_end_str, roce_fabric_end, ROCE_FABRIC_ENDS)
TEXT_OF(roce_fabric_port_counter_str, roce_fabric_port_counter, ROCE_FABRIC_PORT_COUNTERS)
TEXT_OF(roce_fabric_hash_str, roce_fabric_hash, ROCE_FABRIC_HASHES)
TEXT_OF(roce_fabric_routing_str, roce_fabric_routing, ROCE_FABRIC_ROUTINGS)

void roce_fabric_prio_counter_name(enum roce_fabric_prio_counter counter, uint32_t prio, char *out)
{
	static const char *const names[][2] = {
#define X(id, direction, rest) {direction, rest},
		ROCE_FABRIC_PRIO_COUNTERS(X)
#undef X
	};

	snprintf(out, ROCE_FABRIC_COUNTER_NAME_MAX, "%s_prio%u_%s", names[counter][0], prio,
		 names[counter][1]);
}

const char *roce_fabric_wrong_text(const struct roce_fabric_wrong *w, char *out)
{
	snprintf(out, ROCE_FABRIC_WRONG_TEXT_MAX,
		 "%s %llu, byte %u of %u: expected 0x%02x, found 0x%02x; %u bytes wrong, "
		 "%u missing",
		 w->is_answer ? "answer" : "message", (unsigned long long)w->message, w->offset,
		 w->length, w->expected, w->found, w->wrong_bytes, w->missing_bytes);
	return out;
}
