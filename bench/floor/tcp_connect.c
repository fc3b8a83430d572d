/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How fast TCP connects and closes, one connection after the other: what connections by rdma_cm are
 * compared with. The client closes first; the server has seen the end before it takes the next.
 *
 *     tcp-connect --serve 10.0.0.2 -n 2000             (ends by itself after so many)
 *     tcp-connect --from 10.0.0.1 --to 10.0.0.2 -n 2000
 */
#include "floor.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 128

struct options {
	struct floor_ends ends;
	uint32_t count;
};

static const struct argp_option option_list[] = {
	{"count", 'n', "COUNT", 0, "connections (2000)", 0},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->ends;
		break;
	case 'n':
		o->count = (uint32_t)strtoul(arg, NULL, 0);
		break;
	case ARGP_KEY_END:
		if (o->count == 0)
			argp_error(state, "no connections");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void wait_for_end(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 0)
		floor_fail("the end of a connection");
	close(fd);
}

static void serve(const struct options *o)
{
	struct sockaddr_in a = floor_address_of(o->ends.serve, FLOOR_PORT);
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, BACKLOG))
		floor_fail("listen");
	for (uint32_t i = 0; i < o->count; i++) {
		int each = accept(fd, NULL, NULL);

		if (each < 0)
			floor_fail("accept");
		wait_for_end(each);
	}
}

static void ask(const struct options *o)
{
	struct sockaddr_in to = floor_address_of(o->ends.to, FLOOR_PORT);
	double begin = floor_read_clock();

	for (uint32_t i = 0; i < o->count; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
			floor_fail("connect");
		shutdown(fd, SHUT_WR);
		wait_for_end(fd);
	}
	printf("tcp_connects_per_s %.0f\n", o->count / (floor_read_clock() - begin));
}

int main(int argc, char **argv)
{
	static const struct argp_child children[] = {{&floor_ends_parser, 0, NULL, 0}, {0}};
	static const struct argp parser = {.options = option_list,
					   .parser = parse_option,
					   .doc = "TCP connections made and closed in a second.",
					   .children = children};
	struct options o = {.count = 2000};

	argp_parse(&parser, argc, argv, 0, NULL, &o);
	if (o.ends.serve)
		serve(&o);
	else
		ask(&o);
	return 0;
}
