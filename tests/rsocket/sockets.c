/* SPDX-License-Identifier: BSD-2-Clause */
/* See sockets.h. */
#include "sockets.h"

#include <rdma/rsocket.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/prng.h"
#include "harness/loopback.h"

#define SKIP 77

static uint16_t last_port = 7000;

uint16_t next_port(void)
{
	return last_port++;
}

void enter_namespace(void)
{
	if (!loopback_enter()) {
		puts("no network namespace may be made here");
		exit(SKIP);
	}
}

struct sockaddr_in local(uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons(port),
				    .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

int listen_at(uint16_t port, int buffer)
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

int connect_to(uint16_t port)
{
	struct sockaddr_in address = local(port);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(rconnect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

struct ends make_ends(int buffer)
{
	uint16_t port = next_port();
	struct ends e = {.listener = listen_at(port, buffer)};

	e.a = connect_to(port);
	e.b = raccept(e.listener, NULL, NULL);
	assert_true(e.b >= 0);
	return e;
}

void close_ends(struct ends *e)
{
	if (e->a >= 0)
		assert_int_equal(rclose(e->a), 0);
	if (e->b >= 0)
		assert_int_equal(rclose(e->b), 0);
	assert_int_equal(rclose(e->listener), 0);
}

/* ---- bytes ---- */

uint8_t byte_of(uint64_t seed, size_t i)
{
	return (uint8_t)((i * 2654435761u + seed) >> 7);
}

void *send_flow(void *argument)
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

void *receive_flow(void *argument)
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
