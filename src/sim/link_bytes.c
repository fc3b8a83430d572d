/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encode, damage, check, decode. The flipped bit is drawn from all bytes that the ICRC covers, the
 * ICRC included: byte 4 of the BTH may change on the way and is left alone.
 */
#include "sim/link_bytes.h"

#include "base/assert.h"
#include "wire/headers.h"
#include "wire/icrc.h"

#include <string.h>

#define BTH_RESERVED_BYTE 4u
#define FRAME_MAX	  (ROCE_HEADERS_MAX + ROCE_MTU_BYTES_MAX + 3u + ROCE_ICRC_BYTES)

static void flip_bit(uint8_t *bytes, size_t len, struct roce_prng *damage)
{
	size_t at = (size_t)roce_prng_below(damage, len - 1);

	if (at >= BTH_RESERVED_BYTE)
		at++;
	bytes[at] = (uint8_t)(bytes[at] ^ 1u << roce_prng_below(damage, 8));
}

enum roce_link_bytes_result roce_link_bytes_carry(struct roce_link_pkt *pkt,
						  struct roce_prng *damage)
{
	static const uint8_t zeros[3];
	struct roce_icrc_flow flow;
	struct roce_headers decoded = {0};
	const uint8_t *payload;
	uint32_t payload_len;
	uint8_t bytes[FRAME_MAX];
	uint8_t again[ROCE_HEADERS_MAX];
	size_t header_len;
	size_t len;
	bool is_same;

	header_len = roce_headers_encode(&pkt->hdr, bytes);
	len = header_len;
	memcpy(bytes + len, pkt->payload, pkt->payload_len);
	len += pkt->payload_len;
	memcpy(bytes + len, zeros, pkt->hdr.pad_count);
	len += pkt->hdr.pad_count;
	roce_icrc_flow_init(&flow, &pkt->src, &pkt->dst, ROCE_UDP_PORT, ROCE_UDP_PORT);
	roce_icrc_put(bytes + len, roce_icrc_compute(&flow, 0, bytes, len));
	len += ROCE_ICRC_BYTES;
	ROCE_ASSERT(len <= sizeof(bytes));

	if (damage)
		flip_bit(bytes, len, damage);

	if (roce_icrc_get(bytes + len - ROCE_ICRC_BYTES) !=
	    roce_icrc_compute(&flow, 0, bytes, len - ROCE_ICRC_BYTES))
		return ROCE_LINK_BYTES_REFUSED;
	if (roce_headers_decode(bytes, len, &decoded, &payload, &payload_len) != ROCE_DECODE_OK)
		return ROCE_LINK_BYTES_REFUSED;

	is_same = roce_headers_encode(&decoded, again) == header_len &&
		  !memcmp(again, bytes, header_len) && payload_len == pkt->payload_len &&
		  !memcmp(payload, pkt->payload, payload_len) && !damage;
	pkt->hdr = decoded;
	return is_same ? ROCE_LINK_BYTES_INTACT : ROCE_LINK_BYTES_CHANGED;
}
