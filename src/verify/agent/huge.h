/* SPDX-License-Identifier: BSD-2-Clause */
/* Room on huge pages: found, made where this process may, and given back when it has ended. */
#ifndef VERIFY_AGENT_HUGE_H
#define VERIFY_AGENT_HUGE_H

#include "verify/agent/run.h"

#include <stddef.h>

/* Memory of `bytes` on pages of `page` (4096, 2 MiB, 1 GiB), every page there. va_skip() where
 * there is not as much; for huge pages with the command that makes room, if none can be made. */
void *va_pages_map(struct va_run *run, size_t page, size_t bytes);

#endif
