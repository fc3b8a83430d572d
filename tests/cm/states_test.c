/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every state of both sides against every message that matches the connection, as one table: what
 * roce_cm_rx() says, the state after it, the answer, the report. And every call in every state.
 *
 *   verdict   A accepted, D duplicate, W wrong state, U unsupported, N no listener
 *   >STATE    the state after it, where it changes
 *   +MESSAGE  what is sent
 *   !REPORT   what the owner is told
 */
#include "host.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define A_QPN 0x010029u
#define B_QPN 0x02004au

enum side { ACTIVE, PASSIVE };

struct row {
	enum side side;
	enum roce_cm_state state;
	/* REQ, MRA of REQ, MRA of REP, REJ, REP, RTU, DREQ, DREP, LAP, APR */
	const char *cell[10];
};

#define S(name) ROCE_CM_STATE_##name

static const struct row rows[] = {
	{ACTIVE,
	 S(REQ_SENT),
	 {"N+REJ", "A>MRA_REQ_RCVD", "W", "A>IDLE!REJECTED", "A>REP_RCVD!CONNECT_RESPONSE", "W",
	  "W", "W", "W", "W"}},
	{ACTIVE,
	 S(MRA_REQ_RCVD),
	 {"N+REJ", "D", "W", "A>IDLE!REJECTED", "A>REP_RCVD!CONNECT_RESPONSE", "W", "W", "W", "W",
	  "W"}},
	{ACTIVE,
	 S(REP_RCVD),
	 {"W", "W", "W", "A>TIMEWAIT!REJECTED", "D>MRA_REP_SENT+MRA", "W", "W", "W", "W", "W"}},
	{ACTIVE,
	 S(MRA_REP_SENT),
	 {"W", "W", "W", "A>TIMEWAIT!REJECTED", "D+MRA", "W", "W", "W", "W", "W"}},
	{ACTIVE,
	 S(ESTABLISHED),
	 {"D", "W", "W", "A>TIMEWAIT!REJECTED", "D+RTU", "W", "A>DREQ_RCVD!DISCONNECTED", "W",
	  "U+APR", "W"}},
	{ACTIVE,
	 S(DREQ_SENT),
	 {"D", "W", "W", "A>TIMEWAIT!DISCONNECTED", "D", "W", "A>TIMEWAIT+DREP!DISCONNECTED",
	  "A>TIMEWAIT!DISCONNECTED", "W", "W"}},
	{ACTIVE, S(DREQ_RCVD), {"D", "W", "W", "W", "D", "W", "D", "W", "W", "W"}},
	{ACTIVE, S(TIMEWAIT), {"D+REJ", "W", "W", "W", "D", "W", "D+DREP", "D", "W", "W"}},
	{ACTIVE, S(IDLE), {"D+REJ", "W", "W", "W", "D", "W", "D+DREP", "D", "W", "W"}},
	{PASSIVE,
	 S(REQ_RCVD),
	 {"D>MRA_REQ_SENT+MRA", "W", "W", "A>IDLE", "W", "W", "W", "W", "W", "W"}},
	{PASSIVE, S(MRA_REQ_SENT), {"D+MRA", "W", "W", "A>IDLE", "W", "W", "W", "W", "W", "W"}},
	{PASSIVE,
	 S(REP_SENT),
	 {"D", "W", "A>MRA_REP_RCVD", "A>IDLE!REJECTED", "W", "A>ESTABLISHED!ESTABLISHED",
	  "A>DREQ_RCVD!DISCONNECTED", "W", "W", "W"}},
	{PASSIVE,
	 S(MRA_REP_RCVD),
	 {"D", "W", "D", "A>IDLE!REJECTED", "W", "A>ESTABLISHED!ESTABLISHED",
	  "A>DREQ_RCVD!DISCONNECTED", "W", "W", "W"}},
	{PASSIVE,
	 S(ESTABLISHED),
	 {"D", "W", "W", "A>TIMEWAIT!REJECTED", "W", "D", "A>DREQ_RCVD!DISCONNECTED", "W", "U+APR",
	  "W"}},
	{PASSIVE,
	 S(DREQ_SENT),
	 {"D", "W", "W", "A>TIMEWAIT!DISCONNECTED", "W", "D", "A>TIMEWAIT+DREP!DISCONNECTED",
	  "A>TIMEWAIT!DISCONNECTED", "W", "W"}},
	{PASSIVE, S(DREQ_RCVD), {"D", "W", "W", "W", "W", "D", "D", "W", "W", "W"}},
	{PASSIVE, S(TIMEWAIT), {"D+REJ", "W", "W", "W", "W", "D", "D+DREP", "D", "W", "W"}},
	{PASSIVE, S(IDLE), {"D+REJ", "W", "W", "W", "W", "D", "D+DREP", "D", "W", "W"}},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static const struct {
	enum roce_cm_attr attr;
	enum roce_cm_answered answered;
	const char *name;
} inputs[10] = {
	{ROCE_CM_REQ, 0, "REQ"},
	{ROCE_CM_MRA, ROCE_CM_ANSWERED_REQ, "MRA of REQ"},
	{ROCE_CM_MRA, ROCE_CM_ANSWERED_REP, "MRA of REP"},
	{ROCE_CM_REJ, ROCE_CM_ANSWERED_OTHER, "REJ"},
	{ROCE_CM_REP, 0, "REP"},
	{ROCE_CM_RTU, 0, "RTU"},
	{ROCE_CM_DREQ, 0, "DREQ"},
	{ROCE_CM_DREP, 0, "DREP"},
	{ROCE_CM_LAP, 0, "LAP"},
	{ROCE_CM_APR, 0, "APR"},
};

struct scene {
	struct host a, b;
	struct roce_cm_id *active, *passive;
	struct roce_cm_id *id; /* the one under test */
	struct host *here;
	struct host *there;
	struct roce_cm_packet rep; /* the other side's, as it was sent */
	uint64_t dreq_tid;	   /* of a DREQ that we sent */
	roce_ns_t now;
};

static void drop_packets(struct scene *s, struct host *h)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	size_t n = host_take(h, packets);

	for (size_t i = 0; i < n; i++) {
		struct roce_cm_message m = host_decode(&packets[i]);

		if (m.attr == ROCE_CM_DREQ)
			s->dreq_tid = m.tid;
		if (m.attr == ROCE_CM_REP)
			s->rep = packets[i];
	}
}

static void repeat_of(struct scene *s, struct host *h)
{
	s->now = roce_cm_deadline(h->cm);
	roce_cm_on_deadline(h->cm, s->now);
	host_exchange(&s->a, &s->b, s->now);
}

static void close_ours(struct scene *s)
{
	assert_int_equal(roce_cm_disconnect(s->here->cm, s->id, s->now), 0);
	drop_packets(s, s->here);
}

static void close_theirs(struct scene *s)
{
	struct roce_cm_id *other = s->id == s->active ? s->passive : s->active;

	assert_int_equal(roce_cm_disconnect(s->there->cm, other, s->now), 0);
	host_exchange(&s->a, &s->b, s->now);
}

static void reach_established(struct scene *s)
{
	assert_int_equal(host_accept(&s->b, s->passive, B_QPN, s->now), 0);
	drop_packets(s, &s->b);
	host_give(&s->a, &s->rep, s->now);
	assert_int_equal(roce_cm_establish(s->a.cm, s->active, s->now), 0);
	host_exchange(&s->a, &s->b, s->now);
}

/* Brings the ID under test into the state. */
static void reach(struct scene *s, const struct row *row)
{
	switch (row->state) {
	case S(REQ_SENT):
	case S(REQ_RCVD):
		break;
	case S(MRA_REQ_RCVD):
	case S(MRA_REQ_SENT):
		repeat_of(s, &s->a);
		break;
	case S(REP_RCVD):
		assert_int_equal(host_accept(&s->b, s->passive, B_QPN, s->now), 0);
		host_exchange(&s->a, &s->b, s->now);
		break;
	case S(REP_SENT):
		assert_int_equal(host_accept(&s->b, s->passive, B_QPN, s->now), 0);
		drop_packets(s, &s->b);
		break;
	case S(MRA_REP_SENT):
	case S(MRA_REP_RCVD):
		assert_int_equal(host_accept(&s->b, s->passive, B_QPN, s->now), 0);
		host_exchange(&s->a, &s->b, s->now);
		repeat_of(s, &s->b);
		break;
	case S(ESTABLISHED):
		reach_established(s);
		break;
	case S(DREQ_SENT):
		reach_established(s);
		close_ours(s);
		break;
	case S(DREQ_RCVD):
		reach_established(s);
		close_theirs(s);
		break;
	case S(TIMEWAIT):
	case S(IDLE):
		reach_established(s);
		close_theirs(s);
		assert_int_equal(roce_cm_disconnect(s->here->cm, s->id, s->now), 0);
		drop_packets(s, s->here);
		if (row->state == S(IDLE)) {
			s->now = roce_cm_deadline(s->here->cm);
			roce_cm_on_deadline(s->here->cm, s->now);
			drop_packets(s, s->here);
		}
		break;
	case S(SIDR_REQ_SENT):
	case S(SIDR_REQ_RCVD):
	case S(SIDR_REP_SENT):
	case ROCE_CM_STATE_COUNT:
		fail();
	}
	host_pull(s->here);
	s->here->report_count = 0;
	assert_string_equal(roce_cm_state_str(roce_cm_id_state(s->id)),
			    roce_cm_state_str(row->state));
}

static void open_scene(struct scene *s, const struct row *row)
{
	memset(s, 0, sizeof(*s));
	host_init(&s->a, 1, 1, NULL);
	host_init(&s->b, 2, 1, NULL);
	host_listen(&s->b, ROCE_CM_QP_RC, HOST_PORT);
	s->now = ROCE_NS_PER_S;
	s->active = host_connect(&s->a, &s->b, A_QPN, s->now);
	if (row->side == ACTIVE && row->state == S(REQ_SENT))
		drop_packets(s, &s->a);
	else
		host_exchange(&s->a, &s->b, s->now);
	if (s->b.report_count)
		s->passive = s->b.reports[0].id;
	s->id = row->side == ACTIVE ? s->active : s->passive;
	s->here = row->side == ACTIVE ? &s->a : &s->b;
	s->there = row->side == ACTIVE ? &s->b : &s->a;
	reach(s, row);
}

static void close_scene(struct scene *s)
{
	host_fini(&s->a);
	host_fini(&s->b);
}

/* A message of the other side that matches in every number. */
static void make_input(struct scene *s, size_t input, struct roce_cm_packet *out)
{
	struct roce_cm_info info;
	struct roce_cm_message m = {.attr = inputs[input].attr};

	roce_cm_id_info(s->id, &info);
	m.tid = m.attr == ROCE_CM_DREP ? s->dreq_tid : info.tid;
	m.local_id = info.remote_id ? info.remote_id : 0x7777;
	m.remote_id = m.attr == ROCE_CM_REQ ? 0 : info.local_id;
	if (m.attr == ROCE_CM_REQ) {
		m.req.service_id = roce_cm_service_id(ROCE_PORT_SPACE_TCP, HOST_PORT);
		m.req.ca_guid = s->there->guid;
		m.req.qpn = info.remote_qpn;
		m.req.mtu = 3;
		m.req.primary.local_gid = s->there->gid;
		m.req.primary.remote_gid = s->here->gid;
	}
	if (m.attr == ROCE_CM_REP) {
		m.rep.ca_guid = s->there->guid;
		m.rep.qpn.v = B_QPN;
	}
	if (m.attr == ROCE_CM_MRA)
		m.mra.answered = (uint8_t)inputs[input].answered;
	if (m.attr == ROCE_CM_REJ)
		m.rej.reason = ROCE_CM_REJ_CONSUMER;
	if (m.attr == ROCE_CM_DREQ)
		m.dreq.remote_qpn = info.local_qpn;
	if (m.attr == ROCE_CM_LAP)
		m.lap.remote_qpn = info.local_qpn;
	out->route = host_route(s->there, s->here);
	roce_cm_message_encode(&m, out->mad);
}

static char verdict_letter(enum roce_cm_verdict v)
{
	if (v == ROCE_CM_RX_ACCEPTED)
		return 'A';
	if (v == ROCE_CM_RX_DUPLICATE)
		return 'D';
	if (v == ROCE_CM_RX_WRONG_STATE)
		return 'W';
	if (v == ROCE_CM_RX_UNSUPPORTED)
		return 'U';
	return v == ROCE_CM_RX_NO_LISTENER ? 'N' : '?';
}

static void describe(struct scene *s, enum roce_cm_verdict verdict, enum roce_cm_state before,
		     char *out, size_t size)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	size_t n = host_take(s->here, packets);
	size_t at = (size_t)snprintf(out, size, "%c", verdict_letter(verdict));

	if (roce_cm_id_state(s->id) != before)
		at += (size_t)snprintf(out + at, size - at, ">%s",
				       roce_cm_state_str(roce_cm_id_state(s->id)));
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(out + at, size - at, "+%s",
				       roce_cm_attr_str((uint16_t)host_decode(&packets[i]).attr));
	for (size_t i = 0; i < s->here->report_count; i++)
		at += (size_t)snprintf(out + at, size - at, "!%s",
				       roce_cm_report_str(s->here->reports[i].type));
}

static void states__against_messages(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		for (size_t k = 0; k < 10; k++) {
			struct roce_cm_packet p;
			enum roce_cm_verdict verdict;
			char got[128];
			struct scene s;

			open_scene(&s, &rows[i]);
			make_input(&s, k, &p);
			verdict = host_give(s.here, &p, s.now);
			describe(&s, verdict, rows[i].state, got, sizeof(got));
			if (strcmp(got, rows[i].cell[k]) != 0) {
				print_message("%s %s, %s: %s, want %s\n",
					      rows[i].side == ACTIVE ? "active" : "passive",
					      roce_cm_state_str(rows[i].state), inputs[k].name, got,
					      rows[i].cell[k]);
				wrong++;
			}
			close_scene(&s);
		}
	}
	assert_int_equal(wrong, 0);
}

/* ---- calls ---- */

static bool is_one_of(enum roce_cm_state state, const enum roce_cm_state *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == state)
			return true;
	return false;
}

#define IS_ONE_OF(state, ...)                                       \
	is_one_of(state, (const enum roce_cm_state[]){__VA_ARGS__}, \
		  sizeof((const enum roce_cm_state[]){__VA_ARGS__}) / sizeof(enum roce_cm_state))

static int expected_result(enum roce_cm_state state, unsigned call)
{
	switch (call) {
	case 0: /* accept */
		return IS_ONE_OF(state, S(REQ_RCVD), S(MRA_REQ_SENT)) ? 0 : -EINVAL;
	case 1: /* reject */
		return IS_ONE_OF(state, S(REQ_SENT), S(MRA_REQ_RCVD), S(REP_RCVD), S(MRA_REP_SENT),
				 S(REQ_RCVD), S(MRA_REQ_SENT), S(REP_SENT), S(MRA_REP_RCVD))
			       ? 0
			       : -EINVAL;
	case 2: /* establish */
		return IS_ONE_OF(state, S(REP_RCVD), S(MRA_REP_SENT)) ? 0 : -EINVAL;
	case 3: /* notify */
		if (state == S(ESTABLISHED))
			return -EISCONN;
		return IS_ONE_OF(state, S(REP_SENT), S(MRA_REP_RCVD)) ? 0 : -EINVAL;
	default: /* disconnect */
		return IS_ONE_OF(state, S(ESTABLISHED), S(DREQ_RCVD)) ? 0 : -EINVAL;
	}
}

static int make_call(struct scene *s, unsigned call)
{
	switch (call) {
	case 0:
		return host_accept(s->here, s->id, B_QPN, s->now);
	case 1:
		return roce_cm_reject(s->here->cm, s->id, ROCE_CM_REJ_CONSUMER, NULL, s->now);
	case 2:
		return roce_cm_establish(s->here->cm, s->id, s->now);
	case 3:
		return roce_cm_notify(s->here->cm, s->id, s->now);
	default:
		return roce_cm_disconnect(s->here->cm, s->id, s->now);
	}
}

static void states__against_calls(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		for (unsigned call = 0; call < 5; call++) {
			int expected = expected_result(rows[i].state, call);
			struct scene s;

			open_scene(&s, &rows[i]);
			assert_int_equal(make_call(&s, call), expected);
			if (expected)
				assert_int_equal(roce_cm_id_state(s.id), rows[i].state);
			close_scene(&s);
		}
	}
}

/* What destroy sends, by state; NULL: nothing. */
static const char *last_words(enum roce_cm_state state)
{
	if (IS_ONE_OF(state, S(REQ_SENT), S(MRA_REQ_RCVD)))
		return "REJ 4";
	if (IS_ONE_OF(state, S(REQ_RCVD), S(MRA_REQ_SENT), S(REP_SENT), S(REP_RCVD),
		      S(MRA_REP_SENT), S(MRA_REP_RCVD)))
		return "REJ 28";
	if (state == S(ESTABLISHED))
		return "DREQ";
	return state == S(DREQ_RCVD) ? "DREP" : NULL;
}

static void states__destroyed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		struct roce_cm_packet packets[HOST_PACKETS_MAX];
		const char *expected = last_words(rows[i].state);
		char got[32] = "";
		struct scene s;
		size_t n;

		open_scene(&s, &rows[i]);
		roce_cm_destroy(s.here->cm, s.id, s.now);
		assert_int_equal(s.here->owner.id_count, 0);
		assert_int_equal(s.here->owner.half_open_count, 0);
		n = host_take(s.here, packets);
		assert_int_equal(n, expected ? 1 : 0);
		if (n) {
			struct roce_cm_message m = host_decode(&packets[0]);

			snprintf(got, sizeof(got), "%s", roce_cm_attr_str((uint16_t)m.attr));
			if (m.attr == ROCE_CM_REJ)
				snprintf(got, sizeof(got), "REJ %u", m.rej.reason);
			assert_string_equal(got, expected);
		}
		/* And it goes for good, without a report, whatever the peer does not do. */
		while (roce_cm_deadline(s.here->cm) != ROCE_NEVER) {
			s.now = roce_cm_deadline(s.here->cm);
			roce_cm_on_deadline(s.here->cm, s.now);
			host_pull(s.here);
			host_take(s.here, packets);
		}
		assert_int_equal(s.here->report_count, 0);
		close_scene(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states__against_messages),
		cmocka_unit_test(states__against_calls),
		cmocka_unit_test(states__destroyed),
	};

	return cmocka_run_group_tests_name("states", tests, NULL, NULL);
}
