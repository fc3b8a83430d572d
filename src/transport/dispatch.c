/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From packet to queue pair to role: the checks that a packet must pass before any role sees it
 * (IBTA packet header validation; every failure is a silent drop with its own counter). The way
 * back is tx.c's.
 */
#include "transport/roles.h"

#include "base/marks.h"

#define PKEY_DEFAULT  0xffffu
#define QPN_MULTICAST 0xffffffu

void roce_transport_init(struct roce_transport *t, const struct roce_transport_config *cfg)
{
	*t = (struct roce_transport){.cfg = *cfg};
	roce_key_table_init(&t->keys, cfg->mr_buckets, cfg->mr_bucket_count);
	roce_ready_init(&t->ready);
	roce_list_init(&t->cnp_debtors);
	roce_list_init(&t->peers);
	roce_list_init(&t->read_waiters);
	roce_list_init(&t->groups);
}

struct roce_peer *roce_peer_find(struct roce_transport *t, const struct roce_gid *dgid,
				 uint8_t slot)
{
	struct roce_list *it;

	roce_list_for_each (it, &t->peers) {
		struct roce_peer *peer = roce_container_of(it, struct roce_peer, link);

		if (peer->slot == slot && roce_gid_is_equal(&peer->dgid, dgid))
			return peer;
	}
	return NULL;
}

void roce_peer_add(struct roce_transport *t, struct roce_peer *peer, const struct roce_gid *dgid,
		   uint8_t slot)
{
	*peer = (struct roce_peer){.dgid = *dgid, .slot = slot};
	roce_window_init(&peer->window, &t->cfg.window);
	roce_list_init(&peer->waiters);
	roce_list_add_tail(&t->peers, &peer->link);
}

void roce_peer_remove(struct roce_peer *peer)
{
	roce_list_remove(&peer->link);
}

/* ---- multicast groups ---- */

void roce_group_attach(struct roce_transport *t, struct roce_group_member *member,
		       const struct roce_gid *mgid, struct roce_qp *qp)
{
	*member = (struct roce_group_member){.mgid = *mgid, .qp = qp};
	roce_list_add_tail(&t->groups, &member->link);
}

void roce_group_detach(struct roce_group_member *member)
{
	roce_list_remove(&member->link);
}

struct roce_group_member *roce_group_find(struct roce_transport *t, const struct roce_gid *mgid,
					  const struct roce_qp *qp)
{
	struct roce_list *it;

	roce_list_for_each (it, &t->groups) {
		struct roce_group_member *m = roce_container_of(it, struct roce_group_member, link);

		if (m->qp == qp && roce_gid_is_equal(&m->mgid, mgid))
			return m;
	}
	return NULL;
}

/* ---- receive ---- */

/* In SQE, a state of UC and UD only, receiving goes on. */
static bool accepts_requests(const struct roce_qp *qp)
{
	if (qp->attr.state == ROCE_QP_SQE)
		return !roce_qp_is_reliable(qp);
	return qp->attr.state == ROCE_QP_RTR || qp->attr.state == ROCE_QP_RTS ||
	       qp->attr.state == ROCE_QP_SQD;
}

static bool accepts_responses(const struct roce_qp *qp)
{
	return qp->attr.state == ROCE_QP_RTS || qp->attr.state == ROCE_QP_SQD;
}

/* The transport whose packets a QP takes. */
static bool is_transport_of(const struct roce_qp *qp, const struct roce_opcode_info *info)
{
	if (info->transport != roce_qp_opcode_base(qp))
		return false;
	/* An XRC initiator receives only responses, a target only requests. */
	if (qp->cfg.type == ROCE_QP_XRC_INI)
		return info->is_response;
	return qp->cfg.type != ROCE_QP_XRC_TGT || info->is_request;
}

static enum roce_verdict deliver_datagram(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
					  const struct roce_opcode_info *info, roce_ns_t now)
{
	if (info->transport != ROCE_OPCODE_TRANSPORT_UD)
		return ROCE_MARKED(dispatch_datagram_transport, ROCE_RX_WRONG_TRANSPORT);
	if (!accepts_requests(qp))
		return ROCE_MARKED(dispatch_datagram_state, ROCE_RX_WRONG_STATE);
	if (!roce_pkey_is_match(pkt->hdr.pkey, PKEY_DEFAULT))
		return ROCE_MARKED(dispatch_datagram_pkey, ROCE_RX_BAD_PKEY);
	return roce_ud_rx(qp, pkt, info, now);
}

/* Every attached QP gets a copy; the verdict is that of the last one. */
static enum roce_verdict deliver_to_group(struct roce_transport *t, const struct roce_rx_pkt *pkt,
					  const struct roce_opcode_info *info, roce_ns_t now)
{
	enum roce_verdict verdict = ROCE_RX_NO_GROUP;
	struct roce_list *it, *next;

	roce_list_for_each_safe (it, next, &t->groups) {
		struct roce_group_member *m = roce_container_of(it, struct roce_group_member, link);

		if (roce_gid_is_equal(&m->mgid, pkt->dst))
			verdict = deliver_datagram(m->qp, pkt, info, now);
	}
	if (verdict == ROCE_RX_NO_GROUP)
		ROCE_MARK(dispatch_no_group);
	return verdict;
}

static enum roce_verdict deliver(struct roce_transport *t, const struct roce_rx_pkt *pkt,
				 roce_ns_t now)
{
	const struct roce_opcode_info *info = roce_opcode_info(pkt->hdr.opcode);
	struct roce_qp *qp;

	if (!info)
		return ROCE_MARKED(dispatch_reserved_opcode, ROCE_RX_RESERVED_OPCODE);
	if (pkt->hdr.dest_qpn.v == QPN_MULTICAST)
		return deliver_to_group(t, pkt, info, now);
	qp = t->cfg.qp_table[pkt->hdr.dest_qpn.v & t->cfg.qp_table_mask];
	if (!qp)
		return ROCE_MARKED(dispatch_no_qp, ROCE_RX_NO_QP);
	if (qp->cfg.qpn.v != pkt->hdr.dest_qpn.v)
		return ROCE_MARKED(dispatch_other_qp, ROCE_RX_NO_QP);
	if (info->operation == ROCE_OPERATION_CNP)
		return roce_congestion_on_cnp(qp, pkt, now);
	if (qp->cfg.type == ROCE_QP_UD)
		return deliver_datagram(qp, pkt, info, now);
	if (!is_transport_of(qp, info))
		return ROCE_MARKED(dispatch_transport, ROCE_RX_WRONG_TRANSPORT);
	if (info->is_response && !accepts_responses(qp))
		return ROCE_MARKED(dispatch_response_state, ROCE_RX_WRONG_STATE);
	if (!info->is_response && !accepts_requests(qp))
		return ROCE_MARKED(dispatch_request_state, ROCE_RX_WRONG_STATE);
	if (!roce_gid_is_equal(pkt->src, &qp->attr.path.dgid))
		return ROCE_MARKED(dispatch_source, ROCE_RX_WRONG_ADDRESS);
	if (!roce_gid_is_equal(pkt->dst, &qp->attr.path.sgid))
		return ROCE_MARKED(dispatch_destination, ROCE_RX_WRONG_ADDRESS);
	if (!roce_pkey_is_match(pkt->hdr.pkey, qp->attr.path.pkey))
		return ROCE_MARKED(dispatch_pkey, ROCE_RX_BAD_PKEY);
	if ((pkt->traffic_class & ROCE_ECN_MASK) == ROCE_ECN_CE)
		roce_congestion_on_mark(qp, info, now);
	if (qp->cfg.type == ROCE_QP_UC)
		return roce_uc_rx(qp, pkt, info, now);
	return info->is_response ? roce_completer_rx(qp, pkt, info, now)
				 : roce_responder_rx(qp, pkt, info, now);
}

enum roce_verdict roce_rx(struct roce_transport *t, const struct roce_rx_pkt *pkt, roce_ns_t now)
{
	enum roce_verdict verdict;

	roce_transport_note_time(t, now);
	roce_count(t, ROCE_STAT_RX_PACKETS);
	roce_count_by(t, ROCE_STAT_RX_BYTES, pkt->payload_len);
	if ((pkt->traffic_class & ROCE_ECN_MASK) == ROCE_ECN_CE)
		roce_count(t, ROCE_STAT_ECN_MARKED);
	verdict = deliver(t, pkt, now);
	roce_count(t, verdict);
	return verdict;
}

/* ---- time ---- */

roce_ns_t roce_deadline(const struct roce_transport *t)
{
	return roce_timer_heap_deadline(&t->timers);
}

void roce_on_deadline(struct roce_transport *t, roce_ns_t now)
{
	roce_transport_note_time(t, now);
	while (roce_timer_heap_deadline(&t->timers) <= now) {
		struct roce_timer *timer = roce_timer_heap_min(&t->timers);

		switch ((enum roce_timer_kind)timer->kind) {
		case ROCE_TIMER_OF_QP:
			roce_retransmit_on_deadline(roce_container_of(timer, struct roce_qp, timer),
						    now);
			break;
		case ROCE_TIMER_OF_CQ:
			roce_cq_on_deadline(t, roce_container_of(timer, struct roce_cq, timer));
			break;
		}
	}
}
