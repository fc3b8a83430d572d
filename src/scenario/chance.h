/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random numbers for workloads: streams of one seed that do not disturb each other, and the
 * distributions, all in integers, so that a seed means the same flows for every compiler and libc.
 */
#ifndef ROCE_SCENARIO_CHANCE_H
#define ROCE_SCENARIO_CHANCE_H

#include "base/prng.h"

#include <stdint.h>

/* What a stream is for; the number is part of its seed and does not change. */
enum roce_stream {
	ROCE_STREAM_ARRIVALS = 1,
	ROCE_STREAM_SIZES = 2,
	ROCE_STREAM_PEERS = 3,
	ROCE_STREAM_JITTER = 4,
	ROCE_STREAM_MIX = 5,
};

/* `index`: of the workload. */
struct roce_prng roce_stream_init(uint64_t seed, uint32_t index, enum roce_stream stream);

/* Exponential with this mean. */
uint64_t roce_chance_exponential(struct roce_prng *prng, uint64_t mean);
/* -ln(x / 2^64) in 2^-32; x = 0 counts as 1. */
uint64_t roce_chance_minus_ln(uint64_t x);
/* Each order is as likely. */
void roce_chance_shuffle(struct roce_prng *prng, uint32_t *array, uint32_t count);
/* A permutation without fixed points: item i goes to out[i]. Needs two items. */
void roce_chance_derange(struct roce_prng *prng, uint32_t *out, uint32_t count);

#endif
