/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requester: send WQEs become packets, strictly in order; here is which WQE is next and whether
 * it may go, its packets are req_packet.c's. It looks only forward from next_psn; going back
 * (retransmission) is nothing but setting next_psn to the oldest unacknowledged PSN, and then the
 * same code builds the packets anew.
 *
 * It stops at the first WQE that may not go on: fence, max_rd_atomic, no room in the window, RNR
 * wait, a WQE that failed its local checks. Whoever removes the obstacle marks the QP ready again.
 */
#include "transport/roles.h"

#include "base/marks.h"
#include "transport/segment.h"
#include "wire/mtu.h"
#include "wq/sge.h"

static bool is_atomic(uint8_t opcode)
{
	return opcode == ROCE_WR_ATOMIC_CMP_AND_SWP || opcode == ROCE_WR_ATOMIC_FETCH_AND_ADD;
}

void roce_requester_init(struct roce_qp *qp)
{
	qp->req = (struct roce_requester){
		.ack_deadline = ROCE_NEVER,
		.rnr_deadline = ROCE_NEVER,
	};
}

/* ---- windows ----
 * Who finds a window full stands in line. Room that comes free wakes the first in line, and whose
 * turn ends without a full window wakes the next: with hundreds of queue pairs towards one peer all
 * of them would try at each acknowledgement, and find it full again. Whoever leaves (restart,
 * another state, another peer) may have been woken and wakes all. */

void roce_requester_wake_next(struct roce_list *waiters)
{
	struct roce_qp *qp;

	if (roce_list_is_empty(waiters))
		return;
	qp = roce_container_of(waiters->next, struct roce_qp, wait_link);
	roce_list_remove(&qp->wait_link);
	qp->req.woken_from = waiters;
	roce_qp_mark_ready(qp);
}

static void wake_all(struct roce_list *waiters)
{
	struct roce_list *it, *next;

	roce_list_for_each_safe (it, next, waiters) {
		roce_list_remove(it);
		roce_qp_mark_ready(roce_container_of(it, struct roce_qp, wait_link));
	}
}

void roce_requester_release(struct roce_qp *qp)
{
	struct roce_transport *t = qp->t;

	roce_list_remove(&qp->wait_link);
	qp->req.woken_from = NULL;
	if (qp->peer) {
		roce_window_release(&qp->peer->window, qp->req.inflight);
		qp->req.inflight = 0;
		wake_all(&qp->peer->waiters);
	}
	t->read_inflight -= qp->req.read_inflight;
	qp->req.read_inflight = 0;
	wake_all(&t->read_waiters);
	qp->req.rd_outstanding = 0;
}

void roce_requester_set_peer(struct roce_qp *qp, struct roce_peer *peer)
{
	struct roce_peer *old = qp->peer;

	qp->peer = peer;
	if (!old || old == peer)
		return;
	roce_list_remove(&qp->wait_link);
	roce_qp_mark_ready(qp);
	qp->req.woken_from = NULL;
	wake_all(&old->waiters);
	if (qp->req.inflight == 0)
		return;
	ROCE_MARK(requester_peer_changed);
	roce_window_release(&old->window, qp->req.inflight);
	roce_window_on_send(&peer->window, qp->req.inflight);
}

void roce_requester_restart(struct roce_qp *qp)
{
	roce_requester_release(qp);
	qp->req.next_psn = qp->req.una;
	qp->sq.next = qp->sq.completed;
	qp->req.since_ack_req = 0;
	qp->req.ack_deadline = ROCE_NEVER;
	roce_qp_mark_ready(qp);
}

/* ---- starting a WQE ---- */

/* L_Keys are looked at once, when the WQE is about to start. What is sent is then named by process
 * address: a region may have another iova. What is fetched keeps its own, it is looked up again. */
static bool is_memory_ok(const struct roce_qp *qp, struct roce_send_wqe *wqe)
{
	bool is_fetch =
		roce_wr_is_read_or_atomic(wqe->opcode) && wqe->opcode != ROCE_WR_ATOMIC_WRITE;
	uint32_t need = is_fetch ? ROCE_ACCESS_LOCAL_WRITE : 0;
	struct roce_sge *sge = roce_send_wqe_sges(wqe);
	struct roce_mem_place at;

	if (wqe->is_inline)
		return true;
	for (uint32_t i = 0; i < wqe->sge_count; i++) {
		if (sge[i].length == 0)
			continue;
		if (roce_mem_check_local(&qp->t->keys, qp->cfg.pd, (roce_key_t){sge[i].lkey},
					 sge[i].addr, sge[i].length, need, &at) != ROCE_MEM_OK)
			return false;
		if (is_fetch)
			continue;
		if (at.ptr == ROCE_MEM_NOWHERE) {
			sge[i].lkey = ROCE_SGE_ZEROS_LKEY;
			continue;
		}
		sge[i].addr = at.ptr;
		if (at.is_on_demand)
			sge[i].lkey = ROCE_SGE_ON_DEMAND_LKEY;
	}
	return true;
}

/* Assigns PSNs, or notes why the WQE fails; false when it has to wait. */
static bool start_wqe(struct roce_qp *qp, struct roce_send_wqe *wqe)
{
	uint32_t packets = 1;

	if (qp->attr.state == ROCE_QP_SQD)
		return ROCE_MARKED(requester_sqd, false);
	if ((wqe->flags & ROCE_SEND_FENCE) && qp->req.rd_outstanding)
		return ROCE_MARKED(requester_fence, false);
	if (!is_memory_ok(qp, wqe)) {
		ROCE_MARK(requester_lkey);
		wqe->status = ROCE_WC_LOC_PROT_ERR;
	} else if (qp->cfg.type == ROCE_QP_UD && wqe->length > roce_mtu_bytes(qp->cfg.port_mtu)) {
		ROCE_MARK(requester_datagram_length); /* C10-93.1.1, see ARCHITECTURE.md */
		wqe->status = ROCE_WC_LOC_LEN_ERR;
	} else if (roce_wr_is_read_or_atomic(wqe->opcode) && qp->attr.max_rd_atomic == 0) {
		ROCE_MARK(requester_no_reads);
		wqe->status = ROCE_WC_LOC_QP_OP_ERR;
	}
	if (!is_atomic(wqe->opcode) && qp->cfg.type != ROCE_QP_UD)
		packets = roce_segment_count(wqe->length, qp->mtu);
	wqe->first_psn = qp->req.next_psn;
	wqe->last_psn = roce_psn_add(wqe->first_psn, packets - 1);
	wqe->is_started = true;
	return true;
}

/* ---- work requests that send nothing ---- */

static enum roce_wc_status execute_local(struct roce_qp *qp, const struct roce_send_wqe *wqe)
{
	struct roce_key_table *keys = &qp->t->keys;
	struct roce_mem_bind bind = {
		.rkey = wqe->rkey,
		.current = {(uint32_t)wqe->compare_add},
		.lkey = wqe->remote_qkey,
		.addr = wqe->remote_addr,
		.length = wqe->swap,
		.access = wqe->remote_qpn,
	};

	if (wqe->opcode == ROCE_WR_LOCAL_INV)
		return roce_mem_invalidate(keys, qp->cfg.pd, qp, wqe->inv_rkey) == ROCE_MEM_OK
			       ? ROCE_WC_SUCCESS
			       : ROCE_WC_LOC_QP_OP_ERR;
	if (roce_mem_bind(keys, qp->cfg.pd, qp, &bind) != ROCE_MEM_OK)
		return ROCE_WC_MW_BIND_ERR;
	qp->has_bound = true;
	return ROCE_WC_SUCCESS;
}

/* Executes the local WQE at sq.next; false when it has to wait, or has failed. An invalidation
 * waits for everything before it (a packet on its way may still need the key), a bind does not. */
static bool run_local(struct roce_qp *qp, struct roce_send_wqe *wqe, roce_ns_t now)
{
	if (!wqe->is_started) {
		if (qp->attr.state == ROCE_QP_SQD)
			return ROCE_MARKED(requester_local_sqd, false);
		if (wqe->opcode == ROCE_WR_LOCAL_INV && qp->sq.completed != qp->sq.next)
			return ROCE_MARKED(requester_local_inv_waits, false);
		if ((wqe->flags & ROCE_SEND_FENCE) && qp->req.rd_outstanding)
			return ROCE_MARKED(requester_local_fence, false);
		wqe->first_psn = qp->req.next_psn;
		wqe->last_psn = roce_psn_add(wqe->first_psn, ROCE_PSN_MASK); /* none */
		wqe->is_started = true;
		wqe->status = (uint8_t)execute_local(qp, wqe);
		wqe->is_done = wqe->status == ROCE_WC_SUCCESS;
	}
	if (!wqe->is_done) {
		if (qp->sq.completed != qp->sq.next)
			return ROCE_MARKED(requester_local_failed_waits, false);
		roce_qp_fail_send(qp, (enum roce_wc_status)wqe->status, now);
		return false;
	}
	qp->sq.next++;
	roce_qp_complete_local(qp, now);
	return true;
}

/* Drained: nothing that was started is left. sq.next tells nothing, it steps back. */
static void announce_drained(struct roce_qp *qp)
{
	if (qp->attr.state != ROCE_QP_SQD || qp->req.is_drain_announced)
		return;
	if (qp->sq.completed != qp->sq.posted &&
	    roce_send_queue_at(&qp->sq, qp->sq.completed)->is_started) {
		ROCE_MARK(requester_not_drained);
		return;
	}
	qp->req.is_drain_announced = true;
	if (qp->attr.en_sqd_async_notify)
		roce_qp_event(qp, ROCE_EVENT_SQ_DRAINED);
}

/* False: there is an obstacle, or nothing to send; the QP is woken when that has changed. */
static bool send_next(struct roce_qp *qp, struct roce_tx_pkt *pkt, roce_ns_t now)
{
	struct roce_send_wqe *wqe;

	if (qp->attr.state != ROCE_QP_RTS && qp->attr.state != ROCE_QP_SQD)
		return false;
	if (qp->req.is_rnr_waiting || qp->sq.next == qp->sq.posted)
		return false;
	wqe = roce_send_queue_at(&qp->sq, qp->sq.next);
	while (roce_wr_is_local(wqe->opcode)) {
		if (!run_local(qp, wqe, now) || qp->sq.next == qp->sq.posted)
			return false;
		wqe = roce_send_queue_at(&qp->sq, qp->sq.next);
	}
	if (!wqe->is_started && !start_wqe(qp, wqe))
		return false;
	if (wqe->status != ROCE_WC_SUCCESS) {
		/* It failed locally: its turn to complete comes after all earlier ones. */
		if (qp->sq.completed != qp->sq.next)
			return ROCE_MARKED(requester_failed_waits, false);
		roce_qp_fail_send(qp, (enum roce_wc_status)wqe->status, now);
		return false;
	}
	if (!qp->is_paced)
		return roce_requester_send_packet(qp, wqe, pkt, now);
	if (roce_pacing_holds(qp, now) || !roce_requester_send_packet(qp, wqe, pkt, now))
		return false;
	roce_pacing_on_send(qp, pkt, now);
	return true;
}

/* The turn is over with more to send. Others may fill the window before the next one, and then
 * nobody would answer what was sent so far: the last packet asks. */
static void ask_at_end_of_turn(struct roce_qp *qp, struct roce_tx_pkt *last)
{
	if (qp->t->cfg.window.max >= ROCE_WINDOW_UNLIMITED)
		return;
	last->hdr.ack_req = true;
	qp->req.since_ack_req = 0;
}

/* The turn of one that was woken from `line` is over. If it left that line for good the next there
 * may find room, too; the line gets shorter so, and it ends. */
static void pass_on(struct roce_qp *qp, struct roce_list *line)
{
	bool is_back = !roce_list_is_empty(&qp->wait_link) && qp->req.waits_in == line;

	if (line && !is_back)
		roce_requester_wake_next(line);
}

size_t roce_requester_tx(struct roce_qp *qp, struct roce_tx_pkt *pkts, size_t max, roce_ns_t now,
			 bool *out_more)
{
	uint8_t tx_class = qp->tx_class;
	struct roce_list *woken_from = qp->req.woken_from;
	size_t n = 0;

	/* Its answers took all the room: it has not had its turn. */
	if (max == 0) {
		*out_more = true;
		return 0;
	}
	/* The class of a UD QP is that of its next datagram, and another one may be paused. */
	while (n < max && qp->tx_class == tx_class && send_next(qp, &pkts[n], now)) {
		qp->req.woken_from = NULL;
		roce_list_remove(&qp->wait_link);
		n++;
	}
	qp->req.woken_from = NULL;
	/* The budget ended it, or the class: there may be more. */
	*out_more = n == max || qp->tx_class != tx_class;
	if (n && n == max && roce_qp_is_reliable(qp))
		ask_at_end_of_turn(qp, &pkts[n - 1]);
	announce_drained(qp);
	pass_on(qp, woken_from);
	return n;
}

/* ---- memory that vanished under a posted WQE ---- */

void roce_tx_fault(struct roce_transport *t, const struct roce_tx_pkt *pkt, roce_ns_t now)
{
	struct roce_qp *qp = pkt->qp;
	const struct roce_opcode_info *info = roce_opcode_info(pkt->hdr.opcode);

	(void)t;
	if (info->is_response) {
		roce_responder_read_fault(qp, pkt->hdr.psn, now);
		return;
	}
	for (uint32_t i = qp->sq.completed; i != qp->sq.posted; i++) {
		struct roce_send_wqe *wqe = roce_send_queue_at(&qp->sq, i);

		if (!wqe->is_started || roce_psn_diff(pkt->hdr.psn, wqe->last_psn) > 0)
			continue;
		/* UC and UD: its own WQE has completed, and this one is not to blame. */
		if (roce_psn_diff(pkt->hdr.psn, wqe->first_psn) < 0) {
			ROCE_MARK(requester_tx_fault_late);
			return;
		}
		ROCE_MARK(requester_tx_fault);
		wqe->status = ROCE_WC_LOC_PROT_ERR;
		roce_requester_restart(qp);
		return;
	}
}
