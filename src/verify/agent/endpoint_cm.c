/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An endpoint connected by rdma_cm. The queue pair stays the endpoint's own, made on the device
 * that the case has opened: rdma_cm is told its number and says, by rdma_init_qp_attr(), how to
 * move it. The initiator connects; the port is the target's and goes through the relay.
 */
#include "verify/agent/cm.h"
#include "verify/agent/endpoint.h"

#include <string.h>

static void move(struct va_run *run, struct va_endpoint *endpoint, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};
	int mask = 0;
	int rc;

	va_need(run, !rdma_init_qp_attr(endpoint->id, &attr, &mask), "rdma_init_qp_attr");
	if (state == IBV_QPS_INIT && !endpoint->config.no_remote_access)
		attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	if (state == IBV_QPS_RTR)
		endpoint->mtu_bytes = 128u << (unsigned int)attr.path_mtu;
	rc = ibv_modify_qp(endpoint->qp, &attr, mask);
	if (rc)
		va_fail(run, "ibv_modify_qp by rdma_init_qp_attr: %s", strerror(rc));
}

static void move_to_rts(struct va_run *run, struct va_endpoint *endpoint)
{
	move(run, endpoint, IBV_QPS_INIT);
	move(run, endpoint, IBV_QPS_RTR);
	move(run, endpoint, IBV_QPS_RTS);
}

static uint8_t at_most_16(int reads)
{
	return (uint8_t)(reads > 16 ? 16 : reads);
}

static struct rdma_conn_param parameters(const struct va_endpoint *endpoint)
{
	return (struct rdma_conn_param){
		.responder_resources = at_most_16(endpoint->device->attr.max_qp_rd_atom),
		.initiator_depth = at_most_16(endpoint->device->attr.max_qp_init_rd_atom),
		.retry_count = (uint8_t)(7 - endpoint->config.retry_count_less),
		.rnr_retry_count = 7,
		.qp_num = endpoint->qp->qp_num,
		.srq = endpoint->config.srq != NULL,
	};
}

/* ---- initiator ---- */

static void connect_to(struct va_run *run, struct va_endpoint *endpoint)
{
	struct rdma_conn_param param = parameters(endpoint);
	struct sockaddr_storage target;
	struct rdma_cm_event *event;

	va_cm_hear(run, endpoint->device, &target);
	endpoint->id = va_cm_resolve(run, endpoint->device, endpoint->channel, &target);
	va_need(run, !rdma_connect(endpoint->id, &param), "rdma_connect");
	event = va_cm_await(run, endpoint->channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
	endpoint->peer_qpn = event->param.conn.qp_num;
	endpoint->peer_reads = event->param.conn.initiator_depth;
	(void)rdma_ack_cm_event(event);
	move_to_rts(run, endpoint);
	va_need(run, !rdma_establish(endpoint->id), "rdma_establish");
}

/* ---- target ---- */

static uint8_t smaller(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static void accept_from(struct va_run *run, struct va_endpoint *endpoint)
{
	struct rdma_conn_param param = parameters(endpoint);
	struct rdma_cm_id *listener;
	struct rdma_cm_event *event;

	listener = va_cm_listen(run, endpoint->device, endpoint->channel, 1);
	event = va_cm_await(run, endpoint->channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	endpoint->id = event->id;
	endpoint->peer_qpn = event->param.conn.qp_num;
	endpoint->peer_reads = event->param.conn.initiator_depth;
	/* The event tells what we may ask for, and what we should be ready for. */
	param.responder_resources =
		smaller(param.responder_resources, event->param.conn.responder_resources);
	param.initiator_depth = smaller(param.initiator_depth, event->param.conn.initiator_depth);
	(void)rdma_ack_cm_event(event);
	move_to_rts(run, endpoint);
	va_need(run, !rdma_accept(endpoint->id, &param), "rdma_accept");
	va_cm_expect(run, endpoint->channel, RDMA_CM_EVENT_ESTABLISHED);
	va_need(run, !rdma_destroy_id(listener), "rdma_destroy_id");
}

void va_endpoint_cm_connect(struct va_run *run, struct va_endpoint *endpoint)
{
	if (endpoint->config.type != IBV_QPT_RC)
		va_skip(run, "only RC is connected by rdma_cm");
	endpoint->channel = va_cm_channel_create(run);
	if (run->is_initiator)
		connect_to(run, endpoint);
	else
		accept_from(run, endpoint);
	va_barrier(run, "connected");
}

void va_endpoint_cm_disconnect(struct va_run *run, struct va_endpoint *endpoint)
{
	/* Whichever side is first; the other's call has nothing left to do then. */
	(void)rdma_disconnect(endpoint->id);
	va_cm_expect(run, endpoint->channel, RDMA_CM_EVENT_DISCONNECTED);
	va_need(run, !rdma_destroy_id(endpoint->id), "rdma_destroy_id");
	rdma_destroy_event_channel(endpoint->channel);
	endpoint->id = NULL;
	endpoint->channel = NULL;
}
