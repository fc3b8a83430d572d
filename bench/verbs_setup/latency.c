/* SPDX-License-Identifier: BSD-2-Clause */
/* Nanosecond samples and their percentiles, by the nearest rank. */
#include "bench_setup.h"

#include <stdlib.h>
#include <time.h>

uint64_t bench_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int compare_samples(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double rank_us(const uint64_t *samples, size_t count, size_t percent)
{
	size_t rank = (count * percent + 99) / 100;

	return (double)samples[rank ? rank - 1 : 0] / 1000.0;
}

struct bench_percentiles bench_percentiles(uint64_t *samples, size_t count)
{
	qsort(samples, count, sizeof(*samples), compare_samples);
	return (struct bench_percentiles){
		.p50_us = rank_us(samples, count, 50),
		.p99_us = rank_us(samples, count, 99),
		.max_us = rank_us(samples, count, 100),
	};
}
