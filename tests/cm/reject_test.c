/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each check of a received message against one that breaks only it: the verdict, its counter, the
 * answer if there is to be one, and that nothing else happens; then the message without the fault,
 * which is taken.
 */
#include "scene.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* What is wrong with it. */
struct fault {
	const char *name;
	void (*apply)(struct roce_cm_message *m, struct roce_cm_route *route, uint8_t *data);
	enum roce_cm_verdict verdict;
	uint16_t reason; /* of the REJ that answers, 0 none */
};

/* Gives the message with the fault to `h`, and checks that only what is expected happens. */
static void expect_refusal(struct scene *s, struct host *h, const struct fault *f)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX], bad = s->p;
	struct roce_cm_message m = host_decode(&s->p);
	uint8_t data[ROCE_CM_PRIVATE_BYTES_MAX];
	uint64_t before = host_counter(h, f->verdict);
	size_t reports = h->report_count;
	size_t n;

	memcpy(data, m.private_data, m.private_len);
	m.private_data = data;
	f->apply(&m, &bad.route, data);
	roce_cm_message_encode(&m, bad.mad);
	print_message("%s\n", f->name);
	assert_int_equal(host_give(h, &bad, s->now), f->verdict);
	assert_int_equal(host_counter(h, f->verdict), before + 1);
	assert_int_equal(h->report_count, reports);
	n = host_take(h, packets);
	assert_int_equal(n, f->reason ? 1 : 0);
	if (n) {
		struct roce_cm_message rej = host_decode(&packets[0]);

		assert_int_equal(rej.attr, ROCE_CM_REJ);
		assert_int_equal(rej.rej.reason, f->reason);
		assert_int_equal(rej.tid, m.tid);
		assert_int_equal(rej.remote_id, m.local_id);
		/* To whom the packet came from, whatever the message says. */
		assert_true(roce_gid_is_equal(&packets[0].route.remote, &bad.route.local));
	}
}

static void expect_refusals(struct scene *s, struct host *h, const struct fault *faults,
			    size_t count)
{
	for (size_t i = 0; i < count; i++)
		expect_refusal(s, h, &faults[i]);
}

#define REFUSALS(s, h, faults) expect_refusals(s, h, faults, sizeof(faults) / sizeof((faults)[0]))

#define FAULT(name, ...)                                                                        \
	static void name(struct roce_cm_message *m, struct roce_cm_route *route, uint8_t *data) \
	{                                                                                       \
		(void)m;                                                                        \
		(void)route;                                                                    \
		(void)data;                                                                     \
		__VA_ARGS__;                                                                    \
	}

FAULT(no_comm_id, m->local_id = 0)
FAULT(other_local_id, m->local_id ^= 1)
FAULT(other_remote_id, m->remote_id ^= 1)
FAULT(other_tid, m->tid ^= 1)
FAULT(tid_of_another_word, m->tid ^= UINT64_C(1) << 32)
FAULT(from_elsewhere, route->local.raw[15] ^= 1)
FAULT(to_elsewhere, route->remote.raw[15] ^= 1)
FAULT(other_local_gid, m->req.primary.local_gid.raw[15] ^= 1)
FAULT(other_remote_gid, m->req.primary.remote_gid.raw[15] ^= 1)
FAULT(other_port, m->req.service_id++)
FAULT(other_port_space, m->req.service_id += 0x10000)
FAULT(no_ip_service, m->req.service_id = UINT64_C(0x1000000000000000))
FAULT(ip_header_version, data[0] = 0x10)
FAULT(ip_version, data[1] = 0x50)
FAULT(ip_source, data[19] ^= 1)
FAULT(ip_destination, data[35] ^= 1)
FAULT(transport_uc, m->req.transport = ROCE_CM_SERVICE_UC)
FAULT(transport_rd, m->req.transport = ROCE_CM_SERVICE_RD)
FAULT(transport_xrc, m->req.transport = ROCE_CM_SERVICE_EXTENDED; m->req.extended_transport = 1)
FAULT(transport_unknown, m->req.transport = ROCE_CM_SERVICE_EXTENDED; m->req.extended_transport = 2)
FAULT(mtu_zero, m->req.mtu = 0)
FAULT(mtu_beyond, m->req.mtu = 6)
FAULT(other_qpn, m->dreq.remote_qpn.v ^= 1)
FAULT(other_lap_qpn, m->lap.remote_qpn.v ^= 1)
FAULT(mra_of_lap, m->mra.answered = ROCE_CM_ANSWERED_OTHER)
FAULT(other_service, m->sidr_rep.service_id ^= 1)
FAULT(sidr_other_port, m->sidr_req.service_id++)
FAULT(no_guid, m->rej.info_len = 7)
FAULT(other_guid, m->rej.info[7] ^= 1)

/* ---- bytes that are no CM message ---- */

static void rx__no_message(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
		enum roce_cm_verdict verdict;
	} rows[] = {
		{0, 2, ROCE_CM_RX_BAD_BASE_VERSION},  {1, 3, ROCE_CM_RX_BAD_CLASS},
		{2, 1, ROCE_CM_RX_BAD_CLASS_VERSION}, {3, 0x81, ROCE_CM_RX_BAD_METHOD},
		{17, 0x30, ROCE_CM_RX_BAD_ATTRIBUTE},
	};
	struct roce_cm_route route;
	struct scene s;

	(void)state;
	scene_open(&s, ROCE_CM_QP_RC);
	host_connect(&s.a, &s.b, A_QPN, s.now);
	scene_catch(&s, &s.a);
	route = host_route(&s.b, &s.a);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct roce_cm_packet bad = s.p;

		bad.mad[rows[i].at] = rows[i].value;
		assert_int_equal(host_give(&s.b, &bad, s.now), rows[i].verdict);
		assert_int_equal(host_counter(&s.b, rows[i].verdict), 1);
	}
	assert_int_equal(roce_cm_rx(s.b.cm, &route, s.p.mad, 255, s.now), ROCE_CM_RX_BAD_LENGTH);
	assert_int_equal(roce_cm_rx(s.b.cm, &route, s.p.mad, 0, s.now), ROCE_CM_RX_BAD_LENGTH);
	assert_int_equal(host_counter(&s.b, ROCE_CM_RX_BAD_LENGTH), 2);
	assert_false(roce_cm_tx_is_pending(s.b.cm));
	assert_int_equal(host_give(&s.b, &s.p, s.now), ROCE_CM_RX_ACCEPTED);
	scene_close(&s);
}

/* ---- REQ ---- */

static void req__each_check(void **state)
{
	static const struct fault faults[] = {
		{"comm ID 0", no_comm_id, ROCE_CM_RX_NO_COMM_ID, 0},
		{"path from elsewhere", other_local_gid, ROCE_CM_RX_BAD_PATH,
		 ROCE_CM_REJ_INVALID_GID},
		{"path to elsewhere", other_remote_gid, ROCE_CM_RX_BAD_PATH,
		 ROCE_CM_REJ_INVALID_GID},
		{"packet from elsewhere", from_elsewhere, ROCE_CM_RX_BAD_PATH,
		 ROCE_CM_REJ_INVALID_GID},
		{"other port", other_port, ROCE_CM_RX_NO_LISTENER, ROCE_CM_REJ_INVALID_SERVICE_ID},
		{"other port space", other_port_space, ROCE_CM_RX_NO_LISTENER,
		 ROCE_CM_REJ_INVALID_SERVICE_ID},
		{"service that is no IP port", no_ip_service, ROCE_CM_RX_NO_LISTENER,
		 ROCE_CM_REJ_INVALID_SERVICE_ID},
		{"IP header of another version", ip_header_version, ROCE_CM_RX_BAD_IP_HEADER, 0},
		{"IP version 5", ip_version, ROCE_CM_RX_BAD_IP_HEADER, 0},
		{"IP source of another", ip_source, ROCE_CM_RX_BAD_PATH, ROCE_CM_REJ_INVALID_GID},
		{"IP destination of another", ip_destination, ROCE_CM_RX_BAD_PATH,
		 ROCE_CM_REJ_INVALID_GID},
		{"UC", transport_uc, ROCE_CM_RX_WRONG_TRANSPORT, ROCE_CM_REJ_INVALID_TRANSPORT},
		{"RD", transport_rd, ROCE_CM_RX_WRONG_TRANSPORT, ROCE_CM_REJ_INVALID_TRANSPORT},
		{"XRC", transport_xrc, ROCE_CM_RX_WRONG_TRANSPORT, ROCE_CM_REJ_INVALID_TRANSPORT},
		{"an unknown transport", transport_unknown, ROCE_CM_RX_WRONG_TRANSPORT,
		 ROCE_CM_REJ_INVALID_TRANSPORT},
		{"MTU 0", mtu_zero, ROCE_CM_RX_BAD_MTU, ROCE_CM_REJ_INVALID_MTU},
		{"MTU 6", mtu_beyond, ROCE_CM_RX_BAD_MTU, ROCE_CM_REJ_INVALID_MTU},
	};
	struct scene s;

	(void)state;
	scene_open(&s, ROCE_CM_QP_RC);
	host_connect(&s.a, &s.b, A_QPN, s.now);
	scene_catch(&s, &s.a);
	REFUSALS(&s, &s.b, faults);
	assert_int_equal(host_give(&s.b, &s.p, s.now), ROCE_CM_RX_ACCEPTED);
	scene_close(&s);
}

/* One that names an exchange that exists, but is none of it. */
static void req__in_anothers_name(void **state)
{
	static const struct fault faults[] = {
		{"another transaction", other_tid, ROCE_CM_RX_WRONG_TID, 0},
		{"to another address of ours", to_elsewhere, ROCE_CM_RX_WRONG_ADDRESS, 0},
	};
	struct scene s;

	(void)state;
	scene_open(&s, ROCE_CM_QP_RC);
	host_connect(&s.a, &s.b, A_QPN, s.now);
	scene_catch(&s, &s.a);
	assert_int_equal(host_give(&s.b, &s.p, s.now), ROCE_CM_RX_ACCEPTED);
	REFUSALS(&s, &s.b, faults);
	scene_close(&s);
}

/* ---- messages to the side that connects ---- */

static void rep__each_check(void **state)
{
	static const struct fault faults[] = {
		{"comm ID 0", no_comm_id, ROCE_CM_RX_NO_COMM_ID, 0},
		{"no such ID", other_remote_id, ROCE_CM_RX_UNKNOWN_ID, ROCE_CM_REJ_INVALID_COMM_ID},
		{"another transaction", other_tid, ROCE_CM_RX_WRONG_TID, 0},
		{"another transaction, high half", tid_of_another_word, ROCE_CM_RX_WRONG_TID, 0},
		{"from elsewhere", from_elsewhere, ROCE_CM_RX_WRONG_ADDRESS, 0},
		{"to elsewhere", to_elsewhere, ROCE_CM_RX_WRONG_ADDRESS, 0},
	};
	static const struct fault later[] = {
		{"another passive side", other_local_id, ROCE_CM_RX_WRONG_REMOTE_ID, 0},
	};
	struct scene s;

	(void)state;
	scene_open_with_request(&s);
	assert_int_equal(host_accept(&s.b, s.passive, B_QPN, s.now), 0);
	scene_catch(&s, &s.b);
	REFUSALS(&s, &s.a, faults);
	assert_int_equal(roce_cm_id_state(s.active), ROCE_CM_STATE_REQ_SENT);
	assert_int_equal(host_give(&s.a, &s.p, s.now), ROCE_CM_RX_ACCEPTED);
	REFUSALS(&s, &s.a, later);
	assert_int_equal(roce_cm_id_state(s.active), ROCE_CM_STATE_REP_RCVD);
	scene_close(&s);
}

static void mra__each_check(void **state)
{
	static const struct fault faults[] = {
		{"comm ID 0", no_comm_id, ROCE_CM_RX_NO_COMM_ID, 0},
		{"no such ID", other_remote_id, ROCE_CM_RX_UNKNOWN_ID, 0},
		{"another transaction", other_tid, ROCE_CM_RX_WRONG_TID, 0},
		{"from elsewhere", from_elsewhere, ROCE_CM_RX_WRONG_ADDRESS, 0},
		{"of a LAP", mra_of_lap, ROCE_CM_RX_WRONG_STATE, 0},
	};
	struct scene s;

	(void)state;
	scene_open_with_request(&s);
	s.now = roce_cm_deadline(s.a.cm);
	roce_cm_on_deadline(s.a.cm, s.now);
	scene_catch(&s, &s.a);
	assert_int_equal(host_give(&s.b, &s.p, s.now), ROCE_CM_RX_DUPLICATE);
	scene_catch(&s, &s.b);
	REFUSALS(&s, &s.a, faults);
	assert_int_equal(roce_cm_id_state(s.active), ROCE_CM_STATE_REQ_SENT);
	assert_int_equal(host_give(&s.a, &s.p, s.now), ROCE_CM_RX_ACCEPTED);
	scene_close(&s);
}

/* However many an MRA there are, each transmission is waited for once. */
static void mra__cannot_make_us_wait_for_ever(void **state)
{
	roce_ns_t at;
	struct scene s;

	(void)state;
	scene_open_with_request(&s);
	s.now = roce_cm_deadline(s.a.cm);
	roce_cm_on_deadline(s.a.cm, s.now);
	scene_catch(&s, &s.a);
	host_give(&s.b, &s.p, s.now);
	scene_catch(&s, &s.b);
	assert_int_equal(host_give(&s.a, &s.p, s.now), ROCE_CM_RX_ACCEPTED);
	at = roce_cm_deadline(s.a.cm);
	assert_int_equal(host_give(&s.a, &s.p, at - 1), ROCE_CM_RX_DUPLICATE);
	assert_int_equal(roce_cm_deadline(s.a.cm), at);
	scene_close(&s);
}

static void rej__each_check(void **state)
{
	static const struct fault faults[] = {
		{"no such ID", other_remote_id, ROCE_CM_RX_UNKNOWN_ID, 0},
		{"another transaction", other_tid, ROCE_CM_RX_WRONG_TID, 0},
		{"from elsewhere", from_elsewhere, ROCE_CM_RX_WRONG_ADDRESS, 0},
	};
	struct scene s;

	(void)state;
	scene_open_with_request(&s);
	assert_int_equal(roce_cm_reject(s.b.cm, s.passive, ROCE_CM_REJ_CONSUMER, NULL, s.now), 0);
	scene_catch(&s, &s.b);
	REFUSALS(&s, &s.a, faults);
	assert_int_equal(roce_cm_id_state(s.active), ROCE_CM_STATE_REQ_SENT);
	assert_int_equal(host_give(&s.a, &s.p, s.now), ROCE_CM_RX_ACCEPTED);
	host_expect(&s.a, 0, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_CONSUMER);
	scene_close(&s);
}

/* ---- messages to the side that listens ---- */

static void rej__by_guid(void **state)
{
	static const struct fault faults[] = {
		{"without a GUID", no_guid, ROCE_CM_RX_UNKNOWN_ID, 0},
		{"another GUID", other_guid, ROCE_CM_RX_UNKNOWN_ID, 0},
		{"another number", other_local_id, ROCE_CM_RX_UNKNOWN_ID, 0},
		{"another transaction", other_tid, ROCE_CM_RX_WRONG_TID, 0},
		{"from elsewhere", from_elsewhere, ROCE_CM_RX_UNKNOWN_ID, 0},
		{"to elsewhere", to_elsewhere, ROCE_CM_RX_WRONG_ADDRESS, 0},
	};
	struct scene s;

	(void)state;
	scene_open_with_request(&s);
	roce_cm_destroy(s.a.cm, s.active, s.now);
	scene_catch(&s, &s.a);
	assert_int_equal(host_decode(&s.p).remote_id, 0);
	REFUSALS(&s, &s.b, faults);
	assert_int_equal(roce_cm_id_state(s.passive), ROCE_CM_STATE_REQ_RCVD);
	assert_int_equal(host_give(&s.b, &s.p, s.now), ROCE_CM_RX_ACCEPTED);
	assert_int_equal(roce_cm_id_state(s.passive), ROCE_CM_STATE_IDLE);
	scene_close(&s);
}

/* Success is 0, so a refusal without a reason must not look like it. */
static void rej__reason_zero(void **state)
{
	struct roce_cm_message m;
	struct scene s;

	(void)state;
	scene_open_with_request(&s);
	assert_int_equal(roce_cm_reject(s.b.cm, s.passive, ROCE_CM_REJ_CONSUMER, NULL, s.now), 0);
	scene_catch(&s, &s.b);
	m = host_decode(&s.p);
	m.rej.reason = 0;
	m.private_len = 0;
	roce_cm_message_encode(&m, s.p.mad);
	host_give(&s.a, &s.p, s.now);
	host_expect(&s.a, 0, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_CONSUMER);
	scene_close(&s);
}

static void open_accepted(struct scene *s)
{
	scene_open_with_request(s);
	assert_int_equal(host_accept(&s->b, s->passive, B_QPN, s->now), 0);
	host_exchange(&s->a, &s->b, s->now);
	assert_int_equal(roce_cm_establish(s->a.cm, s->active, s->now), 0);
}

static void rtu__each_check(void **state)
{
	static const struct fault faults[] = {
		{"no such ID", other_remote_id, ROCE_CM_RX_UNKNOWN_ID, 0},
		{"another active side", other_local_id, ROCE_CM_RX_WRONG_REMOTE_ID, 0},
		{"another transaction", other_tid, ROCE_CM_RX_WRONG_TID, 0},
		{"from elsewhere", from_elsewhere, ROCE_CM_RX_WRONG_ADDRESS, 0},
		{"to elsewhere", to_elsewhere, ROCE_CM_RX_WRONG_ADDRESS, 0},
	};
	struct scene s;

	(void)state;
	open_accepted(&s);
	scene_catch(&s, &s.a);
	REFUSALS(&s, &s.b, faults);
	assert_int_equal(roce_cm_id_state(s.passive), ROCE_CM_STATE_REP_SENT);
	assert_int_equal(host_give(&s.b, &s.p, s.now), ROCE_CM_RX_ACCEPTED);
	scene_close(&s);
}

static void dreq__each_check(void **state)
{
	static const struct fault faults[] = {
		{"another active side", other_local_id, ROCE_CM_RX_WRONG_REMOTE_ID, 0},
		{"another QPN", other_qpn, ROCE_CM_RX_WRONG_QPN, 0},
		{"from elsewhere", from_elsewhere, ROCE_CM_RX_WRONG_ADDRESS, 0},
		{"to elsewhere", to_elsewhere, ROCE_CM_RX_WRONG_ADDRESS, 0},
	};
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct roce_cm_message m;
	struct scene s;

	(void)state;
	open_accepted(&s);
	host_exchange(&s.a, &s.b, s.now);
	assert_int_equal(roce_cm_disconnect(s.a.cm, s.active, s.now), 0);
	scene_catch(&s, &s.a);
	REFUSALS(&s, &s.b, faults);
	assert_int_equal(roce_cm_id_state(s.passive), ROCE_CM_STATE_ESTABLISHED);
	/* One for nobody is answered, or the peer would go on; it tells the stranger nothing. */
	m = host_decode(&s.p);
	m.remote_id ^= 1;
	m.private_len = 0;
	roce_cm_message_encode(&m, packets[0].mad);
	packets[0].route = s.p.route;
	assert_int_equal(host_give(&s.b, &packets[0], s.now), ROCE_CM_RX_UNKNOWN_ID);
	assert_int_equal(host_take(&s.b, packets), 1);
	assert_int_equal(host_decode(&packets[0]).attr, ROCE_CM_DREP);
	assert_int_equal(host_decode(&packets[0]).tid, m.tid);
	assert_int_equal(host_give(&s.b, &s.p, s.now), ROCE_CM_RX_ACCEPTED);
	scene_close(&s);
}

static void drep__each_check(void **state)
{
	static const struct fault faults[] = {
		{"no such ID", other_remote_id, ROCE_CM_RX_UNKNOWN_ID, 0},
		{"another passive side", other_local_id, ROCE_CM_RX_WRONG_REMOTE_ID, 0},
		{"another transaction", other_tid, ROCE_CM_RX_WRONG_TID, 0},
		{"from elsewhere", from_elsewhere, ROCE_CM_RX_WRONG_ADDRESS, 0},
	};
	struct scene s;

	(void)state;
	open_accepted(&s);
	host_exchange(&s.a, &s.b, s.now);
	assert_int_equal(roce_cm_disconnect(s.a.cm, s.active, s.now), 0);
	host_exchange(&s.a, &s.b, s.now);
	assert_int_equal(roce_cm_disconnect(s.b.cm, s.passive, s.now), 0);
	scene_catch(&s, &s.b);
	REFUSALS(&s, &s.a, faults);
	assert_int_equal(roce_cm_id_state(s.active), ROCE_CM_STATE_DREQ_SENT);
	assert_int_equal(host_give(&s.a, &s.p, s.now), ROCE_CM_RX_ACCEPTED);
	scene_close(&s);
}

static void lap__each_check(void **state)
{
	static const struct fault faults[] = {
		{"no such ID", other_remote_id, ROCE_CM_RX_UNKNOWN_ID, 0},
		{"another active side", other_local_id, ROCE_CM_RX_WRONG_REMOTE_ID, 0},
		{"another QPN", other_lap_qpn, ROCE_CM_RX_WRONG_QPN, 0},
		{"from elsewhere", from_elsewhere, ROCE_CM_RX_WRONG_ADDRESS, 0},
	};
	struct roce_cm_message m = {.attr = ROCE_CM_LAP, .tid = 42};
	struct roce_cm_info info;
	struct scene s;

	(void)state;
	open_accepted(&s);
	host_exchange(&s.a, &s.b, s.now);
	roce_cm_id_info(s.active, &info);
	m.local_id = info.local_id;
	m.remote_id = info.remote_id;
	m.lap.remote_qpn.v = B_QPN;
	s.p.route = info.route;
	roce_cm_message_encode(&m, s.p.mad);
	REFUSALS(&s, &s.b, faults);
	scene_close(&s);
}

/* ---- SIDR ---- */

static void sidr_req__each_check(void **state)
{
	static const struct fault faults[] = {
		{"request ID 0", no_comm_id, ROCE_CM_RX_NO_COMM_ID, 0},
		{"IP header of another version", ip_header_version, ROCE_CM_RX_BAD_IP_HEADER, 0},
		{"IP source of another", ip_source, ROCE_CM_RX_BAD_PATH, 0},
		{"IP destination of another", ip_destination, ROCE_CM_RX_BAD_PATH, 0},
	};
	static const struct fault later[] = {
		{"another transaction", other_tid, ROCE_CM_RX_WRONG_TID, 0},
		{"to elsewhere", to_elsewhere, ROCE_CM_RX_WRONG_ADDRESS, 0},
	};
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct roce_cm_message m;
	struct scene s;

	(void)state;
	scene_open(&s, ROCE_CM_QP_UD);
	host_sidr(&s.a, &s.b, s.now);
	scene_catch(&s, &s.a);
	REFUSALS(&s, &s.b, faults);
	/* No such service: said with a SIDR_REP. */
	m = host_decode(&s.p);
	sidr_other_port(&m, NULL, NULL);
	packets[0].route = s.p.route;
	roce_cm_message_encode(&m, packets[0].mad);
	assert_int_equal(host_give(&s.b, &packets[0], s.now), ROCE_CM_RX_NO_LISTENER);
	assert_int_equal(host_take(&s.b, packets), 1);
	assert_int_equal(host_decode(&packets[0]).sidr_rep.status, ROCE_CM_SIDR_UNSUPPORTED);
	assert_int_equal(host_give(&s.b, &s.p, s.now), ROCE_CM_RX_ACCEPTED);
	REFUSALS(&s, &s.b, later);
	scene_close(&s);
}

static void sidr_rep__each_check(void **state)
{
	static const struct fault faults[] = {
		{"no such ID", other_remote_id, ROCE_CM_RX_UNKNOWN_ID, 0},
		{"another transaction", other_tid, ROCE_CM_RX_WRONG_TID, 0},
		{"another service", other_service, ROCE_CM_RX_WRONG_SERVICE, 0},
		{"from elsewhere", from_elsewhere, ROCE_CM_RX_WRONG_ADDRESS, 0},
	};
	struct scene s;

	(void)state;
	scene_open(&s, ROCE_CM_QP_UD);
	s.active = host_sidr(&s.a, &s.b, s.now);
	host_exchange(&s.a, &s.b, s.now);
	assert_int_equal(host_accept(&s.b, s.b.reports[0].id, B_QPN, s.now), 0);
	scene_catch(&s, &s.b);
	REFUSALS(&s, &s.a, faults);
	assert_int_equal(host_give(&s.a, &s.p, s.now), ROCE_CM_RX_ACCEPTED);
	assert_int_equal(host_give(&s.a, &s.p, s.now), ROCE_CM_RX_DUPLICATE);
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rx__no_message),
		cmocka_unit_test(req__each_check),
		cmocka_unit_test(req__in_anothers_name),
		cmocka_unit_test(rep__each_check),
		cmocka_unit_test(mra__each_check),
		cmocka_unit_test(mra__cannot_make_us_wait_for_ever),
		cmocka_unit_test(rej__each_check),
		cmocka_unit_test(rej__by_guid),
		cmocka_unit_test(rej__reason_zero),
		cmocka_unit_test(rtu__each_check),
		cmocka_unit_test(dreq__each_check),
		cmocka_unit_test(drep__each_check),
		cmocka_unit_test(lap__each_check),
		cmocka_unit_test(sidr_req__each_check),
		cmocka_unit_test(sidr_rep__each_check),
	};

	return cmocka_run_group_tests_name("reject", tests, NULL, NULL);
}
