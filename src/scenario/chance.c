/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The logarithm is taken bit by bit: squaring the mantissa doubles its logarithm, and each time
 * that the square passes 2 is a 1 in the result.
 */
#include "scenario/chance.h"

#define FRACTION_BITS 32

/* ln 2 in 2^-64 */
#define LN2 UINT64_C(0xb17217f7d1cf79ab)

struct roce_prng roce_stream_init(uint64_t seed, uint32_t index, enum roce_stream stream)
{
	struct roce_prng prng = {seed};

	prng.state = roce_prng_next(&prng) ^ ((uint64_t)index << 8 | (uint64_t)stream);
	roce_prng_next(&prng);
	return prng;
}

/* log2(x) in 2^-32 for x > 0 */
static uint64_t log2_of(uint64_t x)
{
	int shift = __builtin_clzll(x);
	uint64_t result = (uint64_t)(63 - shift);
	uint64_t mantissa = x << shift; /* 1 to 2, in 2^-63 */

	for (int i = 0; i < FRACTION_BITS; i++) {
		unsigned __int128 square = (unsigned __int128)mantissa * mantissa; /* in 2^-126 */
		uint64_t is_above = (uint64_t)(square >> 127);

		mantissa = (uint64_t)(square >> (63 + is_above));
		result = result << 1 | is_above;
	}
	return result;
}

uint64_t roce_chance_minus_ln(uint64_t x)
{
	uint64_t log2 = (UINT64_C(64) << FRACTION_BITS) - log2_of(x ? x : 1);

	return (uint64_t)((unsigned __int128)log2 * LN2 >> 64);
}

uint64_t roce_chance_exponential(struct roce_prng *prng, uint64_t mean)
{
	uint64_t factor = roce_chance_minus_ln(roce_prng_next(prng));

	return (uint64_t)((unsigned __int128)mean * factor >> FRACTION_BITS);
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t t = *a;

	*a = *b;
	*b = t;
}

void roce_chance_shuffle(struct roce_prng *prng, uint32_t *array, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--)
		swap(&array[i - 1], &array[roce_prng_below(prng, i)]);
}

/* Shuffled until nobody stays: two or three times in the mean. */
void roce_chance_derange(struct roce_prng *prng, uint32_t *out, uint32_t count)
{
	uint32_t fixed;

	do {
		fixed = 0;
		for (uint32_t i = 0; i < count; i++)
			out[i] = i;
		roce_chance_shuffle(prng, out, count);
		for (uint32_t i = 0; i < count; i++)
			fixed += out[i] == i;
	} while (fixed);
}
