/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which events a change of the port makes, in which order a program that is slow to ask gets them,
 * and that datagram queue pairs move with the addresses while connected ones stay.
 */
#include "verbs/loop_env.h"

#include "verbs/pd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <cmocka.h>

#define FATAL	    8
#define PORT_ACTIVE 9
#define PORT_ERR    10
#define GID_CHANGE  18

struct fixture {
	struct loop_env env;
	struct roce_context ctx;
	struct roce_pd pd;
	struct roce_verbs_cq cq;
	struct roce_verbs_qp qp;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	loop_env_init(&f->env, 1);
	if (roce_context_init(&f->ctx, &f->env.dev, f) != 0)
		return -1;
	fcntl(f->ctx.async.fd, F_SETFL, O_NONBLOCK);
	roce_pd_init(&f->pd, 1);
	*state = f;
	return roce_verbs_cq_init(&f->cq, &f->ctx, 16, NULL, NULL, f);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(f->env.open_count, 0);
	assert_int_equal(f->env.held_count, 0);
	assert_int_equal(roce_verbs_cq_fini(&f->cq), 0);
	roce_context_fini(&f->ctx);
	loop_env_fini(&f->env);
	free(f);
	return 0;
}

static void make_qp(struct fixture *f, uint8_t type)
{
	struct roce_qp_request request = {
		.type = type,
		.pd = &f->pd,
		.send_cq = &f->cq,
		.recv_cq = &f->cq,
		.caps = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.owner = f,
	};

	assert_int_equal(roce_verbs_qp_init(&f->qp, &f->ctx, &request), 0);
}

static void change(struct fixture *f, const struct roce_port_change *c)
{
	pthread_mutex_lock(&f->env.dev.lock);
	roce_device_on_port_change(&f->env.dev, c);
	pthread_mutex_unlock(&f->env.dev.lock);
}

static void link_goes(struct fixture *f, bool up)
{
	change(f, &(struct roce_port_change){.was_up = !up, .is_up = up});
}

/* The events that wait, in their order; 0 ends them. */
static void expect(struct fixture *f, const uint32_t *types)
{
	struct roce_event_source *src;
	uint32_t type;

	for (; *types; types++) {
		assert_int_equal(roce_events_get(&f->ctx.async, &src, &type), 0);
		assert_int_equal(type, *types);
		assert_int_equal(src->kind, ROCE_EVENT_OF_PORT);
		assert_ptr_equal(src->owner, f);
		roce_event_source_ack(&f->ctx.async, src, 1);
	}
	assert_int_equal(roce_events_get(&f->ctx.async, &src, &type), -EAGAIN);
}

#define EXPECT(...) expect(f, (const uint32_t[]){__VA_ARGS__, 0})

static void events__each_once_when_it_should(void **state)
{
	struct fixture *f = *state;

	EXPECT(0);
	link_goes(f, false);
	EXPECT(PORT_ERR);
	link_goes(f, true);
	EXPECT(PORT_ACTIVE);
	change(f, &(struct roce_port_change){.was_up = true, .is_up = true, .is_flapped = true});
	EXPECT(PORT_ERR, PORT_ACTIVE);
	change(f, &(struct roce_port_change){.is_flapped = true});
	EXPECT(PORT_ACTIVE, PORT_ERR);
	change(f, &(struct roce_port_change){.is_gid_changed = true});
	change(f, &(struct roce_port_change){.is_gid_changed = true});
	EXPECT(GID_CHANGE);
	change(f, &(struct roce_port_change){.is_mtu_changed = true});
	EXPECT(0);
	change(f,
	       &(struct roce_port_change){.was_up = true, .is_gid_changed = true, .is_gone = true});
	EXPECT(PORT_ERR, GID_CHANGE, FATAL);
}

/* Whatever happened meanwhile, the last of these events is how things are. */
static void events__last_one_is_the_state(void **state)
{
	struct fixture *f = *state;

	link_goes(f, false);
	link_goes(f, true);
	EXPECT(PORT_ERR, PORT_ACTIVE);
	link_goes(f, false);
	link_goes(f, true);
	link_goes(f, false);
	EXPECT(PORT_ERR);
	link_goes(f, true);
	link_goes(f, false);
	link_goes(f, true);
	link_goes(f, false);
	EXPECT(PORT_ACTIVE, PORT_ERR);
}

static void events__every_context(void **state)
{
	struct fixture *f = *state;
	struct roce_event_source *src;
	struct roce_context other;
	uint32_t type;

	assert_int_equal(roce_context_init(&other, &f->env.dev, &other), 0);
	link_goes(f, false);
	EXPECT(PORT_ERR);
	assert_int_equal(roce_events_get(&other.async, &src, &type), 0);
	assert_int_equal(type, PORT_ERR);
	assert_ptr_equal(src->owner, &other);
	roce_context_fini(&other);
}

static const struct roce_gid address_a = {{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1}};
static const struct roce_gid address_b = {{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 2}};

static void datagrams__follow_addresses_and_mtu(void **state)
{
	struct fixture *f = *state;
	const struct roce_port_change gids = {.is_gid_changed = true};
	const struct roce_qp_attr init = {.state = ROCE_QP_INIT, .port_num = 1, .qkey = 1};
	const struct roce_qp_attr rtr = {.state = ROCE_QP_RTR};

	make_qp(f, ROCE_QP_UD);
	f->env.gids[0] = address_a;
	f->env.gid_count = 1;
	change(f, &gids); /* not able to receive yet */
	assert_int_equal(f->env.open_count, 0);
	assert_int_equal(roce_verbs_qp_modify(&f->qp, &init,
					      ROCE_ATTR_STATE | ROCE_ATTR_PKEY_INDEX |
						      ROCE_ATTR_PORT | ROCE_ATTR_QKEY,
					      NULL),
			 0);
	assert_int_equal(roce_verbs_qp_modify(&f->qp, &rtr, ROCE_ATTR_STATE, NULL), 0);
	assert_int_equal(f->env.open_count, 1);
	f->env.gids[1] = address_b;
	f->env.gid_count = 2;
	change(f, &gids);
	assert_int_equal(f->env.open_count, 2);
	assert_true(roce_gid_is_equal(&f->env.opened_last, &address_b));
	f->env.gids[0] = (struct roce_gid){{0}};
	change(f, &gids);
	assert_int_equal(f->env.open_count, 1);
	assert_true(roce_gid_is_equal(&f->env.closed_last, &address_a));
	/* Without any address it waits for one. */
	f->env.gids[1] = (struct roce_gid){{0}};
	change(f, &gids);
	assert_int_equal(f->env.open_count, 0);
	f->env.gids[0] = address_a;
	change(f, &gids);
	assert_int_equal(f->env.open_count, 1);

	f->env.active_mtu = 2;
	change(f, &(struct roce_port_change){.is_mtu_changed = true});
	assert_int_equal(f->qp.qp.cfg.port_mtu, 2);
	f->env.active_mtu = 0;
	change(f, &(struct roce_port_change){.is_mtu_changed = true});
	assert_int_equal(f->qp.qp.cfg.port_mtu, 2);
	assert_int_equal(roce_verbs_qp_fini(&f->qp), 0);
}

/* A datagram from an address that has left is lost, and nobody is asked for the address. */
static void datagrams__from_an_address_that_left(void **state)
{
	struct fixture *f = *state;
	struct roce_path path = {.sgid = address_a, .dgid = address_b};

	make_qp(f, ROCE_QP_UD);
	f->qp.has_locals = true;
	f->env.gids[0] = address_b;
	f->env.gid_count = 1;
	roce_locals_open(&f->qp, &path);
	assert_int_equal(f->env.open_count, 0);
	f->env.gids[0] = address_a;
	roce_locals_open(&f->qp, &path);
	assert_int_equal(f->env.open_count, 1);
	assert_int_equal(roce_verbs_qp_fini(&f->qp), 0);
}

static void connected__stays_and_holds_its_index(void **state)
{
	struct fixture *f = *state;

	make_qp(f, ROCE_QP_RC);
	assert_int_equal(loop_qp_to_init(&f->qp, 0), 0);
	assert_int_equal(f->env.held_count, 0);
	assert_int_equal(loop_qp_to_rtr(&f->qp, f->qp.qp.cfg.qpn.v), 0);
	assert_int_equal(f->env.held_count, 1);
	f->env.gids[0] = address_b;
	f->env.gid_count = 1;
	change(f, &(struct roce_port_change){.is_gid_changed = true});
	assert_int_equal(f->env.open_count, 1);
	assert_int_equal(f->env.held_count, 1);
	assert_int_equal(f->qp.qp.attr.state, ROCE_QP_RTR);
	assert_true(roce_gid_is_equal(&f->qp.qp.attr.path.sgid, &address_a));
	assert_int_equal(roce_verbs_qp_fini(&f->qp), 0);
}

static void handle__holds_its_index(void **state)
{
	struct fixture *f = *state;
	struct roce_av av = loop_av();
	struct roce_ah ah;

	assert_int_equal(roce_ah_init(&ah, &f->ctx, &f->pd, &av), 0);
	assert_int_equal(f->env.held_count, 1);
	roce_ah_fini(&ah);
	assert_int_equal(f->env.held_count, 0);
	av.sgid_index = 3;
	assert_int_equal(roce_ah_init(&ah, &f->ctx, &f->pd, &av), -EINVAL);
	assert_int_equal(f->env.held_count, 0);
}

/* Between the question for an address and holding its index it may leave. */
static void address__leaves_meanwhile(void **state)
{
	struct fixture *f = *state;
	struct roce_av av = loop_av();
	struct roce_ah ah;

	make_qp(f, ROCE_QP_RC);
	assert_int_equal(loop_qp_to_init(&f->qp, 0), 0);
	f->env.is_leaving = true;
	assert_int_equal(roce_ah_init(&ah, &f->ctx, &f->pd, &av), -EINVAL);
	assert_int_equal(loop_qp_to_rtr(&f->qp, f->qp.qp.cfg.qpn.v), -EINVAL);
	assert_int_equal(f->qp.qp.attr.state, ROCE_QP_INIT);
	assert_int_equal(f->env.open_count, 0);
	assert_true(roce_list_is_empty(&f->env.dev.transport.peers));
	f->env.is_leaving = false;
	assert_int_equal(loop_qp_to_rtr(&f->qp, f->qp.qp.cfg.qpn.v), 0);
	assert_int_equal(roce_verbs_qp_fini(&f->qp), 0);
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH(events__each_once_when_it_should),
		WITH(events__last_one_is_the_state),
		WITH(events__every_context),
		WITH(datagrams__follow_addresses_and_mtu),
		WITH(datagrams__from_an_address_that_left),
		WITH(connected__stays_and_holds_its_index),
		WITH(handle__holds_its_index),
		WITH(address__leaves_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
