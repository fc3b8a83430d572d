/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes that a message, or a stretch of untouched memory, must have: a function of a 64-bit key
 * and the byte's offset, so that the receiving side knows them without being told. Every byte
 * depends on its offset, so a shifted, repeated or swapped packet differs from the pattern.
 */
#ifndef VERBS_CHECK_PATTERN_H
#define VERBS_CHECK_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vc_mismatch {
	uint64_t offset; /* from the start of what was checked */
	uint8_t expected;
	uint8_t found;
};

uint8_t vc_pattern_byte(uint64_t key, uint64_t offset);
void vc_pattern_fill(uint8_t *to, size_t length, uint64_t key, uint64_t offset);
/* True when all bytes are right; otherwise out_mismatch names the first wrong one. */
bool vc_pattern_check(const uint8_t *from, size_t length, uint64_t key, uint64_t offset,
		      struct vc_mismatch *out_mismatch);

#endif
