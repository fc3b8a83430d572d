/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive completions of an open seed: which message is it? On a reliable transport the next one of
 * its sender, and nothing else. On an unreliable one the first of those behind the last that came
 * which fits in every byte: in order, whole, and not twice, unless the network is said to do that.
 * UD promises no order. Of UD the IP header before the message and all fields of the completion
 * that describe the sender are checked too.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/verbs_check/completion.h"
#include "tools/verbs_check/open_program.h"
#include "tools/verbs_check/run.h"

/* Whose message it is and where it came. */
struct origin {
	uint32_t from;
	uint32_t lane;
	uint32_t qp;   /* that received it */
	uint32_t to;   /* the QP, or XRC queue, that messages are addressed to */
	uint32_t pool; /* and receive */
	uint32_t index;
	bool is_group; /* UD: sent to the group */
};

enum vc_verdict vc_arrival_prepare(struct vc_run *run)
{
	const struct vc_program *program = run->program;
	struct vc_arrivals *arrivals = &run->arrivals;
	uint32_t total = 0;

	if (!program->is_open)
		return VC_RIGHT;
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		for (uint32_t q = 0; q < program->qp_count; q++) {
			arrivals->offsets[s][q] = total;
			total += program->sides[s].lanes[q].request_count;
		}
	}
	for (uint32_t q = 0; q < program->qp_count; q++) {
		uint32_t count = program->sides[run->side].lanes[q].receive_count;

		arrivals->taken[q] = calloc(count + 1, sizeof(*arrivals->taken[q]));
		arrivals->seen[q] = calloc(total + 1, sizeof(*arrivals->seen[q]));
		if (!arrivals->taken[q] || !arrivals->seen[q])
			return vc_report_unusable(run->report, "no memory for this seed");
	}
	return VC_RIGHT;
}

void vc_arrival_fini(struct vc_run *run)
{
	for (uint32_t q = 0; q < VC_QP_MAX; q++) {
		free(run->arrivals.taken[q]);
		free(run->arrivals.seen[q]);
	}
}

/* ---- the receive ---- */

static bool find_receive(const struct vc_run *run, uint64_t wr_id, struct origin *origin)
{
	const struct vc_side *side = &run->program->sides[run->side];

	for (uint32_t p = 0; p < side->pool_count; p++) {
		for (uint32_t i = 0; i < run->lanes[p].receive_posted; i++) {
			if (run->arrivals.taken[p][i].is_done ||
			    vc_receive_wr_id(run->program, run->side, p, i) != wr_id)
				continue;
			origin->pool = p;
			origin->index = i;
			return true;
		}
	}
	return false;
}

/* A QP's own queue is taken in the order of posting; of a shared one no order is promised. */
static bool is_in_order(const struct vc_run *run, const struct origin *origin)
{
	return run->program->is_shared || origin->index == 0 ||
	       run->arrivals.taken[origin->pool][origin->index - 1].is_done;
}

/* ---- the message ---- */

static const struct vc_request *request_of(const struct vc_run *run, const struct origin *origin,
					   uint32_t index)
{
	return &run->program->sides[origin->from].lanes[origin->lane].requests[index];
}

static bool is_for(const struct vc_run *run, const struct origin *origin, uint32_t index)
{
	bool is_group = request_of(run, origin, index)->flags & VC_MULTICAST;

	return is_group == origin->is_group &&
	       vc_open_is_for(run->program, origin->from, request_of(run, origin, index),
			      origin->lane, run->side, origin->to);
}

static void expect(const struct vc_run *run, const struct origin *origin, uint32_t index,
		   struct vc_expected *out)
{
	const struct vc_request *request = request_of(run, origin, index);
	struct ibv_qp *const *qps = run->program->transport == VC_TRANSPORT_XRC
					    ? run->endpoint->targets
					    : run->endpoint->qps;

	*out = (struct vc_expected){
		.wr_id = vc_receive_wr_id(run->program, run->side, origin->pool, origin->index),
		.qp_num = qps[origin->qp]->qp_num,
		.receive = true,
		.op = request->op,
		.length = request->length,
		.imm = request->imm,
		.quirks = run->program->limits->quirks[run->side],
	};
	if (run->program->transport == VC_TRANSPORT_UD)
		out->length += VC_GRH_BYTES;
	if (request->op == VC_OP_SEND_INV)
		out->invalidated = run->endpoint->window_rkeys[origin->qp][request->window];
}

static struct vc_list list_of(const struct vc_run *run, const struct origin *origin)
{
	const struct vc_receive *receive =
		&run->program->sides[run->side].lanes[origin->pool].receives[origin->index];

	return (struct vc_list){receive->piece_first, receive->piece_count,
				run->program->transport == VC_TRANSPORT_UD ? VC_GRH_BYTES : 0};
}

static bool fits(const struct vc_run *run, const struct origin *origin, uint32_t index,
		 const struct ibv_wc *wc)
{
	const struct vc_request *request = request_of(run, origin, index);
	struct vc_list list = list_of(run, origin);
	struct vc_expected expected;
	struct vc_mismatch mismatch;
	char text[200];

	expect(run, origin, index, &expected);
	return vc_completion_check(wc, &expected, text, sizeof(text)) &&
	       (!vc_op_is_send(request->op) ||
		vc_memory_check_list(run->memory, run->program, run->side, &list, request,
				     &mismatch));
}

/* Of an unreliable transport. */
static enum vc_verdict find_message(struct vc_run *run, const struct origin *origin,
				    const struct ibv_wc *wc, uint32_t *out_index)
{
	const struct vc_program *program = run->program;
	const struct vc_lane *lane = &program->sides[origin->from].lanes[origin->lane];
	uint32_t links = program->limits->links;
	bool any_order = program->transport == VC_TRANSPORT_UD ||
			 vc_mask_has(links, VC_LINK_REORDER) || vc_mask_has(links, VC_LINK_DUP);
	const bool *seen =
		run->arrivals.seen[origin->to] + run->arrivals.offsets[origin->from][origin->lane];
	uint32_t first =
		any_order ? 0 : run->arrivals.cursors[origin->from][origin->lane][origin->to];

	for (uint32_t i = first; i < lane->request_count; i++) {
		if (!is_for(run, origin, i) || (seen[i] && !vc_mask_has(links, VC_LINK_DUP)) ||
		    !fits(run, origin, i, wc))
			continue;
		*out_index = i;
		return VC_RIGHT;
	}
	return vc_report_wrong(
		run->report,
		"%s message of %u bytes (opcode %d, flags 0x%x, immediate 0x%x) in receive %u of "
		"%s %s %u is none that %s qp %u has sent there from request %u on",
		vc_transport_str(program->transport), wc->byte_len, (int)wc->opcode, wc->wc_flags,
		ntohl(wc->imm_data), origin->index, vc_side_str(run->side),
		program->is_shared ? "shared queue" : "qp", origin->pool, vc_side_str(origin->from),
		origin->lane, first);
}

/* Of a reliable one: the next of the sender, which must fit. */
static enum vc_verdict take_next(struct vc_run *run, const struct origin *origin,
				 const struct ibv_wc *wc, uint32_t *out_index)
{
	const struct vc_lane *lane = &run->program->sides[origin->from].lanes[origin->lane];
	uint32_t i = run->arrivals.cursors[origin->from][origin->lane][origin->to];
	struct vc_list list = list_of(run, origin);
	struct vc_expected expected;
	struct vc_mismatch mismatch;
	char text[200], by[128];

	while (i < lane->request_count && !is_for(run, origin, i))
		i++;
	if (i == lane->request_count)
		return vc_report_wrong(run->report,
				       "receive %u of pool %u completes, but %s qp %u has no more "
				       "messages for it",
				       origin->index, origin->pool, vc_side_str(origin->from),
				       origin->lane);
	expect(run, origin, i, &expected);
	(void)vc_request_describe(run->program, origin->from, origin->lane, i, by, sizeof(by));
	if (!vc_completion_check(wc, &expected, text, sizeof(text)))
		return vc_report_wrong(run->report,
				       "completion of receive %u of pool %u for %s: %s",
				       origin->index, origin->pool, by, text);
	if (vc_op_is_send(request_of(run, origin, i)->op) &&
	    !vc_memory_check_list(run->memory, run->program, run->side, &list,
				  request_of(run, origin, i), &mismatch))
		return vc_report_wrong(run->report,
				       "%s: byte %" PRIu64
				       " of the message: expected 0x%02x, found 0x%02x",
				       by, mismatch.offset, mismatch.expected, mismatch.found);
	*out_index = i;
	return VC_RIGHT;
}

/* WRITEs that were sent before it are in memory. */
static enum vc_verdict check_writes(struct vc_run *run, const struct origin *origin, uint32_t index)
{
	struct vc_lane_run *at = &run->lanes[origin->lane];
	enum vc_verdict verdict = VC_RIGHT;

	if (!vc_program_is_reliable(run->program))
		return VC_RIGHT;
	for (; at->arrival_done <= index && verdict == VC_RIGHT; at->arrival_done++)
		if (!vc_op_is_send(request_of(run, origin, at->arrival_done)->op))
			verdict = vc_memory_check_arrived(run->memory, run->program, run->side,
							  origin->lane, at->arrival_done,
							  run->report);
	return verdict;
}

static enum vc_verdict check_class(struct vc_run *run, const struct origin *origin, uint32_t index)
{
	uint32_t flags = request_of(run, origin, index)->flags;
	struct vc_grh_place place = {origin->from,  origin->lane, origin->pool,
				     origin->index, origin->qp,	  origin->is_group};

	if (run->program->transport != VC_TRANSPORT_UD || (flags & (VC_REPLY | VC_MULTICAST)))
		return VC_RIGHT;
	return vc_grh_check_class(run, &place, vc_datagram_class(run->program, origin->lane));
}

static enum vc_verdict accept_message(struct vc_run *run, const struct origin *origin,
				      const struct ibv_wc *wc)
{
	struct vc_arrivals *arrivals = &run->arrivals;
	enum vc_verdict verdict;
	uint32_t index = 0;

	verdict = vc_program_is_reliable(run->program) ? take_next(run, origin, wc, &index)
						       : find_message(run, origin, wc, &index);
	if (verdict == VC_RIGHT)
		verdict = check_class(run, origin, index);
	if (verdict != VC_RIGHT)
		return verdict;
	arrivals->cursors[origin->from][origin->lane][origin->to] = index + 1;
	arrivals->seen[origin->to][arrivals->offsets[origin->from][origin->lane] + index] = true;
	arrivals->taken[origin->pool][origin->index] =
		(struct vc_taken){true, true, origin->from, origin->lane, index};
	if (request_of(run, origin, index)->flags & VC_MULTICAST)
		run->report->arrived_group++;
	else if (!(request_of(run, origin, index)->flags & VC_REPLY)) /* as awaited ones */
		run->report->arrived[run->program->transport]++;
	return check_writes(run, origin, index);
}

/* ---- completions ---- */

static bool find_qp(const struct vc_run *run, uint32_t qpn, struct origin *origin)
{
	struct ibv_qp *const *qps = run->program->transport == VC_TRANSPORT_XRC
					    ? run->endpoint->targets
					    : run->endpoint->qps;

	for (origin->qp = 0; origin->qp < run->program->qp_count; origin->qp++)
		if (qps[origin->qp]->qp_num == qpn)
			return true;
	return false;
}

/* Whether a QP of the side has the number; `lane` is then its. */
static bool find_qp_number(const struct vc_run *run, uint32_t side, uint32_t qpn, uint32_t *lane)
{
	const struct vc_endpoint *e = run->endpoint;

	for (*lane = 0; *lane < run->program->qp_count; (*lane)++) {
		if ((side == run->side ? e->qps[*lane]->qp_num : e->remote_qpns[*lane]) == qpn)
			return true;
	}
	return false;
}

/* The sender of a datagram: a QP of the other side, or of this one in its group. Each has its own
 * numbers, so a QP of both may have this one: the header's address decides then. */
static bool find_sender(const struct vc_run *run, const struct ibv_wc *wc, struct origin *origin)
{
	struct vc_grh_place place = {.pool = origin->pool, .index = origin->index};
	uint32_t theirs, own;
	bool is_theirs = find_qp_number(run, !run->side, wc->src_qp, &theirs);
	bool is_own = find_qp_number(run, run->side, wc->src_qp, &own);

	if (is_theirs && is_own)
		is_theirs = vc_grh_is_from(run, &place, !run->side);
	origin->from = is_theirs ? !run->side : run->side;
	origin->lane = is_theirs ? theirs : own;
	return is_theirs || is_own;
}

static enum vc_verdict end_receive(struct vc_run *run, const struct origin *origin,
				   const struct ibv_wc *wc)
{
	/* A receive of a shared queue is gone with the message that was not completed. */
	bool is_lost = run->program->transport == VC_TRANSPORT_UC && run->program->is_shared &&
		       wc->status == IBV_WC_LOC_QP_OP_ERR;

	const struct vc_receive *receive =
		&run->program->sides[run->side].lanes[origin->pool].receives[origin->index];

	if (!is_lost && wc->status != receive->quirk_status &&
	    !(run->is_flushing && wc->status == IBV_WC_WR_FLUSH_ERR))
		return vc_report_wrong(run->report, "receive %u of %s pool %u: status %d (%s)",
				       origin->index, vc_side_str(run->side), origin->pool,
				       (int)wc->status, ibv_wc_status_str(wc->status));
	run->arrivals.taken[origin->pool][origin->index].is_done = true;
	if (!run->is_flushing)
		vc_report_failed(&run->report->failed_receive, wc->status);
	return VC_RIGHT;
}

enum vc_verdict vc_arrival_take(struct vc_run *run, uint32_t cq, const struct ibv_wc *wc)
{
	const struct vc_program *program = run->program;
	bool is_xrc = program->transport == VC_TRANSPORT_XRC;
	struct origin origin = {.from = !run->side};
	struct vc_grh_place place;
	enum vc_verdict verdict;
	uint32_t own_cq;

	if (!find_receive(run, wc->wr_id, &origin) || !find_qp(run, wc->qp_num, &origin))
		return vc_report_wrong(run->report,
				       "unexpected completion: wr_id 0x%016" PRIx64
				       ", qp_num 0x%x, status %d (%s): no receive that is posted "
				       "and no request that is next",
				       wc->wr_id, wc->qp_num, (int)wc->status,
				       ibv_wc_status_str(wc->status));
	origin.lane = origin.qp;
	origin.to = is_xrc ? origin.pool : origin.qp;
	own_cq = program->sides[run->side].lanes[is_xrc ? origin.pool : origin.qp].receive_cq;
	if (cq != own_cq ||
	    (!is_xrc && program->sides[run->side].lanes[origin.qp].pool != origin.pool))
		return vc_report_wrong(run->report,
				       "receive %u of pool %u completes on CQ %u for qp %u",
				       origin.index, origin.pool, cq, origin.qp);
	if (!is_in_order(run, &origin))
		return vc_report_wrong(run->report,
				       "receive %u of %s qp %u completes before the one before it",
				       origin.index, vc_side_str(run->side), origin.qp);
	run->lanes[origin.pool].receive_done++;
	if (wc->status != IBV_WC_SUCCESS)
		return end_receive(run, &origin, wc);
	if (program->transport == VC_TRANSPORT_UD) {
		if (!find_sender(run, wc, &origin))
			return vc_report_wrong(run->report, "datagram of src_qp 0x%x, a stranger",
					       wc->src_qp);
		place = (struct vc_grh_place){origin.from,  origin.lane, origin.pool,
					      origin.index, origin.qp,	 false};
		verdict = vc_grh_check(run, wc, &place);
		origin.is_group = place.is_group;
		if (verdict != VC_RIGHT)
			return verdict;
	}
	return accept_message(run, &origin, wc);
}
