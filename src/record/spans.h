/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When ports were paused or stormed: spans with a beginning and an end, for timelines and for who
 * stood still longest. Beyond ROCE_SPANS_MAX they are added up only.
 */
#ifndef ROCE_RECORD_SPANS_H
#define ROCE_RECORD_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_SPANS_MAX	 100000u
#define ROCE_SPANS_OPEN	 UINT64_MAX
#define ROCE_SPANS_PRIOS 8u

enum roce_span_kind {
	ROCE_SPAN_PAUSED,
	ROCE_SPAN_STORMED,
	ROCE_SPAN_KIND_COUNT,
};

struct roce_span {
	uint64_t from_ps;
	uint64_t to_ps; /* ROCE_SPANS_OPEN: it has not ended */
	uint32_t port;	/* index of all ports */
	uint8_t prio;
	uint8_t kind; /* enum roce_span_kind */
};

struct roce_span_lane {
	uint64_t since_ps; /* ROCE_SPANS_OPEN: not now */
	uint64_t total_ps; /* of spans that have ended */
	uint32_t count;
	uint32_t open_at; /* index into `spans` of the one that is open; UINT32_MAX: not kept */
};

struct roce_spans {
	struct roce_span *spans;
	uint32_t count;
	uint32_t capacity;
	uint64_t left_out;
	struct roce_span_lane *lanes; /* port, priority, kind */
	uint32_t port_count;
	bool is_out_of_memory;
};

/* -ENOMEM. */
int roce_spans_init(struct roce_spans *s, uint32_t port_count);
void roce_spans_fini(struct roce_spans *s);

void roce_spans_mark(struct roce_spans *s, enum roce_span_kind kind, uint32_t port, uint32_t prio,
		     bool is_on, uint64_t now_ps);

const struct roce_span_lane *roce_spans_lane(const struct roce_spans *s, enum roce_span_kind kind,
					     uint32_t port, uint32_t prio);
/* Of a lane, what is open counted up to `now_ps`. */
uint64_t roce_spans_total_ps(const struct roce_span_lane *lane, uint64_t now_ps);

#endif
