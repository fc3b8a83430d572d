/* SPDX-License-Identifier: BSD-2-Clause */
/* The GUID of a device as base/guid.h makes it, which uroced does too. */
#include "engine/netdev.h"

#include "base/guid.h"

void roce_netdev_guid(const struct roce_netdev *dev, uint8_t out[8])
{
	roce_guid_of(dev->mac, dev->name, out);
}
