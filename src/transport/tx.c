/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who may send next. Ready queue pairs take turns within their class, and classes take turns with
 * each other; the caller says which classes may send now. What is more urgent than what is a matter
 * of the port, which asks for one class after the other; a sender without such a port lets all of
 * them share.
 */
#include "transport/roles.h"

/* One turn of a QP. A responder that was left without room goes first in the next turn, but not
 * twice in a row: a long READ's answer must not keep the requester from sending. */
static size_t take_turn(struct roce_qp *qp, struct roce_tx_pkt *pkts, size_t max, roce_ns_t now)
{
	bool more = false;
	bool has_answers = false;
	size_t n = 0;

	qp->pace_deadline = ROCE_NEVER; /* whoever is still held back says so again */
	if (qp->is_responder_first)
		n = roce_responder_tx(qp, pkts, max, now, &has_answers);
	n += roce_requester_tx(qp, pkts + n, max - n, now, &more);
	if (!qp->is_responder_first)
		n += roce_responder_tx(qp, pkts + n, max - n, now, &has_answers);
	qp->is_responder_first = !qp->is_responder_first && has_answers;
	if (more || has_answers)
		roce_qp_mark_ready(qp);
	return n;
}

size_t roce_tx_classes(struct roce_transport *t, uint32_t classes, struct roce_tx_pkt *pkts,
		       size_t max, roce_ns_t now)
{
	struct roce_list *link;
	size_t n = 0;

	roce_transport_note_time(t, now);
	if (!roce_list_is_empty(&t->cnp_debtors) && classes >> t->cfg.notify.tx_class & 1)
		n = roce_congestion_tx(t, pkts, max);
	else if (!(t->ready.waiting & classes))
		return 0;
	while (n < max && (link = roce_ready_take(&t->ready, classes))) {
		struct roce_qp *qp = roce_container_of(link, struct roce_qp, ready_link);
		size_t room = max - n < t->cfg.burst_packets ? max - n : t->cfg.burst_packets;

		n += take_turn(qp, pkts + n, room, now);
	}
	for (size_t i = 0; i < n; i++) {
		const struct roce_peer *peer = pkts[i].qp->peer;

		pkts[i].is_single = peer && roce_peer_is_single(peer, now);
		roce_count_by(t, ROCE_STAT_TX_BYTES, pkts[i].payload.length);
	}
	roce_count_by(t, ROCE_STAT_TX_PACKETS, n);
	return n;
}

size_t roce_tx_answer(struct roce_transport *t, roce_qpn_t qpn, struct roce_tx_pkt *pkt,
		      roce_ns_t now)
{
	struct roce_qp *qp = t->cfg.qp_table[qpn.v & t->cfg.qp_table_mask];
	bool has_more;
	size_t n;

	roce_transport_note_time(t, now);
	if (!qp || qp->cfg.qpn.v != qpn.v || qp->resp.pending_count ||
	    !roce_responder_has_output(qp))
		return 0;
	n = roce_responder_tx(qp, pkt, 1, now, &has_more);
	if (n)
		pkt->is_single = qp->peer && roce_peer_is_single(qp->peer, now);
	roce_count_by(t, ROCE_STAT_TX_PACKETS, n);
	return n;
}

struct roce_qp *roce_tx_last_ready(const struct roce_transport *t)
{
	struct roce_list *link = roce_ready_last(&t->ready);

	return link && roce_list_is_empty(&t->cnp_debtors)
		       ? roce_container_of(link, struct roce_qp, ready_link)
		       : NULL;
}
