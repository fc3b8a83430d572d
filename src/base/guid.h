/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GUID of a device: EUI-64 of its MAC address. A device without one (loopback, tunnels) gets a
 * number that depends on the host and the device's name; never 0, which would mean "none". Not for
 * the core, which is told GUIDs.
 */
#ifndef ROCE_BASE_GUID_H
#define ROCE_BASE_GUID_H

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

/* The bytes as they stand in memory and on the wire. */
static inline void roce_guid_of(const uint8_t mac[6], const char *name, uint8_t out[8])
{
	static const uint8_t none[6];
	uint64_t hash = ROCE_HASH_START;
	char host[256] = "";

	if (memcmp(mac, none, sizeof(none)) != 0) {
		out[0] = mac[0] ^ 0x02;
		out[1] = mac[1];
		out[2] = mac[2];
		out[3] = 0xff;
		out[4] = 0xfe;
		memcpy(out + 5, mac + 3, 3);
		return;
	}
	gethostname(host, sizeof(host) - 1);
	hash = roce_hash(hash, host, strlen(host));
	hash = roce_hash(hash, name, strlen(name));
	memcpy(out, &hash, sizeof(hash));
	out[0] = 0x02; /* locally administered */
}

#endif
