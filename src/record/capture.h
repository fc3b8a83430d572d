/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames of chosen ports as a pcapng file, as a mirror port would see them: Ethernet, 802.1Q, IP,
 * UDP, RoCEv2 with a right ICRC, and PFC frames. Payload that exists only as a length is zeros.
 * What a link damaged is there too, as its receiver got and dropped it.
 */
#ifndef ROCE_RECORD_CAPTURE_H
#define ROCE_RECORD_CAPTURE_H

#include "fabric/observer.h"
#include "report/pcapng.h"

#include <stdint.h>
#include <stdio.h>

struct roce_record;

#define ROCE_CAPTURE_NONE UINT32_MAX

struct roce_capture {
	FILE *out;	      /* NULL: none */
	uint32_t *interfaces; /* of each port; ROCE_CAPTURE_NONE: not captured */
};

/* Writes the head of the file. -ENOMEM. */
int roce_capture_begin(struct roce_record *r);
void roce_capture_fini(struct roce_capture *c);

void roce_capture_frame(struct roce_record *r, uint64_t ps, uint32_t node, uint32_t port,
			const struct roce_fabric_frame_view *frame,
			enum roce_pcapng_direction direction);
void roce_capture_pause(struct roce_record *r, uint64_t ps, uint32_t node, uint32_t port,
			uint8_t prios, const uint16_t quanta[8],
			enum roce_pcapng_direction direction);

#endif
