/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The active side's steps (address, route, REQ), each taken when the connection manager's event of
 * the one before comes: by the caller of a blocking rconnect(), else by the service. Also what such
 * an event means to sockets in other states.
 */
#include <errno.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <string.h>

#include "rsocket/service.h"
#include "rsocket/socket.h"

#define RESOLVE_BLOCKING_MS 1000
#define RESOLVE_FIRST_MS    1000 /* nonblocking: doubled at each of the tries */
#define ROUTE_TRIES	    7
#define RETRIES_ENDLESS	    7

/* What is needed of an event after it was acknowledged. */
struct cm_news {
	enum rdma_cm_event_type type;
	int status;
	struct roce_rs_request request;
};

static int resolve_timeout_ms(const struct roce_rs *rs)
{
	return roce_rs_is_nonblocking(rs, 0) ? RESOLVE_FIRST_MS << rs->route_tries
					     : RESOLVE_BLOCKING_MS;
}

static int begin_route(struct roce_rs *rs)
{
	rs->state = ROCE_RS_RESOLVING_ROUTE;
	return rdma_resolve_route(rs->id, resolve_timeout_ms(rs)) ? -errno : 0;
}

static int begin_connect(struct roce_rs *rs)
{
	uint8_t data[ROCE_RS_CONNECT_BYTES];
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = sizeof(data),
		.flow_control = 1,
		.retry_count = RETRIES_ENDLESS,
		.rnr_retry_count = RETRIES_ENDLESS, /* of RNR: a notice may meet no receive WQE */
	};
	int error = roce_rs_endpoint_create(rs);

	if (error)
		return error;
	roce_rs_endpoint_describe(rs, data);
	rs->state = ROCE_RS_CONNECTING;
	return rdma_connect(rs->id, &param) ? -errno : 0;
}

static int error_of(const struct cm_news *news)
{
	if (news->type == RDMA_CM_EVENT_REJECTED)
		return ECONNREFUSED;
	if (news->type == RDMA_CM_EVENT_UNREACHABLE)
		return ETIMEDOUT;
	if (news->status < -1)
		return -news->status;
	return news->type == RDMA_CM_EVENT_CONNECT_ERROR ? ECONNABORTED : EHOSTUNREACH;
}

static void become_connected(struct roce_rs *rs)
{
	rs->state = ROCE_RS_CONNECTED;
	rs->was_connected = true;
	rs->is_readable = true;
	rs->is_writable = true;
	roce_rs_notify(rs);
}

static void on_disconnected(struct roce_rs *rs)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	/* All that the peer sent before it left is in the queue: it waited for our answers. */
	roce_rs_progress(rs);
	if (rs->state != ROCE_RS_CONNECTED)
		return;
	rs->state = ROCE_RS_DISCONNECTED;
	rs->is_writable = false;
	if (rs->id->qp)
		ibv_modify_qp(rs->id->qp, &attr, IBV_QP_STATE);
	roce_rs_notify(rs);
}

static void on_setup_news(struct roce_rs *rs, const struct cm_news *news)
{
	int error;

	if (news->type == RDMA_CM_EVENT_ADDR_RESOLVED && rs->state == ROCE_RS_RESOLVING_ADDRESS) {
		error = begin_route(rs);
	} else if (news->type == RDMA_CM_EVENT_ROUTE_RESOLVED &&
		   rs->state == ROCE_RS_RESOLVING_ROUTE) {
		error = begin_connect(rs);
	} else if (news->type == RDMA_CM_EVENT_ESTABLISHED && rs->state == ROCE_RS_CONNECTING) {
		error = roce_rs_endpoint_apply(rs, news->request.data, news->request.data_length);
		if (!error)
			become_connected(rs);
		else
			error = -ENOTSUP;
	} else if (news->type == RDMA_CM_EVENT_ESTABLISHED && rs->state == ROCE_RS_ACCEPTING) {
		become_connected(rs);
		return;
	} else if (news->type == RDMA_CM_EVENT_DISCONNECTED && rs->state == ROCE_RS_ACCEPTING) {
		/* Only its RTU was lost: a peer that closes has had our REP, and may have sent. */
		become_connected(rs);
		on_disconnected(rs);
		return;
	} else if ((news->type == RDMA_CM_EVENT_ADDR_ERROR ||
		    news->type == RDMA_CM_EVENT_ROUTE_ERROR) &&
		   news->status == -ETIMEDOUT && roce_rs_is_nonblocking(rs, 0) &&
		   ++rs->route_tries < ROUTE_TRIES) {
		error = rs->state == ROCE_RS_RESOLVING_ROUTE ? begin_route(rs)
			: rdma_resolve_addr(rs->id, NULL, &rs->id->route.addr.dst_addr,
					    resolve_timeout_ms(rs))
				? -errno
				: 0;
	} else {
		error = -error_of(news);
	}
	if (error)
		roce_rs_fail(rs, -error);
}

static void on_news(struct roce_rs *rs, struct cm_news *news)
{
	switch (rs->state) {
	case ROCE_RS_LISTENING:
		if (news->type == RDMA_CM_EVENT_CONNECT_REQUEST)
			roce_rs_accept_request(rs, &news->request);
		return;
	case ROCE_RS_RESOLVING_ADDRESS:
	case ROCE_RS_RESOLVING_ROUTE:
	case ROCE_RS_CONNECTING:
	case ROCE_RS_ACCEPTING:
		on_setup_news(rs, news);
		return;
	case ROCE_RS_CONNECTED:
		if (news->type == RDMA_CM_EVENT_DISCONNECTED ||
		    news->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
			on_disconnected(rs);
		return;
	case ROCE_RS_IDLE:
	case ROCE_RS_BOUND:
	case ROCE_RS_DISCONNECTED:
	case ROCE_RS_FAILED:
		return;
	}
}

void roce_rs_on_cm(struct roce_rs *rs)
{
	struct rdma_cm_event *event;

	while (rs->channel && !roce_rs_is_full(rs) && !rdma_get_cm_event(rs->channel, &event)) {
		struct cm_news news = {.type = event->event, .status = event->status};
		const struct rdma_conn_param *conn = &event->param.conn;

		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST ||
		    event->event == RDMA_CM_EVENT_ESTABLISHED) {
			news.request.id = event->id;
			news.request.param = *conn;
			news.request.data_length = conn->private_data ? conn->private_data_len : 0;
			if (news.request.data_length > ROCE_RS_CONNECT_BYTES)
				news.request.data_length = ROCE_RS_CONNECT_BYTES;
			if (news.request.data_length)
				memcpy(news.request.data, conn->private_data,
				       news.request.data_length);
		}
		rdma_ack_cm_event(event);
		on_news(rs, &news);
	}
}

/* The caller of a blocking rconnect() takes the steps itself; lock held. */
static int wait_connected(struct roce_rs *rs)
{
	while (roce_rs_is_connecting(rs)) {
		struct pollfd channel = {.fd = rs->channel->fd, .events = POLLIN};
		int count;

		pthread_mutex_unlock(&rs->lock);
		count = poll(&channel, 1, (int)roce_rs_config()->wake_up_ms);
		if (count < 0 && errno == EINTR) {
			pthread_mutex_lock(&rs->lock);
			return -EINTR;
		}
		pthread_mutex_lock(&rs->lock);
		roce_rs_on_cm(rs);
	}
	return rs->state == ROCE_RS_CONNECTED ? 0 : -rs->error;
}

static bool is_settled(const struct roce_rs *rs)
{
	return !roce_rs_is_connecting(rs);
}

/* Somebody else takes the steps: the service, or another caller. */
static int wait_for_others(struct roce_rs *rs)
{
	int error = roce_rs_wait(rs, false, is_settled);

	if (error)
		return error;
	return rs->state == ROCE_RS_CONNECTED ? 0 : -rs->error;
}

static int connect_stream(struct roce_rs *rs, const struct sockaddr *address)
{
	bool is_nonblocking = roce_rs_is_nonblocking(rs, 0);
	int error;

	if (rs->state == ROCE_RS_CONNECTED)
		return 0;
	if (roce_rs_is_connecting(rs))
		return is_nonblocking ? -EINPROGRESS : wait_for_others(rs);
	if (rs->state != ROCE_RS_IDLE && rs->state != ROCE_RS_BOUND)
		return -ENOTCONN;
	rs->state = ROCE_RS_RESOLVING_ADDRESS;
	if (rdma_resolve_addr(rs->id, NULL, (struct sockaddr *)(uintptr_t)address,
			      resolve_timeout_ms(rs))) {
		error = errno;
		roce_rs_fail(rs, error);
		return -error;
	}
	if (is_nonblocking) {
		error = roce_rs_service_add(rs);
		if (error)
			roce_rs_fail(rs, -error);
		return error ? error : -EINPROGRESS;
	}
	error = wait_connected(rs);
	if (!error)
		error = roce_rs_service_add(rs);
	/* As with sockets, what a signal interrupts goes on by itself. */
	if (error == -EINTR && roce_rs_service_add(rs))
		roce_rs_fail(rs, ENOMEM);
	return error;
}

int roce_rs_connect(struct roce_rs *rs, const struct sockaddr *address)
{
	int error;

	pthread_mutex_lock(&rs->lock);
	error = connect_stream(rs, address);
	pthread_mutex_unlock(&rs->lock);
	return error;
}
