/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Three scripts: one phase for seeds in which all succeeds, that and three short ones where
 * solicited events are checked, and the four of an error seed, in which the responder's QP or
 * region is changed before the faulty request and both QPs end in the error state.
 */
#include "tools/verbs_check/rc_phases.h"

static enum vc_verdict meet(struct vc_run *run, uint32_t step)
{
	return vc_control_barrier(run->control, run->program->seed * 16 + step, run->report);
}

static enum vc_verdict run_phase(struct vc_run *run, uint32_t phase)
{
	run->phase = phase;
	return vc_run_phase(run);
}

static enum vc_verdict run_and_meet(struct vc_run *run, uint32_t phase)
{
	enum vc_verdict verdict = run_phase(run, phase);

	return verdict == VC_RIGHT ? meet(run, 1 + phase) : verdict;
}

static enum vc_verdict run_solicited(struct vc_run *run)
{
	enum vc_verdict verdict;

	run->quiet = true;
	verdict = run_phase(run, VC_PHASE_SWEEP);
	if (verdict == VC_RIGHT)
		verdict = vc_event_arm_solicited(run);
	if (verdict == VC_RIGHT)
		verdict = meet(run, 1 + VC_PHASE_SWEEP);
	if (verdict == VC_RIGHT)
		verdict = run_and_meet(run, VC_PHASE_QUIET);
	if (verdict == VC_RIGHT)
		verdict = vc_event_expect(run, false);
	if (verdict == VC_RIGHT)
		verdict = run_and_meet(run, VC_PHASE_SOLICITED);
	if (verdict == VC_RIGHT)
		verdict = vc_event_expect(run, true);
	return verdict;
}

static bool is_requester(const struct vc_run *run)
{
	return run->side == run->program->requester;
}

/* What makes the request fail, on the responder's side. */
static enum vc_verdict prepare_fault(struct vc_run *run)
{
	const struct vc_program *program = run->program;

	if (is_requester(run))
		return VC_RIGHT;
	if (program->fault == VC_FAULT_PEER_ERR)
		return vc_endpoint_move(run->endpoint, 0, IBV_QPS_ERR, run->report);
	if (program->fault == VC_FAULT_PEER_RESET)
		return vc_endpoint_move(run->endpoint, 0, IBV_QPS_RESET, run->report);
	if (vc_fault_is_window(program->fault) && program->fault != VC_FAULT_INVALIDATED)
		return vc_window_end(run->endpoint, program, run->side, run->memory, run->report);
	if (program->deregister_mr != VC_NO_INDEX)
		return vc_endpoint_deregister(run->endpoint, program->deregister_mr, run->report);
	return VC_RIGHT;
}

/* Where the fault has left this side's QP. */
static enum ibv_qp_state state_after_fault(const struct vc_run *run)
{
	if (is_requester(run))
		return run->program->fault == VC_FAULT_LOCAL_ERR ? IBV_QPS_RTS : IBV_QPS_ERR;
	switch (vc_fault_fate(run->program->fault)) {
	case VC_FATE_ERROR:
		return IBV_QPS_ERR;
	case VC_FATE_RESET:
		return IBV_QPS_RESET;
	case VC_FATE_ALIVE:
		break;
	}
	return IBV_QPS_RTS;
}

static enum vc_verdict run_faulty(struct vc_run *run)
{
	enum ibv_qp_state state = state_after_fault(run);
	enum ibv_qp_state last = state == IBV_QPS_RESET ? IBV_QPS_RESET : IBV_QPS_ERR;
	enum vc_verdict verdict = run_and_meet(run, VC_PHASE_LEAD);

	if (verdict == VC_RIGHT)
		verdict = prepare_fault(run);
	if (verdict == VC_RIGHT)
		verdict = meet(run, 8);
	if (verdict == VC_RIGHT)
		verdict = run_phase(run, VC_PHASE_FAULT);
	if (verdict == VC_RIGHT)
		verdict =
			vc_endpoint_check_state(run->endpoint, run->program, 0, state, run->report);
	if (verdict == VC_RIGHT)
		verdict = meet(run, 1 + VC_PHASE_FAULT);
	if (verdict == VC_RIGHT && state == IBV_QPS_RTS)
		verdict = vc_endpoint_move(run->endpoint, 0, IBV_QPS_ERR, run->report);
	if (verdict == VC_RIGHT)
		verdict = vc_async_check_fault(run);
	if (verdict == VC_RIGHT)
		verdict = run_and_meet(run, VC_PHASE_ERROR);
	if (verdict == VC_RIGHT)
		verdict = run_and_meet(run, VC_PHASE_TAIL);
	if (verdict == VC_RIGHT)
		verdict =
			vc_endpoint_check_state(run->endpoint, run->program, 0, last, run->report);
	return verdict;
}

enum vc_verdict vc_rc_phases_run(struct vc_run *run)
{
	enum vc_verdict verdict = meet(run, 0);

	if (verdict != VC_RIGHT)
		return verdict;
	if (run->program->fault != VC_FAULT_NONE)
		return run_faulty(run);
	verdict = run_and_meet(run, VC_PHASE_MAIN);
	if (verdict == VC_RIGHT && run->program->phase_count > 1)
		verdict = run_solicited(run);
	return verdict;
}
