/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A GID: 16 bytes in network order. On RoCEv2 it is the IP address of an end, IPv4 ones in their
 * v4-mapped form ::ffff:a.b.c.d, so one type serves both families everywhere.
 */
#ifndef ROCE_BASE_ADDR_H
#define ROCE_BASE_ADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct roce_gid {
	uint8_t raw[16];
};

static inline bool roce_gid_is_v4(const struct roce_gid *g)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	return memcmp(g->raw, mapped, sizeof(mapped)) == 0;
}

static inline bool roce_gid_is_equal(const struct roce_gid *a, const struct roce_gid *b)
{
	return memcmp(a->raw, b->raw, sizeof(a->raw)) == 0;
}

static inline bool roce_gid_is_zero(const struct roce_gid *g)
{
	static const struct roce_gid zero;

	return roce_gid_is_equal(g, &zero);
}

/* fe80::/10; IPv4 has 169.254.0.0/16, which needs no interface beside it. */
static inline bool roce_gid_is_link_local(const struct roce_gid *g)
{
	return g->raw[0] == 0xfe && (g->raw[1] & 0xc0) == 0x80;
}

/* An IPv6 group, or 224.0.0.0/4 as a mapped address. */
static inline bool roce_gid_is_multicast(const struct roce_gid *g)
{
	return g->raw[0] == 0xff || (roce_gid_is_v4(g) && (g->raw[12] & 0xf0) == 0xe0);
}

#endif
