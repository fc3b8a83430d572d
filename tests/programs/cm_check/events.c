/* SPDX-License-Identifier: BSD-2-Clause */
/* Which event may come in which stage of a connection, and what follows from it. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define FAILURES_SHOWN 20
#define BIT(event)     (1u << RDMA_CM_EVENT_##event)
#define FAILURES       (BIT(REJECTED) | BIT(UNREACHABLE) | BIT(CONNECT_ERROR))

static const uint32_t allowed[STAGE_COUNT] = {
	[STAGE_ADDRESS] = BIT(ADDR_RESOLVED) | BIT(ADDR_ERROR),
	[STAGE_ROUTE] = BIT(ROUTE_RESOLVED) | BIT(ROUTE_ERROR),
	[STAGE_CONNECT] = BIT(ESTABLISHED) | FAILURES,
	/* The peer may leave before its confirmation has come through. */
	[STAGE_ACCEPTED] = BIT(ESTABLISHED) | BIT(DISCONNECTED) | FAILURES,
	[STAGE_UP] = BIT(DISCONNECTED),
	[STAGE_CLOSING] = BIT(DISCONNECTED),
	[STAGE_TIMEWAIT] = BIT(TIMEWAIT_EXIT),
	[STAGE_ENDED] = 0,
};

static bool is_closer(const struct check *k, const struct conn *c)
{
	return k->options.closer == CLOSE_BOTH ||
	       (k->options.closer == CLOSE_CLIENT) == c->is_active;
}

static void on_established(struct check *k, struct conn *c, const struct rdma_conn_param *p)
{
	k->count[COUNT_established]++;
	c->stage = STAGE_UP;
	c->was_up = true;
	if (c->is_active && (p->private_data_len < TAG_MAX ||
			     memcmp(p->private_data, k->options.tag, TAG_MAX) != 0))
		complain(k, c, "another server answered");
	if (c->is_active)
		conn_check_depths(k, c, p);
	if (k->options.is_held)
		return;
	if (k->options.with_data) {
		if (c->is_active)
			device_ask(k, c);
		else if (c->has_answered && is_closer(k, c))
			conn_close(k, c);
		return;
	}
	if (is_closer(k, c))
		conn_close(k, c);
}

static void on_disconnected(struct check *k, struct conn *c)
{
	k->count[COUNT_disconnected]++;
	device_poll(k); /* an answer may have come before the end */
	if (c->stage != STAGE_CLOSING)
		rdma_disconnect(c->id);
	c->stage = STAGE_TIMEWAIT;
	k->open--;
	if (k->count[COUNT_started] == k->options.count && !k->open)
		k->finished = seconds_now();
	device_drop_qp(c);
	if (k->options.is_forgetful)
		conn_end(k, c);
}

static void on_failure(struct check *k, struct conn *c, const struct rdma_cm_event *e)
{
	if (e->event == RDMA_CM_EVENT_REJECTED)
		k->count[COUNT_rejected]++;
	else if (e->event == RDMA_CM_EVENT_UNREACHABLE)
		k->count[COUNT_unreachable]++;
	else
		k->count[COUNT_errors]++;
	if (e->status == 0)
		complain(k, c, "%s without a status", rdma_event_str(e->event));
	if (k->count[COUNT_rejected] + k->count[COUNT_unreachable] + k->count[COUNT_errors] <=
	    FAILURES_SHOWN)
		printf("connection %u: %s, status %d\n", c->number, rdma_event_str(e->event),
		       e->status);
	conn_end(k, c);
}

static void on_event(struct check *k, struct conn *c, const struct rdma_cm_event *e)
{
	if (e->event == RDMA_CM_EVENT_ADDR_RESOLVED) {
		c->stage = STAGE_ROUTE;
		if (rdma_resolve_route(c->id, 5000)) {
			complain(k, c, "rdma_resolve_route: %s", strerror(errno));
			conn_end(k, c);
		}
	} else if (e->event == RDMA_CM_EVENT_ROUTE_RESOLVED) {
		conn_connect(k, c);
	} else if (e->event == RDMA_CM_EVENT_ESTABLISHED) {
		on_established(k, c, &e->param.conn);
	} else if (e->event == RDMA_CM_EVENT_DISCONNECTED) {
		on_disconnected(k, c);
	} else if (e->event == RDMA_CM_EVENT_TIMEWAIT_EXIT) {
		k->count[COUNT_timewait]++;
		conn_end(k, c);
	} else {
		on_failure(k, c, e);
	}
}

/* A copy: acknowledged first, because an id is destroyed only when all its events are. */
static void take(struct check *k, struct rdma_cm_event *e)
{
	struct rdma_cm_event copy = *e;
	uint8_t private_data[256];
	struct conn *c;

	if (copy.param.conn.private_data_len)
		memcpy(private_data, copy.param.conn.private_data,
		       copy.param.conn.private_data_len);
	copy.param.conn.private_data = private_data;
	rdma_ack_cm_event(e);
	if (copy.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		conn_on_request(k, copy.id, &copy.param.conn);
		return;
	}
	c = copy.id->context;
	if (copy.id == k->listener || !(allowed[c->stage] >> copy.event & 1)) {
		complain(k, copy.id == k->listener ? NULL : c, "%s with status %d",
			 rdma_event_str(copy.event), copy.status);
		return;
	}
	on_event(k, c, &copy);
}

void events_read(struct check *k)
{
	int flags = fcntl(k->channel->fd, F_GETFL);
	struct rdma_cm_event *e;

	if (!(flags & O_NONBLOCK))
		fcntl(k->channel->fd, F_SETFL, flags | O_NONBLOCK);
	while (rdma_get_cm_event(k->channel, &e) == 0)
		take(k, e);
	if (errno != EAGAIN)
		complain(k, NULL, "rdma_get_cm_event: %s", strerror(errno));
}
