/* SPDX-License-Identifier: BSD-2-Clause */
/* What reports say of a side's machine, libraries and devices. */
#ifndef VERIFY_AGENT_FACTS_H
#define VERIFY_AGENT_FACTS_H

#include <jansson.h>

/* {"host", "kernel", "cpu", "governor", "load", "cpus", "numa_nodes", "memory_bytes", "libibverbs",
 * "devices": [...]}
 */
json_t *va_facts(void);

#endif
