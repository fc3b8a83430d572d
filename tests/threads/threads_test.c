/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything at once on one device: four threads post on queue pairs of their own that share one
 * completion queue, two poll it, one sleeps on a channel for the receives, one waits for
 * asynchronous events, and two make and end contexts, regions, queues and queue pairs and ask what
 * can be asked. Every request must end once, in order, with the right bytes; under ThreadSanitizer
 * nothing may race. Usage: threads_test [REQUESTS_OF_EACH_PAIR]
 *
 * A thread may not fail with cmocka's means, since those leave by longjmp: hence require().
 */
#include "lo_device.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define PAIRS	      4u
#define POLLERS	      2u
#define CHURNERS      2u
#define DEPTH	      8u
#define MESSAGE_BYTES 96u
#define PAIR_BYTES    8192u
#define KINDS	      4u
#define TIMEOUT_CODE  18 /* 1 s: a loaded machine may starve us */

/* Where things lie in the memory of a pair; a slot of MESSAGE_BYTES for each request under way. */
#define SOURCE_AT  0u
#define TARGET_AT  1024u
#define SINK_AT	   2048u
#define LANDING_AT 3072u
#define WORD_AT	   4096u

struct pair {
	struct ibv_qp *asking;
	struct ibv_qp *answering;
	unsigned char *mem;
	uint32_t number;
	atomic_uint ended;
	uint32_t received; /* by the receiver only */
};

static struct lo_device lo;
static struct ibv_cq *recv_cq;
static struct pair pairs[PAIRS];
static uint32_t request_count = 400;
static atomic_bool is_over;

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	_exit(1);
}

static unsigned char *slot_of(const struct pair *p, uint32_t at, uint32_t n)
{
	return p->mem + at + n % DEPTH * MESSAGE_BYTES;
}

/* What request `n` carries. */
static void fill(unsigned char *to, const struct pair *p, uint32_t n)
{
	for (uint32_t i = 0; i < MESSAGE_BYTES; i++)
		to[i] = (unsigned char)(n * 7 + p->number * 31 + i);
}

static bool is_filled(const unsigned char *bytes, const struct pair *p, uint32_t n)
{
	unsigned char expected[MESSAGE_BYTES];

	fill(expected, p, n);
	return memcmp(bytes, expected, MESSAGE_BYTES) == 0;
}

/* ---- posting ---- */

static enum ibv_wr_opcode opcode_of(uint32_t n)
{
	static const enum ibv_wr_opcode kinds[KINDS] = {IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
							IBV_WR_ATOMIC_FETCH_AND_ADD,
							IBV_WR_RDMA_READ};

	return kinds[n % KINDS];
}

static void post(struct pair *p, uint32_t n)
{
	enum ibv_wr_opcode opcode = opcode_of(n);
	bool is_fetch = opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct ibv_sge sge = {
		.addr = (uintptr_t)slot_of(p, is_fetch ? SINK_AT : SOURCE_AT, n),
		.length = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : MESSAGE_BYTES,
		.lkey = lo.mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = n, .sg_list = &sge, .num_sge = 1, .opcode = opcode, .imm_data = htonl(n)};
	struct ibv_send_wr *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)(p->mem + WORD_AT);
		wr.wr.atomic.rkey = lo.mr->rkey;
		wr.wr.atomic.compare_add = 3;
	} else {
		/* a READ fetches what the WRITE of two requests before it has put there */
		wr.wr.rdma.remote_addr =
			(uintptr_t)slot_of(p, TARGET_AT, opcode == IBV_WR_RDMA_READ ? n - 2 : n);
		wr.wr.rdma.rkey = lo.mr->rkey;
	}
	if (!is_fetch)
		fill(slot_of(p, SOURCE_AT, n), p, n);
	require(ibv_post_send(p->asking, &wr, &bad) == 0, "a request is taken");
}

/* The results of requests that have ended, before their slots are used again. */
static void check_results(const struct pair *p, uint32_t from, uint32_t to)
{
	for (uint32_t n = from; n != to; n++) {
		uint64_t orig;

		if (opcode_of(n) == IBV_WR_RDMA_READ) {
			require(is_filled(slot_of(p, SINK_AT, n), p, n - 2),
				"a READ fetches what was written");
		} else if (opcode_of(n) == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			memcpy(&orig, slot_of(p, SINK_AT, n), sizeof(orig));
			require(orig == n / KINDS * 3, "atomics are executed once, in order");
		}
	}
}

static void *run_poster(void *arg)
{
	struct pair *p = arg;

	for (uint32_t n = 0; n < request_count; n += DEPTH) {
		for (uint32_t i = 0; i < DEPTH; i++)
			post(p, n + i);
		while (atomic_load(&p->ended) != n + DEPTH)
			sched_yield();
		check_results(p, n, n + DEPTH);
	}
	return NULL;
}

/* ---- completions ---- */

static struct pair *pair_of(uint32_t qp_num)
{
	for (uint32_t i = 0; i < PAIRS; i++)
		if (pairs[i].asking->qp_num == qp_num || pairs[i].answering->qp_num == qp_num)
			return &pairs[i];
	require(false, "a completion is of a queue pair that is there");
	return NULL;
}

static uint32_t sum_ended(void)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < PAIRS; i++)
		sum += atomic_load(&pairs[i].ended);
	return sum;
}

static void *run_poller(void *arg)
{
	struct ibv_wc wc[3];

	(void)arg;
	while (sum_ended() != PAIRS * request_count) {
		int n = ibv_poll_cq(lo.cq, 3, wc);

		require(n >= 0, "polling works");
		for (int i = 0; i < n; i++) {
			require(wc[i].status == IBV_WC_SUCCESS, "every request succeeds");
			atomic_fetch_add(&pair_of(wc[i].qp_num)->ended, 1);
		}
	}
	return NULL;
}

static void post_recv(struct pair *p, uint32_t n)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)slot_of(p, LANDING_AT, n),
		.length = MESSAGE_BYTES,
		.lkey = lo.mr->lkey,
	};
	struct ibv_recv_wr wr = {.wr_id = n, .sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	require(ibv_post_recv(p->answering, &wr, &bad) == 0, "a receive is taken");
}

static void on_received(const struct ibv_wc *wc)
{
	struct pair *p = pair_of(wc->qp_num);
	uint32_t n = p->received++;

	require(wc->status == IBV_WC_SUCCESS && wc->wr_id == n, "receives end in order");
	require(ntohl(wc->imm_data) == n * KINDS, "messages come in order");
	require(is_filled(slot_of(p, LANDING_AT, n), p, n * KINDS), "a message has its bytes");
	post_recv(p, n + DEPTH);
}

/* Sleeps for every event, as a server does. Events of the churners' queues come here too. */
static void *run_receiver(void *arg)
{
	uint32_t left = PAIRS * request_count / KINDS;

	(void)arg;
	while (left) {
		struct ibv_cq *cq;
		void *context;
		struct ibv_wc wc;
		int n;

		require(ibv_get_cq_event(lo.channel, &cq, &context) == 0, "an event comes");
		ibv_ack_cq_events(cq, 1);
		if (context != &recv_cq)
			continue;
		require(ibv_req_notify_cq(recv_cq, 0) == 0, "arming works");
		while ((n = ibv_poll_cq(recv_cq, 1, &wc)) > 0) {
			on_received(&wc);
			left--;
		}
		require(n == 0, "polling works");
	}
	return NULL;
}

static void *run_async(void *arg)
{
	struct pollfd fd = {.fd = lo.context->async_fd, .events = POLLIN};
	struct ibv_async_event event;

	(void)arg;
	while (!atomic_load(&is_over)) {
		if (poll(&fd, 1, 20) == 1 && ibv_get_async_event(lo.context, &event) == 0)
			ibv_ack_async_event(&event);
	}
	return NULL;
}

/* ---- making and ending ---- */

static struct ibv_qp *make_qp(struct ibv_cq *send_cq, struct ibv_cq *receive_cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = send_cq,
		.recv_cq = receive_cq,
		.cap = {.max_send_wr = DEPTH,
			.max_recv_wr = DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_qp *qp = ibv_create_qp(lo.pd, &attr);

	require(qp != NULL, "a queue pair is made");
	return qp;
}

static void bring_up(struct ibv_qp *qp, uint32_t dest_qpn, const struct ibv_qp_attr *base)
{
	struct ibv_qp_attr attr = *base;

	attr.dest_qp_num = dest_qpn;
	attr.timeout = TIMEOUT_CODE;
	attr.qp_state = IBV_QPS_INIT;
	require(ibv_modify_qp(qp, &attr, LO_INIT_MASK) == 0, "RESET to INIT");
	attr.qp_state = IBV_QPS_RTR;
	require(ibv_modify_qp(qp, &attr, LO_RTR_MASK) == 0, "INIT to RTR");
	attr.qp_state = IBV_QPS_RTS;
	require(ibv_modify_qp(qp, &attr, LO_RTS_MASK) == 0, "RTR to RTS");
}

/* A queue pair that lives for a moment: its receive is flushed, which makes an event. */
static void live_and_die(const struct ibv_qp_attr *base)
{
	struct ibv_cq *cq = ibv_create_cq(lo.context, 4, NULL, lo.channel, 0);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp_init_attr init;
	struct ibv_recv_wr wr = {.wr_id = 1};
	struct ibv_recv_wr *bad;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	require(cq != NULL && ibv_req_notify_cq(cq, 0) == 0, "a queue is made and armed");
	qp = make_qp(cq, cq);
	bring_up(qp, pairs[0].answering->qp_num, base);
	require(ibv_post_recv(qp, &wr, &bad) == 0, "a receive is taken");
	require(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0, "to ERR");
	require(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0 && attr.qp_state == IBV_QPS_ERR,
		"it is in ERR");
	require(ibv_poll_cq(cq, 1, &wc) == 1 && wc.status == IBV_WC_WR_FLUSH_ERR,
		"the receive was flushed");
	require(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0, "both end");
}

static void open_again(void)
{
	int count;
	struct ibv_device **list = ibv_get_device_list(&count);
	struct ibv_context *context;

	require(list && count == 1, "the device is listed");
	context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	require(context && ibv_close_device(context) == 0, "the device opens once more");
}

static void *run_churner(void *arg)
{
	const struct ibv_qp_attr *base = arg;
	static unsigned char own[4096];

	while (!atomic_load(&is_over)) {
		struct ibv_mr *mr = ibv_reg_mr(lo.pd, own, sizeof(own), IBV_ACCESS_LOCAL_WRITE);
		struct ibv_pd *pd = ibv_alloc_pd(lo.context);
		struct ibv_device_attr device;
		struct ibv_port_attr port;
		union ibv_gid gid;

		require(mr != NULL && pd != NULL, "a region and a domain are made");
		live_and_die(base);
		open_again();
		require(ibv_query_device(lo.context, &device) == 0 &&
				ibv_query_port(lo.context, 1, &port) == 0 &&
				ibv_query_gid(lo.context, 1, 0, &gid) == 0,
			"the device answers");
		require(ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(pd) == 0, "both end");
		sched_yield();
	}
	return NULL;
}

/* ---- the test ---- */

static void start_pairs(const struct ibv_qp_attr *base)
{
	recv_cq = ibv_create_cq(lo.context, PAIRS * DEPTH * 2, &recv_cq, lo.channel, 0);
	assert_non_null(recv_cq);
	for (uint32_t i = 0; i < PAIRS; i++) {
		struct pair *p = &pairs[i];

		p->number = i;
		p->mem = lo.mem + i * PAIR_BYTES;
		p->asking = make_qp(lo.cq, recv_cq);
		p->answering = make_qp(lo.cq, recv_cq);
		bring_up(p->answering, p->asking->qp_num, base);
		for (uint32_t n = 0; n < DEPTH; n++)
			post_recv(p, n);
		bring_up(p->asking, p->answering->qp_num, base);
	}
	assert_int_equal(ibv_req_notify_cq(recv_cq, 0), 0);
}

static void stop_pairs(void)
{
	for (uint32_t i = 0; i < PAIRS; i++) {
		uint64_t word;

		memcpy(&word, pairs[i].mem + WORD_AT, sizeof(word));
		assert_int_equal(word, request_count / KINDS * 3);
		assert_int_equal(pairs[i].received, request_count / KINDS);
		assert_int_equal(ibv_destroy_qp(pairs[i].asking), 0);
		assert_int_equal(ibv_destroy_qp(pairs[i].answering), 0);
	}
	assert_int_equal(ibv_destroy_cq(recv_cq), 0);
}

static void threads__all_at_once(void **state)
{
	pthread_t workers[PAIRS + POLLERS];
	pthread_t receiver;
	pthread_t async;
	pthread_t churners[CHURNERS];
	struct ibv_qp_attr base;

	(void)state;
	lo_open(&lo);
	base = lo_attr(&lo, 0);
	assert_int_equal(fcntl(lo.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	start_pairs(&base);
	assert_int_equal(pthread_create(&receiver, NULL, run_receiver, NULL), 0);
	assert_int_equal(pthread_create(&async, NULL, run_async, NULL), 0);
	for (uint32_t i = 0; i < CHURNERS; i++)
		assert_int_equal(pthread_create(&churners[i], NULL, run_churner, &base), 0);
	for (uint32_t i = 0; i < PAIRS; i++)
		assert_int_equal(pthread_create(&workers[i], NULL, run_poster, &pairs[i]), 0);
	for (uint32_t i = 0; i < POLLERS; i++)
		assert_int_equal(pthread_create(&workers[PAIRS + i], NULL, run_poller, NULL), 0);
	for (uint32_t i = 0; i < PAIRS + POLLERS; i++)
		assert_int_equal(pthread_join(workers[i], NULL), 0);
	atomic_store(&is_over, true);
	for (uint32_t i = 0; i < CHURNERS; i++)
		assert_int_equal(pthread_join(churners[i], NULL), 0);
	assert_int_equal(pthread_join(receiver, NULL), 0);
	assert_int_equal(pthread_join(async, NULL), 0);
	stop_pairs();
	lo_close(&lo);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(threads__all_at_once)};

	if (argc > 1)
		request_count = (uint32_t)strtoul(argv[1], NULL, 10) / DEPTH * DEPTH;
	lo_enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
