/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two hosts, of which b listens, and one message, caught on its way so that a test can give it to
 * its receiver as it is, changed or again.
 */
#ifndef ROCE_TESTS_CM_SCENE_H
#define ROCE_TESTS_CM_SCENE_H

#include "host.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#define A_QPN 0x010029u
#define B_QPN 0x02004au

struct scene {
	struct host a, b;
	struct roce_cm_listener *listener;
	struct roce_cm_id *active, *passive;
	struct roce_cm_packet p; /* the message */
	roce_ns_t now;
};

static inline void scene_open(struct scene *s, enum roce_cm_qp_type type)
{
	memset(s, 0, sizeof(*s));
	host_init(&s->a, 1, 1, NULL);
	host_init(&s->b, 2, 1, NULL);
	s->listener = host_listen(&s->b, type, HOST_PORT);
	s->now = ROCE_NS_PER_S;
}

static inline void scene_close(struct scene *s)
{
	host_fini(&s->a);
	host_fini(&s->b);
}

/* The only packet that `h` wants to send. */
static inline void scene_catch(struct scene *s, struct host *h)
{
	struct roce_cm_packet packets[HOST_PACKETS_MAX];

	assert_int_equal(host_take(h, packets), 1);
	s->p = packets[0];
}

/* With a REQ of a that b has. */
static inline void scene_open_with_request(struct scene *s)
{
	scene_open(s, ROCE_CM_QP_RC);
	s->active = host_connect(&s->a, &s->b, A_QPN, s->now);
	host_exchange(&s->a, &s->b, s->now);
	s->passive = s->b.reports[0].id;
}

#endif
