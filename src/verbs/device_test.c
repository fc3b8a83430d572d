/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device whose tables begin small: queue pairs beyond them are found all the same, by packets and
 * by their timers, those that came before and those that came after the tables moved.
 */
#include "verbs/loop_env.h"
#include "verbs/mr_verbs.h"
#include "verbs/pd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#define QPS	 300u
#define CQS	 20u
#define TABLE	 4u
#define SEED	 11u
#define A_SECOND UINT64_C(1000000000)

struct small {
	struct loop_env env;
	struct roce_context ctx;
	struct roce_pd pd;
	struct roce_verbs_cq cqs[CQS];
	struct roce_verbs_mr mr;
	struct roce_verbs_qp qps[QPS];
	uint8_t mem[64];
};

static void begin(struct small *s)
{
	const struct roce_device_env *ops;
	struct roce_transport_config tuning;

	loop_env_init(&s->env, SEED);
	ops = s->env.dev.env;
	tuning = s->env.dev.transport.cfg;
	roce_device_fini(&s->env.dev);
	tuning.qp_table_mask = TABLE - 1;
	tuning.mr_bucket_count = 1;
	assert_int_equal(roce_device_init(&s->env.dev, ops, &s->env, &tuning, &s->env.counters), 0);
	assert_int_equal(roce_context_init(&s->ctx, &s->env.dev, s), 0);
	roce_pd_init(&s->pd, 1);
	for (uint32_t i = 0; i < CQS; i++)
		assert_int_equal(roce_verbs_cq_init(&s->cqs[i], &s->ctx, QPS, NULL, NULL, s), 0);
	assert_int_equal(roce_verbs_mr_init(&s->mr, &s->ctx, &s->pd, (uintptr_t)s->mem,
					    sizeof(s->mem), (uintptr_t)s->mem,
					    ROCE_ACCESS_LOCAL_WRITE),
			 0);
}

static void make_qp(struct small *s, uint32_t i)
{
	const struct roce_qp_request req = {
		.type = ROCE_QP_RC,
		.pd = &s->pd,
		.send_cq = &s->cqs[i % CQS],
		.recv_cq = &s->cqs[i % CQS],
		.caps = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};

	assert_int_equal(roce_verbs_qp_init(&s->qps[i], &s->ctx, &req), 0);
	assert_int_equal(loop_qp_to_init(&s->qps[i], 0), 0);
}

/* A WRITE that the peer does not allow, or to a peer that is not there: it fails either way. */
static void post(struct small *s, uint32_t i)
{
	const struct roce_sge sge = {
		.addr = (uintptr_t)s->mem, .length = 1, .lkey = s->mr.mr.lkey.v};
	const struct roce_send_wr wr = {.opcode = ROCE_WR_RDMA_WRITE,
					.flags = ROCE_SEND_SIGNALED,
					.sge = &sge,
					.sge_count = 1};

	assert_int_equal(roce_post_send(&s->qps[i].qp, &wr, s->env.now), ROCE_POST_OK);
}

static void expect_status(struct small *s, uint32_t i, enum roce_wc_status status)
{
	struct roce_cqe cqe;

	for (;;) {
		assert_int_equal(roce_cq_poll(&s->cqs[i % CQS].cq, &cqe, 1), 1);
		if (cqe.qp == &s->qps[i].qp)
			break;
	}
	assert_int_equal(cqe.status, status);
}

static void end(struct small *s)
{
	for (uint32_t i = 0; i < QPS; i++)
		assert_int_equal(roce_verbs_qp_fini(&s->qps[i]), 0);
	roce_verbs_mr_fini(&s->mr);
	for (uint32_t i = 0; i < CQS; i++)
		assert_int_equal(roce_verbs_cq_fini(&s->cqs[i]), 0);
	roce_context_fini(&s->ctx);
	loop_env_fini(&s->env);
}

static void small__packets_find_all(void **state)
{
	struct small *s = calloc(1, sizeof(*s));

	(void)state;
	begin(s);
	for (uint32_t i = 0; i < QPS; i++)
		make_qp(s, i);
	assert_true(s->env.dev.transport.cfg.qp_table_mask + 1 >= QPS);
	for (uint32_t i = 0; i < QPS; i++) {
		assert_int_equal(loop_qp_to_rtr(&s->qps[i], s->qps[QPS - 1 - i].qp.cfg.qpn.v), 0);
		assert_int_equal(loop_qp_to_rts(&s->qps[i]), 0);
	}
	for (uint32_t i = 0; i < QPS / 2; i++)
		post(s, i);
	while (loop_step(&s->env) > 0)
		;
	for (uint32_t i = 0; i < QPS / 2; i++)
		expect_status(s, i, ROCE_WC_REM_INV_REQ_ERR);
	end(s);
	free(s);
}

/* All timers run at once, some armed while the heap was smaller. */
static void small__timers_of_all(void **state)
{
	struct small *s = calloc(1, sizeof(*s));
	struct roce_tx_pkt pkt;

	(void)state;
	begin(s);
	for (uint32_t i = 0; i < QPS; i++) {
		make_qp(s, i);
		assert_int_equal(loop_qp_to_rtr(&s->qps[i], 1), 0);
		assert_int_equal(loop_qp_to_rts(&s->qps[i]), 0);
		post(s, i);
		assert_int_equal(roce_tx(&s->env.dev.transport, &pkt, 1, s->env.now), 1);
	}
	assert_int_equal(s->env.dev.transport.timers.count, QPS);
	while (roce_deadline(&s->env.dev.transport) != ROCE_NEVER) {
		s->env.now = roce_deadline(&s->env.dev.transport);
		roce_on_deadline(&s->env.dev.transport, s->env.now);
		while (roce_tx(&s->env.dev.transport, &pkt, 1, s->env.now) > 0)
			;
		assert_true(s->env.now < 100 * A_SECOND);
	}
	for (uint32_t i = 0; i < QPS; i++)
		assert_int_equal(s->qps[i].qp.attr.state, ROCE_QP_ERR);
	end(s);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small__packets_find_all),
		cmocka_unit_test(small__timers_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
