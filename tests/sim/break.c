/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ways to break one packet of an honest requester, for the tests of refusals: each changes what
 * its name says and leaves the rest of the packet right.
 */
#include "break.h"

#include "wire/opcode.h"

void sim_set_other_qpn(struct roce_link_pkt *pkt)
{
	pkt->hdr.dest_qpn.v ^= 0x20; /* another place in the table */
}

void sim_set_colliding_qpn(struct roce_link_pkt *pkt)
{
	pkt->hdr.dest_qpn.v ^= 0x4000; /* the same place, another number */
}

void sim_set_uc(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_UC_WRITE_ONLY);
}

void sim_set_ud(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_UD_SEND_ONLY);
}

void sim_set_src(struct roce_link_pkt *pkt)
{
	pkt->src.raw[15] ^= 0x80;
}

void sim_set_dst(struct roce_link_pkt *pkt)
{
	pkt->dst.raw[15] ^= 0x80;
}

void sim_set_pkey_other(struct roce_link_pkt *pkt)
{
	pkt->hdr.pkey = 0x8001;
}

void sim_set_pkey_zero(struct roce_link_pkt *pkt)
{
	pkt->hdr.pkey = 0x8000;
}

void sim_set_reserved_opcode(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode.v = 0x15;
}

void sim_set_vendor_opcode(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode.v = 0xc0;
}

void sim_set_cnp(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_CNP);
	pkt->hdr.becn = true;
	pkt->hdr.pad_count = 0;
	pkt->payload_len = 0;
}

void sim_set_write_middle(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_WRITE_MIDDLE);
}

void sim_set_write_last(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_WRITE_LAST);
}

void sim_set_send_middle(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_SEND_MIDDLE);
}

void sim_set_send_last(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_SEND_LAST);
}

void sim_set_send_only(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_SEND_ONLY);
}

void sim_set_read_request(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_READ_REQUEST);
	pkt->payload_len = 0;
	pkt->hdr.pad_count = 0;
}

void sim_set_psn_before_all(struct roce_link_pkt *pkt)
{
	pkt->hdr.psn = (roce_psn_t){9};
}

void sim_set_flush(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_FLUSH);
	pkt->payload_len = 0;
}

void sim_set_payload_16(struct roce_link_pkt *pkt)
{
	pkt->payload_len = pkt->hdr.dma_len = 16;
}

void sim_set_dma_len_16(struct roce_link_pkt *pkt)
{
	pkt->hdr.dma_len = 16;
}

void sim_set_atomic_write(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_ATOMIC_WRITE);
	pkt->payload_len = pkt->hdr.dma_len = 8;
}

void sim_cut_4(struct roce_link_pkt *pkt)
{
	pkt->payload_len -= 4;
}

void sim_grow_4(struct roce_link_pkt *pkt)
{
	memset(pkt->payload + pkt->payload_len, 0, 4);
	pkt->payload_len += 4;
}

void sim_empty_payload(struct roce_link_pkt *pkt)
{
	pkt->payload_len = 0;
	pkt->hdr.pad_count = 0;
}

void sim_set_payload_8(struct roce_link_pkt *pkt)
{
	pkt->payload_len = 8;
}

void sim_set_pad(struct roce_link_pkt *pkt)
{
	pkt->hdr.pad_count = (uint8_t)(pkt->hdr.pad_count + 1) & 3;
}

void sim_set_dma_len_more(struct roce_link_pkt *pkt)
{
	pkt->hdr.dma_len += 1;
}

void sim_set_dma_len_less(struct roce_link_pkt *pkt)
{
	pkt->hdr.dma_len -= 1;
}

void sim_set_dma_len_huge(struct roce_link_pkt *pkt)
{
	pkt->hdr.dma_len = (1u << 31) + 1;
}

void sim_set_va_odd(struct roce_link_pkt *pkt)
{
	pkt->hdr.va += 4;
}

void sim_set_rkey_unknown(struct roce_link_pkt *pkt)
{
	pkt->hdr.rkey.v ^= 0x5500;
}

void sim_set_rkey_variant(struct roce_link_pkt *pkt)
{
	pkt->hdr.rkey.v ^= 0x01;
}

void sim_set_va_wrap(struct roce_link_pkt *pkt)
{
	pkt->hdr.va = UINT64_MAX - 7;
}

void sim_set_nothing(struct roce_link_pkt *pkt)
{
	(void)pkt;
}

void sim_set_inv(struct roce_link_pkt *pkt)
{
	pkt->hdr.opcode = roce_opcode_make(ROCE_RC_SEND_ONLY_INV);
	pkt->hdr.inv_rkey.v = 0x12345678;
}
