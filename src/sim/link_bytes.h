/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of the link that carries bytes instead of structs: a packet is encoded with its ICRC,
 * damaged in one bit or not, checked and decoded, as on a real wire.
 */
#ifndef ROCE_SIM_LINK_BYTES_H
#define ROCE_SIM_LINK_BYTES_H

#include "base/prng.h"
#include "sim/link.h"

enum roce_link_bytes_result {
	ROCE_LINK_BYTES_INTACT,	 /* accepted; the packet now holds what was decoded */
	ROCE_LINK_BYTES_REFUSED, /* decoder or ICRC refused it */
	ROCE_LINK_BYTES_CHANGED, /* accepted, but it is not the packet that was sent */
};

/* Takes `pkt` through the codec; `damage`, if not NULL, draws the bit to flip. */
enum roce_link_bytes_result roce_link_bytes_carry(struct roce_link_pkt *pkt,
						  struct roce_prng *damage);

#endif
