/* SPDX-License-Identifier: BSD-2-Clause */
/* Walking a scatter/gather list by byte offset, shared by send and receive queues. */
#ifndef ROCE_WQ_SGE_H
#define ROCE_WQ_SGE_H

#include "wire/packet.h"

/* Where `offset` lies; `offset` at the very end gives index == count. */
struct roce_sge_cursor {
	uint32_t index;
	uint32_t skip; /* bytes into sge[index] */
};

/* No key has index 0. In a request that has started it says that the piece reads as zeros: there is
 * nothing at its address. */
#define ROCE_SGE_ZEROS_LKEY 0u

/* The same for a piece of an on-demand region: it is read in a way that does not fault. */
#define ROCE_SGE_ON_DEMAND_LKEY 1u

static inline bool roce_sge_is_on_demand(const struct roce_sge *sge)
{
	return sge->lkey == ROCE_SGE_ON_DEMAND_LKEY;
}

static inline bool roce_sge_is_zeros(const struct roce_sge *sge)
{
	return sge->lkey == ROCE_SGE_ZEROS_LKEY;
}

static inline uint64_t roce_sge_total(const struct roce_sge *sge, uint32_t count)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < count; i++)
		total += sge[i].length;
	return total;
}

static inline struct roce_sge_cursor roce_sge_seek(const struct roce_sge *sge, uint32_t count,
						   uint64_t offset)
{
	struct roce_sge_cursor c = {0, 0};

	while (c.index < count && offset >= sge[c.index].length) {
		offset -= sge[c.index].length;
		c.index++;
	}
	c.skip = (uint32_t)offset;
	return c;
}

#endif
