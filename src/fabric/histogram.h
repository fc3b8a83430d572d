/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Latencies of many messages in little room: 32 buckets for each power of two, so a quantile is
 * right within 3%. One histogram for all flows with a tag.
 */
#ifndef ROCE_FABRIC_HISTOGRAM_H
#define ROCE_FABRIC_HISTOGRAM_H

#include <stdint.h>

#define ROCE_FABRIC_HISTOGRAM_BUCKETS (64u * 32u)

struct roce_fabric_histogram {
	struct roce_fabric_histogram *next;
	uint64_t tag;
	uint64_t count;
	uint64_t buckets[ROCE_FABRIC_HISTOGRAM_BUCKETS];
};

void roce_fabric_histogram_add(struct roce_fabric_histogram *h, uint64_t value);
/* The upper end of the bucket in which the quantile is; q is clamped to 0..1. 0 when empty. */
uint64_t roce_fabric_histogram_quantile(const struct roce_fabric_histogram *h, double q);

#endif
