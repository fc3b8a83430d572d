/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The passive side. The service answers each REQ as soon as it comes, before raccept() is called,
 * as peers expect: a connection belongs to `children` until its RTU, then it waits in `accepted`.
 * Several may be under way at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rsocket/pollers.h"
#include "rsocket/service.h"
#include "rsocket/socket.h"
#include "rsocket/table.h"

static int give_channel(struct roce_rs *child)
{
	child->channel = rdma_create_event_channel();
	if (!child->channel)
		return -errno;
	child->fd = child->channel->fd;
	if (fcntl(child->fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	return rdma_migrate_id(child->id, child->channel) ? -errno : 0;
}

static int answer(struct roce_rs *child, const struct roce_rs_request *request)
{
	uint8_t data[ROCE_RS_CONNECT_BYTES];
	struct rdma_conn_param param = request->param;
	int error = roce_rs_endpoint_create(child);

	if (!error)
		error = roce_rs_endpoint_apply(child, request->data, request->data_length);
	if (error)
		return error;
	roce_rs_endpoint_describe(child, data);
	param.private_data = data;
	param.private_data_len = sizeof(data);
	child->state = ROCE_RS_ACCEPTING;
	return rdma_accept(child->id, &param) ? -errno : 0;
}

static void inherit(struct roce_rs *child, struct roce_rs *listener)
{
	child->listener = listener;
	child->sizes = listener->sizes;
	child->fd_flags = listener->fd_flags;
	child->option_bits = listener->option_bits;
	child->keepalive_s = listener->keepalive_s;
	child->linger = listener->linger;
}

bool roce_rs_is_full(const struct roce_rs *listener)
{
	return listener->waiting >= ROCE_RS_WAITING_MAX;
}

/* One child less waits; lock of the listener held. */
static void remove_child(struct roce_rs *listener, struct roce_rs *child)
{
	roce_list_remove(&child->sibling);
	listener->waiting--;
	if (listener->is_paused && !roce_rs_service_add(listener))
		listener->is_paused = false;
}

void roce_rs_accept_request(struct roce_rs *listener, const struct roce_rs_request *request)
{
	struct roce_rs *child;
	int error;

	if (roce_rs_create(&child, listener->domain)) {
		rdma_reject(request->id, NULL, 0);
		rdma_destroy_id(request->id);
		return;
	}
	child->id = request->id;
	child->id->context = child;
	inherit(child, listener);
	error = give_channel(child);
	if (!error)
		error = roce_rs_table_put(child->fd, child);
	if (!error)
		error = answer(child, request);
	if (error == -EPROTONOSUPPORT)
		rdma_reject(child->id, NULL, 0);
	if (!error)
		error = roce_rs_service_add(child);
	if (error) {
		if (child->fd >= 0)
			roce_rs_table_remove(child->fd);
		roce_rs_destroy(child);
		return;
	}
	roce_list_add_tail(&listener->children, &child->sibling);
	listener->waiting++;
}

void roce_rs_child_ready(struct roce_rs *child)
{
	struct roce_rs *listener = child->listener;

	pthread_mutex_lock(&listener->lock);
	roce_list_remove(&child->sibling);
	roce_list_add_tail(&listener->accepted, &child->sibling);
	roce_rs_eventfd_ring(listener->accepted_fd);
	roce_rs_notify(listener);
	pthread_mutex_unlock(&listener->lock);
}

static void discard(struct roce_rs *child)
{
	roce_rs_service_remove(child);
	roce_rs_table_remove(child->fd);
	roce_rs_destroy(child);
}

void roce_rs_child_gone(struct roce_rs *child)
{
	pthread_mutex_lock(&child->listener->lock);
	remove_child(child->listener, child);
	pthread_mutex_unlock(&child->listener->lock);
	discard(child);
}

static void discard_all(struct roce_list *children)
{
	struct roce_list *pos, *tmp;

	roce_list_for_each_safe (pos, tmp, children) {
		roce_list_remove(pos);
		discard(roce_container_of(pos, struct roce_rs, sibling));
	}
}

void roce_rs_discard_children(struct roce_rs *listener)
{
	discard_all(&listener->children);
	discard_all(&listener->accepted);
}

int roce_rs_listen(struct roce_rs *rs, int backlog)
{
	int error = 0;

	pthread_mutex_lock(&rs->lock);
	if (rs->state == ROCE_RS_LISTENING)
		goto unlock;
	if (rs->state != ROCE_RS_IDLE && rs->state != ROCE_RS_BOUND) {
		error = -EINVAL;
		goto unlock;
	}
	if (rs->accepted_fd < 0)
		rs->accepted_fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
	if (rs->accepted_fd < 0 || rdma_listen(rs->id, backlog)) {
		error = -errno;
		goto unlock;
	}
	rs->state = ROCE_RS_LISTENING;
	error = roce_rs_service_add(rs);
unlock:
	pthread_mutex_unlock(&rs->lock);
	return error;
}

static struct roce_rs *take_accepted(struct roce_rs *listener)
{
	struct roce_rs *child = NULL;
	uint64_t one;

	pthread_mutex_lock(&listener->lock);
	if (!roce_list_is_empty(&listener->accepted) &&
	    read(listener->accepted_fd, &one, sizeof(one)) == sizeof(one)) {
		child = roce_container_of(listener->accepted.next, struct roce_rs, sibling);
		remove_child(listener, child);
		child->listener = NULL;
	}
	pthread_mutex_unlock(&listener->lock);
	return child;
}

int roce_rs_accept(struct roce_rs *listener, struct roce_rs **out)
{
	if (listener->state != ROCE_RS_LISTENING)
		return -EBADF;
	for (;;) {
		struct pollfd waiting = {.fd = listener->accepted_fd, .events = POLLIN};
		struct roce_rs *child = take_accepted(listener);

		if (child) {
			pthread_mutex_lock(&child->lock);
			roce_rs_service_keepalive(child);
			pthread_mutex_unlock(&child->lock);
			*out = child;
			return 0;
		}
		if (roce_rs_is_nonblocking(listener, 0))
			return -EAGAIN;
		if (poll(&waiting, 1, -1) < 0)
			return -errno;
	}
}
