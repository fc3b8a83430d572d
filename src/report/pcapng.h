/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captures as pcapng: one section, an interface for each port, packets with nanoseconds, direction
 * and, where somebody has one, a comment that analysers show beside the packet ("dropped: buffer
 * full"). Written straight to the file; errors are the stream's (ferror).
 */
#ifndef ROCE_REPORT_PCAPNG_H
#define ROCE_REPORT_PCAPNG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum roce_pcapng_direction {
	ROCE_PCAPNG_UNKNOWN = 0,
	ROCE_PCAPNG_INBOUND = 1,
	ROCE_PCAPNG_OUTBOUND = 2,
};

/* `application` wrote it. Interfaces follow, numbered from 0, each before its first packet. */
void roce_pcapng_begin(FILE *out, const char *application);

/* An Ethernet interface; `bits_per_s` 0: not known. */
void roce_pcapng_interface(FILE *out, const char *name, uint64_t bits_per_s);

struct roce_pcapng_packet {
	uint32_t interface;
	uint64_t time_ns;
	const void *bytes; /* from the destination MAC, without FCS */
	uint32_t length;   /* bytes that are here */
	uint32_t original; /* and on the wire, at least `length` */
	enum roce_pcapng_direction direction;
	const char *comment; /* or NULL */
};

void roce_pcapng_write(FILE *out, const struct roce_pcapng_packet *packet);

#endif
