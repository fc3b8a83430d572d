/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bitmap of numbers that may not be given out, and a ring of those that only rest. With at most
 * ROCE_MAX_QP in use and ROCE_QPN_QUARANTINE at rest a quarter of the numbers is always free, so
 * the search from a random start is short.
 */
#include "verbs/qpn_pool.h"

#include "base/assert.h"

bool roce_qpn_pool_is_taken(const struct roce_qpn_pool *pool, uint16_t number)
{
	return pool->taken[number / 64] >> (number % 64) & 1;
}

bool roce_qpn_pool_take(struct roce_qpn_pool *pool, uint16_t start, uint16_t *out)
{
	for (uint32_t i = 0; i < ROCE_QPN_NUMBERS; i++) {
		uint16_t number = (uint16_t)(start + i);

		if (!roce_qpn_pool_is_taken(pool, number)) {
			pool->taken[number / 64] |= UINT64_C(1) << (number % 64);
			*out = number;
			return true;
		}
	}
	return false;
}

void roce_qpn_pool_give_back(struct roce_qpn_pool *pool, uint16_t number)
{
	ROCE_ASSERT(roce_qpn_pool_is_taken(pool, number));
	if (pool->resting_count == ROCE_QPN_QUARANTINE) {
		uint16_t rested = pool->resting[pool->resting_head];

		pool->taken[rested / 64] &= ~(UINT64_C(1) << (rested % 64));
		pool->resting_head = (pool->resting_head + 1) % ROCE_QPN_QUARANTINE;
		pool->resting_count--;
	}
	pool->resting[(pool->resting_head + pool->resting_count) % ROCE_QPN_QUARANTINE] = number;
	pool->resting_count++;
}
