/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of ports over time as CSV, by the names that switches and `ethtool -S` give them: a row
 * for each counter that has changed in an interval, with what it was at its end, as whoever polls
 * `ethtool -S` would see it. Behind the last whole interval comes the end of the run.
 *
 *   time_us,node,neighbour,port,counter,value
 */
#ifndef ROCE_RECORD_HISTORY_H
#define ROCE_RECORD_HISTORY_H

#include <stdint.h>
#include <stdio.h>

struct roce_record;

struct roce_history {
	FILE *out; /* NULL: none */
	uint64_t interval_ps;
	uint64_t next_ps;
	uint64_t *last; /* by port: priorities' counters, its own */
};

/* Writes the first line. -ENOMEM. */
int roce_history_begin(struct roce_record *r);
void roce_history_fini(struct roce_history *h);
/* ROCE_FABRIC_NEVER: nothing is wanted. */
uint64_t roce_history_next_ps(const struct roce_history *h);
/* The time has come, or the end. */
void roce_history_take(struct roce_record *r);

#endif
