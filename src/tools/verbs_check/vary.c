/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program may do to its queues while they are in use: give a CQ or a shared queue another
 * depth, and drain a send queue (SQD, the event, RTS again). Nothing of it may lose, repeat or
 * reorder anything, so nothing else in the checks knows about it. Drawn by each side for itself.
 */
#include <errno.h>
#include <string.h>

#include "tools/verbs_check/run.h"

enum { STREAM_VARY = 200, STEPS_MIN = 4, STEPS_MAX = 40, GROWTH_MAX = 3 };

static enum vc_verdict resize_cq(struct vc_run *run)
{
	const struct vc_side *side = &run->program->sides[run->side];
	struct vc_draw *draw = &run->vary.draw;
	uint32_t c = (uint32_t)vc_draw_below(draw, side->cq_count);
	uint32_t most = GROWTH_MAX * side->cq_depth[c];
	int error;
	int depth;

	if (most > run->program->limits->cqe_max)
		most = side->cq_depth[c];
	depth = (int)vc_draw_range(draw, side->cq_depth[c], most);
	error = ibv_resize_cq(run->endpoint->cqs[c], depth);
	if (error)
		return vc_report_wrong(run->report, "ibv_resize_cq to %d: %s", depth,
				       strerror(error));
	if (run->endpoint->cqs[c]->cqe < depth)
		return vc_report_wrong(run->report, "ibv_resize_cq to %d gave %d", depth,
				       run->endpoint->cqs[c]->cqe);
	return VC_RIGHT;
}

static enum vc_verdict resize_srq(struct vc_run *run)
{
	const struct vc_side *side = &run->program->sides[run->side];
	struct vc_draw *draw = &run->vary.draw;
	uint32_t p = (uint32_t)vc_draw_below(draw, side->pool_count);
	uint32_t depth = side->lanes[p].receive_depth;
	struct ibv_srq_attr attr = {
		.max_wr = (uint32_t)vc_draw_range(draw, depth, GROWTH_MAX * depth)};
	uint32_t asked = attr.max_wr;
	int error = ibv_modify_srq(run->endpoint->srqs[p], &attr, IBV_SRQ_MAX_WR);

	if (!error)
		error = ibv_query_srq(run->endpoint->srqs[p], &attr);
	if (error)
		return vc_report_wrong(run->report, "shared queue resized to %u: %s", asked,
				       strerror(error));
	if (attr.max_wr < asked)
		return vc_report_wrong(run->report, "shared queue resized to %u has %u", asked,
				       attr.max_wr);
	return VC_RIGHT;
}

static enum vc_verdict modify(struct vc_run *run, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = {.qp_state = state, .en_sqd_async_notify = 1};
	uint32_t q = run->vary.drain_qp;
	int error = ibv_modify_qp(run->endpoint->qps[q], &attr, IBV_QP_STATE | mask);

	if (error)
		return vc_report_wrong(run->report, "qp %u to %s: %s", q,
				       state == IBV_QPS_SQD ? "SQD" : "RTS", strerror(error));
	run->vary.is_draining = state == IBV_QPS_SQD;
	return VC_RIGHT;
}

static enum vc_verdict start_drain(struct vc_run *run)
{
	struct vc_vary *vary = &run->vary;

	vary->drain_qp = (uint32_t)vc_draw_below(&vary->draw, run->program->qp_count);
	vary->drain_seen = run->async.drained[vary->drain_qp];
	return modify(run, IBV_QPS_SQD, IBV_QP_EN_SQD_ASYNC_NOTIFY);
}

/* What the event says must be what a query says. */
static enum vc_verdict check_drained(struct vc_run *run)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {0};
	int error =
		ibv_query_qp(run->endpoint->qps[run->vary.drain_qp], &attr, IBV_QP_STATE, &init);

	if (error)
		return vc_report_wrong(run->report, "ibv_query_qp: %s", strerror(error));
	if (attr.qp_state != IBV_QPS_SQD || attr.sq_draining)
		return vc_report_wrong(run->report,
				       "qp %u after SQ_DRAINED: state %d, sq_draining %u",
				       run->vary.drain_qp, (int)attr.qp_state, attr.sq_draining);
	return VC_RIGHT;
}

/* Back, once the event has come. */
static enum vc_verdict follow_drain(struct vc_run *run)
{
	enum vc_verdict verdict = vc_async_take(run);

	if (verdict != VC_RIGHT || run->async.drained[run->vary.drain_qp] == run->vary.drain_seen)
		return verdict;
	verdict = check_drained(run);
	return verdict == VC_RIGHT ? modify(run, IBV_QPS_RTS, 0) : verdict;
}

enum vc_verdict vc_vary_step(struct vc_run *run)
{
	const struct vc_program *program = run->program;
	struct vc_vary *vary = &run->vary;

	if (run->is_flushing || program->fault != VC_FAULT_NONE)
		return VC_RIGHT;
	if (vary->is_draining)
		return follow_drain(run);
	if (vary->countdown--)
		return VC_RIGHT;
	if (!vary->draw.state[0] && !vary->draw.state[1])
		vc_draw_init(&vary->draw, program->seed, STREAM_VARY + run->side);
	vary->countdown = (uint32_t)vc_draw_range(&vary->draw, STEPS_MIN, STEPS_MAX);
	switch (vc_draw_below(&vary->draw, 3)) {
	case 0:
		if (vc_program_has(program, VC_FEATURE_RESIZE_CQ))
			return resize_cq(run);
		break;
	case 1:
		if (program->is_shared && vc_program_has(program, VC_FEATURE_RESIZE_SRQ))
			return resize_srq(run);
		break;
	default:
		/* Soft-RoCE does not go on by itself when it is moved back to RTS. */
		if (vc_program_has(program, VC_FEATURE_DRAIN) &&
		    !(program->limits->quirks[run->side] & VC_QUIRK_RXE))
			return start_drain(run);
		break;
	}
	return VC_RIGHT;
}

enum vc_verdict vc_vary_settle(struct vc_run *run)
{
	enum vc_verdict verdict;

	if (!run->vary.is_draining)
		return VC_RIGHT;
	verdict = vc_async_await(run, &run->async.drained[run->vary.drain_qp],
				 run->vary.drain_seen + 1, "SQ_DRAINED");
	return verdict == VC_RIGHT ? modify(run, IBV_QPS_RTS, 0) : verdict;
}
