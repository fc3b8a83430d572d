/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plans for reliable connections: what only they have. Faulty requests are written by the same
 * code that draws them for error seeds (rc_fault_program.c), with the fault and the operation
 * given; the seed decides what is before and behind the faulty request.
 */
#include "tools/verbs_check/rc_program.h"
#include "tools/verbs_check/scenario_write.h"

enum {
	FENCED_BYTES = 6000,
	FENCE_ROUNDS = 4,
	OUTSTANDING = 48,
	OUTSTANDING_BYTES = 2500,
	LATE_MESSAGES = 6,
	LATE_US = 15000,
	WINDOW_BYTES = 24000,
	SHARED_MESSAGES = 12,
};

static void end(struct vc_program *program)
{
	vc_scenario_close_phase(program, VC_PHASE_MAIN);
	vc_scenario_finish(program);
}

void vc_plan_long(struct vc_program *program, const struct vc_scenario *scenario)
{
	const struct vc_form plain = VC_FORM_PLAIN;

	vc_scenario_begin(program, scenario, 1);
	for (uint32_t op = 0; op < VC_OP_COUNT; op++)
		if (vc_mask_has(scenario->ops, op))
			(void)vc_scenario_add(program, VC_CLIENT, 0, (enum vc_op)op,
					      program->limits->size_max, &plain);
	end(program);
}

/*
 * Each SEND or WRITE sends on what the READ before it fetches. No more than two requests are
 * posted at a time: the next one is posted when the READ has completed, which wakes a requester
 * that would sleep on (Soft-RoCE's, when the READ ends in the moment in which it looks). The first
 * two leave in one list: between two posts this process may stand still until the READ is done, and
 * then there was nothing to hold back.
 */
void vc_plan_fence(struct vc_program *program, const struct vc_scenario *scenario)
{
	const struct vc_form plain = VC_FORM_PLAIN;
	const struct vc_form chained = {
		.local_at = VC_ANYWHERE, .remote_at = VC_ANYWHERE, .flags = VC_CHAINED};
	struct vc_lane *lane = &program->sides[VC_CLIENT].lanes[0];

	vc_scenario_begin(program, scenario, 1);
	for (uint32_t i = 0; i < FENCE_ROUNDS; i++) {
		uint32_t read = lane->request_count;

		(void)vc_scenario_add(program, VC_CLIENT, 0, VC_OP_READ, FENCED_BYTES - i,
				      &chained);
		(void)vc_scenario_forward(program, 0, i % 2 ? VC_OP_WRITE : VC_OP_SEND, read);
	}
	(void)vc_scenario_add(program, VC_CLIENT, 0, VC_OP_SEND_IMM, 1, &plain);
	lane->send_depth = 2;
	end(program);
}

/* All at once; sixteen at a time are under way. */
void vc_plan_outstanding(struct vc_program *program, const struct vc_scenario *scenario)
{
	struct vc_form form = {
		.local_at = VC_ANYWHERE, .remote_at = VC_ANYWHERE, .flags = VC_CHAINED};
	uint32_t op = 0;

	vc_scenario_begin(program, scenario, 1);
	for (uint32_t i = 0; i < OUTSTANDING; i++, op++) {
		while (!vc_mask_has(scenario->ops, op % VC_OP_COUNT))
			op++;
		(void)vc_scenario_add(program, VC_CLIENT, 0, (enum vc_op)(op % VC_OP_COUNT),
				      OUTSTANDING_BYTES, &form);
	}
	end(program);
}

/* The responder posts its receives one by one while the requester waits for them. */
void vc_plan_late_receives(struct vc_program *program, const struct vc_scenario *scenario)
{
	const struct vc_form plain = VC_FORM_PLAIN;
	uint32_t mtu = vc_mtu_bytes(program->mtu);

	vc_scenario_begin(program, scenario, 1);
	for (uint32_t i = 0; i < LATE_MESSAGES; i++)
		(void)vc_scenario_add(program, VC_CLIENT, 0, i % 2 ? VC_OP_WRITE_IMM : VC_OP_SEND,
				      2 * mtu + i, &plain);
	program->sides[VC_SERVER].late_us = LATE_US;
	end(program);
}

void vc_plan_window(struct vc_program *program, const struct vc_scenario *scenario)
{
	static const uint32_t lengths[] = {1, 100, 4096, 5001};
	struct vc_form form = VC_FORM_PLAIN;
	const struct vc_form plain = VC_FORM_PLAIN;

	vc_scenario_begin(program, scenario, 1);
	vc_scenario_open_window(program, VC_SERVER, 0, WINDOW_BYTES);
	form.by_window = true;
	for (uint32_t op = 0; op < VC_OP_COUNT; op++)
		for (uint32_t i = 0; vc_mask_has(scenario->ops, op) && i < 4; i++)
			(void)vc_scenario_add(program, VC_CLIENT, 0, (enum vc_op)op,
					      i < 3 ? lengths[i] : lengths[i] / 2, &form);
	(void)vc_scenario_add(program, VC_CLIENT, 0, VC_OP_SEND_IMM, 8, &plain);
	end(program);
}

/* Each SEND ends a window, the last one first; what is written before by the first one stays. */
void vc_plan_invalidate(struct vc_program *program, const struct vc_scenario *scenario)
{
	static const uint32_t lengths[VC_WINDOW_MAX] = {0, 70, 5000};
	struct vc_form form = VC_FORM_PLAIN;
	const struct vc_form plain = VC_FORM_PLAIN;

	vc_scenario_begin(program, scenario, 1);
	for (uint32_t w = 0; w < VC_WINDOW_MAX; w++)
		vc_scenario_open_window(program, VC_SERVER, 0, 100);
	form.by_window = true;
	(void)vc_scenario_add(program, VC_CLIENT, 0, VC_OP_WRITE, 90, &form);
	for (uint32_t w = 0; w < VC_WINDOW_MAX; w++)
		(void)vc_scenario_add(program, VC_CLIENT, 0, VC_OP_SEND_INV, lengths[w], &plain);
	end(program);
}

/* Two QPs take from one queue. */
void vc_plan_shared_receives(struct vc_program *program, const struct vc_scenario *scenario)
{
	struct vc_form form = VC_FORM_PLAIN;

	vc_scenario_begin(program, scenario, 2);
	for (uint32_t i = 0; i < SHARED_MESSAGES; i++)
		(void)vc_scenario_add(program, VC_CLIENT, i % 2,
				      i % 3 ? VC_OP_SEND_IMM : VC_OP_SEND, 3000, &form);
	end(program);
}

void vc_plan_fault(struct vc_program *program, const struct vc_scenario *scenario)
{
	program->fault = scenario->fault;
	program->fault_ops = scenario->ops;
	vc_rc_fault_program_draw(program);
}
