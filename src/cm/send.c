/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages on their way out. Two queues: ids whose kept message (`sent`) wants to go out, first or
 * again, and a ring of answers that are sent once and belong to no ID. When the ring is full an
 * answer is lost, as it may be on the wire: the peer asks again.
 *
 * Transaction IDs: all messages of the set-up carry that of the REQ, a DREP that of its DREQ.
 */
#include "cm/rx.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/marks.h"

#include <string.h>

static void count_message(struct roce_cm *cm, enum roce_cm_attr attr)
{
	switch (attr) {
#define CASE(name)                                         \
	case ROCE_CM_##name:                               \
		roce_cm_count(cm, ROCE_CM_STAT_TX_##name); \
		return
		CASE(REQ);
		CASE(MRA);
		CASE(REJ);
		CASE(REP);
		CASE(RTU);
		CASE(DREQ);
		CASE(DREP);
		CASE(SIDR_REQ);
		CASE(SIDR_REP);
		CASE(APR);
#undef CASE
	case ROCE_CM_LAP:
		break; /* never sent */
	}
	roce_unreachable();
}

uint64_t roce_cm_new_tid(struct roce_cm *cm, const struct roce_cm_id *id)
{
	return cm->cfg.ops->random(cm->cfg.ctx) << 32 | id->info.local_id;
}

void roce_cm_disarm(struct roce_cm *cm, struct roce_cm_id *id)
{
	roce_timer_heap_set(&cm->timers, &id->timer, ROCE_NEVER);
}

void roce_cm_arm(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t deadline)
{
	roce_timer_heap_set(&cm->timers, &id->timer, deadline);
}

static void queue(struct roce_cm *cm, struct roce_cm_id *id)
{
	id->is_mra_due = true;
	if (roce_list_is_empty(&id->tx_link))
		roce_list_add_tail(&cm->tx, &id->tx_link);
}

void roce_cm_send(struct roce_cm *cm, struct roce_cm_id *id, const struct roce_cm_message *m)
{
	roce_cm_message_encode(m, id->sent);
	id->is_repeated = false;
	queue(cm, id);
}

void roce_cm_send_again(struct roce_cm *cm, struct roce_cm_id *id)
{
	/* Still waiting to go out for the first time: it has not been seen yet. */
	if (roce_list_is_empty(&id->tx_link))
		id->is_repeated = true;
	queue(cm, id);
}

void roce_cm_send_repeating(struct roce_cm *cm, struct roce_cm_id *id,
			    const struct roce_cm_message *m, roce_ns_t now)
{
	roce_cm_send(cm, id, m);
	id->sends_left = id->info.max_retries;
	roce_cm_arm(cm, id, now + id->repeat_ns);
}

static struct roce_cm_packet *append_reply(struct roce_cm *cm, const struct roce_cm_route *route)
{
	struct roce_cm_packet *p;

	if (cm->reply_count >= cm->cfg.reply_max) {
		ROCE_MARK(send_replies_full);
		roce_cm_count(cm, ROCE_CM_STAT_REPLIES_FULL);
		return NULL;
	}
	p = &cm->replies[(cm->reply_head + cm->reply_count++) % cm->cfg.reply_max];
	p->route = *route;
	if (!p->route.hop_limit)
		p->route.hop_limit = ROCE_CM_HOP_LIMIT_DEFAULT;
	return p;
}

void roce_cm_reply(struct roce_cm *cm, const struct roce_cm_route *route,
		   const struct roce_cm_message *m)
{
	struct roce_cm_packet *p = append_reply(cm, route);

	if (p)
		roce_cm_message_encode(m, p->mad);
}

void roce_cm_send_last_words(struct roce_cm *cm, struct roce_cm_id *id)
{
	struct roce_cm_packet *p;

	if (roce_list_is_empty(&id->tx_link))
		return;
	roce_list_remove(&id->tx_link);
	p = append_reply(cm, &id->info.route);
	if (p)
		memcpy(p->mad, id->sent, ROCE_MAD_BYTES);
}

static struct roce_cm_message message_of(const struct roce_cm_id *id, enum roce_cm_attr attr)
{
	return (struct roce_cm_message){
		.attr = attr,
		.tid = id->info.tid,
		.local_id = id->info.local_id,
		.remote_id = id->info.remote_id,
	};
}

void roce_cm_send_rtu(struct roce_cm *cm, struct roce_cm_id *id)
{
	struct roce_cm_message m = message_of(id, ROCE_CM_RTU);

	roce_cm_reply(cm, &id->info.route, &m);
}

void roce_cm_send_drep(struct roce_cm *cm, struct roce_cm_id *id)
{
	struct roce_cm_message m = message_of(id, ROCE_CM_DREP);

	m.tid = id->info.dreq_tid;
	roce_cm_reply(cm, &id->info.route, &m);
}

void roce_cm_send_dreq(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now)
{
	struct roce_cm_message m = message_of(id, ROCE_CM_DREQ);

	id->info.dreq_tid = roce_cm_new_tid(cm, id);
	m.tid = id->info.dreq_tid;
	m.dreq.remote_qpn = id->info.remote_qpn;
	roce_cm_set_state(cm, id, ROCE_CM_STATE_DREQ_SENT);
	roce_cm_send_repeating(cm, id, &m, now);
}

void roce_cm_send_mra(struct roce_cm *cm, struct roce_cm_id *id, enum roce_cm_answered answered)
{
	struct roce_cm_message m = message_of(id, ROCE_CM_MRA);

	m.mra.answered = (uint8_t)answered;
	m.mra.service_timeout = ROCE_CM_MRA_SERVICE_TIMEOUT;
	roce_cm_reply(cm, &id->info.route, &m);
}

static enum roce_cm_answered answered_in(enum roce_cm_state state)
{
	switch (state) {
	case ROCE_CM_STATE_REQ_RCVD:
	case ROCE_CM_STATE_MRA_REQ_SENT:
		return ROCE_CM_ANSWERED_REQ;
	case ROCE_CM_STATE_REQ_SENT:
	case ROCE_CM_STATE_MRA_REQ_RCVD:
	case ROCE_CM_STATE_REP_SENT:
	case ROCE_CM_STATE_MRA_REP_RCVD:
		return ROCE_CM_ANSWERED_OTHER;
	case ROCE_CM_STATE_REP_RCVD:
	case ROCE_CM_STATE_MRA_REP_SENT:
		return ROCE_CM_ANSWERED_REP;
	case ROCE_CM_STATE_IDLE:
	case ROCE_CM_STATE_ESTABLISHED:
	case ROCE_CM_STATE_DREQ_SENT:
	case ROCE_CM_STATE_DREQ_RCVD:
	case ROCE_CM_STATE_TIMEWAIT:
	case ROCE_CM_STATE_SIDR_REQ_SENT:
	case ROCE_CM_STATE_SIDR_REQ_RCVD:
	case ROCE_CM_STATE_SIDR_REP_SENT:
	case ROCE_CM_STATE_COUNT:
		break; /* nothing to refuse there */
	}
	roce_unreachable();
}

void roce_cm_send_rej(struct roce_cm *cm, struct roce_cm_id *id, enum roce_cm_rej_reason reason,
		      const struct roce_cm_data *data)
{
	struct roce_cm_message m = message_of(id, ROCE_CM_REJ);

	m.rej.answered = (uint8_t)answered_in(id->info.state);
	m.rej.reason = (uint16_t)reason;
	/* The peer may not know our number yet: the GUID and its own tell it who gives up. */
	if (reason == ROCE_CM_REJ_TIMEOUT) {
		roce_put_be64(m.rej.info, id->info.local_guid);
		m.rej.info_len = 8;
	}
	if (data) {
		m.private_data = data->data;
		m.private_len = data->length;
	}
	roce_cm_disarm(cm, id);
	roce_cm_send(cm, id, &m);
}

void roce_cm_refuse(const struct roce_cm_rx *rx, enum roce_cm_rej_reason reason, const void *info,
		    uint8_t info_len)
{
	struct roce_cm_message m = {
		.attr = ROCE_CM_REJ,
		.tid = rx->m->tid,
		.local_id = rx->m->remote_id,
		.remote_id = rx->m->local_id,
	};

	m.rej.answered = rx->m->attr == ROCE_CM_REP ? ROCE_CM_ANSWERED_REP : ROCE_CM_ANSWERED_REQ;
	m.rej.reason = (uint16_t)reason;
	m.rej.info_len = info_len;
	if (info_len)
		memcpy(m.rej.info, info, info_len);
	roce_cm_reply(rx->cm, rx->route, &m);
}

bool roce_cm_tx_is_pending(const struct roce_cm *cm)
{
	return cm->reply_count || !roce_list_is_empty(&cm->tx);
}

static void hand_out(struct roce_cm *cm, struct roce_cm_packet *out,
		     const struct roce_cm_route *route, const uint8_t *mad)
{
	out->route = *route;
	memcpy(out->mad, mad, ROCE_MAD_BYTES);
	count_message(cm, (enum roce_cm_attr)roce_get_be16(mad + 16));
}

size_t roce_cm_tx(struct roce_cm *cm, struct roce_cm_packet *out, size_t max)
{
	size_t n = 0;

	while (n < max && cm->reply_count) {
		struct roce_cm_packet *p = &cm->replies[cm->reply_head];

		hand_out(cm, &out[n++], &p->route, p->mad);
		cm->reply_head = (cm->reply_head + 1) % cm->cfg.reply_max;
		cm->reply_count--;
	}
	while (n < max && !roce_list_is_empty(&cm->tx)) {
		struct roce_cm_id *id = roce_container_of(cm->tx.next, struct roce_cm_id, tx_link);

		roce_list_remove(&id->tx_link);
		if (id->is_repeated)
			roce_cm_count(cm, ROCE_CM_STAT_TX_REPEATED);
		hand_out(cm, &out[n++], &id->info.route, id->sent);
	}
	return n;
}
