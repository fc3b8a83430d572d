/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorted when the first percentile is asked for. */
#include "verify/agent/samples.h"

#include <math.h>
#include <stdlib.h>

#define BUCKET_BITS 3

bool va_samples_init(struct va_samples *samples, size_t size)
{
	*samples = (struct va_samples){.size = size};
	samples->ns = calloc(size ? size : 1, sizeof(*samples->ns));
	return samples->ns != NULL;
}

void va_samples_fini(struct va_samples *samples)
{
	free(samples->ns);
	*samples = (struct va_samples){0};
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void sort(struct va_samples *samples)
{
	if (!samples->is_sorted)
		qsort(samples->ns, samples->count, sizeof(*samples->ns), compare);
	samples->is_sorted = true;
}

uint64_t va_samples_percentile(struct va_samples *samples, double percent)
{
	double rank = ceil(percent * (double)samples->count / 100 - 1e-9);

	if (!samples->count)
		return 0;
	sort(samples);
	if (rank < 1)
		rank = 1;
	if (rank > (double)samples->count)
		rank = (double)samples->count;
	return samples->ns[(size_t)rank - 1];
}

double va_samples_beyond(const struct va_samples *samples, uint64_t ns)
{
	size_t greater = 0;

	for (size_t i = 0; i < samples->count; i++)
		greater += samples->ns[i] > ns;
	return samples->count ? 100 * (double)greater / (double)samples->count : 0;
}

double va_samples_mean(const struct va_samples *samples)
{
	double sum = 0;

	for (size_t i = 0; i < samples->count; i++)
		sum += (double)samples->ns[i];
	return samples->count ? sum / (double)samples->count : 0;
}

void va_bucket_of(uint64_t ns, uint64_t *out_from, uint64_t *out_to)
{
	unsigned int shift = 0;

	if (ns >> BUCKET_BITS)
		shift = 63u - (unsigned int)__builtin_clzll(ns) - BUCKET_BITS;
	*out_from = ns >> shift << shift;
	*out_to = *out_from + (UINT64_C(1) << shift);
}

json_t *va_samples_histogram(struct va_samples *samples)
{
	json_t *buckets = json_array();
	size_t i = 0;

	sort(samples);
	while (i < samples->count) {
		uint64_t from;
		uint64_t to;
		size_t first = i;

		va_bucket_of(samples->ns[i], &from, &to);
		while (i < samples->count && samples->ns[i] < to)
			i++;
		json_array_append_new(buckets,
				      json_pack("[f, f, I]", (double)from / 1e3, (double)to / 1e3,
						(json_int_t)(i - first)));
	}
	return json_pack("{s:s, s:o}", "unit", "us", "buckets", buckets);
}
