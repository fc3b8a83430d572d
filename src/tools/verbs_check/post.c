/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work requests from the program: addresses and keys come from the endpoint, faults are put in
 * here. Requests that the program chains go down in one list. A post that is refused although the
 * queue has room is a fault of the device.
 */
#include "tools/verbs_check/run.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

/* Inline data needs no key; this one belongs to nobody. */
#define NO_LKEY 0xfffffff0u

static uint32_t fill_sges(const struct vc_run *run, uint32_t piece_first, uint32_t piece_count,
			  uint32_t flags, struct ibv_sge *sges)
{
	const struct vc_side *side = &run->program->sides[run->side];
	bool spoil = flags & VC_BAD_LKEY;

	for (uint32_t i = 0; i < piece_count; i++) {
		const struct vc_piece *piece = &side->pieces[piece_first + i];

		sges[i].addr = run->endpoint->bases[piece->mr] + piece->offset;
		sges[i].length = piece->length;
		sges[i].lkey = flags & VC_INLINE ? NO_LKEY : run->endpoint->mrs[piece->mr]->lkey;
		if (spoil && piece->length) {
			sges[i].lkey ^= 0x5a;
			spoil = false;
		}
	}
	return piece_count;
}

static unsigned int send_flags(uint32_t flags)
{
	return (flags & VC_SIGNALED ? (unsigned int)IBV_SEND_SIGNALED : 0) |
	       (flags & VC_INLINE ? (unsigned int)IBV_SEND_INLINE : 0) |
	       (flags & VC_FENCE ? (unsigned int)IBV_SEND_FENCE : 0) |
	       (flags & VC_SOLICITED ? (unsigned int)IBV_SEND_SOLICITED : 0);
}

static void fill_remote(const struct vc_run *run, uint32_t qp, const struct vc_request *request,
			struct ibv_send_wr *wr)
{
	const struct vc_remote_mr *mr = &run->endpoint->remote_mrs[request->remote.mr];
	uint64_t address = mr->address + request->remote.offset;
	uint32_t rkey = mr->rkey;

	if (request->window != VC_NO_INDEX)
		rkey = run->endpoint->remote_window_rkeys[qp][request->window];
	if (request->flags & VC_BAD_RKEY)
		rkey ^= 0x5a;
	if (vc_op_is_atomic(request->op)) {
		wr->wr.atomic.remote_addr = address;
		wr->wr.atomic.rkey = rkey;
		wr->wr.atomic.compare_add = request->compare_add;
		wr->wr.atomic.swap = request->swap;
	} else {
		wr->wr.rdma.remote_addr = address;
		wr->wr.rdma.rkey = rkey;
	}
}

static void fill_datagram(const struct vc_run *run, uint32_t qp, const struct vc_request *request,
			  struct ibv_send_wr *wr)
{
	const struct vc_endpoint *endpoint = run->endpoint;
	const struct vc_return *back = &endpoint->returns[qp];

	wr->wr.ud.ah = endpoint->ahs[qp];
	wr->wr.ud.remote_qpn = endpoint->remote_qpns[request->to];
	wr->wr.ud.remote_qkey = run->program->qkey ^ (request->flags & VC_BAD_QKEY ? 1u : 0);
	if (request->flags & VC_MULTICAST) {
		wr->wr.ud.ah = endpoint->group_ah;
		wr->wr.ud.remote_qpn = 0xffffff;
	} else if ((request->flags & VC_REPLY) && back->ah) {
		wr->wr.ud.ah = back->ah;
		wr->wr.ud.remote_qpn = back->qpn;
	}
}

static void fill_request(const struct vc_run *run, uint32_t qp, uint32_t index,
			 struct ibv_send_wr *wr, struct ibv_sge *sges)
{
	const struct vc_request *request =
		&run->program->sides[run->side].lanes[qp].requests[index];

	*wr = (struct ibv_send_wr){0};
	wr->wr_id = vc_request_wr_id(run->program, run->side, qp, index);
	wr->opcode = vc_op_wr_opcode(request->op);
	wr->send_flags = send_flags(request->flags);
	wr->sg_list = sges;
	wr->num_sge = (int)fill_sges(run, request->piece_first, request->piece_count,
				     request->flags, sges);
	if (request->op == VC_OP_SEND_INV)
		wr->invalidate_rkey = run->endpoint->remote_window_rkeys[qp][request->window];
	else if (vc_op_has_imm(request->op))
		wr->imm_data = htonl(request->imm);
	if (!vc_op_is_send(request->op))
		fill_remote(run, qp, request, wr);
	if (run->program->transport == VC_TRANSPORT_UD)
		fill_datagram(run, qp, request, wr);
	if (run->program->transport == VC_TRANSPORT_XRC)
		wr->qp_type.xrc.remote_srqn = run->endpoint->remote_srqns[request->to];
}

static uint32_t request_room(const struct vc_run *run, uint32_t qp)
{
	const struct vc_lane *lane = &run->program->sides[run->side].lanes[qp];
	const struct vc_lane_run *at = &run->lanes[qp];
	uint32_t limit = lane->phases[run->phase].request_post;
	uint32_t room = lane->send_depth - (at->request_posted - at->request_done);

	return limit - at->request_posted < room ? limit - at->request_posted : room;
}

/* The list that starts at the next request, no longer than the room. */
static uint32_t chain_length(const struct vc_lane *lane, uint32_t first, uint32_t room)
{
	uint32_t count = 1;

	while (count < room && count < VC_CHAIN_MAX &&
	       (lane->requests[first + count - 1].flags & VC_CHAINED))
		count++;
	return count;
}

static enum vc_verdict post_chain(struct vc_run *run, uint32_t qp, uint32_t count)
{
	struct ibv_sge sges[VC_CHAIN_MAX][VC_SGE_MAX];
	struct ibv_send_wr wrs[VC_CHAIN_MAX];
	struct ibv_send_wr *bad = NULL;
	uint32_t first = run->lanes[qp].request_posted;
	const struct vc_lane *lane = &run->program->sides[run->side].lanes[qp];
	char text[128];
	int error;

	for (uint32_t i = 0; i < count; i++) {
		fill_request(run, qp, first + i, &wrs[i], sges[i]);
		wrs[i].next = i + 1 < count ? &wrs[i + 1] : NULL;
	}
	if (run->endpoint->builders[qp])
		error = vc_post_by_builder(run->endpoint->builders[qp], wrs,
					   run->endpoint->qps[qp]->qp_type);
	else
		error = ibv_post_send(run->endpoint->qps[qp], wrs, &bad);
	if (error)
		return vc_report_wrong(
			run->report, "%s of %s: %s",
			run->endpoint->builders[qp] ? "ibv_wr_complete" : "ibv_post_send",
			vc_request_describe(run->program, run->side, qp,
					    first + (bad ? (uint32_t)(bad - wrs) : 0), text,
					    sizeof(text)),
			strerror(error));
	for (uint32_t i = 0; i < count; i++)
		if (lane->requests[first + i].flags & VC_INLINE)
			vc_memory_scribble(run->memory, run->program, run->side,
					   &lane->requests[first + i]);
	run->lanes[qp].request_posted += count;
	return VC_RIGHT;
}

enum vc_verdict vc_run_post_requests(struct vc_run *run, uint32_t qp, uint32_t *out_count)
{
	const struct vc_lane *lane = &run->program->sides[run->side].lanes[qp];

	for (;;) {
		uint32_t room = request_room(run, qp);
		enum vc_verdict verdict;
		uint32_t count;

		if (!room)
			return VC_RIGHT;
		count = chain_length(lane, run->lanes[qp].request_posted, room);
		verdict = post_chain(run, qp, count);
		if (verdict != VC_RIGHT)
			return verdict;
		*out_count += count;
	}
}

enum vc_verdict vc_run_post_receives(struct vc_run *run, uint32_t qp, uint32_t limit,
				     uint32_t *out_count)
{
	const struct vc_lane *lane = &run->program->sides[run->side].lanes[qp];
	struct vc_lane_run *at = &run->lanes[qp];

	while (at->receive_posted < limit &&
	       at->receive_posted - at->receive_done < lane->receive_depth) {
		uint32_t room = lane->receive_depth - (at->receive_posted - at->receive_done);
		struct ibv_sge sges[VC_CHAIN_MAX][VC_SGE_MAX];
		struct ibv_recv_wr wrs[VC_CHAIN_MAX];
		struct ibv_recv_wr *bad = NULL;
		uint32_t count = limit - at->receive_posted;
		int error;

		count = count < room ? count : room;
		count = count < VC_CHAIN_MAX ? count : VC_CHAIN_MAX;
		for (uint32_t i = 0; i < count; i++) {
			uint32_t index = at->receive_posted + i;
			const struct vc_receive *receive = &lane->receives[index];

			wrs[i] = (struct ibv_recv_wr){
				.wr_id = vc_receive_wr_id(run->program, run->side, qp, index),
				.next = i + 1 < count ? &wrs[i + 1] : NULL,
				.sg_list = sges[i],
				.num_sge = (int)fill_sges(run, receive->piece_first,
							  receive->piece_count, receive->flags,
							  sges[i]),
			};
			if (run->program->transport == VC_TRANSPORT_UD)
				vc_grh_blank(run, receive);
		}
		error = run->program->is_shared
				? ibv_post_srq_recv(run->endpoint->srqs[qp], wrs, &bad)
				: ibv_post_recv(run->endpoint->qps[qp], wrs, &bad);
		if (error)
			return vc_report_wrong(run->report, "posting receive %u of %s qp %u: %s",
					       at->receive_posted +
						       (bad ? (uint32_t)(bad - wrs) : 0),
					       vc_side_str(run->side), qp, strerror(error));
		at->receive_posted += count;
		*out_count += count;
	}
	return VC_RIGHT;
}
