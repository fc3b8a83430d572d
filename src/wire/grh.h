/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The 40 bytes that a UD receiver finds in front of the payload: where InfiniBand has a GRH, RoCEv2
 * has the packet's IP header. IPv6 fills all 40; an IPv4 header stands in bytes 20 to 39 with a
 * right checksum (receivers tell the two apart by it), bytes 0 to 19 are zero.
 */
#ifndef ROCE_WIRE_GRH_H
#define ROCE_WIRE_GRH_H

#include "base/addr.h"

#include <stdint.h>

#define ROCE_GRH_BYTES 40u

/* `udp_length` is the length field of the UDP header: 8 + BTH .. ICRC. */
void roce_grh_encode(uint8_t out[ROCE_GRH_BYTES], const struct roce_gid *src,
		     const struct roce_gid *dst, uint8_t traffic_class, uint8_t hop_limit,
		     uint16_t udp_length);

#endif
