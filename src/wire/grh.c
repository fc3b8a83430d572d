/* SPDX-License-Identifier: BSD-2-Clause */
/* The IP header of a received packet, made again from what the socket tells of it. */
#include "wire/grh.h"

#include "base/bytes.h"

#include <string.h>

#define PROTOCOL_UDP 17u
#define IPV4_BYTES   20u

static uint16_t ipv4_checksum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < IPV4_BYTES; i += 2)
		sum += roce_get_be16(header + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

void roce_grh_encode(uint8_t out[ROCE_GRH_BYTES], const struct roce_gid *src,
		     const struct roce_gid *dst, uint8_t traffic_class, uint8_t hop_limit,
		     uint16_t udp_length)
{
	memset(out, 0, ROCE_GRH_BYTES);
	if (roce_gid_is_v4(dst)) {
		uint8_t *ip = out + ROCE_GRH_BYTES - IPV4_BYTES;

		ip[0] = 0x45;
		ip[1] = traffic_class;
		roce_put_be16(ip + 2, (uint16_t)(IPV4_BYTES + udp_length));
		roce_put_be16(ip + 6, 0x4000); /* DF */
		ip[8] = hop_limit;
		ip[9] = PROTOCOL_UDP;
		memcpy(ip + 12, src->raw + 12, 4);
		memcpy(ip + 16, dst->raw + 12, 4);
		roce_put_be16(ip + 10, ipv4_checksum(ip));
		return;
	}
	out[0] = (uint8_t)(0x60 | traffic_class >> 4);
	out[1] = (uint8_t)(traffic_class << 4);
	roce_put_be16(out + 4, udp_length);
	out[6] = PROTOCOL_UDP;
	out[7] = hop_limit;
	memcpy(out + 8, src->raw, 16);
	memcpy(out + 24, dst->raw, 16);
}
