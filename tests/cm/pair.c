/* SPDX-License-Identifier: BSD-2-Clause */
/* The pairs of pair.h. */
#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

void pair_init(struct pair *p, enum roce_cm_qp_type type)
{
	memset(p, 0, sizeof(*p));
	host_init(&p->a, 1, 1, NULL);
	host_init(&p->b, 2, 1, NULL);
	p->listener = host_listen(&p->b, type, HOST_PORT);
	p->now = ROCE_NS_PER_S;
}

void pair_fini(struct pair *p)
{
	host_fini(&p->a);
	host_fini(&p->b);
}

void pair_exchange(struct pair *p)
{
	host_exchange(&p->a, &p->b, p->now);
}

void pair_request(struct pair *p)
{
	pair_init(p, ROCE_CM_QP_RC);
	p->active = host_connect(&p->a, &p->b, A_QPN, p->now);
	pair_exchange(p);
	p->passive = host_expect(&p->b, 0, ROCE_CM_REPORT_CONNECT_REQUEST, 0)->id;
}

void pair_respond(struct pair *p)
{
	pair_request(p);
	assert_int_equal(host_accept(&p->b, p->passive, B_QPN, p->now), 0);
	pair_exchange(p);
	host_expect(&p->a, 0, ROCE_CM_REPORT_CONNECT_RESPONSE, 0);
}

void pair_establish(struct pair *p)
{
	pair_respond(p);
	assert_int_equal(roce_cm_establish(p->a.cm, p->active, p->now), 0);
	pair_exchange(p);
	host_expect(&p->b, 1, ROCE_CM_REPORT_ESTABLISHED, 0);
	assert_int_equal(roce_cm_id_state(p->active), ROCE_CM_STATE_ESTABLISHED);
	assert_int_equal(roce_cm_id_state(p->passive), ROCE_CM_STATE_ESTABLISHED);
}

void pair_run(struct pair *p, bool is_cut)
{
	struct roce_cm_packet lost[HOST_PACKETS_MAX];

	if (is_cut) {
		host_take(&p->a, lost);
		host_take(&p->b, lost);
	}
	for (;;) {
		roce_ns_t at = roce_cm_deadline(p->a.cm);

		if (roce_cm_deadline(p->b.cm) < at)
			at = roce_cm_deadline(p->b.cm);
		if (at == ROCE_NEVER)
			return;
		p->now = at;
		roce_cm_on_deadline(p->a.cm, at);
		roce_cm_on_deadline(p->b.cm, at);
		host_pull(&p->a);
		host_pull(&p->b);
		if (is_cut) {
			host_take(&p->a, lost);
			host_take(&p->b, lost);
		} else {
			pair_exchange(p);
		}
	}
}
