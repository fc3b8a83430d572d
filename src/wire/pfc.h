/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The PFC frame (IEEE 802.1Qbb; 802.3 Annex 31D): a MAC control frame that tells the neighbour, and
 * nobody else, for how long it must not send frames of which priorities. 0 quanta for an enabled
 * priority lets it go on at once.
 */
#ifndef ROCE_WIRE_PFC_H
#define ROCE_WIRE_PFC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_PFC_FRAME_BYTES  60u /* without FCS */
#define ROCE_PFC_PRIORITIES   8u
#define ROCE_PFC_QUANTUM_BITS 512u /* a quantum is the time that these take on the link */

struct roce_pfc {
	uint8_t src_mac[6];
	uint8_t enabled; /* bit p: quanta[p] is meant */
	uint16_t quanta[ROCE_PFC_PRIORITIES];
};

void roce_pfc_encode(const struct roce_pfc *pfc, uint8_t frame[ROCE_PFC_FRAME_BYTES]);

/* False: not a PFC frame (destination, EtherType, opcode) or cut short. Padding is not looked at,
 * the high byte of the enable vector is reserved and ignored. */
bool roce_pfc_decode(const uint8_t *frame, size_t length, struct roce_pfc *out);

#endif
