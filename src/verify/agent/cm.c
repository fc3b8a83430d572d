/* SPDX-License-Identifier: BSD-2-Clause */
/* The steps that cases with connections by rdma_cm have in common. */
#include "verify/agent/cm.h"

#include "verify/agent/socket.h"
#include "verify/agent/work.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>

#define RESOLVE_MS 5000

struct rdma_event_channel *va_cm_channel_create(struct va_run *run)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();

	if (!channel && errno == ENODEV)
		va_skip(run, "no rdma_cm on this machine");
	va_need(run, channel != NULL, "rdma_create_event_channel");
	return channel;
}

struct rdma_cm_event *va_cm_await(struct va_run *run, struct rdma_event_channel *channel,
				  enum rdma_cm_event_type expected)
{
	struct pollfd readable = {.fd = channel->fd, .events = POLLIN};
	struct rdma_cm_event *event;

	if (poll(&readable, 1, VA_STALL_S * 1000) != 1)
		va_fail(run, "no %s in %d s", rdma_event_str(expected), VA_STALL_S);
	va_need(run, !rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
	if (event->event != expected)
		va_fail(run, "%s with status %d came, expected %s", rdma_event_str(event->event),
			event->status, rdma_event_str(expected));
	return event;
}

void va_cm_expect(struct va_run *run, struct rdma_event_channel *channel,
		  enum rdma_cm_event_type expected)
{
	(void)rdma_ack_cm_event(va_cm_await(run, channel, expected));
}

struct rdma_cm_id *va_cm_listen(struct va_run *run, const struct va_device *device,
				struct rdma_event_channel *channel, int backlog)
{
	struct sockaddr_storage own = device->address;
	struct rdma_cm_id *listener;
	in_port_t port;

	va_need(run, !rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	va_need(run, !rdma_bind_addr(listener, (struct sockaddr *)&own), "rdma_bind_addr");
	va_need(run, !rdma_listen(listener, backlog), "rdma_listen");
	port = rdma_get_src_port(listener);
	if (own.ss_family == AF_INET)
		((struct sockaddr_in *)&own)->sin_port = port;
	else
		((struct sockaddr_in6 *)&own)->sin6_port = port;
	va_send(run, va_address_describe(&own));
	return listener;
}

void va_cm_hear(struct va_run *run, const struct va_device *device, struct sockaddr_storage *out)
{
	json_t *where = va_receive(run);

	va_address_take(run, device, where, out);
	json_decref(where);
}

struct rdma_cm_id *va_cm_resolve(struct va_run *run, const struct va_device *device,
				 struct rdma_event_channel *channel,
				 const struct sockaddr_storage *target)
{
	struct sockaddr_storage own = device->address;
	struct sockaddr_storage theirs = *target;
	struct rdma_cm_id *id;

	va_need(run, !rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	va_need(run,
		!rdma_resolve_addr(id, (struct sockaddr *)&own, (struct sockaddr *)&theirs,
				   RESOLVE_MS),
		"rdma_resolve_addr");
	va_cm_expect(run, channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	va_need(run, !rdma_resolve_route(id, RESOLVE_MS), "rdma_resolve_route");
	va_cm_expect(run, channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	return id;
}
