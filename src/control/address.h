/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A local address as the control messages name it: a GID, and for a link-local one the network
 * device that it belongs to.
 */
#ifndef ROCE_CONTROL_ADDRESS_H
#define ROCE_CONTROL_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

struct roce_address {
	struct roce_gid gid;
	uint32_t ifindex; /* scope of a link-local address, else 0 */
};

#define ROCE_ADDRESS_TEXT_MAX 64 /* an IPv6 address, %, the name of an interface */

/* "192.0.2.1", "fe80::1%eth0". */
void roce_address_str(const struct roce_address *a, char *out, size_t size);

#endif
