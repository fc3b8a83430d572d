/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench-wire: nanoseconds per packet of the codec and the ICRC, at 64 bytes and 4 KiB of payload.
 * Each line is the best of several rounds over a working set that fits the first-level cache, so it
 * is the cost of the code, not of memory. Usage: bench-wire [rounds].
 */
#include "wire/headers.h"
#include "wire/icrc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CALLS_PER_ROUND 20000

struct bench {
	struct roce_icrc_flow flow;
	struct roce_icrc_id_state ids;
	struct roce_headers headers;
	uint8_t packet[ROCE_HEADERS_MAX + 4096 + ROCE_ICRC_BYTES];
	size_t len; /* with ICRC */
};

/* Keeps results alive; the compiler must not see through it. */
static volatile uint64_t sink;

static double read_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static uint64_t run_decode(struct bench *b)
{
	struct roce_headers out;
	const uint8_t *payload;
	uint32_t payload_len = 0;
	uint64_t sum = 0;

	for (int i = 0; i < CALLS_PER_ROUND; i++) {
		__asm__ volatile("" ::: "memory");
		sum += roce_headers_decode(b->packet, b->len, &out, &payload, &payload_len);
		sum += out.psn.v + payload_len;
	}
	return sum;
}

static uint64_t run_encode(struct bench *b)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS_PER_ROUND; i++) {
		b->headers.psn = roce_psn_make(i);
		sum += roce_headers_encode(&b->headers, b->packet);
		__asm__ volatile("" ::: "memory");
	}
	return sum;
}

static uint64_t run_compute(struct bench *b)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < CALLS_PER_ROUND; i++)
		sum += roce_icrc_compute(&b->flow, (uint16_t)i, b->packet,
					 b->len - ROCE_ICRC_BYTES);
	return sum;
}

static uint64_t run_check(struct bench *b)
{
	uint64_t sum = 0;

	for (int i = 0; i < CALLS_PER_ROUND; i++)
		sum += roce_icrc_check(&b->flow, &b->ids, 0, b->packet, b->len);
	return sum;
}

static void measure(struct bench *b, const char *what, uint32_t payload_len,
		    uint64_t (*run)(struct bench *), int rounds)
{
	double best = 0;

	for (int i = 0; i < rounds; i++) {
		double start = read_clock_ns();
		double took;

		sink = run(b);
		took = (read_clock_ns() - start) / CALLS_PER_ROUND;
		if (i == 0 || took < best)
			best = took;
	}
	printf("%-34s %5u bytes %8.1f ns/packet\n", what, payload_len, best);
}

/* A WRITE Only with `ip_id`, sealed. */
static void prepare(struct bench *b, bool is_v4, uint16_t ip_id, uint32_t payload_len)
{
	struct roce_gid src = {{0xfd, [15] = 1}};
	struct roce_gid dst = {{0xfd, [15] = 2}};
	size_t header_len;

	if (is_v4) {
		src = (struct roce_gid){{[10] = 0xff, 0xff, 10, 0, 0, 1}};
		dst = (struct roce_gid){{[10] = 0xff, 0xff, 10, 0, 0, 2}};
	}
	memset(b, 0, sizeof(*b));
	roce_icrc_flow_init(&b->flow, &src, &dst, 50000, ROCE_UDP_PORT);
	b->headers.opcode = roce_opcode_make(ROCE_RC_WRITE_ONLY);
	b->headers.pkey = 0xffff;
	b->headers.dest_qpn.v = 0x123456;
	b->headers.dma_len = payload_len;
	header_len = roce_headers_encode(&b->headers, b->packet);
	for (uint32_t i = 0; i < payload_len; i++)
		b->packet[header_len + i] = (uint8_t)(i * 7);
	b->len = header_len + payload_len + ROCE_ICRC_BYTES;
	roce_icrc_put(b->packet + b->len - ROCE_ICRC_BYTES,
		      roce_icrc_compute(&b->flow, ip_id, b->packet, b->len - ROCE_ICRC_BYTES));
}

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = {0, 64, 1024, 4096};
	int rounds = argc > 1 ? atoi(argv[1]) : 20;
	static struct bench b;

	if (rounds < 1) {
		fprintf(stderr, "usage: bench-wire [rounds, at least 1]\n");
		return 2;
	}
	prepare(&b, true, 0, 64);
	measure(&b, "headers_decode WRITE Only", 64, run_decode, rounds);
	measure(&b, "headers_encode WRITE Only", 64, run_encode, rounds);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		prepare(&b, true, 0, sizes[i]);
		measure(&b, "icrc_compute IPv4", sizes[i], run_compute, rounds);
		measure(&b, "icrc_check IPv4, ID guessed", sizes[i], run_check, rounds);
		prepare(&b, true, 77, sizes[i]);
		measure(&b, "icrc_check IPv4, ID solved for", sizes[i], run_check, rounds);
		prepare(&b, false, 0, sizes[i]);
		measure(&b, "icrc_check IPv6", sizes[i], run_check, rounds);
	}
	return 0;
}
