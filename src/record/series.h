/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How each port went over time: the queue in its egress side and the rate at which it sent, at
 * equal intervals. When the samples are used up, pairs of them become one (the longer queue, the
 * mean rate) and the interval doubles, so that a run of any length fits the same memory.
 */
#ifndef ROCE_RECORD_SERIES_H
#define ROCE_RECORD_SERIES_H

#include <stddef.h>
#include <stdint.h>

#define ROCE_SERIES_SAMPLES_MAX 1024u	     /* of each port; a power of two */
#define ROCE_SERIES_BYTES_MAX	(256u << 20) /* of all; more ports have fewer samples */

struct roce_series_sample {
	uint32_t queue_bytes; /* at the end of the interval, or the longest of those joined */
	float rate_bps;	      /* sent in the interval, wire bytes */
};

struct roce_series {
	struct roce_series_sample *samples; /* [port][sample] */
	uint64_t *last_tx_bytes;	    /* of each port */
	uint32_t port_count;
	uint32_t capacity; /* samples of a port, even */
	uint32_t count;
	uint64_t interval_ps;
	uint64_t from_ps; /* of the first interval */
};

/* -ENOMEM. `interval_ps` above 0. */
int roce_series_init(struct roce_series *s, uint32_t port_count, uint64_t interval_ps,
		     uint64_t from_ps);
void roce_series_fini(struct roce_series *s);

/* When the next sample is due. */
static inline uint64_t roce_series_next_ps(const struct roce_series *s)
{
	return s->from_ps + (s->count + 1) * s->interval_ps;
}

/* Every port once, then roce_series_advance(). */
void roce_series_put(struct roce_series *s, uint32_t port, uint64_t queue_bytes, uint64_t tx_bytes);
void roce_series_advance(struct roce_series *s);

static inline const struct roce_series_sample *roce_series_of(const struct roce_series *s,
							      uint32_t port)
{
	return s->samples + (size_t)port * s->capacity;
}

#endif
