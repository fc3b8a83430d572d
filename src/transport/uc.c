/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The UC responder: like RC without answers. A packet out of sequence, or one that fails a check,
 * ends the open message: the rest of it is dropped until a First or Only packet opens the next one,
 * whatever its PSN (IBTA class D1). A receive WQE that a broken SEND had begun is used again for
 * the next one; one from an SRQ completes in error, since it is gone from there (class E).
 */
#include "transport/roles.h"

#include "base/marks.h"

#define MESSAGE_BYTES_MAX (UINT32_C(1) << 31)

static void abandon_message(struct roce_qp *qp, roce_ns_t now)
{
	bool was_send = qp->resp.open == ROCE_RESP_OPEN_SEND;

	qp->resp.open = ROCE_RESP_OPEN_NONE;
	if (was_send && qp->srq && qp->is_held) {
		ROCE_MARK(uc_srq_wqe_lost);
		roce_qp_complete_recv(qp,
				      &(struct roce_cqe){.status = ROCE_WC_LOC_QP_OP_ERR,
							 .opcode = ROCE_WC_RECV,
							 .timestamp_ns = now},
				      true);
	}
}

static enum roce_verdict drop_message(struct roce_qp *qp, enum roce_verdict verdict, roce_ns_t now)
{
	abandon_message(qp, now);
	return verdict;
}

static bool is_in_sequence(const struct roce_qp *qp, const struct roce_opcode_info *info)
{
	if (roce_position_is_start(info->position))
		return true;
	return qp->resp.open == (info->operation == ROCE_OPERATION_SEND ? ROCE_RESP_OPEN_SEND
									: ROCE_RESP_OPEN_WRITE);
}

static bool is_length_ok(const struct roce_qp *qp, const struct roce_rx_pkt *pkt,
			 const struct roce_opcode_info *info)
{
	uint32_t len = pkt->payload_len;
	bool is_end = roce_position_is_end(info->position);
	bool is_start = roce_position_is_start(info->position);
	uint64_t left;

	if (pkt->hdr.pad_count != (-len & 3) || len > qp->mtu)
		return false;
	if (!is_end && len != qp->mtu)
		return false;
	if (is_end && !is_start && len == 0)
		return false;
	if (info->operation == ROCE_OPERATION_SEND)
		return is_start || qp->resp.received + len <= MESSAGE_BYTES_MAX;
	left = is_start ? pkt->hdr.dma_len : qp->resp.write_left;
	return left <= MESSAGE_BYTES_MAX && (is_end ? len == left : len < left);
}

static enum roce_verdict complete(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
				  const struct roce_opcode_info *info, enum roce_wc_opcode opcode,
				  uint64_t byte_len, roce_ns_t now)
{
	roce_qp_complete_recv(qp,
			      &(struct roce_cqe){
				      .byte_len = byte_len,
				      .timestamp_ns = now,
				      .imm_be = pkt->hdr.imm_be,
				      .status = ROCE_WC_SUCCESS,
				      .opcode = (uint8_t)opcode,
				      .wc_flags = info->has_imm ? ROCE_WC_WITH_IMM : 0,
			      },
			      pkt->hdr.solicited);
	if (qp->attr.state == ROCE_QP_ERR)
		return ROCE_MARKED(uc_cq_overrun, ROCE_RX_CQ_OVERRUN);
	return ROCE_RX_ACCEPTED;
}

static enum roce_verdict on_send(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
				 const struct roce_opcode_info *info, roce_ns_t now)
{
	struct roce_responder *resp = &qp->resp;
	enum roce_wc_status status;

	if (roce_position_is_start(info->position)) {
		if (!roce_recv_take(qp))
			return ROCE_MARKED(uc_send_no_recv, ROCE_RX_NO_RECV);
		resp->open = ROCE_RESP_OPEN_SEND;
		resp->received = 0;
	}
	status = roce_recv_place(qp, resp->received, pkt->payload, pkt->payload_len);
	if (status == ROCE_WC_LOC_LEN_ERR)
		return drop_message(qp, ROCE_MARKED(uc_recv_length, ROCE_RX_RECV_TOO_SMALL), now);
	if (status != ROCE_WC_SUCCESS) {
		resp->open = ROCE_RESP_OPEN_NONE;
		roce_qp_complete_recv(qp,
				      &(struct roce_cqe){.status = (uint8_t)status,
							 .opcode = ROCE_WC_RECV,
							 .timestamp_ns = now},
				      true);
		roce_qp_error_by_responder(qp, now);
		return ROCE_MARKED(uc_recv_sge, ROCE_RX_RECV_BAD_SGE);
	}
	resp->received += pkt->payload_len;
	if (!roce_position_is_end(info->position))
		return ROCE_RX_ACCEPTED;
	resp->open = ROCE_RESP_OPEN_NONE;
	return complete(qp, pkt, info, ROCE_WC_RECV, resp->received, now);
}

static enum roce_verdict on_write(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
				  const struct roce_opcode_info *info, roce_ns_t now)
{
	const struct roce_transport_config *cfg = &qp->t->cfg;
	struct roce_responder *resp = &qp->resp;
	uint32_t len = pkt->payload_len;
	struct roce_mem_place to = {0};

	if (!(qp->attr.access_flags & ROCE_ACCESS_REMOTE_WRITE))
		return drop_message(qp, ROCE_MARKED(uc_write_not_allowed, ROCE_RX_OP_NOT_ALLOWED),
				    now);
	if (roce_position_is_start(info->position)) {
		resp->write_va = pkt->hdr.va;
		resp->write_rkey = pkt->hdr.rkey;
		resp->write_left = resp->write_total = pkt->hdr.dma_len;
		resp->open = ROCE_RESP_OPEN_WRITE;
	}
	if (resp->write_left &&
	    roce_mem_check_remote(&qp->t->keys, qp->cfg.pd, qp, resp->write_rkey, resp->write_va,
				  resp->write_left, ROCE_ACCESS_REMOTE_WRITE, &to) != ROCE_MEM_OK)
		return drop_message(qp, ROCE_MARKED(uc_rkey, ROCE_RX_BAD_RKEY), now);
	if (info->consumes_recv && !roce_recv_take(qp))
		return drop_message(qp, ROCE_MARKED(uc_write_no_recv, ROCE_RX_NO_RECV), now);
	if (len && pkt->payload && cfg->mem_ops->store(cfg->ctx, &to, pkt->payload, len))
		return drop_message(qp, ROCE_MARKED(uc_write_fault, ROCE_RX_MEMORY_FAULT), now);
	resp->write_va += len;
	resp->write_left -= len;
	if (!roce_position_is_end(info->position))
		return ROCE_RX_ACCEPTED;
	resp->open = ROCE_RESP_OPEN_NONE;
	roce_count(qp->t, ROCE_STAT_RX_WRITE_REQUESTS);
	if (!info->has_imm)
		return ROCE_RX_ACCEPTED;
	return complete(qp, pkt, info, ROCE_WC_RECV_RDMA_WITH_IMM, resp->write_total, now);
}

/* The first good packet in RTR tells the program that the peer is there. */
static void tell_established(struct roce_qp *qp)
{
	if (qp->attr.state != ROCE_QP_RTR || qp->resp.is_comm_est_told)
		return;
	qp->resp.is_comm_est_told = true;
	roce_qp_event(qp, ROCE_EVENT_COMM_EST);
}

enum roce_verdict roce_uc_rx(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
			     const struct roce_opcode_info *info, roce_ns_t now)
{
	struct roce_responder *resp = &qp->resp;
	bool is_expected = roce_psn_is_equal(pkt->hdr.psn, resp->expected_psn);
	bool is_start = roce_position_is_start(info->position);

	if (!is_expected || (is_start && resp->open != ROCE_RESP_OPEN_NONE))
		abandon_message(qp, now);
	if (qp->attr.state == ROCE_QP_ERR)
		return ROCE_MARKED(uc_abandon_overrun, ROCE_RX_CQ_OVERRUN);
	if (!is_expected && !is_start)
		return ROCE_MARKED(uc_gap, ROCE_RX_MESSAGE_DROPPED);
	resp->expected_psn = roce_psn_add(pkt->hdr.psn, 1);
	/* The rest of a message that was dropped. */
	if (!is_start && resp->open == ROCE_RESP_OPEN_NONE)
		return ROCE_MARKED(uc_rest, ROCE_RX_MESSAGE_DROPPED);
	if (!is_in_sequence(qp, info))
		return drop_message(qp, ROCE_MARKED(uc_op_sequence, ROCE_RX_BAD_OP_SEQUENCE), now);
	if (!is_length_ok(qp, pkt, info))
		return drop_message(qp, ROCE_MARKED(uc_length, ROCE_RX_BAD_LENGTH), now);
	tell_established(qp);
	/* The transport has no other operations. */
	return info->operation == ROCE_OPERATION_SEND ? on_send(qp, pkt, info, now)
						      : on_write(qp, pkt, info, now);
}
