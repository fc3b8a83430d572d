/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Powers of two: the depths of queues and rings, whose indexes then wrap by a mask. The callers
 * have checked that what is asked for is not above their limits, all far below 2^31.
 */
#ifndef ROCE_BASE_POW2_H
#define ROCE_BASE_POW2_H

#include <stdint.h>

/* The least power of two that holds n, at least 1; n is at most 2^31. */
static inline uint32_t roce_pow2_round_up(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

#endif
