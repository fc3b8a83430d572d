/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The side that listens: REQ in, REP out, RTU in. A REQ passes the checks below from top to bottom
 * before a child is made of it. A REQ that comes again while the program thinks is answered with an
 * MRA, so that the peer is patient; never before, since most answers are faster than a repetition.
 */
#include "cm/rx.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/marks.h"

#include <errno.h>

/* A REQ on its way through the checks. */
struct request {
	const struct roce_cm_rx *rx;
	const struct roce_cm_req *req;
	struct roce_cm_ip_header ip;
	struct roce_cm_info info; /* of the child that it asks for */
	struct roce_cm_listener *listener;
};

/* ---- the checks ---- */

static enum roce_cm_verdict check_comm_id(struct request *r)
{
	return r->rx->m->local_id ? ROCE_CM_RX_ACCEPTED
				  : ROCE_MARKED(passive_req_no_id, ROCE_CM_RX_NO_COMM_ID);
}

static enum roce_cm_verdict answer_duplicate(struct request *r, struct roce_cm_id *id)
{
	struct roce_cm *cm = r->rx->cm;

	switch (id->info.state) {
	case ROCE_CM_STATE_REQ_RCVD:
	case ROCE_CM_STATE_MRA_REQ_SENT:
		roce_cm_set_state(cm, id, ROCE_CM_STATE_MRA_REQ_SENT);
		roce_cm_send_mra(cm, id, ROCE_CM_ANSWERED_REQ);
		return ROCE_MARKED(passive_req_while_waiting, ROCE_CM_RX_DUPLICATE);
	case ROCE_CM_STATE_IDLE:
	case ROCE_CM_STATE_TIMEWAIT:
		roce_cm_hold_longer(cm, id, r->rx->now);
		if (roce_cm_has_said(id, ROCE_CM_REJ)) {
			roce_cm_send_again(cm, id);
			return ROCE_MARKED(passive_req_after_rej, ROCE_CM_RX_DUPLICATE);
		}
		roce_cm_refuse(r->rx, ROCE_CM_REJ_STALE, NULL, 0);
		return ROCE_MARKED(passive_req_after_end, ROCE_CM_RX_DUPLICATE);
	case ROCE_CM_STATE_REP_SENT:
	case ROCE_CM_STATE_MRA_REP_RCVD:
	case ROCE_CM_STATE_ESTABLISHED:
	case ROCE_CM_STATE_DREQ_SENT:
	case ROCE_CM_STATE_DREQ_RCVD:
		/* The REP is repeated by itself. */
		return ROCE_MARKED(passive_req_answered, ROCE_CM_RX_DUPLICATE);
	case ROCE_CM_STATE_REQ_SENT:
	case ROCE_CM_STATE_MRA_REQ_RCVD:
	case ROCE_CM_STATE_REP_RCVD:
	case ROCE_CM_STATE_MRA_REP_SENT:
		/* The number is that of a peer whom we asked to connect. */
		return ROCE_MARKED(passive_req_with_number_of_rep, ROCE_CM_RX_WRONG_STATE);
	case ROCE_CM_STATE_SIDR_REQ_SENT:
	case ROCE_CM_STATE_SIDR_REQ_RCVD:
	case ROCE_CM_STATE_SIDR_REP_SENT:
	case ROCE_CM_STATE_COUNT:
		break; /* in another part of the table */
	}
	roce_unreachable();
}

static enum roce_cm_verdict check_duplicate(struct request *r)
{
	struct roce_cm_id *id = roce_cm_lookup_peer(r->rx->cm, &r->info, false);

	if (!id)
		return ROCE_CM_RX_ACCEPTED;
	if (!roce_cm_is_from_peer(r->rx, id))
		return ROCE_MARKED(passive_req_wrong_address, ROCE_CM_RX_WRONG_ADDRESS);
	if (id->info.tid != r->rx->m->tid)
		return ROCE_MARKED(passive_req_wrong_tid, ROCE_CM_RX_WRONG_TID);
	return answer_duplicate(r, id);
}

/* The path must be the one that the packet took: nobody connects in another's name. */
static enum roce_cm_verdict check_path(struct request *r)
{
	const struct roce_cm_route *route = r->rx->route;

	if (roce_gid_is_equal(&r->req->primary.local_gid, &route->remote) &&
	    roce_gid_is_equal(&r->req->primary.remote_gid, &route->local))
		return ROCE_CM_RX_ACCEPTED;
	roce_cm_refuse(r->rx, ROCE_CM_REJ_INVALID_GID, route->local.raw, sizeof(route->local.raw));
	return ROCE_MARKED(passive_req_path, ROCE_CM_RX_BAD_PATH);
}

static enum roce_cm_verdict check_listener(struct request *r)
{
	r->listener = roce_cm_lookup_listener(r->rx->cm, r->req->service_id, r->rx->route);
	if (r->listener)
		return ROCE_CM_RX_ACCEPTED;
	roce_cm_refuse(r->rx, ROCE_CM_REJ_INVALID_SERVICE_ID, NULL, 0);
	return ROCE_MARKED(passive_req_no_listener, ROCE_CM_RX_NO_LISTENER);
}

static enum roce_cm_verdict check_ip_header(struct request *r)
{
	if (!roce_cm_ip_header_decode(r->rx->m->private_data, &r->ip))
		return ROCE_MARKED(passive_req_ip_header, ROCE_CM_RX_BAD_IP_HEADER);
	r->info.src_port = r->ip.src_port;
	if (roce_gid_is_equal(&r->ip.src, &r->rx->route->remote) &&
	    roce_gid_is_equal(&r->ip.dst, &r->rx->route->local))
		return ROCE_CM_RX_ACCEPTED;
	roce_cm_refuse(r->rx, ROCE_CM_REJ_INVALID_GID, r->rx->route->local.raw,
		       sizeof(r->rx->route->local.raw));
	return ROCE_MARKED(passive_req_ip_address, ROCE_CM_RX_BAD_PATH);
}

static bool get_qp_type(const struct roce_cm_req *req, enum roce_cm_qp_type *out)
{
	switch ((enum roce_cm_service_type)req->transport) {
	case ROCE_CM_SERVICE_RC:
		*out = ROCE_CM_QP_RC;
		return true;
	case ROCE_CM_SERVICE_UC:
		*out = ROCE_CM_QP_UC;
		return true;
	case ROCE_CM_SERVICE_EXTENDED:
		*out = ROCE_CM_QP_XRC_RECV;
		return req->extended_transport == ROCE_CM_EXTENDED_XRC;
	case ROCE_CM_SERVICE_RD:
		return false;
	}
	return false;
}

static enum roce_cm_verdict check_transport(struct request *r)
{
	enum roce_cm_qp_type wanted = r->listener->cfg.qp_type;

	if (get_qp_type(r->req, &r->info.qp_type) &&
	    (wanted == ROCE_CM_QP_ANY || wanted == r->info.qp_type))
		return ROCE_CM_RX_ACCEPTED;
	roce_cm_refuse(r->rx, ROCE_CM_REJ_INVALID_TRANSPORT, NULL, 0);
	return ROCE_MARKED(passive_req_transport, ROCE_CM_RX_WRONG_TRANSPORT);
}

static enum roce_cm_verdict check_mtu(struct request *r)
{
	const uint8_t acceptable = 5 << 4; /* 4096: any that exists */

	if (r->req->mtu >= 1 && r->req->mtu <= 5)
		return ROCE_CM_RX_ACCEPTED;
	roce_cm_refuse(r->rx, ROCE_CM_REJ_INVALID_MTU, &acceptable, 1);
	return ROCE_MARKED(passive_req_mtu, ROCE_CM_RX_BAD_MTU);
}

/* Silent: the peer asks again, and by then the program may have caught up. */
static enum roce_cm_verdict check_backlog(struct request *r)
{
	if (r->listener->untaken_count >= r->listener->cfg.backlog)
		return ROCE_MARKED(passive_req_backlog, ROCE_CM_RX_BACKLOG_FULL);
	return roce_cm_check_room(r->rx->cm, r->listener->cfg.owner);
}

/* The queue pair is one end of another connection that we know. */
static enum roce_cm_verdict check_stale(struct request *r)
{
	struct roce_cm_id *old = roce_cm_lookup_qpn(r->rx->cm, &r->info);

	if (!old)
		return ROCE_CM_RX_ACCEPTED;
	roce_cm_refuse(r->rx, ROCE_CM_REJ_STALE, NULL, 0);
	roce_cm_suspect_stale(r->rx->cm, old, r->rx->now);
	return ROCE_MARKED(passive_req_stale, ROCE_CM_RX_STALE);
}

typedef enum roce_cm_verdict request_check(struct request *r);

static request_check *const checks[] = {
	check_comm_id,	 check_duplicate, check_path,	 check_listener, check_ip_header,
	check_transport, check_mtu,	  check_backlog, check_stale,
};

/* ---- the child ---- */

static struct roce_cm_route route_of_child(const struct request *r)
{
	struct roce_cm_route route = *r->rx->route;

	route.flow_label = r->req->primary.flow_label;
	route.traffic_class = r->req->primary.traffic_class;
	route.sl = r->req->primary.sl;
	route.hop_limit =
		r->req->primary.hop_limit ? r->req->primary.hop_limit : ROCE_CM_HOP_LIMIT_DEFAULT;
	return route;
}

static void show_req(struct roce_cm_id *id, const struct request *r)
{
	const struct roce_cm_req *req = r->req;

	id->shown = (struct roce_cm_params){
		.qpn = req->qpn,
		.starting_psn = req->starting_psn,
		.responder_resources = req->responder_resources,
		.initiator_depth = req->initiator_depth,
		.retry_count = req->retry_count,
		.rnr_retry_count = req->rnr_retry_count,
		.flow_control = req->flow_control,
		.srq = req->srq,
		.qkey = req->qkey,
		.ca_guid = req->ca_guid,
		.vendor_id = req->vendor_id,
		.vendor_options = r->rx->m->attribute_modifier,
	};
	roce_cm_show(id, r->rx->m, ROCE_CM_IP_HEADER_BYTES);
}

void roce_cm_add_child(struct roce_cm *cm, struct roce_cm_id *id, struct roce_cm_listener *l,
		       enum roce_cm_state state)
{
	roce_cm_id_join(id, l->cfg.owner, NULL);
	id->parent = l;
	id->listener = l;
	l->untaken_count++;
	roce_list_add_tail(&l->untaken, &id->listener_link);
	roce_cm_enter_peer(cm, id);
	roce_cm_set_state(cm, id, state);
	roce_cm_report(cm, id, ROCE_CM_REPORT_CONNECT_REQUEST, 0);
}

static enum roce_cm_verdict make_child(struct request *r)
{
	struct roce_cm *cm = r->rx->cm;
	struct roce_cm_id *id = roce_cm_id_alloc(cm);
	uint32_t local_id;

	if (!id)
		return ROCE_MARKED(passive_req_table_full, ROCE_CM_RX_TABLE_FULL);
	local_id = id->info.local_id;
	id->info = r->info;
	id->info.local_id = local_id;
	id->info.route = route_of_child(r);
	id->repeat_ns = roce_cm_repeat_ns(&id->info);
	show_req(id, r);
	roce_cm_enter_qpn(cm, id);
	roce_cm_add_child(cm, id, r->listener, ROCE_CM_STATE_REQ_RCVD);
	return ROCE_CM_RX_ACCEPTED;
}

enum roce_cm_verdict roce_cm_on_req(const struct roce_cm_rx *rx)
{
	const struct roce_cm_req *req = &rx->m->req;
	struct request r = {
		.rx = rx,
		.req = req,
		.info = {.remote_id = rx->m->local_id,
			 .tid = rx->m->tid,
			 .remote_qpn = req->qpn,
			 .remote_guid = req->ca_guid,
			 .port_space = (uint16_t)(req->service_id >> 16),
			 .dst_port = (uint16_t)req->service_id,
			 .route = *rx->route,
			 .mtu = req->mtu,
			 .rate = req->primary.rate,
			 .ack_timeout = req->primary.ack_timeout,
			 .response_timeout = req->local_response_timeout,
			 .max_retries = req->max_cm_retries},
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		enum roce_cm_verdict verdict = checks[i](&r);

		if (verdict != ROCE_CM_RX_ACCEPTED)
			return verdict;
	}
	return make_child(&r);
}

/* ---- REP, RTU ---- */

static void send_rep(struct roce_cm *cm, struct roce_cm_id *id, const struct roce_cm_params *p,
		     const struct roce_cm_data *data, roce_ns_t now)
{
	bool is_xrc = id->info.qp_type == ROCE_CM_QP_XRC_RECV;
	struct roce_cm_message m = {
		.attr = ROCE_CM_REP,
		.tid = id->info.tid,
		.attribute_modifier = p->vendor_options,
		.local_id = id->info.local_id,
		.remote_id = id->info.remote_id,
		.private_data = data->data,
		.private_len = data->length,
		.rep = {.qkey = p->qkey,
			.vendor_id = p->vendor_id,
			.starting_psn = p->starting_psn,
			.responder_resources = p->responder_resources,
			.target_ack_delay = p->target_ack_delay,
			.rnr_retry_count = p->rnr_retry_count,
			.ca_guid = p->ca_guid},
	};

	if (is_xrc) {
		m.rep.local_eecn = p->qpn.v;
		m.rep.srq = true;
	} else {
		m.rep.qpn = p->qpn;
		m.rep.initiator_depth = p->initiator_depth;
		m.rep.flow_control = p->flow_control;
		m.rep.srq = p->srq;
	}
	roce_cm_set_state(cm, id, ROCE_CM_STATE_REP_SENT);
	roce_cm_send_repeating(cm, id, &m, now);
}

int roce_cm_accept(struct roce_cm *cm, struct roce_cm_id *id, const struct roce_cm_params *params,
		   const struct roce_cm_data *data, roce_ns_t now)
{
	static const struct roce_cm_data none = {.length = 0};

	if (!data)
		data = &none;
	if (roce_cm_is_sidr(id))
		return roce_cm_sidr_answer(cm, id, ROCE_CM_SIDR_VALID, params, data, now);
	if (id->info.state != ROCE_CM_STATE_REQ_RCVD &&
	    id->info.state != ROCE_CM_STATE_MRA_REQ_SENT)
		return -EINVAL;
	if (data->length > ROCE_CM_REP_PRIVATE_BYTES || !params->ca_guid)
		return -EINVAL;
	roce_cm_leave_listener(id);
	id->info.local_qpn = params->qpn;
	id->info.local_guid = params->ca_guid;
	send_rep(cm, id, params, data, now);
	return 0;
}

static void become_established(struct roce_cm *cm, struct roce_cm_id *id)
{
	roce_cm_disarm(cm, id);
	roce_list_remove(&id->tx_link);
	roce_cm_set_state(cm, id, ROCE_CM_STATE_ESTABLISHED);
	roce_cm_count(cm, ROCE_CM_STAT_ESTABLISHED);
	roce_cm_report(cm, id, ROCE_CM_REPORT_ESTABLISHED, 0);
}

enum roce_cm_verdict roce_cm_on_rtu(const struct roce_cm_rx *rx)
{
	struct roce_cm_id *id;
	enum roce_cm_verdict verdict = roce_cm_match_setup(rx, &id);

	if (verdict != ROCE_CM_RX_ACCEPTED)
		return verdict;
	if (id->info.is_active)
		return ROCE_MARKED(passive_rtu_to_active, ROCE_CM_RX_WRONG_STATE);
	switch (id->info.state) {
	case ROCE_CM_STATE_REP_SENT:
	case ROCE_CM_STATE_MRA_REP_RCVD:
		become_established(rx->cm, id);
		return ROCE_CM_RX_ACCEPTED;
	case ROCE_CM_STATE_TIMEWAIT:
	case ROCE_CM_STATE_IDLE:
		/* The peer believes to be connected: it has not heard our REJ. */
		if (roce_cm_has_said(id, ROCE_CM_REJ))
			roce_cm_send_again(rx->cm, id);
		return ROCE_MARKED(passive_rtu_after_end, ROCE_CM_RX_DUPLICATE);
	case ROCE_CM_STATE_ESTABLISHED:
		if (roce_cm_end_probe(rx->cm, id)) {
			roce_cm_count(rx->cm, ROCE_CM_STAT_STALE_DENIED);
			return ROCE_MARKED(passive_rtu_to_probe, ROCE_CM_RX_ACCEPTED);
		}
		return ROCE_MARKED(passive_rtu_established, ROCE_CM_RX_DUPLICATE);
	case ROCE_CM_STATE_DREQ_SENT:
	case ROCE_CM_STATE_DREQ_RCVD:
		return ROCE_MARKED(passive_rtu_again, ROCE_CM_RX_DUPLICATE);
	case ROCE_CM_STATE_REQ_RCVD:
	case ROCE_CM_STATE_MRA_REQ_SENT:
		return ROCE_MARKED(passive_rtu_before_rep, ROCE_CM_RX_WRONG_STATE);
	case ROCE_CM_STATE_REQ_SENT:
	case ROCE_CM_STATE_MRA_REQ_RCVD:
	case ROCE_CM_STATE_REP_RCVD:
	case ROCE_CM_STATE_MRA_REP_SENT:
	case ROCE_CM_STATE_SIDR_REQ_SENT:
	case ROCE_CM_STATE_SIDR_REQ_RCVD:
	case ROCE_CM_STATE_SIDR_REP_SENT:
	case ROCE_CM_STATE_COUNT:
		break; /* of the active side, or of a SIDR exchange */
	}
	roce_unreachable();
}

int roce_cm_notify(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now)
{
	(void)now;
	if (id->info.state == ROCE_CM_STATE_ESTABLISHED)
		return -EISCONN;
	if (id->info.state != ROCE_CM_STATE_REP_SENT &&
	    id->info.state != ROCE_CM_STATE_MRA_REP_RCVD)
		return -EINVAL;
	become_established(cm, id);
	return 0;
}
