/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The responder: a request passes the checks below from top to bottom (the order of the
 * specification), is executed, and leaves a debt: an ACK, a NAK, or READ and atomic responses,
 * which roce_responder_tx() pays in PSN order. ACKs coalesce by themselves: however many requests
 * arrive between two calls of roce_tx(), one ACK for the newest PSN goes out.
 *
 * A failed check writes nothing. Data of a multi-packet message is placed packet by packet, and the
 * key is looked up again for each, since the program may deregister the region at any time.
 */
#include "transport/roles.h"

#include "base/assert.h"
#include "base/marks.h"
#include "transport/segment.h"
#include "wire/aeth.h"

#define MSN_MASK	  0xffffffu
#define MESSAGE_BYTES_MAX (UINT32_C(1) << 31)

/* One request on its way through the checks. */
struct request {
	struct roce_qp *qp;
	const struct roce_rx_pkt *pkt;
	const struct roce_opcode_info *info;
	roce_ns_t now;
	uint64_t ptr; /* process address behind the R_Key, where one was checked */
};

static bool is_atomic(const struct request *rq)
{
	return rq->info->operation == ROCE_OPERATION_CMP_SWAP ||
	       rq->info->operation == ROCE_OPERATION_FETCH_ADD;
}

static bool is_start(const struct request *rq)
{
	return roce_position_is_start(rq->info->position);
}

static bool is_end(const struct request *rq)
{
	return roce_position_is_end(rq->info->position);
}

/* Bytes that the R_Key of a First or Only packet must cover. */
static uint32_t dma_length(const struct request *rq)
{
	return is_atomic(rq) ? 8 : rq->pkt->hdr.dma_len;
}

/* ---- debts ---- */

static void owe_nak(struct roce_qp *qp, uint8_t syndrome, roce_psn_t psn)
{
	struct roce_responder *resp = &qp->resp;

	resp->is_nak_pending = true;
	resp->nak_syndrome = syndrome;
	resp->nak_psn = psn;
	/* A NAK acknowledges everything before it. */
	resp->is_ack_pending = false;
	resp->is_dup_ack_pending = false;
	roce_qp_mark_ready(qp);
}

/* Class C and A errors: NAK, the receive WQE in hand (or an async event) tells the program, ERR. */
static enum roce_verdict refuse(struct request *rq, enum roce_nak code,
				enum roce_wc_status recv_status, enum roce_async_event event,
				enum roce_verdict verdict)
{
	struct roce_qp *qp = rq->qp;

	owe_nak(qp, roce_aeth_nak(code), rq->pkt->hdr.psn);
	if (recv_status != ROCE_WC_SUCCESS && roce_recv_is_in_hand(qp))
		roce_qp_complete_recv(qp,
				      &(struct roce_cqe){.status = (uint8_t)recv_status,
							 .opcode = ROCE_WC_RECV,
							 .timestamp_ns = rq->now},
				      true);
	else
		roce_qp_event(qp, event);
	roce_qp_error_by_responder(qp, rq->now);
	return verdict;
}

/* The status of the receive WQE when the open message breaks off; none is in hand outside SENDs. */
static enum roce_wc_status open_recv_status(const struct roce_qp *qp, enum roce_wc_status status)
{
	return qp->resp.open == ROCE_RESP_OPEN_SEND ? status : ROCE_WC_SUCCESS;
}

static enum roce_verdict refuse_invalid(struct request *rq, enum roce_verdict verdict)
{
	return refuse(rq, ROCE_NAK_INVALID_REQUEST, open_recv_status(rq->qp, ROCE_WC_LOC_QP_OP_ERR),
		      ROCE_EVENT_QP_REQ_ERR, verdict);
}

/* ---- the checks, in the order of the specification ---- */

/* FIRST, MIDDLE, LAST must follow each other, within one kind of message. */
static enum roce_verdict check_op_sequence(struct request *rq)
{
	enum roce_resp_open open = (enum roce_resp_open)rq->qp->resp.open;
	bool fits;

	if (is_start(rq))
		fits = open == ROCE_RESP_OPEN_NONE;
	else if (rq->info->operation == ROCE_OPERATION_SEND)
		fits = open == ROCE_RESP_OPEN_SEND;
	else
		fits = open == ROCE_RESP_OPEN_WRITE;
	if (fits)
		return ROCE_RX_ACCEPTED;
	return refuse_invalid(rq, ROCE_MARKED(responder_op_sequence, ROCE_RX_BAD_OP_SEQUENCE));
}

/* The QP must allow the operation; FLUSH and RESYNC are not offered. */
static enum roce_verdict check_op_allowed(struct request *rq)
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
		return refuse_invalid(
			rq, ROCE_MARKED(responder_op_not_offered, ROCE_RX_OP_NOT_ALLOWED));
	}
	if ((rq->qp->attr.access_flags & need) != need)
		return refuse_invalid(
			rq, ROCE_MARKED(responder_op_not_allowed, ROCE_RX_OP_NOT_ALLOWED));
	return ROCE_RX_ACCEPTED;
}

/* Every packet but the last is full. */
static bool has_packet_length(const struct request *rq)
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
static bool has_message_length(const struct request *rq)
{
	const struct roce_responder *resp = &rq->qp->resp;
	uint32_t len = rq->pkt->payload_len;
	uint64_t left;

	if (rq->info->operation == ROCE_OPERATION_READ_REQUEST)
		return rq->pkt->hdr.dma_len <= MESSAGE_BYTES_MAX;
	if (rq->info->operation == ROCE_OPERATION_SEND)
		return is_start(rq) || resp->received + len <= MESSAGE_BYTES_MAX;
	if (rq->info->operation != ROCE_OPERATION_WRITE)
		return true;
	left = is_start(rq) ? rq->pkt->hdr.dma_len : resp->write_left;
	return left <= MESSAGE_BYTES_MAX && (is_end(rq) ? len == left : len < left);
}

static enum roce_verdict check_length(struct request *rq)
{
	uint32_t len = rq->pkt->payload_len;

	if (!has_packet_length(rq))
		return refuse_invalid(rq, ROCE_MARKED(responder_packet_length, ROCE_RX_BAD_LENGTH));
	/* PadCnt fills the payload up to a multiple of 4, no more; READs and atomics carry none. */
	if (rq->pkt->hdr.pad_count != (-len & 3) || (len && !rq->info->has_payload))
		return refuse_invalid(rq, ROCE_MARKED(responder_pad, ROCE_RX_BAD_LENGTH));
	if (!has_message_length(rq))
		return refuse_invalid(rq,
				      ROCE_MARKED(responder_message_length, ROCE_RX_BAD_LENGTH));
	if (rq->info->operation == ROCE_OPERATION_ATOMIC_WRITE &&
	    (len != 8 || rq->pkt->hdr.dma_len != 8))
		return refuse_invalid(
			rq, ROCE_MARKED(responder_atomic_write_length, ROCE_RX_BAD_LENGTH));
	if (rq->info->operation == ROCE_OPERATION_ATOMIC_WRITE && (rq->pkt->hdr.va & 7))
		return refuse_invalid(
			rq, ROCE_MARKED(responder_atomic_write_va, ROCE_RX_MISALIGNED_ATOMIC));
	if (is_atomic(rq) && (rq->pkt->hdr.va & 7))
		return refuse_invalid(rq,
				      ROCE_MARKED(responder_atomic_va, ROCE_RX_MISALIGNED_ATOMIC));
	return ROCE_RX_ACCEPTED;
}

/* READs and atomics beyond max_dest_rd_atomic. The entry is taken later, when nothing can fail. */
static enum roce_verdict check_rd_atomic(struct request *rq)
{
	struct roce_qp *qp = rq->qp;

	if (rq->info->operation != ROCE_OPERATION_READ_REQUEST && !is_atomic(rq) &&
	    rq->info->operation != ROCE_OPERATION_ATOMIC_WRITE)
		return ROCE_RX_ACCEPTED;
	if (!roce_resp_resource_has_room(qp))
		return refuse_invalid(rq, ROCE_MARKED(responder_rd_atomic, ROCE_RX_TOO_MANY_READS));
	return ROCE_RX_ACCEPTED;
}

/* Key, PD, rights and range for the whole DMALen before any byte is placed; for later packets of a
 * WRITE, that the region is still there. Zero length: keys are not looked at. */
static enum roce_verdict check_rkey(struct request *rq)
{
	struct roce_qp *qp = rq->qp;
	uint32_t need = ROCE_ACCESS_REMOTE_WRITE;
	enum roce_mem_verdict verdict;
	uint64_t length;
	roce_key_t rkey;
	uint64_t va;

	if (rq->info->operation == ROCE_OPERATION_SEND)
		return ROCE_RX_ACCEPTED;
	if (is_start(rq)) {
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
	else if (is_atomic(rq))
		need = ROCE_ACCESS_REMOTE_ATOMIC;
	verdict = roce_mem_check_remote(&qp->t->keys, roce_qp_pd(qp), qp, rkey, va, length, need,
					&rq->ptr);
	if (verdict == ROCE_MEM_OK)
		return ROCE_RX_ACCEPTED;
	if (!is_start(rq))
		ROCE_MARK(responder_region_gone_within_write);
	return refuse(rq, ROCE_NAK_REMOTE_ACCESS, ROCE_WC_SUCCESS, ROCE_EVENT_QP_ACCESS_ERR,
		      ROCE_MARKED(responder_rkey, ROCE_RX_BAD_RKEY));
}

/* A receive WQE where the packet takes one: at the start of a SEND, at the end of a WRITE with
 * immediate. None: RNR NAK; nothing is consumed and the expected PSN stays. */
static enum roce_verdict check_recv_wqe(struct request *rq)
{
	struct roce_qp *qp = rq->qp;

	if (!rq->info->consumes_recv || roce_recv_take(qp))
		return ROCE_RX_ACCEPTED;
	owe_nak(qp, roce_aeth_syndrome(ROCE_AETH_RNR_NAK, qp->attr.min_rnr_timer),
		rq->pkt->hdr.psn);
	/* What follows this packet is out of sequence; the RNR NAK has said so already. */
	qp->resp.is_nak_sent = true;
	return ROCE_MARKED(responder_rnr, ROCE_RX_RNR);
}

/* XRC: each packet names the shared queue whose domain it is checked against, and from which a
 * message draws. The queue of a message that has its WQE stays. */
static enum roce_verdict check_srq(struct request *rq)
{
	struct roce_qp *qp = rq->qp;
	const struct roce_transport_ops *ops = qp->t->cfg.ops;
	struct roce_srq *srq;

	if (qp->cfg.type != ROCE_QP_XRC_TGT || qp->is_held)
		return ROCE_RX_ACCEPTED;
	/* The program destroyed the queue under an open SEND: the rest has no place to go to. */
	if (qp->resp.open == ROCE_RESP_OPEN_SEND)
		return refuse_invalid(rq, ROCE_MARKED(responder_srq_gone, ROCE_RX_NO_SRQ));
	srq = ops->find_xrc_srq ? ops->find_xrc_srq(qp->t->cfg.ctx, qp, rq->pkt->hdr.xrc_srqn)
				: NULL;
	if (!srq)
		return refuse_invalid(rq, ROCE_MARKED(responder_srq_unknown, ROCE_RX_NO_SRQ));
	qp->srq = srq;
	return ROCE_RX_ACCEPTED;
}

typedef enum roce_verdict (*request_check)(struct request *rq);

static const request_check checks[] = {
	check_op_sequence, check_op_allowed, check_length,   check_rd_atomic,
	check_srq,	   check_rkey,	     check_recv_wqe,
};

/* ---- execution ---- */

static int copy(const struct roce_qp *qp, uint64_t to, const void *from, uint32_t length)
{
	if (length == 0 || !from)
		return 0;
	return qp->t->cfg.mem_ops->copy(qp->t->cfg.ctx, (void *)(uintptr_t)to, from, length);
}

/* SEND data goes where the receive WQE says. */
static enum roce_verdict place_send(struct request *rq)
{
	struct roce_qp *qp = rq->qp;
	enum roce_wc_status status =
		roce_recv_place(qp, qp->resp.received, rq->pkt->payload, rq->pkt->payload_len);

	if (status == ROCE_WC_SUCCESS)
		return ROCE_RX_ACCEPTED;
	if (status == ROCE_WC_LOC_LEN_ERR)
		return refuse(rq, ROCE_NAK_INVALID_REQUEST, status, ROCE_EVENT_QP_REQ_ERR,
			      ROCE_MARKED(responder_recv_length, ROCE_RX_RECV_TOO_SMALL));
	return refuse(rq, ROCE_NAK_REMOTE_OPERATIONAL, status, ROCE_EVENT_QP_FATAL,
		      ROCE_MARKED(responder_recv_sge, ROCE_RX_RECV_BAD_SGE));
}

/* SEND with invalidate: the key must name something of this PD that may be invalidated. */
static enum roce_verdict invalidate(struct request *rq)
{
	struct roce_qp *qp = rq->qp;

	if (roce_mem_invalidate(&qp->t->keys, roce_qp_pd(qp), qp, rq->pkt->hdr.inv_rkey) ==
	    ROCE_MEM_OK)
		return ROCE_RX_ACCEPTED;
	return refuse(rq, ROCE_NAK_REMOTE_ACCESS, ROCE_WC_LOC_QP_OP_ERR, ROCE_EVENT_QP_ACCESS_ERR,
		      ROCE_MARKED(responder_invalidate, ROCE_RX_BAD_INVALIDATE));
}

/* The last step of a message: if the completion does not fit, the QP has gone to ERR. */
static enum roce_verdict complete_recv(struct request *rq, enum roce_wc_opcode opcode,
				       uint64_t byte_len)
{
	struct roce_cqe cqe = {
		.byte_len = byte_len,
		.timestamp_ns = rq->now,
		.status = ROCE_WC_SUCCESS,
		.opcode = (uint8_t)opcode,
	};

	if (rq->info->has_imm) {
		cqe.imm_be = rq->pkt->hdr.imm_be;
		cqe.wc_flags = ROCE_WC_WITH_IMM;
	} else if (rq->info->has_inv) {
		cqe.imm_be = rq->pkt->hdr.inv_rkey.v;
		cqe.wc_flags = ROCE_WC_WITH_INV;
	}
	roce_qp_complete_recv(rq->qp, &cqe, rq->pkt->hdr.solicited);
	if (rq->qp->attr.state == ROCE_QP_ERR)
		return ROCE_MARKED(responder_cq_overrun, ROCE_RX_CQ_OVERRUN);
	return ROCE_RX_ACCEPTED;
}

static void owe_ack(struct request *rq)
{
	struct roce_responder *resp = &rq->qp->resp;

	resp->ack_psn = rq->pkt->hdr.psn;
	if (!rq->pkt->hdr.ack_req)
		return;
	resp->is_ack_pending = true;
	roce_qp_mark_ready(rq->qp);
}

static void count_message(struct roce_qp *qp)
{
	qp->resp.msn = (qp->resp.msn + 1) & MSN_MASK;
}

static enum roce_verdict execute_send(struct request *rq)
{
	struct roce_responder *resp = &rq->qp->resp;
	enum roce_verdict verdict;

	if (is_start(rq)) {
		resp->open = ROCE_RESP_OPEN_SEND;
		resp->received = 0;
	}
	verdict = place_send(rq);
	if (verdict == ROCE_RX_ACCEPTED && rq->info->has_inv)
		verdict = invalidate(rq);
	if (verdict != ROCE_RX_ACCEPTED)
		return verdict;
	resp->received += rq->pkt->payload_len;
	owe_ack(rq);
	if (is_end(rq)) {
		resp->open = ROCE_RESP_OPEN_NONE;
		count_message(rq->qp);
		return complete_recv(rq, ROCE_WC_RECV, resp->received);
	}
	return ROCE_RX_ACCEPTED;
}

static enum roce_verdict execute_write(struct request *rq)
{
	struct roce_responder *resp = &rq->qp->resp;
	uint32_t len = rq->pkt->payload_len;

	if (is_start(rq)) {
		resp->write_va = rq->pkt->hdr.va;
		resp->write_rkey = rq->pkt->hdr.rkey;
		resp->write_left = resp->write_total = rq->pkt->hdr.dma_len;
	}
	if (copy(rq->qp, rq->ptr, rq->pkt->payload, len))
		return refuse(rq, ROCE_NAK_REMOTE_OPERATIONAL, ROCE_WC_SUCCESS,
			      ROCE_EVENT_QP_ACCESS_ERR,
			      ROCE_MARKED(responder_write_fault, ROCE_RX_MEMORY_FAULT));
	resp->open = ROCE_RESP_OPEN_WRITE;
	resp->write_va += len;
	resp->write_left -= len;
	owe_ack(rq);
	if (is_end(rq)) {
		resp->open = ROCE_RESP_OPEN_NONE;
		count_message(rq->qp);
		roce_count(rq->qp->t, ROCE_STAT_RX_WRITE_REQUESTS);
		if (rq->info->has_imm)
			return complete_recv(rq, ROCE_WC_RECV_RDMA_WITH_IMM, resp->write_total);
	}
	return ROCE_RX_ACCEPTED;
}

/* Its response acknowledges everything before it, so an ACK that is still owed is not sent. */
static struct roce_resp_resource *save_resource(struct request *rq, uint32_t packets)
{
	struct roce_resp_resource *res = roce_resp_resource_add(rq->qp);

	count_message(rq->qp);
	res->first_psn = res->next_psn = rq->pkt->hdr.psn;
	res->last_psn = roce_psn_add(res->first_psn, packets - 1);
	res->rkey = rq->pkt->hdr.rkey;
	res->pd = roce_qp_pd(rq->qp);
	res->va = rq->pkt->hdr.va;
	res->length = rq->pkt->hdr.dma_len;
	res->msn = rq->qp->resp.msn;
	res->is_restart = true;
	roce_resp_resource_set_pending(rq->qp, res, true);
	rq->qp->resp.is_ack_pending = false;
	roce_qp_mark_ready(rq->qp);
	return res;
}

static enum roce_verdict execute_read(struct request *rq)
{
	uint32_t packets =
		roce_segment_count(rq->pkt->hdr.dma_len, roce_segment_shift(rq->qp->attr.path_mtu));

	save_resource(rq, packets);
	roce_count(rq->qp->t, ROCE_STAT_RX_READ_REQUESTS);
	return ROCE_RX_ACCEPTED;
}

static enum roce_verdict execute_atomic(struct request *rq)
{
	const struct roce_mem_ops *ops = rq->qp->t->cfg.mem_ops;
	const struct roce_headers *hdr = &rq->pkt->hdr;
	void *ctx = rq->qp->t->cfg.ctx;
	uint64_t *word = (uint64_t *)(uintptr_t)rq->ptr;
	struct roce_resp_resource *res;
	uint64_t orig = 0;
	int r;

	/* The va is aligned, but a region may map it to any address of this process. */
	if (rq->ptr & 7)
		return refuse_invalid(
			rq, ROCE_MARKED(responder_atomic_address, ROCE_RX_MISALIGNED_ATOMIC));
	if (rq->info->operation == ROCE_OPERATION_CMP_SWAP)
		r = ops->compare_swap(ctx, word, hdr->compare, hdr->swap_add, &orig);
	else
		r = ops->fetch_add(ctx, word, hdr->swap_add, &orig);
	if (r)
		return refuse(rq, ROCE_NAK_REMOTE_OPERATIONAL, ROCE_WC_SUCCESS,
			      ROCE_EVENT_QP_ACCESS_ERR,
			      ROCE_MARKED(responder_atomic_fault, ROCE_RX_MEMORY_FAULT));
	res = save_resource(rq, 1);
	res->is_atomic = true;
	res->orig = orig;
	roce_count(rq->qp->t, ROCE_STAT_RX_ATOMIC_REQUESTS);
	return ROCE_RX_ACCEPTED;
}

/* The 8 bytes appear at once. The answer is an empty READ response, kept as that of a READ is. */
static enum roce_verdict execute_atomic_write(struct request *rq)
{
	struct roce_resp_resource *res;

	if (rq->ptr & 7)
		return refuse_invalid(
			rq, ROCE_MARKED(responder_atomic_write_address, ROCE_RX_MISALIGNED_ATOMIC));
	if (copy(rq->qp, rq->ptr, rq->pkt->payload, rq->pkt->payload_len))
		return refuse(rq, ROCE_NAK_REMOTE_OPERATIONAL, ROCE_WC_SUCCESS,
			      ROCE_EVENT_QP_ACCESS_ERR,
			      ROCE_MARKED(responder_atomic_write_fault, ROCE_RX_MEMORY_FAULT));
	res = save_resource(rq, 1);
	res->length = 0;
	roce_count(rq->qp->t, ROCE_STAT_RX_WRITE_REQUESTS);
	return ROCE_RX_ACCEPTED;
}

static enum roce_verdict execute(struct request *rq)
{
	switch (rq->info->operation) {
	case ROCE_OPERATION_SEND:
		return execute_send(rq);
	case ROCE_OPERATION_WRITE:
		return execute_write(rq);
	case ROCE_OPERATION_READ_REQUEST:
		return execute_read(rq);
	case ROCE_OPERATION_CMP_SWAP:
	case ROCE_OPERATION_FETCH_ADD:
		return execute_atomic(rq);
	case ROCE_OPERATION_ATOMIC_WRITE:
		return execute_atomic_write(rq);
	case ROCE_OPERATION_READ_RESPONSE:
	case ROCE_OPERATION_ACK:
	case ROCE_OPERATION_ATOMIC_ACK:
	case ROCE_OPERATION_FLUSH:
	case ROCE_OPERATION_CNP:
	case ROCE_OPERATION_RESYNC:
		break; /* check_op_allowed let none in */
	}
	roce_unreachable();
}

/* PSNs that an accepted request uses up. */
static uint32_t psns_of(const struct request *rq)
{
	if (rq->info->operation == ROCE_OPERATION_READ_REQUEST)
		return roce_segment_count(rq->pkt->hdr.dma_len,
					  roce_segment_shift(rq->qp->attr.path_mtu));
	return 1;
}

static enum roce_verdict on_new(struct request *rq)
{
	struct roce_qp *qp = rq->qp;
	enum roce_verdict verdict;

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		verdict = checks[i](rq);
		if (verdict != ROCE_RX_ACCEPTED)
			return verdict;
	}
	if (qp->attr.state == ROCE_QP_RTR && !qp->resp.is_comm_est_told) {
		qp->resp.is_comm_est_told = true;
		roce_qp_event(qp, ROCE_EVENT_COMM_EST);
	}
	/* Before execution: a completion may carry the QP to ERR, but this packet was in sequence.
	 */
	qp->resp.expected_psn = roce_psn_add(rq->pkt->hdr.psn, psns_of(rq));
	qp->resp.is_nak_sent = false;
	if (roce_aeth_kind(qp->resp.nak_syndrome) == ROCE_AETH_RNR_NAK)
		qp->resp.is_nak_pending = false;
	return execute(rq);
}

/* ---- duplicates ---- */

/* Never executed again. The ACK must not pass a READ or atomic whose response may be lost. */
static enum roce_verdict on_duplicate_send_or_write(struct request *rq)
{
	struct roce_responder *resp = &rq->qp->resp;
	const struct roce_resp_resource *after;

	if (!rq->pkt->hdr.ack_req)
		return ROCE_RX_DUPLICATE;
	after = roce_resp_resource_after(rq->qp, rq->pkt->hdr.psn);
	if (after)
		ROCE_MARK(responder_duplicate_before_read);
	resp->dup_ack_psn = roce_psn_add(after ? after->first_psn : resp->expected_psn,
					 ROCE_PSN_MASK); /* the PSN before it */
	resp->is_dup_ack_pending = true;
	roce_qp_mark_ready(rq->qp);
	return ROCE_RX_DUPLICATE;
}

/* The rest of a saved READ is read and sent again, if it is really the same request. */
static enum roce_verdict on_duplicate_read(struct request *rq)
{
	struct roce_qp *qp = rq->qp;
	const struct roce_headers *hdr = &rq->pkt->hdr;
	uint32_t shift = roce_segment_shift(qp->attr.path_mtu);
	struct roce_resp_resource *res = roce_resp_resource_find(qp, hdr->psn);
	uint64_t skip;
	uint64_t ptr;

	if (!res)
		return ROCE_MARKED(responder_read_forgotten, ROCE_RX_DUPLICATE_MISMATCH);
	if (res->is_atomic || res->rkey.v != hdr->rkey.v)
		return ROCE_MARKED(responder_read_other_key, ROCE_RX_DUPLICATE_MISMATCH);
	skip = (uint64_t)((hdr->psn.v - res->first_psn.v) & ROCE_PSN_MASK) << shift;
	if (hdr->va != res->va + skip || hdr->dma_len != res->length - skip)
		return ROCE_MARKED(responder_read_other_range, ROCE_RX_DUPLICATE_MISMATCH);
	if (hdr->dma_len &&
	    roce_mem_check_remote(&qp->t->keys, res->pd, qp, hdr->rkey, hdr->va, hdr->dma_len,
				  ROCE_ACCESS_REMOTE_READ, &ptr) != ROCE_MEM_OK)
		return ROCE_MARKED(responder_read_again_key, ROCE_RX_DUPLICATE_MISMATCH);
	res->next_psn = hdr->psn;
	res->is_restart = true;
	roce_resp_resource_set_pending(qp, res, true);
	roce_qp_mark_ready(qp);
	return ROCE_RX_DUPLICATE;
}

static enum roce_verdict on_duplicate_atomic(struct request *rq)
{
	struct roce_resp_resource *res = roce_resp_resource_find(rq->qp, rq->pkt->hdr.psn);

	if (!res || !res->is_atomic)
		return ROCE_MARKED(responder_atomic_forgotten, ROCE_RX_DUPLICATE_MISMATCH);
	roce_resp_resource_set_pending(rq->qp, res, true);
	roce_qp_mark_ready(rq->qp);
	return ROCE_RX_DUPLICATE;
}

static enum roce_verdict on_duplicate_atomic_write(struct request *rq)
{
	struct roce_resp_resource *res = roce_resp_resource_find(rq->qp, rq->pkt->hdr.psn);

	if (!res || res->is_atomic || res->length)
		return ROCE_MARKED(responder_atomic_write_forgotten, ROCE_RX_DUPLICATE_MISMATCH);
	res->next_psn = res->first_psn;
	res->is_restart = true;
	roce_resp_resource_set_pending(rq->qp, res, true);
	roce_qp_mark_ready(rq->qp);
	return ROCE_RX_DUPLICATE;
}

static enum roce_verdict on_duplicate(struct request *rq)
{
	switch (rq->info->operation) {
	case ROCE_OPERATION_SEND:
	case ROCE_OPERATION_WRITE:
		return on_duplicate_send_or_write(rq);
	case ROCE_OPERATION_READ_REQUEST:
		return on_duplicate_read(rq);
	case ROCE_OPERATION_CMP_SWAP:
	case ROCE_OPERATION_FETCH_ADD:
		return on_duplicate_atomic(rq);
	case ROCE_OPERATION_ATOMIC_WRITE:
		return on_duplicate_atomic_write(rq);
	case ROCE_OPERATION_READ_RESPONSE:
	case ROCE_OPERATION_ACK:
	case ROCE_OPERATION_ATOMIC_ACK:
	case ROCE_OPERATION_FLUSH:
	case ROCE_OPERATION_CNP:
	case ROCE_OPERATION_RESYNC:
		break;
	}
	return ROCE_MARKED(responder_duplicate_op, ROCE_RX_DUPLICATE_MISMATCH);
}

static enum roce_verdict on_out_of_sequence(struct roce_qp *qp, roce_psn_t psn)
{
	struct roce_responder *resp = &qp->resp;

	if (!resp->is_nak_sent) {
		resp->is_nak_sent = true;
		resp->ahead_psn = psn;
		owe_nak(qp, roce_aeth_nak(ROCE_NAK_PSN_SEQUENCE), resp->expected_psn);
	} else if (roce_psn_diff(psn, resp->ahead_psn) > 0) {
		ROCE_MARK(responder_gap_again);
		resp->ahead_psn = psn;
	}
	return ROCE_RX_OUT_OF_SEQUENCE;
}

enum roce_verdict roce_responder_rx(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
				    const struct roce_opcode_info *info, roce_ns_t now)
{
	struct request rq = {.qp = qp, .pkt = pkt, .info = info, .now = now};
	int32_t ahead = roce_psn_diff(pkt->hdr.psn, qp->resp.expected_psn);

	if (ahead > 0)
		return on_out_of_sequence(qp, pkt->hdr.psn);
	return ahead < 0 ? on_duplicate(&rq) : on_new(&rq);
}

/* ---- paying the debts ---- */

bool roce_responder_has_output(const struct roce_qp *qp)
{
	const struct roce_responder *resp = &qp->resp;

	return resp->pending_count || resp->is_ack_pending || resp->is_dup_ack_pending ||
	       resp->is_nak_pending;
}

static void start_response(struct roce_qp *qp, struct roce_tx_pkt *pkt, enum roce_op op,
			   roce_psn_t psn, uint8_t syndrome, uint32_t msn)
{
	roce_qp_fill_headers(qp, &pkt->hdr,
			     (roce_opcode_t){(uint8_t)(op + roce_qp_opcode_base(qp))}, psn);
	pkt->hdr.syndrome = syndrome;
	pkt->hdr.msn = msn;
	pkt->payload = (struct roce_payload){0};
	pkt->path = &qp->attr.path;
	pkt->qp = qp;
}

static uint8_t ack_syndrome(void)
{
	return roce_aeth_syndrome(ROCE_AETH_ACK, ROCE_CREDIT_NONE);
}

/* The region of a READ that was accepted is gone, by key or by memory. */
void roce_responder_read_fault(struct roce_qp *qp, roce_psn_t psn, roce_ns_t now)
{
	struct roce_resp_resource *res;

	while ((res = roce_resp_resource_pending(qp)))
		roce_resp_resource_set_pending(qp, res, false);
	roce_count(qp->t, ROCE_RX_MEMORY_FAULT);
	owe_nak(qp, roce_aeth_nak(ROCE_NAK_REMOTE_ACCESS), psn);
	if (qp->attr.state != ROCE_QP_ERR)
		roce_qp_event(qp, ROCE_EVENT_QP_ACCESS_ERR);
	roce_qp_error_by_responder(qp, now);
}

/* The next packet of a READ's answer; false when its region is gone. */
static bool send_read_response(struct roce_qp *qp, struct roce_resp_resource *res,
			       struct roce_tx_pkt *pkt, roce_ns_t now)
{
	uint32_t shift = roce_segment_shift(qp->attr.path_mtu);
	uint32_t index = (res->next_psn.v - res->first_psn.v) & ROCE_PSN_MASK;
	uint32_t bytes = roce_segment_bytes(res->length, shift, index);
	uint64_t offset = (uint64_t)index << shift;
	bool is_last = roce_psn_is_equal(res->next_psn, res->last_psn);
	enum roce_op op = ROCE_RC_READ_RESPONSE_MIDDLE;
	uint64_t ptr = 0;

	if (bytes && roce_mem_check_remote(&qp->t->keys, res->pd, qp, res->rkey, res->va + offset,
					   bytes, ROCE_ACCESS_REMOTE_READ, &ptr) != ROCE_MEM_OK) {
		ROCE_MARK(responder_read_region_gone);
		roce_responder_read_fault(qp, res->next_psn, now);
		return false;
	}
	if (res->is_restart)
		op = is_last ? ROCE_RC_READ_RESPONSE_ONLY : ROCE_RC_READ_RESPONSE_FIRST;
	else if (is_last)
		op = ROCE_RC_READ_RESPONSE_LAST;
	start_response(qp, pkt, op, res->next_psn, ack_syndrome(), res->msn);
	pkt->hdr.pad_count = (uint8_t)(-bytes & 3);
	pkt->payload.data = (const void *)(uintptr_t)ptr;
	pkt->payload.length = bytes;
	res->is_restart = false;
	res->next_psn = roce_psn_add(res->next_psn, 1);
	if (is_last) {
		res->is_answered = true;
		roce_resp_resource_set_pending(qp, res, false);
	}
	return true;
}

static void send_ack(struct roce_qp *qp, struct roce_tx_pkt *pkt, roce_psn_t psn)
{
	start_response(qp, pkt, ROCE_RC_ACK, psn, ack_syndrome(), qp->resp.msn);
	roce_count(qp->t, ROCE_STAT_TX_ACKS);
}

/* One response in PSN order; false when nothing (more) is owed. */
static bool send_next(struct roce_qp *qp, struct roce_tx_pkt *pkt, roce_ns_t now)
{
	struct roce_responder *resp = &qp->resp;
	struct roce_resp_resource *res = roce_resp_resource_pending(qp);

	if (res && res->is_atomic) {
		start_response(qp, pkt, ROCE_RC_ATOMIC_ACK, res->first_psn, ack_syndrome(),
			       res->msn);
		pkt->hdr.atomic_orig = res->orig;
		res->is_answered = true;
		roce_resp_resource_set_pending(qp, res, false);
		return true;
	}
	if (res && send_read_response(qp, res, pkt, now))
		return true;
	if (resp->is_dup_ack_pending) {
		resp->is_dup_ack_pending = false;
		send_ack(qp, pkt, resp->dup_ack_psn);
		return true;
	}
	if (resp->is_ack_pending) {
		resp->is_ack_pending = false;
		send_ack(qp, pkt, resp->ack_psn);
		return true;
	}
	if (resp->is_nak_pending) {
		resp->is_nak_pending = false;
		if (resp->nak_syndrome == roce_aeth_nak(ROCE_NAK_PSN_SEQUENCE)) {
			/* The packets that were ahead have come again meanwhile: nothing is
			 * missing. */
			if (roce_psn_diff(resp->expected_psn, resp->ahead_psn) > 0) {
				ROCE_MARK(responder_nak_needless);
				send_ack(qp, pkt, roce_psn_add(resp->expected_psn, ROCE_PSN_MASK));
				return true;
			}
			/* Those that came in order since it was owed need no repetition. */
			resp->nak_psn = resp->expected_psn;
			resp->is_nak_sent = true;
		}
		start_response(qp, pkt, ROCE_RC_ACK, resp->nak_psn, resp->nak_syndrome, resp->msn);
		roce_count(qp->t, ROCE_STAT_TX_NAKS);
		return true;
	}
	return false;
}

size_t roce_responder_tx(struct roce_qp *qp, struct roce_tx_pkt *pkts, size_t max, roce_ns_t now)
{
	size_t n = 0;

	while (n < max && send_next(qp, &pkts[n], now))
		n++;
	return n;
}
