/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A local address as the control messages name it: a GID, and for a link-local one the network
 * device that it belongs to.
 */
#ifndef ROCE_CONTROL_ADDRESS_H
#define ROCE_CONTROL_ADDRESS_H

#include <stdint.h>

#include "base/addr.h"

struct roce_address {
	struct roce_gid gid;
	uint32_t ifindex; /* scope of a link-local address, else 0 */
};

#endif
