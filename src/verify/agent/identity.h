/* SPDX-License-Identifier: BSD-2-Clause */
/* Which device a run uses on this side, and whose it is: what a report between two implementations
 * has to name. */
#ifndef VERIFY_AGENT_IDENTITY_H
#define VERIFY_AGENT_IDENTITY_H

#include <jansson.h>

/* {"implementation", "implementation_version", "rdma_core", "device", "port", "gid_index", "gid",
 * "port_mtu", "quirks"}; or {"reason"}: there is none that could be used. `where` is that of a
 * case's order, or NULL. */
json_t *va_identity(const json_t *where);

#endif
