/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One side's memory: what the device works on, and an image of what it must hold. Everything is
 * filled with a background pattern, sources with their payloads; at the end of a seed the arrivals
 * are applied to the image and every byte is compared, so that a byte written beside a target is
 * found as surely as a wrong one in it. Completions check the bytes that they promise as they come.
 */
#ifndef VERBS_CHECK_MEMORY_H
#define VERBS_CHECK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/verbs_check/arrival.h"
#include "tools/verbs_check/pattern.h"
#include "tools/verbs_check/program.h"
#include "tools/verbs_check/report.h"

struct vc_memory {
	uint8_t *bytes;
	uint8_t *image;
	size_t capacity;
};

/* A scatter/gather list of a side, of which the first bytes are not the message's. */
struct vc_list {
	uint32_t first; /* in the side's pieces */
	uint32_t count;
	uint32_t skip;
};

static inline uint64_t vc_memory_offset(const struct vc_program *program, uint32_t side,
					const struct vc_piece *piece)
{
	return program->sides[side].mrs[piece->mr].base + piece->offset;
}

void vc_memory_fini(struct vc_memory *memory);
enum vc_verdict vc_memory_prepare(struct vc_memory *memory, const struct vc_program *program,
				  uint32_t side, struct vc_report *report);
uint8_t *vc_memory_at(const struct vc_memory *memory, const struct vc_program *program,
		      uint32_t side, const struct vc_piece *piece);
/* An inline source is free once posted: overwrites it. */
void vc_memory_scribble(struct vc_memory *memory, const struct vc_program *program, uint32_t side,
			const struct vc_request *request);

/* Puts a request's payload into a list or stretch of memory or image. */
void vc_memory_fill_list(uint8_t *base, const struct vc_program *program, uint32_t side,
			 const struct vc_list *list, const struct vc_request *request);
void vc_memory_fill_piece(uint8_t *base, const struct vc_program *program, uint32_t side,
			  const struct vc_piece *piece, const struct vc_request *request);
void vc_memory_put_u64(uint8_t *base, const struct vc_program *program, uint32_t side,
		       const struct vc_piece *piece, uint64_t value);
/* That a list of `side` holds a request's payload; out_mismatch counts from the message's start. */
bool vc_memory_check_list(const struct vc_memory *memory, const struct vc_program *program,
			  uint32_t side, const struct vc_list *list,
			  const struct vc_request *request, struct vc_mismatch *out_mismatch);

/* A READ or atomic of this side has completed. */
enum vc_verdict vc_memory_check_fetched(const struct vc_memory *memory,
					const struct vc_program *program, uint32_t side,
					uint32_t qp, uint32_t index, struct vc_report *report);
/* Request `index` of the other side has arrived here. */
enum vc_verdict vc_memory_check_arrived(const struct vc_memory *memory,
					const struct vc_program *program, uint32_t side,
					uint32_t qp, uint32_t index, struct vc_report *report);
/* All that this side's memory must hold at the end of the seed; arrivals: of an open one. */
enum vc_verdict vc_memory_check_all(struct vc_memory *memory, const struct vc_program *program,
				    uint32_t side, const struct vc_arrivals *arrivals,
				    struct vc_report *report);

/* "client qp 1 request 17 (write, 4097 bytes)" */
const char *vc_request_describe(const struct vc_program *program, uint32_t side, uint32_t qp,
				uint32_t index, char *text, size_t size);
const char *vc_side_str(uint32_t side);

#endif
