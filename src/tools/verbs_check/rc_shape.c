/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shape of a seed's QPs, before any request is drawn: depths, limits and timers of both ends,
 * how they are posted to, the cells that atomics change and the memory windows. Used for all
 * transports; what a transport has no use for is left unused.
 */
#include "tools/verbs_check/rc_program.h"

#define REMOTE_ALL (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static uint32_t draw_depth(struct vc_program *program)
{
	uint32_t max = program->limits->depth_max;
	uint64_t depth = vc_draw_chance(&program->draw, 1, 4)
				 ? vc_draw_range(&program->draw, 1, 4)
				 : vc_draw_range(&program->draw, 5, 64);

	return depth > max ? max : (uint32_t)depth;
}

static uint32_t draw_psn(struct vc_draw *draw)
{
	/* One in four wraps within the seed. */
	if (vc_draw_chance(draw, 1, 4))
		return (uint32_t)(0x1000000 - vc_draw_range(draw, 1, 100));
	return (uint32_t)vc_draw_below(draw, 0x1000000);
}

static void draw_end(struct vc_program *program, uint32_t s, uint32_t qp)
{
	const struct vc_limits *limits = program->limits;
	struct vc_side *side = &program->sides[s];
	struct vc_lane *lane = &side->lanes[qp];
	struct vc_draw *draw = &program->draw;

	lane->send_depth = draw_depth(program);
	lane->receive_depth = draw_depth(program);
	lane->send_sge = (uint32_t)vc_draw_range(draw, 1, limits->sge_max);
	lane->receive_sge = (uint32_t)vc_draw_range(draw, 1, limits->sge_max);
	lane->inline_max = vc_draw_chance(draw, 1, 3)
				   ? 0
				   : (uint32_t)vc_draw_below(draw, limits->inline_max + 1ULL);
	lane->send_cq = (uint32_t)vc_draw_below(draw, side->cq_count);
	lane->receive_cq = (uint32_t)vc_draw_below(draw, side->cq_count);
	lane->psn = draw_psn(draw);
	lane->rd_atomic = (uint32_t)vc_draw_range(draw, 1, limits->rd_atomic_max);
	lane->min_rnr_timer = (uint32_t)vc_draw_range(draw, 1, 8);
	lane->timeout = program->limits->timeout;
	lane->retry_cnt = 7;
	lane->rnr_retry = 7;
	lane->access = REMOTE_ALL | (limits->atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0);
	lane->prepost = (uint32_t)vc_draw_below(draw, lane->receive_depth + 1ULL);
	lane->pool = qp;
	lane->signal_all = vc_draw_chance(draw, 1, 4);
	lane->builder = vc_program_has(program, VC_FEATURE_WR) && vc_draw_chance(draw, 1, 2);
}

void vc_rc_lane_draw(struct vc_program *program, uint32_t qp)
{
	for (uint32_t s = 0; s < VC_SIDES; s++)
		draw_end(program, s, qp);
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		struct vc_lane *lane = &program->sides[s].lanes[qp];

		lane->dest_rd_atomic = (uint32_t)vc_draw_range(
			&program->draw, program->sides[!s].lanes[qp].rd_atomic,
			program->limits->rd_atomic_max);
	}
}

void vc_rc_cq_depths_draw(struct vc_program *program)
{
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		struct vc_side *side = &program->sides[s];

		for (uint32_t c = 0; c < side->cq_count; c++)
			side->cq_depth[c] = (uint32_t)vc_draw_range(&program->draw, 1, 8);
		/* All that a shared queue holds may complete by one QP; XRC by the queue's. */
		for (uint32_t q = 0; q < program->qp_count; q++) {
			struct vc_lane *pool = &side->lanes[side->lanes[q].pool];

			side->cq_depth[side->lanes[q].send_cq] += side->lanes[q].send_depth;
			side->cq_depth[side->lanes[q].receive_cq] += pool->receive_depth;
		}
		for (uint32_t c = 0; c < side->cq_count; c++)
			if (side->cq_depth[c] > program->limits->cqe_max)
				side->cq_depth[c] = program->limits->cqe_max;
	}
}

static void add_cell(struct vc_program *program, uint32_t s, uint32_t qp)
{
	struct vc_side *side = &program->sides[s];
	struct vc_cell *cell = &side->cells[side->cell_count++];
	uint32_t mr = vc_program_draw_mr(program, s);

	cell->at = vc_program_place(program, s, mr, 8, 8,
				    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	cell->initial = vc_draw_u64(&program->draw);
	cell->value = cell->initial;
	cell->qp = qp;
}

void vc_rc_cells_draw(struct vc_program *program, uint32_t s, uint32_t qp)
{
	uint32_t count = (uint32_t)vc_draw_range(&program->draw, 1, VC_CELL_MAX - 1);

	if (!program->limits->atomics)
		return;
	for (uint32_t i = 0; i < count; i++)
		add_cell(program, s, qp);
}

void vc_rc_windows_draw(struct vc_program *program, uint32_t s, uint32_t qp, uint32_t count)
{
	struct vc_lane *lane = &program->sides[s].lanes[qp];

	for (uint32_t w = 0; w < count; w++) {
		uint32_t mr = vc_program_draw_mr(program, s);
		uint32_t length = (uint32_t)vc_draw_range(&program->draw, 1, 6000);

		lane->windows[w] = vc_program_place(program, s, mr, length, 1,
						    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	}
	lane->window_count = count;
	lane->window_live = count;
}

void vc_rc_shapes_draw(struct vc_program *program)
{
	const struct vc_limits *limits = program->limits;
	bool windows = program->transport == VC_TRANSPORT_RC &&
		       (program->window_type == 1 ||
			(limits->windows && (limits->op_mask & (1u << VC_OP_SEND_INV))));
	struct vc_draw *draw = &program->draw;

	for (uint32_t s = 0; s < VC_SIDES; s++) {
		if (limits->atomics)
			add_cell(program, s, VC_NO_INDEX);
		if (vc_draw_chance(draw, 1, 6))
			program->sides[s].late_us = (uint32_t)vc_draw_range(draw, 1, 200);
	}
	for (uint32_t q = 0; q < program->qp_count; q++) {
		vc_rc_lane_draw(program, q);
		for (uint32_t s = 0; s < VC_SIDES; s++) {
			vc_rc_cells_draw(program, s, q);
			if (windows)
				vc_rc_windows_draw(
					program, s, q,
					(uint32_t)vc_draw_below(draw, VC_WINDOW_MAX + 1));
		}
	}
}
