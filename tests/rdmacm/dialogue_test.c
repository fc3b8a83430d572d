/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections as a program sees them: which events come with which status and parameters, how much
 * private data they show, in what state the queue pairs are, and what calls at the wrong moment
 * get.
 */
#include "ends.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

static void check_private(const void *data, unsigned length, unsigned capacity, const char *text)
{
	static const uint8_t zeros[256];
	size_t said = strlen(text);

	assert_int_equal(length, capacity);
	assert_memory_equal(data, text, said);
	assert_memory_equal((const uint8_t *)data + said, zeros, capacity - said);
}

static void connect__events_and_parameters(void **state)
{
	struct rdma_conn_param ask = {.private_data = "hello",
				      .private_data_len = 5,
				      .responder_resources = 3,
				      .initiator_depth = 2,
				      .flow_control = 1,
				      .retry_count = 5,
				      .rnr_retry_count = 6};
	struct rdma_conn_param answer = {.private_data = "welcome",
					 .private_data_len = 7,
					 .responder_resources = 1,
					 .initiator_depth = 2,
					 .rnr_retry_count = 4};
	struct rdma_cm_event *event;
	struct ends e;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	ends_make_qp(e.active);
	assert_int_equal(state_of(e.active->qp), IBV_QPS_INIT);
	assert_int_equal(rdma_connect(e.active, &ask), 0);

	event = ends_expect(e.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	assert_ptr_equal(event->listen_id, e.listener);
	assert_ptr_not_equal(e.passive, e.listener);
	assert_ptr_equal(e.passive->context, e.listener->context);
	assert_ptr_equal(e.passive->channel, e.channel);
	assert_ptr_equal(e.passive->verbs, e.active->verbs);
	assert_ptr_equal(e.passive->pd, e.active->pd);
	assert_int_equal(event->status, 0);
	check_private(event->param.conn.private_data, event->param.conn.private_data_len, 56,
		      "hello");
	assert_int_equal(event->param.conn.responder_resources, 2);
	assert_int_equal(event->param.conn.initiator_depth, 3);
	assert_int_equal(event->param.conn.flow_control, 1);
	assert_int_equal(event->param.conn.retry_count, 5);
	assert_int_equal(event->param.conn.rnr_retry_count, 6);
	assert_int_equal(event->param.conn.qp_num, e.active->qp->qp_num);
	assert_int_equal(rdma_get_src_port(e.passive), e.to.sin_port);
	assert_int_equal(rdma_get_dst_port(e.passive), rdma_get_src_port(e.active));
	rdma_ack_cm_event(event);

	ends_make_qp(e.passive);
	assert_int_equal(rdma_accept(e.passive, &answer), 0);
	assert_int_equal(state_of(e.passive->qp), IBV_QPS_RTS);
	event = ends_expect(e.channel, RDMA_CM_EVENT_ESTABLISHED);
	assert_ptr_equal(event->id, e.active);
	assert_int_equal(state_of(e.active->qp), IBV_QPS_RTS);
	check_private(event->param.conn.private_data, event->param.conn.private_data_len, 196,
		      "welcome");
	assert_int_equal(event->param.conn.responder_resources, 2);
	assert_int_equal(event->param.conn.initiator_depth, 1);
	assert_int_equal(event->param.conn.rnr_retry_count, 4);
	assert_int_equal(event->param.conn.qp_num, e.passive->qp->qp_num);
	rdma_ack_cm_event(event);
	event = ends_expect(e.channel, RDMA_CM_EVENT_ESTABLISHED);
	assert_ptr_equal(event->id, e.passive);
	assert_null(event->param.conn.private_data);
	assert_int_equal(event->param.conn.private_data_len, 0);
	rdma_ack_cm_event(event);
	ends_close(&e);
}

static void disconnect__each_side_hears_once(void **state)
{
	struct rdma_cm_event *event;
	struct ends e;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	ends_establish(&e);
	assert_int_equal(rdma_disconnect(e.active), 0);
	assert_int_equal(state_of(e.active->qp), IBV_QPS_ERR);
	event = ends_expect(e.channel, RDMA_CM_EVENT_DISCONNECTED);
	assert_ptr_equal(event->id, e.passive);
	assert_int_equal(event->status, 0);
	rdma_ack_cm_event(event);
	/* Its queue pair is the program's to end; until it reacts, the active side waits. */
	assert_int_equal(state_of(e.passive->qp), IBV_QPS_RTS);
	ends_expect_none(e.channel, 100);
	assert_int_equal(rdma_disconnect(e.passive), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_DISCONNECTED);
	assert_ptr_equal(event->id, e.active);
	rdma_ack_cm_event(event);
	assert_int_equal(ends_take(&e, RDMA_CM_EVENT_TIMEWAIT_EXIT), 0);
	assert_int_equal(ends_take(&e, RDMA_CM_EVENT_TIMEWAIT_EXIT), 0);
	ends_expect_none(e.channel, 50);
	ends_close(&e);
}

static void destroy__tells_the_peer(void **state)
{
	struct rdma_cm_event *event;
	struct ends e;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	ends_establish(&e);
	rdma_destroy_qp(e.active);
	assert_int_equal(rdma_destroy_id(e.active), 0);
	e.active = NULL;
	event = ends_expect(e.channel, RDMA_CM_EVENT_DISCONNECTED);
	assert_ptr_equal(event->id, e.passive);
	rdma_ack_cm_event(event);
	ends_close(&e);
}

static void reject__reason_and_data(void **state)
{
	struct rdma_cm_event *event;
	struct ends e;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	ends_make_qp(e.active);
	assert_int_equal(rdma_connect(e.active, NULL), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	/* Without parameters: all that the device has, all retries. */
	assert_int_equal(event->param.conn.retry_count, 7);
	assert_int_equal(event->param.conn.rnr_retry_count, 7);
	assert_true(event->param.conn.responder_resources > 0);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_reject(e.passive, "no", 2), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_REJECTED);
	assert_ptr_equal(event->id, e.active);
	assert_int_equal(event->status, 28);
	check_private(event->param.conn.private_data, event->param.conn.private_data_len, 148,
		      "no");
	assert_int_equal(state_of(e.active->qp), IBV_QPS_ERR);
	rdma_ack_cm_event(event);
	ends_close(&e);
}

static void connect__nobody_listens(void **state)
{
	struct ends e;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	rdma_destroy_id(e.active);
	e.to.sin_port = htobe16(1);
	e.active = ends_resolve(&e, RDMA_PS_TCP);
	ends_make_qp(e.active);
	assert_int_equal(rdma_connect(e.active, NULL), 0);
	assert_int_equal(ends_take(&e, RDMA_CM_EVENT_REJECTED), 8);
	ends_close(&e);
}

/* What another connection sends arrives behind all that was sent before: then that is there. */
static void let_pass(struct ends *e)
{
	struct rdma_conn_param param = {.qp_num = 0x334455};
	struct rdma_cm_id *other = ends_resolve(e, RDMA_PS_TCP);
	struct rdma_cm_event *event;
	struct rdma_cm_id *child;

	assert_int_equal(rdma_connect(other, &param), 0);
	event = ends_expect(e->channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	child = event->id;
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_reject(child, NULL, 0), 0);
	assert_int_equal(ends_take(e, RDMA_CM_EVENT_REJECTED), 28);
	assert_int_equal(rdma_destroy_id(child), 0);
	assert_int_equal(rdma_destroy_id(other), 0);
}

/* The program has gone before its request was answered. */
static void accept__peer_has_gone(void **state)
{
	struct rdma_conn_param param = {0};
	struct rdma_cm_event *event;
	struct ends e;
	int rc = 0;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	ends_make_qp(e.active);
	assert_int_equal(rdma_connect(e.active, &param), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	rdma_ack_cm_event(event);
	rdma_destroy_qp(e.active);
	rdma_destroy_id(e.active);
	e.active = NULL;
	let_pass(&e);
	ends_expect_none(e.channel, 0);
	ends_make_qp(e.passive);
	errno = 0;
	rc = rdma_accept(e.passive, &param);
	assert_int_equal(rc, -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(state_of(e.passive->qp), IBV_QPS_ERR);
	ends_expect_none(e.channel, 50);
	ends_close(&e);
}

/* UCX and others make their queue pairs themselves. */
static void connect__without_queue_pairs(void **state)
{
	struct rdma_conn_param param = {.qp_num = 0x123456, .responder_resources = 1};
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
	struct rdma_cm_event *event;
	struct ends e;
	int mask;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	assert_int_equal(rdma_connect(e.active, NULL), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_establish(e.active), -1);
	assert_int_equal(rdma_connect(e.active, &param), 0);
	/* The peer's part is not known yet. */
	assert_int_equal(rdma_init_qp_attr(e.active, &attr, &mask), -1);
	event = ends_expect(e.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(event->param.conn.qp_num, 0x123456);
	e.passive = event->id;
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_init_qp_attr(e.passive, &attr, &mask), 0);
	assert_int_equal(attr.dest_qp_num, 0x123456);
	assert_true(mask & IBV_QP_AV && mask & IBV_QP_RQ_PSN && mask & IBV_QP_DEST_QPN);
	assert_int_equal(attr.ah_attr.is_global, 1);
	assert_int_equal(attr.ah_attr.grh.hop_limit, 64);

	param.qp_num = 0x654321;
	assert_int_equal(rdma_accept(e.passive, &param), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_ptr_equal(event->id, e.active);
	assert_int_equal(event->param.conn.private_data_len, 196);
	assert_int_equal(event->param.conn.qp_num, 0x654321);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_init_qp_attr(e.active, &attr, &mask), 0);
	assert_int_equal(attr.dest_qp_num, 0x654321);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(rdma_init_qp_attr(e.active, &attr, &mask), 0);
	assert_true(mask & IBV_QP_TIMEOUT && attr.timeout > 0);
	ends_expect_none(e.channel, 50);
	assert_int_equal(rdma_establish(e.active), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_ESTABLISHED);
	assert_ptr_equal(event->id, e.passive);
	rdma_ack_cm_event(event);
	ends_expect_none(e.channel, 50);
	ends_close(&e);
}

/* Vendors' connection options travel in REQ, and may be a reason to refuse. */
/* A peer whose device can do more may say so in its REP, whatever the REQ had: no reason to fail.
 */
static void connect__peer_can_do_more(void **state)
{
	struct rdma_conn_param param = {
		.qp_num = 0x223344, .responder_resources = 128, .initiator_depth = 128};
	struct ibv_qp_init_attr init;
	struct rdma_cm_event *event;
	struct ibv_qp_attr attr;
	struct ends e;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	ends_make_qp(e.active);
	assert_int_equal(rdma_connect(e.active, NULL), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_accept(e.passive, &param), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_ESTABLISHED);
	assert_ptr_equal(event->id, e.active);
	assert_int_equal(event->param.conn.responder_resources, 128);
	assert_int_equal(event->param.conn.initiator_depth, 128);
	rdma_ack_cm_event(event);
	assert_int_equal(ibv_query_qp(e.active->qp, &attr, 0, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.max_rd_atomic, 16);
	assert_int_equal(attr.max_dest_rd_atomic, 16);
	ends_take(&e, RDMA_CM_EVENT_ESTABLISHED);
	ends_close(&e);
}

static void ece__offered_and_refused(void **state)
{
	struct ibv_ece ece = {.vendor_id = 0x15b3, .options = 0x12345678};
	struct rdma_conn_param param = {.qp_num = 0x10203};
	struct rdma_cm_event *event;
	struct ibv_ece got;
	struct ends e;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	assert_int_equal(rdma_set_local_ece(e.active, &ece), 0);
	assert_int_equal(rdma_connect(e.active, &param), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_get_remote_ece(e.passive, &got), 0);
	assert_int_equal(got.vendor_id, 0x15b3);
	assert_int_equal(got.options, 0x12345678);
	assert_int_equal(rdma_reject_ece(e.passive, "ece", 3), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event->status, 35);
	check_private(event->param.conn.private_data, event->param.conn.private_data_len, 148,
		      "ece");
	rdma_ack_cm_event(event);
	ends_close(&e);
}

/* Data may come before the RTU; the program says so, and the RTU changes nothing any more. */
static void notify__established_early(void **state)
{
	struct rdma_conn_param param = {.qp_num = 0x10204};
	struct rdma_cm_event *event;
	struct ends e;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	assert_int_equal(rdma_connect(e.active, &param), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	rdma_ack_cm_event(event);
	param.qp_num = 0x10205;
	assert_int_equal(rdma_accept(e.passive, &param), 0);
	assert_int_equal(ends_take(&e, RDMA_CM_EVENT_CONNECT_RESPONSE), 0);
	assert_int_equal(rdma_notify(e.passive, IBV_EVENT_QP_FATAL), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_notify(e.passive, IBV_EVENT_COMM_EST), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_ESTABLISHED);
	assert_ptr_equal(event->id, e.passive);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_notify(e.passive, IBV_EVENT_COMM_EST), -1);
	assert_int_equal(errno, EISCONN);
	assert_int_equal(rdma_establish(e.active), 0);
	ends_expect_none(e.channel, 50);
	ends_close(&e);
}

static void datagrams__connect_and_refuse(void **state)
{
	struct rdma_conn_param ask = {.private_data = "who", .private_data_len = 3};
	struct rdma_conn_param answer = {.private_data = "me", .private_data_len = 2};
	struct rdma_cm_event *event;
	struct ends e;

	(void)state;
	ends_open(&e, RDMA_PS_UDP);
	assert_int_equal(rdma_connect(e.active, &ask), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	check_private(event->param.ud.private_data, event->param.ud.private_data_len, 180, "who");
	e.passive = event->id;
	rdma_ack_cm_event(event);
	ends_make_qp(e.passive);
	assert_int_equal(state_of(e.passive->qp), IBV_QPS_RTS);
	assert_int_equal(rdma_accept(e.passive, &answer), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_ESTABLISHED);
	assert_ptr_equal(event->id, e.active);
	check_private(event->param.ud.private_data, event->param.ud.private_data_len, 136, "me");
	assert_int_equal(event->param.ud.qp_num, e.passive->qp->qp_num);
	assert_int_equal(event->param.ud.qkey, RDMA_UDP_QKEY);
	assert_int_equal(event->param.ud.ah_attr.is_global, 1);
	rdma_ack_cm_event(event);
	ends_expect_none(e.channel, 50);
	rdma_destroy_qp(e.passive);
	rdma_destroy_id(e.passive);
	rdma_destroy_id(e.active);

	e.active = ends_resolve(&e, RDMA_PS_UDP);
	assert_int_equal(rdma_connect(e.active, &ask), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_reject(e.passive, NULL, 0), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_UNREACHABLE);
	assert_int_equal(event->status, 2);
	assert_int_equal(event->param.ud.private_data_len, 136);
	rdma_ack_cm_event(event);
	ends_close(&e);
}

static void private_data__more_than_fits(void **state)
{
	static const uint8_t data[255];
	struct rdma_conn_param param = {.private_data = data, .private_data_len = 57};
	struct rdma_cm_event *event;
	struct ends e;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	ends_make_qp(e.active);
	assert_int_equal(rdma_connect(e.active, &param), -1);
	assert_int_equal(errno, EINVAL);
	param.private_data_len = 56;
	assert_int_equal(rdma_connect(e.active, &param), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_reject(e.passive, data, 149), -1);
	assert_int_equal(errno, EINVAL);
	ends_make_qp(e.passive);
	param.private_data_len = 197;
	assert_int_equal(rdma_accept(e.passive, &param), -1);
	assert_int_equal(errno, EINVAL);
	param.private_data_len = 196;
	assert_int_equal(rdma_accept(e.passive, &param), 0);
	assert_int_equal(ends_take(&e, RDMA_CM_EVENT_ESTABLISHED), 0);
	assert_int_equal(ends_take(&e, RDMA_CM_EVENT_ESTABLISHED), 0);
	ends_close(&e);
}

static void calls__at_the_wrong_moment(void **state)
{
	struct rdma_conn_param param = {.responder_resources = 200};
	struct rdma_cm_id *id;
	struct ends e;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	assert_int_equal(rdma_create_id(e.channel, &id, NULL, RDMA_PS_TCP), 0);
	errno = 0;
	assert_int_equal(rdma_connect(id, NULL), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_resolve_route(id, 1000), -1);
	assert_int_equal(rdma_accept(id, NULL), -1);
	assert_int_equal(rdma_disconnect(id), -1);
	assert_int_equal(rdma_notify(id, IBV_EVENT_COMM_EST), -1);
	assert_int_equal(rdma_get_request(e.listener, &id), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_destroy_id(id), 0);
	/* More than the device can. */
	ends_make_qp(e.active);
	assert_int_equal(rdma_connect(e.active, &param), -1);
	assert_int_equal(errno, EINVAL);
	ends_close(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connect__events_and_parameters),
		cmocka_unit_test(disconnect__each_side_hears_once),
		cmocka_unit_test(destroy__tells_the_peer),
		cmocka_unit_test(reject__reason_and_data),
		cmocka_unit_test(connect__nobody_listens),
		cmocka_unit_test(accept__peer_has_gone),
		cmocka_unit_test(connect__without_queue_pairs),
		cmocka_unit_test(connect__peer_can_do_more),
		cmocka_unit_test(ece__offered_and_refused),
		cmocka_unit_test(notify__established_early),
		cmocka_unit_test(datagrams__connect_and_refuse),
		cmocka_unit_test(private_data__more_than_fits),
		cmocka_unit_test(calls__at_the_wrong_moment),
	};

	ends_enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
