/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The side that connects: REQ out, REP in, RTU out. The REQ is repeated until an answer comes; an
 * MRA buys the peer time. After the REP the program has its queue pair to set up, and
 * roce_cm_establish() says that it has; a REP repeated meanwhile is answered with an MRA.
 */
#include "cm/rx.h"

#include "base/assert.h"
#include "base/marks.h"

#include <errno.h>

uint8_t roce_cm_ack_timeout(uint8_t packet_lifetime, uint8_t ack_delay)
{
	unsigned t = packet_lifetime + 1u;

	if (t >= ack_delay)
		t += ack_delay >= t - 1 ? 1 : 0;
	else
		t = ack_delay + (t >= ack_delay - 1u ? 1u : 0u);
	return (uint8_t)(t < 31 ? t : 31);
}

static roce_ns_t clamp_repeat(roce_ns_t ns)
{
	if (ns < ROCE_CM_REPEAT_NS_MIN)
		return ROCE_CM_REPEAT_NS_MIN;
	return ns < ROCE_CM_REPEAT_NS_MAX ? ns : ROCE_CM_REPEAT_NS_MAX;
}

roce_ns_t roce_cm_repeat_ns(const struct roce_cm_info *info)
{
	roce_ns_t ns = roce_cm_time_ns(info->response_timeout);

	if (info->is_active && info->qp_type != ROCE_CM_QP_UD)
		ns += 2 * roce_cm_time_ns(info->packet_lifetime);
	return clamp_repeat(ns);
}

/* ---- REQ ---- */

static void fill_transport(struct roce_cm_req *req, const struct roce_cm_connect *c)
{
	const struct roce_cm_params *p = &c->params;

	req->initiator_depth = p->initiator_depth;
	req->flow_control = p->flow_control;
	switch (c->qp_type) {
	case ROCE_CM_QP_UC:
		req->transport = ROCE_CM_SERVICE_UC;
		break;
	case ROCE_CM_QP_XRC_SEND:
		/* It receives nothing, and these fields say so. */
		req->transport = ROCE_CM_SERVICE_EXTENDED;
		req->extended_transport = ROCE_CM_EXTENDED_XRC;
		return;
	case ROCE_CM_QP_ANY:
	case ROCE_CM_QP_RC:
	case ROCE_CM_QP_UD:
	case ROCE_CM_QP_XRC_RECV:
		req->transport = ROCE_CM_SERVICE_RC;
		break;
	}
	req->responder_resources = p->responder_resources;
	req->retry_count = p->retry_count;
	req->rnr_retry_count = p->rnr_retry_count;
	req->srq = p->srq;
}

static void fill_path(struct roce_cm_path_record *r, const struct roce_cm_connect *c)
{
	r->local_lid = ROCE_CM_LID_ROUTED;
	r->remote_lid = ROCE_CM_LID_ROUTED;
	r->local_gid = c->route.local;
	r->remote_gid = c->route.remote;
	r->flow_label = c->route.flow_label;
	r->rate = c->rate;
	r->traffic_class = c->route.traffic_class;
	r->hop_limit = c->route.hop_limit;
	r->sl = c->route.sl;
	r->subnet_local = c->route.hop_limit <= 1;
	r->ack_timeout = c->ack_timeout;
	if (r->subnet_local) {
		r->local_lid = 0;
		r->remote_lid = 0;
	}
}

uint16_t roce_cm_fill_ip_private(uint8_t *out, const struct roce_cm_route *route, uint16_t src_port,
				 const struct roce_cm_data *data)
{
	const struct roce_cm_ip_header h = {
		.ip_version = roce_gid_is_v4(&route->local) ? 4 : 6,
		.src_port = src_port,
		.src = route->local,
		.dst = route->remote,
	};

	roce_cm_ip_header_encode(&h, out);
	if (data->length)
		memcpy(out + ROCE_CM_IP_HEADER_BYTES, data->data, data->length);
	return (uint16_t)(ROCE_CM_IP_HEADER_BYTES + data->length);
}

static void send_req(struct roce_cm *cm, struct roce_cm_id *id, const struct roce_cm_connect *c,
		     roce_ns_t now)
{
	uint8_t data[ROCE_CM_REQ_PRIVATE_BYTES];
	struct roce_cm_message m = {
		.attr = ROCE_CM_REQ,
		.tid = id->info.tid,
		.attribute_modifier = c->params.vendor_options,
		.local_id = id->info.local_id,
		.private_data = data,
		.private_len = roce_cm_fill_ip_private(data, &c->route, c->src_port, &c->data),
		.req = {.vendor_id = c->params.vendor_id,
			.service_id = roce_cm_service_id(c->port_space, c->dst_port),
			.ca_guid = c->params.ca_guid,
			.qpn = c->params.qpn,
			.remote_response_timeout = c->response_timeout,
			.starting_psn = c->params.starting_psn,
			.local_response_timeout = c->response_timeout,
			.pkey = ROCE_CM_PKEY_DEFAULT,
			.mtu = c->mtu,
			.max_cm_retries = c->max_retries},
	};

	fill_transport(&m.req, c);
	fill_path(&m.req.primary, c);
	roce_cm_set_state(cm, id, ROCE_CM_STATE_REQ_SENT);
	roce_cm_send_repeating(cm, id, &m, now);
}

static bool is_one_family(const struct roce_cm_route *route)
{
	return roce_gid_is_v4(&route->local) == roce_gid_is_v4(&route->remote);
}

int roce_cm_new_id(struct roce_cm *cm, struct roce_cm_owner *owner, void *user,
		   struct roce_cm_id **out_id)
{
	enum roce_cm_verdict room = roce_cm_check_room(cm, owner);
	struct roce_cm_id *id;

	if (room != ROCE_CM_RX_ACCEPTED) {
		roce_cm_count(cm, room == ROCE_CM_RX_OWNER_FULL ? ROCE_CM_STAT_OWNER_FULL
								: ROCE_CM_STAT_HALF_OPEN_FULL);
		return -ENOMEM;
	}
	id = roce_cm_id_alloc(cm);
	if (!id)
		return -ENOMEM;
	roce_cm_id_join(id, owner, user);
	*out_id = id;
	return 0;
}

int roce_cm_connect(struct roce_cm *cm, const struct roce_cm_connect *c, roce_ns_t now,
		    struct roce_cm_id **out_id)
{
	struct roce_cm_id *id;
	int error;

	if (c->data.length > ROCE_CM_IP_REQ_PRIVATE_BYTES || !is_one_family(&c->route) ||
	    c->qp_type == ROCE_CM_QP_UD || c->qp_type == ROCE_CM_QP_ANY || !c->params.ca_guid)
		return -EINVAL;
	error = roce_cm_new_id(cm, c->owner, c->user, &id);
	if (error)
		return error;
	id->info.qp_type = c->qp_type;
	id->info.is_active = true;
	id->info.tid = roce_cm_new_tid(cm, id);
	id->info.local_qpn = c->params.qpn;
	id->info.local_guid = c->params.ca_guid;
	id->info.port_space = c->port_space;
	id->info.src_port = c->src_port;
	id->info.dst_port = c->dst_port;
	id->info.route = c->route;
	id->info.mtu = c->mtu;
	id->info.rate = c->rate;
	id->info.ack_timeout = c->ack_timeout;
	id->info.response_timeout = c->response_timeout;
	id->info.packet_lifetime = c->packet_lifetime;
	id->info.max_retries = c->max_retries;
	id->repeat_ns = roce_cm_repeat_ns(&id->info);
	send_req(cm, id, c, now);
	*out_id = id;
	return 0;
}

/* ---- REP ---- */

static void show_rep(struct roce_cm_id *id, const struct roce_cm_message *m)
{
	const struct roce_cm_rep *r = &m->rep;
	bool is_xrc = id->info.qp_type == ROCE_CM_QP_XRC_SEND;

	id->shown = (struct roce_cm_params){
		/* An XRC target's number stands where the EE context was. */
		.qpn.v = is_xrc ? r->local_eecn : r->qpn.v,
		.starting_psn = r->starting_psn,
		.responder_resources = r->responder_resources,
		.initiator_depth = r->initiator_depth,
		.rnr_retry_count = r->rnr_retry_count,
		.target_ack_delay = r->target_ack_delay,
		.flow_control = r->flow_control,
		.srq = r->srq,
		.qkey = r->qkey,
		.ca_guid = r->ca_guid,
		.vendor_id = r->vendor_id,
		.vendor_options = m->attribute_modifier,
	};
	roce_cm_show(id, m, 0);
}

/* The peer's queue pair is one end of another connection that we know: that one is over. */
static enum roce_cm_verdict refuse_stale(const struct roce_cm_rx *rx, struct roce_cm_id *id,
					 struct roce_cm_id *old)
{
	roce_cm_refuse(rx, ROCE_CM_REJ_STALE, NULL, 0);
	id->shown_len = ROCE_CM_REJ_PRIVATE_BYTES;
	memset(id->shown_data, 0, id->shown_len);
	roce_cm_disarm(rx->cm, id);
	roce_list_remove(&id->tx_link);
	roce_cm_set_state(rx->cm, id, ROCE_CM_STATE_IDLE);
	roce_cm_report(rx->cm, id, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_STALE);
	roce_cm_close_stale(rx->cm, old, rx->now);
	return ROCE_MARKED(active_rep_stale, ROCE_CM_RX_STALE);
}

static enum roce_cm_verdict take_rep(const struct roce_cm_rx *rx, struct roce_cm_id *id)
{
	struct roce_cm_info far = id->info;
	struct roce_cm_id *old;

	if (!rx->m->local_id)
		return ROCE_MARKED(active_rep_no_id, ROCE_CM_RX_NO_COMM_ID);
	show_rep(id, rx->m);
	far.remote_id = rx->m->local_id;
	far.remote_guid = rx->m->rep.ca_guid;
	far.remote_qpn = id->shown.qpn;
	old = roce_cm_lookup_qpn(rx->cm, &far);
	if (old)
		return refuse_stale(rx, id, old);
	id->info = far;
	roce_cm_enter_peer(rx->cm, id);
	roce_cm_enter_qpn(rx->cm, id);
	roce_cm_disarm(rx->cm, id);
	roce_list_remove(&id->tx_link);
	roce_cm_set_state(rx->cm, id, ROCE_CM_STATE_REP_RCVD);
	roce_cm_report(rx->cm, id, ROCE_CM_REPORT_CONNECT_RESPONSE, 0);
	return ROCE_CM_RX_ACCEPTED;
}

enum roce_cm_verdict roce_cm_on_rep(const struct roce_cm_rx *rx)
{
	struct roce_cm_id *id;
	enum roce_cm_verdict verdict = roce_cm_match_setup(rx, &id);

	/* The peer would go on asking somebody who does not exist. */
	if (verdict == ROCE_CM_RX_UNKNOWN_ID)
		roce_cm_refuse(rx, ROCE_CM_REJ_INVALID_COMM_ID, NULL, 0);
	if (verdict != ROCE_CM_RX_ACCEPTED)
		return verdict;
	if (!id->info.is_active)
		return ROCE_MARKED(active_rep_to_passive, ROCE_CM_RX_WRONG_STATE);
	switch (id->info.state) {
	case ROCE_CM_STATE_REQ_SENT:
	case ROCE_CM_STATE_MRA_REQ_RCVD:
		return take_rep(rx, id);
	case ROCE_CM_STATE_REP_RCVD:
	case ROCE_CM_STATE_MRA_REP_SENT:
		roce_cm_set_state(rx->cm, id, ROCE_CM_STATE_MRA_REP_SENT);
		roce_cm_send_mra(rx->cm, id, ROCE_CM_ANSWERED_REP);
		return ROCE_MARKED(active_rep_while_waiting, ROCE_CM_RX_DUPLICATE);
	case ROCE_CM_STATE_ESTABLISHED:
		roce_cm_send_rtu(rx->cm, id);
		return ROCE_MARKED(active_rep_after_rtu, ROCE_CM_RX_DUPLICATE);
	case ROCE_CM_STATE_IDLE:
	case ROCE_CM_STATE_TIMEWAIT:
		/* Refused, or given up: once more what we said, if it was that. */
		if (roce_cm_has_said(id, ROCE_CM_REJ))
			roce_cm_send_again(rx->cm, id);
		return ROCE_MARKED(active_rep_after_end, ROCE_CM_RX_DUPLICATE);
	case ROCE_CM_STATE_DREQ_SENT:
	case ROCE_CM_STATE_DREQ_RCVD:
		return ROCE_MARKED(active_rep_while_closing, ROCE_CM_RX_DUPLICATE);
	case ROCE_CM_STATE_REQ_RCVD:
	case ROCE_CM_STATE_MRA_REQ_SENT:
	case ROCE_CM_STATE_REP_SENT:
	case ROCE_CM_STATE_MRA_REP_RCVD:
	case ROCE_CM_STATE_SIDR_REQ_SENT:
	case ROCE_CM_STATE_SIDR_REQ_RCVD:
	case ROCE_CM_STATE_SIDR_REP_SENT:
	case ROCE_CM_STATE_COUNT:
		break; /* of the passive side, or of a SIDR exchange */
	}
	roce_unreachable();
}

int roce_cm_establish(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now)
{
	(void)now;
	if (id->info.state != ROCE_CM_STATE_REP_RCVD &&
	    id->info.state != ROCE_CM_STATE_MRA_REP_SENT)
		return -EINVAL;
	roce_cm_set_state(cm, id, ROCE_CM_STATE_ESTABLISHED);
	roce_cm_count(cm, ROCE_CM_STAT_ESTABLISHED);
	roce_cm_send_rtu(cm, id);
	return 0;
}
