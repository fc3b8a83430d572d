/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The 16 random bits of a QPN (its high byte is the receive slot). A number that was given back
 * rests in quarantine until many others have been given back after it, so that packets still on
 * their way to a destroyed queue pair do not meet a new one.
 */
#ifndef ROCE_VERBS_QPN_POOL_H
#define ROCE_VERBS_QPN_POOL_H

#include <stdbool.h>
#include <stdint.h>

#define ROCE_QPN_NUMBERS    65536u
#define ROCE_QPN_QUARANTINE 16384u

struct roce_qpn_pool {
	uint32_t resting_head;
	uint32_t resting_count;
	uint64_t taken[ROCE_QPN_NUMBERS / 64]; /* in use or in quarantine */
	uint16_t resting[ROCE_QPN_QUARANTINE]; /* ring, oldest first */
};

/* All zero bytes are an empty pool. */

/* Takes the first free number at `start` or after it, wrapping; false when none is left. Starting
 * points come from the system's randomness. */
bool roce_qpn_pool_take(struct roce_qpn_pool *pool, uint16_t start, uint16_t *out);
void roce_qpn_pool_give_back(struct roce_qpn_pool *pool, uint16_t number);
bool roce_qpn_pool_is_taken(const struct roce_qpn_pool *pool, uint16_t number);

#endif
