/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of the percentiles are those of ROCE_VERIFY_NUMBERS_LATENCY. */
#include "verify/agent/measure.h"

#define LATE_NS 10000

void va_report_latency(struct va_run *run, struct va_samples *samples)
{
	static const struct {
		const char *name;
		double percent;
	} percentiles[] = {
		{"min", 0},	 {"p50", 50},	    {"p90", 90},  {"p99", 99},
		{"p99.9", 99.9}, {"p99.99", 99.99}, {"max", 100},
	};

	for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
		va_value(run, percentiles[i].name,
			 (double)va_samples_percentile(samples, percentiles[i].percent) / 1e3);
	va_value(run, "late",
		 va_samples_beyond(samples, va_samples_percentile(samples, 50) + LATE_NS));
	va_value(run, "mean", va_samples_mean(samples) / 1e3);
	va_detail(run, "samples", json_integer((json_int_t)samples->count));
	va_picture(run, "histogram", va_samples_histogram(samples));
}
