/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xoshiro256** with a splitmix64 start. Bounded draws use the high half of a 128-bit product:
 * the bias is below 2^-40 for the bounds used here, and one multiplication keeps both sides equal.
 */
#include "tools/verbs_check/draw.h"

static uint64_t splitmix_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9E3779B97F4A7C15ULL);

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
	return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, unsigned int by)
{
	return (x << by) | (x >> (64 - by));
}

uint64_t vc_mix(uint64_t a, uint64_t b)
{
	uint64_t state = a * 0xD1342543DE82EF95ULL + b;

	(void)splitmix_next(&state);
	state ^= rotate_left(a, 32);
	return splitmix_next(&state);
}

void vc_draw_init(struct vc_draw *draw, uint64_t seed, uint64_t stream)
{
	uint64_t state = vc_mix(seed, stream);

	for (int i = 0; i < 4; i++)
		draw->state[i] = splitmix_next(&state);
}

uint64_t vc_draw_u64(struct vc_draw *draw)
{
	uint64_t *s = draw->state;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

uint64_t vc_draw_below(struct vc_draw *draw, uint64_t bound)
{
	return (uint64_t)(((unsigned __int128)vc_draw_u64(draw) * bound) >> 64);
}

uint64_t vc_draw_range(struct vc_draw *draw, uint64_t low, uint64_t high)
{
	return low + vc_draw_below(draw, high - low + 1);
}

bool vc_draw_chance(struct vc_draw *draw, uint64_t part, uint64_t whole)
{
	return vc_draw_below(draw, whole) < part;
}
