/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a local ACK timeout really is. The specification's T is 4.096 us << code, and a device
 * may notice anywhere between T and 4T; devices do differ. A profile makes a queue pair give up
 * when that device would, for programs and watchdogs that were tuned on one. Pure data, by name.
 */
#ifndef ROCE_TRANSPORT_TIMING_H
#define ROCE_TRANSPORT_TIMING_H

#include <stdint.h>

struct roce_timing {
	const char *name;
	uint8_t code_min;  /* smaller codes are taken for this one; 0 stays "never" */
	uint16_t permille; /* of T */
};

/* X(name, code_min, permille)
 * cx6: ConnectX-6, whose 8 timeouts with code 20 were seen to take 59.8 s (the
 * specification's 34.4), and 3.66 s with any code up to 16; one factor describes both within 1.2 %.
 */
#define ROCE_TIMINGS(X)    \
	X("spec", 0, 1000) \
	X("cx6", 16, 1720)

/* NULL if there is none of this name. */
const struct roce_timing *roce_timing_find(const char *name);

#endif
