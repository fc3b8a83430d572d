/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of a row of numbers have come: packets and messages of services that repeat nothing, which
 * a link may deliver twice, late or never. Exact as long as nobody is late by half the numbers:
 * what stands before the first that is missing takes no room, what stands behind it takes a bit
 * each.
 */
#ifndef ROCE_FABRIC_SEEN_H
#define ROCE_FABRIC_SEEN_H

#include "wire/ids.h"

#include <stdbool.h>
#include <stdint.h>

struct roce_fabric_seen {
	uint64_t base;	 /* all before it have come; a multiple of 64 */
	uint64_t newest; /* the largest that has come */
	uint64_t *words; /* ring: 64 numbers each, the first at base */
	uint32_t count;	 /* of words, a power of two; 0: nothing has come */
};

/* Notes it; false if it had come before. */
bool roce_fabric_seen_add(struct roce_fabric_seen *seen, uint64_t number);
/* The same for a PSN, by the number of times that PSNs have wrapped. Numbers begin with PSN 0. */
bool roce_fabric_seen_add_psn(struct roce_fabric_seen *seen, roce_psn_t psn);
void roce_fabric_seen_fini(struct roce_fabric_seen *seen);

#endif
