/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rsockets through <rdma/rsocket.h>, both ends in this process, over lo in a namespace of its own
 * with a daemon of its own: bytes in both directions at once, the ends of streams, mappings,
 * datagrams, and what calls answer when they cannot.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/prng.h"

#define SKIP	       77
#define STREAM_BYTES   (3u << 20)
#define CONNECTIONS    40
#define DATAGRAMS      200
#define DATAGRAM_BYTES 1000
#define WAIT_MS	       20000
#define CROSSINGS      40
#define CROSSING_BYTES 100000
#define SHORT_LIVED    8 /* threads */
#define SHORT_LIVES    10
#define WAITING_MAX    256 /* of the library */
#define WAITING_MANY   300
#define CHILDREN       20
#define STRANGERS      4200

static uint16_t next_port = 7000;

static void enter_namespace(void)
{
	struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK};
	int fd;

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET)) {
		puts("no network namespace may be made here");
		exit(SKIP);
	}
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr)) {
		puts("lo cannot be brought up here");
		exit(SKIP);
	}
	close(fd);
}

static struct sockaddr_in local(uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons(port),
				    .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static int listen_at(uint16_t port, int buffer)
{
	struct sockaddr_in address = local(port);
	int slots = 4, fd = rsocket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	if (buffer) {
		assert_int_equal(rsetsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer)),
				 0);
		assert_int_equal(rsetsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer)),
				 0);
	}
	assert_int_equal(rsetsockopt(fd, SOL_RDMA, RDMA_IOMAPSIZE, &slots, sizeof(slots)), 0);
	assert_int_equal(rbind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(rlisten(fd, 0), 0);
	return fd;
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in address = local(port);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(rconnect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Both ends of a connection. */
struct ends {
	int listener;
	int a; /* connected */
	int b; /* accepted */
};

static struct ends make_ends(int buffer)
{
	uint16_t port = next_port++;
	struct ends e = {.listener = listen_at(port, buffer)};

	e.a = connect_to(port);
	e.b = raccept(e.listener, NULL, NULL);
	assert_true(e.b >= 0);
	return e;
}

static void close_ends(struct ends *e)
{
	if (e->a >= 0)
		assert_int_equal(rclose(e->a), 0);
	if (e->b >= 0)
		assert_int_equal(rclose(e->b), 0);
	assert_int_equal(rclose(e->listener), 0);
}

/* ---- streams ---- */

struct flow {
	int fd;
	uint64_t seed;
	size_t bytes;
	bool is_right;
};

/* The i-th byte of a flow. */
static uint8_t byte_of(uint64_t seed, size_t i)
{
	return (uint8_t)((i * 2654435761u + seed) >> 7);
}

static void *send_flow(void *argument)
{
	struct flow *f = argument;
	struct roce_prng sizes;
	uint8_t buffer[70000];

	sizes = (struct roce_prng){f->seed};
	f->is_right = true;
	for (size_t done = 0; done < f->bytes;) {
		size_t bytes = 1 + roce_prng_below(&sizes, sizeof(buffer));
		ssize_t sent;

		if (bytes > f->bytes - done)
			bytes = f->bytes - done;
		for (size_t i = 0; i < bytes; i++)
			buffer[i] = byte_of(f->seed, done + i);
		sent = rsend(f->fd, buffer, bytes, 0);
		if (sent != (ssize_t)bytes) {
			f->is_right = false;
			break;
		}
		done += bytes;
	}
	return NULL;
}

static void *receive_flow(void *argument)
{
	struct flow *f = argument;
	struct roce_prng sizes;
	uint8_t buffer[50000];

	sizes = (struct roce_prng){~f->seed};
	f->is_right = true;
	for (size_t done = 0; done < f->bytes && f->is_right;) {
		size_t room = 1 + roce_prng_below(&sizes, sizeof(buffer));
		ssize_t got = rrecv(f->fd, buffer, room, 0);

		if (got <= 0)
			f->is_right = false;
		for (ssize_t i = 0; i < got; i++)
			f->is_right &= buffer[i] == byte_of(f->seed, done + (size_t)i);
		done += got > 0 ? (size_t)got : 0;
	}
	return NULL;
}

static void run_both_ways(int buffer, uint64_t seed)
{
	struct ends e = make_ends(buffer);
	struct flow flows[4] = {
		{.fd = e.a, .seed = seed, .bytes = STREAM_BYTES},
		{.fd = e.b, .seed = seed, .bytes = STREAM_BYTES},
		{.fd = e.b, .seed = seed + 1, .bytes = STREAM_BYTES},
		{.fd = e.a, .seed = seed + 1, .bytes = STREAM_BYTES},
	};
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, i % 2 ? receive_flow : send_flow,
						&flows[i]),
				 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		if (!flows[i].is_right)
			printf("flow %d with seed %llu is wrong\n", i,
			       (unsigned long long)flows[i].seed);
		assert_true(flows[i].is_right);
	}
	close_ends(&e);
}

static void stream__both_ways_at_once(void **state)
{
	(void)state;
	run_both_ways(0, 1);
}

/* Halves of 2000 bytes: some thousand of them, each published while the other is filled. */
static void stream__small_rings(void **state)
{
	(void)state;
	run_both_ways(2000, 2);
}

static void stream__peek_waitall_dontwait(void **state)
{
	struct ends e = make_ends(0);
	char buffer[16];

	(void)state;
	assert_int_equal(rrecv(e.b, buffer, 8, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(rsend(e.a, "abcd", 4, 0), 4);
	assert_int_equal(rsend(e.a, "efgh", 4, 0), 4);
	assert_int_equal(rrecv(e.b, buffer, 2, MSG_PEEK), 2);
	assert_memory_equal(buffer, "ab", 2);
	assert_int_equal(rrecv(e.b, buffer, 8, MSG_WAITALL), 8);
	assert_memory_equal(buffer, "abcdefgh", 8);
	close_ends(&e);
}

/* All that was sent before the end is read, then the end; the other way stays open. */
static void stream__shutdown_of_one_way(void **state)
{
	struct ends e = make_ends(0);
	struct pollfd fd = {.fd = e.b, .events = POLLIN};
	char buffer[8];

	(void)state;
	assert_int_equal(rsend(e.a, "last", 4, 0), 4);
	assert_int_equal(rshutdown(e.a, SHUT_WR), 0);
	assert_int_equal(rsend(e.a, "x", 1, 0), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(rpoll(&fd, 1, WAIT_MS), 1);
	assert_int_equal(rrecv(e.b, buffer, sizeof(buffer), 0), 4);
	assert_int_equal(rrecv(e.b, buffer, sizeof(buffer), 0), 0);
	assert_int_equal(rsend(e.b, "back", 4, 0), 4);
	assert_int_equal(rrecv(e.a, buffer, sizeof(buffer), 0), 4);
	assert_memory_equal(buffer, "back", 4);
	close_ends(&e);
}

static void stream__data_outlives_its_sender(void **state)
{
	struct ends e = make_ends(0);
	struct pollfd fd = {.fd = e.b, .events = POLLIN};
	char buffer[8];

	(void)state;
	assert_int_equal(rsend(e.a, "bye", 3, 0), 3);
	assert_int_equal(rclose(e.a), 0);
	e.a = -1;
	assert_int_equal(rpoll(&fd, 1, WAIT_MS), 1);
	assert_int_equal(rrecv(e.b, buffer, sizeof(buffer), 0), 3);
	assert_int_equal(rrecv(e.b, buffer, sizeof(buffer), 0), 0);
	assert_int_equal(rpoll(&fd, 1, WAIT_MS), 1);
	assert_true(fd.revents & POLLHUP);
	assert_int_equal(rsend(e.b, "x", 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	close_ends(&e);
}

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
	assert_true(end.tv_sec - begin.tv_sec < 15);
	close_ends(&e);
}

/* Whatever its parent's threads hold at that moment, a forked child can close what it has got, and
 * the connection goes on. */
static void stream__closed_in_children(void **state)
{
	struct ends e = make_ends(0);
	struct flow flows[2] = {{.fd = e.a, .seed = 5, .bytes = 4 * STREAM_BYTES},
				{.fd = e.b, .seed = 5, .bytes = 4 * STREAM_BYTES}};
	pthread_t threads[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, i ? receive_flow : send_flow, &flows[i]);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (!pid) {
			alarm(WAIT_MS / 2000);
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
	uint16_t port = next_port++;
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

/* More than may wait: the rest is answered when there is room. */
static void listen__more_than_may_wait(void **state)
{
	static int fds[WAITING_MANY];
	uint16_t port = next_port++;
	struct sockaddr_in address = local(port);
	int listener = listen_at(port, 2000), buffer = 2000, queue = 16, ready = 0;

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
	sleep(3);
	for (int i = 0; i < WAITING_MANY; i++) {
		struct pollfd fd = {.fd = fds[i], .events = POLLOUT};

		ready += rpoll(&fd, 1, 0) == 1 && fd.revents == POLLOUT;
	}
	assert_in_range(ready, 1, WAITING_MAX);
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

/* A signal in the middle of rconnect(): it goes on, and rpoll() says when it is done. */
static void connect__is_interrupted(void **state)
{
	uint16_t port = next_port++;
	struct sockaddr_in address = local(port);
	struct sigaction action = {.sa_handler = on_alarm};
	struct itimerval soon = {.it_value = {.tv_usec = 500000}};
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *silent; /* listens, and never answers */
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);
	struct pollfd waiting = {.fd = fd, .events = POLLOUT};

	(void)state;
	assert_int_equal(rdma_create_id(channel, &silent, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(silent, (struct sockaddr *)&address), 0);
	assert_int_equal(rdma_listen(silent, 1), 0);
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	assert_int_equal(rconnect(fd, (struct sockaddr *)&address, sizeof(address)), -1);
	assert_int_equal(errno, EINTR);
	assert_int_equal(rpoll(&waiting, 1, 0), 0);
	assert_int_equal(rdma_destroy_id(silent), 0); /* refuses what it did not take */
	assert_int_equal(rpoll(&waiting, 1, WAIT_MS), 1);
	assert_true(waiting.revents & POLLERR);
	assert_int_equal(rclose(fd), 0);
	rdma_destroy_event_channel(channel);
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

static void connect__nobody_listens(void **state)
{
	struct sockaddr_in address = local(next_port++);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0), error;
	socklen_t length = sizeof(error);

	(void)state;
	assert_int_equal(rconnect(fd, (struct sockaddr *)&address, sizeof(address)), -1);
	assert_int_equal(errno, ECONNREFUSED);
	assert_int_equal(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length), 0);
	assert_int_equal(error, ECONNREFUSED);
	assert_int_equal(rconnect(fd, (struct sockaddr *)&address, sizeof(address)), -1);
	assert_int_equal(errno, ENOTCONN);
	assert_int_equal(rsend(fd, "x", 1, 0), -1);
	assert_int_equal(errno, ENOTCONN);
	assert_int_equal(rclose(fd), 0);
}

static void connect__nonblocking(void **state)
{
	uint16_t port = next_port++;
	struct sockaddr_in address = local(port);
	int listener = listen_at(port, 0), fd = rsocket(AF_INET, SOCK_STREAM, 0), child, error = -1;
	struct pollfd fds[2] = {{.fd = fd, .events = POLLOUT}, {.fd = listener, .events = POLLIN}};
	socklen_t length = sizeof(error);

	(void)state;
	assert_int_equal(rfcntl(listener, F_SETFL, (long)O_NONBLOCK), 0);
	assert_int_equal(raccept(listener, NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(rfcntl(fd, F_SETFL, (long)O_NONBLOCK), 0);
	assert_int_equal(rconnect(fd, (struct sockaddr *)&address, sizeof(address)), -1);
	assert_int_equal(errno, EINPROGRESS);
	assert_int_equal(rpoll(&fds[0], 1, WAIT_MS), 1);
	assert_int_equal(fds[0].revents, POLLOUT);
	assert_int_equal(rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length), 0);
	assert_int_equal(error, 0);
	assert_int_equal(rpoll(&fds[1], 1, WAIT_MS), 1);
	assert_int_equal(fds[1].revents, POLLIN);
	child = raccept(listener, NULL, NULL);
	assert_true(child >= 0);
	assert_int_equal(rclose(child), 0);
	assert_int_equal(rclose(fd), 0);
	assert_int_equal(rclose(listener), 0);
}

static void connect__many(void **state)
{
	uint16_t port = next_port++;
	int listener = listen_at(port, 0), a[CONNECTIONS], b[CONNECTIONS];
	struct sockaddr_in name;
	socklen_t length = sizeof(name);

	(void)state;
	for (int i = 0; i < CONNECTIONS; i++)
		a[i] = connect_to(port);
	for (int i = 0; i < CONNECTIONS; i++) {
		b[i] = raccept(listener, (struct sockaddr *)&name, &length);
		assert_true(b[i] >= 0);
		assert_int_equal(name.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	}
	for (int i = 0; i < CONNECTIONS; i++)
		assert_int_equal(rsend(a[i], &i, sizeof(i), 0), sizeof(i));
	for (int i = 0; i < CONNECTIONS; i++) {
		int got = -1;

		assert_int_equal(rrecv(b[i], &got, sizeof(got), MSG_WAITALL), sizeof(got));
		assert_true(got >= 0 && got < CONNECTIONS);
		assert_int_equal(rclose(b[i]), 0);
		assert_int_equal(rclose(a[i]), 0);
	}
	assert_int_equal(rclose(listener), 0);
}

/* Connections that nobody accepted go with their listener. */
static void listen__closed_with_connections(void **state)
{
	uint16_t port = next_port++;
	int listener = listen_at(port, 0), fd = connect_to(port);
	char byte;

	(void)state;
	assert_int_equal(rclose(listener), 0);
	assert_int_equal(rrecv(fd, &byte, 1, 0), 0);
	assert_int_equal(rclose(fd), 0);
}

/* ---- mappings ---- */

static void mapping__is_written_to(void **state)
{
	static uint8_t window[4096], data[3000];
	struct ends e = make_ends(0);
	char byte = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = byte_of(9, i);
	/* The listener offers slots, so what connects may map its own memory into them. */
	assert_int_equal(riomap(e.a, window, sizeof(window), PROT_WRITE, 0, 5000), 5000);
	assert_int_equal(rsend(e.a, "m", 1, 0), 1);
	assert_int_equal(rrecv(e.b, &byte, 1, 0), 1);
	assert_int_equal(riowrite(e.b, data, sizeof(data), 5100, 0), sizeof(data));
	assert_int_equal(rsend(e.b, "d", 1, 0), 1);
	assert_int_equal(rrecv(e.a, &byte, 1, 0), 1);
	assert_memory_equal(window + 100, data, sizeof(data));
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(window[i], 0);
	assert_int_equal(riowrite(e.b, data, 1, 4999, 0), 0);
	assert_int_equal(riounmap(e.a, window, 10), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(riounmap(e.a, window, sizeof(window)), 0);
	/* What accepted was offered none. */
	assert_int_equal(riomap(e.b, window, sizeof(window), PROT_WRITE, 0, -1), -1);
	assert_int_equal(errno, ENOMEM);
	close_ends(&e);
}

/* ---- datagrams ---- */

static void datagram__there_and_back(void **state)
{
	struct sockaddr_in address = local(next_port++), from;
	int server = rsocket(AF_INET, SOCK_DGRAM, 0), client = rsocket(AF_INET, SOCK_DGRAM, 0);
	uint8_t out[DATAGRAM_BYTES], in[DATAGRAM_BYTES + 1];
	socklen_t length;

	(void)state;
	assert_int_equal(rbind(server, (struct sockaddr *)&address, sizeof(address)), 0);
	for (int i = 0; i < DATAGRAMS; i++) {
		struct pollfd fd = {.fd = server, .events = POLLIN};
		ssize_t bytes = 1 + i * 5 % DATAGRAM_BYTES;

		for (ssize_t k = 0; k < bytes; k++)
			out[k] = byte_of((uint64_t)i, (size_t)k);
		assert_int_equal(rsendto(client, out, (size_t)bytes, 0, (struct sockaddr *)&address,
					 sizeof(address)),
				 bytes);
		assert_int_equal(rpoll(&fd, 1, WAIT_MS), 1);
		length = sizeof(from);
		assert_int_equal(
			rrecvfrom(server, in, sizeof(in), 0, (struct sockaddr *)&from, &length),
			bytes);
		assert_memory_equal(in, out, (size_t)bytes);
		assert_int_equal(
			rsendto(server, in, (size_t)bytes, 0, (struct sockaddr *)&from, length),
			bytes);
		fd.fd = client;
		assert_int_equal(rpoll(&fd, 1, WAIT_MS), 1);
		assert_int_equal(rrecv(client, in, sizeof(in), 0), bytes);
		assert_memory_equal(in, out, (size_t)bytes);
	}
	assert_int_equal(rclose(client), 0);
	assert_int_equal(rclose(server), 0);
}

/* A plain UDP packet that says it is a datagram rsocket's; true when it was answered. */
static bool is_stranger_answered(int server, const struct sockaddr_in *to, uint32_t from)
{
	static const uint8_t packet[16] = {0x55, 0x55, 0x55, 0x55, 4, 0, 16, 0, 0, 0, 0x12, 0x34};
	struct sockaddr_in source = {.sin_family = AF_INET, .sin_addr = {htonl(from)}};
	struct pollfd fd = {.fd = socket(AF_INET, SOCK_DGRAM, 0), .events = POLLIN};
	uint8_t bytes[32];
	bool result;

	assert_true(fd.fd >= 0);
	assert_int_equal(bind(fd.fd, (struct sockaddr *)&source, sizeof(source)), 0);
	assert_int_equal(
		sendto(fd.fd, packet, sizeof(packet), 0, (const struct sockaddr *)to, sizeof(*to)),
		sizeof(packet));
	result = poll(&fd, 1, WAIT_MS) == 1;
	close(fd.fd);
	while (rrecv(server, bytes, sizeof(bytes), MSG_DONTWAIT) >= 0)
		;
	return result;
}

/* Whoever sends from many addresses keeps nobody else out. */
static void datagram__strangers_lock_nobody_out(void **state)
{
	struct sockaddr_in address = local(next_port++);
	int server = rsocket(AF_INET, SOCK_DGRAM, 0), client = rsocket(AF_INET, SOCK_DGRAM, 0);
	struct pollfd fd = {.fd = server, .events = POLLIN};
	char byte = 0;

	(void)state;
	assert_int_equal(rbind(server, (struct sockaddr *)&address, sizeof(address)), 0);
	for (uint32_t i = 0; i < STRANGERS; i++)
		assert_true(is_stranger_answered(server, &address, 0x7f010001 + i));
	assert_int_equal(rsendto(client, "c", 1, 0, (struct sockaddr *)&address, sizeof(address)),
			 1);
	assert_int_equal(rpoll(&fd, 1, WAIT_MS), 1);
	assert_int_equal(rrecv(server, &byte, 1, 0), 1);
	assert_int_equal(byte, 'c');
	assert_int_equal(rclose(client), 0);
	assert_int_equal(rclose(server), 0);
}

/* What names its destination goes there, also from a socket that is connected to another. */
static void datagram__elsewhere_than_connected(void **state)
{
	struct sockaddr_in address[2] = {local(next_port++), local(next_port++)};
	int servers[2], client = rsocket(AF_INET, SOCK_DGRAM, 0);
	struct pollfd fd = {.events = POLLIN};
	char byte = 0;

	(void)state;
	for (int i = 0; i < 2; i++) {
		servers[i] = rsocket(AF_INET, SOCK_DGRAM, 0);
		assert_int_equal(
			rbind(servers[i], (struct sockaddr *)&address[i], sizeof(address[i])), 0);
	}
	assert_int_equal(rconnect(client, (struct sockaddr *)&address[0], sizeof(address[0])), 0);
	assert_int_equal(
		rsendto(client, "e", 1, 0, (struct sockaddr *)&address[1], sizeof(address[1])), 1);
	fd.fd = servers[1];
	assert_int_equal(rpoll(&fd, 1, WAIT_MS), 1);
	assert_int_equal(rrecv(servers[1], &byte, 1, 0), 1);
	assert_int_equal(byte, 'e');
	assert_int_equal(rclose(client), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rclose(servers[i]), 0);
}

static void datagram__too_long(void **state)
{
	struct sockaddr_in address = local(next_port++);
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);
	static uint8_t data[4096];

	(void)state;
	assert_int_equal(
		rsendto(fd, data, sizeof(data), 0, (struct sockaddr *)&address, sizeof(address)),
		-1);
	assert_int_equal(errno, EMSGSIZE);
	assert_int_equal(rsend(fd, data, 1, 0), -1);
	assert_int_equal(errno, EDESTADDRREQ);
	assert_int_equal(rclose(fd), 0);
}

/* ---- calls ---- */

static void calls__that_cannot_be(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(rsocket(AF_UNIX, SOCK_STREAM, 0), -1);
	assert_int_equal(errno, ENOTSUP);
	assert_int_equal(rsocket(AF_INET, SOCK_RAW, 0), -1);
	assert_int_equal(errno, ENOTSUP);
	assert_int_equal(rsend(0, "x", 1, 0), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(rclose(0), EBADF);
	fd = rsocket(AF_INET6, SOCK_STREAM, IPPROTO_TCP);
	assert_true(fd >= 0);
	assert_int_equal(rsend(fd, "x", 1, 0), -1);
	assert_int_equal(errno, ENOTCONN);
	assert_int_equal(rlisten(fd, 1), 0);
	assert_int_equal(rlisten(fd, 1), 0);
	assert_int_equal(rclose(fd), 0);
}

static void options__are_kept(void **state)
{
	static const struct {
		int level, name, set, get;
	} rows[] = {
		{SOL_SOCKET, SO_RCVBUF, 50000, 100000}, {SOL_SOCKET, SO_SNDBUF, 60000, 120000},
		{SOL_SOCKET, SO_REUSEADDR, 1, 1},	{SOL_SOCKET, SO_KEEPALIVE, 1, 1},
		{IPPROTO_TCP, TCP_NODELAY, 1, 1},	{IPPROTO_TCP, TCP_KEEPIDLE, 77, 77},
		{SOL_RDMA, RDMA_SQSIZE, 100, 100},	{SOL_RDMA, RDMA_RQSIZE, 8, 16},
		{SOL_RDMA, RDMA_INLINE, 32, 32},	{SOL_RDMA, RDMA_IOMAPSIZE, 200, 128},
	};
	int fd = rsocket(AF_INET, SOCK_STREAM, 0), value;
	socklen_t length = sizeof(value);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(
			rsetsockopt(fd, rows[i].level, rows[i].name, &rows[i].set, sizeof(int)), 0);
		assert_int_equal(rgetsockopt(fd, rows[i].level, rows[i].name, &value, &length), 0);
		assert_int_equal(value, rows[i].get);
	}
	assert_int_equal(rgetsockopt(fd, IPPROTO_TCP, 9999, &value, &length), -1);
	assert_int_equal(errno, ENOTSUP);
	assert_int_equal(rclose(fd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream__both_ways_at_once),
		cmocka_unit_test(stream__small_rings),
		cmocka_unit_test(stream__peek_waitall_dontwait),
		cmocka_unit_test(stream__shutdown_of_one_way),
		cmocka_unit_test(stream__data_outlives_its_sender),
		cmocka_unit_test(stream__shutdown_crosses),
		cmocka_unit_test(stream__short_lives),
		cmocka_unit_test(stream__closed_in_children),
		cmocka_unit_test(stream__close_is_patient_but_not_for_ever),
		cmocka_unit_test(select__for_weeks),
		cmocka_unit_test(listen__more_than_may_wait),
		cmocka_unit_test(connect__is_interrupted),
		cmocka_unit_test(connect__nobody_listens),
		cmocka_unit_test(connect__nonblocking),
		cmocka_unit_test(connect__many),
		cmocka_unit_test(listen__closed_with_connections),
		cmocka_unit_test(mapping__is_written_to),
		cmocka_unit_test(datagram__there_and_back),
		cmocka_unit_test(datagram__strangers_lock_nobody_out),
		cmocka_unit_test(datagram__elsewhere_than_connected),
		cmocka_unit_test(datagram__too_long),
		cmocka_unit_test(calls__that_cannot_be),
		cmocka_unit_test(options__are_kept),
	};

	enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
