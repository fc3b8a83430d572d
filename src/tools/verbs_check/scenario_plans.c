/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plans for any transport: each of the scenario's operations in turn, in the form that the plan is
 * about. Where WRITEs are among them a SEND comes last: its arrival is what proves that they have
 * come, and on an unreliable transport the only sign of it. There a plan is no more than two dozen
 * packets of the MTU, for that is what fits into the receiver's socket.
 */
#include "tools/verbs_check/scenario_write.h"

enum { LAST_BYTES = 24, CHAIN_BYTES = 40, BOTH_BYTES = 3000 };

static bool next_op(const struct vc_scenario *scenario, uint32_t *op)
{
	while (*op < VC_OP_COUNT && !vc_mask_has(scenario->ops, *op))
		(*op)++;
	return *op < VC_OP_COUNT;
}

/* Of the one phase. */
static void end(struct vc_program *program, const struct vc_scenario *scenario)
{
	const struct vc_form plain = VC_FORM_PLAIN;

	for (uint32_t s = 0; s < VC_SIDES; s++)
		for (uint32_t q = 0; q < program->qp_count; q++)
			if (program->sides[s].lanes[q].request_count &&
			    vc_mask_has(scenario->ops, VC_OP_WRITE))
				(void)vc_scenario_add(program, s, q, VC_OP_SEND_IMM, LAST_BYTES,
						      &plain);
	vc_scenario_close_phase(program, VC_PHASE_MAIN);
	vc_scenario_finish(program);
}

/* Each operation with each length that the transport takes. */
static void add_all(struct vc_program *program, const struct vc_scenario *scenario,
		    const uint32_t *lengths, uint32_t count, const struct vc_form *form)
{
	uint32_t sizes[VC_SIZES_MAX];
	uint32_t known = vc_scenario_sizes(program, sizes);

	for (uint32_t op = 0; next_op(scenario, &op); op++)
		for (uint32_t i = 0; i < count; i++)
			if (lengths[i] <= sizes[known - 1])
				(void)vc_scenario_add(program, VC_CLIENT, 0, (enum vc_op)op,
						      lengths[i], form);
}

void vc_plan_sizes(struct vc_program *program, const struct vc_scenario *scenario)
{
	const struct vc_form plain = VC_FORM_PLAIN;
	uint32_t sizes[VC_SIZES_MAX];
	uint32_t count;

	vc_scenario_begin(program, scenario, 1);
	count = vc_scenario_sizes(program, sizes);
	add_all(program, scenario, sizes, count, &plain);
	end(program, scenario);
}

/* Among others, so that nothing is mistaken for nothing. */
void vc_plan_zero(struct vc_program *program, const struct vc_scenario *scenario)
{
	static const uint32_t lengths[] = {0, 5, 0, 0};
	struct vc_form form = VC_FORM_PLAIN;

	vc_scenario_begin(program, scenario, 1);
	add_all(program, scenario, lengths, 4, &form);
	form.pieces = 3; /* all of them empty */
	add_all(program, scenario, lengths, 1, &form);
	end(program, scenario);
}

void vc_plan_unaligned(struct vc_program *program, const struct vc_scenario *scenario)
{
	const uint32_t lengths[] = {1, 6, 61, vc_mtu_bytes(program->mtu) + 3};

	vc_scenario_begin(program, scenario, 1);
	for (int at = 1; at < 8; at += vc_program_is_reliable(program) ? 2 : 4) {
		struct vc_form form = {.local_at = at, .remote_at = 8 - at};

		add_all(program, scenario, lengths, 4, &form);
	}
	end(program, scenario);
}

void vc_plan_pages(struct vc_program *program, const struct vc_scenario *scenario)
{
	const uint32_t mtu = vc_mtu_bytes(program->mtu);
	const uint32_t lengths[] = {11, 600, mtu,
				    vc_program_is_reliable(program) ? 2 * mtu + 5 : mtu + 5};
	const struct vc_form near_end = {.local_at = 4091, .remote_at = 4095};
	const struct vc_form far_end = {.local_at = 4095, .remote_at = 4090};

	vc_scenario_begin(program, scenario, 1);
	add_all(program, scenario, lengths, 4, &near_end);
	add_all(program, scenario, lengths, 4, &far_end);
	end(program, scenario);
}

void vc_plan_lists(struct vc_program *program, const struct vc_scenario *scenario)
{
	const uint32_t mtu = vc_mtu_bytes(program->mtu);
	bool is_reliable = vc_program_is_reliable(program);
	const uint32_t lengths[] = {5, 200, mtu, is_reliable ? 3 * mtu + 1 : mtu + 1};
	struct vc_form form = VC_FORM_PLAIN;

	vc_scenario_begin(program, scenario, 1);
	for (form.pieces = is_reliable ? 2 : 16; form.pieces <= 16; form.pieces *= 2)
		add_all(program, scenario, lengths, 4, &form);
	form.pieces = 3;
	add_all(program, scenario, lengths, 4, &form);
	end(program, scenario);
}

/* The run overwrites each source as soon as it is posted. */
void vc_plan_inline(struct vc_program *program, const struct vc_scenario *scenario)
{
	struct vc_form form = {
		.local_at = VC_ANYWHERE, .remote_at = VC_ANYWHERE, .flags = VC_INLINE};
	uint32_t lengths[] = {0, 1, 33, 0};

	vc_scenario_begin(program, scenario, 1);
	lengths[3] = program->sides[VC_CLIENT].lanes[0].inline_max;
	if (lengths[3] < 33)
		lengths[2] = lengths[3];
	add_all(program, scenario, lengths, 4, &form);
	form.pieces = 3;
	add_all(program, scenario, lengths, 4, &form);
	end(program, scenario);
}

/* Lists of requests in one post, of which the last alone is signalled. */
void vc_plan_chains(struct vc_program *program, const struct vc_scenario *scenario)
{
	struct vc_form form = {.local_at = VC_ANYWHERE, .remote_at = VC_ANYWHERE};
	uint32_t op = VC_OP_COUNT;

	vc_scenario_begin(program, scenario, 1);
	for (uint32_t i = 0; i < 24; i++, op++) {
		bool is_last = i % 8 == 7;

		if (!next_op(scenario, &op)) {
			op = 0;
			(void)next_op(scenario, &op);
		}
		form.is_silent = !is_last;
		form.flags = is_last ? 0 : VC_CHAINED;
		(void)vc_scenario_add(program, VC_CLIENT, 0, (enum vc_op)op, CHAIN_BYTES + i,
				      &form);
	}
	end(program, scenario);
}

void vc_plan_both_ways(struct vc_program *program, const struct vc_scenario *scenario)
{
	const struct vc_form plain = VC_FORM_PLAIN;
	uint32_t sizes[VC_SIZES_MAX];
	uint32_t count, length;

	vc_scenario_begin(program, scenario, 1);
	count = vc_scenario_sizes(program, sizes);
	length = sizes[count - 1] < BOTH_BYTES ? sizes[count - 1] : BOTH_BYTES;
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t op = 0; next_op(scenario, &op); op++)
			for (uint32_t s = 0; s < VC_SIDES; s++)
				(void)vc_scenario_add(program, s, 0, (enum vc_op)op, length,
						      &plain);
	end(program, scenario);
}

/* A QP for each operation: its PSNs wrap within a message, or between two of one packet. */
void vc_plan_psn_wrap(struct vc_program *program, const struct vc_scenario *scenario)
{
	const struct vc_form plain = VC_FORM_PLAIN;
	bool is_datagram = program->transport == VC_TRANSPORT_UD;
	uint32_t mtu = vc_mtu_bytes(program->mtu);
	uint32_t qp = 0, qp_count = 0;

	for (uint32_t op = 0; next_op(scenario, &op); op++)
		qp_count++;
	vc_scenario_begin(program, scenario, qp_count);
	for (uint32_t op = 0; next_op(scenario, &op); op++, qp++) {
		program->sides[VC_CLIENT].lanes[qp].psn = 0xfffffe;
		program->sides[VC_SERVER].lanes[qp].psn = 0xffffff;
		for (uint32_t i = 0; i < 4; i++)
			(void)vc_scenario_add(program, VC_CLIENT, qp, (enum vc_op)op,
					      is_datagram || i ? mtu - i : 3 * mtu, &plain);
	}
	end(program, scenario);
}
