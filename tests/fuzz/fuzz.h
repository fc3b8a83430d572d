/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all fuzz targets need: reading an input as a program, byte by byte (behind the end stand
 * zeros), and a requirement that ends the run when it does not hold, with a line that says so.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t fuzz_u8(struct fuzz_input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

static inline uint16_t fuzz_u16(struct fuzz_input *in)
{
	uint8_t low = fuzz_u8(in);

	return (uint16_t)(low | fuzz_u8(in) << 8);
}

/* Copies `count` bytes. */
static inline void fuzz_bytes(struct fuzz_input *in, uint8_t *to, size_t count)
{
	size_t here = count < in->left ? count : in->left;

	if (here)
		memcpy(to, in->at, here);
	memset(to + here, 0, count - here);
	in->at += here;
	in->left -= here;
}

static inline void fuzz_require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

#endif
