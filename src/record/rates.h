/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * At which rate congestion control lets queue pairs send, over time: those of the first flows, as
 * many as are wanted. As in series.h the interval doubles when the samples are used up; a sample is
 * the mean of those that were joined, 0 where the flow did not run.
 */
#ifndef ROCE_RECORD_RATES_H
#define ROCE_RECORD_RATES_H

#include <stdint.h>

struct roce_record;

#define ROCE_RATES_SAMPLES_MAX 1024u /* of each queue pair; a power of two */
#define ROCE_RATES_MAX	       1024u /* queue pairs */

struct roce_rates_lane {
	uint32_t flow;
	uint32_t qp;
};

struct roce_rates {
	struct roce_rates_lane *lanes;
	double *bps; /* [lane][sample] */
	uint32_t lane_count;
	uint32_t count;
	uint64_t interval_ps;
	uint64_t from_ps;
};

/* -ENOMEM. */
int roce_rates_begin(struct roce_record *r);
void roce_rates_fini(struct roce_rates *rates);
/* ROCE_FABRIC_NEVER: nothing is wanted. */
uint64_t roce_rates_next_ps(const struct roce_rates *rates);
/* The time has come. */
void roce_rates_take(struct roce_record *r);

static inline const double *roce_rates_of(const struct roce_rates *rates, uint32_t lane)
{
	return rates->bps + (uint64_t)lane * ROCE_RATES_SAMPLES_MAX;
}

#endif
