/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dialogues by the thousand on a bad network, in virtual time: of the packets 20% are lost, 20%
 * come twice, and every one is delayed, some by many seconds, so that they overtake each other. The
 * programs on both sides do what programs do, at any moment: accept late, refuse, close, both
 * close, give up, or forget to. Checked:
 *
 *   - each attempt ends in exactly one of its reports, and no report comes twice;
 *   - when nothing is under way any more, no ID waits for a peer, and nothing is left in the
 * tables;
 *   - who believes to be connected is connected, with somebody who believes the same.
 *
 * UROCE_CM_SEED and UROCE_CM_DIALOGUES choose others; a failure prints its seed.
 */
#include "host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cm/cm_internal.h"

#define BATCH	      50 /* dialogues of one pair of hosts at a time */
#define DIALOGUES     10000
#define FLIGHTS_MAX   4096
#define ACTORS_MAX    (2 * BATCH)
#define LOSS_PPM      200000
#define DOUBLE_PPM    200000
#define LATE_PPM      200000
#define LATE_NS	      (20 * ROCE_NS_PER_S)
#define PERSISTENT_NS (UINT64_C(100000) * ROCE_NS_PER_S)

/* What an end of a dialogue is going to do next, and has been told. */
struct actor {
	struct roce_cm_id *id; /* NULL: destroyed, or not born */
	unsigned number;
	bool is_active;
	bool is_ud;
	bool has_answered; /* accept, or establish */
	bool stays;	   /* never closes by itself */
	unsigned told[16]; /* by report */
	roce_ns_t act_at;  /* ROCE_NEVER: waits */
};

struct flight {
	roce_ns_t at;
	unsigned to;
	struct roce_cm_packet packet;
};

struct world {
	struct roce_prng prng;
	struct host host[2]; /* 0 connects, 1 listens */
	struct actor actor[ACTORS_MAX];
	unsigned actor_count;
	struct flight flight[FLIGHTS_MAX];
	unsigned flight_count;
	roce_ns_t now;
	uint64_t seed;
};

static struct world world;

#define require(w, holds)                                                                 \
	do {                                                                              \
		if (!(holds))                                                             \
			fail_msg("seed %llu: %s", (unsigned long long)(w)->seed, #holds); \
	} while (0)

static bool hit(struct world *w, uint32_t ppm)
{
	return roce_prng_hit(&w->prng, ppm);
}

static roce_ns_t delay(struct world *w, roce_ns_t most)
{
	return roce_prng_below(&w->prng, most) + 1;
}

/* ---- the network ---- */

static void launch(struct world *w, unsigned to, const struct roce_cm_packet *p)
{
	roce_ns_t most = hit(w, LATE_PPM) ? LATE_NS : ROCE_NS_PER_MS;

	require(w, w->flight_count < FLIGHTS_MAX);
	w->flight[w->flight_count++] =
		(struct flight){.at = w->now + delay(w, most), .to = to, .packet = *p};
}

static void send_all(struct world *w)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];

	for (unsigned h = 0; h < 2; h++) {
		size_t n;

		while ((n = roce_cm_tx(w->host[h].cm, packets, HOST_PACKETS_MAX)) > 0) {
			for (size_t i = 0; i < n; i++) {
				if (!hit(w, LOSS_PPM))
					launch(w, 1 - h, &packets[i]);
				if (hit(w, DOUBLE_PPM))
					launch(w, 1 - h, &packets[i]);
			}
		}
	}
}

/* ---- reports ---- */

static struct actor *new_actor(struct world *w, struct roce_cm_id *id, bool is_active, bool is_ud)
{
	struct actor *a = &w->actor[w->actor_count];

	require(w, w->actor_count < ACTORS_MAX);
	*a = (struct actor){.id = id,
			    .number = w->actor_count++,
			    .is_active = is_active,
			    .is_ud = is_ud,
			    .stays = hit(w, 300000),
			    .act_at = ROCE_NEVER};
	return a;
}

static unsigned told(const struct actor *a, enum roce_cm_report_type type)
{
	return a->told[type];
}

/* How many reports have decided the attempt. */
static unsigned decisions(const struct actor *a)
{
	unsigned n = told(a, ROCE_CM_REPORT_UNREACHABLE);

	if (a->is_active && !a->is_ud)
		return n + told(a, ROCE_CM_REPORT_CONNECT_RESPONSE) +
		       (told(a, ROCE_CM_REPORT_CONNECT_RESPONSE)
				? 0
				: told(a, ROCE_CM_REPORT_REJECTED));
	n += told(a, ROCE_CM_REPORT_ESTABLISHED);
	if (a->is_ud || told(a, ROCE_CM_REPORT_ESTABLISHED))
		return n;
	return n + told(a, ROCE_CM_REPORT_REJECTED) + told(a, ROCE_CM_REPORT_DISCONNECTED);
}

static void check_report(struct world *w, struct actor *a, enum roce_cm_report_type type)
{
	require(w, ++a->told[type] == 1);
	require(w, decisions(a) <= 1);
	require(w, told(a, ROCE_CM_REPORT_REJECTED) + told(a, ROCE_CM_REPORT_DISCONNECTED) <= 1);
	if (!a->is_active && type != ROCE_CM_REPORT_CONNECT_REQUEST)
		require(w, a->has_answered && !a->is_ud);
	if (type == ROCE_CM_REPORT_TIMEWAIT_EXIT)
		require(w, told(a, ROCE_CM_REPORT_DISCONNECTED) == 1);
	if (a->is_active && type == ROCE_CM_REPORT_DISCONNECTED)
		require(w, a->has_answered);
}

static void on_report(struct world *w, const struct roce_cm_report *r)
{
	struct actor *a = r->user;

	if (r->type == ROCE_CM_REPORT_CONNECT_REQUEST) {
		a = new_actor(w, r->id, false, r->is_ud);
		roce_cm_id_set_user(r->id, a);
	}
	require(w, a->id == r->id);
	check_report(w, a, r->type);
	/* Programs are fast mostly, and sometimes very slow. */
	a->act_at = w->now + delay(w, hit(w, 800000) ? ROCE_NS_PER_MS : 40 * ROCE_NS_PER_S);
	if (r->type == ROCE_CM_REPORT_ESTABLISHED && a->stays)
		a->act_at = ROCE_NEVER;
}

static void pull_all(struct world *w)
{
	for (unsigned h = 0; h < 2; h++) {
		struct roce_cm_report r;

		while (roce_cm_next_report(w->host[h].cm, &r))
			on_report(w, &r);
	}
}

/* ---- programs ---- */

static void destroy(struct world *w, struct actor *a)
{
	roce_cm_destroy(w->host[a->is_active ? 0 : 1].cm, a->id, w->now);
	a->id = NULL;
}

static void answer_request(struct world *w, struct actor *a)
{
	struct roce_cm *cm = w->host[1].cm;

	if (hit(w, 100000)) {
		destroy(w, a);
	} else if (hit(w, 100000)) {
		(void)!roce_cm_reject(cm, a->id, ROCE_CM_REJ_CONSUMER, NULL, w->now);
		destroy(w, a);
	} else if (host_accept(&w->host[1], a->id, 0x20000 + a->number, w->now)) {
		destroy(w, a); /* the peer has gone */
	} else {
		a->has_answered = true;
		if (a->is_ud || hit(w, 50000))
			a->act_at = w->now + delay(w, ROCE_NS_PER_S);
	}
}

static void answer_response(struct world *w, struct actor *a)
{
	struct roce_cm *cm = w->host[0].cm;

	if (hit(w, 100000)) {
		destroy(w, a);
	} else if (hit(w, 50000)) {
		int error = roce_cm_reject(cm, a->id, ROCE_CM_REJ_CONSUMER, NULL, w->now);

		require(w, !error || told(a, ROCE_CM_REPORT_REJECTED) == 1);
		destroy(w, a);
	} else if (roce_cm_establish(cm, a->id, w->now)) {
		require(w, told(a, ROCE_CM_REPORT_REJECTED) == 1);
		destroy(w, a);
	} else {
		a->has_answered = true;
		if (!a->stays)
			a->act_at = w->now + delay(w, 10 * ROCE_NS_PER_S);
	}
}

/* Closes, or gives up what has ended. */
static void go_on(struct world *w, struct actor *a)
{
	struct roce_cm *cm = w->host[a->is_active ? 0 : 1].cm;

	enum roce_cm_state state = roce_cm_id_state(a->id);

	if (state == ROCE_CM_STATE_TIMEWAIT || state == ROCE_CM_STATE_DREQ_SENT) {
		if (hit(w, 300000))
			destroy(w, a); /* else TIMEWAIT_EXIT will come */
	} else if ((state == ROCE_CM_STATE_ESTABLISHED || state == ROCE_CM_STATE_DREQ_RCVD) &&
		   !hit(w, 300000)) {
		require(w, !roce_cm_disconnect(cm, a->id, w->now));
	} else {
		destroy(w, a);
	}
}

static void act(struct world *w, struct actor *a)
{
	a->act_at = ROCE_NEVER;
	if (!a->id)
		return;
	if (!a->is_active && !a->has_answered)
		answer_request(w, a);
	else if (a->is_active && told(a, ROCE_CM_REPORT_CONNECT_RESPONSE) && !a->has_answered)
		answer_response(w, a);
	else
		go_on(w, a);
}

/* ---- time ---- */

static roce_ns_t next_time(const struct world *w)
{
	roce_ns_t at = roce_cm_deadline(w->host[0].cm);

	if (roce_cm_deadline(w->host[1].cm) < at)
		at = roce_cm_deadline(w->host[1].cm);
	for (unsigned i = 0; i < w->flight_count; i++)
		if (w->flight[i].at < at)
			at = w->flight[i].at;
	for (unsigned i = 0; i < w->actor_count; i++)
		if (w->actor[i].act_at < at)
			at = w->actor[i].act_at;
	return at;
}

static void land(struct world *w)
{
	for (unsigned i = 0; i < w->flight_count;) {
		struct flight f = w->flight[i];
		struct roce_cm_route route;

		if (f.at > w->now) {
			i++;
			continue;
		}
		w->flight[i] = w->flight[--w->flight_count];
		route = (struct roce_cm_route){.local = f.packet.route.remote,
					       .remote = f.packet.route.local};
		roce_cm_rx(w->host[f.to].cm, &route, f.packet.mad, ROCE_MAD_BYTES, w->now);
		pull_all(w);
	}
}

static void run(struct world *w)
{
	for (;;) {
		roce_ns_t at = next_time(w);

		if (at == ROCE_NEVER)
			return;
		require(w, at < PERSISTENT_NS);
		w->now = at;
		land(w);
		for (unsigned h = 0; h < 2; h++)
			roce_cm_on_deadline(w->host[h].cm, w->now);
		pull_all(w);
		for (unsigned i = 0; i < w->actor_count; i++)
			if (w->actor[i].act_at <= w->now)
				act(w, &w->actor[i]);
		pull_all(w);
		send_all(w);
	}
}

/* ---- a batch ---- */

static void start(struct world *w)
{
	struct host *h = &w->host[0];

	for (unsigned i = 0; i < BATCH; i++) {
		bool is_ud = hit(w, 150000);
		struct actor *a = new_actor(w, NULL, true, is_ud);

		a->id = is_ud ? host_sidr(h, &w->host[1], w->now)
			      : host_connect(h, &w->host[1], 0x10000 + a->number, w->now);
		roce_cm_id_set_user(a->id, a);
		/* Some lose patience. */
		if (hit(w, 100000))
			a->act_at = w->now + delay(w, 20 * ROCE_NS_PER_S);
	}
	send_all(w);
}

static const struct actor *find_by_local(const struct world *w, uint32_t local_id)
{
	for (unsigned i = 0; i < w->actor_count; i++)
		if (w->actor[i].id && w->actor[i].id->info.local_id == local_id)
			return &w->actor[i];
	return NULL;
}

static void check_quiet(struct world *w)
{
	for (unsigned i = 0; i < w->actor_count; i++) {
		struct actor *a = &w->actor[i];
		const struct actor *other;
		struct roce_cm_info info, theirs;

		if (!a->id)
			continue;
		roce_cm_id_info(a->id, &info);
		/* Only what stays is left: connected, ended, or (UD) answered. */
		require(w, info.state == ROCE_CM_STATE_ESTABLISHED ||
				   info.state == ROCE_CM_STATE_IDLE ||
				   info.state == ROCE_CM_STATE_SIDR_REP_SENT);
		if (info.state != ROCE_CM_STATE_ESTABLISHED)
			continue;
		other = find_by_local(w, info.remote_id);
		require(w, other && other->is_active != a->is_active);
		roce_cm_id_info(other->id, &theirs);
		require(w, theirs.state == ROCE_CM_STATE_ESTABLISHED);
		require(w, theirs.remote_id == info.local_id);
		require(w, theirs.remote_qpn.v == info.local_qpn.v &&
				   theirs.local_qpn.v == info.remote_qpn.v);
	}
	for (unsigned i = 0; i < w->actor_count; i++) {
		struct actor *a = &w->actor[i];

		/* Whoever was not destroyed before has heard how it ended. */
		if (a->id && (a->is_active || (a->has_answered && !a->is_ud)))
			require(w, decisions(a) == 1);
	}
}

static void check_empty(struct world *w)
{
	for (unsigned h = 0; h < 2; h++) {
		struct roce_cm *cm = w->host[h].cm;
		unsigned free_ids = 0;
		struct roce_list *pos;

		roce_list_for_each (pos, &cm->free_ids)
			free_ids++;
		require(w, free_ids == cm->ids_used && roce_cm_usage(cm).ids == 0);
		require(w, cm->half_open_count == 0 && cm->held_count == 0);
		require(w, cm->dreq_sent_count == 0 && cm->timers.count == 0);
		require(w, w->host[h].owner.id_count == 0 && w->host[h].owner.half_open_count == 0);
		for (uint32_t i = 0; i <= cm->table_mask; i++)
			require(w, !cm->local_table[i] && !cm->peer_table[i] && !cm->qpn_table[i]);
	}
}

static unsigned count_told(const struct world *w, bool is_active, enum roce_cm_report_type type)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->actor_count; i++)
		n += w->actor[i].is_active == is_active && told(&w->actor[i], type);
	return n;
}

struct tally {
	unsigned requests, responses, established, rejected, unreachable, disconnected;
};

static void run_batch(struct world *w, uint64_t seed, struct tally *t)
{
	memset(w, 0, sizeof(*w));
	w->seed = seed;
	w->prng.state = seed;
	w->now = ROCE_NS_PER_S;
	for (unsigned h = 0; h < 2; h++)
		host_init(&w->host[h], (uint8_t)(h + 1), seed, NULL);
	host_listen(&w->host[1], ROCE_CM_QP_RC, HOST_PORT)->cfg.backlog = 1000;
	host_listen(&w->host[1], ROCE_CM_QP_UD, HOST_PORT)->cfg.backlog = 1000;
	start(w);
	run(w);
	check_quiet(w);
	/* Each attempt that was heard of made one child. */
	require(w, count_told(w, false, ROCE_CM_REPORT_CONNECT_REQUEST) <= BATCH);
	t->requests += count_told(w, false, ROCE_CM_REPORT_CONNECT_REQUEST);
	t->responses += count_told(w, true, ROCE_CM_REPORT_CONNECT_RESPONSE);
	t->established += count_told(w, false, ROCE_CM_REPORT_ESTABLISHED);
	t->rejected += count_told(w, true, ROCE_CM_REPORT_REJECTED) +
		       count_told(w, false, ROCE_CM_REPORT_REJECTED);
	t->unreachable += count_told(w, true, ROCE_CM_REPORT_UNREACHABLE) +
			  count_told(w, false, ROCE_CM_REPORT_UNREACHABLE);
	t->disconnected += count_told(w, true, ROCE_CM_REPORT_DISCONNECTED) +
			   count_told(w, false, ROCE_CM_REPORT_DISCONNECTED);
	for (unsigned i = 0; i < w->actor_count; i++)
		if (w->actor[i].id)
			destroy(w, &w->actor[i]);
	send_all(w);
	run(w);
	check_empty(w);
	for (unsigned h = 0; h < 2; h++)
		host_fini(&w->host[h]);
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void seeds__dialogues(void **state)
{
	uint64_t seed = from_environment("UROCE_CM_SEED", 1);
	uint64_t dialogues = from_environment("UROCE_CM_DIALOGUES", DIALOGUES);
	struct tally t = {0};

	(void)state;
	for (uint64_t i = 0; i * BATCH < dialogues; i++)
		run_batch(&world, seed + i, &t);
	print_message("%llu dialogues: %u requests, %u responses, %u established, %u rejected, "
		      "%u unreachable, %u disconnected\n",
		      (unsigned long long)dialogues, t.requests, t.responses, t.established,
		      t.rejected, t.unreachable, t.disconnected);
	/* The test is worth something only if all of that happens. */
	assert_true(t.requests > dialogues / 2 && t.responses > dialogues / 4);
	assert_true(t.established > dialogues / 4 && t.rejected > dialogues / 50);
	assert_true(t.disconnected > dialogues / 4);
}

/* The same seed is the same run. */
static void seeds__twice(void **state)
{
	struct tally once = {0}, again = {0};

	(void)state;
	run_batch(&world, 42, &once);
	run_batch(&world, 42, &again);
	assert_memory_equal(&once, &again, sizeof(once));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seeds__twice),
		cmocka_unit_test(seeds__dialogues),
	};

	return cmocka_run_group_tests_name("seeds", tests, NULL, NULL);
}
