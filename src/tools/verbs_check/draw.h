/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random draws that two programs can repeat: both sides of a check start from the same seed and
 * the same stream number and must see the same values, whatever their machine, compiler or libc.
 * So the generator is here (xoshiro256**, seeded by splitmix64) and not the C library's.
 */
#ifndef VERBS_CHECK_DRAW_H
#define VERBS_CHECK_DRAW_H

#include <stdbool.h>
#include <stdint.h>

struct vc_draw {
	uint64_t state[4];
};

void vc_draw_init(struct vc_draw *draw, uint64_t seed, uint64_t stream);
uint64_t vc_draw_u64(struct vc_draw *draw);
/* 0 .. bound-1; bound 0 gives 0. */
uint64_t vc_draw_below(struct vc_draw *draw, uint64_t bound);
/* low .. high, both included. */
uint64_t vc_draw_range(struct vc_draw *draw, uint64_t low, uint64_t high);
/* True in `part` of `whole` draws. */
bool vc_draw_chance(struct vc_draw *draw, uint64_t part, uint64_t whole);

/* One value out of two, all bits depending on all bits: for keys and work request ids. */
uint64_t vc_mix(uint64_t a, uint64_t b);

#endif
