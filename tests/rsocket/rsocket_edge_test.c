/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams in bad moments: ends that cross, come at once or never, a peer that sleeps, a listener
 * that nobody serves, signals, forked children.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/asleep.h"
#include "sockets.h"

#define CROSSINGS      40
#define CROSSING_BYTES 100000
#define CHILDREN       20
#define CHILD_BYTES    (12u << 20) /* the parent's, meanwhile */
#define SHORT_LIVED    8	   /* threads */
#define SHORT_LIVES    10
#define WAITING_MAX    256 /* of the library */
#define WAITING_MANY   300

static void *say_one_last_byte(void *argument)
{
	const struct flow *f = argument;

	usleep((useconds_t)f->seed);
	assert_int_equal(rsend(f->fd, "l", 1, 0), 1);
	assert_int_equal(rshutdown(f->fd, SHUT_WR), 0);
	return NULL;
}

/* Both say their last at once: what the longer one has posted arrives, though by then the other's
 * end is there. */
static void stream__shutdown_crosses(void **state)
{
	static uint8_t sent[CROSSING_BYTES], got[CROSSING_BYTES];

	(void)state;
	for (unsigned round = 0; round < CROSSINGS; round++) {
		struct ends e = make_ends(0);
		struct flow shorter = {.fd = e.a, .seed = round * 10};
		pthread_t thread;

		for (size_t i = 0; i < sizeof(sent); i++)
			sent[i] = byte_of(round, i);
		assert_int_equal(pthread_create(&thread, NULL, say_one_last_byte, &shorter), 0);
		assert_int_equal(rsend(e.b, sent, sizeof(sent), 0), sizeof(sent));
		assert_int_equal(rshutdown(e.b, SHUT_WR), 0);
		pthread_join(thread, NULL);
		assert_int_equal(rrecv(e.a, got, sizeof(got), MSG_WAITALL), sizeof(got));
		assert_memory_equal(got, sent, sizeof(sent));
		assert_int_equal(rrecv(e.a, got, sizeof(got), 0), 0);
		assert_int_equal(rrecv(e.b, got, sizeof(got), MSG_WAITALL), 1);
		close_ends(&e);
	}
}

/* A peer whose program does nothing any more: its receive queue is full, so the notice of the end
 * is answered "not ready" for ever. */
static void stream__close_is_patient_but_not_for_ever(void **state)
{
	struct linger linger = {.l_onoff = 1, .l_linger = 1};
	struct ends e = make_ends(0);
	struct timespec begin, end;
	int sent = 0;

	(void)state;
	while (rsend(e.a, "x", 1, MSG_DONTWAIT) == 1)
		sent++;
	assert_int_equal(errno, EAGAIN);
	assert_true(sent > 100);
	assert_int_equal(rsetsockopt(e.a, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	assert_int_equal(rclose(e.a), 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	e.a = -1;
	assert_true(end.tv_sec - begin.tv_sec < 50); /* without SO_LINGER it is a minute */
	close_ends(&e);
}

/* Whatever its parent's threads hold at that moment, a forked child can close what it has got, and
 * the connection goes on. */
static void stream__closed_in_children(void **state)
{
	struct ends e = make_ends(0);
	struct flow flows[2] = {{.fd = e.a, .seed = 5, .bytes = CHILD_BYTES},
				{.fd = e.b, .seed = 5, .bytes = CHILD_BYTES}};
	pthread_t threads[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, i ? receive_flow : send_flow, &flows[i]);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (!pid) {
			alarm(WAIT_MS / 1000);
			_exit(rclose(e.a) || rclose(e.b) || rclose(e.listener));
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		assert_true(flows[i].is_right);
	}
	close_ends(&e);
}

static void *live_shortly(void *argument)
{
	for (int i = 0; i < SHORT_LIVES; i++) {
		int fd = connect_to((uint16_t)(uintptr_t)argument);

		assert_int_equal(rsend(fd, "s", 1, 0), 1);
		assert_int_equal(rclose(fd), 0);
	}
	return NULL;
}

/* What a client sends before it closes is read, though the listener's side is so busy with others
 * that it hears of the end together with the begin. */
static void stream__short_lives(void **state)
{
	uint16_t port = next_port();
	int listener = listen_at(port, 0);
	pthread_t threads[SHORT_LIVED];
	char byte;

	(void)state;
	for (int i = 0; i < SHORT_LIVED; i++)
		pthread_create(&threads[i], NULL, live_shortly, (void *)(uintptr_t)port);
	for (int i = 0; i < SHORT_LIVED * SHORT_LIVES; i++) {
		struct pollfd waiting = {.fd = listener, .events = POLLIN};
		int fd;

		assert_int_equal(rpoll(&waiting, 1, WAIT_MS), 1);
		fd = raccept(listener, NULL, NULL);
		assert_true(fd >= 0);
		assert_int_equal(rrecv(fd, &byte, 1, 0), 1);
		assert_int_equal(rrecv(fd, &byte, 1, 0), 0);
		assert_int_equal(rclose(fd), 0);
	}
	for (int i = 0; i < SHORT_LIVED; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(rclose(listener), 0);
}

static void on_alarm(int signal)
{
	(void)signal;
}

static int count_ready(const int *fds)
{
	int ready = 0;

	for (int i = 0; i < WAITING_MANY; i++) {
		struct pollfd fd = {.fd = fds[i], .events = POLLOUT};

		ready += rpoll(&fd, 1, 0) == 1 && fd.revents == POLLOUT;
	}
	return ready;
}

/* More than may wait: the rest is answered when there is room. */
static void listen__more_than_may_wait(void **state)
{
	static int fds[WAITING_MANY];
	uint16_t port = next_port();
	struct sockaddr_in address = local(port);
	int listener = listen_at(port, 2000), buffer = 2000, queue = 16;

	(void)state;
	for (int i = 0; i < WAITING_MANY; i++) {
		fds[i] = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		assert_true(fds[i] >= 0);
		rsetsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
		rsetsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
		rsetsockopt(fds[i], SOL_RDMA, RDMA_SQSIZE, &queue, sizeof(queue));
		rsetsockopt(fds[i], SOL_RDMA, RDMA_RQSIZE, &queue, sizeof(queue));
		assert_int_equal(rconnect(fds[i], (struct sockaddr *)&address, sizeof(address)),
				 -1);
		assert_int_equal(errno, EINPROGRESS);
	}
	for (int i = 0; i < WAIT_MS && count_ready(fds) == 0; i++)
		usleep(1000);
	sleep(3); /* time for more than may be */
	assert_in_range(count_ready(fds), 1, WAITING_MAX);
	for (int i = 0; i < WAITING_MANY; i++) {
		struct pollfd waiting = {.fd = listener, .events = POLLIN};
		int child;

		assert_int_equal(rpoll(&waiting, 1, WAIT_MS), 1);
		child = raccept(listener, NULL, NULL);
		assert_true(child >= 0);
		assert_int_equal(rclose(child), 0);
	}
	for (int i = 0; i < WAITING_MANY; i++)
		assert_int_equal(rclose(fds[i]), 0);
	assert_int_equal(rclose(listener), 0);
}

/* A listener that never answers; what it did not take is refused when it goes. */
static struct rdma_cm_id *listen_silently(struct sockaddr_in *address)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(id, (struct sockaddr *)address), 0);
	assert_int_equal(rdma_listen(id, 1), 0);
	return id;
}

static void close_silent(struct rdma_cm_id *id)
{
	struct rdma_event_channel *channel = id->channel;

	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

struct closing {
	struct rdma_cm_id *id;
	_Atomic pid_t waiting; /* thread that is to wait for it then */
	struct timespec closed;
};

static void *close_under_way(void *argument)
{
	struct closing *c = argument;

	(void)asleep_await(&c->waiting);
	clock_gettime(CLOCK_MONOTONIC, &c->closed);
	close_silent(c->id);
	return NULL;
}

static int connect_until_signal(struct sockaddr_in *address)
{
	struct sigaction action = {.sa_handler = on_alarm};
	/* Again and again: the first one may come before the wait has begun. */
	struct itimerval soon = {.it_value = {.tv_usec = 500000},
				 .it_interval = {.tv_usec = 500000}};
	struct itimerval never = {.it_value = {.tv_sec = 0}};
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	assert_int_equal(rconnect(fd, (struct sockaddr *)address, sizeof(*address)), -1);
	assert_int_equal(errno, EINTR);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	return fd;
}

/* A signal in the middle of rconnect(): it goes on, and rpoll() says when it is done. */
static void connect__is_interrupted(void **state)
{
	struct sockaddr_in address = local(next_port());
	struct rdma_cm_id *silent = listen_silently(&address);
	struct pollfd waiting = {.fd = connect_until_signal(&address), .events = POLLOUT};

	(void)state;
	assert_int_equal(rpoll(&waiting, 1, 0), 0);
	close_silent(silent);
	assert_int_equal(rpoll(&waiting, 1, WAIT_MS), 1);
	assert_true(waiting.revents & POLLERR);
	assert_int_equal(rclose(waiting.fd), 0);
}

/* ... or another rconnect(). The seconds until it has heard of the refusal. */
static time_t connect_again(void)
{
	struct sockaddr_in address = local(next_port());
	struct closing closing = {.id = listen_silently(&address)};
	int fd = connect_until_signal(&address);
	struct timespec end;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, close_under_way, &closing), 0);
	closing.waiting = gettid();
	assert_int_equal(rconnect(fd, (struct sockaddr *)&address, sizeof(address)), -1);
	assert_int_equal(errno, ECONNREFUSED);
	clock_gettime(CLOCK_MONOTONIC, &end);
	pthread_join(thread, NULL);
	assert_int_equal(rclose(fd), 0);
	return end.tv_sec - closing.closed.tv_sec;
}

/* It hears at once, and not when it looks by itself, which it does each five seconds. A machine
 * that stands still may make one of them late. */
static void connect__is_called_again(void **state)
{
	time_t least = connect_again();

	(void)state;
	for (int i = 0; i < 4 && least >= 4; i++)
		least = connect_again();
	assert_true(least < 4);
}

static void *send_late(void *argument)
{
	usleep(300000);
	assert_int_equal(rsend(*(int *)argument, "l", 1, 0), 1);
	return NULL;
}

/* A time that poll() cannot say is long: in 32 bits this one is 4 ms. */
static void select__for_weeks(void **state)
{
	struct ends e = make_ends(0);
	struct timeval weeks = {.tv_sec = 4294967, .tv_usec = 300000};
	pthread_t thread;
	fd_set set;

	(void)state;
	FD_ZERO(&set);
	FD_SET(e.b, &set);
	assert_int_equal(pthread_create(&thread, NULL, send_late, &e.a), 0);
	assert_int_equal(rselect(e.b + 1, &set, NULL, NULL, &weeks), 1);
	assert_true(FD_ISSET(e.b, &set));
	pthread_join(thread, NULL);
	close_ends(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream__shutdown_crosses),
		cmocka_unit_test(stream__close_is_patient_but_not_for_ever),
		cmocka_unit_test(stream__closed_in_children),
		cmocka_unit_test(stream__short_lives),
		cmocka_unit_test(listen__more_than_may_wait),
		cmocka_unit_test(connect__is_interrupted),
		cmocka_unit_test(connect__is_called_again),
		cmocka_unit_test(select__for_weeks),
	};

	enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
