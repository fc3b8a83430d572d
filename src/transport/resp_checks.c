/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a new request must pass before it is executed, in the order of the specification; it falls
 * at the first check that it fails. A failed check writes nothing: it owes the peer a NAK and tells
 * the program by the receive WQE in hand or an event.
 */
#include "transport/responder.h"

#include "base/assert.h"
#include "base/marks.h"
#include "transport/segment.h"

#define MESSAGE_BYTES_MAX (UINT32_C(1) << 31)

/* Bytes that the R_Key of a First or Only packet must cover. */
static uint32_t dma_length(const struct roce_request *rq)
{
	return roce_request_is_atomic(rq) ? 8 : rq->pkt->hdr.dma_len;
}

/* FIRST, MIDDLE, LAST must follow each other, within one kind of message. */
static enum roce_verdict check_op_sequence(struct roce_request *rq)
{
	enum roce_resp_open open = (enum roce_resp_open)rq->qp->resp.open;
	bool fits;

	if (roce_request_is_start(rq))
		fits = open == ROCE_RESP_OPEN_NONE;
	else if (rq->info->operation == ROCE_OPERATION_SEND)
		fits = open == ROCE_RESP_OPEN_SEND;
	else
		fits = open == ROCE_RESP_OPEN_WRITE;
	if (fits)
		return ROCE_RX_ACCEPTED;
	return roce_request_refuse_invalid(
		rq, ROCE_MARKED(responder_op_sequence, ROCE_RX_BAD_OP_SEQUENCE));
}

/* The QP must allow the operation; FLUSH and RESYNC are not offered. */
static enum roce_verdict check_op_allowed(struct roce_request *rq)
{
	uint32_t need = 0;

	switch (rq->info->operation) {
	case ROCE_OPERATION_SEND:
		break;
	case ROCE_OPERATION_WRITE:
	case ROCE_OPERATION_ATOMIC_WRITE:
		need = ROCE_ACCESS_REMOTE_WRITE;
		break;
	case ROCE_OPERATION_READ_REQUEST:
		need = ROCE_ACCESS_REMOTE_READ;
		break;
	case ROCE_OPERATION_CMP_SWAP:
	case ROCE_OPERATION_FETCH_ADD:
		need = ROCE_ACCESS_REMOTE_ATOMIC;
		break;
	case ROCE_OPERATION_FLUSH:
	case ROCE_OPERATION_RESYNC:
	case ROCE_OPERATION_READ_RESPONSE:
	case ROCE_OPERATION_ACK:
	case ROCE_OPERATION_ATOMIC_ACK:
	case ROCE_OPERATION_CNP:
		return roce_request_refuse_invalid(
			rq, ROCE_MARKED(responder_op_not_offered, ROCE_RX_OP_NOT_ALLOWED));
	}
	if ((rq->qp->attr.access_flags & need) != need)
		return roce_request_refuse_invalid(
			rq, ROCE_MARKED(responder_op_not_allowed, ROCE_RX_OP_NOT_ALLOWED));
	return ROCE_RX_ACCEPTED;
}

/* Every packet but the last is full. */
static bool has_packet_length(const struct roce_request *rq)
{
	uint32_t len = rq->pkt->payload_len;
	uint32_t mtu = rq->qp->mtu;

	switch (rq->info->position) {
	case ROCE_POSITION_FIRST:
	case ROCE_POSITION_MIDDLE:
		return len == mtu;
	case ROCE_POSITION_LAST:
		return len >= 1 && len <= mtu;
	case ROCE_POSITION_ONLY:
		return len <= mtu;
	}
	roce_unreachable();
}

/* A WRITE's packets add up to its DMALen; no message is above 2^31 bytes. */
static bool has_message_length(const struct roce_request *rq)
{
	const struct roce_responder *resp = &rq->qp->resp;
	uint32_t len = rq->pkt->payload_len;
	uint64_t left;

	if (rq->info->operation == ROCE_OPERATION_READ_REQUEST)
		return rq->pkt->hdr.dma_len <= MESSAGE_BYTES_MAX;
	if (rq->info->operation == ROCE_OPERATION_SEND)
		return roce_request_is_start(rq) || resp->received + len <= MESSAGE_BYTES_MAX;
	if (rq->info->operation != ROCE_OPERATION_WRITE)
		return true;
	left = roce_request_is_start(rq) ? rq->pkt->hdr.dma_len : resp->write_left;
	return left <= MESSAGE_BYTES_MAX && (roce_request_is_end(rq) ? len == left : len < left);
}

static enum roce_verdict check_length(struct roce_request *rq)
{
	uint32_t len = rq->pkt->payload_len;

	if (!has_packet_length(rq))
		return roce_request_refuse_invalid(
			rq, ROCE_MARKED(responder_packet_length, ROCE_RX_BAD_LENGTH));
	/* PadCnt fills the payload up to a multiple of 4, no more; READs and atomics carry none. */
	if (rq->pkt->hdr.pad_count != (-len & 3) || (len && !rq->info->has_payload))
		return roce_request_refuse_invalid(rq,
						   ROCE_MARKED(responder_pad, ROCE_RX_BAD_LENGTH));
	if (!has_message_length(rq))
		return roce_request_refuse_invalid(
			rq, ROCE_MARKED(responder_message_length, ROCE_RX_BAD_LENGTH));
	if (rq->info->operation == ROCE_OPERATION_ATOMIC_WRITE &&
	    (len != 8 || rq->pkt->hdr.dma_len != 8))
		return roce_request_refuse_invalid(
			rq, ROCE_MARKED(responder_atomic_write_length, ROCE_RX_BAD_LENGTH));
	if (rq->info->operation == ROCE_OPERATION_ATOMIC_WRITE && (rq->pkt->hdr.va & 7))
		return roce_request_refuse_invalid(
			rq, ROCE_MARKED(responder_atomic_write_va, ROCE_RX_MISALIGNED_ATOMIC));
	if (roce_request_is_atomic(rq) && (rq->pkt->hdr.va & 7))
		return roce_request_refuse_invalid(
			rq, ROCE_MARKED(responder_atomic_va, ROCE_RX_MISALIGNED_ATOMIC));
	return ROCE_RX_ACCEPTED;
}

/* READs and atomics beyond max_dest_rd_atomic (rounded up). The entry is taken later, when nothing
 * can fail. */
static enum roce_verdict check_rd_atomic(struct roce_request *rq)
{
	struct roce_qp *qp = rq->qp;

	if (rq->info->operation != ROCE_OPERATION_READ_REQUEST && !roce_request_is_atomic(rq) &&
	    rq->info->operation != ROCE_OPERATION_ATOMIC_WRITE)
		return ROCE_RX_ACCEPTED;
	if (!roce_resp_resource_has_room(qp))
		return roce_request_refuse_invalid(
			rq, ROCE_MARKED(responder_rd_atomic, ROCE_RX_TOO_MANY_READS));
	return ROCE_RX_ACCEPTED;
}

/* Key, PD, rights and range for the whole DMALen before any byte is placed; for later packets of a
 * WRITE, that the region is still there. Zero length: keys are not looked at. */
static enum roce_verdict check_rkey(struct roce_request *rq)
{
	struct roce_qp *qp = rq->qp;
	uint32_t need = ROCE_ACCESS_REMOTE_WRITE;
	enum roce_mem_verdict verdict;
	uint64_t length;
	roce_key_t rkey;
	uint64_t va;

	if (rq->info->operation == ROCE_OPERATION_SEND)
		return ROCE_RX_ACCEPTED;
	if (roce_request_is_start(rq)) {
		rkey = rq->pkt->hdr.rkey;
		va = rq->pkt->hdr.va;
		length = dma_length(rq);
	} else {
		rkey = qp->resp.write_rkey;
		va = qp->resp.write_va;
		length = qp->resp.write_left;
	}
	if (length == 0)
		return ROCE_RX_ACCEPTED;
	if (rq->info->operation == ROCE_OPERATION_READ_REQUEST)
		need = ROCE_ACCESS_REMOTE_READ;
	else if (roce_request_is_atomic(rq))
		need = ROCE_ACCESS_REMOTE_ATOMIC;
	verdict = roce_mem_check_remote(&qp->t->keys, roce_qp_pd(qp), qp, rkey, va, length, need,
					&rq->place);
	if (verdict == ROCE_MEM_OK)
		return ROCE_RX_ACCEPTED;
	if (!roce_request_is_start(rq))
		ROCE_MARK(responder_region_gone_within_write);
	return roce_request_refuse(rq, ROCE_NAK_REMOTE_ACCESS, ROCE_WC_SUCCESS,
				   ROCE_EVENT_QP_ACCESS_ERR,
				   ROCE_MARKED(responder_rkey, ROCE_RX_BAD_RKEY));
}

/* A receive WQE where the packet takes one: at the start of a SEND, at the end of a WRITE with
 * immediate. None: RNR NAK; nothing is consumed and the expected PSN stays. */
static enum roce_verdict check_recv_wqe(struct roce_request *rq)
{
	struct roce_qp *qp = rq->qp;

	if (!rq->info->consumes_recv || roce_recv_take(qp))
		return ROCE_RX_ACCEPTED;
	roce_responder_owe_nak(qp, roce_aeth_syndrome(ROCE_AETH_RNR_NAK, qp->attr.min_rnr_timer),
			       rq->pkt->hdr.psn);
	/* What follows this packet is out of sequence; the RNR NAK has said so already. */
	qp->resp.is_nak_sent = true;
	return ROCE_MARKED(responder_rnr, ROCE_RX_RNR);
}

/* XRC: each packet names the shared queue whose domain it is checked against, and from which a
 * message draws. The queue of a message that has its WQE stays. */
static enum roce_verdict check_srq(struct roce_request *rq)
{
	struct roce_qp *qp = rq->qp;
	const struct roce_transport_ops *ops = qp->t->cfg.ops;
	struct roce_srq *srq;

	if (qp->cfg.type != ROCE_QP_XRC_TGT || qp->is_held)
		return ROCE_RX_ACCEPTED;
	/* The program destroyed the queue under an open SEND: the rest has no place to go to. */
	if (qp->resp.open == ROCE_RESP_OPEN_SEND)
		return roce_request_refuse_invalid(rq,
						   ROCE_MARKED(responder_srq_gone, ROCE_RX_NO_SRQ));
	srq = ops->find_xrc_srq ? ops->find_xrc_srq(qp->t->cfg.ctx, qp, rq->pkt->hdr.xrc_srqn)
				: NULL;
	if (!srq)
		return roce_request_refuse_invalid(
			rq, ROCE_MARKED(responder_srq_unknown, ROCE_RX_NO_SRQ));
	qp->srq = srq;
	return ROCE_RX_ACCEPTED;
}

typedef enum roce_verdict (*request_check)(struct roce_request *rq);

static const request_check checks[] = {
	check_op_sequence, check_op_allowed, check_length,   check_rd_atomic,
	check_srq,	   check_rkey,	     check_recv_wqe,
};

enum roce_verdict roce_request_check(struct roce_request *rq)
{
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		enum roce_verdict verdict = checks[i](rq);

		if (verdict != ROCE_RX_ACCEPTED)
			return verdict;
	}
	return ROCE_RX_ACCEPTED;
}
