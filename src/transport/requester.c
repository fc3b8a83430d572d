/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requester: send WQEs become packets, strictly in order. It looks only forward from next_psn;
 * going back (retransmission) is nothing but setting next_psn to the oldest unacknowledged PSN, and
 * then the same code builds the packets anew.
 *
 * It stops at the first WQE that may not go on: fence, max_rd_atomic, no room in the window, RNR
 * wait, a WQE that failed its local checks. Whoever removes the obstacle marks the QP ready again.
 */
#include "transport/roles.h"

#include "base/assert.h"
#include "base/marks.h"
#include "transport/segment.h"
#include "wq/sge.h"

#define QKEY_PRIVILEGED 0x80000000u

enum step {
	STEP_SENT,
	STEP_STOP, /* an obstacle; the QP is woken when it is gone */
};

static uint32_t shift_of(const struct roce_qp *qp)
{
	return roce_segment_shift(qp->attr.path_mtu);
}

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

/* ---- windows ---- */

static void wait_on(struct roce_qp *qp, struct roce_list *waiters)
{
	if (roce_list_is_empty(&qp->wait_link))
		roce_list_add_tail(waiters, &qp->wait_link);
}

void roce_requester_wake_all(struct roce_list *waiters)
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
	if (qp->req.inflight) {
		roce_window_release(&qp->peer->window, qp->req.inflight);
		qp->req.inflight = 0;
		roce_requester_wake_all(&qp->peer->waiters);
	}
	if (qp->req.read_inflight) {
		t->read_inflight -= qp->req.read_inflight;
		qp->req.read_inflight = 0;
		roce_requester_wake_all(&t->read_waiters);
	}
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
	if (qp->req.inflight == 0)
		return;
	ROCE_MARK(requester_peer_changed);
	roce_window_release(&old->window, qp->req.inflight);
	roce_requester_wake_all(&old->waiters);
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

uint32_t roce_read_chunk_packets(const struct roce_qp *qp, const struct roce_send_wqe *wqe,
				 uint32_t index)
{
	uint32_t total = roce_segment_count(wqe->length, shift_of(qp));
	uint32_t chunk = qp->t->cfg.read_chunk_packets;
	uint32_t end = (index / chunk + 1) * chunk;

	return (end < total ? end : total) - index;
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
	} else if (qp->cfg.type == ROCE_QP_UD &&
		   wqe->length > 1u << roce_segment_shift(qp->cfg.port_mtu)) {
		ROCE_MARK(requester_datagram_length);
		wqe->status = ROCE_WC_LOC_LEN_ERR;
	} else if (roce_wr_is_read_or_atomic(wqe->opcode) && qp->attr.max_rd_atomic == 0) {
		ROCE_MARK(requester_no_reads);
		wqe->status = ROCE_WC_LOC_QP_OP_ERR;
	}
	if (!is_atomic(wqe->opcode) && qp->cfg.type != ROCE_QP_UD)
		packets = roce_segment_count(wqe->length, shift_of(qp));
	wqe->first_psn = qp->req.next_psn;
	wqe->last_psn = roce_psn_add(wqe->first_psn, packets - 1);
	wqe->is_started = true;
	return true;
}

/* ---- building packets ---- */

static enum roce_op send_opcode(uint8_t wr_opcode, bool is_first, bool is_last)
{
	if (!is_last)
		return is_first ? ROCE_RC_SEND_FIRST : ROCE_RC_SEND_MIDDLE;
	if (wr_opcode == ROCE_WR_SEND_WITH_IMM)
		return is_first ? ROCE_RC_SEND_ONLY_IMM : ROCE_RC_SEND_LAST_IMM;
	if (wr_opcode == ROCE_WR_SEND_WITH_INV)
		return is_first ? ROCE_RC_SEND_ONLY_INV : ROCE_RC_SEND_LAST_INV;
	return is_first ? ROCE_RC_SEND_ONLY : ROCE_RC_SEND_LAST;
}

static enum roce_op write_opcode(uint8_t wr_opcode, bool is_first, bool is_last)
{
	if (!is_last)
		return is_first ? ROCE_RC_WRITE_FIRST : ROCE_RC_WRITE_MIDDLE;
	if (wr_opcode == ROCE_WR_RDMA_WRITE_WITH_IMM)
		return is_first ? ROCE_RC_WRITE_ONLY_IMM : ROCE_RC_WRITE_LAST_IMM;
	return is_first ? ROCE_RC_WRITE_ONLY : ROCE_RC_WRITE_LAST;
}

static bool is_write(uint8_t opcode)
{
	return opcode == ROCE_WR_RDMA_WRITE || opcode == ROCE_WR_RDMA_WRITE_WITH_IMM;
}

static void start_packet(struct roce_qp *qp, struct roce_tx_pkt *pkt, enum roce_op op)
{
	roce_qp_fill_headers(qp, &pkt->hdr,
			     (roce_opcode_t){(uint8_t)(op + roce_qp_opcode_base(qp))},
			     qp->req.next_psn);
	pkt->payload = (struct roce_payload){0};
	pkt->path = &qp->attr.path;
	pkt->qp = qp;
}

/* The packet is in the caller's hands: move on by `psns`. */
static void advance(struct roce_qp *qp, const struct roce_send_wqe *wqe, uint32_t psns,
		    roce_ns_t now)
{
	struct roce_requester *req = &qp->req;

	if (roce_psn_diff(req->next_psn, req->max_psn) < 0)
		roce_count(qp->t, ROCE_STAT_TX_RETRANSMITTED);
	req->next_psn = roce_psn_add(req->next_psn, psns);
	if (roce_psn_diff(req->next_psn, req->max_psn) > 0)
		req->max_psn = req->next_psn;
	if (roce_psn_is_equal(req->next_psn, roce_psn_add(wqe->last_psn, 1)))
		qp->sq.next++;
	if (roce_qp_is_reliable(qp))
		roce_retransmit_arm(qp, now);
}

/* UC and UD complete when the last packet is handed out: nobody will answer. */
static void complete_unreliable(struct roce_qp *qp, roce_ns_t now)
{
	qp->req.una = qp->req.next_psn;
	if (qp->sq.completed != qp->sq.next)
		roce_qp_complete_send(qp, ROCE_WC_SUCCESS, now);
}

static void attach_payload(struct roce_send_wqe *wqe, struct roce_tx_pkt *pkt, uint64_t offset,
			   uint32_t bytes)
{
	pkt->hdr.pad_count = (uint8_t)(-bytes & 3);
	pkt->hdr.imm_be = wqe->imm_be;
	pkt->payload.length = bytes;
	pkt->payload.offset = offset;
	if (wqe->is_inline) {
		pkt->payload.data = roce_send_wqe_inline(wqe) + offset;
	} else {
		pkt->payload.sge = roce_send_wqe_sges(wqe);
		pkt->payload.sge_count = wqe->sge_count;
	}
}

/* UD: the message is the packet. A Q_Key with its top bit set is privileged: the QP's own is sent
 * in its place, so that no program can forge one (IBTA 10.2.5). */
static enum step send_datagram(struct roce_qp *qp, struct roce_send_wqe *wqe,
			       struct roce_tx_pkt *pkt, roce_ns_t now)
{
	bool has_imm = wqe->opcode == ROCE_WR_SEND_WITH_IMM;

	start_packet(qp, pkt, has_imm ? ROCE_RC_SEND_ONLY_IMM : ROCE_RC_SEND_ONLY);
	pkt->path = &wqe->path;
	pkt->hdr.pkey = wqe->path.pkey;
	pkt->hdr.dest_qpn = (roce_qpn_t){wqe->remote_qpn};
	pkt->hdr.src_qpn = qp->cfg.qpn;
	pkt->hdr.qkey = wqe->remote_qkey & QKEY_PRIVILEGED
				? ROCE_MARKED(requester_privileged_qkey, qp->attr.qkey)
				: wqe->remote_qkey;
	pkt->hdr.solicited = (wqe->flags & ROCE_SEND_SOLICITED) != 0;
	attach_payload(wqe, pkt, 0, (uint32_t)wqe->length);
	advance(qp, wqe, 1, now);
	complete_unreliable(qp, now);
	return STEP_SENT;
}

/* What SEND and WRITE packets have in common, reliable or not. */
static void build_segment(struct roce_qp *qp, struct roce_send_wqe *wqe, struct roce_tx_pkt *pkt,
			  uint32_t index, uint32_t bytes)
{
	bool is_first = index == 0;
	bool is_last = roce_psn_is_equal(qp->req.next_psn, wqe->last_psn);

	start_packet(qp, pkt,
		     is_write(wqe->opcode) ? write_opcode(wqe->opcode, is_first, is_last)
					   : send_opcode(wqe->opcode, is_first, is_last));
	pkt->hdr.va = wqe->remote_addr;
	pkt->hdr.rkey = wqe->rkey;
	pkt->hdr.dma_len = (uint32_t)wqe->length;
	pkt->hdr.inv_rkey = wqe->inv_rkey;
	pkt->hdr.xrc_srqn = wqe->remote_srqn;
	pkt->hdr.solicited = is_last && (wqe->flags & ROCE_SEND_SOLICITED);
	attach_payload(wqe, pkt, (uint64_t)index << shift_of(qp), bytes);
}

static enum step send_unreliable_segment(struct roce_qp *qp, struct roce_send_wqe *wqe,
					 struct roce_tx_pkt *pkt, roce_ns_t now)
{
	uint32_t index = (qp->req.next_psn.v - wqe->first_psn.v) & ROCE_PSN_MASK;

	build_segment(qp, wqe, pkt, index, roce_segment_bytes(wqe->length, shift_of(qp), index));
	advance(qp, wqe, 1, now);
	complete_unreliable(qp, now);
	return STEP_SENT;
}

/* SEND and WRITE: one packet, charged to the peer's window. */
static enum step send_segment(struct roce_qp *qp, struct roce_send_wqe *wqe,
			      struct roce_tx_pkt *pkt, roce_ns_t now)
{
	struct roce_requester *req = &qp->req;
	struct roce_window *window = &qp->peer->window;
	uint32_t shift = shift_of(qp);
	uint32_t index = (req->next_psn.v - wqe->first_psn.v) & ROCE_PSN_MASK;
	uint32_t bytes = roce_segment_bytes(wqe->length, shift, index);
	uint32_t cost = bytes + ROCE_WINDOW_PACKET_COST;
	bool is_last = roce_psn_is_equal(req->next_psn, wqe->last_psn);

	if (!roce_window_has_room(window, cost)) {
		ROCE_MARK(requester_window_full);
		roce_count(qp->t, ROCE_STAT_WINDOW_BLOCKED);
		wait_on(qp, &qp->peer->waiters);
		return STEP_STOP;
	}
	build_segment(qp, wqe, pkt, index, bytes);
	roce_window_on_send(window, cost);
	req->inflight += cost;
	/* An ACK is asked for wherever the requester may have to stop and wait. */
	if (is_last || ++req->since_ack_req >= qp->t->cfg.ack_interval_packets ||
	    !roce_window_has_room(window, qp->mtu + ROCE_WINDOW_PACKET_COST)) {
		pkt->hdr.ack_req = true;
		req->since_ack_req = 0;
	}
	advance(qp, wqe, 1, now);
	return STEP_SENT;
}

/* A request that has started must be able to go on after the program lowered the limit to 0. */
static uint32_t rd_atomic_quota(const struct roce_qp *qp)
{
	return qp->attr.max_rd_atomic ? qp->attr.max_rd_atomic : 1;
}

/* READ: one request for what is left up to the chunk boundary, charged to our own READ window,
 * since the responses are what could overflow. A peer sees READs of at most that size. */
static enum step send_read(struct roce_qp *qp, struct roce_send_wqe *wqe, struct roce_tx_pkt *pkt,
			   roce_ns_t now)
{
	struct roce_transport *t = qp->t;
	uint32_t shift = shift_of(qp);
	uint32_t index = (qp->req.next_psn.v - wqe->first_psn.v) & ROCE_PSN_MASK;
	uint32_t packets = roce_read_chunk_packets(qp, wqe, index);
	uint32_t cost = (uint32_t)roce_segment_cost(wqe->length, shift, index, index + packets);
	uint64_t offset = (uint64_t)index << shift;

	if (qp->req.rd_outstanding >= rd_atomic_quota(qp))
		return ROCE_MARKED(requester_reads_full, STEP_STOP);
	if (t->read_inflight && t->read_inflight + cost > t->cfg.read_window) {
		ROCE_MARK(requester_read_window_full);
		wait_on(qp, &t->read_waiters);
		return STEP_STOP;
	}
	start_packet(qp, pkt, ROCE_RC_READ_REQUEST);
	pkt->hdr.ack_req = true;
	pkt->hdr.va = wqe->remote_addr + offset;
	pkt->hdr.rkey = wqe->rkey;
	pkt->hdr.dma_len = cost - packets * ROCE_WINDOW_PACKET_COST;
	pkt->hdr.xrc_srqn = wqe->remote_srqn;

	t->read_inflight += cost;
	qp->req.read_inflight += cost;
	qp->req.rd_outstanding++;
	qp->req.since_ack_req = 0;
	advance(qp, wqe, packets, now);
	return STEP_SENT;
}

static enum step send_atomic(struct roce_qp *qp, struct roce_send_wqe *wqe, struct roce_tx_pkt *pkt,
			     roce_ns_t now)
{
	bool is_swap = wqe->opcode == ROCE_WR_ATOMIC_CMP_AND_SWP;

	if (qp->req.rd_outstanding >= rd_atomic_quota(qp))
		return ROCE_MARKED(requester_atomics_full, STEP_STOP);
	start_packet(qp, pkt, is_swap ? ROCE_RC_CMP_SWAP : ROCE_RC_FETCH_ADD);
	pkt->hdr.ack_req = true;
	pkt->hdr.va = wqe->remote_addr;
	pkt->hdr.rkey = wqe->rkey;
	pkt->hdr.swap_add = is_swap ? wqe->swap : wqe->compare_add;
	pkt->hdr.compare = is_swap ? wqe->compare_add : 0;
	pkt->hdr.xrc_srqn = wqe->remote_srqn;
	qp->req.rd_outstanding++;
	qp->req.since_ack_req = 0;
	advance(qp, wqe, 1, now);
	return STEP_SENT;
}

/* ATOMIC WRITE: 8 bytes that appear at once; answered by an empty READ response. */
static enum step send_atomic_write(struct roce_qp *qp, struct roce_send_wqe *wqe,
				   struct roce_tx_pkt *pkt, roce_ns_t now)
{
	if (qp->req.rd_outstanding >= rd_atomic_quota(qp))
		return ROCE_MARKED(requester_atomic_write_quota, STEP_STOP);
	start_packet(qp, pkt, ROCE_RC_ATOMIC_WRITE);
	pkt->hdr.ack_req = true;
	pkt->hdr.va = wqe->remote_addr;
	pkt->hdr.rkey = wqe->rkey;
	pkt->hdr.dma_len = (uint32_t)wqe->length;
	pkt->hdr.xrc_srqn = wqe->remote_srqn;
	attach_payload(wqe, pkt, 0, (uint32_t)wqe->length);
	qp->req.rd_outstanding++;
	qp->req.since_ack_req = 0;
	advance(qp, wqe, 1, now);
	return STEP_SENT;
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

static enum step send_packet(struct roce_qp *qp, struct roce_send_wqe *wqe, struct roce_tx_pkt *pkt,
			     roce_ns_t now)
{
	if (qp->cfg.type == ROCE_QP_UD)
		return send_datagram(qp, wqe, pkt, now);
	if (qp->cfg.type == ROCE_QP_UC)
		return send_unreliable_segment(qp, wqe, pkt, now);
	switch ((enum roce_wr_opcode)wqe->opcode) {
	case ROCE_WR_RDMA_READ:
		return send_read(qp, wqe, pkt, now);
	case ROCE_WR_ATOMIC_CMP_AND_SWP:
	case ROCE_WR_ATOMIC_FETCH_AND_ADD:
		return send_atomic(qp, wqe, pkt, now);
	case ROCE_WR_ATOMIC_WRITE:
		return send_atomic_write(qp, wqe, pkt, now);
	case ROCE_WR_SEND:
	case ROCE_WR_SEND_WITH_IMM:
	case ROCE_WR_SEND_WITH_INV:
	case ROCE_WR_RDMA_WRITE:
	case ROCE_WR_RDMA_WRITE_WITH_IMM:
		return send_segment(qp, wqe, pkt, now);
	case ROCE_WR_LOCAL_INV:
	case ROCE_WR_BIND_MW:
		break; /* run_local() had them */
	}
	roce_unreachable();
}

static enum step send_next(struct roce_qp *qp, struct roce_tx_pkt *pkt, roce_ns_t now)
{
	struct roce_send_wqe *wqe;
	enum step step;

	if (qp->attr.state != ROCE_QP_RTS && qp->attr.state != ROCE_QP_SQD)
		return STEP_STOP;
	if (qp->req.is_rnr_waiting || qp->sq.next == qp->sq.posted)
		return STEP_STOP;
	wqe = roce_send_queue_at(&qp->sq, qp->sq.next);
	while (roce_wr_is_local(wqe->opcode)) {
		if (!run_local(qp, wqe, now) || qp->sq.next == qp->sq.posted)
			return STEP_STOP;
		wqe = roce_send_queue_at(&qp->sq, qp->sq.next);
	}
	if (!wqe->is_started && !start_wqe(qp, wqe))
		return STEP_STOP;
	if (wqe->status != ROCE_WC_SUCCESS) {
		/* It failed locally: its turn to complete comes after all earlier ones. */
		if (qp->sq.completed != qp->sq.next)
			return ROCE_MARKED(requester_failed_waits, STEP_STOP);
		roce_qp_fail_send(qp, (enum roce_wc_status)wqe->status, now);
		return STEP_STOP;
	}
	if (roce_pacing_holds(qp, now))
		return STEP_STOP;
	step = send_packet(qp, wqe, pkt, now);
	if (step == STEP_SENT)
		roce_pacing_on_send(qp, pkt, now);
	return step;
}

/* The turn is over with more to send. Others may fill the window before the next one, and then
 * nobody would answer what was sent so far: the last packet asks. */
static void ask_at_end_of_turn(struct roce_qp *qp, struct roce_tx_pkt *last)
{
	last->hdr.ack_req = true;
	qp->req.since_ack_req = 0;
}

size_t roce_requester_tx(struct roce_qp *qp, struct roce_tx_pkt *pkts, size_t max, roce_ns_t now,
			 bool *out_more)
{
	size_t n = 0;

	while (n < max && send_next(qp, &pkts[n], now) == STEP_SENT)
		n++;
	/* The budget ended it: there may be more. */
	*out_more = n == max;
	if (n && n == max && roce_qp_is_reliable(qp))
		ask_at_end_of_turn(qp, &pkts[n - 1]);
	announce_drained(qp);
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
