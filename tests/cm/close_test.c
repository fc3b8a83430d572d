/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How connections end: closed by either side or both, given up in any state, stale, brought back
 * after a restart in the middle of it.
 */
#include "pair.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void disconnect__crossing(void **state)
{
	struct roce_cm_packet from_a[HOST_PACKETS_MAX], from_b[HOST_PACKETS_MAX];
	struct pair p;

	(void)state;
	pair_establish(&p);
	assert_int_equal(roce_cm_disconnect(p.a.cm, p.active, p.now), 0);
	assert_int_equal(roce_cm_disconnect(p.b.cm, p.passive, p.now), 0);
	assert_int_equal(host_take(&p.a, from_a), 1);
	assert_int_equal(host_take(&p.b, from_b), 1);
	assert_int_equal(host_give(&p.b, &from_a[0], p.now), ROCE_CM_RX_ACCEPTED);
	assert_int_equal(host_give(&p.a, &from_b[0], p.now), ROCE_CM_RX_ACCEPTED);
	pair_exchange(&p);
	pair_run(&p, false);
	assert_int_equal(p.a.report_count, 3);
	assert_int_equal(p.b.report_count, 4);
	host_expect(&p.a, 1, ROCE_CM_REPORT_DISCONNECTED, 0);
	host_expect(&p.b, 2, ROCE_CM_REPORT_DISCONNECTED, 0);
	host_expect(&p.a, 2, ROCE_CM_REPORT_TIMEWAIT_EXIT, 0);
	assert_int_equal(host_counter(&p.a, ROCE_CM_STAT_TX_DREP), 1);
	assert_int_equal(host_counter(&p.b, ROCE_CM_STAT_TX_DREP), 1);
	pair_fini(&p);
}

/* The passive side is told as soon as the peer leaves, even when it never saw the RTU. */
static void disconnect__rtu_lost(void **state)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct pair p;

	(void)state;
	pair_respond(&p);
	assert_int_equal(roce_cm_establish(p.a.cm, p.active, p.now), 0);
	host_take(&p.a, packets);
	assert_int_equal(roce_cm_disconnect(p.a.cm, p.active, p.now), 0);
	pair_exchange(&p);
	host_expect(&p.b, 1, ROCE_CM_REPORT_DISCONNECTED, 0);
	assert_int_equal(roce_cm_disconnect(p.b.cm, p.passive, p.now), 0);
	pair_exchange(&p);
	host_expect(&p.a, 1, ROCE_CM_REPORT_DISCONNECTED, 0);
	pair_fini(&p);
}

static void disconnect__only_when_connected(void **state)
{
	struct pair p;

	(void)state;
	pair_request(&p);
	assert_int_equal(roce_cm_disconnect(p.a.cm, p.active, p.now), -EINVAL);
	assert_int_equal(roce_cm_disconnect(p.b.cm, p.passive, p.now), -EINVAL);
	assert_int_equal(roce_cm_establish(p.a.cm, p.active, p.now), -EINVAL);
	pair_fini(&p);
}

/* ---- destroy, by state ---- */

static void expect_last_words(struct pair *p, struct host *h, enum roce_cm_attr attr,
			      uint16_t reason)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct roce_cm_message m;
	struct host *other = h == &p->a ? &p->b : &p->a;

	assert_int_equal(host_take(h, packets), 1);
	m = host_decode(&packets[0]);
	assert_string_equal(roce_cm_attr_str((uint16_t)m.attr), roce_cm_attr_str((uint16_t)attr));
	if (attr == ROCE_CM_REJ)
		assert_int_equal(m.rej.reason, reason);
	host_give(other, &packets[0], p->now);
}

static void destroy__while_connecting(void **state)
{
	struct pair p;

	(void)state;
	pair_request(&p);
	roce_cm_destroy(p.a.cm, p.active, p.now);
	expect_last_words(&p, &p.a, ROCE_CM_REJ, ROCE_CM_REJ_TIMEOUT);
	/* Not accepted: the program notices when it tries to. */
	assert_int_equal(p.b.report_count, 1);
	assert_int_equal(host_accept(&p.b, p.passive, B_QPN, p.now), -EINVAL);
	pair_fini(&p);
}

static void destroy__while_connecting_to_one_who_accepts(void **state)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct pair p;

	(void)state;
	pair_request(&p);
	assert_int_equal(host_accept(&p.b, p.passive, B_QPN, p.now), 0);
	host_take(&p.b, packets);
	roce_cm_destroy(p.a.cm, p.active, p.now);
	expect_last_words(&p, &p.a, ROCE_CM_REJ, ROCE_CM_REJ_TIMEOUT);
	host_expect(&p.b, 1, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_TIMEOUT);
	pair_fini(&p);
}

static void destroy__child_not_accepted(void **state)
{
	struct pair p;

	(void)state;
	pair_request(&p);
	roce_cm_destroy(p.b.cm, p.passive, p.now);
	expect_last_words(&p, &p.b, ROCE_CM_REJ, ROCE_CM_REJ_CONSUMER);
	host_expect(&p.a, 0, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_CONSUMER);
	pair_fini(&p);
}

static void destroy__child_that_accepted(void **state)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct pair p;

	(void)state;
	pair_respond(&p);
	assert_int_equal(roce_cm_establish(p.a.cm, p.active, p.now), 0);
	host_take(&p.a, packets);
	roce_cm_destroy(p.b.cm, p.passive, p.now);
	expect_last_words(&p, &p.b, ROCE_CM_REJ, ROCE_CM_REJ_CONSUMER);
	host_expect(&p.a, 1, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_CONSUMER);
	pair_fini(&p);
}

static void destroy__after_the_response(void **state)
{
	struct pair p;

	(void)state;
	pair_respond(&p);
	roce_cm_destroy(p.a.cm, p.active, p.now);
	expect_last_words(&p, &p.a, ROCE_CM_REJ, ROCE_CM_REJ_CONSUMER);
	host_expect(&p.b, 1, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_CONSUMER);
	pair_fini(&p);
}

static void destroy__established(void **state)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct pair p;

	(void)state;
	pair_establish(&p);
	roce_cm_destroy(p.a.cm, p.active, p.now);
	/* The first one is lost. */
	assert_int_equal(host_take(&p.a, packets), 1);
	assert_int_equal(host_decode(&packets[0]).attr, ROCE_CM_DREQ);
	p.now = roce_cm_deadline(p.a.cm);
	roce_cm_on_deadline(p.a.cm, p.now);
	expect_last_words(&p, &p.a, ROCE_CM_DREQ, 0);
	host_expect(&p.b, 2, ROCE_CM_REPORT_DISCONNECTED, 0);
	roce_cm_destroy(p.b.cm, p.passive, p.now);
	expect_last_words(&p, &p.b, ROCE_CM_DREP, 0);
	pair_run(&p, false);
	assert_int_equal(p.a.report_count, 1);
	assert_int_equal(p.b.report_count, 3);
	pair_fini(&p);
}

static void destroy__owner_with_everything(void **state)
{
	struct pair p;

	(void)state;
	pair_establish(&p);
	host_connect(&p.a, &p.b, A_QPN + 1, p.now);
	pair_exchange(&p);
	host_expect(&p.b, 2, ROCE_CM_REPORT_CONNECT_REQUEST, 0);
	roce_cm_owner_fini(p.b.cm, &p.b.owner, p.now);
	assert_int_equal(p.b.owner.id_count, 0);
	assert_int_equal(p.b.owner.listener_count, 0);
	assert_int_equal(p.b.owner.half_open_count, 0);
	pair_exchange(&p);
	host_expect(&p.a, 1, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_CONSUMER);
	host_expect(&p.a, 2, ROCE_CM_REPORT_DISCONNECTED, 0);
	pair_fini(&p);
}

/* An answer that is lost is given again, also after the program has forgotten the child. */
static void destroy__rejection_survives(void **state)
{
	static const uint8_t why[] = "full";
	const struct roce_cm_data data = {why, sizeof(why)};
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct pair p;

	(void)state;
	pair_request(&p);
	assert_int_equal(roce_cm_reject(p.b.cm, p.passive, ROCE_CM_REJ_CONSUMER, &data, p.now), 0);
	roce_cm_destroy(p.b.cm, p.passive, p.now);
	assert_int_equal(host_take(&p.b, packets), 1);
	pair_run(&p, false);
	host_expect(&p.a, 0, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_CONSUMER);
	assert_memory_equal(p.a.reports[0].private_data, why, sizeof(why));
	assert_int_equal(p.b.report_count, 1);
	pair_fini(&p);
}

/* An ID that is only kept to know duplicates has nothing to say any more, whatever it said last. */
static void destroy__finished_ones_are_silent(void **state)
{
	struct pair p;

	(void)state;
	pair_establish(&p);
	roce_cm_destroy(p.b.cm, p.passive, p.now);
	pair_exchange(&p);
	roce_cm_destroy(p.a.cm, p.active, p.now);
	pair_run(&p, false);
	assert_int_equal(host_counter(&p.b, ROCE_CM_STAT_TX_DREQ), 1);
	assert_int_equal(host_counter(&p.b, ROCE_CM_STAT_TX_REPEATED), 0);
	pair_fini(&p);

	pair_establish(&p);
	roce_cm_destroy(p.a.cm, p.active, p.now);
	pair_exchange(&p);
	roce_cm_destroy(p.b.cm, p.passive, p.now);
	pair_run(&p, false);
	assert_int_equal(host_counter(&p.b, ROCE_CM_STAT_TX_REP), 1);
	assert_int_equal(host_counter(&p.b, ROCE_CM_STAT_TX_REPEATED), 0);
	pair_fini(&p);
}

/* A REJ that follows a REP is given again soon: a peer that has missed it believes to be connected,
 * and has no reason to ask. */
static void destroy__rejection_of_one_connected(void **state)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct pair p;
	roce_ns_t begin;

	(void)state;
	pair_respond(&p);
	assert_int_equal(roce_cm_establish(p.a.cm, p.active, p.now), 0);
	host_take(&p.a, packets);
	roce_cm_destroy(p.b.cm, p.passive, p.now);
	assert_int_equal(host_take(&p.b, packets), 1);
	begin = p.now;
	p.now = roce_cm_deadline(p.b.cm);
	assert_true(p.now - begin < 10 * ROCE_NS_PER_S);
	roce_cm_on_deadline(p.b.cm, p.now);
	expect_last_words(&p, &p.b, ROCE_CM_REJ, ROCE_CM_REJ_CONSUMER);
	host_expect(&p.a, 1, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_CONSUMER);
	pair_run(&p, true);
	assert_int_equal(host_counter(&p.b, ROCE_CM_STAT_TX_REPEATED), 3);
	pair_fini(&p);
}

/* ---- stale connections ---- */

/* A REQ in the name of the active side for the queue pair that it is connected with. */
static void give_stale_req(struct pair *p, struct host *from)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];

	host_connect(from, &p->b, A_QPN, p->now);
	assert_int_equal(host_take(from, packets), 1);
	assert_int_equal(host_give(&p->b, &packets[0], p->now), ROCE_CM_RX_STALE);
	assert_int_equal(roce_cm_id_state(p->passive), ROCE_CM_STATE_ESTABLISHED);
}

/* The peer was restarted and does not know the old connection; ours says so. */
static void stale__queue_pair_used_again(void **state)
{
	struct pair p;
	struct host again;

	(void)state;
	pair_establish(&p);
	host_init(&again, 1, 77, NULL);
	give_stale_req(&p, &again);
	host_exchange(&again, &p.b, p.now);
	host_expect(&again, 0, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_STALE);
	host_expect(&p.b, 2, ROCE_CM_REPORT_DISCONNECTED, 0);
	assert_int_equal(host_counter(&p.b, ROCE_CM_STAT_STALE_CLOSED), 1);
	assert_int_equal(roce_cm_id_state(p.passive), ROCE_CM_STATE_TIMEWAIT);
	host_fini(&again);
	pair_fini(&p);
}

/* Others are silent when they do not know a connection, but to a DREQ. */
static void stale__peer_does_not_answer_the_probe(void **state)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct pair p;
	struct host again;

	(void)state;
	pair_establish(&p);
	host_init(&again, 1, 77, NULL);
	give_stale_req(&p, &again);
	for (unsigned i = 0; i < 4; i++) {
		size_t n = host_take(&p.b, packets);

		assert_int_equal(host_decode(&packets[n - 1]).attr, ROCE_CM_REP);
		p.now = roce_cm_deadline(p.b.cm);
		roce_cm_on_deadline(p.b.cm, p.now);
	}
	assert_int_equal(p.now, ROCE_NS_PER_S + 4 * ROCE_NS_PER_S);
	assert_int_equal(roce_cm_id_state(p.passive), ROCE_CM_STATE_DREQ_SENT);
	assert_int_equal(host_counter(&p.b, ROCE_CM_STAT_STALE_CLOSED), 1);
	host_exchange(&again, &p.b, p.now);
	host_expect(&p.b, 2, ROCE_CM_REPORT_DISCONNECTED, 0);
	host_fini(&again);
	pair_fini(&p);
}

/* The REQ was forged: the peer still has the connection, and keeps it. */
static void stale__peer_denies(void **state)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct pair p;
	struct host forger;

	(void)state;
	pair_establish(&p);
	host_init(&forger, 1, 77, NULL);
	for (unsigned i = 0; i < 5; i++) {
		give_stale_req(&p, &forger);
		pair_exchange(&p);
		assert_int_equal(host_counter(&p.b, ROCE_CM_STAT_STALE_DENIED), i + 1);
		assert_int_equal(roce_cm_deadline(p.b.cm), ROCE_NEVER);
	}
	assert_int_equal(p.a.report_count, 1);
	assert_int_equal(p.b.report_count, 2);
	assert_int_equal(roce_cm_id_state(p.active), ROCE_CM_STATE_ESTABLISHED);
	assert_int_equal(roce_cm_id_state(p.passive), ROCE_CM_STATE_ESTABLISHED);
	/* Many at once are one question, and a close in the middle is just that. */
	give_stale_req(&p, &forger);
	give_stale_req(&p, &forger);
	assert_int_equal(host_take(&p.b, packets), 3); /* two REJ, one REP */
	assert_int_equal(roce_cm_disconnect(p.a.cm, p.active, p.now), 0);
	pair_exchange(&p);
	host_expect(&p.b, 2, ROCE_CM_REPORT_DISCONNECTED, 0);
	assert_int_equal(roce_cm_disconnect(p.b.cm, p.passive, p.now), 0);
	pair_exchange(&p);
	pair_run(&p, false);
	host_expect(&p.a, 1, ROCE_CM_REPORT_DISCONNECTED, 0);
	host_fini(&forger);
	pair_fini(&p);
}

/* We asked the peer to connect; it cannot be asked whether it has forgotten. */
static void stale__on_the_active_side(void **state)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct host again;
	struct pair p;

	(void)state;
	pair_establish(&p);
	host_listen(&p.a, ROCE_CM_QP_RC, HOST_PORT);
	host_init(&again, 2, 77, NULL);
	host_connect(&again, &p.a, B_QPN, p.now);
	assert_int_equal(host_take(&again, packets), 1);
	assert_int_equal(host_give(&p.a, &packets[0], p.now), ROCE_CM_RX_STALE);
	host_exchange(&again, &p.a, p.now);
	host_expect(&again, 0, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_STALE);
	assert_int_equal(roce_cm_id_state(p.active), ROCE_CM_STATE_ESTABLISHED);
	assert_int_equal(roce_cm_deadline(p.a.cm), ROCE_NEVER);
	host_fini(&again);
	pair_fini(&p);
}

static void stale__queue_pair_in_timewait(void **state)
{
	struct pair p;

	(void)state;
	pair_establish(&p);
	assert_int_equal(roce_cm_disconnect(p.a.cm, p.active, p.now), 0);
	pair_exchange(&p);
	roce_cm_destroy(p.b.cm, p.passive, p.now);
	pair_exchange(&p);
	host_connect(&p.a, &p.b, A_QPN, p.now);
	pair_exchange(&p);
	host_expect(&p.a, 2, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_STALE);
	/* When TIMEWAIT is over it may. */
	p.now += UINT64_C(4096) << 17;
	roce_cm_on_deadline(p.a.cm, p.now);
	roce_cm_on_deadline(p.b.cm, p.now);
	host_connect(&p.a, &p.b, A_QPN, p.now);
	pair_exchange(&p);
	host_expect(&p.b, 3, ROCE_CM_REPORT_CONNECT_REQUEST, 0);
	pair_fini(&p);
}

static void stale__in_the_rep(void **state)
{
	struct host other;
	struct pair p;
	struct roce_cm_id *id;

	(void)state;
	pair_establish(&p);
	/* The passive host was restarted and hands out the queue pair again. */
	host_init(&other, 2, 99, NULL);
	host_listen(&other, ROCE_CM_QP_RC, HOST_PORT);
	host_connect(&p.a, &other, A_QPN + 1, p.now);
	host_exchange(&p.a, &other, p.now);
	id = host_expect(&other, 0, ROCE_CM_REPORT_CONNECT_REQUEST, 0)->id;
	assert_int_equal(host_accept(&other, id, B_QPN, p.now), 0);
	host_exchange(&p.a, &other, p.now);
	host_expect(&p.a, 1, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_STALE);
	host_expect(&other, 1, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_STALE);
	host_expect(&p.a, 2, ROCE_CM_REPORT_DISCONNECTED, 0);
	host_fini(&other);
	pair_fini(&p);
}

/* ---- after a restart of the CM ---- */

static void restore__later_dreq_works(void **state)
{
	struct roce_cm_info info;
	struct roce_cm_id *id;
	struct host again;
	struct pair p;

	(void)state;
	pair_establish(&p);
	roce_cm_id_info(p.passive, &info);
	host_init(&again, 2, 55, NULL);
	assert_int_equal(roce_cm_restore(again.cm, &again.owner, &p, &info, p.now, &id), 0);
	assert_int_equal(roce_cm_restore(again.cm, &again.owner, &p, &info, p.now, &id), -EEXIST);
	assert_ptr_equal(roce_cm_find(again.cm, info.local_id), id);
	assert_ptr_equal(roce_cm_id_user(id), &p);
	assert_int_equal(roce_cm_disconnect(p.a.cm, p.active, p.now), 0);
	host_exchange(&p.a, &again, p.now);
	host_expect(&again, 0, ROCE_CM_REPORT_DISCONNECTED, 0);
	assert_int_equal(roce_cm_disconnect(again.cm, id, p.now), 0);
	host_exchange(&p.a, &again, p.now);
	host_expect(&p.a, 1, ROCE_CM_REPORT_DISCONNECTED, 0);
	info.state = ROCE_CM_STATE_REQ_RCVD;
	assert_int_equal(roce_cm_restore(again.cm, &again.owner, NULL, &info, p.now, &id), -EINVAL);
	host_fini(&again);
	pair_fini(&p);
}

/* Restarted between DREQ and DREP, on either side. */
static void restore__while_closing(void **state)
{
	struct roce_cm_packet lost[HOST_PACKETS_MAX];
	struct roce_cm_info active, passive;
	struct roce_cm_id *a_id, *b_id;
	struct host a, b;
	struct pair p;

	(void)state;
	pair_establish(&p);
	assert_int_equal(roce_cm_disconnect(p.a.cm, p.active, p.now), 0);
	pair_exchange(&p);
	host_expect(&p.b, 2, ROCE_CM_REPORT_DISCONNECTED, 0);
	roce_cm_id_info(p.active, &active);
	roce_cm_id_info(p.passive, &passive);
	assert_int_equal(active.state, ROCE_CM_STATE_DREQ_SENT);
	assert_int_equal(passive.state, ROCE_CM_STATE_DREQ_RCVD);
	host_init(&a, 1, 55, NULL);
	host_init(&b, 2, 55, NULL);
	/* The side that was asked: its DREP answers the DREQ of before. */
	assert_int_equal(roce_cm_restore(b.cm, &b.owner, NULL, &passive, p.now, &b_id), 0);
	assert_int_equal(roce_cm_disconnect(b.cm, b_id, p.now), 0);
	host_exchange(&p.a, &b, p.now);
	host_expect(&p.a, 1, ROCE_CM_REPORT_DISCONNECTED, 0);
	p.now = roce_cm_deadline(b.cm);
	roce_cm_on_deadline(b.cm, p.now);
	host_expect(&b, 0, ROCE_CM_REPORT_TIMEWAIT_EXIT, 0);
	/* The side that asked asks again. */
	assert_int_equal(roce_cm_restore(a.cm, &a.owner, NULL, &active, p.now, &a_id), 0);
	assert_int_equal(roce_cm_id_state(a_id), ROCE_CM_STATE_DREQ_SENT);
	host_exchange(&a, &b, p.now);
	host_expect(&a, 0, ROCE_CM_REPORT_DISCONNECTED, 0);
	host_take(&a, lost);
	host_fini(&a);
	host_fini(&b);
	pair_fini(&p);
}

/* Restarted between REP and RTU: a peer that has had the REP hears that nothing comes of it. */
static void restore__before_rtu(void **state)
{
	struct roce_cm_info info;
	struct roce_cm_id *id;
	struct host again;
	struct pair p;

	(void)state;
	pair_establish(&p);
	roce_cm_id_info(p.passive, &info);
	info.state = ROCE_CM_STATE_REP_SENT;
	assert_true(roce_cm_can_restore(info.state));
	host_init(&again, 2, 55, NULL);
	assert_int_equal(roce_cm_restore(again.cm, &again.owner, NULL, &info, p.now, &id), 0);
	assert_int_equal(roce_cm_id_state(id), ROCE_CM_STATE_DREQ_SENT);
	host_exchange(&p.a, &again, p.now);
	host_expect(&p.a, 1, ROCE_CM_REPORT_DISCONNECTED, 0);
	assert_int_equal(roce_cm_disconnect(p.a.cm, p.active, p.now), 0);
	host_exchange(&p.a, &again, p.now);
	host_expect(&again, 0, ROCE_CM_REPORT_DISCONNECTED, 0);
	host_fini(&again);
	pair_fini(&p);
}

/* ---- alternate paths ---- */

static void lap__is_refused(void **state)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct roce_cm_message m = {.attr = ROCE_CM_LAP, .tid = 42};
	struct roce_cm_info info;
	struct pair p;

	(void)state;
	pair_establish(&p);
	roce_cm_id_info(p.active, &info);
	m.local_id = info.local_id;
	m.remote_id = info.remote_id;
	m.lap.remote_qpn.v = B_QPN;
	packets[0].route = info.route;
	roce_cm_message_encode(&m, packets[0].mad);
	assert_int_equal(host_give(&p.b, &packets[0], p.now), ROCE_CM_RX_UNSUPPORTED);
	assert_int_equal(host_take(&p.b, packets), 1);
	m = host_decode(&packets[0]);
	assert_int_equal(m.attr, ROCE_CM_APR);
	assert_int_equal(m.tid, 42);
	assert_int_equal(m.apr.status, 2);
	assert_int_equal(host_give(&p.a, &packets[0], p.now), ROCE_CM_RX_WRONG_STATE);
	pair_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(disconnect__crossing),
		cmocka_unit_test(disconnect__rtu_lost),
		cmocka_unit_test(disconnect__only_when_connected),
		cmocka_unit_test(destroy__while_connecting),
		cmocka_unit_test(destroy__while_connecting_to_one_who_accepts),
		cmocka_unit_test(destroy__child_not_accepted),
		cmocka_unit_test(destroy__child_that_accepted),
		cmocka_unit_test(destroy__after_the_response),
		cmocka_unit_test(destroy__established),
		cmocka_unit_test(destroy__owner_with_everything),
		cmocka_unit_test(destroy__rejection_survives),
		cmocka_unit_test(destroy__finished_ones_are_silent),
		cmocka_unit_test(destroy__rejection_of_one_connected),
		cmocka_unit_test(stale__queue_pair_used_again),
		cmocka_unit_test(stale__peer_does_not_answer_the_probe),
		cmocka_unit_test(stale__peer_denies),
		cmocka_unit_test(stale__on_the_active_side),
		cmocka_unit_test(stale__queue_pair_in_timewait),
		cmocka_unit_test(stale__in_the_rep),
		cmocka_unit_test(restore__later_dreq_works),
		cmocka_unit_test(restore__while_closing),
		cmocka_unit_test(restore__before_rtu),
		cmocka_unit_test(lap__is_refused),
	};

	return cmocka_run_group_tests_name("close", tests, NULL, NULL);
}
