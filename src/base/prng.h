/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small deterministic generator (splitmix64) for tests, simulation and seeded faults: the same seed
 * gives the same stream everywhere. Not for keys or QPNs: those take the system's randomness, which
 * the engine hands in.
 */
#ifndef ROCE_BASE_PRNG_H
#define ROCE_BASE_PRNG_H

#include <stdint.h>

struct roce_prng {
	uint64_t state;
};

static inline uint64_t roce_prng_next(struct roce_prng *p)
{
	uint64_t z = (p->state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Uniform enough in [0, bound); bound 0 gives 0. */
static inline uint64_t roce_prng_below(struct roce_prng *p, uint64_t bound)
{
	return bound ? roce_prng_next(p) % bound : 0;
}

/* True with probability ppm / 1,000,000. */
static inline int roce_prng_hit(struct roce_prng *p, uint32_t ppm)
{
	return roce_prng_below(p, 1000000) < ppm;
}

#endif
