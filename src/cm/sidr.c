/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagram services: one SIDR_REQ asks for the queue pair behind a service, one SIDR_REP names it
 * (or says no), and that is all. The asking side repeats; the answering side keeps its answer for a
 * while and gives it again, so that the program sees each request once.
 *
 * An exchange is known by its request ID (the asker's number) alone; the answerer's number in our
 * tables never appears on the wire.
 */
#include "cm/rx.h"

#include "base/marks.h"

#include <errno.h>

/* ---- asking ---- */

int roce_cm_sidr_connect(struct roce_cm *cm, const struct roce_cm_sidr_connect *c, roce_ns_t now,
			 struct roce_cm_id **out_id)
{
	uint8_t data[ROCE_CM_SIDR_REQ_PRIVATE_BYTES];
	struct roce_cm_message m = {.attr = ROCE_CM_SIDR_REQ, .private_data = data};
	struct roce_cm_id *id;
	int error;

	if (c->data.length > ROCE_CM_IP_SIDR_PRIVATE_BYTES ||
	    roce_gid_is_v4(&c->route.local) != roce_gid_is_v4(&c->route.remote))
		return -EINVAL;
	error = roce_cm_new_id(cm, c->owner, c->user, &id);
	if (error)
		return error;
	id->info.qp_type = ROCE_CM_QP_UD;
	id->info.is_active = true;
	id->info.tid = roce_cm_new_tid(cm, id);
	id->info.port_space = c->port_space;
	id->info.src_port = c->src_port;
	id->info.dst_port = c->dst_port;
	id->info.route = c->route;
	id->info.response_timeout = c->response_timeout;
	id->info.max_retries = c->max_retries;
	id->repeat_ns = roce_cm_repeat_ns(&id->info);
	m.tid = id->info.tid;
	m.local_id = id->info.local_id;
	m.sidr_req.pkey = ROCE_CM_PKEY_DEFAULT;
	m.sidr_req.service_id = roce_cm_service_id(c->port_space, c->dst_port);
	m.private_len = roce_cm_fill_ip_private(data, &c->route, c->src_port, &c->data);
	roce_cm_set_state(cm, id, ROCE_CM_STATE_SIDR_REQ_SENT);
	roce_cm_send_repeating(cm, id, &m, now);
	*out_id = id;
	return 0;
}

static enum roce_cm_verdict match_answer(const struct roce_cm_rx *rx, struct roce_cm_id **out_id)
{
	struct roce_cm_id *id = roce_cm_lookup_local(rx->cm, rx->m->remote_id);

	if (!id || !roce_cm_is_sidr(id) || !id->info.is_active)
		return ROCE_MARKED(sidr_rep_unknown_id, ROCE_CM_RX_UNKNOWN_ID);
	if (!roce_cm_is_from_peer(rx, id))
		return ROCE_MARKED(sidr_rep_wrong_address, ROCE_CM_RX_WRONG_ADDRESS);
	if (rx->m->tid != id->info.tid)
		return ROCE_MARKED(sidr_rep_wrong_tid, ROCE_CM_RX_WRONG_TID);
	if (rx->m->sidr_rep.service_id !=
	    roce_cm_service_id(id->info.port_space, id->info.dst_port))
		return ROCE_MARKED(sidr_rep_wrong_service, ROCE_CM_RX_WRONG_SERVICE);
	*out_id = id;
	return ROCE_CM_RX_ACCEPTED;
}

enum roce_cm_verdict roce_cm_on_sidr_rep(const struct roce_cm_rx *rx)
{
	const struct roce_cm_sidr_rep *rep = &rx->m->sidr_rep;
	struct roce_cm_id *id;
	enum roce_cm_verdict verdict = match_answer(rx, &id);

	if (verdict != ROCE_CM_RX_ACCEPTED)
		return verdict;
	if (id->info.state != ROCE_CM_STATE_SIDR_REQ_SENT)
		return ROCE_MARKED(sidr_rep_again, ROCE_CM_RX_DUPLICATE);
	roce_cm_disarm(rx->cm, id);
	roce_list_remove(&id->tx_link);
	roce_cm_set_state(rx->cm, id, ROCE_CM_STATE_IDLE);
	id->info.remote_qpn = rep->qpn;
	id->shown = (struct roce_cm_params){
		.qpn = rep->qpn,
		.qkey = rep->qkey,
		.vendor_id = rep->vendor_id,
		.vendor_options = rx->m->attribute_modifier,
	};
	roce_cm_show(id, rx->m, 0);
	if (rep->status == ROCE_CM_SIDR_VALID)
		roce_cm_report(rx->cm, id, ROCE_CM_REPORT_ESTABLISHED, 0);
	else
		roce_cm_report(rx->cm, id, ROCE_CM_REPORT_UNREACHABLE, rep->status);
	return ROCE_CM_RX_ACCEPTED;
}

/* ---- answering ---- */

static struct roce_cm_message answer_to(uint64_t tid, uint32_t request_id, uint64_t service_id,
					enum roce_cm_sidr_status status)
{
	struct roce_cm_message m = {.attr = ROCE_CM_SIDR_REP, .tid = tid, .remote_id = request_id};

	m.sidr_rep.status = (uint8_t)status;
	m.sidr_rep.service_id = service_id;
	return m;
}

static struct roce_cm_message answer_of(const struct roce_cm_id *id,
					enum roce_cm_sidr_status status)
{
	return answer_to(id->info.tid, id->info.remote_id,
			 roce_cm_service_id(id->info.port_space, id->info.dst_port), status);
}

static void refuse_service(const struct roce_cm_rx *rx)
{
	struct roce_cm_message m = answer_to(rx->m->tid, rx->m->local_id,
					     rx->m->sidr_req.service_id, ROCE_CM_SIDR_UNSUPPORTED);

	roce_cm_reply(rx->cm, rx->route, &m);
}

static enum roce_cm_verdict answer_duplicate(const struct roce_cm_rx *rx, struct roce_cm_id *id)
{
	if (!roce_cm_is_from_peer(rx, id))
		return ROCE_MARKED(sidr_req_wrong_address, ROCE_CM_RX_WRONG_ADDRESS);
	if (id->info.tid != rx->m->tid)
		return ROCE_MARKED(sidr_req_wrong_tid, ROCE_CM_RX_WRONG_TID);
	if (id->info.state == ROCE_CM_STATE_SIDR_REP_SENT) {
		roce_cm_hold_longer(rx->cm, id, rx->now);
		roce_cm_send_again(rx->cm, id);
		return ROCE_MARKED(sidr_req_answered, ROCE_CM_RX_DUPLICATE);
	}
	return ROCE_MARKED(sidr_req_while_waiting, ROCE_CM_RX_DUPLICATE);
}

static enum roce_cm_verdict make_child(const struct roce_cm_rx *rx, struct roce_cm_listener *l,
				       const struct roce_cm_info *info)
{
	struct roce_cm_id *id = roce_cm_id_alloc(rx->cm);
	uint32_t local_id;

	if (!id)
		return ROCE_MARKED(sidr_req_table_full, ROCE_CM_RX_TABLE_FULL);
	local_id = id->info.local_id;
	id->info = *info;
	id->info.local_id = local_id;
	if (!id->info.route.hop_limit)
		id->info.route.hop_limit = ROCE_CM_HOP_LIMIT_DEFAULT;
	id->shown = (struct roce_cm_params){.vendor_options = 0};
	roce_cm_show(id, rx->m, ROCE_CM_IP_HEADER_BYTES);
	roce_cm_add_child(rx->cm, id, l, ROCE_CM_STATE_SIDR_REQ_RCVD);
	return ROCE_CM_RX_ACCEPTED;
}

enum roce_cm_verdict roce_cm_on_sidr_req(const struct roce_cm_rx *rx)
{
	const uint64_t service_id = rx->m->sidr_req.service_id;
	struct roce_cm_info info = {
		.qp_type = ROCE_CM_QP_UD,
		.remote_id = rx->m->local_id,
		.tid = rx->m->tid,
		.port_space = (uint16_t)(service_id >> 16),
		.dst_port = (uint16_t)service_id,
		.route = *rx->route,
	};
	struct roce_cm_ip_header ip;
	struct roce_cm_listener *l;
	enum roce_cm_verdict room;
	struct roce_cm_id *id;

	if (!rx->m->local_id)
		return ROCE_MARKED(sidr_req_no_id, ROCE_CM_RX_NO_COMM_ID);
	id = roce_cm_lookup_peer(rx->cm, &info, true);
	if (id)
		return answer_duplicate(rx, id);
	l = roce_cm_lookup_listener(rx->cm, service_id, rx->route);
	if (!l || (l->cfg.qp_type != ROCE_CM_QP_UD && l->cfg.qp_type != ROCE_CM_QP_ANY)) {
		refuse_service(rx);
		return ROCE_MARKED(sidr_req_no_listener, ROCE_CM_RX_NO_LISTENER);
	}
	if (!roce_cm_ip_header_decode(rx->m->private_data, &ip))
		return ROCE_MARKED(sidr_req_ip_header, ROCE_CM_RX_BAD_IP_HEADER);
	if (!roce_gid_is_equal(&ip.src, &rx->route->remote) ||
	    !roce_gid_is_equal(&ip.dst, &rx->route->local))
		return ROCE_MARKED(sidr_req_ip_address, ROCE_CM_RX_BAD_PATH);
	info.src_port = ip.src_port;
	if (l->untaken_count >= l->cfg.backlog)
		return ROCE_MARKED(sidr_req_backlog, ROCE_CM_RX_BACKLOG_FULL);
	room = roce_cm_check_room(rx->cm, l->cfg.owner);
	return room == ROCE_CM_RX_ACCEPTED ? make_child(rx, l, &info) : room;
}

int roce_cm_sidr_answer(struct roce_cm *cm, struct roce_cm_id *id, enum roce_cm_sidr_status status,
			const struct roce_cm_params *params, const struct roce_cm_data *data,
			roce_ns_t now)
{
	struct roce_cm_message m = answer_of(id, status);

	(void)now;
	if (id->info.state != ROCE_CM_STATE_SIDR_REQ_RCVD ||
	    data->length > ROCE_CM_SIDR_REP_PRIVATE_BYTES)
		return -EINVAL;
	roce_cm_leave_listener(id);
	m.sidr_rep.qpn = params->qpn;
	m.sidr_rep.qkey = params->qkey;
	m.sidr_rep.vendor_id = params->vendor_id;
	m.attribute_modifier = params->vendor_options;
	m.private_data = data->data;
	m.private_len = data->length;
	id->info.local_qpn = params->qpn;
	roce_cm_set_state(cm, id, ROCE_CM_STATE_SIDR_REP_SENT);
	roce_cm_send(cm, id, &m);
	return 0;
}

void roce_cm_sidr_refuse(struct roce_cm *cm, struct roce_cm_id *id)
{
	struct roce_cm_message m = answer_of(id, ROCE_CM_SIDR_REJECTED);

	roce_cm_send(cm, id, &m);
}
