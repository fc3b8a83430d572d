/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a simulated run leaves behind: a log in words, captures of ports, how queues, rates and
 * pauses went over time, and the page that shows them. It is an observer of the fabric
 * (fabric/observer.h) and looks at the ports between slices of the run.
 *
 *   create -> make the fabric with roce_record_observer() -> begin -> run the fabric from one
 *   roce_record_next_stop() to the next, roce_record_look() each time -> end -> page, destroy
 *
 * Memory is bounded whatever the length of the run: series become coarser, and beyond a limit
 * pauses and log lines are counted only, which the page and the log say.
 */
#ifndef ROCE_RECORD_RECORD_H
#define ROCE_RECORD_RECORD_H

#include "fabric/fabric.h"
#include "record/rates.h"

#include <stdio.h>

struct roce_record;

struct roce_record_port {
	uint32_t node;
	uint32_t port;
};

struct roce_record_config {
	FILE *log;     /* NULL: none. Owned by the caller, as `capture` is */
	FILE *capture; /* NULL: none. pcapng, one interface for each of capture_ports */
	const struct roce_record_port *capture_ports; /* must outlive the record */
	uint32_t capture_port_count;
	FILE *samples;	     /* NULL: none. CSV (record/samples.h) */
	FILE *counters;	     /* NULL: none. CSV (record/history.h) */
	uint32_t rate_count; /* queue pairs whose allowed rates are kept (record/rates.h) */
	bool has_series;     /* sample all ports */
	uint64_t sample_ps;  /* at first, for series; 0: the record chooses */
};

/* -ENOMEM. */
int roce_record_create(const struct roce_record_config *cfg, struct roce_record **out);
void roce_record_destroy(struct roce_record *r); /* NULL is fine */

/* For the fabric's configuration, with the record as its ctx; only what is needed is watched. */
const struct roce_fabric_observer *roce_record_observer(const struct roce_record *r);

/* The fabric is prepared. `names` has one for each node and outlives the record. -ENOMEM. */
int roce_record_begin(struct roce_record *r, struct roce_fabric *f, const char *const *names);

/* When the run has to come back for roce_record_look(); ROCE_FABRIC_NEVER: it need not. */
uint64_t roce_record_next_stop(const struct roce_record *r);
/* Samples the ports, if it is time. */
void roce_record_look(struct roce_record *r);
/* The run has ended: the log gets its counts. */
void roce_record_end(struct roce_record *r, enum roce_fabric_end end);

/* From begin to destroy. */
const struct roce_rates *roce_record_rates(const struct roce_record *r);

struct roce_record_page {
	const char *title;
	const char *subtitle;
	const char *footer;
	/* What flows with a tag are called ("storage reads"); NULL: all are "flows". */
	const char *(*tag_name)(void *ctx, uint64_t tag);
	/* Are they requests, told of by the latency of their answers? NULL: none are. */
	bool (*is_tag_requests)(void *ctx, uint64_t tag);
	void *tag_ctx;
};

/* The run as one HTML page. Errors are the stream's. */
void roce_record_write_page(struct roce_record *r, const struct roce_record_page *page, FILE *out);

#endif
