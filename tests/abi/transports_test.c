/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagrams, shared receive queues and XRC through the public interface on a real device: answering
 * the sender of a datagram over IPv4 and IPv6, multicast groups of the loopback, the builder
 * interface on each type of queue pair, and shared handles of an XRC target.
 */
#include "lo_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define QKEY	 0x11111111u
#define GRH	 40u
#define RECV_AT	 8192u
#define RECV_LEN 2048u
#define HOPS	 17

static struct ibv_sge sge_at(struct lo_device *lo, uint32_t offset, uint32_t length)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)lo->mem + offset, .length = length, .lkey = lo->mr->lkey};
}

static struct ibv_qp *make_qp_ex(struct lo_device *lo, enum ibv_qp_type type, uint64_t ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = lo->cq,
		.recv_cq = lo->cq,
		.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 2},
		.qp_type = type,
		.sq_sig_all = 1,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = lo->pd,
		.send_ops_flags = ops,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(lo->context, &attr);

	assert_non_null(qp);
	return qp;
}

static struct ibv_qp *make_ud(struct lo_device *lo)
{
	struct ibv_qp *qp =
		make_qp_ex(lo, IBV_QPT_UD, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};

	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	return qp;
}

static void post_recv(struct lo_device *lo, struct ibv_qp *qp, uint64_t wr_id, uint32_t offset)
{
	struct ibv_sge sge = sge_at(lo, offset, RECV_LEN);
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
}

/* The receive of the two completions that a message makes here. */
static struct ibv_wc received(struct lo_device *lo)
{
	struct ibv_wc wc, found = {0};

	for (int i = 0; i < 2; i++) {
		assert_true(lo_poll(lo, &wc));
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		if (wc.opcode & IBV_WC_RECV)
			found = wc;
	}
	return found;
}

static struct ibv_ah *ah_to_self(struct lo_device *lo, int gid_index)
{
	struct ibv_ah_attr attr = {.is_global = 1,
				   .port_num = 1,
				   .grh = {.hop_limit = HOPS,
					   .traffic_class = 0x20,
					   .sgid_index = (uint8_t)gid_index}};
	struct ibv_ah *ah;

	assert_int_equal(ibv_query_gid(lo->context, 1, gid_index, &attr.grh.dgid), 0);
	ah = ibv_create_ah(lo->pd, &attr);
	assert_non_null(ah);
	return ah;
}

/* A datagram, and an answer to where it came from as its completion and header tell. */
static void exchange(struct lo_device *lo, int gid_index)
{
	struct ibv_qp *a = make_ud(lo), *b = make_ud(lo);
	struct ibv_ah *ah = ah_to_self(lo, gid_index), *back;
	struct ibv_sge sge = sge_at(lo, 0, 100);
	struct ibv_send_wr wr = {.wr_id = 1,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND_WITH_IMM,
				 .imm_data = 0x12345678,
				 .wr.ud = {.ah = ah, .remote_qpn = b->qp_num, .remote_qkey = QKEY}};
	struct ibv_grh *grh = (struct ibv_grh *)(void *)(lo->mem + RECV_AT);
	struct ibv_send_wr *bad;
	struct ibv_ah_attr attr;
	union ibv_gid gid;
	struct ibv_wc wc;

	memset(lo->mem, 0x3c + gid_index, 100);
	post_recv(lo, b, 2, RECV_AT);
	assert_int_equal(ibv_post_send(a, &wr, &bad), 0);
	wc = received(lo);
	assert_int_equal(wc.wr_id, 2);
	assert_int_equal(wc.byte_len, GRH + 100);
	assert_int_equal(wc.src_qp, a->qp_num);
	assert_int_equal(wc.imm_data, 0x12345678);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	assert_int_equal(wc.sl, grh->version_tclass_flow ? 0x9 : 0xa); /* IPv6 or IPv4 with UDP */
	assert_memory_equal(lo->mem + RECV_AT + GRH, lo->mem, 100);

	assert_int_equal(ibv_init_ah_from_wc(lo->context, 1, &wc, grh, &attr), 0);
	assert_int_equal(ibv_query_gid(lo->context, 1, gid_index, &gid), 0);
	assert_memory_equal(attr.grh.dgid.raw, gid.raw, sizeof(gid.raw));
	assert_int_equal(attr.grh.sgid_index, gid_index);
	assert_int_equal(attr.grh.traffic_class, 0x20);
	assert_int_equal(attr.grh.hop_limit, HOPS);
	back = ibv_create_ah_from_wc(lo->pd, &wc, grh, 1);
	assert_non_null(back);
	wr.wr.ud.ah = back;
	wr.wr.ud.remote_qpn = wc.src_qp;
	post_recv(lo, a, 3, RECV_AT);
	assert_int_equal(ibv_post_send(b, &wr, &bad), 0);
	assert_int_equal(received(lo).wr_id, 3);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_ah(back), 0);
	assert_int_equal(ibv_destroy_qp(a), 0);
	assert_int_equal(ibv_destroy_qp(b), 0);
}

static void ud_answers_over_ipv4(void **state)
{
	exchange(*state, 0);
}

static void ud_answers_over_ipv6(void **state)
{
	struct lo_device *lo = *state;
	union ibv_gid gid;
	static const union ibv_gid none;

	assert_int_equal(ibv_query_gid(lo->context, 1, 1, &gid), 0);
	if (memcmp(&gid, &none, sizeof(gid)) == 0)
		skip(); /* no IPv6 in this system */
	exchange(lo, 1);
}

static void ud_without_an_address_handle_is_refused(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_qp *qp = make_ud(lo);
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .wr.ud = {.remote_qpn = qp->qp_num}};
	struct ibv_send_wr *bad = NULL;

	assert_int_equal(ibv_post_send(qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	wr.opcode = IBV_WR_RDMA_WRITE;
	assert_int_equal(ibv_post_send(qp, &wr, &bad), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void builder_sends_datagrams(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_qp *qp = make_ud(lo);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	struct ibv_ah *ah = ah_to_self(lo, 0);
	struct ibv_wc wc;

	assert_non_null(ex);
	post_recv(lo, qp, 5, RECV_AT);
	ibv_wr_start(ex);
	ex->wr_id = 4;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_imm(ex, 7);
	ibv_wr_set_ud_addr(ex, ah, qp->qp_num, QKEY);
	ibv_wr_set_sge(ex, lo->mr->lkey, (uintptr_t)lo->mem, 10);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wc = received(lo);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(wc.imm_data, 7);
	/* Without an address nothing is posted. */
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void multicast_group_of_the_loopback(void **state)
{
	struct lo_device *lo = *state;
	const union ibv_gid group = {
		.raw = {[10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1, [15] = 77}};
	struct ibv_qp *a = make_ud(lo), *b = make_ud(lo);
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1, .grh = {.dgid = group, .hop_limit = 1}};
	struct ibv_ah *ah = ibv_create_ah(lo->pd, &attr);
	struct ibv_sge sge = sge_at(lo, 0, 10);
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .wr.ud = {.ah = ah, .remote_qpn = 0xffffff, .remote_qkey = QKEY}};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int copies = 0;

	assert_non_null(ah);
	assert_int_equal(ibv_attach_mcast(a, &group, 0), 0);
	assert_int_equal(ibv_attach_mcast(b, &group, 0), 0);
	post_recv(lo, a, 1, RECV_AT);
	post_recv(lo, b, 2, RECV_AT + RECV_LEN);
	assert_int_equal(ibv_post_send(a, &wr, &bad), 0);
	for (int i = 0; i < 3; i++) {
		assert_true(lo_poll(lo, &wc));
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		copies += (wc.opcode & IBV_WC_RECV) != 0;
	}
	assert_int_equal(copies, 2);
	/* The sender of a packet to a group is told by the header, too. */
	assert_int_equal(lo->mem[RECV_AT + 36], 239);
	assert_int_equal(ibv_destroy_qp(b), EBUSY);
	assert_int_equal(ibv_detach_mcast(a, &group, 0), 0);
	assert_int_equal(ibv_detach_mcast(b, &group, 0), 0);
	assert_int_equal(ibv_detach_mcast(b, &group, 0), EINVAL);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_qp(a), 0);
	assert_int_equal(ibv_destroy_qp(b), 0);
}

/* ---- shared receive queues ---- */

static void post_srq(struct lo_device *lo, struct ibv_srq *srq, uint64_t wr_id)
{
	struct ibv_sge sge = sge_at(lo, RECV_AT, RECV_LEN);
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
}

static void srq_life(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_srq_init_attr init = {.srq_context = lo, .attr = {.max_wr = 5, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(lo->pd, &init);
	struct ibv_srq_attr attr = {.max_wr = 20, .srq_limit = 1};
	struct ibv_qp_init_attr qp_init = {.send_cq = lo->cq,
					   .recv_cq = lo->cq,
					   .srq = srq,
					   .cap = {.max_send_wr = 4, .max_send_sge = 1},
					   .qp_type = IBV_QPT_RC};
	struct ibv_async_event event;
	struct ibv_recv_wr wr = {.num_sge = 2};
	struct ibv_recv_wr *bad = NULL;
	struct ibv_qp *qp;
	uint32_t number;

	assert_non_null(srq);
	assert_true(init.attr.max_wr >= 5);
	assert_int_equal(ibv_get_srq_num(srq, &number), EINVAL);
	qp = ibv_create_qp(lo->pd, &qp_init);
	assert_non_null(qp);
	assert_ptr_equal(qp->srq, srq);
	assert_int_equal(qp_init.cap.max_recv_wr, 0);
	assert_int_equal(ibv_destroy_srq(srq), EBUSY);
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	post_srq(lo, srq, 1);
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_true(attr.max_wr >= 20);
	assert_int_equal(attr.srq_limit, 0);
	for (uint32_t i = 1; i < attr.max_wr; i++)
		post_srq(lo, srq, 1);
	wr.num_sge = 0;
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
	assert_int_equal(ibv_modify_srq(srq, &attr, 4), EINVAL);
	/* Armed above what is there: it has happened already. */
	attr.max_wr = 64;
	attr.srq_limit = 50;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
	assert_int_equal(ibv_get_async_event(lo->context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(event.element.srq, srq);
	ibv_ack_async_event(&event);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* ---- XRC ---- */

static void bring_xrc(struct lo_device *lo, struct ibv_qp *qp, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = lo_attr(lo, dest_qpn);

	attr.qp_state = IBV_QPS_INIT;
	assert_int_equal(ibv_modify_qp(qp, &attr, LO_INIT_MASK), 0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp, &attr, LO_RTR_MASK), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, LO_RTS_MASK), 0);
}

static void xrc_message_and_shared_target(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_xrcd_init_attr xrcd_attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(lo->context, &xrcd_attr);
	struct ibv_srq_init_attr_ex srq_attr = {
		.attr = {.max_wr = 4, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = lo->pd,
		.xrcd = xrcd,
		.cq = lo->cq,
	};
	struct ibv_qp_init_attr_ex tgt_attr = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd};
	struct ibv_qp_open_attr open_attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.xrcd = xrcd,
		.qp_type = IBV_QPT_XRC_RECV};
	struct ibv_srq *srq = ibv_create_srq_ex(lo->context, &srq_attr);
	struct ibv_qp *tgt, *ini, *again;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp_ex *ex;
	struct ibv_wc wc;
	uint32_t number;

	assert_non_null(xrcd);
	assert_non_null(srq);
	assert_int_equal(ibv_get_srq_num(srq, &number), 0);
	tgt = ibv_create_qp_ex(lo->context, &tgt_attr);
	assert_non_null(tgt);
	ini = make_qp_ex(lo, IBV_QPT_XRC_SEND, IBV_QP_EX_WITH_SEND);
	bring_xrc(lo, ini, tgt->qp_num);
	bring_xrc(lo, tgt, ini->qp_num);
	post_srq(lo, srq, 9);
	ex = ibv_qp_to_qp_ex(ini);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_xrc_srqn(ex, number);
	ibv_wr_set_sge(ex, lo->mr->lkey, (uintptr_t)lo->mem, 10);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wc = received(lo);
	assert_int_equal(wc.wr_id, 9);
	assert_int_equal(wc.qp_num, tgt->qp_num);

	open_attr.qp_num = ini->qp_num;
	assert_null(ibv_open_qp(lo->context, &open_attr));
	assert_int_equal(errno, EINVAL);
	open_attr.qp_num = tgt->qp_num;
	again = ibv_open_qp(lo->context, &open_attr);
	assert_non_null(again);
	assert_int_equal(ibv_destroy_qp(tgt), 0); /* the other handle keeps it */
	assert_int_equal(ibv_query_qp(again, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(ibv_close_xrcd(xrcd), EBUSY);
	assert_int_equal(ibv_destroy_qp(again), 0);
	assert_null(ibv_open_qp(lo->context, &open_attr));
	assert_int_equal(ibv_destroy_qp(ini), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ud_answers_over_ipv4),
		cmocka_unit_test(ud_answers_over_ipv6),
		cmocka_unit_test(ud_without_an_address_handle_is_refused),
		cmocka_unit_test(builder_sends_datagrams),
		cmocka_unit_test(multicast_group_of_the_loopback),
		cmocka_unit_test(srq_life),
		cmocka_unit_test(xrc_message_and_shared_target),
	};

	lo_enter_namespace();
	return cmocka_run_group_tests(tests, lo_set_up, lo_tear_down);
}
