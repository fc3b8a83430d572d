/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pace of unreliable traffic. Nobody acknowledges UC and UD packets, so no window limits them,
 * and what the receiver's socket cannot hold is lost for good. They leave at a steady rate instead,
 * with short bursts: a rate at which a receiver that runs keeps up.
 *
 * The state is one moment: when the packets sent so far will have passed at the rate. A packet may
 * go while that moment is at most a burst ahead of now.
 */
#ifndef ROCE_TRANSPORT_PACE_H
#define ROCE_TRANSPORT_PACE_H

#include "base/ns.h"

#include <stdbool.h>
#include <stdint.h>

struct roce_pace_config {
	uint32_t mbytes_per_s; /* 0: no limit */
	uint32_t burst_bytes;
};

struct roce_pace {
	roce_ns_t passed_at;
};

/* When the next packet may go; at or before `now`: at once. */
static inline roce_ns_t roce_pace_next(const struct roce_pace *pace,
				       const struct roce_pace_config *cfg)
{
	roce_ns_t burst_ns;

	if (!cfg->mbytes_per_s)
		return 0;
	burst_ns = (roce_ns_t)cfg->burst_bytes * 1000 / cfg->mbytes_per_s;
	return pace->passed_at > burst_ns ? pace->passed_at - burst_ns : 0;
}

static inline void roce_pace_on_send(struct roce_pace *pace, const struct roce_pace_config *cfg,
				     uint32_t bytes, roce_ns_t now)
{
	if (!cfg->mbytes_per_s)
		return;
	if (pace->passed_at < now)
		pace->passed_at = now;
	pace->passed_at += (roce_ns_t)bytes * 1000 / cfg->mbytes_per_s;
}

#endif
