/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Seeds on reliable connected QPs in which everything succeeds: both sides send on every QP at the
 * same time, and each lane ends with a signalled SEND with immediate, whose arrival proves that the
 * WRITEs before it are in memory. Model of the atomics: a cell belongs to one QP, whose requests
 * the responder executes in order, so every returned value is known here; only the shared cell
 * (each request adds 1) returns values whose set, not order, is known.
 */
#include "tools/verbs_check/rc_program.h"

enum vc_op vc_rc_op_draw(struct vc_program *program, uint32_t op_mask)
{
	for (;;) {
		enum vc_op op = (enum vc_op)vc_draw_below(&program->draw, VC_OP_COUNT);

		if (!(op_mask & (1u << op)))
			continue;
		if ((vc_op_is_atomic(op) && !program->limits->atomics) ||
		    (op == VC_OP_ATOMIC_WRITE && !program->limits->atomic_write) ||
		    (op == VC_OP_SEND_INV && !program->limits->windows)) {
			program->skipped++;
			return VC_OP_SEND_IMM;
		}
		return op;
	}
}

/* Unsignalled requests leave the queue only with a later signalled one: one in each queue length.
 */
static bool must_signal(const struct vc_lane *lane)
{
	uint32_t run = 0;

	for (uint32_t i = lane->request_count - 1; i-- > 0 && !lane->requests[i].completes;)
		run++;
	return run + 1 >= lane->send_depth;
}

static void add_receive(struct vc_program *program, uint32_t side, uint32_t qp,
			struct vc_request *request, uint32_t request_index)
{
	uint32_t other = !side;
	struct vc_lane *lane = &program->sides[other].lanes[qp];
	struct vc_receive *receive = vc_program_add_receive(program, other, qp);
	uint32_t surplus = 0;

	request->receive = lane->receive_count - 1;
	receive->request = request_index;
	if (vc_draw_chance(&program->draw, 1, 2))
		surplus = (uint32_t)vc_draw_below(&program->draw, 200);
	receive->capacity = (vc_op_is_send(request->op) ? request->length : 0) + surplus;
	receive->piece_count =
		vc_program_scatter(program, other, receive->capacity, lane->receive_sge,
				   IBV_ACCESS_LOCAL_WRITE, &receive->piece_first);
}

/* An earlier READ whose data can be sent on; its memory stays as it is ever after. */
static const struct vc_request *find_read(const struct vc_lane *lane)
{
	uint32_t index = lane->request_count - 1;

	for (uint32_t back = 0; back < 6 && index-- > 0; back++)
		if (lane->requests[index].op == VC_OP_READ && lane->requests[index].length > 0)
			return &lane->requests[index];
	return NULL;
}

static struct vc_request *find_write(const struct vc_lane *lane)
{
	uint32_t index = lane->request_count - 1;

	for (uint32_t back = 0; back < 8 && index-- > 0; back++) {
		struct vc_request *write = &lane->requests[index];

		if (vc_op_is_write(write->op) && write->op != VC_OP_ATOMIC_WRITE &&
		    write->length > 0 && write->window == VC_NO_INDEX &&
		    !(write->flags & (VC_SUPERSEDED | VC_READ_BACK)))
			return write;
	}
	return NULL;
}

/* Soft-RoCE may sleep for ever on a fence whose last READ completes in the same moment. */
static bool can_fence(const struct vc_program *program, uint32_t side)
{
	return !(program->limits->quirks[side] & VC_QUIRK_RXE);
}

/* Memory on the other side for a WRITE or READ: a window's, or a new stretch of a region. */
static void place_remote(struct vc_program *program, uint32_t side, uint32_t qp,
			 struct vc_request *request)
{
	uint32_t other = !side;
	struct vc_lane *lane = &program->sides[other].lanes[qp];
	uint32_t access = request->op == VC_OP_READ
				  ? IBV_ACCESS_REMOTE_READ
				  : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	uint32_t mr;

	if (lane->window_live && request->op != VC_OP_ATOMIC_WRITE &&
	    vc_draw_chance(&program->draw, 1, 4) &&
	    (request->op != VC_OP_READ || can_fence(program, side))) {
		uint32_t w = lane->window_live - 1;
		const struct vc_piece *window = &lane->windows[w];

		if (window->length - lane->window_used[w] >= request->length) {
			request->window = w;
			request->remote = *window;
			request->remote.offset += lane->window_used[w];
			request->remote.length = request->length;
			lane->window_used[w] += request->length;
			return;
		}
	}
	mr = vc_program_draw_mr(program, other);
	request->remote = vc_program_place(program, other, mr, request->length,
					   request->op == VC_OP_ATOMIC_WRITE ? 8 : 1, access);
}

/*
 * Reuse of remote memory: a READ fetches what an earlier WRITE left, a WRITE overwrites it. The
 * overwritten memory must not have been read back, for a READ that is repeated after a loss would
 * fetch the new bytes.
 */
static bool reuse_remote(struct vc_program *program, uint32_t side, struct vc_lane *lane,
			 struct vc_request *request)
{
	struct vc_request *write;
	struct vc_mr *mr;

	if (!vc_draw_chance(&program->draw, 1, 5) || !vc_program_is_reliable(program))
		return false;
	write = find_write(lane);
	if (!write || request->op == VC_OP_WRITE_IMM || request->op == VC_OP_ATOMIC_WRITE)
		return false;
	request->remote = write->remote;
	if (request->op == VC_OP_READ) {
		uint64_t skip = vc_draw_below(&program->draw, write->length);

		mr = &program->sides[!side].mrs[write->remote.mr];
		mr->access |= IBV_ACCESS_REMOTE_READ;
		write->flags |= VC_READ_BACK; /* not to be overwritten any more */
		request->flags |= VC_READ_BACK;
		request->payload_key = write->payload_key;
		request->payload_offset = write->payload_offset + skip;
		request->remote.offset += skip;
		request->remote.length -= (uint32_t)skip;
	} else {
		write->flags |= VC_SUPERSEDED;
	}
	request->length = request->remote.length;
	return true;
}

static void build_atomic(struct vc_program *program, uint32_t side, uint32_t qp,
			 struct vc_request *request)
{
	struct vc_side *other = &program->sides[!side];
	struct vc_draw *draw = &program->draw;
	struct vc_cell *cell;

	do {
		cell = &other->cells[vc_draw_below(draw, other->cell_count)];
	} while (cell->qp != qp && !(cell->qp == VC_NO_INDEX && request->op == VC_OP_FETCH_ADD));
	request->remote = cell->at;
	request->length = 8;
	request->original = cell->value;
	if (cell->qp == VC_NO_INDEX) {
		request->flags |= VC_SHARED;
		request->compare_add = 1;
		cell->value++;
	} else if (request->op == VC_OP_FETCH_ADD) {
		request->compare_add = vc_draw_u64(draw);
		cell->value += request->compare_add;
	} else {
		request->swap = vc_draw_u64(draw);
		request->compare_add = cell->value;
		if (vc_draw_chance(draw, 1, 2))
			request->compare_add ^= 1ULL << vc_draw_below(draw, 64);
		else
			cell->value = request->swap;
	}
	/* One element: devices need not scatter the eight bytes. */
	request->piece_count = vc_program_scatter(program, side, 8, 1, IBV_ACCESS_LOCAL_WRITE,
						  &request->piece_first);
}

static void build_local(struct vc_program *program, uint32_t side, struct vc_lane *lane,
			struct vc_request *request)
{
	uint32_t access = request->op == VC_OP_READ ? IBV_ACCESS_LOCAL_WRITE : 0;
	uint32_t sge_max = lane->send_sge;

	if (request->op == VC_OP_READ && sge_max > program->limits->sge_read_max)
		sge_max = program->limits->sge_read_max;
	request->piece_count = vc_program_scatter(program, side, request->length, sge_max, access,
						  &request->piece_first);
	if (request->op != VC_OP_READ && request->length <= lane->inline_max &&
	    vc_draw_chance(&program->draw, 1, 2))
		request->flags |= VC_INLINE;
}

/* A SEND or WRITE of what a READ fetches: right only if the fence holds it back. */
static bool forward_read(struct vc_program *program, const struct vc_lane *lane,
			 struct vc_request *request)
{
	const struct vc_request *read;

	if (!vc_draw_chance(&program->draw, 1, 6))
		return false;
	read = find_read(lane);
	if (!read)
		return false;
	request->flags |= VC_FORWARD | VC_FENCE;
	request->length = read->length;
	request->payload_key = read->payload_key;
	request->payload_offset = read->payload_offset;
	request->piece_first = read->piece_first;
	request->piece_count = read->piece_count;
	return true;
}

static void build_transfer(struct vc_program *program, uint32_t side, uint32_t qp,
			   struct vc_request *request)
{
	struct vc_lane *lane = &program->sides[side].lanes[qp];
	bool forward = request->op != VC_OP_READ && request->op != VC_OP_ATOMIC_WRITE &&
		       can_fence(program, side) && forward_read(program, lane, request);

	if (!vc_op_is_send(request->op) && (forward || !reuse_remote(program, side, lane, request)))
		place_remote(program, side, qp, request);
	if (!forward)
		build_local(program, side, lane, request);
}

static void draw_flags(struct vc_program *program, uint32_t side, struct vc_lane *lane,
		       struct vc_request *request)
{
	struct vc_draw *draw = &program->draw;

	/* A window may go only when no READ through it can be repeated any more. */
	if ((vc_draw_chance(draw, 1, 12) || request->op == VC_OP_SEND_INV) &&
	    can_fence(program, side) && vc_program_is_reliable(program))
		request->flags |= VC_FENCE;
	if (vc_op_takes_receive(request->op) && vc_draw_chance(draw, 1, 3))
		request->flags |= VC_SOLICITED;
	if (vc_draw_chance(draw, 1, 3))
		request->flags |= VC_CHAINED;
	if (vc_draw_chance(draw, 1, 2) || must_signal(lane))
		request->flags |= VC_SIGNALED;
	request->completes = lane->signal_all || (request->flags & VC_SIGNALED);
}

struct vc_request *vc_rc_request_add(struct vc_program *program, uint32_t side, uint32_t qp,
				     enum vc_op op, uint32_t length)
{
	struct vc_lane *lane = &program->sides[side].lanes[qp];
	struct vc_lane *peer = &program->sides[!side].lanes[qp];
	struct vc_request *request = vc_program_add_request(program, side, qp);

	request->op = op;
	request->length = op == VC_OP_ATOMIC_WRITE ? 8 : length;
	request->imm = (uint32_t)vc_draw_u64(&program->draw);
	if (op == VC_OP_SEND_INV && peer->window_live && program->window_type == 2)
		request->window = --peer->window_live;
	else if (op == VC_OP_SEND_INV)
		request->op = VC_OP_SEND;
	if (vc_op_is_atomic(op))
		build_atomic(program, side, qp, request);
	else
		build_transfer(program, side, qp, request);
	draw_flags(program, side, lane, request);
	if (vc_op_takes_receive(request->op) && !program->is_open)
		add_receive(program, side, qp, request, lane->request_count - 1);
	return request;
}

struct vc_request *vc_rc_last_add(struct vc_program *program, uint32_t side, uint32_t qp)
{
	uint32_t bound = program->limits->size_max < 64 ? program->limits->size_max : 64;
	uint32_t length = (uint32_t)vc_draw_below(&program->draw, bound + 1ULL);
	struct vc_request *last = vc_rc_request_add(program, side, qp, VC_OP_SEND_IMM, length);

	last->flags |= VC_SIGNALED;
	last->completes = true;
	return last;
}

/* Phase `phase` is everything that the lanes hold by now. */
static void close_phase(struct vc_program *program, uint32_t phase)
{
	for (uint32_t q = 0; q < program->qp_count; q++) {
		for (uint32_t s = 0; s < VC_SIDES; s++) {
			struct vc_lane *lane = &program->sides[s].lanes[q];

			lane->phases[phase] = (struct vc_phase){
				.request_post = lane->request_count,
				.request_await = lane->request_count,
				.receive_post = lane->receive_count,
				.receive_await = lane->receive_count,
			};
		}
	}
}

static void add_solicited_phases(struct vc_program *program)
{
	for (uint32_t phase = VC_PHASE_SWEEP; phase < VC_PHASES; phase++) {
		for (uint32_t s = 0; s < VC_SIDES; s++) {
			struct vc_request *request = vc_rc_last_add(program, s, 0);

			request->flags &= ~VC_SOLICITED;
			if (phase == VC_PHASE_SOLICITED)
				request->flags |= VC_SOLICITED;
		}
		close_phase(program, phase);
	}
	program->phase_count = VC_PHASES;
}

void vc_rc_program_draw(struct vc_program *program)
{
	const struct vc_limits *limits = program->limits;
	struct vc_draw *draw = &program->draw;

	vc_rc_shapes_draw(program);
	for (uint32_t i = 0; i < limits->ops; i++) {
		uint32_t side = (uint32_t)vc_draw_below(draw, VC_SIDES);
		uint32_t qp = (uint32_t)vc_draw_below(draw, program->qp_count);
		enum vc_op op = vc_rc_op_draw(program, limits->op_mask);
		uint32_t length = vc_program_draw_length(program);

		(void)vc_rc_request_add(program, side, qp, op, length);
	}
	for (uint32_t q = 0; q < program->qp_count; q++)
		for (uint32_t s = 0; s < VC_SIDES; s++)
			(void)vc_rc_last_add(program, s, q);
	close_phase(program, VC_PHASE_MAIN);
	if (program->solicited)
		add_solicited_phases(program);
	vc_rc_cq_depths_draw(program);
}
