/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the bare UDP programs share: both ends' addresses from the command line, a bound socket, a
 * clock. Errors end the program; nothing here is ours but in name, and nothing is measured here.
 */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <argp.h>
#include <netinet/in.h>
#include <stdint.h>

#define FLOOR_PORT 4790

struct floor_ends {
	const char *serve; /* the receiver's local address; NULL: send */
	const char *from;
	const char *to;
};

/* For `children` of a program's parser, whose parse function sets child_inputs[0] to its
 * struct floor_ends at ARGP_KEY_INIT. */
extern const struct argp floor_ends_parser;

_Noreturn void floor_fail(const char *what);
double floor_read_clock(void); /* seconds */
struct sockaddr_in floor_address_of(const char *text, uint16_t port);
/* Bound to the address; port 0 for any. */
int floor_open_socket(const char *local, uint16_t port);

#endif
