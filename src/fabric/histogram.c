/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bucket of a value: the five bits behind its highest one, below that number. Values under 32 have
 * buckets of their own.
 */
#include "fabric/histogram.h"

#define SUB_BITS 5u
#define SUBS	 (1u << SUB_BITS)

static uint32_t bucket_of(uint64_t value)
{
	uint32_t shift;

	if (value < SUBS)
		return (uint32_t)value;
	shift = 63 - (uint32_t)__builtin_clzll(value) - SUB_BITS;
	return (shift + 1) * SUBS + (uint32_t)(value >> shift) - SUBS;
}

static uint64_t last_of(uint32_t bucket)
{
	uint32_t shift;

	if (bucket < SUBS)
		return bucket;
	shift = bucket / SUBS - 1;
	return ((uint64_t)(SUBS + bucket % SUBS + 1) << shift) - 1;
}

void roce_fabric_histogram_add(struct roce_fabric_histogram *h, uint64_t value)
{
	h->buckets[bucket_of(value)]++;
	h->count++;
}

uint64_t roce_fabric_histogram_quantile(const struct roce_fabric_histogram *h, double q)
{
	uint64_t rank;
	uint64_t seen = 0;

	if (!h->count)
		return 0;
	q = q < 0 ? 0 : q > 1 ? 1 : q;
	rank = (uint64_t)(q * (double)(h->count - 1));
	for (uint32_t i = 0; i < ROCE_FABRIC_HISTOGRAM_BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen > rank)
			return last_of(i);
	}
	return UINT64_MAX;
}
