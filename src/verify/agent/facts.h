/* SPDX-License-Identifier: BSD-2-Clause */
/* What reports say of a side's machine, libraries and devices. */
#ifndef VERIFY_AGENT_FACTS_H
#define VERIFY_AGENT_FACTS_H

#include <jansson.h>

/* {"host", "kernel", "cpu", "governor", "load", "cpus", "numa_nodes", "memory_bytes", "libibverbs",
 * "devices": [...], "uses": {...} of agent/identity.h}; `where`: what an order says of the device.
 */
json_t *va_facts(const json_t *where);

#endif
