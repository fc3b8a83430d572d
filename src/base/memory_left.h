/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much memory this process may still take before something gives way: what the machine has
 * left, or one of the control groups that the process is in, or its own limit, whichever is least.
 * For programs that would rather say so than be killed. Not for the core, which is told sizes.
 */
#ifndef ROCE_BASE_MEMORY_LEFT_H
#define ROCE_BASE_MEMORY_LEFT_H

#include <stdint.h>

/* Bytes; UINT64_MAX: nobody knows. */
uint64_t roce_memory_left(void);
/* The same by files below other folders than /proc and /sys/fs/cgroup. */
uint64_t roce_memory_left_by(const char *proc, const char *groups);

#endif
