/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Error seeds on a reliable connected QP: some requests that succeed, one that must fail in a known
 * way, others behind it that must be flushed in order, and at the end both QPs in the error state,
 * where everything posted is flushed too. Nothing of what fails may change memory outside the
 * target of the faulty request. Requests go from the drawn requester to the other side only, until
 * the last phase.
 */
#include "tools/verbs_check/rc_program.h"

#include <string.h>

#define ACCESS_ALL (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
#define OP_BIT(op) (1u << (op))
#define OPS_SEND   (OP_BIT(VC_OP_SEND) | OP_BIT(VC_OP_SEND_IMM))
#define OPS_ATOMIC (OP_BIT(VC_OP_CMP_SWAP) | OP_BIT(VC_OP_FETCH_ADD))
#define OPS_PLAIN  (OPS_SEND | OP_BIT(VC_OP_WRITE) | OP_BIT(VC_OP_WRITE_IMM) | OP_BIT(VC_OP_READ))
#define OPS_RKEY   (OP_BIT(VC_OP_WRITE) | OP_BIT(VC_OP_READ))

/* Ends of the parts of a lane's lists, counted from the start. */
struct parts {
	uint32_t lead;	/* completed before the barrier */
	uint32_t good;	/* these succeed too, in front of the faulty one */
	uint32_t main;	/* faulty one, followers, or receives that nobody fills */
	uint32_t total; /* and those posted in the error state */
};

static bool is_possible(const struct vc_program *program, enum vc_fault fault)
{
	if (fault == VC_FAULT_NONE)
		return false;
	if (fault == VC_FAULT_INVALIDATED || fault == VC_FAULT_WINDOW_LOCAL_INV)
		return program->limits->windows && program->window_type == 2;
	if (fault == VC_FAULT_WINDOW_REBOUND || fault == VC_FAULT_WINDOW_UNBOUND)
		return program->window_type == 1;
	if (fault == VC_FAULT_WINDOW_FREED)
		return program->window_type == 1 || program->limits->windows;
	if (fault == VC_FAULT_MISALIGNED)
		/* Soft-RoCE's library refuses to post one. */
		return program->limits->atomics &&
		       !(program->limits->quirks[program->requester] & VC_QUIRK_RXE);
	return true;
}

/* Nothing is posted before the peer's QP is gone or the own one is moved. */
static bool is_lonely(enum vc_fault fault)
{
	return fault == VC_FAULT_PEER_ERR || fault == VC_FAULT_PEER_RESET;
}

static bool leaves_no_receives(enum vc_fault fault)
{
	return fault == VC_FAULT_NO_RECEIVE || fault == VC_FAULT_LOCAL_ERR;
}

/* Whether requests in flight before the faulty one are certain to succeed. */
static bool takes_company(const struct vc_program *program)
{
	/* Soft-RoCE forgets them when it finds the bad key. */
	if (program->fault == VC_FAULT_BAD_LKEY &&
	    (program->limits->quirks[program->requester] & VC_QUIRK_RXE))
		return false;
	return !is_lonely(program->fault) && program->fault != VC_FAULT_LOCAL_ERR &&
	       !program->limits->lossy;
}

static uint32_t ops_without_fault(const struct vc_program *program)
{
	if (program->fault == VC_FAULT_QP_ACCESS)
		return OPS_SEND;
	return OPS_PLAIN | (program->limits->atomics ? OPS_ATOMIC : 0);
}

static uint32_t draw_length(struct vc_program *program, uint32_t min)
{
	uint32_t length = vc_program_draw_length(program);

	if (length > 65536)
		length %= 65536;
	if (length > program->limits->size_max)
		length = program->limits->size_max;
	return length < min ? min : length;
}

static void add_requests(struct vc_program *program, uint32_t side, uint32_t count, uint32_t ops,
			 enum ibv_wc_status status)
{
	for (uint32_t i = 0; i < count; i++) {
		enum vc_op op = vc_rc_op_draw(program, ops);
		uint32_t length = draw_length(program, 0);
		struct vc_request *request = vc_rc_request_add(program, side, 0, op, length);

		request->status = status;
		request->quirk_status = status;
		if (status != IBV_WC_SUCCESS) {
			request->completes = true;
			if (program->fault == VC_FAULT_LKEY_ACCESS)
				request->flags |= VC_UNDEFINED;
		}
	}
}

/* Ends with a signalled request, so that its completion stands for all of them. */
static void add_lead(struct vc_program *program)
{
	uint32_t side = program->requester;
	struct vc_lane *lane = &program->sides[side].lanes[0];
	uint32_t count = (uint32_t)vc_draw_below(&program->draw, 4);
	struct vc_request *last;

	if (is_lonely(program->fault))
		return;
	add_requests(program, side, count, ops_without_fault(program), IBV_WC_SUCCESS);
	if (program->fault == VC_FAULT_INVALIDATED)
		(void)vc_rc_request_add(program, side, 0, VC_OP_SEND_INV, draw_length(program, 0));
	if (lane->request_count) {
		last = &lane->requests[lane->request_count - 1];
		last->flags |= VC_SIGNALED;
		last->completes = true;
	}
}

static uint32_t ops_with_fault(const struct vc_program *program)
{
	uint32_t atomics = program->limits->atomics ? OPS_ATOMIC : 0;

	switch (program->fault) {
	case VC_FAULT_BAD_RKEY:
	case VC_FAULT_MR_ACCESS:
	case VC_FAULT_OTHER_PD:
	case VC_FAULT_DEREGISTERED:
	case VC_FAULT_QP_ACCESS:
		return OPS_RKEY | atomics;
	case VC_FAULT_BOUNDS:
	case VC_FAULT_INVALIDATED:
	case VC_FAULT_WINDOW_LOCAL_INV:
	case VC_FAULT_WINDOW_FREED:
	case VC_FAULT_WINDOW_REBOUND:
	case VC_FAULT_WINDOW_UNBOUND:
		return OPS_RKEY;
	case VC_FAULT_MISALIGNED:
		return OPS_ATOMIC;
	case VC_FAULT_SHORT_RECEIVE:
	case VC_FAULT_RECEIVE_LKEY:
	case VC_FAULT_NO_RECEIVE:
	case VC_FAULT_LOCAL_ERR:
		return OPS_SEND;
	case VC_FAULT_BAD_LKEY:
		return OPS_PLAIN & ~OP_BIT(VC_OP_READ);
	case VC_FAULT_LKEY_ACCESS:
		return OP_BIT(VC_OP_READ);
	case VC_FAULT_NONE:
	case VC_FAULT_PEER_ERR:
	case VC_FAULT_PEER_RESET:
		break;
	}
	return OPS_PLAIN | atomics;
}

static uint32_t remote_access(enum vc_op op)
{
	if (vc_op_is_atomic(op))
		return IBV_ACCESS_REMOTE_ATOMIC;
	return op == VC_OP_READ ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
}

static uint32_t faulty_ops(const struct vc_program *program)
{
	uint32_t ops = ops_with_fault(program);

	return ops & program->fault_ops ? ops & program->fault_ops : ops;
}

/* Turns the request to a region of its own on the other side. */
static void aim_at_new_mr(struct vc_program *program, struct vc_request *request, uint32_t access,
			  uint32_t pd)
{
	uint32_t other = !program->requester;
	uint32_t mr = vc_program_add_mr(program, other, access, pd);

	request->flags &= ~VC_READ_BACK;
	request->remote = vc_program_place(program, other, mr, request->length,
					   vc_op_is_atomic(request->op) ? 8 : 1, 0);
}

static void shorten_receive(struct vc_program *program, struct vc_receive *receive, uint32_t length)
{
	uint32_t other = !program->requester;

	receive->capacity = (uint32_t)vc_draw_below(&program->draw, length);
	receive->piece_count = vc_program_scatter(program, other, receive->capacity,
						  program->sides[other].lanes[0].receive_sge,
						  IBV_ACCESS_LOCAL_WRITE, &receive->piece_first);
}

static void spoil(struct vc_program *program, struct vc_request *request)
{
	uint32_t all = ACCESS_ALL | (program->limits->atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0);
	uint32_t other = !program->requester;
	struct vc_side *side = &program->sides[program->requester];
	struct vc_lane *peer = &program->sides[other].lanes[0];
	struct vc_receive *receive =
		request->receive == VC_NO_INDEX ? NULL : &peer->receives[request->receive];
	uint32_t mr;

	switch (program->fault) {
	case VC_FAULT_BAD_RKEY:
		request->flags |= VC_BAD_RKEY;
		break;
	case VC_FAULT_BOUNDS:
		aim_at_new_mr(program, request, all, 0);
		request->remote.offset += 1;
		if (vc_draw_chance(&program->draw, 1, 2))
			request->remote.offset = UINT64_MAX; /* one byte before the start */
		/* A device may fetch in several requests: what lies within bounds may come. */
		if (request->op == VC_OP_READ)
			request->flags |= VC_UNDEFINED;
		break;
	case VC_FAULT_MR_ACCESS:
		aim_at_new_mr(program, request, all & ~remote_access(request->op), 0);
		break;
	case VC_FAULT_OTHER_PD:
		aim_at_new_mr(program, request, all, 1);
		break;
	case VC_FAULT_DEREGISTERED:
		aim_at_new_mr(program, request, all, 0);
		program->deregister_mr = request->remote.mr;
		break;
	case VC_FAULT_INVALIDATED:
	case VC_FAULT_WINDOW_LOCAL_INV:
	case VC_FAULT_WINDOW_FREED:
	case VC_FAULT_WINDOW_REBOUND:
	case VC_FAULT_WINDOW_UNBOUND:
		request->window = 0;
		request->remote = peer->windows[0];
		request->remote.length = request->length;
		break;
	case VC_FAULT_QP_ACCESS:
		peer->access &= ~remote_access(request->op);
		break;
	case VC_FAULT_MISALIGNED:
		request->remote =
			vc_program_place(program, other, vc_program_draw_mr(program, other), 16, 8,
					 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
		request->remote.offset += vc_draw_range(&program->draw, 1, 7);
		request->remote.length = 8;
		break;
	case VC_FAULT_SHORT_RECEIVE:
		shorten_receive(program, receive, request->length);
		receive->flags |= VC_UNDEFINED;
		break;
	case VC_FAULT_RECEIVE_LKEY:
		receive->flags |= VC_BAD_LKEY | VC_UNDEFINED;
		break;
	case VC_FAULT_BAD_LKEY:
		request->flags &= ~VC_INLINE;
		request->flags |= VC_BAD_LKEY | VC_UNDEFINED;
		if (receive)
			receive->flags |= VC_UNDEFINED;
		break;
	case VC_FAULT_LKEY_ACCESS:
		mr = vc_program_add_mr(program, program->requester, IBV_ACCESS_REMOTE_READ, 0);
		request->piece_first = side->piece_count;
		request->piece_count = 1;
		vc_program_add_piece(
			program, program->requester,
			vc_program_place(program, program->requester, mr, request->length, 1, 0));
		break;
	case VC_FAULT_NONE:
	case VC_FAULT_NO_RECEIVE:
	case VC_FAULT_PEER_ERR:
	case VC_FAULT_PEER_RESET:
	case VC_FAULT_LOCAL_ERR:
		break;
	}
}

static void add_faulty(struct vc_program *program)
{
	uint32_t own = program->limits->quirks[program->requester];
	uint32_t others = program->limits->quirks[!program->requester];
	struct vc_lane *peer = &program->sides[!program->requester].lanes[0];
	enum vc_op op = vc_rc_op_draw(program, faulty_ops(program));
	uint32_t length = draw_length(program, 1);
	struct vc_request *request;

	/* Nothing but the key is wrong. */
	if (vc_fault_is_window(program->fault))
		length = 1 + length % peer->windows[0].length;
	request = vc_rc_request_add(program, program->requester, 0, op, length);
	request->status = vc_fault_requester_status(program->fault);
	request->quirk_status = vc_fault_requester_quirk(program->fault, own, others);
	/* The responder is in the error state after its NAK, and drops what is sent again. */
	if (program->limits->lossy && vc_fault_fate(program->fault) == VC_FATE_ERROR)
		request->quirk_status = IBV_WC_RETRY_EXC_ERR;
	request->completes = true;
	spoil(program, request);
	if (request->receive != VC_NO_INDEX) {
		struct vc_receive *receive = &peer->receives[request->receive];

		receive->status = vc_fault_responder_status(program->fault);
		receive->quirk_status = vc_fault_responder_quirk(program->fault, others);
	}
}

static void add_receives(struct vc_program *program, uint32_t side, uint32_t count)
{
	struct vc_lane *lane = &program->sides[side].lanes[0];

	for (uint32_t i = 0; i < count; i++) {
		struct vc_receive *receive = vc_program_add_receive(program, side, 0);

		receive->capacity = (uint32_t)vc_draw_below(&program->draw, 500);
		receive->piece_count =
			vc_program_scatter(program, side, receive->capacity, lane->receive_sge,
					   IBV_ACCESS_LOCAL_WRITE, &receive->piece_first);
	}
}

/* All that nothing else is said about. */
static void flush_receives(struct vc_lane *lane, uint32_t from)
{
	for (uint32_t i = from; i < lane->receive_count; i++) {
		struct vc_receive *receive = &lane->receives[i];

		if (receive->status != IBV_WC_SUCCESS)
			continue;
		receive->status = IBV_WC_WR_FLUSH_ERR;
		receive->quirk_status = IBV_WC_WR_FLUSH_ERR;
	}
}

static void plan_requester(struct vc_program *program, const struct parts *requests,
			   const struct parts *receives)
{
	uint32_t side = program->requester;
	struct vc_phase *phases = program->sides[side].lanes[0].phases;
	bool by_itself = program->fault != VC_FAULT_LOCAL_ERR;
	bool tail = !(program->limits->quirks[side] & VC_QUIRK_RXE);

	phases[VC_PHASE_LEAD] =
		(struct vc_phase){requests->lead, requests->lead, receives->main, 0};
	phases[VC_PHASE_FAULT] =
		(struct vc_phase){requests->main, by_itself ? requests->main : requests->lead,
				  receives->main, by_itself ? receives->main : 0};
	phases[VC_PHASE_ERROR] =
		(struct vc_phase){requests->main, requests->main, receives->main, receives->main};
	phases[VC_PHASE_TAIL] = (struct vc_phase){requests->total, requests->total,
						  tail ? receives->total : receives->main,
						  tail ? receives->total : receives->main};
}

static void plan_responder(struct vc_program *program, uint32_t request_count,
			   const struct parts *receives)
{
	uint32_t side = !program->requester;
	struct vc_lane *lane = &program->sides[side].lanes[0];
	struct vc_phase *phases = lane->phases;
	enum vc_fate fate = vc_fault_fate(program->fault);
	bool tail = !(program->limits->quirks[side] & VC_QUIRK_RXE);
	uint32_t early = leaves_no_receives(program->fault) ? receives->good : receives->main;
	uint32_t late = tail ? receives->main : early;

	phases[VC_PHASE_LEAD] = (struct vc_phase){0, 0, early, receives->lead};
	if (fate == VC_FATE_RESET) {
		/* What was posted is gone without completions, and nothing can be posted. */
		for (uint32_t i = VC_PHASE_FAULT; i < VC_PHASES; i++)
			phases[i] = (struct vc_phase){0, 0, early, 0};
		for (uint32_t i = 0; i < lane->request_count; i++)
			lane->requests[i].flags &= ~VC_INLINE;
		return;
	}
	phases[VC_PHASE_FAULT] = (struct vc_phase){
		0, 0, early, fate == VC_FATE_ERROR ? receives->main : receives->good};
	phases[VC_PHASE_ERROR] = (struct vc_phase){0, 0, late, late};
	phases[VC_PHASE_TAIL] =
		(struct vc_phase){request_count, request_count, tail ? receives->total : late,
				  tail ? receives->total : late};
}

static void draw_shape(struct vc_program *program)
{
	struct vc_lane *requester = &program->sides[program->requester].lanes[0];
	struct vc_draw *draw = &program->draw;

	/* A scenario has chosen it. */
	while (!is_possible(program, program->fault))
		program->fault = (enum vc_fault)vc_draw_below(draw, VC_FAULT_COUNT);
	program->qp_count = 1;
	program->phase_count = VC_PHASES;
	program->solicited = false;
	vc_rc_lane_draw(program, 0);
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		program->sides[s].lanes[0].send_depth = program->limits->depth_max;
		vc_rc_cells_draw(program, s, 0);
	}
	if (vc_fault_is_window(program->fault))
		vc_rc_windows_draw(program, !program->requester, 0, 1);
	if (is_lonely(program->fault)) {
		requester->timeout = 8; /* 1 ms */
		requester->retry_cnt = (uint32_t)vc_draw_range(draw, 1, 3);
	}
	if (program->fault == VC_FAULT_NO_RECEIVE)
		requester->rnr_retry = (uint32_t)vc_draw_below(draw, 3);
}

/* Queues as long as all that is ever posted: nothing waits for room in an error seed. */
static void fit_depths(struct vc_program *program)
{
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		struct vc_lane *lane = &program->sides[s].lanes[0];

		lane->send_depth = lane->request_count ? lane->request_count : 1;
		lane->receive_depth = lane->receive_count ? lane->receive_count : 1;
		lane->prepost = lane->receive_count;
	}
	vc_rc_cq_depths_draw(program);
}

void vc_rc_fault_program_draw(struct vc_program *program)
{
	uint32_t r = program->requester;
	struct vc_lane *lane = &program->sides[r].lanes[0];
	struct vc_lane *peer = &program->sides[!r].lanes[0];
	struct vc_cell cells[VC_SIDES][VC_CELL_MAX];
	struct parts requests, receives, own_receives = {0};
	struct vc_draw *draw = &program->draw;
	uint32_t followers;

	draw_shape(program);
	add_lead(program);
	if (vc_fault_is_window(program->fault))
		peer->window_live = 0;
	requests.lead = lane->request_count;
	receives.lead = peer->receive_count;
	if (takes_company(program))
		add_requests(program, r, (uint32_t)vc_draw_below(draw, 4),
			     ops_without_fault(program), IBV_WC_SUCCESS);
	requests.good = lane->request_count;
	receives.good = peer->receive_count;

	/* From here on nothing is executed: the cells stay as they are now. */
	for (uint32_t s = 0; s < VC_SIDES; s++)
		memcpy(cells[s], program->sides[s].cells, sizeof(cells[s]));
	add_faulty(program);
	followers = (uint32_t)vc_draw_below(draw, 7);
	add_requests(program, r, followers,
		     program->fault == VC_FAULT_LKEY_ACCESS ? OP_BIT(VC_OP_READ)
							    : ops_without_fault(program),
		     IBV_WC_WR_FLUSH_ERR);
	requests.main = lane->request_count;
	add_receives(program, !r, (uint32_t)vc_draw_range(draw, 1, 3));
	add_receives(program, r, (uint32_t)vc_draw_range(draw, 1, 3));
	receives.main = peer->receive_count;
	own_receives.main = lane->receive_count;

	add_requests(program, r, (uint32_t)vc_draw_range(draw, 1, 3), ops_without_fault(program),
		     IBV_WC_WR_FLUSH_ERR);
	add_requests(program, !r, (uint32_t)vc_draw_range(draw, 1, 3), ops_without_fault(program),
		     IBV_WC_WR_FLUSH_ERR);
	requests.total = lane->request_count;
	receives.total = peer->receive_count;
	own_receives.total = lane->receive_count;
	flush_receives(peer, receives.good);
	flush_receives(lane, 0);
	for (uint32_t s = 0; s < VC_SIDES; s++)
		memcpy(program->sides[s].cells, cells[s], sizeof(cells[s]));

	plan_requester(program, &requests, &own_receives);
	plan_responder(program, peer->request_count, &receives);
	fit_depths(program);
}
