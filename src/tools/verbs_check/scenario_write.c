/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests with their memory and receives, put where a plan wants them. Region 0 of each side holds
 * everything and begins at a page, so that an offset tells how an address lies in its page. On
 * transports whose messages find their receives as they come, the receives are in the order of the
 * messages all the same: nothing is lost between two idle hosts, and a scenario asks for all.
 */
#include "tools/verbs_check/scenario_write.h"

#include "tools/verbs_check/open_program.h"
#include "tools/verbs_check/rc_program.h"

#define PAGE_BYTES 4096u
#define ACCESS_ALL (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

enum {
	LISTS_MAX = 16,
	INLINE_MAX = 256,
	RNR_TIMER = 20, /* 10.24 ms: more than a busy machine needs to answer at once */
	GAP_MAX = 7,
};

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void begin_lane(struct vc_program *program, uint32_t s, uint32_t q)
{
	const struct vc_limits *limits = program->limits;

	program->sides[s].lanes[q] = (struct vc_lane){
		.requests = program->sides[s].lanes[q].requests,
		.request_capacity = program->sides[s].lanes[q].request_capacity,
		.receives = program->sides[s].lanes[q].receives,
		.receive_capacity = program->sides[s].lanes[q].receive_capacity,
		.send_depth = limits->depth_max,
		.send_sge = least(limits->sge_max, LISTS_MAX),
		.receive_sge = least(program->is_shared ? limits->srq_sge_max : limits->sge_max,
				     LISTS_MAX),
		.inline_max = least(limits->inline_max, INLINE_MAX),
		.send_cq = 0,
		.receive_cq = 1,
		.psn = (uint32_t)vc_draw_below(&program->draw, 0x800000),
		.rd_atomic = limits->rd_atomic_max,
		.dest_rd_atomic = limits->rd_atomic_max,
		.min_rnr_timer = RNR_TIMER,
		.timeout = limits->timeout,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.access = ACCESS_ALL | (limits->atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0),
		.pool = program->is_shared ? 0 : q,
	};
}

void vc_scenario_begin(struct vc_program *program, const struct vc_scenario *scenario,
		       uint32_t qp_count)
{
	const struct vc_limits *limits = program->limits;

	program->qp_count = qp_count;
	program->is_shared = vc_mask_has(scenario->features, VC_FEATURE_SRQ);
	program->is_open = program->transport != VC_TRANSPORT_RC || program->is_shared;
	program->phase_count = 1;
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		struct vc_side *side = &program->sides[s];

		side->mr_count = 1;
		side->mr_draw_count = 1;
		side->mrs[0] = (struct vc_mr){
			.access = ACCESS_ALL | (limits->atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0),
			.is_plain = true};
		side->cq_count = 2;
		side->poll_batch = 16;
		side->pool_count = program->is_shared ? 1 : qp_count;
		for (uint32_t c = 0; c < VC_CQ_MAX; c++)
			side->cq_extended[c] = false;
		for (uint32_t q = 0; q < qp_count; q++)
			begin_lane(program, s, q);
	}
}

static struct vc_piece place(struct vc_program *program, uint32_t side, uint32_t length, int at)
{
	struct vc_mr *region = &program->sides[side].mrs[0];
	struct vc_piece piece = {.mr = 0, .length = length, .offset = region->length + GAP_MAX};

	if (at == VC_ANYWHERE)
		piece.offset = (piece.offset + 7) / 8 * 8;
	else
		piece.offset +=
			((uint32_t)at + PAGE_BYTES - piece.offset % PAGE_BYTES) % PAGE_BYTES;
	region->length = piece.offset + length;
	return piece;
}

/* The first piece lies where the form says, the others at odd distances; the second of many is
 * empty. */
static uint32_t place_list(struct vc_program *program, uint32_t side, uint32_t length,
			   uint32_t count, int at, uint32_t *out_first)
{
	struct vc_mr *region = &program->sides[side].mrs[0];
	uint32_t share = length / count + 1;
	uint32_t left = length;

	*out_first = program->sides[side].piece_count;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t part = i + 1 == count ? left : least(share, left);
		struct vc_piece piece;

		if (count > 2 && i == 1)
			part = 0;
		if (i == 0) {
			piece = place(program, side, part, at);
		} else {
			piece = (struct vc_piece){.offset = region->length + 1 + i % GAP_MAX,
						  .length = part};
			region->length = piece.offset + part;
		}
		vc_program_add_piece(program, side, piece);
		left -= part;
	}
	return count;
}

static void add_receive(struct vc_program *program, uint32_t side, uint32_t qp,
			struct vc_request *request, const struct vc_form *form)
{
	uint32_t other = !side;
	uint32_t pool = program->sides[other].lanes[qp].pool;
	struct vc_lane *lane = &program->sides[other].lanes[pool];
	struct vc_receive *receive = vc_program_add_receive(program, other, pool);
	uint32_t count = form->pieces ? least(form->pieces, lane->receive_sge) : 1;

	if (!program->is_open) {
		request->receive = lane->receive_count - 1;
		receive->request = program->sides[side].lanes[qp].request_count - 1;
	}
	receive->capacity = vc_op_is_send(request->op) ? request->length : 0;
	if (program->transport == VC_TRANSPORT_UD)
		receive->capacity += VC_GRH_BYTES;
	receive->piece_count = place_list(program, other, receive->capacity, count, form->local_at,
					  &receive->piece_first);
}

static struct vc_cell *find_cell(struct vc_program *program, uint32_t s, uint32_t qp)
{
	struct vc_side *side = &program->sides[s];
	struct vc_cell *cell;

	for (uint32_t c = 0; c < side->cell_count; c++)
		if (side->cells[c].qp == qp)
			return &side->cells[c];
	cell = &side->cells[side->cell_count++];
	cell->at = place(program, s, 8, VC_ANYWHERE);
	cell->initial = vc_draw_u64(&program->draw);
	cell->value = cell->initial;
	cell->qp = qp;
	return cell;
}

/* Every second compare-and-swap finds another value than it compares with. */
static void build_atomic(struct vc_program *program, uint32_t side, uint32_t qp,
			 struct vc_request *request)
{
	struct vc_cell *cell = find_cell(program, !side, qp);
	uint32_t index = program->sides[side].lanes[qp].request_count;

	request->length = 8;
	request->remote = cell->at;
	request->original = cell->value;
	request->compare_add = cell->value;
	request->swap = vc_draw_u64(&program->draw);
	if (request->op == VC_OP_FETCH_ADD) {
		request->compare_add = request->swap;
		cell->value += request->compare_add;
	} else if (index % 2) {
		request->compare_add ^= 1ull << index % 64;
	} else {
		cell->value = request->swap;
	}
}

static void build_target(struct vc_program *program, uint32_t side, uint32_t qp,
			 struct vc_request *request, const struct vc_form *form)
{
	struct vc_lane *peer = &program->sides[!side].lanes[qp];

	if (!form->by_window) {
		request->remote = place(program, !side, request->length, form->remote_at);
		return;
	}
	request->window = 0;
	request->remote = peer->windows[0];
	request->remote.offset += peer->window_used[0];
	request->remote.length = request->length;
	peer->window_used[0] += request->length;
}

static uint32_t list_length(const struct vc_program *program, const struct vc_lane *lane,
			    const struct vc_request *request, const struct vc_form *form)
{
	uint32_t count = form->pieces ? least(form->pieces, lane->send_sge) : 1;

	if (vc_op_is_atomic(request->op))
		return 1;
	return request->op == VC_OP_READ ? least(count, program->limits->sge_read_max) : count;
}

struct vc_request *vc_scenario_add(struct vc_program *program, uint32_t side, uint32_t qp,
				   enum vc_op op, uint32_t length, const struct vc_form *form)
{
	struct vc_lane *lane = &program->sides[side].lanes[qp];
	struct vc_request *request = vc_program_add_request(program, side, qp);

	request->op = op;
	request->length = op == VC_OP_ATOMIC_WRITE ? 8 : length;
	request->imm = (uint32_t)vc_draw_u64(&program->draw);
	request->to = qp;
	request->flags = form->flags | (form->is_silent ? 0 : VC_SIGNALED);
	request->completes = !form->is_silent;
	if (vc_op_is_atomic(op))
		build_atomic(program, side, qp, request);
	else if (op == VC_OP_ATOMIC_WRITE)
		request->remote = place(program, !side, 8, VC_ANYWHERE);
	else if (!vc_op_is_send(op))
		build_target(program, side, qp, request, form);
	request->piece_count = place_list(program, side, request->length,
					  list_length(program, lane, request, form), form->local_at,
					  &request->piece_first);
	if (op == VC_OP_SEND_INV)
		request->window = --program->sides[!side].lanes[qp].window_live;
	if (vc_op_takes_receive(op) && !(form->flags & VC_LOST))
		add_receive(program, side, qp, request, form);
	for (uint32_t q = 0; (form->flags & VC_MULTICAST) && q < program->qp_count; q++)
		if (q != qp) /* its copy for another member */
			add_receive(program, side, q, request, form);
	return request;
}

struct vc_request *vc_scenario_forward(struct vc_program *program, uint32_t qp, enum vc_op op,
				       uint32_t read)
{
	struct vc_lane *lane = &program->sides[VC_CLIENT].lanes[qp];
	struct vc_form form = VC_FORM_PLAIN;
	uint32_t length = lane->requests[read].length;
	struct vc_request *request;

	form.flags = VC_FORWARD | VC_FENCE;
	request = vc_scenario_add(program, VC_CLIENT, qp, op, length, &form);
	request->payload_key = lane->requests[read].payload_key;
	request->payload_offset = lane->requests[read].payload_offset;
	request->piece_first = lane->requests[read].piece_first;
	request->piece_count = lane->requests[read].piece_count;
	return request;
}

void vc_scenario_open_window(struct vc_program *program, uint32_t side, uint32_t qp,
			     uint32_t length)
{
	struct vc_lane *lane = &program->sides[side].lanes[qp];

	program->sides[side].mrs[0].access |= IBV_ACCESS_MW_BIND;
	lane->windows[lane->window_count++] = place(program, side, length, VC_ANYWHERE);
	lane->window_live = lane->window_count;
}

void vc_scenario_close_phase(struct vc_program *program, uint32_t phase)
{
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		for (uint32_t q = 0; q < program->qp_count; q++) {
			struct vc_lane *lane = &program->sides[s].lanes[q];

			lane->phases[phase] =
				(struct vc_phase){lane->request_count, lane->request_count,
						  lane->receive_count, lane->receive_count};
		}
	}
	program->phase_count = phase + 1;
}

void vc_scenario_finish(struct vc_program *program)
{
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		struct vc_side *side = &program->sides[s];

		for (uint32_t q = 0; q < program->qp_count; q++) {
			struct vc_lane *lane = &side->lanes[q];

			lane->receive_depth = lane->receive_count ? lane->receive_count : 1;
			lane->prepost = side->late_us ? 0 : lane->receive_count;
		}
	}
	vc_rc_cq_depths_draw(program);
}

uint32_t vc_scenario_sizes(const struct vc_program *program, uint32_t sizes[VC_SIZES_MAX])
{
	uint32_t mtu = vc_mtu_bytes(program->mtu);
	uint32_t max = program->limits->size_max;
	const uint32_t wanted[] = {1,	2,	 3,	  4,	       100,  mtu - 1,
				   mtu, mtu + 1, 2 * mtu, 3 * mtu + 7, 65537};
	uint32_t count = 0;

	if (program->transport == VC_TRANSPORT_UD)
		max = mtu;
	else if (program->transport == VC_TRANSPORT_UC)
		max = 4 * mtu; /* a socket's buffer holds all of them */
	for (uint32_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (wanted[i] <= max && wanted[i] <= program->limits->size_max)
			sizes[count++] = wanted[i];
	return count;
}
