/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time as the core knows it: nanoseconds on one monotone clock that the caller owns (a real clock
 * in the engine, virtual time in the simulator). Nothing below the engine reads a clock; `now` is
 * always an argument, rounded down, and deadlines are rounded up.
 */
#ifndef ROCE_BASE_NS_H
#define ROCE_BASE_NS_H

#include <stdint.h>

typedef uint64_t roce_ns_t;

#define ROCE_NS_PER_US UINT64_C(1000)
#define ROCE_NS_PER_MS UINT64_C(1000000)
#define ROCE_NS_PER_S  UINT64_C(1000000000)

/* A deadline that never comes. */
#define ROCE_NEVER UINT64_MAX

#endif
