/* SPDX-License-Identifier: BSD-2-Clause */
/* Kind `limits`: what is in one object, where limits.c counts objects. Each returns how many. */
#ifndef VERIFY_AGENT_LIMITS_QUEUES_H
#define VERIFY_AGENT_LIMITS_QUEUES_H

#include "verify/agent/device.h"

/* Completions that wait in a completion queue of the device's largest size, or `most` of them. */
uint64_t va_limits_completions(struct va_run *run, struct va_device *device, uint64_t most);
/* Receives in the largest shared receive queue. */
uint64_t va_limits_receives(struct va_run *run, struct va_device *device, uint64_t most);
/* Multicast groups that one queue pair is in. */
uint64_t va_limits_groups(struct va_run *run, struct va_device *device, uint64_t most);

#endif
