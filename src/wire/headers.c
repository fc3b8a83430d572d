/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Codec of BTH and extended headers. Both directions walk the header bits of the opcode in wire
 * order; the sets that data packets and ACKs have are few, so the tests predict well. Nothing is
 * cleared in the output: a field is written only when its header is there.
 */
#include "wire/headers.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <string.h>

const char *roce_decode_verdict_str(enum roce_decode_verdict verdict)
{
	switch (verdict) {
#define X(name, text)            \
	case ROCE_DECODE_##name: \
		return text;
		ROCE_DECODE_LIST(X)
#undef X
	case ROCE_DECODE_COUNT:
		break;
	}
	return "unknown";
}

/*
 * BTH
 *        7 6 5 4 3 2 1 0
 *   0   |trans| operation|      transport and operation: the opcode
 *   1   |S|M|pad| TVer   |      S solicited event, M MigReq, pad count, transport version
 *   2-3 | P_Key          |
 *   4   |F|B| reserved   |      F FECN, B BECN; the whole byte is outside the ICRC
 *   5-7 | DestQP         |
 *   8   |A| reserved     |      A AckReq
 *  9-11 | PSN            |
 */
static void decode_bth(const uint8_t *p, struct roce_headers *out)
{
	out->opcode.v = p[0];
	out->solicited = p[1] >> 7;
	out->mig_req = p[1] >> 6 & 1;
	out->pad_count = p[1] >> 4 & 3;
	out->tver = p[1] & 0xf;
	out->pkey = roce_get_be16(p + 2);
	out->fecn = p[4] >> 7;
	out->becn = p[4] >> 6 & 1;
	out->dest_qpn.v = roce_get_be32(p + 4) & ROCE_QPN_MASK;
	out->ack_req = p[8] >> 7;
	out->psn.v = roce_get_be32(p + 8) & ROCE_PSN_MASK;
}

static void encode_bth(const struct roce_headers *h, uint8_t *p)
{
	p[0] = h->opcode.v;
	p[1] = (uint8_t)((uint32_t)h->solicited << 7 | (uint32_t)h->mig_req << 6 |
			 (h->pad_count & 3u) << 4 | (h->tver & 0xfu));
	roce_put_be16(p + 2, h->pkey);
	roce_put_be32(p + 4, (uint32_t)h->fecn << 31 | (uint32_t)h->becn << 30 |
				     (h->dest_qpn.v & ROCE_QPN_MASK));
	roce_put_be32(p + 8, (uint32_t)h->ack_req << 31 | (h->psn.v & ROCE_PSN_MASK));
}

/*
 * Extended headers; each line is 4 bytes.
 *
 *   RDETH         | reserved 8 | EE context 24   |
 *   DETH          | Q_Key                        |
 *                 | reserved 8 | SrcQP 24        |
 *   XRCETH        | reserved 8 | XRC SRQ 24      |
 *   FETH          | reserved 26 | SEL 2 | PLT 4  |
 *   RETH          | VA 64, R_Key 32, DMALen 32   |
 *   AtomicETH     | VA 64, R_Key 32              |
 *                 | swap or add 64, compare 64   |
 *   AETH          | syndrome 8 | MSN 24          |
 *   AtomicAckETH  | original data 64             |
 *   ImmDt         | immediate 32, untouched      |
 *   IETH          | R_Key 32                     |
 */
static void decode_extended(roce_header_set_t set, const uint8_t *p, struct roce_headers *out)
{
	if (roce_header_set_has(set, ROCE_HEADER_DETH)) {
		out->qkey = roce_get_be32(p);
		out->src_qpn.v = roce_get_be24(p + 5);
		p += ROCE_DETH_BYTES;
	}
	if (roce_header_set_has(set, ROCE_HEADER_XRCETH)) {
		out->xrc_srqn = roce_get_be24(p + 1);
		p += ROCE_XRCETH_BYTES;
	}
	if (roce_header_set_has(set, ROCE_HEADER_FETH)) {
		out->flush_sel = p[3] >> 4 & 3;
		out->flush_plt = p[3] & 0xf;
		p += ROCE_FETH_BYTES;
	}
	if (roce_header_set_has(set, ROCE_HEADER_RETH)) {
		out->va = roce_get_be64(p);
		out->rkey.v = roce_get_be32(p + 8);
		out->dma_len = roce_get_be32(p + 12);
		p += ROCE_RETH_BYTES;
	}
	if (roce_header_set_has(set, ROCE_HEADER_ATOMICETH)) {
		out->va = roce_get_be64(p);
		out->rkey.v = roce_get_be32(p + 8);
		out->swap_add = roce_get_be64(p + 12);
		out->compare = roce_get_be64(p + 20);
		p += ROCE_ATOMICETH_BYTES;
	}
	if (roce_header_set_has(set, ROCE_HEADER_AETH)) {
		out->syndrome = p[0];
		out->msn = roce_get_be24(p + 1);
		p += ROCE_AETH_BYTES;
	}
	if (roce_header_set_has(set, ROCE_HEADER_ATOMICACKETH)) {
		out->atomic_orig = roce_get_be64(p);
		p += ROCE_ATOMICACKETH_BYTES;
	}
	if (roce_header_set_has(set, ROCE_HEADER_IMMDT)) {
		memcpy(&out->imm_be, p, sizeof(out->imm_be));
		p += ROCE_IMMDT_BYTES;
	}
	if (roce_header_set_has(set, ROCE_HEADER_IETH))
		out->inv_rkey.v = roce_get_be32(p);
}

static void encode_extended(roce_header_set_t set, const struct roce_headers *h, uint8_t *p)
{
	if (roce_header_set_has(set, ROCE_HEADER_RDETH)) {
		roce_put_be32(p, 0);
		p += ROCE_RDETH_BYTES;
	}
	if (roce_header_set_has(set, ROCE_HEADER_DETH)) {
		roce_put_be32(p, h->qkey);
		roce_put_be32(p + 4, h->src_qpn.v & ROCE_QPN_MASK);
		p += ROCE_DETH_BYTES;
	}
	if (roce_header_set_has(set, ROCE_HEADER_XRCETH)) {
		roce_put_be32(p, h->xrc_srqn & 0xffffff);
		p += ROCE_XRCETH_BYTES;
	}
	if (roce_header_set_has(set, ROCE_HEADER_FETH)) {
		roce_put_be32(p, (h->flush_sel & 3u) << 4 | (h->flush_plt & 0xfu));
		p += ROCE_FETH_BYTES;
	}
	if (roce_header_set_has(set, ROCE_HEADER_RETH)) {
		roce_put_be64(p, h->va);
		roce_put_be32(p + 8, h->rkey.v);
		roce_put_be32(p + 12, h->dma_len);
		p += ROCE_RETH_BYTES;
	}
	if (roce_header_set_has(set, ROCE_HEADER_ATOMICETH)) {
		roce_put_be64(p, h->va);
		roce_put_be32(p + 8, h->rkey.v);
		roce_put_be64(p + 12, h->swap_add);
		roce_put_be64(p + 20, h->compare);
		p += ROCE_ATOMICETH_BYTES;
	}
	if (roce_header_set_has(set, ROCE_HEADER_AETH)) {
		roce_put_be32(p, (uint32_t)h->syndrome << 24 | (h->msn & 0xffffff));
		p += ROCE_AETH_BYTES;
	}
	if (roce_header_set_has(set, ROCE_HEADER_ATOMICACKETH)) {
		roce_put_be64(p, h->atomic_orig);
		p += ROCE_ATOMICACKETH_BYTES;
	}
	if (roce_header_set_has(set, ROCE_HEADER_IMMDT)) {
		memcpy(p, &h->imm_be, sizeof(h->imm_be));
		p += ROCE_IMMDT_BYTES;
	}
	if (roce_header_set_has(set, ROCE_HEADER_IETH))
		roce_put_be32(p, h->inv_rkey.v);
	if (roce_header_set_has(set, ROCE_HEADER_CNP_RESERVED))
		memset(p, 0, ROCE_CNP_RESERVED_BYTES);
}

enum roce_decode_verdict roce_headers_decode(const uint8_t *bth, size_t len,
					     struct roce_headers *out, const uint8_t **out_payload,
					     uint32_t *out_payload_len)
{
	const struct roce_opcode_info *info;
	size_t rest;

	if (len < ROCE_BTH_BYTES + ROCE_ICRC_BYTES)
		return ROCE_DECODE_TOO_SHORT;
	decode_bth(bth, out);
	if (out->tver != 0)
		return ROCE_DECODE_BAD_TVER;
	info = roce_opcode_info(out->opcode);
	if (!info)
		return ROCE_DECODE_RESERVED_OPCODE;
	if (info->transport == ROCE_OPCODE_TRANSPORT_RD)
		return ROCE_DECODE_RD_OPCODE;
	if (len < (size_t)info->header_len + ROCE_ICRC_BYTES)
		return ROCE_DECODE_HEADERS_CUT;
	rest = len - info->header_len - ROCE_ICRC_BYTES;
	if (rest < out->pad_count)
		return ROCE_DECODE_PAYLOAD_NEGATIVE;
	if (info->headers.v)
		decode_extended(info->headers, bth + ROCE_BTH_BYTES, out);
	*out_payload = bth + info->header_len;
	*out_payload_len = (uint32_t)(rest - out->pad_count);
	return ROCE_DECODE_OK;
}

size_t roce_headers_encode(const struct roce_headers *h, uint8_t *bth)
{
	const struct roce_opcode_info *info = roce_opcode_info(h->opcode);

	ROCE_ASSERT(info);
	encode_bth(h, bth);
	if (info->headers.v)
		encode_extended(info->headers, h, bth + ROCE_BTH_BYTES);
	return info->header_len;
}
