/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a bare UDP program reaches one way when it does the same work for each byte as the engine:
 * batches by UDP_SEGMENT and UDP_GRO, a CRC on both sides, the payload staged before it is sent and
 * copied out where it arrives. The bandwidth that ours is compared with.
 *
 *     udp-floor --serve 10.0.0.2                    (ends by itself after the run)
 *     udp-floor --from 10.0.0.1 --to 10.0.0.2 -t 2
 *
 * A window of unacknowledged packets keeps the receiver's socket from overflowing, as in the
 * engine; the receiver acknowledges every receive call.
 */
#include "floor.h"

#include <errno.h>
#include <isa-l/crc.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define PAYLOAD_BYTES  4096u
#define SEGMENT_BYTES  (PAYLOAD_BYTES + 16u)
#define BATCH_PACKETS  15u
#define MEMORY_BYTES   (8u << 20)
#define DATAGRAM_MAX   65536u
#define LOST_AFTER_S   0.05
#define QUIET_END_MS   1500
#define END_MARK_BYTES 1u

struct options {
	struct floor_ends ends;
	double seconds;
	uint32_t window;
};

static const struct argp_option option_list[] = {
	{"seconds", 't', "SECONDS", 0, "length of the run (2)", 0},
	{"window", 'w', "PACKETS", 0, "packets that may be unacknowledged (32)", 0},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->ends;
		break;
	case 't':
		o->seconds = strtod(arg, NULL);
		break;
	case 'w':
		o->window = (uint32_t)strtoul(arg, NULL, 0);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int open_batch_socket(const char *local, uint16_t port)
{
	int fd = floor_open_socket(local, port);
	int probe = IP_PMTUDISC_PROBE;
	int one = 1;

	if (setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof(probe)) < 0 ||
	    setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof(one)) < 0)
		floor_fail("socket options");
	return fd;
}

/* ---- receiver ---- */

static void serve(const struct options *o)
{
	static uint8_t datagram[DATAGRAM_MAX];
	int fd = open_batch_socket(o->ends.serve, FLOOR_PORT);
	uint8_t *memory = malloc(MEMORY_BYTES);
	uint64_t packets = 0, damaged = 0;
	size_t at = 0;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	bool is_started = false;

	if (!memory)
		floor_fail("memory");
	memset(memory, 0, MEMORY_BYTES);
	for (;;) {
		struct sockaddr_in from;
		socklen_t from_bytes = sizeof(from);
		ssize_t got = recvfrom(fd, datagram, sizeof(datagram), MSG_DONTWAIT,
				       (struct sockaddr *)&from, &from_bytes);

		if (got < 0) {
			if (poll(&p, 1, is_started ? QUIET_END_MS : -1) == 0)
				break;
			continue;
		}
		is_started = true;
		if (got == END_MARK_BYTES)
			break;
		for (ssize_t k = 0; k + (ssize_t)SEGMENT_BYTES <= got; k += SEGMENT_BYTES) {
			uint32_t crc = crc32_gzip_refl(0, datagram + k, SEGMENT_BYTES - 4);

			damaged += memcmp(&crc, datagram + k + SEGMENT_BYTES - 4, 4) != 0;
			memcpy(memory + at, datagram + k + 12, PAYLOAD_BYTES);
			at = (at + PAYLOAD_BYTES) % MEMORY_BYTES;
			packets++;
		}
		if (sendto(fd, &packets, sizeof(packets), 0, (struct sockaddr *)&from, from_bytes) <
			    0 &&
		    errno != ECONNREFUSED)
			floor_fail("acknowledge");
	}
	free(memory);
	if (damaged) {
		fprintf(stderr, "%llu packets came damaged\n", (unsigned long long)damaged);
		exit(1);
	}
}

/* ---- sender ---- */

struct sender {
	int fd;
	struct sockaddr_in to;
	const uint8_t *memory;
	size_t at;
	uint64_t sent;
	uint64_t acknowledged;
	uint64_t lost;
	double last_progress;
};

static void send_batch(struct sender *s, uint32_t count)
{
	static uint8_t stage[BATCH_PACKETS * SEGMENT_BYTES];
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(uint16_t))] = {0};
	struct iovec io = {.iov_base = stage, .iov_len = count * SEGMENT_BYTES};
	struct msghdr h = {.msg_name = &s->to,
			   .msg_namelen = sizeof(s->to),
			   .msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);
	uint16_t segment = SEGMENT_BYTES;

	c->cmsg_level = IPPROTO_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(segment));
	memcpy(CMSG_DATA(c), &segment, sizeof(segment));
	for (uint32_t i = 0; i < count; i++) {
		uint8_t *packet = stage + i * SEGMENT_BYTES;
		uint32_t crc;

		memset(packet, (int)i, 12);
		memcpy(packet + 12, s->memory + s->at, PAYLOAD_BYTES);
		s->at = (s->at + PAYLOAD_BYTES) % MEMORY_BYTES;
		crc = crc32_gzip_refl(0, packet, SEGMENT_BYTES - 4);
		memcpy(packet + SEGMENT_BYTES - 4, &crc, 4);
	}
	if (sendmsg(s->fd, &h, 0) > 0)
		s->sent += count;
	else if (errno != ENOBUFS && errno != ECONNREFUSED)
		floor_fail("send");
}

/* The receiver tells its whole count, the latest of a merged batch last. */
static bool take_acknowledgements(struct sender *s)
{
	uint8_t bytes[4096];
	bool any = false;
	ssize_t got;

	while ((got = recv(s->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) >= 8) {
		uint64_t count;

		memcpy(&count, bytes + got - 8, 8);
		if (count + s->lost > s->acknowledged) {
			s->acknowledged = count + s->lost;
			s->last_progress = floor_read_clock();
			any = true;
		}
	}
	return any;
}

static void run_sender(const struct options *o)
{
	struct sender s = {.fd = open_batch_socket(o->ends.from, 0),
			   .to = floor_address_of(o->ends.to, FLOOR_PORT)};
	uint8_t *memory = malloc(MEMORY_BYTES);
	double begin = floor_read_clock();
	double now = begin;

	if (!memory)
		floor_fail("memory");
	memset(memory, 7, MEMORY_BYTES);
	s.memory = memory;
	s.last_progress = begin;
	while (now - begin < o->seconds) {
		uint32_t room = o->window - (uint32_t)(s.sent - s.acknowledged);

		if (room >= BATCH_PACKETS || (room > 0 && room >= o->window / 2))
			send_batch(&s, room < BATCH_PACKETS ? room : BATCH_PACKETS);
		else if (!take_acknowledgements(&s))
			sched_yield();
		now = floor_read_clock();
		if (s.sent > s.acknowledged && now - s.last_progress > LOST_AFTER_S) {
			s.lost += s.sent - s.acknowledged;
			s.acknowledged = s.sent;
			s.last_progress = now;
		}
	}
	(void)sendto(s.fd, "", END_MARK_BYTES, 0, (struct sockaddr *)&s.to, sizeof(s.to));
	printf("udp_floor_gbps %.2f lost_packets %llu\n",
	       (double)(s.acknowledged - s.lost) * PAYLOAD_BYTES * 8 / (now - begin) / 1e9,
	       (unsigned long long)s.lost);
	free(memory);
}

int main(int argc, char **argv)
{
	static const struct argp_child children[] = {{&floor_ends_parser, 0, NULL, 0}, {0}};
	static const struct argp parser = {.options = option_list,
					   .parser = parse_option,
					   .doc = "Bare UDP bandwidth with CRC and copy.",
					   .children = children};
	struct options o = {.seconds = 2, .window = 32};

	argp_parse(&parser, argc, argv, 0, NULL, &o);
	if (o.ends.serve)
		serve(&o);
	else
		run_sender(&o);
	return 0;
}
