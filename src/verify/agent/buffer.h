/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registered memory, and a pattern whose bytes depend on their place and on a seed, so that a byte
 * at a wrong place is as visible as a wrong byte.
 */
#ifndef VERIFY_AGENT_BUFFER_H
#define VERIFY_AGENT_BUFFER_H

#include "verify/agent/device.h"

#define VA_ACCESS_ALL                                                                \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_ATOMIC)

struct va_buffer {
	uint8_t *at; /* page-aligned */
	size_t bytes;
	struct ibv_mr *mr;
};

/* What the other side needs to reach a buffer. */
struct va_remote {
	uint64_t address;
	uint32_t rkey;
	uint64_t bytes;
};

void va_buffer_create(struct va_run *run, struct va_device *device, size_t bytes,
		      unsigned int access, struct va_buffer *out);
/* For what may be refused: false, and errno of mmap() (no `at` then) or of ibv_reg_mr(). */
bool va_buffer_try(struct va_device *device, size_t bytes, unsigned int access,
		   struct va_buffer *out);
void va_buffer_destroy(struct va_run *run, struct va_buffer *buffer);

/* Each side tells of one buffer and hears of the other's. */
void va_buffer_exchange(struct va_run *run, const struct va_buffer *own, struct va_remote *out);

/* What the bytes of one side follow from where both send: this side's own, or the other's. */
uint64_t va_seed(const struct va_run *run, bool is_own);
/* Bytes [offset, offset + length) of the pattern. */
void va_pattern_fill(uint8_t *at, size_t length, uint64_t seed, uint64_t offset);
/* How many are right before the first wrong one; `length` if all are. */
size_t va_pattern_check(const uint8_t *at, size_t length, uint64_t seed, uint64_t offset);
uint8_t va_pattern_byte(uint64_t seed, uint64_t offset);
/* va_fail() with place, expected and found; `what` names the memory. */
void va_pattern_must(struct va_run *run, const uint8_t *at, size_t length, uint64_t seed,
		     uint64_t offset, const char *what);
/* va_fail() unless each byte is still `filler`. */
void va_filler_must(struct va_run *run, const uint8_t *at, size_t length, uint8_t filler,
		    const char *what);

#endif
