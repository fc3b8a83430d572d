/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports over time as CSV, for whoever makes his own pictures: a row for each port and interval in
 * which it sent, queued or was paused, written as the run goes on, so that its length is no matter.
 *
 *   time_us,node,neighbour,port,queue_bytes,tx_bps,paused_prios
 *
 * Queue and pauses are those at the end of the interval (paused_prios: bit p), the rate its mean in
 * wire bytes.
 */
#ifndef ROCE_RECORD_SAMPLES_H
#define ROCE_RECORD_SAMPLES_H

#include <stdint.h>
#include <stdio.h>

struct roce_record;

struct roce_samples {
	FILE *out; /* NULL: none */
	uint64_t interval_ps;
	uint64_t next_ps;
	uint64_t *last_tx_bytes; /* of each port */
};

/* Writes the first line. -ENOMEM. */
int roce_samples_begin(struct roce_record *r);
void roce_samples_fini(struct roce_samples *s);
/* The time has come. */
void roce_samples_take(struct roce_record *r);

#endif
