/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filling and comparing. The image is built in the order in which one QP's requests are executed,
 * so that an overwritten target ends with the later payload. Requests that are not executed leave
 * no trace in the image; targets that a failed request may have touched are taken over as they are.
 */
#include "tools/verbs_check/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "tools/verbs_check/pattern.h"

const char *vc_side_str(uint32_t side)
{
	return side ? "client" : "server";
}

const char *vc_request_describe(const struct vc_program *program, uint32_t side, uint32_t qp,
				uint32_t index, char *text, size_t size)
{
	const struct vc_request *request = &program->sides[side].lanes[qp].requests[index];

	(void)snprintf(text, size, "%s qp %u request %u (%s, %u bytes%s%s)", vc_side_str(side), qp,
		       index, vc_op_str(request->op), request->length,
		       request->flags & VC_INLINE ? ", inline" : "",
		       request->flags & VC_FENCE ? ", fence" : "");
	return text;
}

static void unmap(uint8_t *bytes, size_t capacity)
{
	if (bytes)
		(void)munmap(bytes, capacity);
}

void vc_memory_fini(struct vc_memory *memory)
{
	unmap(memory->bytes, memory->capacity);
	unmap(memory->image, memory->capacity);
	*memory = (struct vc_memory){0};
}

static uint8_t *map(size_t capacity)
{
	void *bytes =
		mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return bytes == MAP_FAILED ? NULL : bytes;
}

static enum vc_verdict reserve(struct vc_memory *memory, uint64_t bytes, struct vc_report *report)
{
	size_t capacity = 1u << 22;

	if (bytes <= memory->capacity)
		return VC_RIGHT;
	while (capacity < bytes)
		capacity *= 2;
	vc_memory_fini(memory);
	memory->capacity = capacity;
	memory->bytes = map(capacity);
	memory->image = map(capacity);
	if (!memory->bytes || !memory->image)
		return vc_report_unusable(
			report, "no %zu bytes of memory for this seed (--max-size)", capacity);
	return VC_RIGHT;
}

static uint64_t offset_of(const struct vc_program *program, uint32_t side,
			  const struct vc_piece *piece)
{
	return program->sides[side].mrs[piece->mr].base + piece->offset;
}

uint8_t *vc_memory_at(const struct vc_memory *memory, const struct vc_program *program,
		      uint32_t side, const struct vc_piece *piece)
{
	return memory->bytes + offset_of(program, side, piece);
}

static void fill_piece(uint8_t *base, const struct vc_program *program, uint32_t side,
		       const struct vc_piece *piece, const struct vc_request *request)
{
	vc_pattern_fill(base + offset_of(program, side, piece), piece->length, request->payload_key,
			request->payload_offset);
}

/* The first `request->length` bytes of a scatter/gather list. */
static void fill_list(uint8_t *base, const struct vc_program *program, uint32_t side,
		      uint32_t piece_first, uint32_t piece_count, const struct vc_request *request)
{
	uint32_t done = 0;

	for (uint32_t i = 0; i < piece_count && done < request->length; i++) {
		const struct vc_piece *piece = &program->sides[side].pieces[piece_first + i];
		uint32_t part = request->length - done;

		if (part > piece->length)
			part = piece->length;
		vc_pattern_fill(base + offset_of(program, side, piece), part, request->payload_key,
				request->payload_offset + done);
		done += part;
	}
}

static void put_u64(uint8_t *base, const struct vc_program *program, uint32_t side,
		    const struct vc_piece *piece, uint64_t value)
{
	memcpy(base + offset_of(program, side, piece), &value, sizeof(value));
}

/* Own requests' sources go to `bytes` only when inline, for they are overwritten once posted. */
static void fill_sources(struct vc_memory *memory, const struct vc_program *program, uint32_t side,
			 bool inline_ones)
{
	uint8_t *base = inline_ones ? memory->bytes : memory->image;

	for (uint32_t q = 0; q < program->qp_count; q++) {
		const struct vc_lane *lane = &program->sides[side].lanes[q];

		for (uint32_t i = 0; i < lane->request_count; i++) {
			const struct vc_request *request = &lane->requests[i];

			if ((!vc_op_is_send(request->op) && !vc_op_is_write(request->op)) ||
			    (request->flags & VC_FORWARD) ||
			    !(request->flags & VC_INLINE) == inline_ones)
				continue;
			fill_list(base, program, side, request->piece_first, request->piece_count,
				  request);
		}
	}
}

/* What the other side will READ here. */
static void fill_read_sources(struct vc_memory *memory, const struct vc_program *program,
			      uint32_t side)
{
	for (uint32_t q = 0; q < program->qp_count; q++) {
		const struct vc_lane *lane = &program->sides[!side].lanes[q];

		for (uint32_t i = 0; i < lane->request_count; i++) {
			const struct vc_request *request = &lane->requests[i];

			if (request->op == VC_OP_READ && request->status == IBV_WC_SUCCESS &&
			    !(request->flags & VC_READ_BACK))
				fill_piece(memory->image, program, side, &request->remote, request);
		}
	}
}

enum vc_verdict vc_memory_prepare(struct vc_memory *memory, const struct vc_program *program,
				  uint32_t s, struct vc_report *report)
{
	const struct vc_side *side = &program->sides[s];
	enum vc_verdict verdict = reserve(memory, side->memory_bytes, report);

	if (verdict != VC_RIGHT)
		return verdict;
	vc_pattern_fill(memory->image, side->memory_bytes, side->background_key, 0);
	fill_sources(memory, program, s, false);
	fill_read_sources(memory, program, s);
	for (uint32_t c = 0; c < side->cell_count; c++)
		put_u64(memory->image, program, s, &side->cells[c].at, side->cells[c].initial);
	memcpy(memory->bytes, memory->image, side->memory_bytes);
	fill_sources(memory, program, s, true);
	return VC_RIGHT;
}

void vc_memory_scribble(struct vc_memory *memory, const struct vc_program *program, uint32_t side,
			const struct vc_request *request)
{
	for (uint32_t i = 0; i < request->piece_count; i++) {
		const struct vc_piece *piece =
			&program->sides[side].pieces[request->piece_first + i];
		uint64_t offset = offset_of(program, side, piece);

		memcpy(memory->bytes + offset, memory->image + offset, piece->length);
	}
}

static enum vc_verdict report_mismatch(const struct vc_program *program, uint32_t side, uint32_t qp,
				       uint32_t index, uint64_t done,
				       const struct vc_mismatch *mismatch, struct vc_report *report)
{
	char text[128];

	return vc_report_wrong(report,
			       "%s: byte %" PRIu64 " of the message: expected 0x%02x, found 0x%02x",
			       vc_request_describe(program, side, qp, index, text, sizeof(text)),
			       done + mismatch->offset, mismatch->expected, mismatch->found);
}

/* Request `index` of `side` has put its payload into a list of `owner`. */
static enum vc_verdict check_list(const struct vc_memory *memory, const struct vc_program *program,
				  uint32_t side, uint32_t qp, uint32_t index, uint32_t owner,
				  uint32_t piece_first, uint32_t piece_count,
				  struct vc_report *report)
{
	const struct vc_request *request = &program->sides[side].lanes[qp].requests[index];
	struct vc_mismatch mismatch;
	uint32_t done = 0;

	for (uint32_t i = 0; i < piece_count && done < request->length; i++) {
		const struct vc_piece *piece = &program->sides[owner].pieces[piece_first + i];
		uint32_t part = request->length - done;

		if (part > piece->length)
			part = piece->length;
		if (!vc_pattern_check(vc_memory_at(memory, program, owner, piece), part,
				      request->payload_key, request->payload_offset + done,
				      &mismatch))
			return report_mismatch(program, side, qp, index, done, &mismatch, report);
		done += part;
	}
	return VC_RIGHT;
}

enum vc_verdict vc_memory_check_fetched(const struct vc_memory *memory,
					const struct vc_program *program, uint32_t side,
					uint32_t qp, uint32_t index, struct vc_report *report)
{
	const struct vc_request *request = &program->sides[side].lanes[qp].requests[index];
	const struct vc_piece *piece = &program->sides[side].pieces[request->piece_first];
	uint64_t found;
	char text[128];

	if (request->op == VC_OP_READ)
		return check_list(memory, program, side, qp, index, side, request->piece_first,
				  request->piece_count, report);
	if (request->flags & VC_SHARED)
		return VC_RIGHT;
	memcpy(&found, vc_memory_at(memory, program, side, piece), sizeof(found));
	if (found == request->original)
		return VC_RIGHT;
	return vc_report_wrong(report,
			       "%s: original value: expected 0x%016" PRIx64 ", found 0x%016" PRIx64,
			       vc_request_describe(program, side, qp, index, text, sizeof(text)),
			       request->original, found);
}

enum vc_verdict vc_memory_check_arrived(const struct vc_memory *memory,
					const struct vc_program *program, uint32_t side,
					uint32_t qp, uint32_t index, struct vc_report *report)
{
	const struct vc_request *request = &program->sides[!side].lanes[qp].requests[index];
	const struct vc_receive *receive;
	struct vc_mismatch mismatch;

	if (vc_op_is_send(request->op)) {
		receive = &program->sides[side].lanes[qp].receives[request->receive];
		return check_list(memory, program, !side, qp, index, side, receive->piece_first,
				  receive->piece_count, report);
	}
	if (!vc_op_is_write(request->op) || (request->flags & VC_SUPERSEDED) ||
	    vc_pattern_check(vc_memory_at(memory, program, side, &request->remote), request->length,
			     request->payload_key, request->payload_offset, &mismatch))
		return VC_RIGHT;
	return report_mismatch(program, !side, qp, index, 0, &mismatch, report);
}

/* Takes over what is there, where no byte is promised. */
static void accept_piece(struct vc_memory *memory, const struct vc_program *program, uint32_t side,
			 const struct vc_piece *piece)
{
	uint64_t offset = offset_of(program, side, piece);

	memcpy(memory->image + offset, memory->bytes + offset, piece->length);
}

static void accept_list(struct vc_memory *memory, const struct vc_program *program, uint32_t side,
			uint32_t piece_first, uint32_t piece_count)
{
	for (uint32_t i = 0; i < piece_count; i++)
		accept_piece(memory, program, side, &program->sides[side].pieces[piece_first + i]);
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
		fill_list(memory->image, program, side, request->piece_first, request->piece_count,
			  request);
	else if (request->flags & VC_SHARED)
		accept_piece(memory, program, side, piece);
	else if (vc_op_is_atomic(request->op))
		put_u64(memory->image, program, side, piece, request->original);
}

static void expect_arrived(struct vc_memory *memory, const struct vc_program *program,
			   uint32_t side, uint32_t qp, const struct vc_request *request)
{
	const struct vc_receive *receive;

	if (vc_op_is_write(request->op) && (request->flags & VC_UNDEFINED))
		accept_piece(memory, program, side, &request->remote);
	if (request->status != IBV_WC_SUCCESS)
		return;
	if (vc_op_is_write(request->op))
		fill_piece(memory->image, program, side, &request->remote, request);
	if (!vc_op_is_send(request->op))
		return;
	receive = &program->sides[side].lanes[qp].receives[request->receive];
	fill_list(memory->image, program, side, receive->piece_first, receive->piece_count,
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

static bool covers(const struct vc_program *program, uint32_t side, const struct vc_piece *piece,
		   uint64_t offset)
{
	return offset - offset_of(program, side, piece) < piece->length;
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
				    uint32_t side, struct vc_report *report)
{
	uint64_t count = program->sides[side].memory_bytes;
	const struct vc_side *mine = &program->sides[side];
	char owner[200];
	uint64_t at = 0;

	for (uint32_t q = 0; q < program->qp_count; q++)
		expect_lane(memory, program, side, q);
	for (uint32_t c = 0; c < mine->cell_count; c++)
		put_u64(memory->image, program, side, &mine->cells[c].at, mine->cells[c].value);
	if (memcmp(memory->bytes, memory->image, count) == 0)
		return VC_RIGHT;
	while (memory->bytes[at] == memory->image[at])
		at++;
	describe_owner(program, side, at, owner, sizeof(owner));
	return vc_report_wrong(report,
			       "%s memory, byte %" PRIu64 " (%s): expected 0x%02x, found 0x%02x",
			       vc_side_str(side), at, owner, memory->image[at], memory->bytes[at]);
}
