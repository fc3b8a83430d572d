/* SPDX-License-Identifier: BSD-2-Clause */
/* See floor.h. */
#include "floor.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

static const struct argp_option option_list[] = {
	{"serve", 's', "ADDRESS", 0, "be the server, at this local address", 0},
	{"from", 'f', "ADDRESS", 0, "be the client, at this local address", 0},
	{"to", 'c', "ADDRESS", 0, "address of the server", 0},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct floor_ends *ends = state->input;

	switch (key) {
	case 's':
		ends->serve = arg;
		break;
	case 'f':
		ends->from = arg;
		break;
	case 'c':
		ends->to = arg;
		break;
	case ARGP_KEY_END:
		if (!ends->serve && (!ends->from || !ends->to))
			argp_error(state, "give --serve, or --from and --to");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp floor_ends_parser = {.options = option_list, .parser = parse_option};

void floor_fail(const char *what)
{
	perror(what);
	exit(1);
}

double floor_read_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct sockaddr_in floor_address_of(const char *text, uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};

	if (inet_pton(AF_INET, text, &a.sin_addr) != 1) {
		fprintf(stderr, "%s is not an IPv4 address\n", text);
		exit(2);
	}
	return a;
}

int floor_open_socket(const char *local, uint16_t port)
{
	struct sockaddr_in a = floor_address_of(local, port);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		floor_fail(local);
	return fd;
}
