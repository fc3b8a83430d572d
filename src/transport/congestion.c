/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks of congestion, and what they lead to. A packet that comes marked (CE) makes its queue pair
 * tell the sender, before and whatever becomes of the packet: by a CNP, which goes out before all
 * else, or by BECN in the next acknowledgement. A CNP that comes slows its queue pair down. It
 * needs no PSN, so it has to come from the peer's address, or anybody could slow down anybody.
 *
 * UD queue pairs have no peer: their marks are counted, not told.
 */
#include "transport/roles.h"

#include "base/marks.h"

/* Has the sender of the marked packet not just been told? */
static bool take_notification(struct roce_qp *qp, roce_ns_t now)
{
	const struct roce_notify_config *cfg = &qp->t->cfg.notify;

	switch (cfg->scope) {
	case ROCE_NOTIFY_PER_QP:
		return roce_notify_take(&qp->notify, cfg, now);
	case ROCE_NOTIFY_PER_DESTINATION:
		return roce_notify_take(qp->peer ? &qp->peer->notify : &qp->notify, cfg, now);
	case ROCE_NOTIFY_PER_PORT:
		return roce_notify_take(&qp->t->notify, cfg, now);
	}
	return false;
}

void roce_congestion_on_mark(struct roce_qp *qp, const struct roce_opcode_info *info, roce_ns_t now)
{
	switch (qp->t->cfg.notify.mode) {
	case ROCE_NOTIFY_OFF:
		return;
	case ROCE_NOTIFY_ACK:
		/* READ responses and UC packets are not acknowledged. */
		if (info->is_request && roce_qp_is_reliable(qp)) {
			qp->resp.is_becn_owed = true;
			return;
		}
		break;
	case ROCE_NOTIFY_CNP:
		break;
	}
	if (!roce_list_is_empty(&qp->cnp_link))
		return;
	if (!take_notification(qp, now)) {
		ROCE_MARK(congestion_told_already);
		return;
	}
	roce_list_add_tail(&qp->t->cnp_debtors, &qp->cnp_link);
}

void roce_congestion_on_nak(struct roce_qp *qp)
{
	if (qp->t->cfg.notify.is_with_nak && roce_list_is_empty(&qp->cnp_link))
		roce_list_add_tail(&qp->t->cnp_debtors, &qp->cnp_link);
}

void roce_congestion_on_ack(struct roce_qp *qp, const struct roce_headers *hdr, roce_ns_t now)
{
	if (hdr->becn && qp->t->cfg.notify.mode == ROCE_NOTIFY_ACK && roce_cc_is_on(&qp->cc))
		roce_cc_on_cnp(&qp->cc, now);
}

size_t roce_congestion_tx(struct roce_transport *t, struct roce_tx_pkt *pkts, size_t max)
{
	size_t n = 0;

	while (n < max && !roce_list_is_empty(&t->cnp_debtors)) {
		struct roce_qp *qp =
			roce_container_of(t->cnp_debtors.next, struct roce_qp, cnp_link);
		struct roce_tx_pkt *pkt = &pkts[n++];

		roce_list_remove(&qp->cnp_link);
		roce_qp_fill_headers(qp, &pkt->hdr, roce_opcode_make(ROCE_CNP), roce_psn_make(0));
		pkt->hdr.mig_req = false;
		pkt->hdr.becn = true;
		pkt->payload = (struct roce_payload){0};
		pkt->path = &qp->attr.path;
		pkt->traffic_class = t->cfg.notify.traffic_class;
		pkt->tx_class = t->cfg.notify.tx_class;
		pkt->qp = qp;
		roce_count(t, ROCE_STAT_CNP_SENT);
	}
	return n;
}

/* READ responses are sent in RTR, too. */
static bool may_send(const struct roce_qp *qp)
{
	return qp->attr.state == ROCE_QP_RTR || qp->attr.state == ROCE_QP_RTS ||
	       qp->attr.state == ROCE_QP_SQD;
}

enum roce_verdict roce_congestion_on_cnp(struct roce_qp *qp, const struct roce_rx_pkt *pkt,
					 roce_ns_t now)
{
	if (qp->cfg.type == ROCE_QP_UD)
		return ROCE_MARKED(congestion_cnp_datagram, ROCE_RX_WRONG_TRANSPORT);
	if (!may_send(qp))
		return ROCE_MARKED(congestion_cnp_state, ROCE_RX_WRONG_STATE);
	if (!roce_gid_is_equal(pkt->src, &qp->attr.path.dgid))
		return ROCE_MARKED(congestion_cnp_source, ROCE_RX_WRONG_ADDRESS);
	if (!roce_gid_is_equal(pkt->dst, &qp->attr.path.sgid))
		return ROCE_MARKED(congestion_cnp_destination, ROCE_RX_WRONG_ADDRESS);
	if (!roce_pkey_is_match(pkt->hdr.pkey, qp->attr.path.pkey))
		return ROCE_MARKED(congestion_cnp_pkey, ROCE_RX_BAD_PKEY);
	if (pkt->payload_len || pkt->hdr.pad_count)
		return ROCE_MARKED(congestion_cnp_length, ROCE_RX_BAD_LENGTH);
	if (!roce_cc_is_on(&qp->cc))
		return ROCE_MARKED(congestion_cnp_ignored, ROCE_RX_CNP_IGNORED);
	roce_cc_on_cnp(&qp->cc, now);
	return ROCE_RX_CNP_HANDLED;
}
