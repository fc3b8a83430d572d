/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who paces the packets of a queue pair: its congestion controller, those of its send queue and its
 * READ responses; the device all unreliable ones; and the program the send queue as it likes. The
 * roles ask before each packet and report each; retransmissions count like all others.
 */
#include "transport/roles.h"

#include "base/marks.h"

#define IPV4_UDP_BYTES 28u
#define IPV6_UDP_BYTES 48u
#define ICRC_BYTES     4u

/* A burst that a program leaves to us: 200 us, in bytes by kbit/s a fortieth. */
#define BURST_SHARE 40u

/* A busy machine wakes us late by this and less. What a queue with work could not send meanwhile
 * follows at once, else the rate would be missed by far. */
#define LATE_NS (10 * ROCE_NS_PER_MS)

void roce_pacing_follow(struct roce_qp *qp)
{
	qp->is_paced = !roce_qp_is_reliable(qp) || qp->rate.kbit_per_s || roce_cc_is_on(&qp->cc);
}

bool roce_qp_limit_rate(struct roce_qp *qp, uint32_t kbit_per_s, uint32_t burst_bytes)
{
	uint32_t packet = qp->mtu ? qp->mtu : 1u << 12;

	if ((qp->attr.state != ROCE_QP_RTS && qp->attr.state != ROCE_QP_SQD) ||
	    qp->cfg.type == ROCE_QP_XRC_TGT)
		return ROCE_MARKED(pacing_not_sending, false);
	/* What was sent at a lower rate is no debt (a packet at 1 kbit/s is 9 s of it), and what
	 * was held back under an earlier limit is past. */
	if (!kbit_per_s || !qp->rate.kbit_per_s || kbit_per_s > qp->rate.kbit_per_s) {
		qp->pace = (struct roce_pace){0};
		qp->is_rate_behind = false;
	}
	qp->attr.rate_kbit_per_s = qp->rate.kbit_per_s = kbit_per_s;
	qp->rate_late_ns = burst_bytes ? 0 : LATE_NS;
	/* A packet may go while those before it are a burst ahead, so it is a part of the burst. */
	if (!burst_bytes)
		qp->rate.burst_bytes = kbit_per_s / BURST_SHARE;
	else
		qp->rate.burst_bytes = burst_bytes > packet ? burst_bytes - packet : 0;
	roce_pacing_follow(qp);
	roce_qp_mark_ready(qp);
	return true;
}

bool roce_pacing_holds(struct roce_qp *qp, roce_ns_t now)
{
	const struct roce_transport *t = qp->t;
	roce_ns_t next = roce_pace_next(&qp->pace, &qp->rate);

	if (next > now)
		qp->is_rate_behind = true;
	if (!roce_qp_is_reliable(qp)) {
		roce_ns_t device = roce_pace_next(&t->pace, &t->cfg.pace);

		if (device > next)
			next = device;
	}
	if (roce_cc_is_on(&qp->cc)) {
		roce_ns_t controlled = roce_cc_next_send(&qp->cc, now);

		if (controlled > next)
			next = controlled;
	}
	if (next <= now)
		return false;
	roce_retransmit_pause(qp, next);
	return true;
}

bool roce_pacing_holds_response(struct roce_qp *qp, roce_ns_t now)
{
	roce_ns_t next;

	if (!roce_cc_is_on(&qp->cc))
		return false;
	next = roce_cc_next_send(&qp->cc, now);
	if (next <= now)
		return false;
	ROCE_MARK(pacing_response_waits);
	roce_retransmit_pause(qp, next);
	return true;
}

static uint32_t ip_bytes(const struct roce_tx_pkt *pkt)
{
	uint32_t ip = roce_gid_is_v4(&pkt->path->dgid) ? IPV4_UDP_BYTES : IPV6_UDP_BYTES;

	return ip + roce_opcode_info(pkt->hdr.opcode)->header_len + pkt->payload.length +
	       pkt->hdr.pad_count + ICRC_BYTES;
}

/* What a controller counts. */
static uint32_t link_bytes(const struct roce_qp *qp, const struct roce_tx_pkt *pkt)
{
	const struct roce_transport_config *cfg = &qp->t->cfg;

	return cfg->header_bytes ? cfg->header_bytes + pkt->payload.length
				 : cfg->link_bytes + ip_bytes(pkt);
}

void roce_pacing_on_response(struct roce_qp *qp, const struct roce_tx_pkt *pkt, roce_ns_t now)
{
	if (roce_cc_is_on(&qp->cc))
		roce_cc_on_send(&qp->cc, link_bytes(qp, pkt), now);
}

static void ask_for_ack(struct roce_qp *qp, struct roce_tx_pkt *pkt)
{
	pkt->hdr.ack_req = true;
	qp->req.since_ack_req = 0;
}

/* The controller's gaps are short as a rule, and one ACK for several packets will do. Where they
 * are not, an ACK timeout must not end before an ACK was asked for. */
static void on_controlled_send(struct roce_qp *qp, struct roce_tx_pkt *pkt, roce_ns_t now)
{
	roce_ns_t gap_ns;

	roce_cc_on_send(&qp->cc, link_bytes(qp, pkt), now);
	if (!roce_qp_is_reliable(qp) || qp->cc.pace.passed_at <= now)
		return;
	gap_ns = qp->cc.pace.passed_at - now;
	if (gap_ns > roce_retransmit_timeout_ns(qp) / 4 / qp->t->cfg.ack_interval_packets)
		ask_for_ack(qp, pkt);
}

uint32_t roce_qp_controlled_rate(struct roce_qp *qp, roce_ns_t now)
{
	return roce_cc_is_on(&qp->cc) ? roce_cc_rate(&qp->cc, now) : 0;
}

void roce_pacing_on_send(struct roce_qp *qp, struct roce_tx_pkt *pkt, roce_ns_t now)
{
	struct roce_transport *t = qp->t;
	roce_ns_t since = now;

	if (roce_cc_is_on(&qp->cc))
		on_controlled_send(qp, pkt, now);
	if (!roce_qp_is_reliable(qp))
		roce_pace_on_send(&t->pace, &t->cfg.pace, pkt->payload.length, now);
	if (!qp->rate.kbit_per_s)
		return;
	if (qp->is_rate_behind)
		since = now > qp->rate_late_ns ? now - qp->rate_late_ns : 0;
	roce_pace_on_send(&qp->pace, &qp->rate, ip_bytes(pkt), since);
	qp->is_rate_behind = qp->sq.next != qp->sq.posted;
	/* The next one waits, maybe for longer than the ACK timeout. */
	if (roce_qp_is_reliable(qp) && roce_pace_next(&qp->pace, &qp->rate) > now)
		ask_for_ack(qp, pkt);
}
