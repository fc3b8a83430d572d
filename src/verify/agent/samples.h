/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Times that were measured. All are kept, so that percentiles are exact; the picture of them is a
 * histogram with eight buckets for each power of two.
 */
#ifndef VERIFY_AGENT_SAMPLES_H
#define VERIFY_AGENT_SAMPLES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct va_samples {
	uint64_t *ns;
	size_t count;
	size_t size;
	bool is_sorted;
};

/* False: out of memory. */
bool va_samples_init(struct va_samples *samples, size_t size);
void va_samples_fini(struct va_samples *samples);

/* Beyond `size` they are dropped. */
static inline void va_samples_add(struct va_samples *samples, uint64_t ns)
{
	if (samples->count < samples->size) {
		samples->ns[samples->count++] = ns;
		samples->is_sorted = false;
	}
}

/* The smallest sample that `percent` percent of them do not exceed (nearest rank). 0 when empty. */
uint64_t va_samples_percentile(struct va_samples *samples, double percent);
/* How many percent of them are greater. */
double va_samples_beyond(const struct va_samples *samples, uint64_t ns);
double va_samples_mean(const struct va_samples *samples);

/* {"unit": "us", "buckets": [[from, to, count], ...]}, empty ones left out. */
json_t *va_samples_histogram(struct va_samples *samples);

/* The bucket that a time falls into, [from, to). */
void va_bucket_of(uint64_t ns, uint64_t *out_from, uint64_t *out_to);

#endif
