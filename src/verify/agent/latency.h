/* SPDX-License-Identifier: BSD-2-Clause */
/* Kind `latency`: one size of it. Sizes are gone through by latency.c, messages by latency_ways.c.
 */
#ifndef VERIFY_AGENT_LATENCY_H
#define VERIFY_AGENT_LATENCY_H

#include "verify/agent/samples.h"
#include "verify/agent/work.h"

#define VA_LATENCY_WARMUP_MIN 100 /* with a duration, which it tells how many fit into */

struct va_latency {
	struct va_device device;
	struct va_endpoint endpoint;
	struct va_buffer out; /* what this side sends, or others read */
	struct va_buffer in;  /* what arrives */
	struct va_remote remote;
	struct va_samples samples;
	uint32_t size;
	uint64_t warmup;
	uint64_t total; /* with warmup */
	uint64_t duration_ns;
	unsigned int flags;
	enum ibv_wr_opcode opcode;
	uint32_t under_way; /* WRITEs without their completion */
	/* parameters, for the loops: looking one up takes as long as posting */
	const char *op;
	enum ibv_qp_type type;
	bool is_ud;
	bool is_atomic;
	bool is_write_imm;
	bool is_two_sided;
	bool is_in_turn;
	bool is_lossy; /* messages, and answers to them, that nobody repeats */
	uint64_t lost; /* UD, UC */
};

/* With a duration `total` becomes what there is time for. Called on both sides. */
void va_latency_measure(struct va_run *run, struct va_latency *l);
/* What one-sided operations must have left at the target. */
void va_latency_check_target(struct va_run *run, struct va_latency *l);

#endif
