/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From what the connection manager says to what the program reads. An event is queued as it came;
 * the work that belongs to it (a child's id, the steps of a queue pair, RTU) is done in
 * rdma_get_cm_event(), in the program's thread, as programs expect: until they read the event,
 * nothing of theirs has changed.
 */
#include "compat/librdmacm/rdmacm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- queueing ---- */

struct cm_event *cm_event_make(struct cm_id *id, enum rdma_cm_event_type type, int status)
{
	struct cm_event *ev = calloc(1, sizeof(*ev));

	if (!ev)
		return NULL;
	ev->id = id;
	ev->event.id = &id->id;
	ev->event.event = type;
	ev->event.status = status;
	return ev;
}

void cm_event_post(struct cm_event *ev)
{
	cm_channel_push(cm_channel_of(ev->id->id.channel), ev);
}

void cm_on_event(void *ctx, const struct roce_cm_event *e)
{
	bool is_child = e->event == ROCE_CM_EVENT_CONNECT_REQUEST;
	struct cm_event *ev;
	struct cm_id *id;

	(void)ctx;
	pthread_mutex_lock(&cm_lock);
	id = cm_id_find(is_child ? e->listener : e->handle);
	ev = id ? cm_event_make(id, (enum rdma_cm_event_type)e->event, e->status) : NULL;
	if (ev) {
		ev->raw = *e;
		cm_event_post(ev);
	}
	pthread_mutex_unlock(&cm_lock);
}

/* ---- what reading does ---- */

static void set_gids(struct cm_id *id)
{
	struct rdma_ib_addr *ib = &id->id.route.addr.addr.ibaddr;

	memcpy(ib->sgid.raw, id->path.local.gid.raw, 16);
	memcpy(ib->dgid.raw, id->path.remote.raw, 16);
	ib->pkey = htobe16(id->path.pkey);
}

/* As the peer said, within the device's limits: some answer a REQ with all that their own device
 * can do (rxe's 128), however little the REQ had. */
static void set_depths(struct cm_id *id)
{
	id->responder_resources = id->peer.initiator_depth;
	if (id->responder_resources > id->dev->max_qp_rd_atomic)
		id->responder_resources = id->dev->max_qp_rd_atomic;
	id->initiator_depth = id->peer.responder_resources;
	if (id->initiator_depth > id->dev->max_qp_init_rd_atomic)
		id->initiator_depth = id->dev->max_qp_init_rd_atomic;
}

static void fill_conn_param(struct cm_event *ev)
{
	struct rdma_conn_param *p = &ev->event.param.conn;
	const struct roce_cm_conn *conn = &ev->raw.conn;

	p->private_data_len = ev->raw.private_data.length;
	p->private_data = p->private_data_len ? ev->raw.private_data.data : NULL;
	/* The peer's depth as initiator is what we must provide, and the reverse. */
	p->responder_resources = conn->initiator_depth;
	p->initiator_depth = conn->responder_resources;
	p->flow_control = conn->flow_control;
	p->rnr_retry_count = conn->rnr_retry_count;
	p->srq = conn->srq;
	p->qp_num = conn->qpn;
	if (ev->event.event == RDMA_CM_EVENT_CONNECT_REQUEST)
		p->retry_count = conn->retry_count;
}

static void fill_ud_param(struct cm_event *ev)
{
	struct rdma_ud_param *p = &ev->event.param.ud;

	p->private_data_len = ev->raw.private_data.length;
	p->private_data = p->private_data_len ? ev->raw.private_data.data : NULL;
	if (ev->event.event == RDMA_CM_EVENT_ESTABLISHED) {
		cm_qp_fill_ah_attr(ev->id, &p->ah_attr);
		p->qp_num = ev->raw.conn.qpn;
		p->qkey = ev->raw.conn.qkey;
	}
}

static void fill_param(struct cm_event *ev)
{
	if (cm_is_datagram(ev->id))
		fill_ud_param(ev);
	else
		fill_conn_param(ev);
}

/* A child whose dialogue ends before the program has seen it. */
static void refuse_child(uint32_t handle)
{
	struct roce_cm_request r = {.handle = handle, .op = ROCE_CM_DESTROY};

	cm_request(&r, NULL);
}

static struct cm_id *make_child(struct cm_event *ev)
{
	struct rdma_cm_id *listener = &ev->id->id;
	const struct roce_cm_event *raw = &ev->raw;
	/* A synchronous listener's children are so too, with channels of their own. */
	struct cm_channel *channel = ev->id->is_sync ? NULL : cm_channel_of(listener->channel);
	struct cm_id *child = cm_id_create(channel, listener->context, listener->ps,
					   listener->qp_type, raw->handle);
	struct rdma_addr *addr;

	if (!child)
		return NULL;
	addr = &child->id.route.addr;
	child->state = CM_CHILD;
	child->is_bound = true;
	child->path = raw->path;
	child->peer = raw->conn;
	child->retry_count = raw->conn.retry_count;
	child->tos = ev->id->tos;
	child->has_ack_timeout = ev->id->has_ack_timeout;
	child->ack_timeout = ev->id->ack_timeout;
	child->ifindex = raw->path.local.ifindex;
	cm_sockaddr_from_gid(&raw->local_ip, raw->local_port, child->ifindex, &addr->src_storage);
	cm_sockaddr_from_gid(&raw->remote_ip, raw->remote_port, child->ifindex, &addr->dst_storage);
	if (!child->ifindex)
		cm_address_find(&addr->src_addr, &child->ifindex);
	if (cm_device_bind(child, child->ifindex)) {
		rdma_destroy_id(&child->id);
		return NULL;
	}
	set_depths(child);
	set_gids(child);
	cm_route_fill(child);
	return child;
}

/* A listener on a loopback address has the port of all addresses, but no callers from elsewhere. */
static bool is_welcome(const struct cm_event *ev)
{
	struct sockaddr_storage peer;
	uint32_t ifindex;

	if (!cm_sockaddr_is_loopback(&ev->id->id.route.addr.src_addr))
		return true;
	cm_sockaddr_from_gid(&ev->raw.path.remote, 0, ev->raw.path.local.ifindex, &peer);
	return cm_address_find((struct sockaddr *)&peer, &ifindex) == 0;
}

/* false: the program hears nothing of it. */
static bool on_connect_request(struct cm_event *ev)
{
	struct roce_cm_request taken = {.handle = ev->raw.handle, .op = ROCE_CM_TAKEN};
	struct cm_id *child = is_welcome(ev) ? make_child(ev) : NULL;

	if (!child) {
		refuse_child(ev->raw.handle);
		return false;
	}
	cm_request(&taken, NULL);
	ev->event.listen_id = &ev->id->id;
	ev->event.id = &child->id;
	fill_param(ev);
	return true;
}

/* The queue pair goes to RTS and RTU out, and the program sees ESTABLISHED. */
static int complete_connect(struct cm_id *id)
{
	struct roce_cm_request r = {.handle = id->handle, .op = ROCE_CM_ESTABLISH};
	int error = cm_qp_to_rtr(id, id->responder_resources);

	if (!error)
		error = cm_qp_to_rts(id, id->initiator_depth);
	return error ? error : cm_request(&r, NULL);
}

static void on_connect_response(struct cm_event *ev)
{
	struct roce_cm_request reject = {
		.handle = ev->id->handle, .op = ROCE_CM_REJECT, .reject.reason = 28};
	struct cm_id *id = ev->id;
	int error;

	id->is_responded = true;
	id->peer = ev->raw.conn;
	set_depths(id);
	fill_param(ev);
	if (!id->id.qp)
		return;
	error = complete_connect(id);
	if (!error) {
		ev->event.event = RDMA_CM_EVENT_ESTABLISHED;
		return;
	}
	id->has_failed = true;
	cm_qp_to_error(id);
	cm_request(&reject, NULL);
	ev->event.event = RDMA_CM_EVENT_CONNECT_ERROR;
	ev->event.status = error;
}

static void on_established(struct cm_event *ev)
{
	if (!cm_is_datagram(ev->id))
		return; /* the passive side: its parameters are all zero */
	ev->id->peer = ev->raw.conn;
	ev->id->qkey = ev->raw.conn.qkey;
	fill_param(ev);
}

static bool on_rejected(struct cm_event *ev)
{
	if (ev->id->has_failed)
		return false;
	fill_param(ev);
	cm_qp_to_error(ev->id);
	return true;
}

static void on_multicast_join(struct cm_event *ev)
{
	int error = ev->event.status ? 0 : cm_group_attach(ev);

	if (!error)
		return;
	ev->event.event = RDMA_CM_EVENT_MULTICAST_ERROR;
	ev->event.status = -1;
}

static bool process(struct cm_event *ev)
{
	switch (ev->event.event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (cm_device_bind(ev->id, ev->id->ifindex)) {
			ev->event.event = RDMA_CM_EVENT_ADDR_ERROR;
			ev->event.status = -ENODEV;
			ev->id->state = CM_BOUND;
		} else {
			set_gids(ev->id);
		}
		return true;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		cm_route_fill(ev->id);
		return true;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return on_connect_request(ev);
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		on_connect_response(ev);
		return true;
	case RDMA_CM_EVENT_ESTABLISHED:
		on_established(ev);
		return true;
	case RDMA_CM_EVENT_REJECTED:
		return on_rejected(ev);
	case RDMA_CM_EVENT_DISCONNECTED:
		return !ev->id->has_failed;
	case RDMA_CM_EVENT_UNREACHABLE:
		fill_param(ev);
		return true;
	case RDMA_CM_EVENT_MULTICAST_JOIN:
		on_multicast_join(ev);
		return true;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	}
	return true;
}

/* ---- calls ---- */

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct cm_event *ev;
	int error;

	if (!event)
		return cm_fail(EINVAL);
	for (;;) {
		error = cm_channel_pop(cm_channel_of(channel), &ev);
		if (error)
			return cm_fail(error);
		if (process(ev)) {
			*event = &ev->event;
			return 0;
		}
		rdma_ack_cm_event(&ev->event);
	}
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct cm_event *ev;

	if (!event)
		return cm_fail(EINVAL);
	ev = roce_container_of(event, struct cm_event, event);
	pthread_mutex_lock(&cm_lock);
	ev->id->unacked--;
	if (ev->group)
		ev->group->unacked--;
	pthread_cond_broadcast(&cm_acked);
	pthread_mutex_unlock(&cm_lock);
	free(ev);
	return 0;
}

const char *rdma_event_str(enum rdma_cm_event_type event)
{
	switch (event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return "RDMA_CM_EVENT_ADDR_RESOLVED";
	case RDMA_CM_EVENT_ADDR_ERROR:
		return "RDMA_CM_EVENT_ADDR_ERROR";
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return "RDMA_CM_EVENT_ROUTE_RESOLVED";
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return "RDMA_CM_EVENT_ROUTE_ERROR";
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return "RDMA_CM_EVENT_CONNECT_REQUEST";
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		return "RDMA_CM_EVENT_CONNECT_RESPONSE";
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return "RDMA_CM_EVENT_CONNECT_ERROR";
	case RDMA_CM_EVENT_UNREACHABLE:
		return "RDMA_CM_EVENT_UNREACHABLE";
	case RDMA_CM_EVENT_REJECTED:
		return "RDMA_CM_EVENT_REJECTED";
	case RDMA_CM_EVENT_ESTABLISHED:
		return "RDMA_CM_EVENT_ESTABLISHED";
	case RDMA_CM_EVENT_DISCONNECTED:
		return "RDMA_CM_EVENT_DISCONNECTED";
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return "RDMA_CM_EVENT_DEVICE_REMOVAL";
	case RDMA_CM_EVENT_MULTICAST_JOIN:
		return "RDMA_CM_EVENT_MULTICAST_JOIN";
	case RDMA_CM_EVENT_MULTICAST_ERROR:
		return "RDMA_CM_EVENT_MULTICAST_ERROR";
	case RDMA_CM_EVENT_ADDR_CHANGE:
		return "RDMA_CM_EVENT_ADDR_CHANGE";
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return "RDMA_CM_EVENT_TIMEWAIT_EXIT";
	}
	return "UNKNOWN EVENT";
}
