/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The responder: a request passes the checks of resp_checks.c, is executed here, and leaves a debt:
 * an ACK, a NAK, or READ and atomic responses, which resp_answer.c pays in PSN order. ACKs coalesce
 * by themselves: however many requests arrive between two calls of roce_tx(), one ACK for the
 * newest PSN goes out.
 *
 * Data of a multi-packet message is placed packet by packet, and the key is looked up again for
 * each, since the program may deregister the region at any time.
 */
#include "transport/responder.h"

#include "base/assert.h"
#include "base/marks.h"
#include "transport/segment.h"

#define MSN_MASK 0xffffffu

/* ---- debts ---- */

void roce_responder_owe_nak(struct roce_qp *qp, uint8_t syndrome, roce_psn_t psn)
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

enum roce_verdict roce_request_refuse(struct roce_request *rq, enum roce_nak code,
				      enum roce_wc_status recv_status, enum roce_async_event event,
				      enum roce_verdict verdict)
{
	struct roce_qp *qp = rq->qp;

	roce_responder_owe_nak(qp, roce_aeth_nak(code), rq->pkt->hdr.psn);
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

enum roce_verdict roce_request_refuse_invalid(struct roce_request *rq, enum roce_verdict verdict)
{
	return roce_request_refuse(rq, ROCE_NAK_INVALID_REQUEST,
				   open_recv_status(rq->qp, ROCE_WC_LOC_QP_OP_ERR),
				   ROCE_EVENT_QP_REQ_ERR, verdict);
}

/* ---- execution ---- */

static int store(const struct roce_qp *qp, const struct roce_mem_place *to, const void *from,
		 uint32_t length)
{
	if (length == 0 || !from)
		return 0;
	return qp->t->cfg.mem_ops->store(qp->t->cfg.ctx, to, from, length);
}

/* SEND data goes where the receive WQE says. */
static enum roce_verdict place_send(struct roce_request *rq)
{
	struct roce_qp *qp = rq->qp;
	enum roce_wc_status status =
		roce_recv_place(qp, qp->resp.received, rq->pkt->payload, rq->pkt->payload_len);

	if (status == ROCE_WC_SUCCESS)
		return ROCE_RX_ACCEPTED;
	if (status == ROCE_WC_LOC_LEN_ERR)
		return roce_request_refuse(
			rq, ROCE_NAK_INVALID_REQUEST, status, ROCE_EVENT_QP_REQ_ERR,
			ROCE_MARKED(responder_recv_length, ROCE_RX_RECV_TOO_SMALL));
	return roce_request_refuse(rq, ROCE_NAK_REMOTE_OPERATIONAL, status, ROCE_EVENT_QP_FATAL,
				   ROCE_MARKED(responder_recv_sge, ROCE_RX_RECV_BAD_SGE));
}

/* SEND with invalidate: the key must name something of this PD that may be invalidated. */
static enum roce_verdict invalidate(struct roce_request *rq)
{
	struct roce_qp *qp = rq->qp;

	if (roce_mem_invalidate(&qp->t->keys, roce_qp_pd(qp), qp, rq->pkt->hdr.inv_rkey) ==
	    ROCE_MEM_OK)
		return ROCE_RX_ACCEPTED;
	return roce_request_refuse(rq, ROCE_NAK_REMOTE_ACCESS, ROCE_WC_LOC_QP_OP_ERR,
				   ROCE_EVENT_QP_ACCESS_ERR,
				   ROCE_MARKED(responder_invalidate, ROCE_RX_BAD_INVALIDATE));
}

/* The last step of a message: if the completion does not fit, the QP has gone to ERR. */
static enum roce_verdict complete_recv(struct roce_request *rq, enum roce_wc_opcode opcode,
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

static void owe_ack(struct roce_request *rq)
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

static enum roce_verdict execute_send(struct roce_request *rq)
{
	struct roce_responder *resp = &rq->qp->resp;
	enum roce_verdict verdict;

	if (roce_request_is_start(rq)) {
		resp->open = ROCE_RESP_OPEN_SEND;
		resp->open_psn = rq->pkt->hdr.psn;
		resp->received = 0;
	}
	verdict = place_send(rq);
	if (verdict == ROCE_RX_ACCEPTED && rq->info->has_inv)
		verdict = invalidate(rq);
	if (verdict != ROCE_RX_ACCEPTED)
		return verdict;
	resp->received += rq->pkt->payload_len;
	owe_ack(rq);
	if (roce_request_is_end(rq)) {
		resp->open = ROCE_RESP_OPEN_NONE;
		count_message(rq->qp);
		return complete_recv(rq, ROCE_WC_RECV, resp->received);
	}
	return ROCE_RX_ACCEPTED;
}

static enum roce_verdict execute_write(struct roce_request *rq)
{
	struct roce_responder *resp = &rq->qp->resp;
	uint32_t len = rq->pkt->payload_len;

	if (roce_request_is_start(rq)) {
		resp->open_psn = rq->pkt->hdr.psn;
		resp->write_va = rq->pkt->hdr.va;
		resp->write_rkey = rq->pkt->hdr.rkey;
		resp->write_left = resp->write_total = rq->pkt->hdr.dma_len;
	}
	if (store(rq->qp, &rq->place, rq->pkt->payload, len))
		return roce_request_refuse(
			rq, ROCE_NAK_REMOTE_OPERATIONAL, ROCE_WC_SUCCESS, ROCE_EVENT_QP_ACCESS_ERR,
			ROCE_MARKED(responder_write_fault, ROCE_RX_MEMORY_FAULT));
	resp->open = ROCE_RESP_OPEN_WRITE;
	resp->write_va += len;
	resp->write_left -= len;
	owe_ack(rq);
	if (roce_request_is_end(rq)) {
		resp->open = ROCE_RESP_OPEN_NONE;
		count_message(rq->qp);
		roce_count(rq->qp->t, ROCE_STAT_RX_WRITE_REQUESTS);
		if (rq->info->has_imm)
			return complete_recv(rq, ROCE_WC_RECV_RDMA_WITH_IMM, resp->write_total);
	}
	return ROCE_RX_ACCEPTED;
}

/* Its response acknowledges everything before it, so an ACK that is still owed is not sent. */
static struct roce_resp_resource *save_resource(struct roce_request *rq, uint32_t packets)
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

static enum roce_verdict execute_read(struct roce_request *rq)
{
	uint32_t packets = roce_segment_count(rq->pkt->hdr.dma_len, rq->qp->mtu);

	save_resource(rq, packets);
	roce_count(rq->qp->t, ROCE_STAT_RX_READ_REQUESTS);
	return ROCE_RX_ACCEPTED;
}

static enum roce_verdict execute_atomic(struct roce_request *rq)
{
	const struct roce_mem_ops *ops = rq->qp->t->cfg.mem_ops;
	const struct roce_headers *hdr = &rq->pkt->hdr;
	void *ctx = rq->qp->t->cfg.ctx;
	uint64_t *word = (uint64_t *)(uintptr_t)rq->place.ptr;
	struct roce_resp_resource *res;
	uint64_t orig = 0;
	int r;

	/* The va is aligned, but a region may map it to any address of this process. */
	if (rq->place.ptr & 7)
		return roce_request_refuse_invalid(
			rq, ROCE_MARKED(responder_atomic_address, ROCE_RX_MISALIGNED_ATOMIC));
	if (rq->info->operation == ROCE_OPERATION_CMP_SWAP)
		r = ops->compare_swap(ctx, word, hdr->compare, hdr->swap_add, &orig);
	else
		r = ops->fetch_add(ctx, word, hdr->swap_add, &orig);
	if (r)
		return roce_request_refuse(
			rq, ROCE_NAK_REMOTE_OPERATIONAL, ROCE_WC_SUCCESS, ROCE_EVENT_QP_ACCESS_ERR,
			ROCE_MARKED(responder_atomic_fault, ROCE_RX_MEMORY_FAULT));
	res = save_resource(rq, 1);
	res->is_atomic = true;
	res->orig = orig;
	roce_count(rq->qp->t, ROCE_STAT_RX_ATOMIC_REQUESTS);
	return ROCE_RX_ACCEPTED;
}

/* The 8 bytes appear at once. The answer is an empty READ response, kept as that of a READ is. */
static enum roce_verdict execute_atomic_write(struct roce_request *rq)
{
	/* On demand or not: only a plain store lets all bytes appear at once. */
	const struct roce_mem_place word = {.ptr = rq->place.ptr};
	struct roce_resp_resource *res;

	if (rq->place.ptr & 7)
		return roce_request_refuse_invalid(
			rq, ROCE_MARKED(responder_atomic_write_address, ROCE_RX_MISALIGNED_ATOMIC));
	if (store(rq->qp, &word, rq->pkt->payload, rq->pkt->payload_len))
		return roce_request_refuse(
			rq, ROCE_NAK_REMOTE_OPERATIONAL, ROCE_WC_SUCCESS, ROCE_EVENT_QP_ACCESS_ERR,
			ROCE_MARKED(responder_atomic_write_fault, ROCE_RX_MEMORY_FAULT));
	res = save_resource(rq, 1);
	res->length = 0;
	roce_count(rq->qp->t, ROCE_STAT_RX_WRITE_REQUESTS);
	return ROCE_RX_ACCEPTED;
}

static enum roce_verdict execute(struct roce_request *rq)
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
static uint32_t psns_of(const struct roce_request *rq)
{
	if (rq->info->operation == ROCE_OPERATION_READ_REQUEST)
		return roce_segment_count(rq->pkt->hdr.dma_len, rq->qp->mtu);
	return 1;
}

static enum roce_verdict on_new(struct roce_request *rq)
{
	struct roce_qp *qp = rq->qp;
	enum roce_verdict verdict = roce_request_check(rq);

	if (verdict != ROCE_RX_ACCEPTED)
		return verdict;
	if (qp->attr.state == ROCE_QP_RTR && !qp->resp.is_comm_est_told) {
		qp->resp.is_comm_est_told = true;
		roce_qp_event(qp, ROCE_EVENT_COMM_EST);
	}
	/* Before execution: a completion may carry the QP to ERR, but this packet was in sequence.
	 */
	qp->resp.expected_psn = roce_psn_add(rq->pkt->hdr.psn, psns_of(rq));
	qp->resp.is_nak_sent = false;
	qp->resp.fruitless = 0;
	if (roce_aeth_kind(qp->resp.nak_syndrome) == ROCE_AETH_RNR_NAK)
		qp->resp.is_nak_pending = false;
	return execute(rq);
}

/* ---- entry ---- */

/* Go-back-0: what came of the open message is forgotten, it is expected from its start. The receive
 * WQE in hand stays there. */
static void rewind_message(struct roce_qp *qp)
{
	struct roce_responder *resp = &qp->resp;

	if (qp->t->cfg.recovery != ROCE_RECOVERY_GO_BACK_0 || resp->open == ROCE_RESP_OPEN_NONE)
		return;
	ROCE_MARK(responder_rewind);
	resp->expected_psn = resp->open_psn;
	resp->open = ROCE_RESP_OPEN_NONE;
}

static enum roce_verdict on_out_of_sequence(struct roce_qp *qp, roce_psn_t psn)
{
	struct roce_responder *resp = &qp->resp;

	rewind_message(qp);
	if (!resp->is_nak_sent) {
		resp->is_nak_sent = true;
		resp->ahead_psn = psn;
		roce_responder_owe_nak(qp, roce_aeth_nak(ROCE_NAK_PSN_SEQUENCE),
				       resp->expected_psn);
	} else if (roce_psn_diff(psn, resp->ahead_psn) > 0) {
		ROCE_MARK(responder_gap_again);
		resp->ahead_psn = psn;
	}
	return ROCE_RX_OUT_OF_SEQUENCE;
}

enum roce_verdict roce_responder_rx(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
				    const struct roce_opcode_info *info, roce_ns_t now)
{
	struct roce_request rq = {.qp = qp, .pkt = pkt, .info = info, .now = now};
	int32_t ahead;

	/* The requester begins the open message anew. */
	if (roce_psn_is_equal(pkt->hdr.psn, qp->resp.open_psn))
		rewind_message(qp);
	ahead = roce_psn_diff(pkt->hdr.psn, qp->resp.expected_psn);
	if (ahead > 0)
		return on_out_of_sequence(qp, pkt->hdr.psn);
	return ahead < 0 ? roce_request_answer_again(&rq) : on_new(&rq);
}
