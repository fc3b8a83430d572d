/* SPDX-License-Identifier: BSD-2-Clause */
/* Kind `bandwidth`: the traffic (bandwidth.c), and what comes of it (bandwidth_result.c). */
#ifndef VERIFY_AGENT_BANDWIDTH_H
#define VERIFY_AGENT_BANDWIDTH_H

#include "verify/agent/parts.h"
#include "verify/agent/work.h"

struct va_bandwidth_lane {
	struct va_endpoint endpoint;
	uint64_t posted;
	uint64_t received;
};

struct va_bandwidth {
	struct va_device device;
	struct va_bandwidth_lane *lanes;
	uint32_t lane_count;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct va_buffer out; /* what each lane sends, or lets be read */
	struct va_buffer in;  /* the slots of each lane */
	struct va_remote remote;
	uint32_t size;
	size_t slot_bytes;
	uint32_t slots; /* of a lane */
	uint32_t depth;
	enum ibv_wr_opcode opcode;
	bool is_ud;
	bool is_atomic;
	bool is_fetching; /* data comes to the side that asks */
	bool is_reliable;
	bool has_receives;
	bool is_sender;
	bool is_receiver;
	unsigned int flags;
	uint64_t messages_max;
	const char *op; /* looking a parameter up takes as long as posting */
	/* counted */
	uint64_t posted;
	uint64_t completed;
	uint64_t received;
	uint64_t cpu_before_ns; /* of this process */
	uint64_t cpu_after_ns;
	roce_ns_t begun;
	roce_ns_t ended;
	roce_ns_t sent_at; /* the last completion */
	roce_ns_t received_at;
	struct va_parts sent_in_parts; /* of completions */
	struct va_parts received_in_parts;
	json_t *theirs; /* the other side's end, once it is heard */
};

/* Where a message of a lane arrives. */
static inline uint8_t *va_bandwidth_slot(const struct va_bandwidth *b, uint32_t lane,
					 uint64_t message)
{
	return b->in.at + ((size_t)lane * b->slots + message % b->slots) * b->slot_bytes;
}

/* va_fail() unless memory is as the traffic must have left it. */
void va_bandwidth_check(struct va_run *run, const struct va_bandwidth *b);
/* Tells the other side what was counted here, and reports what both have. */
void va_bandwidth_report(struct va_run *run, struct va_bandwidth *b);

#endif
