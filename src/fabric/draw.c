/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * -ln(u) * mean, for u uniform in (0, 1]. The logarithm to base 2 is the position of the highest
 * bit and, bit by bit, what repeated squaring of the rest gives.
 */
#include "fabric/draw.h"

#define FRACTION_BITS 20u
#define LN2_Q32	      UINT64_C(2977044472) /* ln(2) * 2^32 */

/* -log2(u / 2^64), 20 bits of fraction; u is not 0. */
static uint64_t minus_log2(uint64_t u)
{
	uint32_t shift = (uint32_t)__builtin_clzll(u);
	uint64_t m = u << shift >> 32; /* 2^31 <= m < 2^32: 1 to 2 */
	uint64_t log2_fraction = 0;

	for (uint32_t i = 0; i < FRACTION_BITS; i++) {
		m = m * m >> 31;
		log2_fraction <<= 1;
		if (m >> 32) {
			m >>= 1;
			log2_fraction |= 1;
		}
	}
	return ((uint64_t)(shift + 1) << FRACTION_BITS) - log2_fraction;
}

uint64_t roce_fabric_draw_exponential(struct roce_prng *prng, uint64_t mean)
{
	uint64_t u = roce_prng_next(prng);
	uint64_t x_q32 = (minus_log2(u ? u : 1) * LN2_Q32) >> FRACTION_BITS;

	return (uint64_t)((unsigned __int128)x_q32 * mean >> 32);
}
