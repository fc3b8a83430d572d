/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dialogues between two hosts on a perfect wire, up to the connection: what each side is told, what
 * the messages carry, and what is repeated when the other side keeps silent.
 */
#include "pair.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void connect__parameters_arrive(void **state)
{
	static const uint8_t hello[] = "hello";
	struct roce_cm_connect c;
	const struct roce_cm_report *r;
	struct roce_cm_info info;
	struct pair p;

	(void)state;
	pair_init(&p, ROCE_CM_QP_RC);
	c = host_connect_params(&p.a, &p.b, A_QPN);
	c.user = &c;
	c.data = (struct roce_cm_data){hello, sizeof(hello)};
	c.route.traffic_class = 0x68;
	c.route.flow_label = 0xabcde;
	assert_int_equal(roce_cm_connect(p.a.cm, &c, p.now, &p.active), 0);
	assert_ptr_equal(roce_cm_id_user(p.active), &c);
	pair_exchange(&p);
	r = host_expect(&p.b, 0, ROCE_CM_REPORT_CONNECT_REQUEST, 0);
	assert_int_equal(r->params.qpn.v, A_QPN);
	assert_int_equal(r->params.starting_psn.v, 0x123456);
	assert_int_equal(r->params.responder_resources, 3);
	assert_int_equal(r->params.initiator_depth, 4);
	assert_int_equal(r->params.retry_count, 5);
	assert_int_equal(r->params.rnr_retry_count, 6);
	assert_true(r->params.flow_control);
	assert_false(r->params.srq);
	assert_int_equal(r->params.ca_guid, p.a.guid);
	assert_int_equal(r->private_len, 56);
	assert_memory_equal(r->private_data, hello, sizeof(hello));
	for (size_t i = sizeof(hello); i < 56; i++)
		assert_int_equal(r->private_data[i], 0);
	assert_ptr_equal(r->listener, p.listener);
	assert_ptr_equal(r->owner, &p.b.owner);
	assert_null(r->user);
	roce_cm_id_info(r->id, &info);
	assert_int_equal(info.src_port, 40000);
	assert_int_equal(info.dst_port, HOST_PORT);
	assert_int_equal(info.port_space, ROCE_PORT_SPACE_TCP);
	assert_int_equal(info.mtu, 3);
	assert_int_equal(info.ack_timeout, 17);
	assert_int_equal(info.route.traffic_class, 0x68);
	assert_int_equal(info.route.flow_label, 0xabcde);
	assert_int_equal(info.route.hop_limit, 64);
	assert_true(roce_gid_is_equal(&info.route.remote, &p.a.gid));
	assert_int_equal(info.qp_type, ROCE_CM_QP_RC);
	p.passive = r->id;

	assert_int_equal(host_accept(&p.b, p.passive, B_QPN, p.now), 0);
	pair_exchange(&p);
	r = host_expect(&p.a, 0, ROCE_CM_REPORT_CONNECT_RESPONSE, 0);
	assert_int_equal(r->params.qpn.v, B_QPN);
	assert_int_equal(r->params.starting_psn.v, 0x654321);
	assert_int_equal(r->params.responder_resources, 7);
	assert_int_equal(r->params.initiator_depth, 8);
	assert_int_equal(r->params.rnr_retry_count, 2);
	assert_int_equal(r->params.target_ack_delay, 15);
	assert_int_equal(r->params.ca_guid, p.b.guid);
	assert_int_equal(r->private_len, 196);
	assert_ptr_equal(r->user, &c);
	pair_fini(&p);
}

static void connect__established_and_closed(void **state)
{
	struct pair p;

	(void)state;
	pair_establish(&p);
	assert_int_equal(host_counter(&p.a, ROCE_CM_STAT_ESTABLISHED), 1);
	assert_int_equal(host_counter(&p.b, ROCE_CM_STAT_ESTABLISHED), 1);
	assert_int_equal(roce_cm_disconnect(p.a.cm, p.active, p.now), 0);
	pair_exchange(&p);
	host_expect(&p.b, 2, ROCE_CM_REPORT_DISCONNECTED, 0);
	/* Nothing is answered until the program says so. */
	assert_int_equal(p.a.report_count, 1);
	assert_int_equal(roce_cm_disconnect(p.b.cm, p.passive, p.now), 0);
	pair_exchange(&p);
	host_expect(&p.a, 1, ROCE_CM_REPORT_DISCONNECTED, 0);
	assert_int_equal(roce_cm_id_state(p.active), ROCE_CM_STATE_TIMEWAIT);
	pair_run(&p, false);
	/* 4.096 us << 17 */
	assert_int_equal(p.now, ROCE_NS_PER_S + (UINT64_C(4096) << 17));
	host_expect(&p.a, 2, ROCE_CM_REPORT_TIMEWAIT_EXIT, 0);
	host_expect(&p.b, 3, ROCE_CM_REPORT_TIMEWAIT_EXIT, 0);
	roce_cm_destroy(p.a.cm, p.active, p.now);
	roce_cm_destroy(p.b.cm, p.passive, p.now);
	pair_run(&p, false);
	assert_int_equal(p.a.report_count, 3);
	assert_int_equal(p.b.report_count, 4);
	assert_int_equal(p.a.owner.id_count, 0);
	assert_int_equal(p.b.owner.id_count, 0);
	assert_int_equal(p.b.owner.half_open_count, 0);
	pair_fini(&p);
}

static void connect__nobody_listens(void **state)
{
	const struct roce_cm_report *r;
	struct pair p;

	(void)state;
	pair_init(&p, ROCE_CM_QP_RC);
	roce_cm_unlisten(p.b.cm, p.listener, p.now);
	p.now += 3 * ROCE_NS_PER_S;
	p.active = host_connect(&p.a, &p.b, A_QPN, p.now);
	pair_exchange(&p);
	r = host_expect(&p.a, 0, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_INVALID_SERVICE_ID);
	assert_int_equal(r->private_len, 148);
	assert_int_equal(p.b.report_count, 0);
	pair_run(&p, false);
	assert_int_equal(p.a.report_count, 1);
	pair_fini(&p);
}

/* The program closes its listener and opens it again, and the peer was faster. */
static void connect__a_moment_before_the_listener(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p, ROCE_CM_QP_RC);
	roce_cm_unlisten(p.b.cm, p.listener, p.now);
	p.active = host_connect(&p.a, &p.b, A_QPN, p.now);
	pair_exchange(&p);
	assert_int_equal(host_counter(&p.b, ROCE_CM_RX_EARLY), 1);
	assert_int_equal(p.a.report_count, 0);
	p.now += 50 * ROCE_NS_PER_MS;
	p.listener = host_listen(&p.b, ROCE_CM_QP_RC, HOST_PORT);
	assert_true(roce_cm_deadline(p.b.cm) <= p.now);
	roce_cm_on_deadline(p.b.cm, p.now);
	host_pull(&p.b);
	p.passive = host_expect(&p.b, 0, ROCE_CM_REPORT_CONNECT_REQUEST, 0)->id;
	assert_int_equal(host_accept(&p.b, p.passive, B_QPN, p.now), 0);
	pair_exchange(&p);
	host_expect(&p.a, 0, ROCE_CM_REPORT_CONNECT_RESPONSE, 0);
	pair_fini(&p);
}

static void connect__the_listener_does_not_come_back(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p, ROCE_CM_QP_RC);
	roce_cm_unlisten(p.b.cm, p.listener, p.now);
	p.active = host_connect(&p.a, &p.b, A_QPN, p.now);
	pair_exchange(&p);
	p.now += 499 * ROCE_NS_PER_MS;
	assert_true(roce_cm_deadline(p.b.cm) > p.now);
	p.now += ROCE_NS_PER_MS;
	assert_true(roce_cm_deadline(p.b.cm) <= p.now);
	roce_cm_on_deadline(p.b.cm, p.now);
	pair_exchange(&p);
	host_expect(&p.a, 0, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_INVALID_SERVICE_ID);
	assert_int_equal(host_counter(&p.b, ROCE_CM_RX_NO_LISTENER), 1);
	pair_fini(&p);
}

/* There is room for some; the others are refused at once, as ever. */
static void connect__more_than_can_wait_for_a_listener(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p, ROCE_CM_QP_RC);
	roce_cm_unlisten(p.b.cm, p.listener, p.now);
	for (uint32_t i = 0; i < 40; i++) {
		host_connect(&p.a, &p.b, A_QPN + i, p.now);
		pair_exchange(&p);
	}
	assert_int_equal(host_counter(&p.b, ROCE_CM_RX_EARLY), 32);
	assert_int_equal(host_counter(&p.b, ROCE_CM_RX_NO_LISTENER), 8);
	assert_int_equal(p.a.report_count, 8);
	pair_fini(&p);
}

static void sidr__a_moment_before_the_listener(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p, ROCE_CM_QP_UD);
	roce_cm_unlisten(p.b.cm, p.listener, p.now);
	p.active = host_sidr(&p.a, &p.b, p.now);
	pair_exchange(&p);
	p.now += 50 * ROCE_NS_PER_MS;
	p.listener = host_listen(&p.b, ROCE_CM_QP_UD, HOST_PORT);
	roce_cm_on_deadline(p.b.cm, p.now);
	host_pull(&p.b);
	p.passive = host_expect(&p.b, 0, ROCE_CM_REPORT_CONNECT_REQUEST, 0)->id;
	assert_int_equal(host_accept(&p.b, p.passive, B_QPN, p.now), 0);
	pair_exchange(&p);
	host_expect(&p.a, 0, ROCE_CM_REPORT_ESTABLISHED, 0);
	pair_fini(&p);
}

static void reject__by_the_program(void **state)
{
	static const uint8_t why[] = "busy";
	const struct roce_cm_data data = {why, sizeof(why)};
	const struct roce_cm_report *r;
	struct pair p;

	(void)state;
	pair_request(&p);
	assert_int_equal(roce_cm_reject(p.b.cm, p.passive, ROCE_CM_REJ_CONSUMER, &data, p.now), 0);
	pair_exchange(&p);
	r = host_expect(&p.a, 0, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_CONSUMER);
	assert_int_equal(r->private_len, 148);
	assert_memory_equal(r->private_data, why, sizeof(why));
	assert_int_equal(host_accept(&p.b, p.passive, B_QPN, p.now), -EINVAL);
	pair_run(&p, false);
	assert_int_equal(p.a.report_count, 1);
	assert_int_equal(p.b.report_count, 1);
	pair_fini(&p);
}

static void reject__by_the_active_side(void **state)
{
	struct pair p;

	(void)state;
	pair_respond(&p);
	assert_int_equal(roce_cm_reject(p.a.cm, p.active, ROCE_CM_REJ_CONSUMER, NULL, p.now), 0);
	pair_exchange(&p);
	host_expect(&p.b, 1, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_CONSUMER);
	pair_run(&p, false);
	assert_int_equal(p.b.report_count, 2);
	pair_fini(&p);
}

/* Whatever the reason, the program is told that number. */
static void reject__every_reason(void **state)
{
	static const enum roce_cm_rej_reason reasons[] = {
#define X(name, value, text) ROCE_CM_REJ_##name,
		ROCE_CM_REJ_LIST(X)
#undef X
	};

	(void)state;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		struct pair p;

		pair_request(&p);
		assert_int_equal(roce_cm_reject(p.b.cm, p.passive, reasons[i], NULL, p.now), 0);
		pair_exchange(&p);
		host_expect(&p.a, 0, ROCE_CM_REPORT_REJECTED, (int)reasons[i]);
		/* A stale connection leaves our queue pair in TIMEWAIT, the others are over. */
		assert_int_equal(roce_cm_id_state(p.active), reasons[i] == ROCE_CM_REJ_STALE
								     ? ROCE_CM_STATE_TIMEWAIT
								     : ROCE_CM_STATE_IDLE);
		pair_run(&p, false);
		assert_int_equal(p.a.report_count, 1);
		pair_fini(&p);
	}
}

/* Peers may ask for times that help nobody: they are bounded. */
static void timeout__extreme_times(void **state)
{
	static const struct {
		uint8_t response, ack;
		roce_ns_t repeat, timewait;
	} rows[] = {
		{0, 0, UINT64_C(4096) << 12, ROCE_NS_PER_MS},
		{31, 31, 300 * ROCE_NS_PER_S, UINT64_C(4096) << 24},
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct roce_cm_packet packets[HOST_PACKETS_MAX];
		struct roce_cm_connect c;
		struct pair p;

		pair_init(&p, ROCE_CM_QP_RC);
		c = host_connect_params(&p.a, &p.b, A_QPN);
		c.response_timeout = rows[i].response;
		c.ack_timeout = rows[i].ack;
		assert_int_equal(roce_cm_connect(p.a.cm, &c, p.now, &p.active), 0);
		pair_exchange(&p);
		p.passive = host_expect(&p.b, 0, ROCE_CM_REPORT_CONNECT_REQUEST, 0)->id;
		assert_int_equal(host_accept(&p.b, p.passive, B_QPN, p.now), 0);
		assert_int_equal(roce_cm_deadline(p.b.cm), p.now + rows[i].repeat);
		pair_exchange(&p);
		assert_int_equal(roce_cm_establish(p.a.cm, p.active, p.now), 0);
		pair_exchange(&p);
		assert_int_equal(roce_cm_disconnect(p.a.cm, p.active, p.now), 0);
		pair_exchange(&p);
		assert_int_equal(roce_cm_disconnect(p.b.cm, p.passive, p.now), 0);
		assert_int_equal(roce_cm_deadline(p.b.cm), p.now + rows[i].timewait);
		host_take(&p.b, packets);
		pair_fini(&p);
	}
}

/* An MRA may ask for hours. */
static void mra__extreme_time(void **state)
{
	struct roce_cm_message m = {.attr = ROCE_CM_MRA};
	struct roce_cm_info info;
	struct roce_cm_packet mra;
	struct pair p;

	(void)state;
	pair_request(&p);
	roce_cm_id_info(p.active, &info);
	m.tid = info.tid;
	m.local_id = 77;
	m.remote_id = info.local_id;
	m.mra.service_timeout = 31;
	mra.route = host_route(&p.b, &p.a);
	roce_cm_message_encode(&m, mra.mad);
	assert_int_equal(host_give(&p.a, &mra, p.now), ROCE_CM_RX_ACCEPTED);
	assert_int_equal(roce_cm_deadline(p.a.cm), p.now + 300 * ROCE_NS_PER_S);
	pair_fini(&p);
}

/* 16 sends, 2 x 4.096 us << 16 plus 4.096 us << 20 apart. */
static void timeout__nobody_answers_the_req(void **state)
{
	const roce_ns_t apart = 2 * (UINT64_C(4096) << 16) + (UINT64_C(4096) << 20);
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct roce_cm_message m;
	struct pair p;

	(void)state;
	pair_init(&p, ROCE_CM_QP_RC);
	p.active = host_connect(&p.a, &p.b, A_QPN, p.now);
	for (unsigned i = 0; i < 16; i++) {
		assert_int_equal(host_take(&p.a, packets), 1);
		m = host_decode(&packets[0]);
		assert_int_equal(m.attr, ROCE_CM_REQ);
		host_pull(&p.a);
		assert_int_equal(p.a.report_count, 0);
		assert_int_equal(roce_cm_deadline(p.a.cm), p.now + apart);
		p.now += apart;
		roce_cm_on_deadline(p.a.cm, p.now - 1);
		assert_false(roce_cm_tx_is_pending(p.a.cm));
		roce_cm_on_deadline(p.a.cm, p.now);
	}
	host_expect(&p.a, 0, ROCE_CM_REPORT_UNREACHABLE, -ETIMEDOUT);
	assert_int_equal(p.a.reports[0].private_len, 0);
	assert_int_equal(host_take(&p.a, packets), 1);
	m = host_decode(&packets[0]);
	assert_int_equal(m.attr, ROCE_CM_REJ);
	assert_int_equal(m.rej.reason, ROCE_CM_REJ_TIMEOUT);
	assert_int_equal(m.rej.info_len, 8);
	assert_int_equal(roce_cm_deadline(p.a.cm), ROCE_NEVER);
	assert_int_equal(host_counter(&p.a, ROCE_CM_STAT_TX_REPEATED), 15);
	assert_int_equal(host_counter(&p.a, ROCE_CM_STAT_TIMEOUTS), 1);
	pair_fini(&p);
}

static void timeout__nobody_answers_the_rep(void **state)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	roce_ns_t start;
	struct pair p;

	(void)state;
	pair_request(&p);
	assert_int_equal(host_accept(&p.b, p.passive, B_QPN, p.now), 0);
	assert_int_equal(host_take(&p.b, packets), 1);
	start = p.now;
	/* The active side sees nothing, and its REQs are lost as well. */
	pair_run(&p, true);
	host_expect(&p.b, 1, ROCE_CM_REPORT_UNREACHABLE, -ETIMEDOUT);
	host_expect(&p.a, 0, ROCE_CM_REPORT_UNREACHABLE, -ETIMEDOUT);
	assert_int_equal(p.b.report_count, 2);
	assert_int_equal(host_counter(&p.b, ROCE_CM_STAT_TX_REP), 16);
	assert_true(p.now >= start + 16 * (UINT64_C(4096) << 20));
	pair_fini(&p);
}

static void timeout__nobody_answers_the_dreq(void **state)
{
	struct pair p;

	(void)state;
	pair_establish(&p);
	assert_int_equal(roce_cm_disconnect(p.a.cm, p.active, p.now), 0);
	pair_run(&p, true);
	host_expect(&p.a, 1, ROCE_CM_REPORT_DISCONNECTED, -ETIMEDOUT);
	host_expect(&p.a, 2, ROCE_CM_REPORT_TIMEWAIT_EXIT, 0);
	assert_int_equal(host_counter(&p.a, ROCE_CM_STAT_TX_DREQ), 16);
	pair_fini(&p);
}

/* Each side's only RTU, REP, DREP is lost once. */
static void lost__rtu(void **state)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct pair p;

	(void)state;
	pair_respond(&p);
	assert_int_equal(roce_cm_establish(p.a.cm, p.active, p.now), 0);
	assert_int_equal(host_take(&p.a, packets), 1);
	assert_int_equal(host_decode(&packets[0]).attr, ROCE_CM_RTU);
	pair_run(&p, false);
	host_expect(&p.b, 1, ROCE_CM_REPORT_ESTABLISHED, 0);
	assert_int_equal(host_counter(&p.a, ROCE_CM_STAT_TX_RTU), 2);
	pair_fini(&p);
}

static void lost__drep(void **state)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct pair p;

	(void)state;
	pair_establish(&p);
	assert_int_equal(roce_cm_disconnect(p.a.cm, p.active, p.now), 0);
	pair_exchange(&p);
	assert_int_equal(roce_cm_disconnect(p.b.cm, p.passive, p.now), 0);
	assert_int_equal(host_take(&p.b, packets), 1);
	assert_int_equal(host_decode(&packets[0]).attr, ROCE_CM_DREP);
	pair_run(&p, false);
	host_expect(&p.a, 1, ROCE_CM_REPORT_DISCONNECTED, 0);
	host_expect(&p.a, 2, ROCE_CM_REPORT_TIMEWAIT_EXIT, 0);
	host_expect(&p.b, 3, ROCE_CM_REPORT_TIMEWAIT_EXIT, 0);
	pair_fini(&p);
}

static void notify__before_the_rtu(void **state)
{
	struct pair p;

	(void)state;
	pair_respond(&p);
	assert_int_equal(roce_cm_notify(p.a.cm, p.active, p.now), -EINVAL);
	assert_int_equal(roce_cm_notify(p.b.cm, p.passive, p.now), 0);
	host_expect(&p.b, 1, ROCE_CM_REPORT_ESTABLISHED, 0);
	assert_int_equal(roce_cm_notify(p.b.cm, p.passive, p.now), -EISCONN);
	assert_int_equal(roce_cm_establish(p.a.cm, p.active, p.now), 0);
	pair_exchange(&p);
	pair_run(&p, false);
	assert_int_equal(p.b.report_count, 2);
	pair_fini(&p);
}

/* ---- MRA ---- */

static void mra__only_when_the_req_comes_again(void **state)
{
	const roce_ns_t patience = (UINT64_C(4096) << 24) + (UINT64_C(4096) << 17);
	roce_ns_t at;
	struct pair p;

	(void)state;
	pair_request(&p);
	assert_int_equal(host_counter(&p.b, ROCE_CM_STAT_TX_MRA), 0);
	p.now = roce_cm_deadline(p.a.cm);
	roce_cm_on_deadline(p.a.cm, p.now);
	pair_exchange(&p);
	assert_int_equal(host_counter(&p.b, ROCE_CM_STAT_TX_MRA), 1);
	assert_int_equal(roce_cm_id_state(p.active), ROCE_CM_STATE_MRA_REQ_RCVD);
	assert_int_equal(roce_cm_id_state(p.passive), ROCE_CM_STATE_MRA_REQ_SENT);
	at = roce_cm_deadline(p.a.cm);
	assert_int_equal(at, p.now + patience);
	/* And again, after that time. */
	p.now = at;
	roce_cm_on_deadline(p.a.cm, p.now);
	pair_exchange(&p);
	assert_int_equal(host_counter(&p.b, ROCE_CM_STAT_TX_MRA), 2);
	assert_int_equal(p.b.report_count, 1);
	assert_int_equal(host_accept(&p.b, p.passive, B_QPN, p.now), 0);
	pair_exchange(&p);
	host_expect(&p.a, 0, ROCE_CM_REPORT_CONNECT_RESPONSE, 0);
	pair_fini(&p);
}

static void mra__only_when_the_rep_comes_again(void **state)
{
	struct pair p;

	(void)state;
	pair_respond(&p);
	p.now = roce_cm_deadline(p.b.cm);
	roce_cm_on_deadline(p.b.cm, p.now);
	pair_exchange(&p);
	assert_int_equal(host_counter(&p.a, ROCE_CM_STAT_TX_MRA), 1);
	assert_int_equal(roce_cm_id_state(p.active), ROCE_CM_STATE_MRA_REP_SENT);
	assert_int_equal(roce_cm_id_state(p.passive), ROCE_CM_STATE_MRA_REP_RCVD);
	assert_int_equal(p.a.report_count, 1);
	assert_int_equal(roce_cm_establish(p.a.cm, p.active, p.now), 0);
	pair_exchange(&p);
	host_expect(&p.b, 1, ROCE_CM_REPORT_ESTABLISHED, 0);
	pair_fini(&p);
}

/* ---- datagram services ---- */

static void sidr__answered(void **state)
{
	static const uint8_t hi[] = "hi";
	const struct roce_cm_params params = {.qpn.v = B_QPN, .qkey = 0x01234567};
	const struct roce_cm_data data = {hi, sizeof(hi)};
	const struct roce_cm_report *r;
	struct pair p;

	(void)state;
	pair_init(&p, ROCE_CM_QP_UD);
	p.active = host_sidr(&p.a, &p.b, p.now);
	pair_exchange(&p);
	r = host_expect(&p.b, 0, ROCE_CM_REPORT_CONNECT_REQUEST, 0);
	assert_true(r->is_ud);
	assert_int_equal(r->private_len, 180);
	p.passive = r->id;
	assert_int_equal(roce_cm_accept(p.b.cm, p.passive, &params, &data, p.now), 0);
	pair_exchange(&p);
	r = host_expect(&p.a, 0, ROCE_CM_REPORT_ESTABLISHED, 0);
	assert_true(r->is_ud);
	assert_int_equal(r->params.qpn.v, B_QPN);
	assert_int_equal(r->params.qkey, 0x01234567);
	assert_int_equal(r->private_len, 136);
	assert_memory_equal(r->private_data, hi, sizeof(hi));
	pair_run(&p, false);
	assert_int_equal(p.a.report_count, 1);
	assert_int_equal(p.b.report_count, 1);
	assert_int_equal(roce_cm_accept(p.b.cm, p.passive, &params, NULL, p.now), -EINVAL);
	pair_fini(&p);
}

static void sidr__refused(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p, ROCE_CM_QP_UD);
	p.active = host_sidr(&p.a, &p.b, p.now);
	pair_exchange(&p);
	p.passive = host_expect(&p.b, 0, ROCE_CM_REPORT_CONNECT_REQUEST, 0)->id;
	roce_cm_destroy(p.b.cm, p.passive, p.now);
	pair_exchange(&p);
	host_expect(&p.a, 0, ROCE_CM_REPORT_UNREACHABLE, ROCE_CM_SIDR_REJECTED);
	assert_int_equal(p.a.reports[0].private_len, 136);
	pair_fini(&p);
}

static void sidr__nobody_listens(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p, ROCE_CM_QP_RC);
	p.active = host_sidr(&p.a, &p.b, p.now);
	pair_exchange(&p);
	host_expect(&p.a, 0, ROCE_CM_REPORT_UNREACHABLE, ROCE_CM_SIDR_UNSUPPORTED);
	pair_fini(&p);
}

static void sidr__silence(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p, ROCE_CM_QP_UD);
	p.active = host_sidr(&p.a, &p.b, p.now);
	pair_run(&p, true);
	host_expect(&p.a, 0, ROCE_CM_REPORT_UNREACHABLE, -ETIMEDOUT);
	assert_int_equal(host_counter(&p.a, ROCE_CM_STAT_TX_SIDR_REQ), 16);
	assert_int_equal(p.now, ROCE_NS_PER_S + 16 * (UINT64_C(4096) << 20));
	pair_fini(&p);
}

/* The answer is lost; the program sees the request once. */
static void sidr__answer_lost(void **state)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct pair p;

	(void)state;
	pair_init(&p, ROCE_CM_QP_UD);
	p.active = host_sidr(&p.a, &p.b, p.now);
	pair_exchange(&p);
	p.passive = host_expect(&p.b, 0, ROCE_CM_REPORT_CONNECT_REQUEST, 0)->id;
	assert_int_equal(host_accept(&p.b, p.passive, B_QPN, p.now), 0);
	roce_cm_destroy(p.b.cm, p.passive, p.now);
	assert_int_equal(host_take(&p.b, packets), 1);
	pair_run(&p, false);
	host_expect(&p.a, 0, ROCE_CM_REPORT_ESTABLISHED, 0);
	assert_int_equal(p.b.report_count, 1);
	pair_fini(&p);
}

/* ---- kinds of queue pairs ---- */

static void connect__uc_and_xrc(void **state)
{
	static const struct {
		enum roce_cm_qp_type active, passive;
	} kinds[] = {{ROCE_CM_QP_UC, ROCE_CM_QP_UC}, {ROCE_CM_QP_XRC_SEND, ROCE_CM_QP_XRC_RECV}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct roce_cm_connect c;
		struct roce_cm_info info;
		struct pair p;

		pair_init(&p, kinds[i].passive);
		c = host_connect_params(&p.a, &p.b, A_QPN);
		c.qp_type = kinds[i].active;
		assert_int_equal(roce_cm_connect(p.a.cm, &c, p.now, &p.active), 0);
		pair_exchange(&p);
		p.passive = host_expect(&p.b, 0, ROCE_CM_REPORT_CONNECT_REQUEST, 0)->id;
		assert_int_equal(host_accept(&p.b, p.passive, B_QPN, p.now), 0);
		pair_exchange(&p);
		host_expect(&p.a, 0, ROCE_CM_REPORT_CONNECT_RESPONSE, 0);
		assert_int_equal(p.a.reports[0].params.qpn.v, B_QPN);
		assert_int_equal(roce_cm_establish(p.a.cm, p.active, p.now), 0);
		pair_exchange(&p);
		roce_cm_id_info(p.passive, &info);
		assert_int_equal(info.qp_type, kinds[i].passive);
		assert_int_equal(roce_cm_disconnect(p.b.cm, p.passive, p.now), 0);
		pair_exchange(&p);
		host_expect(&p.a, 1, ROCE_CM_REPORT_DISCONNECTED, 0);
		pair_fini(&p);
	}
}

static void ack_timeout__examples(void **state)
{
	(void)state;
	assert_int_equal(roce_cm_ack_timeout(16, 15), 17);
	assert_int_equal(roce_cm_ack_timeout(18, 15), 19);
	assert_int_equal(roce_cm_ack_timeout(16, 16), 18);
	assert_int_equal(roce_cm_ack_timeout(10, 20), 20);
	assert_int_equal(roce_cm_ack_timeout(18, 20), 21);
	assert_int_equal(roce_cm_ack_timeout(31, 31), 31);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connect__parameters_arrive),
		cmocka_unit_test(connect__established_and_closed),
		cmocka_unit_test(connect__nobody_listens),
		cmocka_unit_test(connect__a_moment_before_the_listener),
		cmocka_unit_test(connect__the_listener_does_not_come_back),
		cmocka_unit_test(connect__more_than_can_wait_for_a_listener),
		cmocka_unit_test(sidr__a_moment_before_the_listener),
		cmocka_unit_test(reject__by_the_program),
		cmocka_unit_test(reject__by_the_active_side),
		cmocka_unit_test(reject__every_reason),
		cmocka_unit_test(timeout__extreme_times),
		cmocka_unit_test(mra__extreme_time),
		cmocka_unit_test(timeout__nobody_answers_the_req),
		cmocka_unit_test(timeout__nobody_answers_the_rep),
		cmocka_unit_test(timeout__nobody_answers_the_dreq),
		cmocka_unit_test(lost__rtu),
		cmocka_unit_test(lost__drep),
		cmocka_unit_test(notify__before_the_rtu),
		cmocka_unit_test(mra__only_when_the_req_comes_again),
		cmocka_unit_test(mra__only_when_the_rep_comes_again),
		cmocka_unit_test(sidr__answered),
		cmocka_unit_test(sidr__refused),
		cmocka_unit_test(sidr__nobody_listens),
		cmocka_unit_test(sidr__silence),
		cmocka_unit_test(sidr__answer_lost),
		cmocka_unit_test(connect__uc_and_xrc),
		cmocka_unit_test(ack_timeout__examples),
	};

	return cmocka_run_group_tests_name("dialogue", tests, NULL, NULL);
}
