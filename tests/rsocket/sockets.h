/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of rsockets have in common: a namespace, connections in it, bytes that one end can
 * tell from any others. Calls assert that they succeed. */
#ifndef TESTS_RSOCKET_SOCKETS_H
#define TESTS_RSOCKET_SOCKETS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAIT_MS 60000 /* for what must come */

/* Of this process alone, with lo. Ends the test as skipped where that may not be. */
void enter_namespace(void);
/* Each time another one. */
uint16_t next_port(void);
struct sockaddr_in local(uint16_t port);

/* buffer: of each direction, 0 as it is. */
int listen_at(uint16_t port, int buffer);
int connect_to(uint16_t port);

/* Both ends of a connection. */
struct ends {
	int listener;
	int a; /* connected */
	int b; /* accepted */
};

struct ends make_ends(int buffer);
/* Ends that are -1 are closed already. */
void close_ends(struct ends *e);

struct flow {
	int fd;
	uint64_t seed;
	size_t bytes;
	bool is_right;
};

/* The i-th byte of a flow. */
uint8_t byte_of(uint64_t seed, size_t i);
/* For pthread_create(): a struct flow, whose is_right they set. */
void *send_flow(void *argument);
void *receive_flow(void *argument);

#endif
