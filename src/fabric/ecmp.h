/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Choosing among equal next hops. Every switch must choose independently of those before it, else
 * all flows that share one choice share the next as well (polarisation), so a switch mixes a seed
 * of its own into the hash of the flow, and mixes well: each bit of the result depends on each bit
 * of both.
 */
#ifndef ROCE_FABRIC_ECMP_H
#define ROCE_FABRIC_ECMP_H

#include <stdint.h>

/* The finish of splitmix64. */
static inline uint64_t roce_fabric_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* 0 to count - 1. */
static inline uint32_t roce_fabric_ecmp_mixed(uint32_t flow_hash, uint64_t seed, uint32_t count)
{
	uint64_t mixed = roce_fabric_mix(flow_hash + seed);

	return (uint32_t)((mixed >> 32) * count >> 32);
}

/* MurmurHash3 (32 bit, public domain) of a few words. */
uint32_t roce_fabric_murmur3(const uint32_t *words, uint32_t count, uint32_t seed);

#endif
