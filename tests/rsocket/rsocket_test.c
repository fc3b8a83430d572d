/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rsockets through <rdma/rsocket.h>, both ends in this process, over lo in a namespace of its own
 * with a daemon of its own: bytes in both directions at once, the ends of streams, mappings,
 * and what calls answer when they cannot.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sockets.h"

#define STREAM_BYTES (3u << 20)
#define CONNECTIONS  40

/* ---- streams ---- */

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

static void connect__nobody_listens(void **state)
{
	struct sockaddr_in address = local(next_port());
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
	uint16_t port = next_port();
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
	uint16_t port = next_port();
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
	uint16_t port = next_port();
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
		cmocka_unit_test(connect__nobody_listens),
		cmocka_unit_test(connect__nonblocking),
		cmocka_unit_test(connect__many),
		cmocka_unit_test(listen__closed_with_connections),
		cmocka_unit_test(mapping__is_written_to),
		cmocka_unit_test(calls__that_cannot_be),
		cmocka_unit_test(options__are_kept),
	};

	enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
