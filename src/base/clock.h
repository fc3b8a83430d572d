/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The monotonic clock as nanoseconds, for the layers that may look at one. The core may not include
 * this (tools/dev/check_layers.py): it is told `now`.
 */
#ifndef ROCE_BASE_CLOCK_H
#define ROCE_BASE_CLOCK_H

#include <time.h>

#include "base/ns.h"

static inline roce_ns_t roce_clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (roce_ns_t)ts.tv_sec * ROCE_NS_PER_S + (roce_ns_t)ts.tv_nsec;
}

#endif
