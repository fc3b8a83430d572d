/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of a dialogue: connect, accept, reject, establish, disconnect, notify. Arguments are
 * checked here, whether the dialogue is at that point is known by the connection manager; the queue
 * pair is moved before the message that tells the peer goes out.
 */
#include "compat/librdmacm/rdmacm.h"

#include <errno.h>
#include <string.h>

#define REASON_CONSUMER 28
#define REASON_ECE	35
#define RETRY_MAX	7

static uint8_t cut(uint8_t count)
{
	return count > RETRY_MAX ? RETRY_MAX : count;
}

static uint8_t transport_of(const struct cm_id *id)
{
	switch (id->id.qp_type) {
	case IBV_QPT_UD:
		return ROCE_CM_TRANSPORT_UD;
	case IBV_QPT_UC:
		return ROCE_CM_TRANSPORT_UC;
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return ROCE_CM_TRANSPORT_XRC;
	case IBV_QPT_RC:
	case IBV_QPT_RAW_PACKET:
	case IBV_QPT_DRIVER:
		break;
	}
	return ROCE_CM_TRANSPORT_RC;
}

/* The program's words; what it gives beyond the limit is its mistake. */
static int set_private(struct roce_cm_private *out, const void *data, size_t length, size_t limit)
{
	if (length > limit || (length && !data))
		return -EINVAL;
	out->length = (uint8_t)length;
	if (length)
		memcpy(out->data, data, length);
	return 0;
}

/* Queue pair, its number and SRQ: of the id's, else as the program says. */
static void set_qp(const struct cm_id *id, const struct rdma_conn_param *param,
		   struct roce_cm_conn *conn)
{
	conn->transport = transport_of(id);
	conn->starting_psn = id->own_psn;
	if (id->id.qp) {
		conn->qpn = id->id.qp->qp_num;
		conn->srq = id->id.qp->srq != NULL;
	} else if (param) {
		conn->qpn = param->qp_num & 0xffffff;
		conn->srq = param->srq != 0;
	}
}

static void set_ece(struct cm_id *id, struct roce_cm_conn *conn)
{
	/* A queue pair of a device without ECE has none to offer. */
	if (id->id.qp)
		ibv_query_ece(id->id.qp, &id->local_ece);
	conn->ece_vendor = id->local_ece.vendor_id & 0xffffff;
	conn->ece_options = id->local_ece.options;
}

/* ---- the active side ---- */

/* A depth that the device cannot have is a mistake; 255 means as much as it can. */
static int set_depth(uint8_t asked, uint8_t limit, uint8_t *out)
{
	if (asked != 0xff && asked > limit)
		return -EINVAL;
	*out = asked == 0xff ? limit : asked;
	return 0;
}

static int set_connect(struct cm_id *id, const struct rdma_conn_param *param,
		       struct roce_cm_conn *conn)
{
	static const struct rdma_conn_param defaults = {.responder_resources = RDMA_MAX_RESP_RES,
							.initiator_depth = RDMA_MAX_INIT_DEPTH,
							.retry_count = RETRY_MAX,
							.rnr_retry_count = RETRY_MAX};
	const struct rdma_conn_param *p = param ? param : &defaults;
	int error = set_depth(p->responder_resources, id->dev->max_qp_rd_atomic,
			      &id->responder_resources);

	if (!error)
		error = set_depth(p->initiator_depth, id->dev->max_qp_init_rd_atomic,
				  &id->initiator_depth);
	if (error)
		return error;
	id->retry_count = cut(p->retry_count);
	/* A program's own timeout is the whole of it; else the path and our ACK delay make it. */
	id->own_timeout = id->has_ack_timeout
				  ? id->ack_timeout
				  : cm_ack_timeout(id->dev->ack_delay, id->path.packet_life);
	conn->responder_resources = id->responder_resources;
	conn->initiator_depth = id->initiator_depth;
	conn->flow_control = p->flow_control != 0;
	conn->retry_count = id->retry_count;
	conn->rnr_retry_count = cut(p->rnr_retry_count);
	conn->ack_timeout = id->own_timeout;
	set_ece(id, conn);
	return 0;
}

/* What rdma_getaddrinfo() gave to be sent first stands before the program's data. */
static int set_connect_data(struct cm_id *id, const struct rdma_conn_param *param,
			    struct roce_cm_private *out)
{
	size_t limit = cm_is_datagram(id) ? CM_PRIVATE_SIDR_REQ_MAX : CM_PRIVATE_TCP_MAX;
	size_t given = param ? param->private_data_len : 0;
	uint8_t data[ROCE_CM_PRIVATE_MAX];

	if (given > limit || id->connect_length > limit - given || (given && !param->private_data))
		return -EINVAL;
	if (id->connect_length)
		memcpy(data, id->connect_data, id->connect_length);
	if (given)
		memcpy(data + id->connect_length, param->private_data, given);
	return set_private(out, data, id->connect_length + given, limit);
}

int rdma_connect(struct rdma_cm_id *rid, struct rdma_conn_param *conn_param)
{
	struct cm_id *id = cm_id_of(rid);
	struct roce_cm_request r = {.handle = id->handle, .op = ROCE_CM_CONNECT};
	int error;

	if (id->state != CM_ROUTE_RESOLVED)
		return cm_fail(EINVAL);
	if (!conn_param && !rid->qp && !cm_is_datagram(id))
		return cm_fail(EINVAL);
	r.connect.path = id->path;
	r.connect.remote_port = cm_sockaddr_port(&rid->route.addr.dst_addr);
	set_qp(id, conn_param, &r.connect.conn);
	error = set_connect_data(id, conn_param, &r.connect.private_data);
	if (!error && !cm_is_datagram(id))
		error = set_connect(id, conn_param, &r.connect.conn);
	if (error)
		return cm_fail(error);
	id->state = CM_CONNECTING;
	error = cm_request(&r, NULL);
	if (error) {
		id->state = CM_ROUTE_RESOLVED;
		return cm_fail(error);
	}
	return cm_complete(id);
}

int rdma_establish(struct rdma_cm_id *rid)
{
	struct cm_id *id = cm_id_of(rid);
	struct roce_cm_request r = {.handle = id->handle, .op = ROCE_CM_ESTABLISH};
	int error;

	if (rid->qp || id->state != CM_CONNECTING || !id->is_responded)
		return cm_fail(EINVAL);
	error = cm_request(&r, NULL);
	return error ? cm_fail(error) : 0;
}

/* ---- the passive side ---- */

/* As the request asked, within the device's limits (cut when the child was made), or as told. */
static void set_accept(struct cm_id *id, const struct rdma_conn_param *param,
		       struct roce_cm_conn *conn)
{
	if (param && param->responder_resources != RDMA_MAX_RESP_RES)
		id->responder_resources = param->responder_resources;
	if (param && param->initiator_depth != RDMA_MAX_INIT_DEPTH)
		id->initiator_depth = param->initiator_depth;
	conn->responder_resources = id->responder_resources;
	conn->initiator_depth = id->initiator_depth;
	conn->flow_control = param && param->flow_control;
	conn->rnr_retry_count = param ? cut(param->rnr_retry_count) : RETRY_MAX;
	conn->ack_delay = id->dev->ack_delay;
	set_ece(id, conn);
}

static int send_reject(struct cm_id *id, uint16_t reason, const void *data, uint8_t length)
{
	struct roce_cm_request r = {
		.handle = id->handle, .op = ROCE_CM_REJECT, .reject.reason = reason};
	size_t limit = cm_is_datagram(id) ? CM_PRIVATE_SIDR_REP_MAX : CM_PRIVATE_REJ_MAX;
	int error = set_private(&r.reject.private_data, data, length, limit);

	return error ? error : cm_request(&r, NULL);
}

static int accept_connection(struct cm_id *id, struct rdma_conn_param *param)
{
	struct roce_cm_request r = {.handle = id->handle, .op = ROCE_CM_ACCEPT};
	int error = set_private(&r.accept.private_data, param ? param->private_data : NULL,
				param ? param->private_data_len : 0, CM_PRIVATE_REP_MAX);

	if (!error && !param && !id->id.qp)
		error = -EINVAL;
	if (error)
		return error;
	set_qp(id, param, &r.accept.conn);
	set_accept(id, param, &r.accept.conn);
	if (id->id.qp) {
		error = cm_qp_to_rtr(id, id->responder_resources);
		if (!error)
			error = cm_qp_to_rts(id, id->initiator_depth);
	}
	if (!error)
		error = cm_request(&r, NULL);
	if (error) {
		cm_qp_to_error(id);
		send_reject(id, REASON_CONSUMER, NULL, 0);
	}
	return error;
}

static int accept_datagrams(struct cm_id *id, struct rdma_conn_param *param)
{
	struct roce_cm_request r = {.handle = id->handle, .op = ROCE_CM_ACCEPT};
	int error = set_private(&r.accept.private_data, param ? param->private_data : NULL,
				param ? param->private_data_len : 0, CM_PRIVATE_SIDR_REP_MAX);

	if (error)
		return error;
	set_qp(id, param, &r.accept.conn);
	r.accept.conn.qkey = RDMA_UDP_QKEY;
	return cm_request(&r, NULL);
}

int rdma_accept(struct rdma_cm_id *rid, struct rdma_conn_param *conn_param)
{
	struct cm_id *id = cm_id_of(rid);
	int error;

	/* Long ago it was this call by which the active side sent its RTU. */
	if (id->state == CM_CONNECTING && id->is_responded && !rid->qp)
		return rdma_establish(rid);
	if (id->state != CM_CHILD)
		return cm_fail(EINVAL);
	error = cm_is_datagram(id) ? accept_datagrams(id, conn_param)
				   : accept_connection(id, conn_param);
	if (error)
		return cm_fail(error);
	return cm_is_datagram(id) ? 0 : cm_complete(id);
}

static int reject(struct rdma_cm_id *rid, uint16_t reason, const void *data, uint8_t length)
{
	struct cm_id *id = cm_id_of(rid);
	int error = -EINVAL;

	if (id->state == CM_CHILD || (id->state == CM_CONNECTING && id->is_responded))
		error = send_reject(id, reason, data, length);
	return error ? cm_fail(error) : 0;
}

int rdma_reject(struct rdma_cm_id *rid, const void *private_data, uint8_t private_data_len)
{
	return reject(rid, REASON_CONSUMER, private_data, private_data_len);
}

int rdma_reject_ece(struct rdma_cm_id *rid, const void *private_data, uint8_t private_data_len)
{
	return reject(rid, REASON_ECE, private_data, private_data_len);
}

/* ---- both ---- */

int rdma_disconnect(struct rdma_cm_id *rid)
{
	struct cm_id *id = cm_id_of(rid);
	struct roce_cm_request r = {.handle = id->handle, .op = ROCE_CM_DISCONNECT};
	int error;

	if (!id->dev || (id->state != CM_CONNECTING && id->state != CM_CHILD))
		return cm_fail(EINVAL);
	/* First, so that nothing that the peer still sends is taken, and all requests are flushed.
	 */
	error = cm_qp_to_error(id);
	if (error)
		return cm_fail(error);
	/* Datagrams have nobody to tell, and no event to wait for. */
	if (cm_is_datagram(id))
		return 0;
	error = cm_request(&r, NULL);
	return error ? cm_fail(error) : cm_complete(id);
}

int rdma_notify(struct rdma_cm_id *rid, enum ibv_event_type event)
{
	struct cm_id *id = cm_id_of(rid);
	struct roce_cm_request r = {.handle = id->handle, .op = ROCE_CM_NOTIFY};
	int error;

	if (event != IBV_EVENT_COMM_EST || id->state != CM_CHILD)
		return cm_fail(EINVAL);
	error = cm_request(&r, NULL);
	return error ? cm_fail(error) : 0;
}
