/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Latency of a bare UDP ping-pong between two polling programs: the floor that a SEND ping-pong is
 * compared with. Messages have the size of a RoCEv2 packet with the payload asked for.
 *
 *     udp-pingpong --serve 10.0.0.2                    (ends by itself after the run)
 *     udp-pingpong --from 10.0.0.1 --to 10.0.0.2 -n 50000
 */
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define PORT		 4790
#define HEADER_BYTES	 16u /* BTH and ICRC */
#define MESSAGE_MAX	 8192u
#define QUIET_END_S	 2.0
#define ANSWER_TIMEOUT_S 1.0

struct options {
	const char *serve;
	const char *from;
	const char *to;
	uint32_t rounds;
	uint32_t bytes;
};

static const struct argp_option option_list[] = {
	{"serve", 's', "ADDRESS", 0, "answer at this local address", 0},
	{"from", 'f', "ADDRESS", 0, "ask from this local address", 0},
	{"to", 'c', "ADDRESS", 0, "ask this address", 0},
	{"rounds", 'n', "COUNT", 0, "round trips (50000)", 0},
	{"bytes", 'b', "COUNT", 0, "payload of a message (64)", 0},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 's':
		o->serve = arg;
		break;
	case 'f':
		o->from = arg;
		break;
	case 'c':
		o->to = arg;
		break;
	case 'n':
		o->rounds = (uint32_t)strtoul(arg, NULL, 0);
		break;
	case 'b':
		o->bytes = (uint32_t)strtoul(arg, NULL, 0);
		break;
	case ARGP_KEY_END:
		if (!o->serve && (!o->from || !o->to))
			argp_error(state, "give --serve, or --from and --to");
		if (o->rounds == 0 || o->bytes > MESSAGE_MAX - HEADER_BYTES)
			argp_error(state, "rounds or bytes out of range");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double read_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct sockaddr_in address_of(const char *text, uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};

	if (inet_pton(AF_INET, text, &a.sin_addr) != 1) {
		fprintf(stderr, "%s is not an IPv4 address\n", text);
		exit(2);
	}
	return a;
}

static int open_socket(const char *local, uint16_t port)
{
	struct sockaddr_in a = address_of(local, port);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		fail(local);
	return fd;
}

/* Polls, never blocks. -1 after `seconds` of silence. */
static ssize_t receive(int fd, uint8_t *bytes, struct sockaddr_in *from, double seconds)
{
	double end = read_clock() + seconds;
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
		if (read_clock() > end)
			return -1;
	}
}

static void serve(const struct options *o)
{
	static uint8_t bytes[MESSAGE_MAX];
	int fd = open_socket(o->serve, PORT);
	double patience = 60;
	struct sockaddr_in from;
	ssize_t got;

	while ((got = receive(fd, bytes, &from, patience)) > 0) {
		patience = QUIET_END_S;
		if (sendto(fd, bytes, (size_t)got, 0, (struct sockaddr *)&from, sizeof(from)) < 0)
			fail("answer");
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
	struct sockaddr_in to = address_of(o->to, PORT);
	int fd = open_socket(o->from, 0);
	double *us = calloc(o->rounds, sizeof(*us));
	struct sockaddr_in from;

	if (!us)
		fail("memory");
	for (uint32_t i = 0; i < o->rounds; i++) {
		double begin = read_clock();

		if (sendto(fd, bytes, o->bytes + HEADER_BYTES, 0, (struct sockaddr *)&to,
			   sizeof(to)) < 0)
			fail("ask");
		if (receive(fd, bytes, &from, ANSWER_TIMEOUT_S) < 0) {
			fprintf(stderr, "no answer from %s\n", o->to);
			exit(1);
		}
		us[i] = (read_clock() - begin) * 1e6 / 2;
	}
	(void)sendto(fd, "", 0, 0, (struct sockaddr *)&to, sizeof(to));
	qsort(us, o->rounds, sizeof(*us), compare);
	printf("udp_pingpong_us p50 %.2f p99 %.2f max %.1f\n", us[o->rounds / 2],
	       us[(size_t)o->rounds * 99 / 100], us[o->rounds - 1]);
	free(us);
}

int main(int argc, char **argv)
{
	static const struct argp parser = {
		option_list, parse_option, NULL, "Bare UDP latency between polling programs.",
		NULL,	     NULL,	   NULL};
	struct options o = {.rounds = 50000, .bytes = 64};

	argp_parse(&parser, argc, argv, 0, NULL, &o);
	if (o.serve)
		serve(&o);
	else
		ask(&o);
	return 0;
}
