/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagrams, multicast, shared receive queues and XRC on a device whose packets come back to
 * itself: what arrives where, what is refused, and the order in which objects may go.
 */
#include "verbs/limits.h"
#include "verbs/loop_env.h"
#include "verbs/mr_verbs.h"
#include "verbs/pd.h"
#include "verbs/srq_verbs.h"
#include "wire/grh.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#define BYTES	      16384u
#define QKEY	      0x11111111u
#define EVENT_LIMIT   15u
#define LOC_LEN_ERR   1
#define QPN_MULTICAST 0xffffffu

struct fixture {
	struct loop_env env;
	struct roce_context ctx;
	struct roce_pd pd;
	struct roce_verbs_cq cq;
	struct roce_verbs_mr mr;
	uint8_t *mem;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	loop_env_init(&f->env, 3);
	assert_int_equal(roce_context_init(&f->ctx, &f->env.dev, f), 0);
	fcntl(f->ctx.async.fd, F_SETFL, O_NONBLOCK);
	roce_pd_init(&f->pd, 1);
	assert_int_equal(roce_verbs_cq_init(&f->cq, &f->ctx, 64, NULL, NULL, f), 0);
	f->mem = calloc(1, BYTES);
	assert_int_equal(roce_verbs_mr_init(&f->mr, &f->ctx, &f->pd, (uintptr_t)f->mem, BYTES,
					    (uintptr_t)f->mem,
					    ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE),
			 0);
	*state = f;
	return 0;
}

/* Everything that a test made must have been given back. */
static int tear_down(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(roce_verbs_mr_fini(&f->mr), 0);
	assert_int_equal(roce_verbs_cq_fini(&f->cq), 0);
	assert_int_equal(roce_pd_fini(&f->ctx, &f->pd), 0);
	assert_int_equal(f->env.open_count, 0);
	assert_int_equal(f->env.group_count, 0);
	assert_int_equal(f->env.dev.srq_count, 0);
	assert_int_equal(f->env.dev.mcast_count, 0);
	roce_context_fini(&f->ctx);
	loop_env_fini(&f->env);
	free(f->mem);
	free(f);
	return 0;
}

static struct roce_qp_request request(struct fixture *f, enum roce_qp_type type)
{
	return (struct roce_qp_request){
		.type = (uint8_t)type,
		.sq_sig_all = true,
		.pd = &f->pd,
		.send_cq = &f->cq,
		.recv_cq = &f->cq,
		.caps = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 2},
	};
}

static bool poll_one(struct fixture *f, struct roce_cqe *cqe)
{
	for (int i = 0; i < 8; i++) {
		if (roce_verbs_cq_poll(&f->cq, cqe, 1) == 1)
			return true;
	}
	return false;
}

static struct roce_sge sge_at(struct fixture *f, uint32_t offset, uint32_t length)
{
	return (struct roce_sge){
		.addr = (uintptr_t)f->mem + offset, .length = length, .lkey = f->mr.mr.lkey.v};
}

static void post_recv(struct fixture *f, struct roce_verbs_qp *qp, uint32_t offset)
{
	struct roce_sge sge = sge_at(f, offset, 4096);
	roce_ns_t now = roce_verbs_qp_lock(qp);

	assert_int_equal(roce_post_recv(&qp->qp, offset, &sge, 1, now), ROCE_POST_OK);
	roce_verbs_qp_unlock_recv(qp);
}

/* ---- UD ---- */

static void make_ud(struct fixture *f, struct roce_verbs_qp *qp)
{
	struct roce_qp_request req = request(f, ROCE_QP_UD);
	struct roce_qp_attr attr = {.state = ROCE_QP_INIT, .port_num = 1, .qkey = QKEY};

	assert_int_equal(roce_verbs_qp_init(qp, &f->ctx, &req), 0);
	assert_int_equal(roce_verbs_qp_modify(qp, &attr,
					      ROCE_ATTR_STATE | ROCE_ATTR_PKEY_INDEX |
						      ROCE_ATTR_PORT | ROCE_ATTR_QKEY,
					      NULL),
			 0);
	attr.state = ROCE_QP_RTR;
	assert_int_equal(roce_verbs_qp_modify(qp, &attr, ROCE_ATTR_STATE, NULL), 0);
	attr.state = ROCE_QP_RTS;
	assert_int_equal(roce_verbs_qp_modify(qp, &attr, ROCE_ATTR_STATE | ROCE_ATTR_SQ_PSN, NULL),
			 0);
}

static void send_datagram(struct fixture *f, struct roce_verbs_qp *qp, const struct roce_ah *ah,
			  uint32_t dest_qpn, uint32_t qkey, uint32_t length)
{
	struct roce_sge sge = sge_at(f, 0, length);
	const struct roce_send_wr wr = {
		.wr_id = 77,
		.sge = &sge,
		.sge_count = 1,
		.opcode = ROCE_WR_SEND,
		.path = &ah->path,
		.remote_qpn = dest_qpn,
		.remote_qkey = qkey,
	};
	roce_ns_t now = roce_verbs_qp_lock(qp);

	assert_int_equal(roce_verbs_qp_post_datagram(qp, &wr, now), ROCE_POST_OK);
	roce_verbs_qp_unlock_send(qp);
}

static void ud__datagram_arrives_behind_its_ip_header(void **state)
{
	struct fixture *f = *state;
	const struct roce_av av = loop_av();
	struct roce_verbs_qp a, b;
	struct roce_ah ah;
	struct roce_cqe cqe;

	make_ud(f, &a);
	make_ud(f, &b);
	assert_int_equal(f->env.open_count, 4); /* two addresses each */
	assert_int_equal(roce_ah_init(&ah, &f->ctx, &f->pd, &av), 0);
	post_recv(f, &b, 4096);
	memset(f->mem, 0x5a, 100);
	send_datagram(f, &a, &ah, b.qp.cfg.qpn.v, QKEY, 100);
	assert_true(poll_one(f, &cqe));
	assert_int_equal(cqe.wr_id, 77);
	assert_int_equal(cqe.status, ROCE_WC_SUCCESS);
	assert_true(poll_one(f, &cqe));
	assert_int_equal(cqe.wr_id, 4096);
	assert_int_equal(cqe.byte_len, 140);
	assert_int_equal(cqe.src_qp, a.qp.cfg.qpn.v);
	assert_int_equal(cqe.wc_flags, ROCE_WC_GRH);
	assert_int_equal(f->mem[4096 + 20], 0x45);
	assert_memory_equal(f->mem + 4096 + 40, f->mem, 100);
	roce_ah_fini(&ah);
	assert_int_equal(roce_verbs_qp_fini(&a), 0);
	assert_int_equal(roce_verbs_qp_fini(&b), 0);
}

static void ud__wrong_qkey_is_dropped(void **state)
{
	struct fixture *f = *state;
	const struct roce_av av = loop_av();
	struct roce_verbs_qp a, b;
	struct roce_ah ah;
	struct roce_cqe cqe;

	make_ud(f, &a);
	make_ud(f, &b);
	assert_int_equal(roce_ah_init(&ah, &f->ctx, &f->pd, &av), 0);
	post_recv(f, &b, 4096);
	send_datagram(f, &a, &ah, b.qp.cfg.qpn.v, QKEY + 1, 8);
	assert_true(poll_one(f, &cqe));
	assert_int_equal(cqe.wr_id, 77);
	assert_false(poll_one(f, &cqe));
	assert_int_equal(f->env.counters.v[ROCE_RX_BAD_QKEY], 1);
	roce_ah_fini(&ah);
	assert_int_equal(roce_verbs_qp_fini(&a), 0);
	assert_int_equal(roce_verbs_qp_fini(&b), 0);
}

static void ud__message_above_the_mtu_stops_sending_only(void **state)
{
	struct fixture *f = *state;
	const struct roce_av av = loop_av();
	struct roce_verbs_qp a;
	struct roce_ah ah;
	struct roce_cqe cqe;

	f->env.active_mtu = 3; /* 1024 */
	make_ud(f, &a);
	assert_int_equal(roce_ah_init(&ah, &f->ctx, &f->pd, &av), 0);
	send_datagram(f, &a, &ah, a.qp.cfg.qpn.v, QKEY, 1025);
	assert_true(poll_one(f, &cqe));
	assert_int_equal(cqe.status, LOC_LEN_ERR);
	assert_int_equal(a.qp.attr.state, ROCE_QP_SQE);
	roce_ah_fini(&ah);
	assert_int_equal(roce_verbs_qp_fini(&a), 0);
}

/* Without CAP_NET_RAW a controlled Q_Key is refused; with it, it is not. */
static void ud__controlled_qkey_needs_privilege(void **state)
{
	struct fixture *f = *state;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct had[2] = {0}, less[2];
	struct roce_qp_request req = request(f, ROCE_QP_UD);
	const struct roce_qp_attr attr = {
		.state = ROCE_QP_INIT, .port_num = 1, .qkey = 0x80000001u};
	const uint32_t mask =
		ROCE_ATTR_STATE | ROCE_ATTR_PKEY_INDEX | ROCE_ATTR_PORT | ROCE_ATTR_QKEY;
	struct roce_verbs_qp a;

	assert_int_equal(roce_verbs_qp_init(&a, &f->ctx, &req), 0);
	assert_int_equal(syscall(SYS_capget, &header, had), 0);
	memcpy(less, had, sizeof(less));
	less[0].effective &= ~(1u << CAP_NET_RAW);
	assert_int_equal(syscall(SYS_capset, &header, less), 0);
	assert_int_equal(roce_verbs_qp_modify(&a, &attr, mask, NULL), -EPERM);
	assert_int_equal(a.qp.attr.state, ROCE_QP_RESET);
	assert_int_equal(syscall(SYS_capset, &header, had), 0);
	if (had[0].effective & 1u << CAP_NET_RAW)
		assert_int_equal(roce_verbs_qp_modify(&a, &attr, mask, NULL), 0);
	assert_int_equal(roce_verbs_qp_fini(&a), 0);
}

/* At 100 MB/s and bursts of 4000 bytes ahead: five packets of 1000 bytes at once, then one each 10
 * us. */
static void ud__leaves_at_the_pace_of_the_device(void **state)
{
	struct fixture *f = *state;
	const struct roce_av av = loop_av();
	struct roce_verbs_qp a;
	struct roce_tx_pkt pkts[8];
	struct roce_transport *t = &f->env.dev.transport;
	roce_ns_t now = f->env.now + 1000000;
	struct roce_cqe cqe;
	struct roce_ah ah;

	t->cfg.pace = (struct roce_pace_config){.kbit_per_s = 800000, .burst_bytes = 4000};
	make_ud(f, &a);
	assert_int_equal(roce_ah_init(&ah, &f->ctx, &f->pd, &av), 0);
	for (int i = 0; i < 6; i++)
		send_datagram(f, &a, &ah, a.qp.cfg.qpn.v, QKEY, 1000);
	f->env.now = now;
	assert_int_equal(roce_tx(t, pkts, 8, now), 5);
	assert_int_equal(roce_deadline(t), now + 10000);
	assert_int_equal(roce_tx(t, pkts, 8, now + 9999), 0);
	roce_on_deadline(t, now + 10000);
	assert_int_equal(roce_tx(t, pkts, 8, now + 10000), 1);
	f->env.now = now + 10000;
	for (int i = 0; i < 6; i++)
		assert_true(poll_one(f, &cqe));
	roce_ah_fini(&ah);
	assert_int_equal(roce_verbs_qp_fini(&a), 0);
}

/* ---- multicast ---- */

static void multicast__every_member_gets_a_copy(void **state)
{
	struct fixture *f = *state;
	const struct roce_gid group = {{[10] = 0xff, [11] = 0xff, [12] = 239, [15] = 9}};
	struct roce_av av = loop_av();
	struct roce_verbs_qp a, b;
	struct roce_cqe cqe;
	struct roce_ah ah;
	int copies = 0;

	make_ud(f, &a);
	make_ud(f, &b);
	assert_int_equal(roce_verbs_qp_attach(&a, &av.dgid), -EINVAL); /* no group */
	assert_int_equal(roce_verbs_qp_attach(&a, &group), 0);
	assert_int_equal(roce_verbs_qp_attach(&a, &group), 0);
	assert_int_equal(roce_verbs_qp_attach(&b, &group), 0);
	assert_int_equal(f->env.group_count, 2);
	av.dgid = group;
	assert_int_equal(roce_ah_init(&ah, &f->ctx, &f->pd, &av), 0);
	post_recv(f, &a, 4096);
	post_recv(f, &b, 8192);
	send_datagram(f, &a, &ah, QPN_MULTICAST, QKEY, 16);
	while (poll_one(f, &cqe))
		copies += cqe.opcode == ROCE_WC_RECV && cqe.status == ROCE_WC_SUCCESS;
	assert_int_equal(copies, 2);
	assert_int_equal(roce_verbs_qp_fini(&a), -EBUSY);
	assert_int_equal(roce_verbs_qp_detach_group(&a, &group), 0);
	assert_int_equal(roce_verbs_qp_detach_group(&a, &group), -EINVAL);
	assert_int_equal(roce_verbs_qp_detach_group(&b, &group), 0);
	roce_ah_fini(&ah);
	assert_int_equal(roce_verbs_qp_fini(&a), 0);
	assert_int_equal(roce_verbs_qp_fini(&b), 0);
}

/* ---- connected queue pairs on shared queues ---- */

static void post_srq(struct fixture *f, struct roce_verbs_srq *srq, uint32_t offset)
{
	struct roce_sge sge = sge_at(f, offset, 1024);

	assert_true(roce_recv_queue_push(&srq->srq.rq, offset, &sge, 1));
}

static void make_srq(struct fixture *f, struct roce_verbs_srq *srq, struct roce_xrcd *xrcd)
{
	const struct roce_srq_request req = {
		.pd = &f->pd, .max_wr = 8, .max_sge = 2, .xrcd = xrcd, .cq = xrcd ? &f->cq : NULL};

	assert_int_equal(roce_verbs_srq_init(srq, &f->ctx, &req), 0);
}

static void connect_pair(struct roce_verbs_qp *a, struct roce_verbs_qp *b)
{
	assert_int_equal(loop_qp_to_init(a, 0), 0);
	assert_int_equal(loop_qp_to_init(b, 0), 0);
	assert_int_equal(loop_qp_to_rtr(a, b->qp.cfg.qpn.v), 0);
	assert_int_equal(loop_qp_to_rtr(b, a->qp.cfg.qpn.v), 0);
	assert_int_equal(loop_qp_to_rts(a), 0);
	assert_int_equal(loop_qp_to_rts(b), 0);
}

static void send_to(struct fixture *f, struct roce_verbs_qp *qp, uint32_t srqn, uint32_t length)
{
	struct roce_sge sge = sge_at(f, 0, length);
	const struct roce_send_wr wr = {.wr_id = 77,
					.sge = &sge,
					.sge_count = 1,
					.opcode = ROCE_WR_SEND,
					.remote_srqn = srqn};
	roce_ns_t now = roce_verbs_qp_lock(qp);

	assert_int_equal(roce_post_send(&qp->qp, &wr, now), ROCE_POST_OK);
	roce_verbs_qp_unlock_send(qp);
}

/* The wr_id of the receive that completes with the send. */
static uint64_t received_id(struct fixture *f)
{
	struct roce_cqe cqe;
	uint64_t id = 0;

	for (int i = 0; i < 2; i++) {
		assert_true(poll_one(f, &cqe));
		assert_int_equal(cqe.status, ROCE_WC_SUCCESS);
		if (cqe.opcode == ROCE_WC_RECV)
			id = cqe.wr_id;
	}
	return id;
}

static uint32_t next_event(struct fixture *f)
{
	struct roce_event_source *src;
	uint32_t type;

	if (roce_events_get(&f->ctx.async, &src, &type))
		return UINT32_MAX;
	roce_event_source_ack(&f->ctx.async, src, 1);
	return type;
}

/* Receive capabilities mean nothing beside a shared queue. */
static void srq__case_021_in_order(void **state)
{
	struct fixture *f = *state;
	struct roce_qp_request req = request(f, ROCE_QP_RC);
	struct roce_verbs_srq srq;
	struct roce_verbs_qp a, b;

	make_srq(f, &srq, NULL);
	req.srq = &srq;
	req.caps.max_recv_wr = ROCE_MAX_QP_WR + 1;
	assert_int_equal(roce_verbs_qp_init(&a, &f->ctx, &req), 0);
	assert_int_equal(roce_verbs_qp_init(&b, &f->ctx, &req), 0);
	connect_pair(&a, &b);
	post_srq(f, &srq, 4096);
	post_srq(f, &srq, 8192);
	send_to(f, &a, 0, 64);
	assert_int_equal(received_id(f), 4096);
	send_to(f, &b, 0, 64);
	assert_int_equal(received_id(f), 8192);
	assert_int_equal(roce_verbs_srq_fini(&srq), -EBUSY);
	while (next_event(f) != UINT32_MAX)
		;
	assert_int_equal(roce_verbs_qp_modify(&a, &(struct roce_qp_attr){.state = ROCE_QP_ERR},
					      ROCE_ATTR_STATE, NULL),
			 0);
	assert_int_equal(next_event(f), ROCE_EVENT_QP_LAST_WQE_REACHED);
	assert_int_equal(roce_verbs_qp_fini(&a), 0);
	assert_int_equal(roce_verbs_qp_fini(&b), 0);
	assert_int_equal(roce_verbs_srq_fini(&srq), 0);
}

/* At least what was asked for. */
static void srq__case_022_limit_and_size(void **state)
{
	struct fixture *f = *state;
	struct roce_qp_request req = request(f, ROCE_QP_RC);
	struct roce_srq_change change = {.is_limit_given = true, .limit = 2};
	struct roce_verbs_srq srq;
	struct roce_verbs_qp a, b;

	make_srq(f, &srq, NULL);
	req.srq = &srq;
	assert_int_equal(roce_verbs_qp_init(&a, &f->ctx, &req), 0);
	assert_int_equal(roce_verbs_qp_init(&b, &f->ctx, &req), 0);
	connect_pair(&a, &b);
	for (uint32_t i = 0; i < 3; i++)
		post_srq(f, &srq, 4096 + 1024 * i);
	assert_int_equal(roce_verbs_srq_change(&srq, &change), 0);
	send_to(f, &a, 0, 8); /* 2 left: not below the limit */
	assert_int_equal(received_id(f), 4096);
	while (next_event(f) != UINT32_MAX)
		;
	change = (struct roce_srq_change){.is_size_given = true, .max_wr = 100};
	assert_int_equal(roce_verbs_srq_change(&srq, &change), 0);
	assert_true(srq.srq.rq.depth >= 100);
	assert_int_equal(srq.srq.limit, 2);
	send_to(f, &a, 0, 8);
	assert_int_equal(received_id(f), 4096 + 1024);
	assert_int_equal(next_event(f), EVENT_LIMIT);
	assert_int_equal(srq.srq.limit, 0);
	change.max_wr = ROCE_MAX_SRQ_WR + 1;
	assert_int_equal(roce_verbs_srq_change(&srq, &change), -EINVAL);
	change = (struct roce_srq_change){.is_limit_given = true, .limit = 129};
	assert_int_equal(roce_verbs_srq_change(&srq, &change), -EINVAL);
	assert_int_equal(roce_verbs_qp_fini(&a), 0);
	assert_int_equal(roce_verbs_qp_fini(&b), 0);
	assert_int_equal(roce_verbs_srq_fini(&srq), 0);
}

static void xrc__each_message_names_its_queue(void **state)
{
	struct fixture *f = *state;
	struct roce_qp_request req = request(f, ROCE_QP_XRC_INI);
	struct roce_verbs_srq one, two;
	struct roce_verbs_qp ini, tgt;
	struct roce_xrcd *xrcd;

	assert_int_equal(roce_xrcd_open(&f->ctx, -1, ROCE_XRCD_CREATE, &xrcd), 0);
	make_srq(f, &one, xrcd);
	make_srq(f, &two, xrcd);
	assert_int_not_equal(one.number, two.number);
	assert_int_equal(roce_verbs_qp_init(&ini, &f->ctx, &req), 0);
	req = (struct roce_qp_request){.type = ROCE_QP_XRC_TGT, .xrcd = xrcd};
	assert_int_equal(roce_verbs_qp_init(&tgt, &f->ctx, &req), 0);
	connect_pair(&ini, &tgt);
	post_srq(f, &one, 4096);
	post_srq(f, &two, 8192);
	send_to(f, &ini, two.number, 64);
	assert_int_equal(received_id(f), 8192);
	send_to(f, &ini, one.number, 64);
	assert_int_equal(received_id(f), 4096);
	/* The queue of the last message may go before the target that used it. */
	assert_int_equal(roce_verbs_srq_fini(&one), 0);
	assert_null(tgt.qp.srq);
	assert_int_equal(roce_xrcd_close(xrcd), -EBUSY);
	assert_int_equal(roce_verbs_srq_fini(&two), 0);
	assert_int_equal(roce_verbs_qp_fini(&ini), 0);
	assert_int_equal(roce_verbs_qp_fini(&tgt), 0);
	assert_int_equal(roce_xrcd_close(xrcd), 0);
}

/* A target that is reset takes what it completed along, one that is destroyed leaves it: others may
 * own the queue. A later target at its address has nothing to do with it. */
static void xrc__reset_cleans_the_queues_of_its_domain(void **state)
{
	struct fixture *f = *state;
	struct roce_qp_request ini_req = request(f, ROCE_QP_XRC_INI);
	struct roce_qp_request tgt_req = {.type = ROCE_QP_XRC_TGT};
	struct roce_verbs_srq one, two;
	struct roce_verbs_qp ini, tgt;
	struct roce_xrcd *xrcd;
	struct roce_verbs_cq send_cq;
	struct roce_cqe cqe;

	assert_int_equal(roce_xrcd_open(&f->ctx, -1, ROCE_XRCD_CREATE, &xrcd), 0);
	assert_int_equal(roce_verbs_cq_init(&send_cq, &f->ctx, 16, NULL, NULL, f), 0);
	make_srq(f, &one, xrcd);
	make_srq(f, &two, xrcd);
	ini_req.send_cq = &send_cq;
	tgt_req.xrcd = xrcd;
	for (int round = 0; round < 2; round++) {
		bool is_reset = round == 0;

		assert_int_equal(roce_verbs_qp_init(&ini, &f->ctx, &ini_req), 0);
		assert_int_equal(roce_verbs_qp_init(&tgt, &f->ctx, &tgt_req), 0);
		connect_pair(&ini, &tgt);
		post_srq(f, &one, 4096);
		post_srq(f, &two, 8192);
		send_to(f, &ini, two.number, 64);
		send_to(f, &ini, one.number, 64);
		for (int i = 0; i < 2; i++) {
			while (roce_verbs_cq_poll(&send_cq, &cqe, 1) == 0)
				;
			assert_int_equal(cqe.status, ROCE_WC_SUCCESS);
		}
		while (next_event(f) != UINT32_MAX)
			;
		if (is_reset) {
			assert_int_equal(roce_verbs_qp_modify(&tgt, &(struct roce_qp_attr){0},
							      ROCE_ATTR_STATE, NULL),
					 0);
			assert_false(poll_one(f, &cqe));
		}
		assert_int_equal(roce_verbs_qp_fini(&ini), 0);
		assert_int_equal(roce_verbs_qp_fini(&tgt), 0);
		if (!is_reset) {
			assert_int_equal(roce_verbs_qp_init(&tgt, &f->ctx, &tgt_req), 0);
			assert_int_equal(roce_verbs_qp_modify(&tgt, &(struct roce_qp_attr){0},
							      ROCE_ATTR_STATE, NULL),
					 0);
			assert_true(poll_one(f, &cqe));
			assert_int_equal(cqe.wr_id, 8192);
			assert_true(poll_one(f, &cqe));
			assert_int_equal(roce_verbs_qp_fini(&tgt), 0);
		}
	}
	assert_int_equal(roce_verbs_srq_fini(&one), 0);
	assert_int_equal(roce_verbs_srq_fini(&two), 0);
	assert_int_equal(roce_verbs_cq_fini(&send_cq), 0);
	assert_int_equal(roce_xrcd_close(xrcd), 0);
}

static void xrc__unknown_queue_is_refused(void **state)
{
	struct fixture *f = *state;
	struct roce_qp_request req = request(f, ROCE_QP_XRC_INI);
	struct roce_verbs_srq other;
	struct roce_verbs_qp ini, tgt;
	struct roce_xrcd *xrcd, *foreign;
	struct roce_cqe cqe;

	assert_int_equal(roce_xrcd_open(&f->ctx, -1, ROCE_XRCD_CREATE, &xrcd), 0);
	assert_int_equal(roce_xrcd_open(&f->ctx, -1, ROCE_XRCD_CREATE, &foreign), 0);
	make_srq(f, &other, foreign);
	assert_int_equal(roce_verbs_qp_init(&ini, &f->ctx, &req), 0);
	req = (struct roce_qp_request){.type = ROCE_QP_XRC_TGT, .xrcd = xrcd};
	assert_int_equal(roce_verbs_qp_init(&tgt, &f->ctx, &req), 0);
	connect_pair(&ini, &tgt);
	post_srq(f, &other, 4096);
	send_to(f, &ini, other.number, 64);
	assert_true(poll_one(f, &cqe));
	assert_int_equal(cqe.status, ROCE_WC_REM_INV_REQ_ERR);
	assert_int_equal(f->env.counters.v[ROCE_RX_NO_SRQ], 1);
	while (next_event(f) != UINT32_MAX)
		;
	assert_int_equal(roce_verbs_qp_fini(&ini), 0);
	assert_int_equal(roce_verbs_qp_fini(&tgt), 0);
	assert_int_equal(roce_verbs_srq_fini(&other), 0);
	assert_int_equal(roce_xrcd_close(foreign), 0);
	assert_int_equal(roce_xrcd_close(xrcd), 0);
}

static void xrcd__is_named_by_its_file(void **state)
{
	struct fixture *f = *state;
	int fd = memfd_create("domain", 0);
	int same = dup(fd);
	int other = memfd_create("other", 0);
	struct roce_xrcd *a, *b, *c;

	assert_int_equal(roce_xrcd_open(&f->ctx, fd, 0, &a), -EINVAL);
	assert_int_equal(roce_xrcd_open(&f->ctx, fd, ROCE_XRCD_CREATE, &a), 0);
	assert_int_equal(roce_xrcd_open(&f->ctx, same, ROCE_XRCD_CREATE | ROCE_XRCD_EXCLUSIVE, &b),
			 -EINVAL);
	assert_int_equal(roce_xrcd_open(&f->ctx, same, 0, &b), 0);
	assert_ptr_equal(a, b);
	assert_int_equal(roce_xrcd_open(&f->ctx, other, ROCE_XRCD_CREATE, &c), 0);
	assert_ptr_not_equal(a, c);
	assert_int_equal(roce_xrcd_close(a), 0);
	assert_int_equal(roce_xrcd_close(b), 0);
	assert_int_equal(roce_xrcd_close(c), 0);
	assert_int_equal(roce_xrcd_open(&f->ctx, fd, 0, &a), -EINVAL); /* it is gone */
	close(fd);
	close(same);
	close(other);
	assert_int_equal(roce_xrcd_open(&f->ctx, fd, ROCE_XRCD_CREATE, &a), -EBADF);
}

static void create__checks_the_objects_of_each_type(void **state)
{
	struct fixture *f = *state;
	struct roce_qp_request req = request(f, ROCE_QP_XRC_TGT);
	struct roce_verbs_srq srq;
	struct roce_verbs_qp qp;
	struct roce_xrcd *xrcd;

	assert_int_equal(roce_xrcd_open(&f->ctx, -1, 0, &xrcd), 0);
	make_srq(f, &srq, xrcd);
	assert_int_equal(roce_verbs_qp_init(&qp, &f->ctx, &req), -EINVAL); /* no xrcd */
	req = request(f, ROCE_QP_RC);
	req.srq = &srq; /* an XRC one */
	assert_int_equal(roce_verbs_qp_init(&qp, &f->ctx, &req), -EINVAL);
	req = request(f, ROCE_QP_UD);
	req.recv_cq = NULL;
	assert_int_equal(roce_verbs_qp_init(&qp, &f->ctx, &req), -EINVAL);
	req = request(f, ROCE_QP_XRC_INI);
	req.send_cq = NULL;
	assert_int_equal(roce_verbs_qp_init(&qp, &f->ctx, &req), -EINVAL);
	assert_int_equal(roce_verbs_srq_fini(&srq), 0);
	assert_int_equal(roce_xrcd_close(xrcd), 0);
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(ud__datagram_arrives_behind_its_ip_header),
		T(ud__wrong_qkey_is_dropped),
		T(ud__message_above_the_mtu_stops_sending_only),
		T(ud__controlled_qkey_needs_privilege),
		T(ud__leaves_at_the_pace_of_the_device),
		T(multicast__every_member_gets_a_copy),
		T(srq__case_021_in_order),
		T(srq__case_022_limit_and_size),
		T(xrc__each_message_names_its_queue),
		T(xrc__reset_cleans_the_queues_of_its_domain),
		T(xrc__unknown_queue_is_refused),
		T(xrcd__is_named_by_its_file),
		T(create__checks_the_objects_of_each_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
