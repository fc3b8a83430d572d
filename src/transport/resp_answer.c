/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paying the responder's debts, in PSN order: READ responses and atomic answers as they were asked
 * for, then one ACK for everything, then a NAK, which ends what can be answered.
 */
#include "transport/responder.h"

#include "base/marks.h"
#include "transport/segment.h"

static void start_response(struct roce_qp *qp, struct roce_tx_pkt *pkt, enum roce_op op,
			   roce_psn_t psn, uint8_t syndrome, uint32_t msn)
{
	roce_qp_fill_headers(qp, &pkt->hdr,
			     (roce_opcode_t){(uint8_t)(op + roce_qp_opcode_base(qp))}, psn);
	pkt->hdr.syndrome = syndrome;
	pkt->hdr.msn = msn;
	pkt->payload = (struct roce_payload){0};
	pkt->path = &qp->attr.path;
	pkt->traffic_class = roce_congestion_ack_class(qp);
	pkt->tx_class = qp->tx_class;
	pkt->qp = qp;
}

/* An acknowledgement, positive or not, may say as well that a request came marked. */
static void start_ack(struct roce_qp *qp, struct roce_tx_pkt *pkt, roce_psn_t psn, uint8_t syndrome)
{
	start_response(qp, pkt, ROCE_RC_ACK, psn, syndrome, qp->resp.msn);
	pkt->hdr.becn = qp->resp.is_becn_owed;
	qp->resp.is_becn_owed = false;
}

static uint8_t ack_syndrome(void)
{
	return roce_aeth_syndrome(ROCE_AETH_ACK, ROCE_CREDIT_NONE);
}

/* A READ that was accepted breaks off: its key no longer opens the region (remote access error), or
 * the memory behind is gone (remote operational error, as with WRITEs). */
static void break_off_read(struct roce_qp *qp, roce_psn_t psn, enum roce_nak code, roce_ns_t now)
{
	struct roce_resp_resource *res;

	while ((res = roce_resp_resource_pending(qp)))
		roce_resp_resource_set_pending(qp, res, false);
	roce_count(qp->t, ROCE_RX_MEMORY_FAULT);
	roce_responder_owe_nak(qp, roce_aeth_nak(code), psn);
	if (qp->attr.state != ROCE_QP_ERR)
		roce_qp_event(qp, ROCE_EVENT_QP_ACCESS_ERR);
	roce_qp_error_by_responder(qp, now);
}

void roce_responder_read_fault(struct roce_qp *qp, roce_psn_t psn, roce_ns_t now)
{
	break_off_read(qp, psn, ROCE_NAK_REMOTE_OPERATIONAL, now);
}

/* The next packet of a READ's answer; false when its region is gone. */
static bool send_read_response(struct roce_qp *qp, struct roce_resp_resource *res,
			       struct roce_tx_pkt *pkt, roce_ns_t now)
{
	uint32_t index = (res->next_psn.v - res->first_psn.v) & ROCE_PSN_MASK;
	uint32_t bytes = roce_segment_bytes(res->length, qp->mtu, index);
	uint64_t offset = (uint64_t)index * qp->mtu;
	bool is_last = roce_psn_is_equal(res->next_psn, res->last_psn);
	enum roce_op op = ROCE_RC_READ_RESPONSE_MIDDLE;
	struct roce_mem_place from = {0};

	if (bytes && roce_mem_check_remote(&qp->t->keys, res->pd, qp, res->rkey, res->va + offset,
					   bytes, ROCE_ACCESS_REMOTE_READ, &from) != ROCE_MEM_OK) {
		ROCE_MARK(responder_read_region_gone);
		break_off_read(qp, res->next_psn, ROCE_NAK_REMOTE_ACCESS, now);
		return false;
	}
	if (res->is_restart)
		op = is_last ? ROCE_RC_READ_RESPONSE_ONLY : ROCE_RC_READ_RESPONSE_FIRST;
	else if (is_last)
		op = ROCE_RC_READ_RESPONSE_LAST;
	start_response(qp, pkt, op, res->next_psn, ack_syndrome(), res->msn);
	pkt->traffic_class = roce_congestion_data_class(qp);
	pkt->hdr.pad_count = (uint8_t)(-bytes & 3);
	pkt->payload.data = (const void *)(uintptr_t)from.ptr;
	pkt->payload.is_on_demand = from.is_on_demand;
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
	start_ack(qp, pkt, psn, ack_syndrome());
	roce_count(qp->t, ROCE_STAT_TX_ACKS);
}

/* One response in PSN order; false when nothing (more) is owed, or the next one has to wait. */
static bool send_next(struct roce_qp *qp, struct roce_tx_pkt *pkt, roce_ns_t now, bool *out_held)
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
	if (res && roce_pacing_holds_response(qp, now)) {
		*out_held = true;
		return false;
	}
	if (res && send_read_response(qp, res, pkt, now)) {
		roce_pacing_on_response(qp, pkt, now);
		return true;
	}
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
			roce_congestion_on_nak(qp);
		}
		start_ack(qp, pkt, resp->nak_psn, resp->nak_syndrome);
		roce_count(qp->t, ROCE_STAT_TX_NAKS);
		return true;
	}
	return false;
}

size_t roce_responder_tx(struct roce_qp *qp, struct roce_tx_pkt *pkts, size_t max, roce_ns_t now,
			 bool *out_more)
{
	bool is_held = false;
	size_t n = 0;

	while (n < max && roce_responder_has_output(qp) && send_next(qp, &pkts[n], now, &is_held))
		n++;
	*out_more = !is_held && roce_responder_has_output(qp);
	return n;
}
