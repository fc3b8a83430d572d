/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a whole frame, and the same bytes as a UDP payload. Whatever decodes must encode
 * again to headers that decode to the same, lie inside the input, and carry an ICRC that its own
 * check accepts and that one changed bit breaks. Input: a frame from the Ethernet header on.
 */
#include "wire/encap.h"
#include "wire/headers.h"
#include "wire/icrc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PACKET_MAX 65507

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void try_icrc(const struct roce_icrc_flow *flow, const uint8_t *bth, size_t len)
{
	static uint8_t packet[PACKET_MAX];
	struct roce_icrc_id_state ids = {0};
	uint16_t id = (uint16_t)(bth[len - 1] << 8 | bth[len - 2]);

	/* As it came: any answer will do. */
	roce_icrc_check(flow, &ids, 0, bth, len);
	memset(&ids, 0, sizeof(ids));
	memcpy(packet, bth, len);
	roce_icrc_put(packet + len - 4, roce_icrc_compute(flow, id, packet, len - 4));
	require(roce_icrc_check(flow, &ids, bth[3], packet, len));
	require(!flow->is_v4 || ids.last_id == id);
	packet[len - 1] ^= 0x10;
	/* A stranger's damage may look like another identification; a held sender's is refused. */
	ids.regular_count = UINT32_MAX;
	ids.last_id = 0;
	ids.has_refused = false;
	require(!roce_icrc_check(flow, &ids, 0, packet, len));
}

static void try_packet(const struct roce_icrc_flow *flow, const uint8_t *bth, size_t len)
{
	uint8_t again[ROCE_HEADERS_MAX];
	struct roce_headers first;
	struct roce_headers second;
	const uint8_t *payload;
	uint32_t payload_len;
	size_t header_len;

	memset(&first, 0, sizeof(first));
	memset(&second, 0, sizeof(second));
	if (roce_headers_decode(bth, len, &first, &payload, &payload_len) != ROCE_DECODE_OK)
		return;
	require(payload >= bth + ROCE_BTH_BYTES);
	require(payload + payload_len + first.pad_count + ROCE_ICRC_BYTES == bth + len);
	header_len = roce_headers_encode(&first, again);
	require(header_len == (size_t)(payload - bth));
	require(roce_headers_decode(again, header_len + first.pad_count + ROCE_ICRC_BYTES, &second,
				    &payload, &payload_len) == ROCE_DECODE_OK);
	require(memcmp(&first, &second, sizeof(first)) == 0);
	require(payload_len == 0);
	try_icrc(flow, bth, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct roce_gid v4 = {{[10] = 0xff, 0xff, 10, 0, 0, 1}};
	struct roce_icrc_flow flow;
	struct roce_encap encap;
	const uint8_t *bth;
	size_t len;

	if (size > PACKET_MAX)
		return 0;
	roce_icrc_flow_init(&flow, &v4, &v4, 50000, ROCE_UDP_PORT);
	try_packet(&flow, data, size);
	if (roce_encap_decode(data, size, &encap, &bth, &len) != ROCE_ENCAP_OK)
		return 0;
	require(bth > data && bth + len <= data + size);
	roce_icrc_flow_init(&flow, &encap.src, &encap.dst, encap.udp_sport, encap.udp_dport);
	try_packet(&flow, bth, len);
	return 0;
}
