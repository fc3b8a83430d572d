/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The UD responder: one packet is one message; whatever is wrong with it, it is dropped and
 * counted, and the QP stays as it is (IBTA class D). The receive WQE is taken only when the packet
 * is good, so a bad one costs none.
 */
#include "transport/roles.h"

#include "base/marks.h"
#include "wire/grh.h"

#define UDP_HEADER_BYTES 8u
#define ICRC_BYTES	 4u

/*
 * IBTA A17.4.5.1: a UD completion tells which IP version the packet had, but the work completion
 * has no member for it. ConnectX tells in `sl`, which Ethernet has no use for: bit 3 for UDP, and 1
 * or 2 for the IP header. UCX 1.13 finds the addresses in the 40 bytes by that.
 */
#define SL_IPV6 0x9u
#define SL_IPV4 0xau

static uint16_t udp_length(const struct roce_rx_pkt *pkt, const struct roce_opcode_info *info)
{
	return (uint16_t)(UDP_HEADER_BYTES + info->header_len + pkt->payload_len +
			  pkt->hdr.pad_count + ICRC_BYTES);
}

/* 40 bytes of IP header, then the message. */
static enum roce_wc_status place(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
				 const struct roce_opcode_info *info)
{
	uint8_t grh[ROCE_GRH_BYTES];
	enum roce_wc_status status;

	roce_grh_encode(grh, pkt->src, pkt->dst, pkt->traffic_class, pkt->hop_limit,
			udp_length(pkt, info));
	status = roce_recv_place(qp, 0, grh, sizeof(grh));
	if (status != ROCE_WC_SUCCESS)
		return status;
	return roce_recv_place(qp, sizeof(grh), pkt->payload, pkt->payload_len);
}

enum roce_verdict roce_ud_rx(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
			     const struct roce_opcode_info *info, roce_ns_t now)
{
	const struct roce_recv_wqe *wqe;
	enum roce_wc_status status;

	if (pkt->hdr.qkey != qp->attr.qkey)
		return ROCE_MARKED(ud_qkey, ROCE_RX_BAD_QKEY);
	if (pkt->hdr.pad_count != (-pkt->payload_len & 3))
		return ROCE_MARKED(ud_pad, ROCE_RX_BAD_LENGTH);
	wqe = roce_recv_take(qp);
	if (!wqe)
		return ROCE_MARKED(ud_no_recv, ROCE_RX_NO_RECV);
	/* The WQE is kept for the next packet: moving an unreliable QP to ERR because of what any
	 * stranger may send would be a gift to him. */
	if (ROCE_GRH_BYTES + pkt->payload_len > wqe->length)
		return ROCE_MARKED(ud_recv_length, ROCE_RX_RECV_TOO_SMALL);
	status = place(qp, pkt, info);
	roce_qp_complete_recv(
		qp,
		&(struct roce_cqe){
			.byte_len = ROCE_GRH_BYTES + pkt->payload_len,
			.timestamp_ns = now,
			.imm_be = pkt->hdr.imm_be,
			.src_qp = pkt->hdr.src_qpn.v,
			.status = (uint8_t)status,
			.opcode = ROCE_WC_RECV,
			.sl = roce_gid_is_v4(pkt->dst) ? SL_IPV4 : SL_IPV6,
			.wc_flags = (uint8_t)(ROCE_WC_GRH | (info->has_imm ? ROCE_WC_WITH_IMM : 0)),
		},
		pkt->hdr.solicited);
	if (status == ROCE_WC_SUCCESS)
		return qp->attr.state == ROCE_QP_ERR
			       ? ROCE_MARKED(ud_cq_overrun, ROCE_RX_CQ_OVERRUN)
			       : ROCE_RX_ACCEPTED;
	/* A receive-side completion error: the QP goes to ERR. */
	roce_qp_error_by_responder(qp, now);
	return ROCE_MARKED(ud_recv_sge, ROCE_RX_RECV_BAD_SGE);
}
