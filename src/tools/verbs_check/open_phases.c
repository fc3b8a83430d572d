/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An open seed: all requests at once, then what an unreliable transport still has under way, then
 * answers to datagrams, then a datagram that is too long; in the end every QP goes to the error
 * state, which flushes the receives that nobody took, in order, and tells the users of shared
 * queues that they have taken their last one.
 */
#include "tools/verbs_check/open_phases.h"

#include <errno.h>
#include <string.h>

#include "tools/verbs_check/poll.h"

enum { QUIET_MS = 40, FLUSH_S = 10 };

static enum vc_verdict meet(struct vc_run *run, uint32_t step)
{
	return vc_control_barrier(run->control, run->program->seed * 16 + step, run->report);
}

/* Until nothing has come for a while: what comes later finds the QPs in the error state. */
static enum vc_verdict drain_receives(struct vc_run *run)
{
	uint64_t quiet_ns = vc_now_ns();

	while (vc_now_ns() - quiet_ns < QUIET_MS * 1000000ull) {
		uint32_t count = 0;
		enum vc_verdict verdict = VC_RIGHT;

		for (uint32_t q = 0; q < run->program->qp_count && verdict == VC_RIGHT; q++)
			verdict = vc_run_post_receives(run, q,
						       run->program->sides[run->side]
							       .lanes[q]
							       .phases[run->phase]
							       .receive_post,
						       &count);
		if (verdict == VC_RIGHT)
			verdict = vc_run_poll(run, &count);
		if (verdict != VC_RIGHT)
			return verdict;
		if (count)
			quiet_ns = vc_now_ns();
	}
	return VC_RIGHT;
}

static enum vc_verdict run_phase(struct vc_run *run, uint32_t phase)
{
	enum vc_verdict verdict;

	run->phase = phase;
	verdict = vc_run_phase(run);
	if (verdict == VC_RIGHT)
		verdict = meet(run, 1 + phase);
	if (verdict == VC_RIGHT && !vc_program_is_reliable(run->program))
		verdict = drain_receives(run);
	return verdict;
}

/* Each shared queue fell below its limit once, when its first receive was taken. */
static enum vc_verdict check_limits(struct vc_run *run)
{
	const struct vc_side *side = &run->program->sides[run->side];
	enum vc_verdict verdict = VC_RIGHT;

	if (!vc_program_has(run->program, VC_FEATURE_ASYNC))
		return VC_RIGHT;
	for (uint32_t p = 0; p < side->pool_count && verdict == VC_RIGHT; p++)
		if (side->limits[p])
			verdict =
				vc_async_await(run, &run->async.limits[p], 1, "SRQ_LIMIT_REACHED");
	return verdict;
}

static enum vc_verdict await_send(struct vc_run *run, uint64_t wr_id, enum ibv_wc_status status)
{
	uint32_t cq = run->program->sides[run->side].lanes[0].send_cq;
	uint64_t give_up = vc_now_ns() + FLUSH_S * 1000000000ull;
	struct ibv_wc wc;
	int got = 0;

	while (got == 0 && vc_now_ns() < give_up)
		got = vc_poll(run->endpoint, cq, 1, &wc, run->report);
	if (got != 1 || wc.wr_id != wr_id || wc.status != status)
		return vc_report_wrong(
			run->report, "too long a datagram: %d completions, status %d, expected %d",
			got, got == 1 ? (int)wc.status : -1, (int)status);
	return VC_RIGHT;
}

/* A region that holds so many bytes, so that only the length is wrong; VC_NO_INDEX: none does. */
static uint32_t find_region(const struct vc_run *run, uint32_t bytes)
{
	const struct vc_side *side = &run->program->sides[run->side];

	for (uint32_t m = 0; m < side->mr_count; m++)
		if (side->mrs[m].length >= bytes)
			return m;
	return VC_NO_INDEX;
}

static int post_long(struct vc_run *run, uint64_t wr_id, uint32_t m, uint32_t bytes)
{
	struct ibv_sge sge = {.addr = run->endpoint->bases[m],
			      .length = bytes,
			      .lkey = run->endpoint->mrs[m]->lkey};
	struct ibv_send_wr wr = {.wr_id = wr_id,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED,
				 .sg_list = &sge,
				 .num_sge = 1};
	struct ibv_send_wr *bad = NULL;

	wr.wr.ud.ah = run->endpoint->ahs[0];
	wr.wr.ud.remote_qpn = run->endpoint->remote_qpns[0];
	wr.wr.ud.remote_qkey = run->program->qkey;
	return ibv_post_send(run->endpoint->qps[0], &wr, &bad);
}

/* Refused, or LOC_LEN_ERR and SQE; out of which RTS leads back. Soft-RoCE drops it and says
 * nothing. */
static enum vc_verdict check_oversize(struct vc_run *run)
{
	const struct vc_program *program = run->program;
	uint32_t mtu = vc_mtu_bytes(run->device->port_attr.active_mtu);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE};
	uint64_t wr_id = vc_mix(program->seed, 300);
	uint32_t m = find_region(run, mtu + 1);
	enum vc_verdict verdict;
	int error;

	if (program->transport != VC_TRANSPORT_UD || !vc_program_has(program, VC_FEATURE_OVERSIZE))
		return VC_RIGHT;
	if (m == VC_NO_INDEX || post_long(run, wr_id, m, mtu + 1))
		return VC_RIGHT;
	if (program->limits->quirks[run->side] & VC_QUIRK_RXE)
		return await_send(run, wr_id, IBV_WC_SUCCESS);
	verdict = await_send(run, wr_id, IBV_WC_LOC_LEN_ERR);
	if (verdict == VC_RIGHT)
		verdict = vc_endpoint_check_state(run->endpoint, program, 0, IBV_QPS_SQE,
						  run->report);
	if (verdict != VC_RIGHT)
		return verdict;
	error = ibv_modify_qp(run->endpoint->qps[0], &attr, IBV_QP_STATE | IBV_QP_CUR_STATE);
	if (error)
		return vc_report_wrong(run->report, "qp 0 from SQE to RTS: %s", strerror(error));
	return VC_RIGHT;
}

static bool is_flushed(const struct vc_run *run)
{
	for (uint32_t q = 0; q < run->program->qp_count; q++)
		if (!run->program->is_shared &&
		    run->lanes[q].receive_done < run->lanes[q].receive_posted)
			return false;
	return true;
}

static enum vc_verdict await_flush(struct vc_run *run)
{
	uint64_t give_up = vc_now_ns() + FLUSH_S * 1000000000ull;
	uint32_t count = 0;

	while (!is_flushed(run)) {
		enum vc_verdict verdict = vc_run_poll(run, &count);

		if (verdict != VC_RIGHT)
			return verdict;
		if (vc_now_ns() > give_up)
			return vc_report_wrong(run->report,
					       "receives are left that the error state should have "
					       "flushed");
	}
	return VC_RIGHT;
}

static enum vc_verdict check_last_wqe(struct vc_run *run)
{
	const struct vc_program *program = run->program;
	enum vc_verdict verdict = VC_RIGHT;

	if (!program->is_shared || program->transport == VC_TRANSPORT_XRC ||
	    !vc_program_has(program, VC_FEATURE_ASYNC) ||
	    (program->limits->quirks[run->side] & VC_QUIRK_RXE))
		return VC_RIGHT;
	for (uint32_t q = 0; q < program->qp_count && verdict == VC_RIGHT; q++)
		verdict = vc_async_await(run, &run->async.last_wqe[q], 1, "QP_LAST_WQE_REACHED");
	return verdict;
}

static enum vc_verdict end(struct vc_run *run)
{
	enum vc_verdict verdict = VC_RIGHT;

	run->is_flushing = true;
	for (uint32_t q = 0; q < run->program->qp_count && verdict == VC_RIGHT; q++)
		verdict = vc_endpoint_move(run->endpoint, q, IBV_QPS_ERR, run->report);
	if (verdict == VC_RIGHT)
		verdict = await_flush(run);
	if (verdict == VC_RIGHT)
		verdict = check_last_wqe(run);
	return verdict == VC_RIGHT ? meet(run, 9) : verdict;
}

enum vc_verdict vc_open_phases_run(struct vc_run *run)
{
	enum vc_verdict verdict = meet(run, 0);

	for (uint32_t phase = 0; phase < run->program->phase_count && verdict == VC_RIGHT; phase++)
		verdict = run_phase(run, phase);
	if (verdict == VC_RIGHT)
		verdict = meet(run, 8);
	if (verdict == VC_RIGHT)
		verdict = check_limits(run);
	if (verdict == VC_RIGHT)
		verdict = check_oversize(run);
	return verdict == VC_RIGHT ? end(run) : verdict;
}
