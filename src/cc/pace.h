/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending at a steady rate, with short bursts. Nobody acknowledges UC and UD packets, so no window
 * limits them, and what the receiver's socket cannot hold is lost for good: the device paces all of
 * them together. A program may limit a queue pair of its own to less, and so does a congestion
 * controller.
 *
 * The state is one moment: when the packets sent so far will have passed at the rate. A packet may
 * go while that moment is at most a burst ahead of now. Parts of a nanosecond are carried, so the
 * rate is exact over any number of packets.
 */
#ifndef ROCE_CC_PACE_H
#define ROCE_CC_PACE_H

#include "base/ns.h"

#include <stdbool.h>
#include <stdint.h>

#define ROCE_PACE_BYTE_NS UINT64_C(8000000) /* a byte at one kbit/s */

struct roce_pace_config {
	uint32_t kbit_per_s; /* 0: no limit */
	uint32_t burst_bytes;
};

struct roce_pace {
	roce_ns_t passed_at;
	uint32_t rest; /* of a nanosecond, in parts of 1 / kbit_per_s */
};

/* When the next packet may go; at or before `now`: at once. */
static inline roce_ns_t roce_pace_next(const struct roce_pace *pace,
				       const struct roce_pace_config *cfg)
{
	roce_ns_t burst_ns;

	if (!cfg->kbit_per_s)
		return 0;
	burst_ns = cfg->burst_bytes * ROCE_PACE_BYTE_NS / cfg->kbit_per_s;
	return pace->passed_at > burst_ns ? pace->passed_at - burst_ns : 0;
}

/* A packet leaves. What could have left before `since`, which is now or a little earlier, is
 * forgone.
 */
static inline void roce_pace_on_send(struct roce_pace *pace, const struct roce_pace_config *cfg,
				     uint32_t bytes, roce_ns_t since)
{
	uint64_t parts;

	if (!cfg->kbit_per_s)
		return;
	if (pace->passed_at < since) {
		pace->passed_at = since;
		pace->rest = 0;
	}
	parts = bytes * ROCE_PACE_BYTE_NS + pace->rest;
	pace->passed_at += parts / cfg->kbit_per_s;
	pace->rest = (uint32_t)(parts % cfg->kbit_per_s);
}

/* From `at` on the rate is another one: what is still to pass passes at the new rate. */
static inline void roce_pace_change(struct roce_pace *pace, uint32_t from_kbit_per_s,
				    uint32_t to_kbit_per_s, roce_ns_t at)
{
	uint64_t parts;

	if (pace->passed_at <= at) {
		pace->rest = 0;
		return;
	}
	parts = (pace->passed_at - at) * from_kbit_per_s + pace->rest;
	pace->passed_at = at + parts / to_kbit_per_s;
	pace->rest = (uint32_t)(parts % to_kbit_per_s);
}

#endif
