/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How connections end: REJ by us, DREQ and DREP, TIMEWAIT, and what is left when the owner gives an
 * ID up. TIMEWAIT proper keeps the peer from using the same queue pair for another connection while
 * packets of this one may be under way. After it a passive ID is kept some time longer without that
 * claim, only to tell a REQ that was delayed from a new one; those make room for others.
 *
 * A REQ that uses the queue pair of a live connection says that this one is over at the peer's. But
 * anybody can send such a REQ in the peer's name, so the peer is asked first: the REP goes out once
 * more, and who still has the connection answers with an RTU.
 *
 * A DREQ is repeated until it is answered even when nobody owns the ID any more: else one lost
 * packet would leave the peer with a connection that nobody has.
 */
#include "cm/rx.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/marks.h"

#include <errno.h>

bool roce_cm_has_said(const struct roce_cm_id *id, enum roce_cm_attr attr)
{
	return roce_get_be16(id->sent + 16) == attr;
}

/* ---- TIMEWAIT and what comes after ---- */

void roce_cm_enter_timewait(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now)
{
	roce_ns_t wait = roce_cm_time_ns(id->info.ack_timeout);

	if (wait < ROCE_CM_TIMEWAIT_NS_MIN)
		wait = ROCE_CM_TIMEWAIT_NS_MIN;
	if (wait > ROCE_CM_TIMEWAIT_NS_MAX)
		wait = ROCE_CM_TIMEWAIT_NS_MAX;
	roce_cm_set_state(cm, id, ROCE_CM_STATE_TIMEWAIT);
	roce_cm_arm(cm, id, now + wait);
}

void roce_cm_retire(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now)
{
	if (id->info.is_active || !id->is_in_peer_table || !cm->cfg.held_max) {
		roce_cm_id_free(cm, id);
		return;
	}
	if (cm->held_count >= cm->cfg.held_max) {
		ROCE_MARK(close_held_full);
		roce_cm_id_free(cm, roce_container_of(cm->held.next, struct roce_cm_id, held_link));
	}
	roce_cm_leave_qpn(cm, id);
	roce_cm_set_state(
		cm, id, roce_cm_is_sidr(id) ? ROCE_CM_STATE_SIDR_REP_SENT : ROCE_CM_STATE_TIMEWAIT);
	/* Only a REJ after a REP has to be said again: a peer that missed it does not ask. */
	if (!roce_cm_has_said(id, ROCE_CM_REJ))
		id->sends_left = 0;
	else if (id->sends_left > ROCE_CM_REJ_REPEATS)
		id->sends_left = ROCE_CM_REJ_REPEATS;
	roce_cm_arm(cm, id, now + (id->sends_left ? id->repeat_ns : ROCE_CM_HELD_NS));
	roce_list_add_tail(&cm->held, &id->held_link);
	cm->held_count++;
}

void roce_cm_hold_longer(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now)
{
	if (roce_list_is_empty(&id->held_link) || id->sends_left)
		return;
	roce_list_remove(&id->held_link);
	roce_list_add_tail(&cm->held, &id->held_link);
	roce_cm_arm(cm, id, now + ROCE_CM_HELD_NS);
}

void roce_cm_on_timewait_end(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now)
{
	bool is_held = !roce_list_is_empty(&id->held_link);

	if (is_held && id->sends_left) {
		ROCE_MARK(close_rej_repeated);
		id->sends_left--;
		roce_cm_send_again(cm, id);
		roce_cm_arm(cm, id, now + (id->sends_left ? id->repeat_ns : ROCE_CM_HELD_NS));
		return;
	}
	roce_cm_disarm(cm, id);
	if (is_held) {
		ROCE_MARK(close_held_end);
		roce_cm_id_free(cm, id);
		return;
	}
	roce_cm_leave_qpn(cm, id);
	if (!id->owner) {
		roce_cm_retire(cm, id, now);
		return;
	}
	roce_cm_set_state(cm, id, ROCE_CM_STATE_IDLE);
	if (id->is_disconnect_reported)
		roce_cm_report(cm, id, ROCE_CM_REPORT_TIMEWAIT_EXIT, 0);
}

/* ---- DREQ ---- */

int roce_cm_disconnect(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now)
{
	if (id->info.state == ROCE_CM_STATE_ESTABLISHED) {
		roce_cm_send_dreq(cm, id, now);
		return 0;
	}
	if (id->info.state == ROCE_CM_STATE_DREQ_RCVD) {
		roce_cm_send_drep(cm, id);
		roce_cm_enter_timewait(cm, id, now);
		return 0;
	}
	return -EINVAL;
}

void roce_cm_close_stale(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now)
{
	if (id->info.state != ROCE_CM_STATE_ESTABLISHED)
		return;
	roce_cm_count(cm, ROCE_CM_STAT_STALE_CLOSED);
	roce_cm_send_dreq(cm, id, now);
}

void roce_cm_suspect_stale(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now)
{
	if (id->info.state != ROCE_CM_STATE_ESTABLISHED || id->is_probing ||
	    !roce_cm_has_said(id, ROCE_CM_REP))
		return;
	id->is_probing = true;
	id->sends_left = ROCE_CM_PROBE_REPEATS;
	roce_cm_send_again(cm, id);
	roce_cm_arm(cm, id, now + ROCE_CM_PROBE_NS);
}

bool roce_cm_end_probe(struct roce_cm *cm, struct roce_cm_id *id)
{
	if (!id->is_probing || id->info.state != ROCE_CM_STATE_ESTABLISHED)
		return false;
	id->is_probing = false;
	roce_cm_disarm(cm, id);
	roce_list_remove(&id->tx_link);
	return true;
}

/* Also for a connection that we do not know: else the peer would go on asking. */
static void answer_unknown_dreq(const struct roce_cm_rx *rx)
{
	const struct roce_cm_message drep = {
		.attr = ROCE_CM_DREP,
		.tid = rx->m->tid,
		.local_id = rx->m->remote_id,
		.remote_id = rx->m->local_id,
	};

	roce_cm_reply(rx->cm, rx->route, &drep);
}

enum roce_cm_verdict roce_cm_on_dreq(const struct roce_cm_rx *rx)
{
	struct roce_cm_id *id;
	enum roce_cm_verdict verdict = roce_cm_match(rx, &id);

	if (verdict == ROCE_CM_RX_UNKNOWN_ID)
		answer_unknown_dreq(rx);
	if (verdict != ROCE_CM_RX_ACCEPTED)
		return verdict;
	if (!id->info.remote_id)
		return ROCE_MARKED(close_dreq_early, ROCE_CM_RX_WRONG_STATE);
	if (rx->m->dreq.remote_qpn.v != id->info.local_qpn.v)
		return ROCE_MARKED(close_dreq_wrong_qpn, ROCE_CM_RX_WRONG_QPN);
	switch (id->info.state) {
	case ROCE_CM_STATE_REP_SENT:
	case ROCE_CM_STATE_MRA_REP_RCVD:
	case ROCE_CM_STATE_ESTABLISHED:
		id->is_probing = false;
		roce_cm_disarm(rx->cm, id);
		roce_list_remove(&id->tx_link);
		id->info.dreq_tid = rx->m->tid;
		roce_cm_set_state(rx->cm, id, ROCE_CM_STATE_DREQ_RCVD);
		roce_cm_report(rx->cm, id, ROCE_CM_REPORT_DISCONNECTED, 0);
		return ROCE_CM_RX_ACCEPTED;
	case ROCE_CM_STATE_DREQ_SENT:
		/* Both want to: ours needs no answer any more. */
		roce_cm_disarm(rx->cm, id);
		roce_list_remove(&id->tx_link);
		id->info.dreq_tid = rx->m->tid;
		roce_cm_send_drep(rx->cm, id);
		roce_cm_enter_timewait(rx->cm, id, rx->now);
		roce_cm_report(rx->cm, id, ROCE_CM_REPORT_DISCONNECTED, 0);
		return ROCE_MARKED(close_dreq_crossing, ROCE_CM_RX_ACCEPTED);
	case ROCE_CM_STATE_IDLE:
	case ROCE_CM_STATE_TIMEWAIT:
		answer_unknown_dreq(rx);
		return ROCE_MARKED(close_dreq_after_end, ROCE_CM_RX_DUPLICATE);
	case ROCE_CM_STATE_DREQ_RCVD:
		return ROCE_MARKED(close_dreq_again, ROCE_CM_RX_DUPLICATE);
	case ROCE_CM_STATE_REQ_SENT:
	case ROCE_CM_STATE_MRA_REQ_RCVD:
	case ROCE_CM_STATE_REP_RCVD:
	case ROCE_CM_STATE_MRA_REP_SENT:
	case ROCE_CM_STATE_REQ_RCVD:
	case ROCE_CM_STATE_MRA_REQ_SENT:
		return ROCE_MARKED(close_dreq_state, ROCE_CM_RX_WRONG_STATE);
	case ROCE_CM_STATE_SIDR_REQ_SENT:
	case ROCE_CM_STATE_SIDR_REQ_RCVD:
	case ROCE_CM_STATE_SIDR_REP_SENT:
	case ROCE_CM_STATE_COUNT:
		break; /* the match lets none of them through */
	}
	roce_unreachable();
}

enum roce_cm_verdict roce_cm_on_drep(const struct roce_cm_rx *rx)
{
	struct roce_cm_id *id;
	enum roce_cm_verdict verdict = roce_cm_match(rx, &id);

	if (verdict != ROCE_CM_RX_ACCEPTED)
		return verdict;
	if (id->info.state == ROCE_CM_STATE_TIMEWAIT || id->info.state == ROCE_CM_STATE_IDLE)
		return ROCE_MARKED(close_drep_again, ROCE_CM_RX_DUPLICATE);
	if (id->info.state != ROCE_CM_STATE_DREQ_SENT)
		return ROCE_MARKED(close_drep_state, ROCE_CM_RX_WRONG_STATE);
	if (rx->m->tid != id->info.dreq_tid)
		return ROCE_MARKED(close_drep_wrong_tid, ROCE_CM_RX_WRONG_TID);
	roce_list_remove(&id->tx_link);
	roce_cm_enter_timewait(rx->cm, id, rx->now);
	roce_cm_report(rx->cm, id, ROCE_CM_REPORT_DISCONNECTED, 0);
	return ROCE_CM_RX_ACCEPTED;
}

/* ---- refusing and giving up ---- */

static bool can_refuse(enum roce_cm_state state)
{
	switch (state) {
	case ROCE_CM_STATE_REQ_SENT:
	case ROCE_CM_STATE_MRA_REQ_RCVD:
	case ROCE_CM_STATE_REP_RCVD:
	case ROCE_CM_STATE_MRA_REP_SENT:
	case ROCE_CM_STATE_REQ_RCVD:
	case ROCE_CM_STATE_MRA_REQ_SENT:
	case ROCE_CM_STATE_REP_SENT:
	case ROCE_CM_STATE_MRA_REP_RCVD:
		return true;
	case ROCE_CM_STATE_IDLE:
	case ROCE_CM_STATE_ESTABLISHED:
	case ROCE_CM_STATE_DREQ_SENT:
	case ROCE_CM_STATE_DREQ_RCVD:
	case ROCE_CM_STATE_TIMEWAIT:
	case ROCE_CM_STATE_SIDR_REQ_SENT:
	case ROCE_CM_STATE_SIDR_REQ_RCVD:
	case ROCE_CM_STATE_SIDR_REP_SENT:
	case ROCE_CM_STATE_COUNT:
		return false;
	}
	roce_unreachable();
}

int roce_cm_reject(struct roce_cm *cm, struct roce_cm_id *id, enum roce_cm_rej_reason reason,
		   const struct roce_cm_data *data, roce_ns_t now)
{
	static const struct roce_cm_data none = {.length = 0};
	static const struct roce_cm_params no_params = {.srq = false};

	if (!data)
		data = &none;
	if (roce_cm_is_sidr(id))
		return roce_cm_sidr_answer(cm, id, ROCE_CM_SIDR_REJECTED, &no_params, data, now);
	if (data->length > ROCE_CM_REJ_PRIVATE_BYTES || !can_refuse(id->info.state))
		return -EINVAL;
	roce_cm_leave_listener(id);
	roce_cm_send_rej(cm, id, reason, data);
	roce_cm_set_state(cm, id, ROCE_CM_STATE_IDLE);
	roce_cm_leave_qpn(cm, id);
	return 0;
}

void roce_cm_destroy(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now)
{
	roce_cm_leave_listener(id);
	roce_cm_id_leave(id);
	switch (id->info.state) {
	case ROCE_CM_STATE_REQ_SENT:
	case ROCE_CM_STATE_MRA_REQ_RCVD:
		roce_cm_send_rej(cm, id, ROCE_CM_REJ_TIMEOUT, NULL);
		roce_cm_id_free(cm, id);
		return;
	case ROCE_CM_STATE_REP_RCVD:
	case ROCE_CM_STATE_MRA_REP_SENT:
		roce_cm_send_rej(cm, id, ROCE_CM_REJ_CONSUMER, NULL);
		roce_cm_enter_timewait(cm, id, now);
		return;
	case ROCE_CM_STATE_REQ_RCVD:
	case ROCE_CM_STATE_MRA_REQ_SENT:
	case ROCE_CM_STATE_REP_SENT:
	case ROCE_CM_STATE_MRA_REP_RCVD:
		roce_cm_send_rej(cm, id, ROCE_CM_REJ_CONSUMER, NULL);
		roce_cm_retire(cm, id, now);
		return;
	case ROCE_CM_STATE_ESTABLISHED:
		roce_cm_send_dreq(cm, id, now);
		return;
	case ROCE_CM_STATE_DREQ_RCVD:
		roce_cm_send_drep(cm, id);
		roce_cm_enter_timewait(cm, id, now);
		return;
	case ROCE_CM_STATE_SIDR_REQ_RCVD:
		roce_cm_sidr_refuse(cm, id);
		roce_cm_retire(cm, id, now);
		return;
	case ROCE_CM_STATE_DREQ_SENT:
	case ROCE_CM_STATE_TIMEWAIT:
		return; /* goes on by itself */
	case ROCE_CM_STATE_IDLE:
	case ROCE_CM_STATE_SIDR_REQ_SENT:
	case ROCE_CM_STATE_SIDR_REP_SENT:
		roce_cm_retire(cm, id, now);
		return;
	case ROCE_CM_STATE_COUNT:
		break;
	}
	roce_unreachable();
}

/* ---- after a restart ---- */

/*
 * A REP was sent, and the RTU may be lost with the CM that waited for it. The REP is not known any
 * more, so the connection cannot be had; but the peer may believe that it has it, and would never
 * hear otherwise.
 */
static bool is_answered(enum roce_cm_state state)
{
	return state == ROCE_CM_STATE_REP_SENT || state == ROCE_CM_STATE_MRA_REP_RCVD;
}

bool roce_cm_can_restore(enum roce_cm_state state)
{
	return is_answered(state) || state == ROCE_CM_STATE_ESTABLISHED ||
	       state == ROCE_CM_STATE_DREQ_SENT || state == ROCE_CM_STATE_DREQ_RCVD;
}

int roce_cm_restore(struct roce_cm *cm, struct roce_cm_owner *owner, void *user,
		    const struct roce_cm_info *info, roce_ns_t now, struct roce_cm_id **out_id)
{
	struct roce_cm_id *id;

	if (!roce_cm_can_restore(info->state) || info->qp_type == ROCE_CM_QP_UD ||
	    !info->local_id || !info->remote_id || !info->local_guid)
		return -EINVAL;
	if (roce_cm_lookup_local(cm, info->local_id) || roce_cm_lookup_peer(cm, info, false) ||
	    roce_cm_lookup_qpn(cm, info))
		return -EEXIST;
	if (owner->id_count >= cm->cfg.owner_id_max) {
		roce_cm_count(cm, ROCE_CM_STAT_OWNER_FULL);
		return -ENOMEM;
	}
	id = roce_cm_id_alloc_as(cm, info->local_id);
	if (!id)
		return -ENOMEM;
	id->info = *info;
	id->repeat_ns = roce_cm_repeat_ns(info);
	roce_cm_enter_peer(cm, id);
	roce_cm_enter_qpn(cm, id);
	roce_cm_id_join(id, owner, user);
	roce_cm_count(cm, ROCE_CM_STAT_RESTORED);
	if (info->state == ROCE_CM_STATE_DREQ_SENT || is_answered(info->state)) {
		id->info.state = ROCE_CM_STATE_ESTABLISHED;
		roce_cm_send_dreq(cm, id, now);
	}
	/* The report was made before; so TIMEWAIT_EXIT is due. */
	id->is_disconnect_reported = info->state == ROCE_CM_STATE_DREQ_RCVD;
	*out_id = id;
	return 0;
}
