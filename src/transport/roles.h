/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the roles of a queue pair offer each other inside the transport: requester (WQE -> packets),
 * completer (responses -> CQEs), responder (requests -> execution -> responses), retransmission.
 * Nothing outside src/transport includes this.
 */
#ifndef ROCE_TRANSPORT_ROLES_H
#define ROCE_TRANSPORT_ROLES_H

#include "base/assert.h"
#include "transport/qp.h"
#include "wire/opcode.h"

/* The caller reads the clock under the lock under which it calls; time stands still at times, but
 * it does not run backwards. */
static inline void roce_transport_note_time(struct roce_transport *t, roce_ns_t now)
{
	ROCE_ASSERT_SLOW(now >= t->latest_ns);
	t->latest_ns = now;
}

/* Two keys of one partition, at least one of them of a full member. */
static inline bool roce_pkey_is_match(uint16_t a, uint16_t b)
{
	return (a & 0x7fff) && (a & 0x7fff) == (b & 0x7fff) && ((a | b) & 0x8000);
}

static inline void roce_count(struct roce_transport *t, uint32_t counter)
{
	t->cfg.counters->v[counter]++;
}

static inline void roce_count_by(struct roce_transport *t, uint32_t counter, uint64_t n)
{
	t->cfg.counters->v[counter] += n;
}

/* ---- qp.c ---- */

static inline void roce_qp_mark_ready(struct roce_qp *qp)
{
	roce_ready_add(&qp->t->ready, &qp->ready_link, qp->tx_class);
}

static inline void roce_qp_unmark_ready(struct roce_qp *qp)
{
	roce_ready_remove(&qp->t->ready, &qp->ready_link, qp->tx_class);
}

/* What it sends next goes by this service level. */
static inline void roce_qp_set_class(struct roce_qp *qp, uint8_t sl)
{
	bool is_ready = !roce_list_is_empty(&qp->ready_link);

	if (qp->tx_class == sl % ROCE_TX_CLASSES)
		return;
	if (is_ready)
		roce_qp_unmark_ready(qp);
	qp->tx_class = sl % ROCE_TX_CLASSES;
	if (is_ready)
		roce_qp_mark_ready(qp);
}

/* Requests that are answered, one by one, by more than an ACK: they count against rd_atomic. */
static inline bool roce_wr_is_read_or_atomic(uint8_t opcode)
{
	return opcode == ROCE_WR_RDMA_READ || opcode == ROCE_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == ROCE_WR_ATOMIC_FETCH_AND_ADD || opcode == ROCE_WR_ATOMIC_WRITE;
}

/* Work requests that send nothing. */
static inline bool roce_wr_is_local(uint8_t opcode)
{
	return opcode == ROCE_WR_LOCAL_INV || opcode == ROCE_WR_BIND_MW;
}

/* Completes what was executed here and is now the oldest. */
void roce_qp_complete_local(struct roce_qp *qp, roce_ns_t now);
/* Writes the CQE of the oldest send WQE, if it is due one, and moves on to the next. */
void roce_qp_complete_send(struct roce_qp *qp, enum roce_wc_status status, roce_ns_t now);
/* The oldest send WQE fails with `status` and the rest is flushed; RC goes to ERR, UC and UD to
 * SQE, where receiving goes on. */
void roce_qp_fail_send(struct roce_qp *qp, enum roce_wc_status status, roce_ns_t now);
/* Writes the CQE of the receive WQE at the head and takes it off. */
void roce_qp_complete_recv(struct roce_qp *qp, const struct roce_cqe *cqe, bool is_solicited);
/* To ERR because of the responder: what it still owes the peer (READ responses, the NAK) is sent.
 */
void roce_qp_error_by_responder(struct roce_qp *qp, roce_ns_t now);
void roce_qp_event(struct roce_qp *qp, enum roce_async_event event);

/* Opcode bits of the QP's transport: added to the RC opcode of the same operation. */
static inline uint8_t roce_qp_opcode_base(const struct roce_qp *qp)
{
	switch ((enum roce_qp_type)qp->cfg.type) {
	case ROCE_QP_RC:
		return ROCE_OPCODE_TRANSPORT_RC;
	case ROCE_QP_UC:
		return ROCE_OPCODE_TRANSPORT_UC;
	case ROCE_QP_UD:
		return ROCE_OPCODE_TRANSPORT_UD;
	case ROCE_QP_XRC_INI:
	case ROCE_QP_XRC_TGT:
		return ROCE_OPCODE_TRANSPORT_XRC;
	}
	return ROCE_OPCODE_TRANSPORT_RC;
}

/* The domain that a peer's keys must belong to: an XRC target's is that of the shared queue which
 * the peer names. */
static inline struct roce_pd *roce_qp_pd(const struct roce_qp *qp)
{
	return qp->cfg.type == ROCE_QP_XRC_TGT && qp->srq ? qp->srq->pd : qp->cfg.pd;
}

/* RC and XRC acknowledge; UC and UD do not. */
static inline bool roce_qp_is_reliable(const struct roce_qp *qp)
{
	return qp->cfg.type != ROCE_QP_UC && qp->cfg.type != ROCE_QP_UD;
}

/* Common part of every packet that this QP sends. */
void roce_qp_fill_headers(const struct roce_qp *qp, struct roce_headers *hdr, roce_opcode_t opcode,
			  roce_psn_t psn);

/* ---- moderation.c ---- */

enum roce_timer_kind {
	ROCE_TIMER_OF_QP,
	ROCE_TIMER_OF_CQ,
};

void roce_cq_on_deadline(struct roce_transport *t, struct roce_cq *cq);

/* ---- batching.c ---- */

/* A round towards the QP's peer brought nothing: `count` is how many in a row. */
void roce_peer_on_fruitless(struct roce_qp *qp, uint8_t *count, roce_ns_t now);

/* ---- recv.c ---- */

bool roce_recv_is_available(const struct roce_qp *qp);
/* Is a WQE in hand, so that it can complete? */
bool roce_recv_is_in_hand(const struct roce_qp *qp);
/* The WQE in hand, taken from the shared queue if need be; NULL when there is none. */
struct roce_recv_wqe *roce_recv_take(struct roce_qp *qp);
/* Takes the WQE in hand off an SRQ's hold and tells its wr_id; the own queue's head is moved on by
 * roce_qp_complete_recv(). */
uint64_t roce_recv_release(struct roce_qp *qp);
/* Stores bytes at an offset of the WQE in hand: SUCCESS, LOC_LEN_ERR (does not fit), LOC_PROT_ERR.
 */
enum roce_wc_status roce_recv_place(struct roce_qp *qp, uint64_t offset, const uint8_t *data,
				    uint32_t length);

/* ---- requester.c ---- */

void roce_requester_init(struct roce_qp *qp);
/* Up to `max` packets; out_more tells whether only the budget ended it. */
size_t roce_requester_tx(struct roce_qp *qp, struct roce_tx_pkt *pkts, size_t max, roce_ns_t now,
			 bool *out_more);
/* Go-back-N: everything from the oldest unacknowledged PSN is to be sent again. */
void roce_requester_restart(struct roce_qp *qp);
/* Room has appeared: the first of these waiters may try again, and the next after its turn. */
void roce_requester_wake_next(struct roce_list *waiters);
/* Gives back all window shares and leaves all waiting lists. */
void roce_requester_release(struct roce_qp *qp);
/* Turns to another peer; what is on its way counts against the new one's window. */
void roce_requester_set_peer(struct roce_qp *qp, struct roce_peer *peer);
/* ---- req_packet.c ---- */

/* The WQE's next packet; next_psn moves on behind it. False when there is no room for it (window,
 * max_rd_atomic): the QP is made ready when there is. */
bool roce_requester_send_packet(struct roce_qp *qp, struct roce_send_wqe *wqe,
				struct roce_tx_pkt *pkt, roce_ns_t now);
/* Packets of a READ that one request asks for, from packet `index` of the message: up to the next
 * chunk boundary. Boundaries are fixed, so a retry asks for a suffix of the original request. */
uint32_t roce_read_chunk_packets(const struct roce_qp *qp, const struct roce_send_wqe *wqe,
				 uint32_t index);

/* ---- pacing.c ---- */

/* A limit has come or gone: is_paced follows. The others are for queue pairs that are paced. */
void roce_pacing_follow(struct roce_qp *qp);
/* Must the next packet of the send queue wait? Then the QP comes back when it may go. */
bool roce_pacing_holds(struct roce_qp *qp, roce_ns_t now);
/* A packet of the send queue is about to leave. */
void roce_pacing_on_send(struct roce_qp *qp, struct roce_tx_pkt *pkt, roce_ns_t now);
/* The same two for READ responses, which only the controller paces. */
bool roce_pacing_holds_response(struct roce_qp *qp, roce_ns_t now);
void roce_pacing_on_response(struct roce_qp *qp, const struct roce_tx_pkt *pkt, roce_ns_t now);

/* ---- congestion.c ---- */

/* A packet of the QP came marked. */
void roce_congestion_on_mark(struct roce_qp *qp, const struct roce_opcode_info *info,
			     roce_ns_t now);
enum roce_verdict roce_congestion_on_cnp(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
					 roce_ns_t now);
/* A lost packet is NAKed. */
void roce_congestion_on_nak(struct roce_qp *qp);
/* An acknowledgement came; it may tell of marks, too. */
void roce_congestion_on_ack(struct roce_qp *qp, const struct roce_headers *hdr, roce_ns_t now);
/* CNPs that are owed. */
size_t roce_congestion_tx(struct roce_transport *t, struct roce_tx_pkt *pkts, size_t max);

/* Data of a QP whose rate is controlled may be marked on its way. */
static inline uint8_t roce_congestion_data_class(const struct roce_qp *qp)
{
	uint8_t traffic_class = qp->attr.path.traffic_class;

	return roce_cc_is_on(&qp->cc) ? (uint8_t)((traffic_class & ~3u) | ROCE_ECN_ECT0)
				      : traffic_class;
}

static inline uint8_t roce_congestion_ack_class(const struct roce_qp *qp)
{
	uint8_t traffic_class = qp->attr.path.traffic_class;

	return roce_cc_is_on(&qp->cc) ? (uint8_t)(traffic_class & ~3u) : traffic_class;
}

/* ---- completer.c ---- */

enum roce_verdict roce_completer_rx(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
				    const struct roce_opcode_info *info, roce_ns_t now);

/* ---- responder.c, resp_answer.c ---- */

enum roce_verdict roce_responder_rx(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
				    const struct roce_opcode_info *info, roce_ns_t now);
/* Up to `max` packets; out_more tells whether there are more that need not be waited for. */
size_t roce_responder_tx(struct roce_qp *qp, struct roce_tx_pkt *pkts, size_t max, roce_ns_t now,
			 bool *out_more);
static inline bool roce_responder_has_output(const struct roce_qp *qp)
{
	const struct roce_responder *resp = &qp->resp;

	return resp->pending_count || resp->is_ack_pending || resp->is_dup_ack_pending ||
	       resp->is_nak_pending;
}
/* The memory of a READ response is gone. */
void roce_responder_read_fault(struct roce_qp *qp, roce_psn_t psn, roce_ns_t now);

/* ---- uc.c, ud.c: the unreliable responders; nothing is ever answered ---- */

enum roce_verdict roce_uc_rx(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
			     const struct roce_opcode_info *info, roce_ns_t now);
enum roce_verdict roce_ud_rx(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
			     const struct roce_opcode_info *info, roce_ns_t now);

/* ---- resp_resource.c ---- */

/* May the peer ask for one more READ or atomic? Not when max_dest_rd_atomic, rounded up to a power
 * of two, are unanswered. */
bool roce_resp_resource_has_room(struct roce_qp *qp);
/* A new entry for a READ or atomic, displacing the oldest; there must be room. */
struct roce_resp_resource *roce_resp_resource_add(struct roce_qp *qp);
/* The saved entry whose PSN range holds `psn`, or NULL. */
struct roce_resp_resource *roce_resp_resource_find(struct roce_qp *qp, roce_psn_t psn);
/* The oldest entry with responses to send, or NULL. */
struct roce_resp_resource *roce_resp_resource_pending(struct roce_qp *qp);
/* The oldest entry that starts after `psn`, or NULL. */
struct roce_resp_resource *roce_resp_resource_after(struct roce_qp *qp, roce_psn_t psn);
void roce_resp_resource_set_pending(struct roce_qp *qp, struct roce_resp_resource *res,
				    bool is_pending);

/* ---- retransmit.c ---- */

/* Starts the ACK timer if it does not run. */
void roce_retransmit_arm(struct roce_qp *qp, roce_ns_t now);
/* Progress: counters are reloaded and the timer starts anew, or stops when nothing is left. */
void roce_retransmit_on_progress(struct roce_qp *qp, roce_ns_t now);
/* Explicit or implied sequence NAK: one retry is spent. */
void roce_retransmit_on_sequence_nak(struct roce_qp *qp, roce_ns_t now);
void roce_retransmit_on_rnr_nak(struct roce_qp *qp, uint8_t timer_code, roce_ns_t now);
void roce_retransmit_on_deadline(struct roce_qp *qp, roce_ns_t now);
/* The local ACK timeout. */
roce_ns_t roce_retransmit_timeout_ns(const struct roce_qp *qp);
/* A packet is held back: the QP is ready again at `until`. */
void roce_retransmit_pause(struct roce_qp *qp, roce_ns_t until);
void roce_retransmit_stop(struct roce_qp *qp);

#endif
