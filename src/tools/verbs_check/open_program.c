/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests are drawn as for RC, without receives; then each pool (a QP's receive queue or a shared
 * one) gets as many receives as messages may come to it, each long enough for any of them. The
 * runner assigns messages to receives as they come (arrival.c).
 */
#include "tools/verbs_check/open_program.h"

#include <string.h>

#include "tools/verbs_check/rc_program.h"

#define OP_BIT(op) (1u << (op))
#define OPS_UD	   (OP_BIT(VC_OP_SEND) | OP_BIT(VC_OP_SEND_IMM))
#define OPS_UC	   (OPS_UD | OP_BIT(VC_OP_WRITE) | OP_BIT(VC_OP_WRITE_IMM))
#define OPS_ALL	   (OP_BIT(VC_OP_COUNT) - 1)

enum { SEND_MAX = 16384, REPLIES_MAX = 2, SHARED_DEPTH_MIN = 8, LOSSY_DEPTH_MIN = 24 };

static uint32_t ops_of(enum vc_transport transport)
{
	switch (transport) {
	case VC_TRANSPORT_UC:
		return OPS_UC;
	case VC_TRANSPORT_UD:
		return OPS_UD;
	case VC_TRANSPORT_XRC: /* no windows: the key that a SEND ends is bound to a QP */
		return OPS_ALL & ~OP_BIT(VC_OP_SEND_INV);
	case VC_TRANSPORT_RC:
	case VC_TRANSPORT_COUNT:
		break;
	}
	return OPS_ALL;
}

static uint32_t ops_wanted(const struct vc_program *program)
{
	uint32_t mask = ops_of(program->transport) & program->limits->op_mask;

	return mask ? mask : OP_BIT(VC_OP_SEND);
}

/* ---- shape ---- */

static void draw_pools(struct vc_program *program, uint32_t s)
{
	struct vc_side *side = &program->sides[s];
	struct vc_draw *draw = &program->draw;
	uint32_t most = program->qp_count < 3 ? program->qp_count : 3;

	side->pool_count = program->qp_count;
	if (!program->is_shared)
		return;
	side->pool_count = (uint32_t)vc_draw_range(draw, 1, most);
	for (uint32_t q = 0; q < program->qp_count; q++)
		side->lanes[q].pool = (uint32_t)vc_draw_below(draw, side->pool_count);
	for (uint32_t p = 0; p < side->pool_count; p++) {
		struct vc_lane *pool = &side->lanes[p];

		/* XRC: completions of a queue come to its own CQ, so each must have one. */
		if (program->transport == VC_TRANSPORT_XRC)
			pool->pool = p;
		if (pool->receive_depth < SHARED_DEPTH_MIN)
			pool->receive_depth = SHARED_DEPTH_MIN;
		if (pool->receive_sge > program->limits->srq_sge_max)
			pool->receive_sge = program->limits->srq_sge_max;
	}
}

static void draw_shape(struct vc_program *program)
{
	program->is_shared =
		program->transport == VC_TRANSPORT_XRC || vc_program_has(program, VC_FEATURE_SRQ);
	program->solicited = false;
	vc_rc_shapes_draw(program);
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		struct vc_side *side = &program->sides[s];

		draw_pools(program, s);
		/* On a receiver that is late unreliable messages are lost, no more. */
		if (!vc_program_is_reliable(program))
			side->late_us = 0;
		for (uint32_t q = 0; q < program->qp_count; q++) {
			struct vc_lane *lane = &side->lanes[q];

			lane->attached = vc_program_has(program, VC_FEATURE_MULTICAST) &&
					 vc_draw_chance(&program->draw, 1, 2);
			/* An unreliable lane needs receives in place, or nothing comes. */
			if (vc_program_is_reliable(program))
				continue;
			if (lane->receive_depth < LOSSY_DEPTH_MIN)
				lane->receive_depth = LOSSY_DEPTH_MIN;
			lane->prepost = lane->receive_depth;
		}
	}
}

/* ---- requests ---- */

static uint32_t draw_length(struct vc_program *program, enum vc_op op)
{
	uint32_t length = vc_program_draw_length(program);
	uint32_t mtu = vc_mtu_bytes(program->mtu);

	if (program->transport == VC_TRANSPORT_UD && length > mtu)
		return vc_draw_chance(&program->draw, 1, 3) ? mtu : length % (mtu + 1);
	if (vc_op_is_send(op) && length > SEND_MAX)
		return length % (SEND_MAX + 1);
	return length;
}

static void aim(struct vc_program *program, uint32_t side, struct vc_request *request)
{
	struct vc_draw *draw = &program->draw;

	if (program->transport == VC_TRANSPORT_XRC)
		request->to = (uint32_t)vc_draw_below(draw, program->sides[!side].pool_count);
	if (program->transport != VC_TRANSPORT_UD)
		return;
	request->to = (uint32_t)vc_draw_below(draw, program->qp_count);
	if (vc_program_has(program, VC_FEATURE_BAD_QKEY) && vc_draw_chance(draw, 1, 16))
		request->flags |= VC_BAD_QKEY;
	else if (vc_program_has(program, VC_FEATURE_MULTICAST) && vc_draw_chance(draw, 1, 6))
		request->flags |= VC_MULTICAST;
}

static void add_requests(struct vc_program *program)
{
	uint32_t count = program->limits->ops;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t side = (uint32_t)vc_draw_below(&program->draw, VC_SIDES);
		uint32_t qp = (uint32_t)vc_draw_below(&program->draw, program->qp_count);
		enum vc_op op = vc_rc_op_draw(program, ops_wanted(program));
		uint32_t length = draw_length(program, op);

		aim(program, side, vc_rc_request_add(program, side, qp, op, length));
	}
	for (uint32_t q = 0; q < program->qp_count; q++)
		for (uint32_t s = 0; s < VC_SIDES; s++)
			aim(program, s, vc_rc_last_add(program, s, q));
}

static void add_replies(struct vc_program *program)
{
	if (program->transport != VC_TRANSPORT_UD || !vc_program_has(program, VC_FEATURE_REPLY))
		return;
	for (uint32_t q = 0; q < program->qp_count; q++) {
		for (uint32_t s = 0; s < VC_SIDES; s++) {
			uint32_t count = (uint32_t)vc_draw_range(&program->draw, 1, REPLIES_MAX);

			for (uint32_t i = 0; i < count; i++) {
				struct vc_request *reply = vc_rc_last_add(program, s, q);

				reply->to = q;
				reply->flags |= VC_REPLY;
			}
		}
	}
	program->phase_count = 2;
}

bool vc_open_is_for(const struct vc_program *program, uint32_t from,
		    const struct vc_request *request, uint32_t lane, uint32_t at, uint32_t to)
{
	if (!vc_op_takes_receive(request->op) || (request->flags & (VC_BAD_QKEY | VC_LOST)))
		return false;
	if (request->flags & VC_MULTICAST)
		return program->sides[at].lanes[to].attached;
	if (from == at)
		return false;
	if (program->transport == VC_TRANSPORT_UD)
		return (request->flags & VC_REPLY) || request->to == to;
	return program->transport == VC_TRANSPORT_XRC ? request->to == to : lane == to;
}

/* ---- receives ---- */

struct demand {
	uint32_t count;
	uint32_t length; /* of the longest */
};

/* What may come to a pool; `to` are the QPs that take from it, or the queue itself. */
static void count_lane(const struct vc_program *program, uint32_t from, uint32_t lane, uint32_t at,
		       uint32_t to, struct demand *demand)
{
	const struct vc_lane *sender = &program->sides[from].lanes[lane];

	for (uint32_t i = 0; i < sender->request_count; i++) {
		const struct vc_request *request = &sender->requests[i];

		if (!vc_open_is_for(program, from, request, lane, at, to))
			continue;
		demand->count++;
		if (vc_op_is_send(request->op) && request->length > demand->length)
			demand->length = request->length;
	}
}

static struct demand count_pool(const struct vc_program *program, uint32_t at, uint32_t pool)
{
	struct demand demand = {0};

	for (uint32_t to = 0; to < program->qp_count; to++) {
		bool takes = program->transport == VC_TRANSPORT_XRC
				     ? to == pool
				     : program->sides[at].lanes[to].pool == pool;

		for (uint32_t from = 0; takes && from < VC_SIDES; from++)
			for (uint32_t q = 0; q < program->qp_count; q++)
				count_lane(program, from, q, at, to, &demand);
	}
	return demand;
}

static void add_receives(struct vc_program *program, uint32_t side, uint32_t pool)
{
	struct demand demand = count_pool(program, side, pool);
	struct vc_lane *lane = &program->sides[side].lanes[pool];
	uint32_t extra = program->transport == VC_TRANSPORT_UD ? VC_GRH_BYTES : 0;

	if (!vc_program_is_reliable(program))
		demand.count += (uint32_t)vc_draw_below(&program->draw, 4);
	for (uint32_t i = 0; i < demand.count; i++) {
		struct vc_receive *receive = vc_program_add_receive(program, side, pool);

		receive->capacity = demand.length + extra;
		if (vc_draw_chance(&program->draw, 1, 2))
			receive->capacity += (uint32_t)vc_draw_below(&program->draw, 200);
		receive->piece_count =
			vc_program_scatter(program, side, receive->capacity, lane->receive_sge,
					   IBV_ACCESS_LOCAL_WRITE, &receive->piece_first);
	}
}

/* One event is owed when the first receive is taken: the limit is what is posted before. */
static void draw_limit(struct vc_program *program, uint32_t s, uint32_t pool)
{
	struct vc_side *side = &program->sides[s];
	struct vc_lane *lane = &side->lanes[pool];

	if (!program->is_shared || !vc_program_is_reliable(program) || !lane->receive_count ||
	    !vc_program_has(program, VC_FEATURE_SRQ_LIMIT))
		return;
	if (!lane->prepost)
		lane->prepost = 1;
	side->limits[pool] =
		lane->prepost < lane->receive_count ? lane->prepost : lane->receive_count;
}

void vc_open_program_draw(struct vc_program *program)
{
	uint32_t main_count[VC_SIDES][VC_QP_MAX];
	bool reliable = vc_program_is_reliable(program);

	draw_shape(program);
	add_requests(program);
	for (uint32_t s = 0; s < VC_SIDES; s++)
		for (uint32_t q = 0; q < program->qp_count; q++)
			main_count[s][q] = program->sides[s].lanes[q].request_count;
	add_replies(program);
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		struct vc_side *side = &program->sides[s];

		for (uint32_t p = 0; p < side->pool_count; p++) {
			add_receives(program, s, p);
			draw_limit(program, s, p);
		}
		for (uint32_t q = 0; q < program->qp_count; q++) {
			struct vc_lane *lane = &side->lanes[q];
			uint32_t await = reliable ? lane->receive_count : 0;

			lane->phases[VC_PHASE_MAIN] = (struct vc_phase){
				main_count[s][q], main_count[s][q], lane->receive_count, await};
			lane->phases[VC_PHASE_REPLY] =
				(struct vc_phase){lane->request_count, lane->request_count,
						  lane->receive_count, await};
		}
	}
	vc_rc_cq_depths_draw(program);
}
