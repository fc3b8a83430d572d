/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The next packet of a started WQE: its opcode, headers and payload reference, what it costs (the
 * peer's window, our own READ window, max_rd_atomic), and the step that next_psn takes. Called by
 * the requester, which has found that the WQE may go on; a packet for which there is no room is not
 * built, and the QP waits in line for it.
 */
#include "transport/roles.h"

#include "base/assert.h"
#include "base/marks.h"
#include "transport/segment.h"

#define QKEY_PRIVILEGED 0x80000000u

/* Who tries while it stands there keeps its place; who was woken for nothing stays the first. */
static void wait_on(struct roce_qp *qp, struct roce_list *waiters)
{
	bool is_first = qp->req.woken_from == waiters;

	if (!roce_list_is_empty(&qp->wait_link) && qp->req.waits_in == waiters)
		return;
	roce_list_remove(&qp->wait_link);
	qp->req.waits_in = waiters;
	roce_list_add_tail(is_first ? waiters->next : waiters, &qp->wait_link);
}

uint32_t roce_read_chunk_packets(const struct roce_qp *qp, const struct roce_send_wqe *wqe,
				 uint32_t index)
{
	uint32_t total = roce_segment_count(wqe->length, qp->mtu);
	uint32_t end = (index / qp->read_chunk + 1) * qp->read_chunk;

	return (end < total ? end : total) - index;
}

/* ---- parts of all packets ---- */

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
	pkt->traffic_class = roce_congestion_data_class(qp);
	pkt->tx_class = qp->tx_class;
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
	pkt->hdr.imm_be = wqe->imm_be; /* or the key to be invalidated: one word */
	pkt->payload.length = bytes;
	pkt->payload.offset = offset;
	if (wqe->is_inline) {
		pkt->payload.data = roce_send_wqe_inline(wqe) + offset;
	} else {
		pkt->payload.sge = roce_send_wqe_sges(wqe);
		pkt->payload.sge_count = wqe->sge_count;
	}
}

/* ---- one function for each kind; false: no room ---- */

/* UD: the message is the packet. A Q_Key with its top bit set is privileged: the QP's own is sent
 * in its place, so that no program can forge one (IBTA 10.2.5). */
static bool send_datagram(struct roce_qp *qp, struct roce_send_wqe *wqe, struct roce_tx_pkt *pkt,
			  roce_ns_t now)
{
	bool has_imm = wqe->opcode == ROCE_WR_SEND_WITH_IMM;

	start_packet(qp, pkt, has_imm ? ROCE_RC_SEND_ONLY_IMM : ROCE_RC_SEND_ONLY);
	pkt->path = &wqe->path;
	pkt->traffic_class = wqe->path.traffic_class;
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
	if (qp->sq.next != qp->sq.posted)
		roce_qp_set_class(qp, roce_send_queue_at(&qp->sq, qp->sq.next)->path.sl);
	return true;
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
	pkt->hdr.xrc_srqn = wqe->remote_srqn;
	pkt->hdr.solicited = is_last && (wqe->flags & ROCE_SEND_SOLICITED);
	attach_payload(wqe, pkt, (uint64_t)index * qp->mtu, bytes);
}

static bool send_unreliable_segment(struct roce_qp *qp, struct roce_send_wqe *wqe,
				    struct roce_tx_pkt *pkt, roce_ns_t now)
{
	uint32_t index = (qp->req.next_psn.v - wqe->first_psn.v) & ROCE_PSN_MASK;

	build_segment(qp, wqe, pkt, index, roce_segment_bytes(wqe->length, qp->mtu, index));
	advance(qp, wqe, 1, now);
	complete_unreliable(qp, now);
	return true;
}

/* With `more` bytes behind what is on its way. */
static bool is_own_window_full(struct roce_qp *qp, uint32_t more, roce_ns_t now)
{
	const struct roce_transport_config *cfg = &qp->t->cfg;
	uint64_t window = cfg->qp_window_bytes;
	uint64_t packets = (qp->req.next_psn.v - qp->req.una.v) & ROCE_PSN_MASK;

	if (!window || (!packets && !more))
		return false;
	if (cfg->is_qp_window_by_rate && roce_cc_is_on(&qp->cc))
		window = window * roce_cc_rate(&qp->cc, now) / qp->cc.cfg->line_kbit_per_s;
	return packets * qp->mtu + more >= window;
}

/* Behind the packet that is being sent. A window by rate may shrink to less than what is on its way
 * already, so each of its packets asks for an ACK. */
static bool may_own_window_close(struct roce_qp *qp, roce_ns_t now)
{
	const struct roce_transport_config *cfg = &qp->t->cfg;

	return cfg->qp_window_bytes &&
	       (cfg->is_qp_window_by_rate || is_own_window_full(qp, qp->mtu, now));
}

/* SEND and WRITE: one packet, charged to the peer's window. */
static bool send_segment(struct roce_qp *qp, struct roce_send_wqe *wqe, struct roce_tx_pkt *pkt,
			 roce_ns_t now)
{
	struct roce_requester *req = &qp->req;
	struct roce_window *window = &qp->peer->window;
	uint32_t index = (req->next_psn.v - wqe->first_psn.v) & ROCE_PSN_MASK;
	uint32_t bytes = roce_segment_bytes(wqe->length, qp->mtu, index);
	uint32_t cost = bytes + ROCE_WINDOW_PACKET_COST;
	bool is_last = roce_psn_is_equal(req->next_psn, wqe->last_psn);

	if (is_own_window_full(qp, 0, now)) {
		ROCE_MARK(requester_own_window_full);
		roce_count(qp->t, ROCE_STAT_WINDOW_BLOCKED);
		return false; /* its own acknowledgements wake it */
	}
	if (!roce_window_has_room(window, cost)) {
		ROCE_MARK(requester_window_full);
		roce_count(qp->t, ROCE_STAT_WINDOW_BLOCKED);
		wait_on(qp, &qp->peer->waiters);
		return false;
	}
	build_segment(qp, wqe, pkt, index, bytes);
	roce_window_on_send(window, cost);
	req->inflight += cost;
	/* An ACK is asked for wherever the requester may have to stop and wait. */
	if (is_last || ++req->since_ack_req >= qp->t->cfg.ack_interval_packets ||
	    !roce_window_has_room(window, qp->mtu + ROCE_WINDOW_PACKET_COST) ||
	    may_own_window_close(qp, now)) {
		pkt->hdr.ack_req = true;
		req->since_ack_req = 0;
	}
	advance(qp, wqe, 1, now);
	return true;
}

/* A request that has started must be able to go on after the program lowered the limit to 0. */
static uint32_t rd_atomic_quota(const struct roce_qp *qp)
{
	return qp->attr.max_rd_atomic ? qp->attr.max_rd_atomic : 1;
}

/* READ: one request for what is left up to the chunk boundary, charged to our own READ window,
 * since the responses are what could overflow. A peer sees READs of at most that size. */
static bool send_read(struct roce_qp *qp, struct roce_send_wqe *wqe, struct roce_tx_pkt *pkt,
		      roce_ns_t now)
{
	struct roce_transport *t = qp->t;
	uint32_t index = (qp->req.next_psn.v - wqe->first_psn.v) & ROCE_PSN_MASK;
	uint32_t packets = roce_read_chunk_packets(qp, wqe, index);
	uint32_t cost = (uint32_t)roce_segment_cost(wqe->length, qp->mtu, index, index + packets);
	uint64_t offset = (uint64_t)index * qp->mtu;

	if (qp->req.rd_outstanding >= rd_atomic_quota(qp))
		return ROCE_MARKED(requester_reads_full, false);
	if (t->read_inflight && t->read_inflight + cost > t->cfg.read_window) {
		ROCE_MARK(requester_read_window_full);
		wait_on(qp, &t->read_waiters);
		return false;
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
	return true;
}

static bool send_atomic(struct roce_qp *qp, struct roce_send_wqe *wqe, struct roce_tx_pkt *pkt,
			roce_ns_t now)
{
	bool is_swap = wqe->opcode == ROCE_WR_ATOMIC_CMP_AND_SWP;

	if (qp->req.rd_outstanding >= rd_atomic_quota(qp))
		return ROCE_MARKED(requester_atomics_full, false);
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
	return true;
}

/* ATOMIC WRITE: 8 bytes that appear at once; answered by an empty READ response. */
static bool send_atomic_write(struct roce_qp *qp, struct roce_send_wqe *wqe,
			      struct roce_tx_pkt *pkt, roce_ns_t now)
{
	if (qp->req.rd_outstanding >= rd_atomic_quota(qp))
		return ROCE_MARKED(requester_atomic_write_quota, false);
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
	return true;
}

/* ---- entry ---- */

bool roce_requester_send_packet(struct roce_qp *qp, struct roce_send_wqe *wqe,
				struct roce_tx_pkt *pkt, roce_ns_t now)
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
		break; /* they send nothing */
	}
	roce_unreachable();
}
