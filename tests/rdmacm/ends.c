/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See ends.h.
 */
#include "ends.h"

#include "harness/loopback.h"

#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

void ends_enter_namespace(void)
{
	unsetenv("UROCE_NAME");
	unsetenv("UROCE_SOCKET");
	unsetenv("UROCE_DAEMON");
	if (unshare(CLONE_NEWNET) != 0 || !loopback_raise()) {
		puts("no network namespace may be made here");
		exit(ENDS_SKIP);
	}
}

bool ends_is_readable(int fd, int ms)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, ms) == 1;
}

struct rdma_cm_event *ends_expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	if (!ends_is_readable(channel->fd, ENDS_MS))
		fail_msg("%s did not come", rdma_event_str(type));
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_string_equal(rdma_event_str(event->event), rdma_event_str(type));
	return event;
}

int ends_take(struct ends *e, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = ends_expect(e->channel, type);
	int status = event->status;

	assert_int_equal(rdma_ack_cm_event(event), 0);
	return status;
}

void ends_expect_none(struct rdma_event_channel *channel, int ms)
{
	assert_false(ends_is_readable(channel->fd, ms));
}

struct rdma_cm_id *ends_resolve(struct ends *e, enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(e->channel, &id, e, ps), 0);
	assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&e->to, 1000), 0);
	assert_int_equal(ends_take(e, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	assert_int_equal(rdma_resolve_route(id, 1000), 0);
	assert_int_equal(ends_take(e, RDMA_CM_EVENT_ROUTE_RESOLVED), 0);
	return id;
}

void ends_open(struct ends *e, enum rdma_port_space ps)
{
	struct sockaddr_in any = {.sin_family = AF_INET};

	memset(e, 0, sizeof(*e));
	e->channel = rdma_create_event_channel();
	assert_non_null(e->channel);
	assert_int_equal(rdma_create_id(e->channel, &e->listener, e, ps), 0);
	assert_int_equal(rdma_bind_addr(e->listener, (struct sockaddr *)&any), 0);
	assert_int_equal(rdma_listen(e->listener, 5), 0);
	e->to.sin_family = AF_INET;
	e->to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	e->to.sin_port = rdma_get_src_port(e->listener);
	assert_int_not_equal(e->to.sin_port, 0);
	e->active = ends_resolve(e, ps);
}

static void destroy(struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (id->qp)
		rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

void ends_close(struct ends *e)
{
	destroy(e->active);
	destroy(e->passive);
	destroy(e->listener);
	rdma_destroy_event_channel(e->channel);
}

void ends_make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = id->qp_type};

	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_non_null(id->qp);
}

void ends_establish(struct ends *e)
{
	struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1};
	struct rdma_cm_event *event;

	ends_make_qp(e->active);
	assert_int_equal(rdma_connect(e->active, &param), 0);
	event = ends_expect(e->channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	e->passive = event->id;
	rdma_ack_cm_event(event);
	ends_make_qp(e->passive);
	assert_int_equal(rdma_accept(e->passive, &param), 0);
	assert_int_equal(ends_take(e, RDMA_CM_EVENT_ESTABLISHED), 0);
	assert_int_equal(ends_take(e, RDMA_CM_EVENT_ESTABLISHED), 0);
}
