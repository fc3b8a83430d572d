/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that sleep until something happens: no wake-up is lost however often they do so, in
 * threads of their own and in the progress thread; waiting for a peer that is never ready costs no
 * processor; a signal gets through. Usage: abi_waiting [ROUNDS]
 */
#include "lo_device.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define PATIENCE_MS 60000 /* a loaded machine may be late, a lost wake-up never comes */

static unsigned long round_count = 20000;

/* One end of a ping-pong with a queue and a channel of its own. */
struct side {
	struct lo_device *lo;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	unsigned char *mem;
	int solicited_only;
	unsigned long received;
	unsigned long sent_done;
	unsigned long sleeps;
};

static void require(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	_exit(1);
}

static struct ibv_qp *make_qp(struct lo_device *lo, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_qp *qp = ibv_create_qp(lo->pd, &attr);

	assert_non_null(qp);
	return qp;
}

static void open_side(struct side *s, struct lo_device *lo, size_t offset, int solicited_only)
{
	*s = (struct side){.lo = lo, .mem = lo->mem + offset, .solicited_only = solicited_only};
	s->channel = ibv_create_comp_channel(lo->context);
	s->cq = ibv_create_cq(lo->context, 16, s, s->channel, 0);
	s->qp = make_qp(lo, s->cq);
}

static void close_side(struct side *s)
{
	assert_int_equal(ibv_destroy_qp(s->qp), 0);
	assert_int_equal(ibv_destroy_cq(s->cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(s->channel), 0);
}

static void post_recv(struct side *s)
{
	struct ibv_sge sge = {.addr = (uintptr_t)s->mem, .length = 64, .lkey = s->lo->mr->lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;

	require(ibv_post_recv(s->qp, &wr, &bad) == 0, "a receive is taken");
}

static void post_send(struct side *s)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)s->mem + 64, .length = 16, .lkey = s->lo->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = s->solicited_only ? IBV_SEND_SOLICITED : 0};
	struct ibv_send_wr *bad;

	require(ibv_post_send(s->qp, &wr, &bad) == 0, "a send is taken");
}

static void take(struct side *s)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(s->cq, 1, &wc) == 1) {
		require(wc.status == IBV_WC_SUCCESS, "every request succeeds");
		if (wc.opcode == IBV_WC_RECV)
			s->received++;
		else
			s->sent_done++;
	}
}

/* Arm, poll, sleep: until `count` have been received. */
static void wait_for(struct side *s, unsigned long count)
{
	for (;;) {
		struct pollfd fd = {.fd = s->channel->fd, .events = POLLIN};
		struct ibv_cq *cq;
		void *context;

		require(ibv_req_notify_cq(s->cq, s->solicited_only) == 0, "arming works");
		take(s);
		if (s->received >= count)
			return;
		s->sleeps++;
		require(poll(&fd, 1, PATIENCE_MS) == 1, "the wake-up comes");
		require(ibv_get_cq_event(s->channel, &cq, &context) == 0 && cq == s->cq,
			"it is this queue's");
		ibv_ack_cq_events(cq, 1);
	}
}

static void *run_answering(void *arg)
{
	struct side *s = arg;

	for (unsigned long i = 1; i <= round_count; i++) {
		wait_for(s, i);
		post_recv(s);
		post_send(s);
	}
	return NULL;
}

static void ping_pong(struct lo_device *lo, int solicited_only)
{
	struct side a, b;
	pthread_t thread;

	open_side(&a, lo, 0, solicited_only);
	open_side(&b, lo, 4096, solicited_only);
	assert_int_equal(lo_bring(lo, a.qp, b.qp->qp_num, IBV_QPS_RTS), 0);
	assert_int_equal(lo_bring(lo, b.qp, a.qp->qp_num, IBV_QPS_RTS), 0);
	for (int i = 0; i < 2; i++) {
		post_recv(&a);
		post_recv(&b);
	}
	assert_int_equal(pthread_create(&thread, NULL, run_answering, &b), 0);
	for (unsigned long i = 1; i <= round_count; i++) {
		post_send(&a);
		wait_for(&a, i);
		post_recv(&a);
	}
	pthread_join(thread, NULL);
	assert_int_equal(a.received, round_count);
	assert_int_equal(b.received, round_count);
	print_message("%lu rounds, %lu and %lu sleeps\n", round_count, a.sleeps, b.sleeps);
	close_side(&a);
	close_side(&b);
}

static void arm_poll_wait__case_039(void **state)
{
	ping_pong(*state, 0);
}

static void arm_poll_wait__case_039_solicited(void **state)
{
	ping_pong(*state, 1);
}

/* ---- a peer that is never ready ---- */

static uint64_t cpu_us(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

/* rnr_retry 7 towards a receiver that never posts: for ever, but idle; the neighbour on the same
 * queue goes on, and a signal ends the wait. */
static void rnr_retry__case_036(void **state)
{
	struct lo_device *lo = *state;
	struct side a, b;
	struct ibv_qp *stuck, *unready;
	struct ibv_qp_attr attr;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .wr_id = 99};
	struct ibv_send_wr *bad;
	struct sigaction action = {.sa_handler = on_signal};
	/* Again and again: the first one may come before the wait has begun. */
	struct itimerval in_a_second = {.it_value = {.tv_sec = 1}, .it_interval = {.tv_sec = 1}};
	struct itimerval never = {.it_value = {.tv_sec = 0}};
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	uint64_t used;
	struct timespec from, to;
	uint64_t wall_us;

	open_side(&a, lo, 0, 0);
	open_side(&b, lo, 4096, 0);
	stuck = make_qp(lo, a.cq);
	unready = lo_make_qp(lo);
	attr = lo_attr(lo, unready->qp_num);
	assert_int_equal(lo_bring_with(stuck, &attr, IBV_QPS_RTS), 0);
	attr.dest_qp_num = stuck->qp_num;
	attr.min_rnr_timer = 12; /* 0.64 ms, the usual choice */
	assert_int_equal(lo_bring_with(unready, &attr, IBV_QPS_RTS), 0);
	assert_int_equal(ibv_post_send(stuck, &wr, &bad), 0);

	sigaction(SIGALRM, &action, NULL);
	assert_int_equal(ibv_req_notify_cq(a.cq, 0), 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	used = cpu_us();
	setitimer(ITIMER_REAL, &in_a_second, NULL);
	errno = 0;
	assert_int_equal(ibv_get_cq_event(a.channel, &cq, &context), -1);
	assert_int_equal(errno, EINTR);
	assert_int_equal(interrupted, 1);
	setitimer(ITIMER_REAL, &never, NULL);
	used = cpu_us() - used;
	clock_gettime(CLOCK_MONOTONIC, &to);
	wall_us = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000 + (uint64_t)to.tv_nsec / 1000 -
		  (uint64_t)from.tv_nsec / 1000;
	print_message("%lu of %lu us of processor for both ends\n", (unsigned long)used,
		      (unsigned long)wall_us);
	/* One that spins uses all. Alone on a machine it is 1 or 2 % for both ends, which are one
	 * process here; one that is ten times as slow is right, too. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	assert_in_range(used, 0, wall_us / 2);
#endif
	assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 0);

	assert_int_equal(lo_bring(lo, a.qp, b.qp->qp_num, IBV_QPS_RTS), 0);
	assert_int_equal(lo_bring(lo, b.qp, a.qp->qp_num, IBV_QPS_RTS), 0);
	for (unsigned long i = 1; i <= 100; i++) {
		post_recv(&b);
		post_send(&a);
		wait_for(&b, i);
		while (a.sent_done < i)
			take(&a);
	}
	assert_int_equal(ibv_destroy_qp(stuck), 0);
	assert_int_equal(ibv_destroy_qp(unready), 0);
	close_side(&a);
	close_side(&b);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lo_set_up, lo_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(arm_poll_wait__case_039),
		TEST(arm_poll_wait__case_039_solicited),
		TEST(rnr_retry__case_036),
	};

	if (argc > 1)
		round_count = strtoul(argv[1], NULL, 10);
	lo_enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
