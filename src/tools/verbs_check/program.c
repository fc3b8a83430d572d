/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of drawing a program that do not depend on the transport: growing lists, lengths,
 * placing memory in regions, scatter/gather lists. Memory in a region is handed out upwards with
 * small gaps; regions are settled behind each other, at drawn distances from a page boundary, when
 * their lengths are known.
 */
#include "tools/verbs_check/program.h"

#include <stdlib.h>
#include <string.h>

#include "tools/verbs_check/open_program.h"
#include "tools/verbs_check/rc_program.h"

#define PAGE_BYTES 4096u

enum { STREAM_PROGRAM = 1, STREAM_BACKGROUND = 2, STREAM_REQUEST = 16, STREAM_RECEIVE = 48 };

static void *grow(void *list, uint32_t count, uint32_t *capacity, size_t each)
{
	if (count < *capacity)
		return list;
	*capacity = *capacity ? 2 * *capacity : 64;
	list = realloc(list, *capacity * each);
	if (!list)
		abort(); /* a few hundred kilobytes: nothing sensible is left to do */
	return list;
}

void vc_program_fini(struct vc_program *program)
{
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		struct vc_side *side = &program->sides[s];

		for (uint32_t q = 0; q < VC_QP_MAX; q++) {
			free(side->lanes[q].requests);
			free(side->lanes[q].receives);
		}
		free(side->pieces);
	}
	memset(program, 0, sizeof(*program));
}

static void reset_side(struct vc_side *side)
{
	struct vc_side old = *side;

	memset(side, 0, sizeof(*side));
	side->pieces = old.pieces;
	side->piece_capacity = old.piece_capacity;
	for (uint32_t q = 0; q < VC_QP_MAX; q++) {
		side->lanes[q].requests = old.lanes[q].requests;
		side->lanes[q].request_capacity = old.lanes[q].request_capacity;
		side->lanes[q].receives = old.lanes[q].receives;
		side->lanes[q].receive_capacity = old.lanes[q].receive_capacity;
	}
}

static void draw_mrs(struct vc_program *program, struct vc_side *side)
{
	side->mr_count = (uint32_t)vc_draw_range(&program->draw, 1, 4);
	side->mr_draw_count = side->mr_count;
	for (uint32_t m = 0; m < side->mr_count; m++) {
		struct vc_mr *mr = &side->mrs[m];

		mr->skew = (uint32_t)vc_draw_below(&program->draw, PAGE_BYTES);
		if (vc_draw_chance(&program->draw, 1, 3))
			mr->skew &= ~7u;
		if (vc_draw_chance(&program->draw, 1, 2))
			mr->access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_REMOTE_READ |
				     (program->limits->atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0);
	}
}

static void draw_cqs(struct vc_program *program, struct vc_side *side)
{
	side->cq_count = (uint32_t)vc_draw_range(&program->draw, 1, VC_CQ_MAX);
	side->poll_batch = (uint32_t)vc_draw_range(&program->draw, 1, 16);
	for (uint32_t c = 0; c < side->cq_count; c++)
		side->cq_extended[c] = vc_program_has(program, VC_FEATURE_CQ_EX) &&
				       vc_draw_chance(&program->draw, 1, 2);
}

void vc_program_reset(struct vc_program *program, const struct vc_limits *limits, uint64_t seed)
{
	program->seed = seed;
	program->limits = limits;
	vc_draw_init(&program->draw, seed, STREAM_PROGRAM);
	do {
		program->transport =
			(enum vc_transport)vc_draw_below(&program->draw, VC_TRANSPORT_COUNT);
	} while (!vc_mask_has(limits->transports, program->transport));
	program->features = (uint32_t)vc_draw_u64(&program->draw) & limits->features;
	program->is_open =
		program->transport != VC_TRANSPORT_RC || vc_program_has(program, VC_FEATURE_SRQ);
	program->is_shared = false;
	program->window_type = vc_program_has(program, VC_FEATURE_WINDOW1) ? 1 : 2;
	program->qkey = (uint32_t)vc_draw_u64(&program->draw) & 0x7fffffff;
	program->group = vc_draw_u64(&program->draw);
	program->mtu =
		(enum ibv_mtu)vc_draw_range(&program->draw, limits->mtu_min, limits->mtu_max);
	program->qp_count = (uint32_t)vc_draw_range(&program->draw, 1, limits->qp_max);
	program->phase_count = 1;
	program->fault = VC_FAULT_NONE;
	program->fault_ops = 0;
	program->all_arrive = false;
	program->requester = (uint32_t)vc_draw_below(&program->draw, VC_SIDES);
	program->deregister_mr = VC_NO_INDEX;
	program->solicited = limits->events && vc_draw_chance(&program->draw, 1, 4);
	program->skipped = 0;
	program->byte_count = 0;
	program->byte_budget = 1u << 21;
	if (program->byte_budget < 2 * (uint64_t)limits->size_max)
		program->byte_budget = 2 * (uint64_t)limits->size_max;
	program->request_count = 0;
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		struct vc_side *side = &program->sides[s];

		reset_side(side);
		side->background_key = vc_mix(seed, STREAM_BACKGROUND + s);
		draw_mrs(program, side);
		draw_cqs(program, side);
	}
}

void vc_program_draw(struct vc_program *program, const struct vc_limits *limits, uint64_t seed)
{
	vc_program_reset(program, limits, seed);
	if (limits->fault_every && seed % limits->fault_every == limits->fault_every - 1 &&
	    vc_mask_has(limits->transports, VC_TRANSPORT_RC)) {
		program->transport = VC_TRANSPORT_RC;
		program->is_open = false;
		vc_rc_fault_program_draw(program);
	} else if (program->is_open) {
		vc_open_program_draw(program);
	} else {
		vc_rc_program_draw(program);
	}
	vc_program_settle(program);
}

struct vc_request *vc_program_add_request(struct vc_program *program, uint32_t side, uint32_t qp)
{
	struct vc_lane *lane = &program->sides[side].lanes[qp];
	struct vc_request *request;

	lane->requests = grow(lane->requests, lane->request_count, &lane->request_capacity,
			      sizeof(*lane->requests));
	request = &lane->requests[lane->request_count];
	memset(request, 0, sizeof(*request));
	request->payload_key =
		vc_mix(program->seed, vc_request_wr_id(program, side, qp, lane->request_count));
	request->window = VC_NO_INDEX;
	request->receive = VC_NO_INDEX;
	lane->request_count++;
	program->request_count++;
	return request;
}

struct vc_receive *vc_program_add_receive(struct vc_program *program, uint32_t side, uint32_t qp)
{
	struct vc_lane *lane = &program->sides[side].lanes[qp];
	struct vc_receive *receive;

	lane->receives = grow(lane->receives, lane->receive_count, &lane->receive_capacity,
			      sizeof(*lane->receives));
	receive = &lane->receives[lane->receive_count++];
	memset(receive, 0, sizeof(*receive));
	receive->request = VC_NO_INDEX;
	return receive;
}

uint32_t vc_program_draw_mr(struct vc_program *program, uint32_t side)
{
	return (uint32_t)vc_draw_below(&program->draw, program->sides[side].mr_draw_count);
}

struct vc_piece vc_program_place(struct vc_program *program, uint32_t side, uint32_t mr,
				 uint32_t length, uint32_t align, uint32_t access)
{
	struct vc_mr *region = &program->sides[side].mrs[mr];
	uint64_t gap = vc_draw_chance(&program->draw, 1, 4) ? 0 : vc_draw_below(&program->draw, 17);
	struct vc_piece piece = {.mr = mr, .length = length};

	piece.offset = region->length + gap;
	while ((region->skew + piece.offset) % align != 0)
		piece.offset++;
	region->length = piece.offset + length;
	if (!region->fixed)
		region->access |= access;
	return piece;
}

void vc_program_add_piece(struct vc_program *program, uint32_t s, struct vc_piece piece)
{
	struct vc_side *side = &program->sides[s];

	side->pieces =
		grow(side->pieces, side->piece_count, &side->piece_capacity, sizeof(*side->pieces));
	side->pieces[side->piece_count++] = piece;
}

uint32_t vc_program_add_mr(struct vc_program *program, uint32_t s, uint32_t access, uint32_t pd)
{
	struct vc_side *side = &program->sides[s];
	struct vc_mr *mr = &side->mrs[side->mr_count++];

	*mr = (struct vc_mr){.access = access, .pd = pd, .fixed = true};
	mr->skew = (uint32_t)vc_draw_below(&program->draw, PAGE_BYTES);
	return side->mr_count - 1;
}

uint32_t vc_program_scatter(struct vc_program *program, uint32_t side, uint32_t length,
			    uint32_t sge_max, uint32_t access, uint32_t *out_first)
{
	struct vc_draw *draw = &program->draw;
	uint32_t count = 1;
	uint32_t left = length;

	*out_first = program->sides[side].piece_count;
	if (vc_draw_chance(draw, 1, 2))
		count = (uint32_t)vc_draw_range(draw, 1, sge_max);
	if (length == 0 && vc_draw_chance(draw, 1, 2))
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t part = left;
		uint32_t mr;

		if (i + 1 < count) {
			/* Even shares on average; one in eight is empty. */
			uint64_t share = 2 * (uint64_t)left / (count - i) + 1;

			part = (uint32_t)vc_draw_below(draw,
						       share < left ? share + 1 : left + 1ULL);
			if (vc_draw_chance(draw, 1, 8))
				part = 0;
		}
		mr = vc_program_draw_mr(program, side);
		vc_program_add_piece(program, side,
				     vc_program_place(program, side, mr, part, 1, access));
		left -= part;
	}
	return count;
}

static uint32_t draw_length_up_to(struct vc_draw *draw, uint64_t max)
{
	unsigned int bits = 0;

	while (max >> (bits + 1))
		bits++;
	/* Each power of two equally likely. */
	return (uint32_t)vc_draw_below(draw, (max >> vc_draw_below(draw, bits + 1)) + 1);
}

/* A multiple of the MTU, or one byte less or more. */
static uint64_t draw_near_mtu(struct vc_draw *draw, uint64_t mtu)
{
	uint64_t packets = vc_draw_range(draw, 1, vc_draw_chance(draw, 1, 5) ? 12 : 3);

	return packets * mtu + vc_draw_below(draw, 3) - 1;
}

uint32_t vc_program_draw_length(struct vc_program *program)
{
	struct vc_draw *draw = &program->draw;
	uint64_t max = program->limits->size_max;
	uint64_t kind = vc_draw_below(draw, 100);
	uint64_t length;

	if (kind < 7)
		length = 0;
	else if (kind < 13)
		length = 1;
	else if (kind < 45)
		length = vc_draw_range(draw, 2, 300);
	else if (kind < 85)
		length = draw_near_mtu(draw, vc_mtu_bytes(program->mtu));
	else if (kind < 97)
		length = vc_draw_below(draw, 32768);
	else if (kind < 99)
		length = draw_length_up_to(draw, max);
	else
		length = max - vc_draw_below(draw, max < 64 ? max + 1 : 64);
	if (length > max)
		length = vc_draw_below(draw, max + 1);
	if (length > program->byte_budget)
		length = vc_draw_below(draw, 64) % (max + 1);
	program->byte_budget -= length < program->byte_budget ? length : program->byte_budget;
	return (uint32_t)length;
}

static void count_bytes(struct vc_program *program)
{
	program->byte_count = 0;
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		for (uint32_t q = 0; q < program->qp_count; q++) {
			const struct vc_lane *lane = &program->sides[s].lanes[q];

			for (uint32_t i = 0; i < lane->request_count; i++)
				if (lane->requests[i].status == IBV_WC_SUCCESS)
					program->byte_count += lane->requests[i].length;
		}
	}
}

/* Inline data comes from the program's memory; the others need not know of windows. */
static void find_plain_ones(struct vc_program *program, struct vc_side *side)
{
	for (uint32_t q = 0; q < program->qp_count; q++) {
		const struct vc_lane *lane = &side->lanes[q];

		for (uint32_t w = 0; w < lane->window_count; w++)
			side->mrs[lane->windows[w].mr].is_plain = true;
		for (uint32_t i = 0; i < lane->request_count; i++) {
			const struct vc_request *request = &lane->requests[i];

			if (!(request->flags & VC_INLINE) && request->op != VC_OP_ATOMIC_WRITE)
				continue;
			for (uint32_t k = 0; k < request->piece_count; k++)
				side->mrs[side->pieces[request->piece_first + k].mr].is_plain =
					true;
		}
	}
}

static void draw_kind(struct vc_program *program, struct vc_mr *mr)
{
	static const struct {
		enum vc_mr_kind kind;
		enum vc_feature feature;
	} choices[] = {
		{VC_MR_REREG, VC_FEATURE_REREG},
		{VC_MR_ODP, VC_FEATURE_ODP},
		{VC_MR_IMPLICIT, VC_FEATURE_IMPLICIT},
		{VC_MR_DM, VC_FEATURE_DM},
	};
	uint64_t choice = vc_draw_below(&program->draw, 8);

	if (choice >= sizeof(choices) / sizeof(choices[0]) || mr->is_plain || mr->fixed ||
	    !vc_program_has(program, choices[choice].feature))
		return;
	/* A device need not page for what comes by UC. */
	if (program->transport == VC_TRANSPORT_UC && choices[choice].kind != VC_MR_REREG &&
	    choices[choice].kind != VC_MR_DM)
		return;
	/* Its addresses begin at 0, and cells for atomics must stay aligned. */
	if (choices[choice].kind == VC_MR_DM &&
	    (mr->length > program->limits->dm_max / 16 || mr->skew % 8 ||
	     program->transport == VC_TRANSPORT_UD))
		return;
	mr->kind = choices[choice].kind;
}

void vc_program_settle(struct vc_program *program)
{
	count_bytes(program);
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		struct vc_side *side = &program->sides[s];
		uint64_t at = PAGE_BYTES;

		find_plain_ones(program, side);
		for (uint32_t m = 0; m < side->mr_count; m++) {
			struct vc_mr *mr = &side->mrs[m];

			if (!mr->fixed)
				mr->length += vc_draw_range(&program->draw, 1, 64);
			/* A remote right to change memory needs the local one. */
			if (mr->access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC))
				mr->access |= IBV_ACCESS_LOCAL_WRITE;
			draw_kind(program, mr);
			mr->base = at + mr->skew;
			at = mr->base + mr->length + 64;
			at = (at + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
		}
		side->memory_bytes = at;
	}
}

uint64_t vc_request_wr_id(const struct vc_program *program, uint32_t side, uint32_t qp,
			  uint32_t index)
{
	return vc_mix(vc_mix(program->seed, STREAM_REQUEST + side * VC_QP_MAX + qp), index);
}

uint64_t vc_receive_wr_id(const struct vc_program *program, uint32_t side, uint32_t qp,
			  uint32_t index)
{
	return vc_mix(vc_mix(program->seed, STREAM_RECEIVE + side * VC_QP_MAX + qp), index);
}
