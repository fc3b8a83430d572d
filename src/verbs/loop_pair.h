/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two queue pairs of one device (loop_env.h), connected to each other, for tests of this folder:
 * `a` asks, `b` answers. One completion queue with a channel for both, one region over all memory;
 * what a test adds it takes away before tear-down, which checks that nothing is left behind.
 */
#ifndef ROCE_VERBS_LOOP_PAIR_H
#define ROCE_VERBS_LOOP_PAIR_H

#include "verbs/loop_env.h"
#include "verbs/mr_verbs.h"
#include "verbs/pd.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define LOOP_ALL_ACCESS                                                                 \
	(ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE | ROCE_ACCESS_REMOTE_READ | \
	 ROCE_ACCESS_REMOTE_ATOMIC | ROCE_ACCESS_MW_BIND)
#define LOOP_BYTES 16384u

struct loop_pair {
	struct loop_env env;
	struct roce_context ctx;
	struct roce_pd pd;
	struct roce_comp_channel channel;
	struct roce_verbs_cq cq;
	struct roce_verbs_mr mr;
	struct roce_verbs_qp a;
	struct roce_verbs_qp b;
	uint8_t *mem;
};

static inline struct roce_qp_request loop_pair_request(struct loop_pair *p, enum roce_qp_type type)
{
	return (struct roce_qp_request){
		.type = (uint8_t)type,
		.sq_sig_all = true,
		.pd = &p->pd,
		.send_cq = &p->cq,
		.recv_cq = &p->cq,
		.caps = {.max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 4,
			 .max_recv_sge = 4},
	};
}

static inline int loop_pair_set_up(void **state)
{
	struct loop_pair *p = calloc(1, sizeof(*p));
	struct roce_qp_request req;

	loop_env_init(&p->env, 5);
	assert_int_equal(roce_context_init(&p->ctx, &p->env.dev, p), 0);
	fcntl(p->ctx.async.fd, F_SETFL, O_NONBLOCK);
	roce_pd_init(&p->pd, 1);
	assert_int_equal(roce_comp_channel_init(&p->channel, &p->ctx), 0);
	fcntl(p->channel.events.fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(roce_verbs_cq_init(&p->cq, &p->ctx, 64, &p->channel, NULL, p), 0);
	p->mem = aligned_alloc(64, LOOP_BYTES);
	memset(p->mem, 0, LOOP_BYTES);
	assert_int_equal(roce_verbs_mr_init(&p->mr, &p->ctx, &p->pd, (uintptr_t)p->mem, LOOP_BYTES,
					    (uintptr_t)p->mem, LOOP_ALL_ACCESS),
			 0);
	req = loop_pair_request(p, ROCE_QP_RC);
	assert_int_equal(roce_verbs_qp_init(&p->a, &p->ctx, &req), 0);
	assert_int_equal(roce_verbs_qp_init(&p->b, &p->ctx, &req), 0);
	*state = p;
	return 0;
}

static inline int loop_pair_tear_down(void **state)
{
	struct loop_pair *p = *state;

	assert_int_equal(roce_verbs_qp_fini(&p->a), 0);
	assert_int_equal(roce_verbs_qp_fini(&p->b), 0);
	assert_int_equal(roce_verbs_mr_fini(&p->mr), 0);
	assert_int_equal(roce_verbs_cq_fini(&p->cq), 0);
	assert_int_equal(roce_comp_channel_fini(&p->channel), 0);
	assert_int_equal(roce_pd_fini(&p->ctx, &p->pd), 0);
	assert_int_equal(p->env.open_count, 0);
	assert_true(roce_list_is_empty(&p->env.dev.transport.peers));
	assert_int_equal(p->env.dev.transport.qp_count, 0);
	assert_int_equal(roce_deadline(&p->env.dev.transport), ROCE_NEVER);
	roce_context_fini(&p->ctx);
	loop_env_fini(&p->env);
	free(p->mem);
	free(p);
	return 0;
}

static inline void loop_pair_connect(struct loop_pair *p)
{
	assert_int_equal(loop_qp_to_init(&p->a, LOOP_ALL_ACCESS & ~ROCE_ACCESS_MW_BIND), 0);
	assert_int_equal(loop_qp_to_init(&p->b, LOOP_ALL_ACCESS & ~ROCE_ACCESS_MW_BIND), 0);
	assert_int_equal(loop_qp_to_rtr(&p->a, p->b.qp.cfg.qpn.v), 0);
	assert_int_equal(loop_qp_to_rtr(&p->b, p->a.qp.cfg.qpn.v), 0);
	assert_int_equal(loop_qp_to_rts(&p->a), 0);
	assert_int_equal(loop_qp_to_rts(&p->b), 0);
}

static inline struct roce_sge loop_pair_sge(struct loop_pair *p, uint32_t offset, uint32_t length)
{
	return (struct roce_sge){
		.addr = (uintptr_t)p->mem + offset, .length = length, .lkey = p->mr.mr.lkey.v};
}

static inline enum roce_post_result loop_send(struct roce_verbs_qp *qp,
					      const struct roce_send_wr *wr)
{
	roce_ns_t now = roce_verbs_qp_lock(qp);
	enum roce_post_result result = roce_post_send(&qp->qp, wr, now);

	roce_verbs_qp_unlock_send(qp);
	return result;
}

static inline enum roce_post_result loop_recv(struct roce_verbs_qp *qp, uint64_t wr_id,
					      const struct roce_sge *sge, uint32_t count)
{
	roce_ns_t now = roce_verbs_qp_lock(qp);
	enum roce_post_result result = roce_post_recv(&qp->qp, wr_id, sge, count, now);

	roce_verbs_qp_unlock_recv(qp);
	return result;
}

/* To a state that takes no attributes. */
static inline int loop_qp_to(struct roce_verbs_qp *qp, enum roce_qp_state state)
{
	return roce_verbs_qp_modify(qp, &(struct roce_qp_attr){.state = (uint8_t)state},
				    ROCE_ATTR_STATE, NULL);
}

static inline bool loop_poll(struct roce_verbs_cq *cq, struct roce_cqe *out)
{
	for (int i = 0; i < 16; i++)
		if (roce_verbs_cq_poll(cq, out, 1) == 1)
			return true;
	return false;
}

/* The next completion must be there, of this request and with this status. */
#define loop_expect(cq, id, wanted)                    \
	do {                                           \
		struct roce_cqe got_;                  \
		assert_true(loop_poll(cq, &got_));     \
		assert_int_equal(got_.wr_id, id);      \
		assert_int_equal(got_.status, wanted); \
	} while (0)

/* The next asynchronous event of the context, or -1. It is acknowledged. */
static inline int loop_async(struct roce_context *ctx, const void **out_owner)
{
	struct roce_event_source *src;
	uint32_t type;

	if (roce_events_get(&ctx->async, &src, &type) != 0)
		return -1;
	*out_owner = src->owner;
	roce_event_source_ack(&ctx->async, src, 1);
	return (int)type;
}

#endif
