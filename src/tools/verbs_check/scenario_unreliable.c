/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plans for UC and UD: messages that nobody may receive, between others that must all come, for
 * the requester completes both alike. A message of which nothing is seen is known to have been
 * refused when one behind it has come.
 */
#include "tools/verbs_check/open_program.h"
#include "tools/verbs_check/scenario_write.h"

enum { SHORT_BYTES = 60, GOOD_BYTES = 50, GROUP_MESSAGES = 4 };

static void add_good(struct vc_program *program, uint32_t qp)
{
	const struct vc_form plain = VC_FORM_PLAIN;

	(void)vc_scenario_add(program, VC_CLIENT, qp, VC_OP_SEND_IMM, GOOD_BYTES, &plain);
}

static void end(struct vc_program *program)
{
	vc_scenario_close_phase(program, VC_PHASE_MAIN);
	vc_scenario_finish(program);
}

/*
 * Without a receive the message is gone. The one on the second QP was sent later and tells when;
 * then there is a receive, and the next message takes it.
 */
void vc_plan_no_receive(struct vc_program *program, const struct vc_scenario *scenario)
{
	struct vc_form lost = VC_FORM_PLAIN;

	lost.flags = VC_LOST;
	vc_scenario_begin(program, scenario, 2);
	(void)vc_scenario_add(program, VC_CLIENT, 0, VC_OP_SEND_IMM, GOOD_BYTES, &lost);
	add_good(program, 1);
	vc_scenario_close_phase(program, 0);
	vc_scenario_close_phase(program, 1);
	add_good(program, 0);
	vc_scenario_close_phase(program, 2);
	program->sides[VC_SERVER].lanes[0].phases[1].receive_post = 1;
	vc_scenario_finish(program);
	program->sides[VC_SERVER].lanes[0].prepost = 0;
}

/* The receive is not used up: the next message takes it. Soft-RoCE fails it, and is in the error
 * state then. */
void vc_plan_short_receive(struct vc_program *program, const struct vc_scenario *scenario)
{
	bool is_rxe = program->limits->quirks[VC_SERVER] & VC_QUIRK_RXE;
	struct vc_form lost = VC_FORM_PLAIN;
	struct vc_receive *receive;

	lost.flags = VC_LOST;
	vc_scenario_begin(program, scenario, 1);
	add_good(program, 0);
	(void)vc_scenario_add(program, VC_CLIENT, 0, VC_OP_SEND, SHORT_BYTES, &lost);
	add_good(program, 0);
	if (is_rxe) {
		program->sides[VC_CLIENT].lanes[0].request_count--;
		receive = &program->sides[VC_SERVER].lanes[0].receives[1];
		receive->quirk_status = IBV_WC_LOC_QP_OP_ERR;
		receive->flags |= VC_UNDEFINED;
	}
	end(program);
}

void vc_plan_bad_rkey(struct vc_program *program, const struct vc_scenario *scenario)
{
	struct vc_form bad = VC_FORM_PLAIN;

	bad.flags = VC_LOST | VC_BAD_RKEY;
	vc_scenario_begin(program, scenario, 1);
	add_good(program, 0);
	for (uint32_t op = 0; op < VC_OP_COUNT; op++)
		for (uint32_t i = 0; vc_mask_has(scenario->ops, op) && i < 2; i++)
			(void)vc_scenario_add(program, VC_CLIENT, 0, (enum vc_op)op,
					      i ? 3 * vc_mtu_bytes(program->mtu) : GOOD_BYTES,
					      &bad);
	add_good(program, 0);
	end(program);
}

void vc_plan_wrong_qkey(struct vc_program *program, const struct vc_scenario *scenario)
{
	struct vc_form bad = VC_FORM_PLAIN;

	bad.flags = VC_LOST | VC_BAD_QKEY;
	vc_scenario_begin(program, scenario, 1);
	for (uint32_t i = 0; i < 2; i++) {
		(void)vc_scenario_add(program, VC_CLIENT, 0, VC_OP_SEND, GOOD_BYTES, &bad);
		add_good(program, 0);
	}
	end(program);
}

/* The server answers by an address handle that it makes of the first completion. */
void vc_plan_replies(struct vc_program *program, const struct vc_scenario *scenario)
{
	struct vc_form reply = VC_FORM_PLAIN;

	vc_scenario_begin(program, scenario, 2); /* one for each way to make a handle */
	add_good(program, 0);
	add_good(program, 1);
	vc_scenario_close_phase(program, 0);
	reply.flags = VC_REPLY;
	for (uint32_t q = 0; q < 2; q++)
		(void)vc_scenario_add(program, VC_SERVER, q, VC_OP_SEND_IMM, GOOD_BYTES, &reply);
	vc_scenario_close_phase(program, VC_PHASE_REPLY);
	/* In place before the server answers. */
	for (uint32_t q = 0; q < 2; q++)
		program->sides[VC_CLIENT].lanes[q].phases[0].receive_post = 1;
	vc_scenario_finish(program);
}

/* Two members on the server; each gets a copy. */
void vc_plan_multicast(struct vc_program *program, const struct vc_scenario *scenario)
{
	struct vc_form form = VC_FORM_PLAIN;

	vc_scenario_begin(program, scenario, 2);
	for (uint32_t q = 0; q < 2; q++)
		program->sides[VC_SERVER].lanes[q].attached = true;
	for (uint32_t i = 0; i < GROUP_MESSAGES; i++) {
		form.flags = VC_MULTICAST;
		(void)vc_scenario_add(program, VC_CLIENT, 0, VC_OP_SEND_IMM, GOOD_BYTES, &form);
	}
	end(program);
}
