/* SPDX-License-Identifier: BSD-2-Clause */
/* PFC frames; see pfc.h. */
#include "wire/pfc.h"

#include "base/bytes.h"

#include <string.h>

#define ETHERTYPE_MAC_CONTROL 0x8808u
#define OPCODE_PFC	      0x0101u
#define FIELDS_END	      34u

static const uint8_t mac_control[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};

void roce_pfc_encode(const struct roce_pfc *pfc, uint8_t frame[ROCE_PFC_FRAME_BYTES])
{
	memset(frame, 0, ROCE_PFC_FRAME_BYTES);
	memcpy(frame, mac_control, sizeof(mac_control));
	memcpy(frame + 6, pfc->src_mac, sizeof(pfc->src_mac));
	roce_put_be16(frame + 12, ETHERTYPE_MAC_CONTROL);
	roce_put_be16(frame + 14, OPCODE_PFC);
	roce_put_be16(frame + 16, pfc->enabled);
	for (size_t p = 0; p < ROCE_PFC_PRIORITIES; p++)
		roce_put_be16(frame + 18 + 2 * p, pfc->quanta[p]);
}

bool roce_pfc_decode(const uint8_t *frame, size_t length, struct roce_pfc *out)
{
	if (length < FIELDS_END || memcmp(frame, mac_control, sizeof(mac_control)) != 0 ||
	    roce_get_be16(frame + 12) != ETHERTYPE_MAC_CONTROL ||
	    roce_get_be16(frame + 14) != OPCODE_PFC)
		return false;
	memcpy(out->src_mac, frame + 6, sizeof(out->src_mac));
	out->enabled = frame[17];
	for (size_t p = 0; p < ROCE_PFC_PRIORITIES; p++)
		out->quanta[p] = roce_get_be16(frame + 18 + 2 * p);
	return true;
}
