/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples at intervals that grow; see series.h. */
#include "record/series.h"

#include <errno.h>
#include <stdlib.h>

#define PS_PER_S 1e12

int roce_series_init(struct roce_series *s, uint32_t port_count, uint64_t interval_ps,
		     uint64_t from_ps)
{
	uint32_t capacity = ROCE_SERIES_SAMPLES_MAX;

	while (capacity > 2 &&
	       (size_t)capacity * port_count * sizeof(*s->samples) > ROCE_SERIES_BYTES_MAX)
		capacity /= 2;
	*s = (struct roce_series){.port_count = port_count,
				  .capacity = capacity,
				  .interval_ps = interval_ps,
				  .from_ps = from_ps};
	s->samples = calloc((size_t)capacity * port_count + 1, sizeof(*s->samples));
	s->last_tx_bytes = calloc((size_t)port_count + 1, sizeof(*s->last_tx_bytes));
	if (s->samples && s->last_tx_bytes)
		return 0;
	roce_series_fini(s);
	return -ENOMEM;
}

void roce_series_fini(struct roce_series *s)
{
	free(s->samples);
	free(s->last_tx_bytes);
	*s = (struct roce_series){0};
}

void roce_series_put(struct roce_series *s, uint32_t port, uint64_t queue_bytes, uint64_t tx_bytes)
{
	struct roce_series_sample *sample = s->samples + (size_t)port * s->capacity + s->count;
	double seconds = (double)s->interval_ps / PS_PER_S;

	sample->queue_bytes = queue_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)queue_bytes;
	sample->rate_bps = (float)((double)(tx_bytes - s->last_tx_bytes[port]) * 8 / seconds);
	s->last_tx_bytes[port] = tx_bytes;
}

static void join_pairs(struct roce_series *s)
{
	for (uint32_t port = 0; port < s->port_count; port++) {
		struct roce_series_sample *samples = s->samples + (size_t)port * s->capacity;

		for (uint32_t i = 0; i < s->capacity / 2; i++) {
			const struct roce_series_sample *a = &samples[2 * i], *b = a + 1;

			samples[i] = (struct roce_series_sample){
				a->queue_bytes > b->queue_bytes ? a->queue_bytes : b->queue_bytes,
				(a->rate_bps + b->rate_bps) / 2};
		}
	}
	s->count = s->capacity / 2;
	s->interval_ps *= 2;
}

void roce_series_advance(struct roce_series *s)
{
	if (++s->count == s->capacity)
		join_pairs(s);
}
