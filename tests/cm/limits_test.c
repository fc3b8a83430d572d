/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each table and limit of the connection manager, full; which of several listeners takes a request;
 * and callers' mistakes.
 */
#include "scene.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* ---- what is full ---- */

static struct roce_cm_config small(void)
{
	struct roce_cm_config cfg = host_limits;

	cfg.id_max = 4;
	cfg.held_max = 2;
	return cfg;
}

/* A REQ from host a for each of `count` queue pairs; the verdict of the last. */
static enum roce_cm_verdict send_reqs(struct scene *s, unsigned count)
{
	enum roce_cm_verdict verdict = ROCE_CM_RX_ACCEPTED;

	for (unsigned i = 0; i < count; i++) {
		host_connect(&s->a, &s->b, A_QPN + i, s->now);
		scene_catch(s, &s->a);
		verdict = host_give(&s->b, &s->p, s->now);
	}
	return verdict;
}

static void open_limited(struct scene *s, const struct roce_cm_config *cfg,
			 enum roce_cm_qp_type type)
{
	scene_open(s, type);
	host_fini(&s->b);
	host_init(&s->b, 2, 1, cfg);
	s->listener = host_listen(&s->b, type, HOST_PORT);
}

static void full__backlog(void **state)
{
	struct scene s;

	(void)state;
	scene_open(&s, ROCE_CM_QP_RC);
	assert_int_equal(send_reqs(&s, 9), ROCE_CM_RX_BACKLOG_FULL);
	assert_false(roce_cm_tx_is_pending(s.b.cm));
	/* One is read, and the peer asks again. */
	roce_cm_take(s.b.cm, s.b.reports[0].id);
	roce_cm_take(s.b.cm, s.b.reports[0].id);
	assert_int_equal(host_give(&s.b, &s.p, s.now), ROCE_CM_RX_ACCEPTED);
	scene_close(&s);

	scene_open(&s, ROCE_CM_QP_UD);
	for (unsigned i = 0; i < 9; i++) {
		host_sidr(&s.a, &s.b, s.now);
		scene_catch(&s, &s.a);
		assert_int_equal(host_give(&s.b, &s.p, s.now),
				 i < 8 ? ROCE_CM_RX_ACCEPTED : ROCE_CM_RX_BACKLOG_FULL);
	}
	scene_close(&s);
}

static void full__limits_of_the_owner(void **state)
{
	struct roce_cm_config cfg = host_limits;
	struct roce_cm_connect c;
	struct roce_cm_id *id;
	struct scene s;

	(void)state;
	cfg.owner_half_open_max = 3;
	open_limited(&s, &cfg, ROCE_CM_QP_RC);
	assert_int_equal(send_reqs(&s, 4), ROCE_CM_RX_HALF_OPEN_FULL);
	assert_false(roce_cm_tx_is_pending(s.b.cm));
	/* For what it begins itself, too. */
	c = host_connect_params(&s.b, &s.a, B_QPN);
	assert_int_equal(roce_cm_connect(s.b.cm, &c, s.now, &id), -ENOMEM);
	assert_int_equal(host_counter(&s.b, ROCE_CM_STAT_HALF_OPEN_FULL), 1);
	/* One that is no longer half-open makes room. */
	assert_int_equal(
		roce_cm_reject(s.b.cm, s.b.reports[0].id, ROCE_CM_REJ_CONSUMER, NULL, s.now), 0);
	assert_int_equal(host_give(&s.b, &s.p, s.now), ROCE_CM_RX_ACCEPTED);
	scene_close(&s);

	cfg = host_limits;
	cfg.owner_id_max = 3;
	open_limited(&s, &cfg, ROCE_CM_QP_RC);
	assert_int_equal(send_reqs(&s, 4), ROCE_CM_RX_OWNER_FULL);
	c = host_connect_params(&s.b, &s.a, B_QPN);
	assert_int_equal(roce_cm_connect(s.b.cm, &c, s.now, &id), -ENOMEM);
	assert_int_equal(host_counter(&s.b, ROCE_CM_STAT_OWNER_FULL), 1);
	scene_close(&s);
}

static void full__half_open_of_all(void **state)
{
	struct roce_cm_config cfg = host_limits;
	struct scene s;

	(void)state;
	cfg.half_open_max = 3;
	open_limited(&s, &cfg, ROCE_CM_QP_RC);
	assert_int_equal(send_reqs(&s, 4), ROCE_CM_RX_HALF_OPEN_FULL);
	scene_close(&s);
}

static void full__table(void **state)
{
	const struct roce_cm_config cfg = small();
	struct scene s;

	(void)state;
	open_limited(&s, &cfg, ROCE_CM_QP_RC);
	assert_int_equal(send_reqs(&s, 5), ROCE_CM_RX_TABLE_FULL);
	assert_int_equal(host_counter(&s.b, ROCE_CM_STAT_TABLE_FULL), 1);
	assert_false(roce_cm_tx_is_pending(s.b.cm));
	scene_close(&s);

	open_limited(&s, &cfg, ROCE_CM_QP_UD);
	for (unsigned i = 0; i < 5; i++) {
		host_sidr(&s.a, &s.b, s.now);
		scene_catch(&s, &s.a);
		assert_int_equal(host_give(&s.b, &s.p, s.now),
				 i < 4 ? ROCE_CM_RX_ACCEPTED : ROCE_CM_RX_TABLE_FULL);
	}
	scene_close(&s);
}

/* Finished ids are kept to know duplicates, but never in the way of others. */
static void full__held_ids_give_way(void **state)
{
	const struct roce_cm_config cfg = small();
	struct scene s;

	(void)state;
	open_limited(&s, &cfg, ROCE_CM_QP_RC);
	for (unsigned i = 0; i < 20; i++) {
		host_connect(&s.a, &s.b, A_QPN + i, s.now);
		host_exchange(&s.a, &s.b, s.now);
		host_expect(&s.b, i, ROCE_CM_REPORT_CONNECT_REQUEST, 0);
		roce_cm_destroy(s.b.cm, s.b.reports[i].id, s.now);
		host_exchange(&s.a, &s.b, s.now);
		host_expect(&s.a, i, ROCE_CM_REPORT_REJECTED, ROCE_CM_REJ_CONSUMER);
	}
	assert_int_equal(roce_cm_usage(s.b.cm).ids, 2);
	assert_int_equal(roce_cm_usage(s.b.cm).held, 2);
	/* Two are held; four new ones fit all the same. */
	assert_int_equal(send_reqs(&s, 4), ROCE_CM_RX_ACCEPTED);
	assert_int_equal(roce_cm_usage(s.b.cm).half_open, 4);
	scene_close(&s);
}

static void full__replies(void **state)
{
	struct roce_cm_config cfg = host_limits;
	struct roce_cm_packet packets[HOST_PACKETS_MAX];
	struct scene s;

	(void)state;
	cfg.reply_max = 2;
	open_limited(&s, &cfg, ROCE_CM_QP_RC);
	roce_cm_unlisten(s.b.cm, s.listener, s.now);
	s.now += 2 * ROCE_NS_PER_S;
	assert_int_equal(send_reqs(&s, 3), ROCE_CM_RX_NO_LISTENER);
	assert_int_equal(host_counter(&s.b, ROCE_CM_STAT_REPLIES_FULL), 1);
	assert_int_equal(host_take(&s.b, packets), 2);
	scene_close(&s);
}

static void full__listeners(void **state)
{
	struct roce_cm_config cfg = host_limits;
	struct roce_cm_listen l = {.qp_type = ROCE_CM_QP_RC,
				   .port_space = ROCE_PORT_SPACE_TCP,
				   .is_wildcard = true,
				   .takes_v4 = true};
	struct roce_cm_listener *out;
	struct roce_cm_owner other;
	struct scene s;

	(void)state;
	cfg.listener_max = 3;
	cfg.owner_listener_max = 2;
	open_limited(&s, &cfg, ROCE_CM_QP_RC);
	l.owner = &s.b.owner;
	l.port = 1;
	assert_int_equal(roce_cm_listen(s.b.cm, &l, &out), 0);
	l.port = 2;
	assert_int_equal(roce_cm_listen(s.b.cm, &l, &out), -ENOMEM);
	roce_cm_owner_init(&other);
	l.owner = &other;
	assert_int_equal(roce_cm_listen(s.b.cm, &l, &out), 0);
	l.port = 3;
	assert_int_equal(roce_cm_listen(s.b.cm, &l, &out), -ENOMEM);
	assert_int_equal(host_counter(&s.b, ROCE_CM_STAT_LISTENERS_FULL), 2);
	roce_cm_owner_fini(s.b.cm, &s.b.owner, s.now);
	assert_int_equal(roce_cm_listen(s.b.cm, &l, &out), 0);
	scene_close(&s);
}

/* ---- listeners ---- */

static struct roce_cm_listener *listen_at(struct host *h, int number, bool v4, bool v6, int *error)
{
	struct roce_cm_listen l = {.owner = &h->owner,
				   .qp_type = ROCE_CM_QP_ANY,
				   .port_space = ROCE_PORT_SPACE_TCP,
				   .port = HOST_PORT,
				   .is_wildcard = number < 0,
				   .takes_v4 = v4,
				   .takes_v6 = v6};
	struct roce_cm_listener *out = NULL;

	if (number >= 0)
		l.address = host_gid((uint8_t)number);
	*error = roce_cm_listen(h->cm, &l, &out);
	return out;
}

/* The closest one takes it; whatever kind of queue pair, when it takes any. */
static void listen__order(void **state)
{
	struct roce_cm_listener *both, *v4, *own;
	struct scene s;
	int error;

	(void)state;
	scene_open(&s, ROCE_CM_QP_RC);
	roce_cm_unlisten(s.b.cm, s.listener, s.now);
	both = listen_at(&s.b, -1, true, true, &error);
	v4 = listen_at(&s.b, -1, true, false, &error);
	listen_at(&s.b, -1, false, true, &error);
	own = listen_at(&s.b, 2, false, false, &error);
	assert_int_equal(error, 0);
	listen_at(&s.b, 2, false, false, &error);
	assert_int_equal(error, -EADDRINUSE);
	listen_at(&s.b, -1, true, false, &error);
	assert_int_equal(error, -EADDRINUSE);
	listen_at(&s.b, -1, false, false, &error);
	assert_int_equal(error, -EINVAL);
	listen_at(&s.b, 9, false, false, &error);
	assert_int_equal(send_reqs(&s, 1), ROCE_CM_RX_ACCEPTED);
	assert_ptr_equal(s.b.reports[0].listener, own);
	roce_cm_unlisten(s.b.cm, own, s.now);
	assert_int_equal(send_reqs(&s, 2), ROCE_CM_RX_ACCEPTED);
	assert_ptr_equal(s.b.reports[2].listener, v4);
	roce_cm_unlisten(s.b.cm, v4, s.now);
	assert_int_equal(send_reqs(&s, 3), ROCE_CM_RX_ACCEPTED);
	assert_ptr_equal(s.b.reports[3].listener, both);
	roce_cm_unlisten(s.b.cm, both, s.now);
	s.now += 2 * ROCE_NS_PER_S;
	assert_int_equal(send_reqs(&s, 4), ROCE_CM_RX_NO_LISTENER);
	scene_close(&s);
}

/* ---- callers' mistakes ---- */

static void calls__too_much_private_data(void **state)
{
	static const uint8_t bytes[ROCE_CM_PRIVATE_BYTES_MAX + 1];
	const struct roce_cm_params params = {.qpn.v = B_QPN, .ca_guid = 1};
	struct roce_cm_data data = {bytes, 0};
	struct roce_cm_sidr_connect sidr = {.data = {bytes, 181}};
	struct roce_cm_connect c;
	struct roce_cm_id *id;
	struct scene s;

	(void)state;
	scene_open_with_request(&s);
	c = host_connect_params(&s.a, &s.b, A_QPN + 1);
	c.data = (struct roce_cm_data){bytes, 57};
	assert_int_equal(roce_cm_connect(s.a.cm, &c, s.now, &id), -EINVAL);
	data.length = 197;
	assert_int_equal(roce_cm_accept(s.b.cm, s.passive, &params, &data, s.now), -EINVAL);
	data.length = 149;
	assert_int_equal(roce_cm_reject(s.b.cm, s.passive, ROCE_CM_REJ_CONSUMER, &data, s.now),
			 -EINVAL);
	sidr.owner = &s.a.owner;
	sidr.route = host_route(&s.a, &s.b);
	assert_int_equal(roce_cm_sidr_connect(s.a.cm, &sidr, s.now, &id), -EINVAL);
	/* Exactly full is right. */
	data.length = 196;
	assert_int_equal(roce_cm_accept(s.b.cm, s.passive, &params, &data, s.now), 0);
	c.data.length = 56;
	assert_int_equal(roce_cm_connect(s.a.cm, &c, s.now, &id), 0);
	scene_close(&s);
}

static void calls__two_families(void **state)
{
	struct roce_cm_connect c;
	struct roce_cm_id *id;
	struct scene s;

	(void)state;
	scene_open(&s, ROCE_CM_QP_RC);
	c = host_connect_params(&s.a, &s.b, A_QPN);
	c.route.remote = (struct roce_gid){{0xfd, [15] = 1}};
	assert_int_equal(roce_cm_connect(s.a.cm, &c, s.now, &id), -EINVAL);
	c = host_connect_params(&s.a, &s.b, A_QPN);
	c.params.ca_guid = 0;
	assert_int_equal(roce_cm_connect(s.a.cm, &c, s.now, &id), -EINVAL);
	c = host_connect_params(&s.a, &s.b, A_QPN);
	c.qp_type = ROCE_CM_QP_UD;
	assert_int_equal(roce_cm_connect(s.a.cm, &c, s.now, &id), -EINVAL);
	assert_int_equal(s.a.owner.id_count, 0);
	scene_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full__backlog),
		cmocka_unit_test(full__limits_of_the_owner),
		cmocka_unit_test(full__half_open_of_all),
		cmocka_unit_test(full__table),
		cmocka_unit_test(full__held_ids_give_way),
		cmocka_unit_test(full__replies),
		cmocka_unit_test(full__listeners),
		cmocka_unit_test(listen__order),
		cmocka_unit_test(calls__too_much_private_data),
		cmocka_unit_test(calls__two_families),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
