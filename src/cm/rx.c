/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From bytes to the handler of a message. A message about an existing connection must name both
 * communication IDs, come from the peer's address to ours, and carry the transaction ID of its
 * exchange (and our QPN, where it has one): all of that somebody who cannot read the traffic would
 * have to guess. Each mismatch is a drop with a counter of its own; nothing is ever answered then.
 *
 * The handlers for one side's messages are in active.c, passive.c, close.c and sidr.c; here are
 * those that both sides get: REJ and MRA, and LAP, which is always refused.
 */
#include "cm/rx.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/marks.h"

bool roce_cm_is_from_peer(const struct roce_cm_rx *rx, const struct roce_cm_id *id)
{
	return roce_gid_is_equal(&rx->route->remote, &id->info.route.remote) &&
	       roce_gid_is_equal(&rx->route->local, &id->info.route.local) &&
	       rx->route->scope == id->info.route.scope;
}

enum roce_cm_verdict roce_cm_match(const struct roce_cm_rx *rx, struct roce_cm_id **out_id)
{
	struct roce_cm_id *id = roce_cm_lookup_local(rx->cm, rx->m->remote_id);

	if (!id || roce_cm_is_sidr(id))
		return ROCE_MARKED(rx_unknown_id, ROCE_CM_RX_UNKNOWN_ID);
	if (id->info.remote_id && id->info.remote_id != rx->m->local_id)
		return ROCE_MARKED(rx_wrong_remote_id, ROCE_CM_RX_WRONG_REMOTE_ID);
	if (!roce_cm_is_from_peer(rx, id))
		return ROCE_MARKED(rx_wrong_address, ROCE_CM_RX_WRONG_ADDRESS);
	*out_id = id;
	return ROCE_CM_RX_ACCEPTED;
}

enum roce_cm_verdict roce_cm_match_setup(const struct roce_cm_rx *rx, struct roce_cm_id **out_id)
{
	enum roce_cm_verdict verdict = roce_cm_match(rx, out_id);

	if (verdict != ROCE_CM_RX_ACCEPTED)
		return verdict;
	if ((*out_id)->info.tid != rx->m->tid)
		return ROCE_MARKED(rx_wrong_setup_tid, ROCE_CM_RX_WRONG_TID);
	return ROCE_CM_RX_ACCEPTED;
}

/* ---- MRA: the peer needs more time ---- */

static void wait_longer(const struct roce_cm_rx *rx, struct roce_cm_id *id)
{
	roce_ns_t wait =
		roce_cm_time_ns(rx->m->mra.service_timeout) + roce_cm_time_ns(id->info.ack_timeout);

	if (wait > ROCE_CM_REPEAT_NS_MAX)
		wait = ROCE_CM_REPEAT_NS_MAX;
	id->is_mra_due = false;
	roce_cm_arm(rx->cm, id, rx->now + wait);
}

static enum roce_cm_verdict on_mra_of_req(const struct roce_cm_rx *rx, struct roce_cm_id *id)
{
	if (id->info.state != ROCE_CM_STATE_REQ_SENT &&
	    id->info.state != ROCE_CM_STATE_MRA_REQ_RCVD)
		return ROCE_MARKED(rx_mra_of_req_state, ROCE_CM_RX_WRONG_STATE);
	if (!rx->m->local_id)
		return ROCE_MARKED(rx_mra_no_id, ROCE_CM_RX_NO_COMM_ID);
	if (!id->is_mra_due)
		return ROCE_MARKED(rx_mra_of_req_again, ROCE_CM_RX_DUPLICATE);
	id->info.remote_id = rx->m->local_id;
	roce_cm_set_state(rx->cm, id, ROCE_CM_STATE_MRA_REQ_RCVD);
	wait_longer(rx, id);
	return ROCE_CM_RX_ACCEPTED;
}

static enum roce_cm_verdict on_mra_of_rep(const struct roce_cm_rx *rx, struct roce_cm_id *id)
{
	if (id->info.state != ROCE_CM_STATE_REP_SENT &&
	    id->info.state != ROCE_CM_STATE_MRA_REP_RCVD)
		return ROCE_MARKED(rx_mra_of_rep_state, ROCE_CM_RX_WRONG_STATE);
	if (!id->is_mra_due)
		return ROCE_MARKED(rx_mra_of_rep_again, ROCE_CM_RX_DUPLICATE);
	roce_cm_set_state(rx->cm, id, ROCE_CM_STATE_MRA_REP_RCVD);
	wait_longer(rx, id);
	return ROCE_CM_RX_ACCEPTED;
}

static enum roce_cm_verdict on_mra(const struct roce_cm_rx *rx)
{
	struct roce_cm_id *id;
	enum roce_cm_verdict verdict = roce_cm_match_setup(rx, &id);

	if (verdict != ROCE_CM_RX_ACCEPTED)
		return verdict;
	if (rx->m->mra.answered == ROCE_CM_ANSWERED_REQ)
		return on_mra_of_req(rx, id);
	if (rx->m->mra.answered == ROCE_CM_ANSWERED_REP)
		return on_mra_of_rep(rx, id);
	return ROCE_MARKED(rx_mra_of_lap, ROCE_CM_RX_WRONG_STATE);
}

/* ---- REJ ---- */

/* A side that gives up before it knew our number says who it is by its GUID and its own number. */
static enum roce_cm_verdict match_by_guid(const struct roce_cm_rx *rx, struct roce_cm_id **out_id)
{
	struct roce_cm_info key = {.remote_id = rx->m->local_id, .route = *rx->route};
	struct roce_cm_id *id;

	if (rx->m->rej.info_len < 8)
		return ROCE_MARKED(rx_rej_no_guid, ROCE_CM_RX_UNKNOWN_ID);
	key.remote_guid = roce_get_be64(rx->m->rej.info);
	id = roce_cm_lookup_peer(rx->cm, &key, false);
	if (!id)
		return ROCE_MARKED(rx_rej_unknown_peer, ROCE_CM_RX_UNKNOWN_ID);
	if (!roce_cm_is_from_peer(rx, id))
		return ROCE_MARKED(rx_rej_wrong_address, ROCE_CM_RX_WRONG_ADDRESS);
	if (id->info.tid != rx->m->tid)
		return ROCE_MARKED(rx_rej_wrong_tid, ROCE_CM_RX_WRONG_TID);
	*out_id = id;
	return ROCE_CM_RX_ACCEPTED;
}

static void end_by_rej(const struct roce_cm_rx *rx, struct roce_cm_id *id, bool waits)
{
	roce_cm_show(id, rx->m, 0);
	roce_cm_disarm(rx->cm, id);
	roce_list_remove(&id->tx_link);
	if (waits) {
		roce_cm_enter_timewait(rx->cm, id, rx->now);
	} else {
		roce_cm_set_state(rx->cm, id, ROCE_CM_STATE_IDLE);
		roce_cm_leave_qpn(rx->cm, id);
	}
}

static enum roce_cm_verdict on_rej(const struct roce_cm_rx *rx)
{
	bool is_stale = rx->m->rej.reason == ROCE_CM_REJ_STALE;
	/* Reason 0 does not exist, and would look like success. */
	int status = rx->m->rej.reason ? rx->m->rej.reason : ROCE_CM_REJ_CONSUMER;
	enum roce_cm_verdict verdict;
	struct roce_cm_id *id;

	if (!rx->m->remote_id && rx->m->rej.reason == ROCE_CM_REJ_TIMEOUT)
		verdict = match_by_guid(rx, &id);
	else
		verdict = roce_cm_match_setup(rx, &id);
	if (verdict != ROCE_CM_RX_ACCEPTED)
		return verdict;
	switch (id->info.state) {
	case ROCE_CM_STATE_REQ_SENT:
	case ROCE_CM_STATE_MRA_REQ_RCVD:
	case ROCE_CM_STATE_REP_SENT:
	case ROCE_CM_STATE_MRA_REP_RCVD:
		end_by_rej(rx, id, is_stale);
		roce_cm_report(rx->cm, id, ROCE_CM_REPORT_REJECTED, status);
		return ROCE_CM_RX_ACCEPTED;
	case ROCE_CM_STATE_REQ_RCVD:
	case ROCE_CM_STATE_MRA_REQ_SENT:
		/* Not accepted yet: the program finds out when it tries to. */
		roce_cm_set_state(rx->cm, id, ROCE_CM_STATE_IDLE);
		roce_cm_leave_qpn(rx->cm, id);
		return ROCE_CM_RX_ACCEPTED;
	case ROCE_CM_STATE_ESTABLISHED:
		if (roce_cm_end_probe(rx->cm, id)) {
			/* The peer does not know the connection that we asked about. */
			roce_cm_count(rx->cm, ROCE_CM_STAT_STALE_CLOSED);
			end_by_rej(rx, id, true);
			roce_cm_report(rx->cm, id, ROCE_CM_REPORT_DISCONNECTED, 0);
			return ROCE_MARKED(rx_rej_to_probe, ROCE_CM_RX_ACCEPTED);
		}
		end_by_rej(rx, id, true);
		roce_cm_report(rx->cm, id, ROCE_CM_REPORT_REJECTED, status);
		return ROCE_CM_RX_ACCEPTED;
	case ROCE_CM_STATE_REP_RCVD:
	case ROCE_CM_STATE_MRA_REP_SENT:
		end_by_rej(rx, id, true);
		roce_cm_report(rx->cm, id, ROCE_CM_REPORT_REJECTED, status);
		return ROCE_CM_RX_ACCEPTED;
	case ROCE_CM_STATE_DREQ_SENT:
		end_by_rej(rx, id, true);
		roce_cm_report(rx->cm, id, ROCE_CM_REPORT_DISCONNECTED, 0);
		return ROCE_CM_RX_ACCEPTED;
	case ROCE_CM_STATE_IDLE:
	case ROCE_CM_STATE_DREQ_RCVD:
	case ROCE_CM_STATE_TIMEWAIT:
		return ROCE_MARKED(rx_rej_state, ROCE_CM_RX_WRONG_STATE);
	case ROCE_CM_STATE_SIDR_REQ_SENT:
	case ROCE_CM_STATE_SIDR_REQ_RCVD:
	case ROCE_CM_STATE_SIDR_REP_SENT:
	case ROCE_CM_STATE_COUNT:
		break; /* the match lets none of them through */
	}
	roce_unreachable();
}

/* ---- LAP, APR: alternate paths are not offered ---- */

static enum roce_cm_verdict on_lap(const struct roce_cm_rx *rx)
{
	struct roce_cm_message apr = {
		.attr = ROCE_CM_APR,
		.tid = rx->m->tid,
		.local_id = rx->m->remote_id,
		.remote_id = rx->m->local_id,
	};
	struct roce_cm_id *id;
	enum roce_cm_verdict verdict = roce_cm_match(rx, &id);

	if (verdict != ROCE_CM_RX_ACCEPTED)
		return verdict;
	if (rx->m->lap.remote_qpn.v != id->info.local_qpn.v)
		return ROCE_MARKED(rx_lap_wrong_qpn, ROCE_CM_RX_WRONG_QPN);
	if (id->info.state != ROCE_CM_STATE_ESTABLISHED)
		return ROCE_MARKED(rx_lap_state, ROCE_CM_RX_WRONG_STATE);
	apr.apr.status = ROCE_CM_APR_UNSUPPORTED;
	roce_cm_reply(rx->cm, &id->info.route, &apr);
	return ROCE_MARKED(rx_lap_refused, ROCE_CM_RX_UNSUPPORTED);
}

static enum roce_cm_verdict on_apr(const struct roce_cm_rx *rx)
{
	struct roce_cm_id *id;
	enum roce_cm_verdict verdict = roce_cm_match(rx, &id);

	if (verdict != ROCE_CM_RX_ACCEPTED)
		return verdict;
	return ROCE_MARKED(rx_apr_unasked, ROCE_CM_RX_WRONG_STATE);
}

/* ---- all ---- */

static enum roce_cm_verdict verdict_of(enum roce_cm_decode_verdict v)
{
	switch (v) {
	case ROCE_CM_DECODE_OK:
		return ROCE_CM_RX_ACCEPTED;
	case ROCE_CM_DECODE_BAD_LENGTH:
		return ROCE_MARKED(rx_bad_length, ROCE_CM_RX_BAD_LENGTH);
	case ROCE_CM_DECODE_BAD_BASE_VERSION:
		return ROCE_MARKED(rx_bad_base_version, ROCE_CM_RX_BAD_BASE_VERSION);
	case ROCE_CM_DECODE_BAD_CLASS:
		return ROCE_MARKED(rx_bad_class, ROCE_CM_RX_BAD_CLASS);
	case ROCE_CM_DECODE_BAD_CLASS_VERSION:
		return ROCE_MARKED(rx_bad_class_version, ROCE_CM_RX_BAD_CLASS_VERSION);
	case ROCE_CM_DECODE_BAD_METHOD:
		return ROCE_MARKED(rx_bad_method, ROCE_CM_RX_BAD_METHOD);
	case ROCE_CM_DECODE_BAD_ATTRIBUTE:
		return ROCE_MARKED(rx_bad_attribute, ROCE_CM_RX_BAD_ATTRIBUTE);
	case ROCE_CM_DECODE_COUNT:
		break;
	}
	roce_unreachable();
}

static enum roce_cm_verdict handle(const struct roce_cm_rx *rx)
{
	switch (rx->m->attr) {
	case ROCE_CM_REQ:
		return roce_cm_on_req(rx);
	case ROCE_CM_MRA:
		return on_mra(rx);
	case ROCE_CM_REJ:
		return on_rej(rx);
	case ROCE_CM_REP:
		return roce_cm_on_rep(rx);
	case ROCE_CM_RTU:
		return roce_cm_on_rtu(rx);
	case ROCE_CM_DREQ:
		return roce_cm_on_dreq(rx);
	case ROCE_CM_DREP:
		return roce_cm_on_drep(rx);
	case ROCE_CM_SIDR_REQ:
		return roce_cm_on_sidr_req(rx);
	case ROCE_CM_SIDR_REP:
		return roce_cm_on_sidr_rep(rx);
	case ROCE_CM_LAP:
		return on_lap(rx);
	case ROCE_CM_APR:
		return on_apr(rx);
	}
	roce_unreachable();
}

enum roce_cm_verdict roce_cm_rx(struct roce_cm *cm, const struct roce_cm_route *route,
				const uint8_t *mad, size_t len, roce_ns_t now)
{
	struct roce_cm_message m;
	const struct roce_cm_rx rx = {.cm = cm, .route = route, .m = &m, .now = now};
	enum roce_cm_verdict verdict = verdict_of(roce_cm_message_decode(mad, len, &m));

	ROCE_ASSERT(roce_list_is_empty(&cm->reports));
	if (verdict == ROCE_CM_RX_ACCEPTED)
		verdict = roce_cm_early_keep(&rx, mad) ? ROCE_CM_RX_EARLY : handle(&rx);
	roce_cm_count(cm, verdict);
	return verdict;
}

void roce_cm_rx_again(struct roce_cm *cm, const struct roce_cm_route *route, const uint8_t *mad,
		      roce_ns_t now)
{
	struct roce_cm_message m;
	const struct roce_cm_rx rx = {.cm = cm, .route = route, .m = &m, .now = now};

	if (roce_cm_message_decode(mad, ROCE_MAD_BYTES, &m) == ROCE_CM_DECODE_OK)
		roce_cm_count(cm, handle(&rx));
}

bool roce_cm_would_deny(struct roce_cm *cm, const struct roce_cm_route *route, const uint8_t *mad,
			size_t len)
{
	struct roce_cm_message m;

	if (roce_cm_message_decode(mad, len, &m) != ROCE_CM_DECODE_OK)
		return false;
	if (m.attr == ROCE_CM_REQ)
		return !roce_cm_lookup_listener(cm, m.req.service_id, route);
	if (m.attr == ROCE_CM_SIDR_REQ)
		return !roce_cm_lookup_listener(cm, m.sidr_req.service_id, route);
	return !roce_cm_lookup_local(cm, m.remote_id);
}
