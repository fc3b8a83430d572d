/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who may go before whom: an object that another one is made of answers EBUSY until that has gone,
 * and one with events that the program holds in its hand waits until they are acknowledged. Also
 * what a window leaves behind, and that nothing here needs locked memory.
 */
#include "lo_device.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static struct ibv_srq *make_srq(struct lo_device *lo, struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 4, .max_sge = 1}};

	(void)lo;
	return ibv_create_srq(pd, &attr);
}

static struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *send, struct ibv_cq *recv,
			      struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = send,
		.recv_cq = recv,
		.srq = srq,
		.cap = {.max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	assert_non_null(qp);
	return qp;
}

/* ---- EBUSY ---- */

static void dealloc_pd__busy(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_pd *pd = ibv_alloc_pd(lo->context);
	struct ibv_ah_attr ah_attr = lo_ah_attr(lo);
	struct ibv_parent_domain_init_attr parent_attr = {.pd = pd};
	struct ibv_pd *parent;
	struct ibv_qp *qp = make_qp(pd, lo->cq, lo->cq, NULL);
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	struct ibv_srq *srq;
	struct ibv_mw *mw;

	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	mr = ibv_reg_mr(pd, lo->mem, 64, 0);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	ah = ibv_create_ah(pd, &ah_attr);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	srq = make_srq(lo, pd);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	parent = ibv_alloc_parent_domain(lo->context, &parent_attr);
	assert_non_null(parent);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void destroy_cq__busy(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_cq *send = ibv_create_cq(lo->context, 4, NULL, NULL, 0);
	struct ibv_cq *recv = ibv_create_cq(lo->context, 4, NULL, NULL, 0);
	struct ibv_qp *qp = make_qp(lo->pd, send, recv, NULL);

	assert_int_equal(ibv_destroy_cq(send), EBUSY);
	assert_int_equal(ibv_destroy_cq(recv), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(send), 0);
	assert_int_equal(ibv_destroy_cq(recv), 0);
}

static void destroy_comp_channel__busy(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_comp_channel *channel = ibv_create_comp_channel(lo->context);
	struct ibv_cq *cq = ibv_create_cq(lo->context, 4, NULL, channel, 0);

	assert_int_equal(ibv_destroy_comp_channel(channel), EBUSY);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
}

static void destroy_srq__busy(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_srq *srq = make_srq(lo, lo->pd);
	struct ibv_qp *qp = make_qp(lo->pd, lo->cq, lo->cq, srq);

	assert_int_equal(ibv_destroy_srq(srq), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void close_xrcd__busy(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_xrcd_init_attr attr = {.comp_mask =
						  IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					  .fd = -1,
					  .oflags = O_CREAT};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(lo->context, &attr);
	struct ibv_cq *cq = ibv_create_cq(lo->context, 4, NULL, NULL, 0);
	struct ibv_srq_init_attr_ex srq_attr = {
		.attr = {.max_wr = 4, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = lo->pd,
		.xrcd = xrcd,
		.cq = cq,
	};
	struct ibv_qp_init_attr_ex qp_attr = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd};
	struct ibv_srq *srq = ibv_create_srq_ex(lo->context, &srq_attr);
	struct ibv_qp *qp;

	assert_non_null(srq);
	assert_int_equal(ibv_close_xrcd(xrcd), EBUSY);
	assert_int_equal(ibv_destroy_cq(cq), EBUSY);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	qp = ibv_create_qp_ex(lo->context, &qp_attr);
	assert_non_null(qp);
	assert_int_equal(ibv_close_xrcd(xrcd), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
}

static void free_dm_and_dealloc_td__busy(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_alloc_dm_attr attr = {.length = 4096};
	struct ibv_dm *dm = ibv_alloc_dm(lo->context, &attr);
	struct ibv_mr *mr = ibv_reg_dm_mr(lo->pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED);
	struct ibv_td_init_attr td_attr = {0};
	struct ibv_td *td = ibv_alloc_td(lo->context, &td_attr);
	struct ibv_parent_domain_init_attr parent_attr = {.pd = lo->pd, .td = td};
	struct ibv_pd *parent = ibv_alloc_parent_domain(lo->context, &parent_attr);

	assert_non_null(mr);
	assert_int_equal(ibv_free_dm(dm), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_non_null(parent);
	assert_int_equal(ibv_dealloc_td(td), EBUSY);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
}

static void destroy_qp__busy(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_qp_init_attr attr = {.send_cq = lo->cq,
					.recv_cq = lo->cq,
					.cap = {.max_recv_wr = 1, .max_recv_sge = 1},
					.qp_type = IBV_QPT_UD};
	union ibv_gid group = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 239, [15] = 3}};
	struct ibv_qp *qp = ibv_create_qp(lo->pd, &attr);

	assert_int_equal(ibv_attach_mcast(qp, &group, 0), 0);
	assert_int_equal(ibv_destroy_qp(qp), EBUSY);
	assert_int_equal(ibv_detach_mcast(qp, &group, 0), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

/* ---- windows ---- */

struct window {
	struct ibv_qp *a; /* writes */
	struct ibv_qp *b; /* binds */
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	uint32_t rkey;
};

static enum ibv_wc_status status_of(struct lo_device *lo, struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	assert_int_equal(ibv_post_send(qp, wr, &bad), 0);
	assert_true(lo_poll(lo, &wc));
	return wc.status;
}

static enum ibv_wc_status write_by(struct lo_device *lo, struct window *w)
{
	struct ibv_sge sge = {.addr = (uintptr_t)lo->mem, .length = 64, .lkey = lo->mr->lkey};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = {.remote_addr = (uintptr_t)lo->mem + 8192, .rkey = w->rkey}};

	return status_of(lo, w->a, &wr);
}

static void bind_window(struct lo_device *lo, struct window *w)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW};

	w->a = make_qp(lo->pd, lo->cq, lo->cq, NULL);
	w->b = make_qp(lo->pd, lo->cq, lo->cq, NULL);
	assert_int_equal(lo_bring(lo, w->a, w->b->qp_num, IBV_QPS_RTS), 0);
	assert_int_equal(lo_bring(lo, w->b, w->a->qp_num, IBV_QPS_RTS), 0);
	w->mr = ibv_reg_mr(lo->pd, lo->mem + 8192, 4096,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	w->mw = ibv_alloc_mw(lo->pd, IBV_MW_TYPE_2);
	w->rkey = ibv_inc_rkey(w->mw->rkey);
	wr.bind_mw.mw = w->mw;
	wr.bind_mw.rkey = w->rkey;
	wr.bind_mw.bind_info =
		(struct ibv_mw_bind_info){.mr = w->mr,
					  .addr = (uintptr_t)lo->mem + 8192,
					  .length = 4096,
					  .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
	assert_int_equal(status_of(lo, w->b, &wr), IBV_WC_SUCCESS);
	assert_int_equal(write_by(lo, w), IBV_WC_SUCCESS);
}

static void end_window(struct window *w)
{
	assert_int_equal(ibv_destroy_qp(w->a), 0);
	assert_int_equal(ibv_destroy_qp(w->b), 0);
}

static void dereg_mr__case_029(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_send_wr wr = {.opcode = IBV_WR_LOCAL_INV};
	struct window w;

	bind_window(lo, &w);
	assert_int_equal(ibv_dereg_mr(w.mr), EBUSY);
	assert_int_equal(write_by(lo, &w), IBV_WC_SUCCESS); /* the refusal changed nothing */
	wr.invalidate_rkey = w.rkey;
	assert_int_equal(status_of(lo, w.b, &wr), IBV_WC_SUCCESS);
	assert_int_equal(ibv_dereg_mr(w.mr), 0);
	assert_int_equal(ibv_dealloc_mw(w.mw), 0);
	end_window(&w);
}

/* A window that goes while it is bound takes its key along. */
static void dealloc_mw__case_030(void **state)
{
	struct lo_device *lo = *state;
	struct window w;

	bind_window(lo, &w);
	assert_int_equal(ibv_dealloc_mw(w.mw), 0);
	assert_int_equal(write_by(lo, &w), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(w.mr), 0);
	end_window(&w);
}

/* ---- events in the program's hand ---- */

struct ending {
	int (*end)(void *object);
	void *object;
	atomic_int result; /* -1: not yet */
};

static void *run_ending(void *arg)
{
	struct ending *e = arg;

	atomic_store(&e->result, e->end(e->object));
	return NULL;
}

/* The call blocks until `ack` has been called. */
static void ends_after(struct ending *e, void (*ack)(void *), void *event)
{
	pthread_t thread;

	atomic_store(&e->result, -1);
	assert_int_equal(pthread_create(&thread, NULL, run_ending, e), 0);
	usleep(50000);
	assert_int_equal(atomic_load(&e->result), -1);
	ack(event);
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&e->result), 0);
}

static int end_qp(void *object)
{
	return ibv_destroy_qp(object);
}

static int end_cq(void *object)
{
	return ibv_destroy_cq(object);
}

static int end_srq(void *object)
{
	return ibv_destroy_srq(object);
}

static void ack_async(void *event)
{
	ibv_ack_async_event(event);
}

static void ack_cq(void *cq)
{
	ibv_ack_cq_events(cq, 1);
}

static void destroy_qp__waits_for_the_ack(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_srq *srq = make_srq(lo, lo->pd);
	struct ibv_qp *qp = make_qp(lo->pd, lo->cq, lo->cq, srq);
	struct ending e = {.end = end_qp, .object = qp};
	struct ibv_async_event event;

	assert_int_equal(lo_bring(lo, qp, qp->qp_num, IBV_QPS_ERR), 0);
	assert_int_equal(ibv_get_async_event(lo->context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
	assert_ptr_equal(event.element.qp, qp);
	ends_after(&e, ack_async, &event);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void destroy_srq__waits_for_the_ack(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_srq *srq = make_srq(lo, lo->pd);
	struct ibv_srq_attr attr = {.srq_limit = 1};
	struct ending e = {.end = end_srq, .object = srq};
	struct ibv_async_event event;

	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0); /* below it already */
	assert_int_equal(ibv_get_async_event(lo->context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	ends_after(&e, ack_async, &event);
}

/* A queue that is too small for what its queue pair has to say. */
static void destroy_cq__waits_for_the_acks(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_cq *cq = ibv_create_cq(lo->context, 1, NULL, lo->channel, 0);
	struct ibv_qp *qp = make_qp(lo->pd, cq, lo->cq, NULL);
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	struct ending e = {.end = end_cq, .object = cq};
	struct ibv_async_event event;
	struct ibv_async_event of_cq = {.event_type = IBV_EVENT_DEVICE_FATAL};
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct ibv_cq *from;
	void *context;
	int fatal = 0;

	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	assert_int_equal(lo_bring(lo, qp, qp->qp_num, IBV_QPS_ERR), 0);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	assert_int_equal(ibv_get_cq_event(lo->channel, &from, &context), 0);
	assert_ptr_equal(from, cq);
	/* It is full, and one more does not fit. */
	assert_int_equal(
		ibv_modify_qp(qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RESET}, IBV_QP_STATE),
		0);
	assert_int_equal(lo_bring(lo, qp, qp->qp_num, IBV_QPS_RTS), 0);
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	for (int i = 0; i < 2; i++)
		assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	for (int i = 0; i < 2; i++) {
		do {
			assert_int_equal(ibv_get_async_event(lo->context, &event), 0);
			if (event.event_type == IBV_EVENT_COMM_EST)
				ibv_ack_async_event(&event);
		} while (event.event_type == IBV_EVENT_COMM_EST);
		if (event.event_type == IBV_EVENT_CQ_ERR) {
			assert_ptr_equal(event.element.cq, cq);
			of_cq = event;
		} else {
			assert_int_equal(event.event_type, IBV_EVENT_QP_FATAL);
			assert_ptr_equal(event.element.qp, qp);
			ibv_ack_async_event(&event);
			fatal++;
		}
	}
	assert_int_equal(of_cq.event_type, IBV_EVENT_CQ_ERR);
	assert_int_equal(fatal, 1);
	/* What fitted is still there, then nothing but the error. */
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_true(ibv_poll_cq(cq, 1, &wc) < 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	ibv_ack_async_event(&of_cq);
	ends_after(&e, ack_cq, cq);
}

/* ---- locked memory ---- */

/* An ordinary user with the usual limit of 64 KiB. */
static int register_much(void)
{
	const struct rlimit limit = {65536, 65536};
	const size_t gib = (size_t)1 << 30;
	struct lo_device lo;
	struct ibv_mr *mr;
	void *mem;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
	    (geteuid() == 0 && setresuid(1000, 1000, 1000) != 0))
		return 1;
	mem = mmap(NULL, gib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	if (mem == MAP_FAILED)
		return 2;
	lo_open(&lo); /* its completion queue, too */
	mr = ibv_reg_mr(lo.pd, mem, gib, IBV_ACCESS_LOCAL_WRITE);
	if (!mr || ibv_dereg_mr(mr) != 0)
		return 3;
	lo_close(&lo);
	return 0;
}

static void reg_mr__case_042(void **state)
{
	int status = -1;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(register_much());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lo_set_up, lo_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(dealloc_pd__busy),
		TEST(destroy_cq__busy),
		TEST(destroy_comp_channel__busy),
		TEST(destroy_srq__busy),
		TEST(close_xrcd__busy),
		TEST(free_dm_and_dealloc_td__busy),
		TEST(destroy_qp__busy),
		TEST(dereg_mr__case_029),
		TEST(dealloc_mw__case_030),
		TEST(destroy_qp__waits_for_the_ack),
		TEST(destroy_srq__waits_for_the_ack),
		TEST(destroy_cq__waits_for_the_acks),
		cmocka_unit_test(reg_mr__case_042),
	};

	lo_enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
