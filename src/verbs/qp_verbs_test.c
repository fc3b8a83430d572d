/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs and completion queues on a device whose packets come back to itself: capabilities,
 * numbers, what modify refuses and that a refusal leaves nothing behind, data, events, and the
 * order in which objects may go.
 */
#include "verbs/limits.h"
#include "verbs/loop_env.h"
#include "verbs/mr_verbs.h"
#include "verbs/pd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <fcntl.h>
#include <cmocka.h>

#define ALL_ACCESS                                                                      \
	(ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE | ROCE_ACCESS_REMOTE_READ | \
	 ROCE_ACCESS_REMOTE_ATOMIC)
#define BYTES 8192u

struct fixture {
	struct loop_env env;
	struct roce_context ctx;
	struct roce_pd pd;
	struct roce_comp_channel channel;
	struct roce_verbs_cq cq;
	struct roce_verbs_mr mr;
	struct roce_verbs_qp a;
	struct roce_verbs_qp b;
	uint8_t *mem; /* 2 x BYTES: what a has, what b has */
};

static struct roce_qp_request request(struct fixture *f)
{
	return (struct roce_qp_request){
		.type = ROCE_QP_RC,
		.sq_sig_all = true,
		.pd = &f->pd,
		.send_cq = &f->cq,
		.recv_cq = &f->cq,
		.caps = {.max_send_wr = 8,
			 .max_recv_wr = 8,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline = 64},
	};
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct roce_qp_request req;

	loop_env_init(&f->env, 2);
	assert_int_equal(roce_context_init(&f->ctx, &f->env.dev, f), 0);
	roce_pd_init(&f->pd, 1);
	assert_int_equal(roce_comp_channel_init(&f->channel, &f->ctx), 0);
	fcntl(f->channel.events.fd, F_SETFL, O_NONBLOCK);
	fcntl(f->ctx.async.fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(roce_verbs_cq_init(&f->cq, &f->ctx, 64, &f->channel, NULL, f), 0);
	f->mem = calloc(2, BYTES);
	assert_int_equal(roce_verbs_mr_init(&f->mr, &f->ctx, &f->pd, (uintptr_t)f->mem, 2 * BYTES,
					    (uintptr_t)f->mem, ALL_ACCESS),
			 0);
	req = request(f);
	assert_int_equal(roce_verbs_qp_init(&f->a, &f->ctx, &req), 0);
	assert_int_equal(roce_verbs_qp_init(&f->b, &f->ctx, &req), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	roce_verbs_qp_fini(&f->a);
	roce_verbs_qp_fini(&f->b);
	assert_int_equal(roce_verbs_mr_fini(&f->mr), 0);
	assert_int_equal(roce_verbs_cq_fini(&f->cq), 0);
	assert_int_equal(roce_comp_channel_fini(&f->channel), 0);
	assert_int_equal(roce_pd_fini(&f->ctx, &f->pd), 0);
	assert_int_equal(f->env.open_count, 0);
	assert_true(roce_list_is_empty(&f->env.dev.transport.peers));
	assert_int_equal(f->env.dev.transport.qp_count, 0);
	roce_context_fini(&f->ctx);
	loop_env_fini(&f->env);
	free(f->mem);
	free(f);
	return 0;
}

static void connect_both(struct fixture *f)
{
	assert_int_equal(loop_qp_to_init(&f->a, ALL_ACCESS), 0);
	assert_int_equal(loop_qp_to_init(&f->b, ALL_ACCESS), 0);
	assert_int_equal(loop_qp_to_rtr(&f->a, f->b.qp.cfg.qpn.v), 0);
	assert_int_equal(loop_qp_to_rtr(&f->b, f->a.qp.cfg.qpn.v), 0);
	assert_int_equal(loop_qp_to_rts(&f->a), 0);
	assert_int_equal(loop_qp_to_rts(&f->b), 0);
}

/* ---- create ---- */

static void create__grants_at_least_what_was_asked(void **state)
{
	struct fixture *f = *state;
	struct roce_qp_request req = request(f);
	struct roce_verbs_qp qp;

	req.caps = (struct roce_qp_caps){.max_send_wr = 5, .max_recv_wr = 100, .max_inline = 33};
	assert_int_equal(roce_verbs_qp_init(&qp, &f->ctx, &req), 0);
	assert_in_range(qp.qp.cfg.max_send_wr, 5, ROCE_MAX_QP_WR);
	assert_in_range(qp.qp.cfg.max_recv_wr, 100, ROCE_MAX_QP_WR);
	assert_in_range(qp.qp.cfg.max_send_sge, 1, ROCE_MAX_SGE);
	assert_in_range(qp.qp.cfg.max_inline, 33, ROCE_MAX_INLINE);
	roce_verbs_qp_fini(&qp);
	/* The room of the SGEs serves inline data of who did not ask for any. */
	req.caps = (struct roce_qp_caps){.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 2};
	assert_int_equal(roce_verbs_qp_init(&qp, &f->ctx, &req), 0);
	assert_in_range(qp.qp.cfg.max_inline, 32, ROCE_MAX_INLINE);
	roce_verbs_qp_fini(&qp);
}

static void create__refuses_what_the_device_does_not_have(void **state)
{
	struct fixture *f = *state;
	struct roce_verbs_qp qp;
	struct roce_qp_request req;
	static const struct {
		size_t offset;
		uint32_t limit;
	} caps[] = {
		{offsetof(struct roce_qp_caps, max_send_wr), ROCE_MAX_QP_WR},
		{offsetof(struct roce_qp_caps, max_recv_wr), ROCE_MAX_QP_WR},
		{offsetof(struct roce_qp_caps, max_send_sge), ROCE_MAX_SGE},
		{offsetof(struct roce_qp_caps, max_recv_sge), ROCE_MAX_SGE},
		{offsetof(struct roce_qp_caps, max_inline), ROCE_MAX_INLINE},
	};

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		uint32_t *cap;

		req = request(f);
		cap = (uint32_t *)(void *)((char *)&req.caps + caps[i].offset);
		*cap = caps[i].limit;
		assert_int_equal(roce_verbs_qp_init(&qp, &f->ctx, &req), 0);
		roce_verbs_qp_fini(&qp);
		*cap = caps[i].limit + 1;
		assert_int_equal(roce_verbs_qp_init(&qp, &f->ctx, &req), -EINVAL);
	}
	req = request(f);
	req.recv_cq = NULL;
	assert_int_equal(roce_verbs_qp_init(&qp, &f->ctx, &req), -EINVAL);
	req = request(f);
	req.type = 8; /* raw packet */
	assert_int_equal(roce_verbs_qp_init(&qp, &f->ctx, &req), -EOPNOTSUPP);
}

static void create__numbers_carry_the_slot_and_are_random(void **state)
{
	struct fixture *f = *state;
	struct roce_qp_request req = request(f);
	static struct roce_verbs_qp qps[500];
	int near = 0;

	for (size_t i = 0; i < 500; i++) {
		assert_int_equal(roce_verbs_qp_init(&qps[i], &f->ctx, &req), 0);
		assert_int_equal(roce_qpn_slot(qps[i].qp.cfg.qpn), LOOP_SLOT);
		if (i) {
			int step = (int)(qps[i].qp.cfg.qpn.v & 0xffff) -
				   (int)(qps[i - 1].qp.cfg.qpn.v & 0xffff);

			near += step > -64 && step < 64;
		}
	}
	/* one in 512 is that near by chance */
	assert_in_range(near, 0, 8);
	assert_int_equal(f->env.slot_count, 1);
	for (size_t i = 0; i < 500; i++)
		roce_verbs_qp_fini(&qps[i]);
}

static void create__without_a_slot_fails_cleanly(void **state)
{
	struct fixture *f = *state;
	struct roce_qp_request req = request(f);
	struct roce_verbs_qp qp;

	f->env.dev.slot = 0;
	f->env.slot_error = -EUSERS;
	assert_int_equal(roce_verbs_qp_init(&qp, &f->ctx, &req), -EUSERS);
	assert_int_equal(f->env.dev.transport.qp_count, 2);
	f->env.dev.slot = LOOP_SLOT;
}

/* Design target: an idle queue pair with small capabilities costs at most 4 KiB. */
static void create__small_ones_are_small(void **state)
{
	struct fixture *f = *state;
	const struct roce_qp_config *cfg = &f->a.qp.cfg;

	assert_in_range(sizeof(struct roce_verbs_qp) + roce_send_queue_bytes(8, 1, 0) +
				roce_recv_queue_bytes(8, 1),
			1, 3328);
	assert_in_range(cfg->max_send_wr, 8, 8);
}

/* ---- modify ---- */

static int rtr_with(struct fixture *f, struct roce_qp_attr attr, uint32_t mask, struct roce_av av)
{
	int open_count = f->env.open_count;
	int err = roce_verbs_qp_modify(&f->a, &attr, mask, &av);

	if (err) {
		/* Nothing has changed. */
		assert_int_equal(f->a.qp.attr.state, ROCE_QP_INIT);
		assert_int_equal(f->env.open_count, open_count);
		assert_true(roce_list_is_empty(&f->env.dev.transport.peers));
	}
	return err;
}

static void modify__rtr_refuses_bad_vectors(void **state)
{
	struct fixture *f = *state;
	const struct roce_qp_attr good = {
		.state = ROCE_QP_RTR, .path_mtu = 3, .dest_qpn = 0x112233, .max_dest_rd_atomic = 1};
	struct roce_qp_attr attr = good;
	struct roce_av av;

	assert_int_equal(loop_qp_to_init(&f->a, 0), 0);
	av = loop_av(); /* case_010 */
	av.is_global = false;
	assert_int_equal(rtr_with(f, good, LOOP_RTR_MASK, av), -EINVAL);
	av = loop_av(); /* case_011 */
	av.sgid_index = 7;
	assert_int_equal(rtr_with(f, good, LOOP_RTR_MASK, av), -EINVAL);
	av = loop_av(); /* case_018 */
	av.dgid = (struct roce_gid){{0}};
	assert_int_equal(rtr_with(f, good, LOOP_RTR_MASK, av), -EINVAL);
	av = loop_av(); /* an IPv6 source cannot reach an IPv4 address */
	av.sgid_index = 1;
	assert_int_equal(rtr_with(f, good, LOOP_RTR_MASK, av), -EINVAL);
	av = loop_av();
	av.port_num = 2;
	assert_int_equal(rtr_with(f, good, LOOP_RTR_MASK, av), -EINVAL);

	av = loop_av();
	f->env.active_mtu = 3;
	attr.path_mtu = 4;
	assert_int_equal(rtr_with(f, attr, LOOP_RTR_MASK, av), -EINVAL);
	attr.path_mtu = 0;
	assert_int_equal(rtr_with(f, attr, LOOP_RTR_MASK, av), -EINVAL);
	attr.path_mtu = 3;
	attr.max_dest_rd_atomic = ROCE_MAX_RD_ATOMIC + 1;
	assert_int_equal(rtr_with(f, attr, LOOP_RTR_MASK, av), -EINVAL);
	assert_int_equal(rtr_with(f, good, LOOP_RTR_MASK & ~ROCE_ATTR_RQ_PSN, av), -EINVAL);
	assert_int_equal(rtr_with(f, good, LOOP_RTR_MASK | ROCE_ATTR_TIMEOUT, av), -EINVAL);
	attr = good;
	attr.pkey_index = 1;
	assert_int_equal(rtr_with(f, attr, LOOP_RTR_MASK | ROCE_ATTR_PKEY_INDEX, av), -EINVAL);
	assert_int_equal(rtr_with(f, good, LOOP_RTR_MASK | ROCE_ATTR_ALT_PATH, av), -EINVAL);
	f->env.open_error = -EADDRINUSE;
	assert_int_equal(rtr_with(f, good, LOOP_RTR_MASK, av), -EADDRINUSE);
	f->env.open_error = 0;

	assert_int_equal(rtr_with(f, good, LOOP_RTR_MASK, av), 0);
	assert_int_equal(f->env.open_count, 1);
	assert_ptr_equal(f->a.peer, f->a.qp.peer);
	assert_int_equal(f->a.peer->slot, 0x11);
}

static void modify__peers_are_shared_and_released(void **state)
{
	struct fixture *f = *state;
	const struct roce_qp_attr reset = {.state = ROCE_QP_RESET};

	connect_both(f);
	assert_ptr_equal(f->a.peer, f->b.peer);
	assert_int_equal(f->a.peer->use_count, 2);
	assert_int_equal(f->env.open_count, 2);
	assert_int_equal(roce_verbs_qp_modify(&f->a, &reset, ROCE_ATTR_STATE, NULL), 0);
	assert_null(f->a.peer);
	assert_int_equal(f->b.peer->use_count, 1);
	assert_int_equal(f->env.open_count, 1);
	/* and it can be connected again */
	assert_int_equal(loop_qp_to_init(&f->a, 0), 0);
	assert_int_equal(loop_qp_to_rtr(&f->a, f->b.qp.cfg.qpn.v), 0);
	assert_int_equal(f->env.open_count, 2);
}

static void modify__another_vector_while_drained(void **state)
{
	struct fixture *f = *state;
	const struct roce_qp_attr sqd = {.state = ROCE_QP_SQD};
	struct roce_av av = loop_av();

	connect_both(f);
	assert_int_equal(roce_verbs_qp_modify(&f->a, &sqd, ROCE_ATTR_STATE, NULL), 0);
	av.dgid.raw[15] = 9;
	assert_int_equal(roce_verbs_qp_modify(&f->a, &sqd, ROCE_ATTR_STATE | ROCE_ATTR_AV, &av), 0);
	assert_int_equal(f->env.open_count, 2);
	assert_ptr_not_equal(f->a.peer, f->b.peer);
	assert_int_equal(f->a.peer->use_count, 1);
	assert_int_equal(f->b.peer->use_count, 1);
}

/* ---- data ---- */

static void post_recv(struct roce_verbs_qp *qp, uint64_t wr_id, const struct roce_sge *sge)
{
	roce_ns_t now = roce_verbs_qp_lock(qp);

	assert_int_equal(roce_post_recv(&qp->qp, wr_id, sge, 1, now), ROCE_POST_OK);
	roce_verbs_qp_unlock_recv(qp);
}

static void post_send(struct roce_verbs_qp *qp, const struct roce_send_wr *wr)
{
	roce_ns_t now = roce_verbs_qp_lock(qp);

	assert_int_equal(roce_post_send(&qp->qp, wr, now), ROCE_POST_OK);
	roce_verbs_qp_unlock_send(qp);
}

static void poll_one(struct fixture *f, struct roce_cqe *cqe)
{
	int n = 0;

	for (int i = 0; i < 100 && n == 0; i++)
		n = roce_verbs_cq_poll(&f->cq, cqe, 1);
	assert_int_equal(n, 1);
}

static struct roce_sge sge_of(struct fixture *f, uint32_t half, uint32_t length)
{
	return (struct roce_sge){.addr = (uintptr_t)f->mem + (uint64_t)half * BYTES,
				 .length = length,
				 .lkey = f->mr.mr.lkey.v};
}

static void data__send_write_and_atomic(void **state)
{
	struct fixture *f = *state;
	struct roce_sge from = sge_of(f, 0, 5000);
	struct roce_sge to = sge_of(f, 1, 6000);
	struct roce_sge result = sge_of(f, 0, 8);
	struct roce_send_wr wr = {.wr_id = 1, .sge = &from, .sge_count = 1, .opcode = ROCE_WR_SEND};
	struct roce_cqe cqes[2];
	uint64_t word;

	connect_both(f);
	for (uint32_t i = 0; i < BYTES; i++)
		f->mem[i] = (uint8_t)(i * 7);
	post_recv(&f->b, 2, &to);
	post_send(&f->a, &wr);
	poll_one(f, &cqes[0]);
	poll_one(f, &cqes[1]);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(cqes[i].status, ROCE_WC_SUCCESS);
		if (cqes[i].wr_id == 2) {
			assert_int_equal(cqes[i].byte_len, 5000);
			assert_int_equal(cqes[i].qp_num, f->b.qp.cfg.qpn.v);
		}
	}
	assert_memory_equal(f->mem, f->mem + BYTES, 5000);

	/* case_023: values are in host order at both ends */
	word = UINT64_C(0x0102030405060708);
	memcpy(f->mem + BYTES, &word, 8);
	wr = (struct roce_send_wr){.wr_id = 3,
				   .sge = &result,
				   .sge_count = 1,
				   .opcode = ROCE_WR_ATOMIC_FETCH_AND_ADD,
				   .remote_addr = (uintptr_t)f->mem + BYTES,
				   .rkey = f->mr.mr.rkey.v,
				   .compare_add = 1};
	post_send(&f->a, &wr);
	poll_one(f, &cqes[0]);
	assert_int_equal(cqes[0].status, ROCE_WC_SUCCESS);
	memcpy(&word, f->mem, 8);
	assert_true(word == UINT64_C(0x0102030405060708));
	memcpy(&word, f->mem + BYTES, 8);
	assert_true(word == UINT64_C(0x0102030405060709));
}

/* The local key is no remote key. */
static void data__case_026(void **state)
{
	struct fixture *f = *state;
	struct roce_sge from = sge_of(f, 0, 64);
	struct roce_send_wr wr = {.sge = &from,
				  .sge_count = 1,
				  .opcode = ROCE_WR_RDMA_WRITE,
				  .remote_addr = (uintptr_t)f->mem + BYTES,
				  .rkey = f->mr.mr.lkey.v};
	struct roce_event_source *src;
	struct roce_cqe cqe;
	uint32_t type;

	connect_both(f);
	memset(f->mem, 0xaa, 64);
	post_send(&f->a, &wr);
	poll_one(f, &cqe);
	assert_int_equal(cqe.status, ROCE_WC_REM_ACCESS_ERR);
	assert_int_equal(f->mem[BYTES], 0);
	/* The responder had no work request to complete: its owner hears of it by an event, after
	 * that of the first packet. */
	assert_int_equal(roce_events_get(&f->ctx.async, &src, &type), 0);
	assert_ptr_equal(src, &f->b.events);
	while (type != ROCE_EVENT_QP_ACCESS_ERR) {
		roce_event_source_ack(&f->ctx.async, src, 1);
		assert_int_equal(roce_events_get(&f->ctx.async, &src, &type), 0);
	}
	roce_event_source_ack(&f->ctx.async, src, 1);
}

static void data__case_035(void **state)
{
	struct fixture *f = *state;
	const struct roce_qp_attr err = {.state = ROCE_QP_ERR};
	struct roce_sge sge = sge_of(f, 0, 8);
	struct roce_send_wr wr = {.sge = &sge, .sge_count = 1, .opcode = ROCE_WR_SEND};
	struct roce_cqe cqe;

	connect_both(f);
	assert_int_equal(roce_verbs_qp_modify(&f->a, &err, ROCE_ATTR_STATE, NULL), 0);
	for (uint64_t i = 0; i < 8; i++) {
		wr.wr_id = i;
		post_send(&f->a, &wr);
		post_recv(&f->a, 100 + i, &sge);
	}
	for (uint64_t i = 0; i < 8; i++) {
		poll_one(f, &cqe);
		assert_int_equal(cqe.wr_id, i);
		assert_int_equal(cqe.status, ROCE_WC_WR_FLUSH_ERR);
		poll_one(f, &cqe);
		assert_int_equal(cqe.wr_id, 100 + i);
	}
}

/* ---- events ---- */

static void events__armed_queue_fires_once(void **state)
{
	struct fixture *f = *state;
	struct roce_sge from = sge_of(f, 0, 16);
	struct roce_sge to = sge_of(f, 1, 16);
	struct roce_send_wr wr = {.sge = &from, .sge_count = 1, .opcode = ROCE_WR_SEND};
	struct roce_verbs_cq *fired;
	struct roce_cqe cqe;

	connect_both(f);
	for (uint64_t i = 0; i < 4; i++)
		post_recv(&f->b, i, &to);
	assert_int_equal(roce_comp_channel_get(&f->channel, &fired), -EAGAIN);
	roce_verbs_cq_arm(&f->cq, false);
	assert_in_range(f->env.arm_count, 1, 100);
	post_send(&f->a, &wr);
	post_send(&f->a, &wr);
	for (int i = 0; i < 4; i++)
		poll_one(f, &cqe);
	assert_int_equal(roce_comp_channel_get(&f->channel, &fired), 0);
	assert_ptr_equal(fired, &f->cq);
	assert_int_equal(roce_comp_channel_get(&f->channel, &fired), -EAGAIN);

	/* Armed for solicited ones, plain completions are silent. */
	roce_verbs_cq_arm(&f->cq, true);
	post_send(&f->a, &wr);
	poll_one(f, &cqe);
	poll_one(f, &cqe);
	assert_int_equal(roce_comp_channel_get(&f->channel, &fired), -EAGAIN);
	wr.flags = ROCE_SEND_SOLICITED;
	post_send(&f->a, &wr);
	poll_one(f, &cqe);
	poll_one(f, &cqe);
	assert_int_equal(roce_comp_channel_get(&f->channel, &fired), 0);
	roce_event_source_ack(&f->channel.events, &f->cq.comp_events, 2);
}

static void cq__overrun_is_told_and_final(void **state)
{
	struct fixture *f = *state;
	const struct roce_qp_attr err = {.state = ROCE_QP_ERR};
	struct roce_sge sge = sge_of(f, 0, 8);
	struct roce_event_source *src;
	struct roce_verbs_cq small;
	struct roce_verbs_qp qp;
	struct roce_qp_request req = request(f);
	struct roce_cqe cqe;
	uint32_t type;

	assert_int_equal(roce_verbs_cq_init(&small, &f->ctx, 2, NULL, NULL, f), 0);
	req.send_cq = &small;
	req.recv_cq = &small;
	assert_int_equal(roce_verbs_qp_init(&qp, &f->ctx, &req), 0);
	assert_int_equal(loop_qp_to_init(&qp, 0), 0);
	for (uint64_t i = 0; i < 3; i++)
		post_recv(&qp, i, &sge);
	assert_int_equal(roce_verbs_qp_modify(&qp, &err, ROCE_ATTR_STATE, NULL), 0);
	assert_int_equal(roce_events_get(&f->ctx.async, &src, &type), 0);
	assert_ptr_equal(src, &small.async_events);
	assert_int_equal(type, ROCE_EVENT_CQ_ERR);
	roce_event_source_ack(&f->ctx.async, src, 1);
	assert_int_equal(roce_verbs_cq_poll(&small, &cqe, 1), 1);
	assert_int_equal(roce_verbs_cq_poll(&small, &cqe, 1), 1);
	assert_int_equal(roce_verbs_cq_poll(&small, &cqe, 1), -EIO);
	roce_verbs_qp_fini(&qp);
	assert_int_equal(roce_verbs_cq_fini(&small), 0);
}

static void cq__resize_keeps_what_waits(void **state)
{
	struct fixture *f = *state;
	const struct roce_qp_attr err = {.state = ROCE_QP_ERR};
	struct roce_sge sge = sge_of(f, 0, 8);
	struct roce_cqe cqe;

	assert_int_equal(loop_qp_to_init(&f->a, 0), 0);
	for (uint64_t i = 0; i < 7; i++)
		post_recv(&f->a, i, &sge);
	assert_int_equal(roce_verbs_qp_modify(&f->a, &err, ROCE_ATTR_STATE, NULL), 0);
	assert_int_equal(roce_verbs_cq_resize(&f->cq, 4), -EINVAL);
	assert_int_equal(roce_verbs_cq_resize(&f->cq, 0), -EINVAL);
	assert_int_equal(roce_verbs_cq_resize(&f->cq, ROCE_MAX_CQE + 1), -EINVAL);
	assert_int_equal(roce_verbs_cq_resize(&f->cq, 8), 0);
	for (uint64_t i = 0; i < 7; i++) {
		poll_one(f, &cqe);
		assert_int_equal(cqe.wr_id, i);
	}
	assert_int_equal(roce_verbs_cq_poll(&f->cq, &cqe, 1), 0);
}

/* ---- the end ---- */

static void destroy__order_is_enforced(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(roce_verbs_cq_fini(&f->cq), -EBUSY);
	assert_int_equal(roce_comp_channel_fini(&f->channel), -EBUSY);
	assert_int_equal(roce_pd_fini(&f->ctx, &f->pd), -EBUSY);
}

static void destroy__completions_leave_the_queue(void **state)
{
	struct fixture *f = *state;
	struct roce_sge sge = sge_of(f, 0, 8);
	const struct roce_qp_attr err = {.state = ROCE_QP_ERR};
	struct roce_qp_request req = request(f);
	struct roce_verbs_qp qp;
	struct roce_cqe cqe;

	assert_int_equal(roce_verbs_qp_init(&qp, &f->ctx, &req), 0);
	assert_int_equal(loop_qp_to_init(&qp, 0), 0);
	assert_int_equal(loop_qp_to_init(&f->a, 0), 0);
	post_recv(&qp, 1, &sge);
	post_recv(&f->a, 2, &sge);
	assert_int_equal(roce_verbs_qp_modify(&qp, &err, ROCE_ATTR_STATE, NULL), 0);
	assert_int_equal(roce_verbs_qp_modify(&f->a, &err, ROCE_ATTR_STATE, NULL), 0);
	roce_verbs_qp_fini(&qp);
	poll_one(f, &cqe);
	assert_int_equal(cqe.wr_id, 2);
	assert_int_equal(roce_verbs_cq_poll(&f->cq, &cqe, 1), 0);
}

/* The receiver has its message and goes; the sender must not wait for an ACK that never comes. */
static void destroy__sends_the_last_ack(void **state)
{
	struct fixture *f = *state;
	struct roce_sge from = sge_of(f, 0, 16);
	struct roce_sge to = sge_of(f, 1, 16);
	struct roce_send_wr wr = {.wr_id = 7, .sge = &from, .sge_count = 1, .opcode = ROCE_WR_SEND};
	struct roce_cqe cqe;

	connect_both(f);
	post_recv(&f->b, 8, &to);
	post_send(&f->a, &wr);
	/* The request arrives, its ACK waits. */
	loop_step(&f->env);
	assert_int_equal(roce_cq_poll(&f->cq.cq, &cqe, 1), 1);
	assert_int_equal(cqe.wr_id, 8);
	assert_true(roce_tx_is_pending(&f->env.dev.transport));
	roce_verbs_qp_fini(&f->b);
	poll_one(f, &cqe);
	assert_int_equal(cqe.wr_id, 7);
	assert_int_equal(cqe.status, ROCE_WC_SUCCESS);
	f->b = (struct roce_verbs_qp){.ctx = &f->ctx};
	roce_list_init(&f->b.link);
	roce_event_source_init(&f->b.events, ROCE_EVENT_OF_QP, NULL);
}

static void context__closed_under_live_objects(void **state)
{
	struct fixture *f = *state;
	struct roce_context other;
	struct roce_qp_request req = request(f);
	struct roce_verbs_qp qp;
	struct roce_verbs_mr mr;

	assert_int_equal(roce_context_init(&other, &f->env.dev, f), 0);
	assert_int_equal(roce_verbs_qp_init(&qp, &other, &req), 0);
	assert_int_equal(roce_verbs_mr_init(&mr, &other, &f->pd, (uintptr_t)f->mem, 64,
					    (uintptr_t)f->mem, 0),
			 0);
	assert_int_equal(loop_qp_to_init(&qp, 0), 0);
	assert_int_equal(loop_qp_to_rtr(&qp, 0x112233), 0);
	roce_context_fini(&other);
	assert_int_equal(f->env.dev.transport.qp_count, 2);
	assert_int_equal(f->env.dev.transport.keys.count, 1);
	assert_int_equal(f->env.open_count, 0);
	roce_block_put(&qp.storage);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(create__grants_at_least_what_was_asked),
		TEST(create__refuses_what_the_device_does_not_have),
		TEST(create__numbers_carry_the_slot_and_are_random),
		TEST(create__without_a_slot_fails_cleanly),
		TEST(create__small_ones_are_small),
		TEST(modify__rtr_refuses_bad_vectors),
		TEST(modify__peers_are_shared_and_released),
		TEST(modify__another_vector_while_drained),
		TEST(data__send_write_and_atomic),
		TEST(data__case_026),
		TEST(data__case_035),
		TEST(events__armed_queue_fires_once),
		TEST(cq__overrun_is_told_and_final),
		TEST(cq__resize_keeps_what_waits),
		TEST(destroy__order_is_enforced),
		TEST(destroy__completions_leave_the_queue),
		TEST(destroy__sends_the_last_ack),
		TEST(context__closed_under_live_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
