/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filling memory before a seed, and comparing what a completion promises. The image of the end is
 * made in image.c.
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

uint8_t *vc_memory_at(const struct vc_memory *memory, const struct vc_program *program,
		      uint32_t side, const struct vc_piece *piece)
{
	return memory->bytes + vc_memory_offset(program, side, piece);
}

void vc_memory_fill_piece(uint8_t *base, const struct vc_program *program, uint32_t side,
			  const struct vc_piece *piece, const struct vc_request *request)
{
	vc_pattern_fill(base + vc_memory_offset(program, side, piece), piece->length,
			request->payload_key, request->payload_offset);
}

/* The payload's place in piece `index` of a list, behind `skip` bytes that are not of it; advances
 * both. False when the piece holds nothing of it. */
static bool find_part(const struct vc_piece *piece, const struct vc_request *request,
		      uint32_t *skip, uint32_t done, struct vc_piece *out_part)
{
	uint32_t before = *skip < piece->length ? *skip : piece->length;
	uint32_t part = piece->length - before;

	*skip -= before;
	if (part > request->length - done)
		part = request->length - done;
	*out_part = *piece;
	out_part->offset += before;
	out_part->length = part;
	return part > 0;
}

void vc_memory_fill_list(uint8_t *base, const struct vc_program *program, uint32_t side,
			 const struct vc_list *list, const struct vc_request *request)
{
	uint32_t skip = list->skip;
	uint32_t done = 0;

	for (uint32_t i = 0; i < list->count && done < request->length; i++) {
		struct vc_piece part;

		if (!find_part(&program->sides[side].pieces[list->first + i], request, &skip, done,
			       &part))
			continue;
		vc_pattern_fill(base + vc_memory_offset(program, side, &part), part.length,
				request->payload_key, request->payload_offset + done);
		done += part.length;
	}
}

bool vc_memory_check_list(const struct vc_memory *memory, const struct vc_program *program,
			  uint32_t side, const struct vc_list *list,
			  const struct vc_request *request, struct vc_mismatch *out_mismatch)
{
	uint32_t skip = list->skip;
	uint32_t done = 0;

	for (uint32_t i = 0; i < list->count && done < request->length; i++) {
		struct vc_piece part;

		if (!find_part(&program->sides[side].pieces[list->first + i], request, &skip, done,
			       &part))
			continue;
		if (!vc_pattern_check(vc_memory_at(memory, program, side, &part), part.length,
				      request->payload_key, request->payload_offset + done,
				      out_mismatch)) {
			out_mismatch->offset += done;
			return false;
		}
		done += part.length;
	}
	return true;
}

void vc_memory_put_u64(uint8_t *base, const struct vc_program *program, uint32_t side,
		       const struct vc_piece *piece, uint64_t value)
{
	memcpy(base + vc_memory_offset(program, side, piece), &value, sizeof(value));
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
			vc_memory_fill_list(
				base, program, side,
				&(struct vc_list){request->piece_first, request->piece_count, 0},
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
				vc_memory_fill_piece(memory->image, program, side, &request->remote,
						     request);
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
		vc_memory_put_u64(memory->image, program, s, &side->cells[c].at,
				  side->cells[c].initial);
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
		uint64_t offset = vc_memory_offset(program, side, piece);

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
	struct vc_list list = {piece_first, piece_count, 0};
	struct vc_mismatch mismatch;

	if (vc_memory_check_list(memory, program, owner, &list, request, &mismatch))
		return VC_RIGHT;
	return report_mismatch(program, side, qp, index, 0, &mismatch, report);
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
