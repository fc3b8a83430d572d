/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One side's memory: what the device works on, and an image of what it must hold. Everything is
 * filled with a background pattern, sources with their payloads; at the end of a seed the arrivals
 * are applied to the image and every byte is compared, so that a byte written beside a target is
 * found as surely as a wrong one in it. Completions check the bytes that they promise as they come.
 */
#ifndef VERBS_CHECK_MEMORY_H
#define VERBS_CHECK_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "tools/verbs_check/program.h"
#include "tools/verbs_check/report.h"

struct vc_memory {
	uint8_t *bytes;
	uint8_t *image;
	size_t capacity;
};

void vc_memory_fini(struct vc_memory *memory);
enum vc_verdict vc_memory_prepare(struct vc_memory *memory, const struct vc_program *program,
				  uint32_t side, struct vc_report *report);
uint8_t *vc_memory_at(const struct vc_memory *memory, const struct vc_program *program,
		      uint32_t side, const struct vc_piece *piece);
/* An inline source is free once posted: overwrites it. */
void vc_memory_scribble(struct vc_memory *memory, const struct vc_program *program, uint32_t side,
			const struct vc_request *request);

/* A READ or atomic of this side has completed. */
enum vc_verdict vc_memory_check_fetched(const struct vc_memory *memory,
					const struct vc_program *program, uint32_t side,
					uint32_t qp, uint32_t index, struct vc_report *report);
/* Request `index` of the other side has arrived here. */
enum vc_verdict vc_memory_check_arrived(const struct vc_memory *memory,
					const struct vc_program *program, uint32_t side,
					uint32_t qp, uint32_t index, struct vc_report *report);
/* All that this side's memory must hold at the end of the seed. */
enum vc_verdict vc_memory_check_all(struct vc_memory *memory, const struct vc_program *program,
				    uint32_t side, struct vc_report *report);

/* "client qp 1 request 17 (write, 4097 bytes)" */
const char *vc_request_describe(const struct vc_program *program, uint32_t side, uint32_t qp,
				uint32_t index, char *text, size_t size);
const char *vc_side_str(uint32_t side);

#endif
