/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a side's memory must hold at the end, and the comparison of every byte. The image is built
 * in the order in which one QP's requests are executed, so that an overwritten target ends with the
 * later payload. Requests that are not executed leave no trace in the image; targets that a failed
 * or lost request may have touched are taken over as they are, but only as far as it may.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/verbs_check/memory.h"
#include "tools/verbs_check/open_program.h"

/* Takes over what is there, where no byte is promised. */
static void accept_piece(struct vc_memory *memory, const struct vc_program *program, uint32_t side,
			 const struct vc_piece *piece)
{
	uint64_t offset = vc_memory_offset(program, side, piece);

	memcpy(memory->image + offset, memory->bytes + offset, piece->length);
}

static void accept_list(struct vc_memory *memory, const struct vc_program *program, uint32_t side,
			uint32_t piece_first, uint32_t piece_count)
{
	for (uint32_t i = 0; i < piece_count; i++)
		accept_piece(memory, program, side, &program->sides[side].pieces[piece_first + i]);
}

/* The first `list->skip` bytes of a list. */
static void accept_head(struct vc_memory *memory, const struct vc_program *program, uint32_t side,
			const struct vc_list *list)
{
	uint32_t left = list->skip;

	for (uint32_t i = 0; i < list->count && left; i++) {
		struct vc_piece piece = program->sides[side].pieces[list->first + i];

		if (piece.length > left)
			piece.length = left;
		accept_piece(memory, program, side, &piece);
		left -= piece.length;
	}
}

static void expect_fetched(struct vc_memory *memory, const struct vc_program *program,
			   uint32_t side, const struct vc_request *request)
{
	const struct vc_piece *piece = &program->sides[side].pieces[request->piece_first];

	if (request->op == VC_OP_READ && (request->flags & VC_UNDEFINED))
		accept_list(memory, program, side, request->piece_first, request->piece_count);
	if (request->status != IBV_WC_SUCCESS)
		return;
	if (request->op == VC_OP_READ)
		vc_memory_fill_list(
			memory->image, program, side,
			&(struct vc_list){request->piece_first, request->piece_count, 0}, request);
	else if (request->flags & VC_SHARED)
		accept_piece(memory, program, side, piece);
	else if (vc_op_is_atomic(request->op))
		vc_memory_put_u64(memory->image, program, side, piece, request->original);
}

/* An unreliable WRITE has left the packets up to the first one lost. */
static void expect_prefix(struct vc_memory *memory, const struct vc_program *program, uint32_t side,
			  const struct vc_request *request)
{
	uint64_t offset = vc_memory_offset(program, side, &request->remote);
	uint32_t mtu = vc_mtu_bytes(program->mtu);
	struct vc_mismatch mismatch;

	for (uint32_t done = 0; done < request->length; done += mtu) {
		uint32_t part = request->length - done < mtu ? request->length - done : mtu;

		if (!vc_pattern_check(memory->bytes + offset + done, part, request->payload_key,
				      request->payload_offset + done, &mismatch))
			return;
		vc_pattern_fill(memory->image + offset + done, part, request->payload_key,
				request->payload_offset + done);
	}
}

static void expect_arrived(struct vc_memory *memory, const struct vc_program *program,
			   uint32_t side, uint32_t qp, const struct vc_request *request)
{
	const struct vc_receive *receive;

	if (vc_op_is_write(request->op) && (request->flags & VC_UNDEFINED))
		accept_piece(memory, program, side, &request->remote);
	if (request->status != IBV_WC_SUCCESS || (request->flags & VC_LOST))
		return;
	if (vc_op_is_write(request->op) && !vc_program_is_reliable(program) && !program->all_arrive)
		expect_prefix(memory, program, side, request);
	else if (vc_op_is_write(request->op))
		vc_memory_fill_piece(memory->image, program, side, &request->remote, request);
	if (!vc_op_is_send(request->op) || program->is_open)
		return;
	receive = &program->sides[side].lanes[qp].receives[request->receive];
	vc_memory_fill_list(memory->image, program, side,
			    &(struct vc_list){receive->piece_first, receive->piece_count, 0},
			    request);
}

static void expect_lane(struct vc_memory *memory, const struct vc_program *program, uint32_t side,
			uint32_t qp)
{
	const struct vc_lane *lane = &program->sides[side].lanes[qp];
	const struct vc_lane *peer = &program->sides[!side].lanes[qp];

	for (uint32_t i = 0; i < lane->request_count; i++)
		expect_fetched(memory, program, side, &lane->requests[i]);
	for (uint32_t i = 0; i < peer->request_count; i++)
		expect_arrived(memory, program, side, qp, &peer->requests[i]);
	for (uint32_t i = 0; i < lane->receive_count; i++)
		if (lane->receives[i].flags & VC_UNDEFINED)
			accept_list(memory, program, side, lane->receives[i].piece_first,
				    lane->receives[i].piece_count);
}

/* The receives of an open seed, filled by whatever message came. */
static void expect_pool(struct vc_memory *memory, const struct vc_program *program, uint32_t side,
			uint32_t pool, const struct vc_taken *taken)
{
	const struct vc_lane *lane = &program->sides[side].lanes[pool];

	for (uint32_t i = 0; i < lane->receive_count; i++) {
		const struct vc_receive *receive = &lane->receives[i];
		struct vc_list list = {receive->piece_first, receive->piece_count, 0};
		const struct vc_request *request;

		/* UC: messages that were not completed have used it before. UD: the header is
		 * checked when the message comes. */
		if (program->transport == VC_TRANSPORT_UC)
			accept_list(memory, program, side, list.first, list.count);
		if (program->transport == VC_TRANSPORT_UD) {
			list.skip = VC_GRH_BYTES;
			accept_head(memory, program, side, &list);
		}
		if (!taken || !taken[i].is_filled)
			continue;
		request = &program->sides[taken[i].from]
				   .lanes[taken[i].lane]
				   .requests[taken[i].request];
		if (vc_op_is_send(request->op))
			vc_memory_fill_list(memory->image, program, side, &list, request);
	}
}

static bool covers(const struct vc_program *program, uint32_t side, const struct vc_piece *piece,
		   uint64_t offset)
{
	return offset - vc_memory_offset(program, side, piece) < piece->length;
}

static bool list_covers(const struct vc_program *program, uint32_t side, uint32_t piece_first,
			uint32_t piece_count, uint64_t offset)
{
	for (uint32_t i = 0; i < piece_count; i++)
		if (covers(program, side, &program->sides[side].pieces[piece_first + i], offset))
			return true;
	return false;
}

/* Whose memory a byte is, for the report: a request's, a receive's, a cell, or nobody's. */
static void describe_owner(const struct vc_program *program, uint32_t s, uint64_t offset,
			   char *text, size_t size)
{
	const struct vc_side *side = &program->sides[s];
	char request[128];

	for (uint32_t q = 0; q < program->qp_count; q++) {
		const struct vc_lane *lane = &side->lanes[q];
		const struct vc_lane *peer = &program->sides[!s].lanes[q];

		for (uint32_t i = 0; i < lane->receive_count; i++) {
			if (!list_covers(program, s, lane->receives[i].piece_first,
					 lane->receives[i].piece_count, offset))
				continue;
			(void)snprintf(text, size, "in receive %u of qp %u", i, q);
			return;
		}
		for (uint32_t i = peer->request_count; i-- > 0;) {
			if (vc_op_is_send(peer->requests[i].op) ||
			    !covers(program, s, &peer->requests[i].remote, offset))
				continue;
			(void)snprintf(
				text, size, "in the target of %s",
				vc_request_describe(program, !s, q, i, request, sizeof(request)));
			return;
		}
		for (uint32_t i = 0; i < lane->request_count; i++) {
			if (!list_covers(program, s, lane->requests[i].piece_first,
					 lane->requests[i].piece_count, offset))
				continue;
			(void)snprintf(
				text, size, "in local memory of %s",
				vc_request_describe(program, s, q, i, request, sizeof(request)));
			return;
		}
	}
	(void)snprintf(text, size, "in memory that belongs to no request");
}

enum vc_verdict vc_memory_check_all(struct vc_memory *memory, const struct vc_program *program,
				    uint32_t side, const struct vc_arrivals *arrivals,
				    struct vc_report *report)
{
	uint64_t count = program->sides[side].memory_bytes;
	const struct vc_side *mine = &program->sides[side];
	char owner[200];
	uint64_t at = 0;

	for (uint32_t q = 0; q < program->qp_count; q++)
		expect_lane(memory, program, side, q);
	for (uint32_t p = 0; program->is_open && p < mine->pool_count; p++)
		expect_pool(memory, program, side, p, arrivals->taken[p]);
	for (uint32_t c = 0; c < mine->cell_count; c++)
		vc_memory_put_u64(memory->image, program, side, &mine->cells[c].at,
				  mine->cells[c].value);
	if (memcmp(memory->bytes, memory->image, count) == 0)
		return VC_RIGHT;
	while (memory->bytes[at] == memory->image[at])
		at++;
	describe_owner(program, side, at, owner, sizeof(owner));
	return vc_report_wrong(report,
			       "%s memory, byte %" PRIu64 " (%s): expected 0x%02x, found 0x%02x",
			       vc_side_str(side), at, owner, memory->image[at], memory->bytes[at]);
}
