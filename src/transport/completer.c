/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The completer: what responses mean for the send queue. Invariant: `una` lies in the WQE at
 * sq.completed (or is the PSN that the next one will get); WQEs complete in order, each exactly
 * once.
 *
 * Any response with PSN n acknowledges the SENDs and WRITEs before it. A READ or atomic is
 * completed by its own response only; if a response lies beyond one, that one's response was lost
 * (implied NAK): restart from there, once until progress.
 */
#include "transport/roles.h"

#include "base/marks.h"
#include "transport/segment.h"
#include "wire/aeth.h"
#include "wq/sge.h"

static void release_cost(struct roce_qp *qp, uint64_t cost)
{
	struct roce_requester *req = &qp->req;
	uint32_t part = cost < req->inflight ? (uint32_t)cost : req->inflight;

	if (part == 0)
		return;
	req->inflight -= part;
	roce_window_on_ack(&qp->peer->window, &qp->t->cfg.window, part);
	roce_requester_wake_next(&qp->peer->waiters);
}

static void release_read_cost(struct roce_qp *qp, uint64_t cost)
{
	struct roce_requester *req = &qp->req;
	uint32_t part = cost < req->read_inflight ? (uint32_t)cost : req->read_inflight;

	if (part == 0)
		return;
	req->read_inflight -= part;
	qp->t->read_inflight -= part;
	roce_requester_wake_next(&qp->t->read_waiters);
}

static struct roce_send_wqe *oldest_wqe(struct roce_qp *qp)
{
	struct roce_send_wqe *wqe;

	if (qp->sq.completed == qp->sq.posted)
		return NULL;
	wqe = roce_send_queue_at(&qp->sq, qp->sq.completed);
	return wqe->is_started ? wqe : NULL;
}

static bool is_dead(const struct roce_qp *qp)
{
	return qp->attr.state == ROCE_QP_ERR;
}

/* An old ACK may cover more than was sent again since the last restart: sending goes on behind it.
 */
static void skip_acknowledged(struct roce_qp *qp)
{
	if (roce_psn_diff(qp->req.una, qp->req.next_psn) <= 0)
		return;
	ROCE_MARK(completer_ack_beyond_restart);
	roce_requester_release(qp);
	qp->req.next_psn = qp->req.una;
	qp->sq.next = qp->sq.completed;
}

static void on_progress(struct roce_qp *qp, roce_ns_t now)
{
	if (is_dead(qp))
		return;
	roce_qp_complete_local(qp, now);
	skip_acknowledged(qp);
	roce_retransmit_on_progress(qp, now);
	/* A fence, a full rd_atomic quota, a WQE that waits to fail, or a drain may be over. */
	roce_qp_mark_ready(qp);
}

/* Acknowledges SENDs and WRITEs up to but not including `end`; false when an unanswered READ or
 * atomic stands in the way. */
static bool acknowledge_before(struct roce_qp *qp, roce_psn_t end, roce_ns_t now)
{
	struct roce_requester *req = &qp->req;
	bool has_gap = false;
	bool has_progress = false;

	while (!is_dead(qp) && roce_psn_diff(end, req->una) > 0) {
		struct roce_send_wqe *wqe = oldest_wqe(qp);
		roce_psn_t wqe_end;
		roce_psn_t to;

		if (!wqe)
			break;
		if (roce_wr_is_read_or_atomic(wqe->opcode)) {
			has_gap = true;
			break;
		}
		wqe_end = roce_psn_add(wqe->last_psn, 1);
		to = roce_psn_diff(end, wqe_end) >= 0 ? wqe_end : end;
		release_cost(qp, roce_segment_cost(wqe->length, qp->mtu,
						   (req->una.v - wqe->first_psn.v) & ROCE_PSN_MASK,
						   (to.v - wqe->first_psn.v) & ROCE_PSN_MASK));
		req->una = to;
		has_progress = true;
		if (roce_psn_is_equal(to, wqe_end))
			roce_qp_complete_send(qp, ROCE_WC_SUCCESS, now);
	}
	if (has_progress)
		on_progress(qp, now);
	return !has_gap;
}

static enum roce_verdict on_gap(struct roce_qp *qp, roce_ns_t now)
{
	if (!qp->req.is_restarted && !qp->req.is_rnr_waiting) {
		ROCE_MARK(completer_gap_restart);
		roce_retransmit_on_sequence_nak(qp, now);
		qp->req.is_restarted = true;
	}
	return ROCE_MARKED(completer_gap, ROCE_RX_RESPONSE_GAP);
}

static enum roce_verdict fail(struct roce_qp *qp, enum roce_wc_status status,
			      enum roce_verdict verdict, roce_ns_t now)
{
	roce_qp_fail_send(qp, status, now);
	return verdict;
}

/* ---- acknowledge packets ---- */

static enum roce_verdict on_nak(struct roce_qp *qp, uint8_t code, roce_ns_t now)
{
	switch (code) {
	case ROCE_NAK_PSN_SEQUENCE:
		/* While an RNR wait runs this can only be an old one. */
		if (qp->req.is_rnr_waiting)
			return ROCE_MARKED(completer_nak_in_rnr_wait, ROCE_RX_NAK_SEQUENCE);
		roce_retransmit_on_sequence_nak(qp, now);
		return ROCE_RX_NAK_SEQUENCE;
	case ROCE_NAK_INVALID_REQUEST:
		return fail(qp, ROCE_WC_REM_INV_REQ_ERR, ROCE_RX_NAK_INVALID_REQUEST, now);
	case ROCE_NAK_REMOTE_ACCESS:
		return fail(qp, ROCE_WC_REM_ACCESS_ERR, ROCE_RX_NAK_ACCESS, now);
	case ROCE_NAK_REMOTE_OPERATIONAL:
		return fail(qp, ROCE_WC_REM_OP_ERR, ROCE_RX_NAK_OPERATION, now);
	default:
		return ROCE_MARKED(completer_nak_reserved, ROCE_RX_RESPONSE_RESERVED);
	}
}

static enum roce_verdict on_ack_packet(struct roce_qp *qp, const struct roce_headers *hdr,
				       roce_ns_t now)
{
	switch (roce_aeth_kind(hdr->syndrome)) {
	case ROCE_AETH_ACK:
		if (!acknowledge_before(qp, roce_psn_add(hdr->psn, 1), now))
			return on_gap(qp, now);
		return ROCE_RX_ACCEPTED;
	case ROCE_AETH_RNR_NAK:
		if (!acknowledge_before(qp, hdr->psn, now))
			return on_gap(qp, now);
		if (!is_dead(qp) && !qp->req.is_rnr_waiting && oldest_wqe(qp))
			roce_retransmit_on_rnr_nak(qp, roce_aeth_value(hdr->syndrome), now);
		return ROCE_RX_NAK_RNR;
	case ROCE_AETH_NAK:
		if (!acknowledge_before(qp, hdr->psn, now))
			return on_gap(qp, now);
		if (is_dead(qp) || !oldest_wqe(qp))
			return ROCE_RX_RESPONSE_STALE;
		return on_nak(qp, roce_aeth_value(hdr->syndrome), now);
	case ROCE_AETH_RESERVED:
		break;
	}
	return ROCE_MARKED(completer_syndrome_reserved, ROCE_RX_RESPONSE_RESERVED);
}

/* ---- READ responses and atomic acknowledges ---- */

/* Stores response bytes where the WQE says; the regions are checked again, they may be gone. */
static enum roce_wc_status store(struct roce_qp *qp, struct roce_send_wqe *wqe, uint64_t offset,
				 const uint8_t *data, uint32_t length)
{
	struct roce_transport *t = qp->t;
	const struct roce_sge *sge = roce_send_wqe_sges(wqe);
	struct roce_sge_cursor c = roce_sge_seek(sge, wqe->sge_count, offset);

	while (length) {
		uint32_t part = sge[c.index].length - c.skip;
		struct roce_mem_place to;

		if (part > length)
			part = length;
		if (part &&
		    roce_mem_check_local(&t->keys, qp->cfg.pd, (roce_key_t){sge[c.index].lkey},
					 sge[c.index].addr + c.skip, part, ROCE_ACCESS_LOCAL_WRITE,
					 &to) != ROCE_MEM_OK)
			return ROCE_MARKED(completer_store_key, ROCE_WC_LOC_PROT_ERR);
		if (part && data) {
			if (to.ptr != ROCE_MEM_NOWHERE &&
			    t->cfg.mem_ops->store(t->cfg.ctx, &to, data, part))
				return ROCE_MARKED(completer_store_fault, ROCE_WC_LOC_PROT_ERR);
			data += part;
		}
		length -= part;
		c.index++;
		c.skip = 0;
	}
	return ROCE_WC_SUCCESS;
}

/* The oldest WQE if this response is the next one that it waits for; else out_verdict says what the
 * response was. */
static struct roce_send_wqe *expect_response(struct roce_qp *qp, const struct roce_headers *hdr,
					     roce_ns_t now, enum roce_verdict *out_verdict)
{
	struct roce_send_wqe *wqe;

	if (!acknowledge_before(qp, hdr->psn, now) ||
	    (!is_dead(qp) && !roce_psn_is_equal(hdr->psn, qp->req.una))) {
		*out_verdict = on_gap(qp, now);
		return NULL;
	}
	wqe = is_dead(qp) ? NULL : oldest_wqe(qp);
	if (!wqe) {
		*out_verdict = ROCE_RX_RESPONSE_STALE;
		return NULL;
	}
	return wqe;
}

/* One PSN, one answer: atomics and ATOMIC WRITE. */
static enum roce_verdict finish_single(struct roce_qp *qp, roce_psn_t psn, roce_ns_t now)
{
	struct roce_requester *req = &qp->req;

	/* The request was sent again since the last restart only if next_psn is beyond it. */
	if (roce_psn_diff(req->next_psn, psn) > 0 && req->rd_outstanding)
		req->rd_outstanding--;
	req->una = roce_psn_add(psn, 1);
	roce_qp_complete_send(qp, ROCE_WC_SUCCESS, now);
	on_progress(qp, now);
	return ROCE_RX_ACCEPTED;
}

static enum roce_verdict on_atomic_write_response(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
						  const struct roce_opcode_info *info,
						  roce_ns_t now)
{
	if (info->position != ROCE_POSITION_ONLY || pkt->payload_len != 0 ||
	    roce_aeth_kind(pkt->hdr.syndrome) != ROCE_AETH_ACK)
		return fail(qp, ROCE_WC_BAD_RESP_ERR,
			    ROCE_MARKED(completer_atomic_write, ROCE_RX_RESPONSE_BAD), now);
	return finish_single(qp, pkt->hdr.psn, now);
}

static enum roce_verdict on_read_response(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
					  const struct roce_opcode_info *info, roce_ns_t now)
{
	struct roce_requester *req = &qp->req;
	enum roce_verdict verdict = ROCE_RX_ACCEPTED;
	struct roce_send_wqe *wqe = expect_response(qp, &pkt->hdr, now, &verdict);
	enum roce_wc_status status;
	uint32_t index;
	bool is_chunk_end;

	if (!wqe)
		return verdict;
	if (wqe->opcode == ROCE_WR_ATOMIC_WRITE)
		return on_atomic_write_response(qp, pkt, info, now);
	if (wqe->opcode != ROCE_WR_RDMA_READ ||
	    (info->position != ROCE_POSITION_MIDDLE &&
	     roce_aeth_kind(pkt->hdr.syndrome) != ROCE_AETH_ACK))
		return fail(qp, ROCE_WC_BAD_RESP_ERR,
			    ROCE_MARKED(completer_read_op, ROCE_RX_RESPONSE_BAD), now);
	index = (pkt->hdr.psn.v - wqe->first_psn.v) & ROCE_PSN_MASK;
	is_chunk_end = roce_read_chunk_packets(qp, wqe, index) == 1;
	/* Some responders answer a repeated request with MIDDLE...LAST: only the end is binding. */
	if (roce_position_is_end(info->position) != is_chunk_end)
		return fail(qp, ROCE_WC_BAD_RESP_ERR,
			    ROCE_MARKED(completer_read_position, ROCE_RX_RESPONSE_BAD), now);
	if (pkt->payload_len != roce_segment_bytes(wqe->length, qp->mtu, index))
		return fail(qp, ROCE_WC_LOC_LEN_ERR,
			    ROCE_MARKED(completer_read_length, ROCE_RX_RESPONSE_BAD), now);
	status = store(qp, wqe, (uint64_t)index * qp->mtu, pkt->payload, pkt->payload_len);
	if (status != ROCE_WC_SUCCESS)
		return fail(qp, status, ROCE_RX_MEMORY_FAULT, now);

	release_read_cost(qp, pkt->payload_len + ROCE_WINDOW_PACKET_COST);
	/* The request was sent again since the last restart only if next_psn is beyond it. */
	if (is_chunk_end && roce_psn_diff(req->next_psn, pkt->hdr.psn) > 0 && req->rd_outstanding)
		req->rd_outstanding--;
	req->una = roce_psn_add(pkt->hdr.psn, 1);
	if (roce_psn_is_equal(pkt->hdr.psn, wqe->last_psn))
		roce_qp_complete_send(qp, ROCE_WC_SUCCESS, now);
	on_progress(qp, now);
	return ROCE_RX_ACCEPTED;
}

static enum roce_verdict on_atomic_ack(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
				       roce_ns_t now)
{
	enum roce_verdict verdict = ROCE_RX_ACCEPTED;
	struct roce_send_wqe *wqe = expect_response(qp, &pkt->hdr, now, &verdict);
	uint64_t orig = pkt->hdr.atomic_orig;
	enum roce_wc_status status;

	if (!wqe)
		return verdict;
	if ((wqe->opcode != ROCE_WR_ATOMIC_CMP_AND_SWP &&
	     wqe->opcode != ROCE_WR_ATOMIC_FETCH_AND_ADD) ||
	    roce_aeth_kind(pkt->hdr.syndrome) != ROCE_AETH_ACK)
		return fail(qp, ROCE_WC_BAD_RESP_ERR,
			    ROCE_MARKED(completer_atomic_op, ROCE_RX_RESPONSE_BAD), now);
	status = store(qp, wqe, 0, (const uint8_t *)&orig, sizeof(orig));
	if (status != ROCE_WC_SUCCESS)
		return fail(qp, status, ROCE_RX_MEMORY_FAULT, now);
	return finish_single(qp, pkt->hdr.psn, now);
}

/* Go-back-0: a sequence NAK takes back what was acknowledged of the oldest message. */
static bool takes_back(struct roce_qp *qp, const struct roce_headers *hdr)
{
	const struct roce_send_wqe *wqe = oldest_wqe(qp);

	return qp->t->cfg.recovery == ROCE_RECOVERY_GO_BACK_0 && wqe &&
	       hdr->syndrome == roce_aeth_nak(ROCE_NAK_PSN_SEQUENCE) &&
	       roce_psn_is_equal(hdr->psn, wqe->first_psn);
}

enum roce_verdict roce_completer_rx(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
				    const struct roce_opcode_info *info, roce_ns_t now)
{
	if (roce_psn_diff(pkt->hdr.psn, qp->req.max_psn) >= 0)
		return ROCE_MARKED(completer_ghost, ROCE_RX_RESPONSE_GHOST);
	if (roce_psn_diff(pkt->hdr.psn, qp->req.una) < 0 &&
	    (info->operation != ROCE_OPERATION_ACK || !takes_back(qp, &pkt->hdr)))
		return ROCE_MARKED(completer_stale, ROCE_RX_RESPONSE_STALE);
	switch (info->operation) {
	case ROCE_OPERATION_ACK:
		roce_congestion_on_ack(qp, &pkt->hdr, now);
		return on_ack_packet(qp, &pkt->hdr, now);
	case ROCE_OPERATION_READ_RESPONSE:
		return on_read_response(qp, pkt, info, now);
	case ROCE_OPERATION_ATOMIC_ACK:
		return on_atomic_ack(qp, pkt, now);
	case ROCE_OPERATION_SEND:
	case ROCE_OPERATION_WRITE:
	case ROCE_OPERATION_READ_REQUEST:
	case ROCE_OPERATION_CMP_SWAP:
	case ROCE_OPERATION_FETCH_ADD:
	case ROCE_OPERATION_FLUSH:
	case ROCE_OPERATION_ATOMIC_WRITE:
	case ROCE_OPERATION_CNP:
	case ROCE_OPERATION_RESYNC:
		break;
	}
	return ROCE_RX_RESERVED_OPCODE;
}
