/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Latency of a bare UDP ping-pong between two polling programs: the floor that a SEND ping-pong is
 * compared with. Messages have the size of a RoCEv2 packet with the payload asked for.
 *
 *     udp-pingpong --serve 10.0.0.2                    (ends by itself after the run)
 *     udp-pingpong --from 10.0.0.1 --to 10.0.0.2 -n 50000
 */
#include "floor.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define HEADER_BYTES	 16u /* BTH and ICRC */
#define MESSAGE_MAX	 8192u
#define QUIET_END_S	 2.0
#define ANSWER_TIMEOUT_S 1.0

struct options {
	struct floor_ends ends;
	uint32_t rounds;
	uint32_t bytes;
};

static const struct argp_option option_list[] = {
	{"rounds", 'n', "COUNT", 0, "round trips (50000)", 0},
	{"bytes", 'b', "COUNT", 0, "payload of a message (64)", 0},
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
		o->rounds = (uint32_t)strtoul(arg, NULL, 0);
		break;
	case 'b':
		o->bytes = (uint32_t)strtoul(arg, NULL, 0);
		break;
	case ARGP_KEY_END:
		if (o->rounds == 0 || o->bytes > MESSAGE_MAX - HEADER_BYTES)
			argp_error(state, "rounds or bytes out of range");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Polls, never blocks. -1 after `seconds` of silence. */
static ssize_t receive(int fd, uint8_t *bytes, struct sockaddr_in *from, double seconds)
{
	double end = floor_read_clock() + seconds;
	socklen_t from_bytes;
	ssize_t got;

	for (;;) {
		for (int i = 0; i < 1000; i++) {
			from_bytes = sizeof(*from);
			got = recvfrom(fd, bytes, MESSAGE_MAX, MSG_DONTWAIT,
				       (struct sockaddr *)from, &from_bytes);
			if (got >= 0)
				return got;
		}
		if (floor_read_clock() > end)
			return -1;
	}
}

static void serve(const struct options *o)
{
	static uint8_t bytes[MESSAGE_MAX];
	int fd = floor_open_socket(o->ends.serve, FLOOR_PORT);
	double patience = 60;
	struct sockaddr_in from;
	ssize_t got;

	while ((got = receive(fd, bytes, &from, patience)) > 0) {
		patience = QUIET_END_S;
		if (sendto(fd, bytes, (size_t)got, 0, (struct sockaddr *)&from, sizeof(from)) < 0)
			floor_fail("answer");
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void ask(const struct options *o)
{
	static uint8_t bytes[MESSAGE_MAX];
	struct sockaddr_in to = floor_address_of(o->ends.to, FLOOR_PORT);
	int fd = floor_open_socket(o->ends.from, 0);
	double *us = calloc(o->rounds, sizeof(*us));
	struct sockaddr_in from;

	if (!us)
		floor_fail("memory");
	for (uint32_t i = 0; i < o->rounds; i++) {
		double begin = floor_read_clock();

		if (sendto(fd, bytes, o->bytes + HEADER_BYTES, 0, (struct sockaddr *)&to,
			   sizeof(to)) < 0)
			floor_fail("ask");
		if (receive(fd, bytes, &from, ANSWER_TIMEOUT_S) < 0) {
			fprintf(stderr, "no answer from %s\n", o->ends.to);
			exit(1);
		}
		us[i] = (floor_read_clock() - begin) * 1e6 / 2;
	}
	(void)sendto(fd, "", 0, 0, (struct sockaddr *)&to, sizeof(to));
	qsort(us, o->rounds, sizeof(*us), compare);
	printf("udp_pingpong_us p50 %.2f p99 %.2f max %.1f\n", us[o->rounds / 2],
	       us[(size_t)o->rounds * 99 / 100], us[o->rounds - 1]);
	free(us);
}

int main(int argc, char **argv)
{
	static const struct argp_child children[] = {{&floor_ends_parser, 0, NULL, 0}, {0}};
	static const struct argp parser = {.options = option_list,
					   .parser = parse_option,
					   .doc = "Bare UDP latency between polling programs.",
					   .children = children};
	struct options o = {.rounds = 50000, .bytes = 64};

	argp_parse(&parser, argc, argv, 0, NULL, &o);
	if (o.ends.serve)
		serve(&o);
	else
		ask(&o);
	return 0;
}
