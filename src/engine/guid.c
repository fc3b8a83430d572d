/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device's GUID: EUI-64 of the MAC address. A device without one (loopback, tunnels) gets a
 * number that depends on the host and the device's name; never 0, which would mean "none".
 */
#include "engine/netdev.h"

#include "base/hash.h"

#include <string.h>
#include <unistd.h>

static bool has_mac(const struct roce_netdev *dev)
{
	static const uint8_t zero[sizeof(dev->mac)];

	return memcmp(dev->mac, zero, sizeof(zero)) != 0;
}

void roce_netdev_guid(const struct roce_netdev *dev, uint8_t out[8])
{
	uint64_t hash = ROCE_HASH_START;
	char host[256] = "";

	if (has_mac(dev)) {
		out[0] = dev->mac[0] ^ 0x02;
		out[1] = dev->mac[1];
		out[2] = dev->mac[2];
		out[3] = 0xff;
		out[4] = 0xfe;
		memcpy(out + 5, dev->mac + 3, 3);
		return;
	}
	gethostname(host, sizeof(host) - 1);
	hash = roce_hash(hash, host, strlen(host));
	hash = roce_hash(hash, dev->name, strlen(dev->name));
	memcpy(out, &hash, sizeof(hash));
	out[0] = 0x02; /* locally administered */
}
