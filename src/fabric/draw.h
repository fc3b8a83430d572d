/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws from distributions, in integers: the same on every compiler and machine.
 */
#ifndef ROCE_FABRIC_DRAW_H
#define ROCE_FABRIC_DRAW_H

#include "base/prng.h"

/* Exponential with this mean (below 2^40): intervals of a Poisson process. */
uint64_t roce_fabric_draw_exponential(struct roce_prng *prng, uint64_t mean);

#endif
