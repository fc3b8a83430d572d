/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a flow's bytes lie. What a request means for memory must not depend on time: a WRITE or
 * atomic that touches what an earlier READ reads is fenced, and so is a request that sends what an
 * earlier READ fetched.
 */
#include "plan_draw.h"

/* ---- memory ---- */

static size_t take(struct draw *d, size_t *cursor, size_t length)
{
	size_t at = *cursor;

	*cursor += length + between(d, GAP_MIN, 80);
	return at;
}

static uint32_t recv_capacity(struct draw *d, const struct sim_flow_plan *flow, uint32_t i)
{
	const struct sim_op *op;

	if (flow->recvs[i].op == SIM_NO_OP)
		return below(d, 64);
	op = &flow->ops[flow->recvs[i].op];
	if (!is_send(op->opcode))
		return below(d, 64);
	if (op->defect == SIM_DEFECT_RECV_TOO_SMALL)
		return below(d, op->length);
	return op->length + (chance(d, 30) ? below(d, 64) : 0);
}

/* Cuts `length` bytes at `at` into pieces with holes between them; returns the bytes used up. */
static size_t cut(struct draw *d, struct sim_piece *pieces, uint32_t *out_count, uint32_t count_max,
		  size_t at, uint32_t length)
{
	size_t begin = at;
	uint32_t count = between(d, 1, count_max);

	if (length == 0 && chance(d, 50))
		count = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t n = i + 1 == count ? length : below(d, length + 1);

		pieces[i] = (struct sim_piece){at, n};
		length -= n;
		at += n + below(d, 9);
	}
	*out_count = count;
	return at - begin;
}

/* Sinks and landings are laid out piece by piece; the region is what they need in all. */
static void place_sinks(struct draw *d, struct sim_flow_plan *flow, uint32_t sge_max,
			size_t *cursor)
{
	size_t at = *cursor;

	flow->sink.offset = at;
	for (uint32_t i = 0; i < flow->op_count; i++) {
		struct sim_op *op = &flow->ops[i];

		if (!is_fetch(op->opcode))
			continue;
		if (is_atomic(op->opcode))
			at += below(d, 8);
		at += cut(d, op->pieces, &op->piece_count, is_atomic(op->opcode) ? 1 : sge_max, at,
			  op->length) +
		      below(d, 9);
	}
	flow->sink.length = at - flow->sink.offset + 1;
	take(d, &at, 1);
	*cursor = at;
}

static void place_landings(struct draw *d, struct sim_flow_plan *flow, uint32_t sge_max,
			   size_t *cursor)
{
	size_t at = *cursor;

	flow->landing.offset = at;
	for (uint32_t i = 0; i < flow->recv_count; i++) {
		struct sim_recv *recv = &flow->recvs[i];

		at += cut(d, recv->pieces, &recv->piece_count, sge_max, at,
			  recv_capacity(d, flow, i)) +
		      below(d, 9);
	}
	flow->landing.length = at - flow->landing.offset + 1;
	take(d, &at, 1);
	*cursor = at;
}

static void place_flow(struct draw *d, struct sim_flow_plan *flow, const struct sim_qp_caps *own,
		       const struct sim_qp_caps *peer, size_t cursors[2])
{
	uint32_t longest = 64;

	for (uint32_t i = 0; i < flow->op_count; i++)
		if (flow->ops[i].length > longest)
			longest = flow->ops[i].length;
	flow->source.length = longest + below(d, 2000);
	flow->source.offset = take(d, &cursors[flow->from], flow->source.length);
	flow->target.length = longest + below(d, 3000);
	cursors[!flow->from] = (cursors[!flow->from] + 7) & ~(size_t)7;
	flow->target.offset = take(d, &cursors[!flow->from], flow->target.length);
	place_sinks(d, flow, own->send_sge, &cursors[flow->from]);
	place_landings(d, flow, peer->recv_sge, &cursors[!flow->from]);
	flow->source.addressing = (uint8_t)below(d, 3);
	flow->sink.addressing = (uint8_t)below(d, 3);
	flow->target.addressing = (uint8_t)below(d, 3);
	flow->landing.addressing = (uint8_t)below(d, 3);
}

/* ---- where requests take from and go to ---- */

static void draw_sources(struct draw *d, struct sim_flow_plan *flow, struct sim_op *op,
			 uint32_t sge_max)
{
	uint32_t left = op->length;
	uint32_t count = between(d, 1, sge_max);

	if (left == 0 && chance(d, 50))
		count = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t n = i + 1 == count ? left : below(d, left + 1);

		op->pieces[i].length = n;
		op->pieces[i].offset = flow->source.offset +
				       roce_prng_below(&d->prng, flow->source.length - n + 1);
		left -= n;
	}
	op->piece_count = count;
}

/* Sends on what an earlier READ fetched, which a fence makes safe. */
static bool borrow_sink(struct draw *d, struct sim_flow_plan *flow, uint32_t index)
{
	struct sim_op *op = &flow->ops[index];
	const struct sim_op *earlier;

	if (index == 0 || !chance(d, 25))
		return false;
	earlier = &flow->ops[below(d, index)];
	if (!is_fetch(earlier->opcode) || earlier->length == 0 || op->length == 0 || op->defect)
		return false;
	for (uint32_t i = 0; i < earlier->piece_count; i++) {
		if (earlier->pieces[i].length < op->length)
			continue;
		op->pieces[0] = earlier->pieces[i];
		op->pieces[0].length = op->length;
		op->piece_count = 1;
		op->flags |= ROCE_SEND_FENCE;
		return true;
	}
	return false;
}

static bool is_overlap(const struct sim_op *a, const struct sim_op *b)
{
	return a->remote < b->remote + b->length && b->remote < a->remote + a->length;
}

static bool has_target(uint8_t opcode)
{
	return !is_send(opcode) && !is_local(opcode);
}

static void draw_target(struct draw *d, struct sim_flow_plan *flow, uint32_t index)
{
	struct sim_op *op = &flow->ops[index];
	size_t room = flow->target.length - op->length;

	op->remote = flow->target.offset + roce_prng_below(&d->prng, room + 1);
	if (is_word(op->opcode))
		op->remote &= ~(size_t)7; /* the target begins aligned */
	if (op->defect == SIM_DEFECT_MISALIGNED)
		op->remote = flow->target.offset + between(d, 1, 7);
	if (op->defect == SIM_DEFECT_RANGE)
		op->remote = flow->target.offset + room + 1;
	if (op->opcode == ROCE_WR_RDMA_READ)
		return;
	for (uint32_t i = index; i-- > 0;) {
		struct sim_op *earlier = &flow->ops[i];

		if (has_target(earlier->opcode) && is_overlap(earlier, op)) {
			if (earlier->opcode == ROCE_WR_RDMA_READ)
				op->flags |= ROCE_SEND_FENCE;
			else
				earlier->is_overwritten = true;
		}
	}
}

/* A compare that hits: the value of the beginning, or what the CmpSwap before has put there. */
static void draw_hit(struct draw *d, struct sim_flow_plan *flow, uint32_t index)
{
	struct sim_op *op = &flow->ops[index];
	struct sim_op *before = index ? &flow->ops[index - 1] : NULL;

	op->compare_add = sim_fill_word(!flow->from, op->remote / 8);
	if (!before || before->opcode != ROCE_WR_ATOMIC_CMP_AND_SWP || before->defect ||
	    chance(d, 50))
		return;
	/* the one before was checked against all READs, but not against this one's fence */
	op->remote = before->remote;
	op->compare_add = before->swap;
	op->flags |= ROCE_SEND_FENCE;
	before->is_overwritten = true;
}

static void draw_places(struct draw *d, struct sim_flow_plan *flow, const struct sim_qp_caps *caps)
{
	for (uint32_t i = 0; i < flow->op_count; i++) {
		struct sim_op *op = &flow->ops[i];
		bool is_borrowed = false;

		if (is_local(op->opcode))
			continue;
		if (!is_fetch(op->opcode)) {
			is_borrowed = borrow_sink(d, flow, i);
			if (!is_borrowed)
				draw_sources(d, flow, op, caps->send_sge);
		}
		if (has_target(op->opcode))
			draw_target(d, flow, i);
		if (!is_fetch(op->opcode) && !is_borrowed && op->length <= caps->inline_bytes &&
		    op->defect != SIM_DEFECT_LKEY && chance(d, 50))
			op->flags |= ROCE_SEND_INLINE;
		if (op->opcode == ROCE_WR_ATOMIC_CMP_AND_SWP && !op->defect && chance(d, 50))
			draw_hit(d, flow, i);
	}
	for (uint32_t i = 0; i < flow->recv_count; i++)
		if (flow->recvs[i].op != SIM_NO_OP &&
		    flow->ops[flow->recvs[i].op].defect == SIM_DEFECT_RECV_LKEY)
			flow->recvs[i].is_key_bad = true;
}

void draw_memory(struct draw *d, struct sim_flow_plan *flow, const struct sim_qp_caps *own,
		 const struct sim_qp_caps *peer, size_t cursors[2])
{
	place_flow(d, flow, own, peer, cursors);
	draw_places(d, flow, own);
}
