/* SPDX-License-Identifier: BSD-2-Clause */
/* A socket's birth and end, and how a change reaches the threads that wait for it. */
#include "rsocket/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "rsocket/datagram.h"
#include "rsocket/pollers.h"

int roce_rs_create(struct roce_rs **out, int domain)
{
	struct roce_rs *rs = calloc(1, sizeof(*rs));

	if (!rs)
		return -ENOMEM;
	rs->fd = -1;
	rs->domain = domain;
	rs->owner = getpid();
	rs->sizes = roce_rs_config()->sizes;
	rs->watcher_fd = -1;
	rs->accepted_fd = -1;
	pthread_mutex_init(&rs->send_lock, NULL);
	pthread_mutex_init(&rs->recv_lock, NULL);
	pthread_mutex_init(&rs->lock, NULL);
	pthread_cond_init(&rs->changed, NULL);
	roce_list_init(&rs->mappings);
	roce_list_init(&rs->sibling);
	roce_list_init(&rs->children);
	roce_list_init(&rs->accepted);
	roce_list_init(&rs->keepalive_link);
	*out = rs;
	return 0;
}

void roce_rs_destroy(struct roce_rs *rs)
{
	if (!rs)
		return;
	roce_ds_destroy(rs);
	roce_rs_endpoint_destroy(rs);
	if (rs->id)
		rdma_destroy_id(rs->id);
	if (rs->channel)
		rdma_destroy_event_channel(rs->channel);
	if (rs->accepted_fd >= 0)
		close(rs->accepted_fd);
	pthread_cond_destroy(&rs->changed);
	pthread_mutex_destroy(&rs->lock);
	pthread_mutex_destroy(&rs->recv_lock);
	pthread_mutex_destroy(&rs->send_lock);
	free(rs);
}

void roce_rs_notify(struct roce_rs *rs)
{
	pthread_cond_broadcast(&rs->changed);
	if (rs->watcher_fd >= 0)
		roce_rs_eventfd_ring(rs->watcher_fd);
	if (rs->poller_count)
		roce_rs_pollers_ring();
}

void roce_rs_fail(struct roce_rs *rs, int error)
{
	rs->state = ROCE_RS_FAILED;
	rs->error = error;
	rs->is_readable = false;
	rs->is_writable = false;
	roce_rs_notify(rs);
}

bool roce_rs_is_connecting(const struct roce_rs *rs)
{
	switch (rs->state) {
	case ROCE_RS_RESOLVING_ADDRESS:
	case ROCE_RS_RESOLVING_ROUTE:
	case ROCE_RS_CONNECTING:
	case ROCE_RS_ACCEPTING:
		return true;
	case ROCE_RS_IDLE:
	case ROCE_RS_BOUND:
	case ROCE_RS_LISTENING:
	case ROCE_RS_CONNECTED:
	case ROCE_RS_DISCONNECTED:
	case ROCE_RS_FAILED:
		return false;
	}
	return false;
}

bool roce_rs_is_nonblocking(const struct roce_rs *rs, int flags)
{
	return (rs->fd_flags & O_NONBLOCK) || (flags & MSG_DONTWAIT);
}
