/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GID table of a port: which address stands at which index. An index keeps its address for as
 * long as the address exists: programs look an index up once and use it for hours. The first
 * addresses stand in the order in which they are given; one that comes later takes the first free
 * index. One that leaves frees its index, unless a queue pair or an address handle holds it: then
 * the entry reads as empty, nobody else gets it, and the same address finds it again.
 *
 * Pure; the caller serialises.
 */
#ifndef ROCE_ENGINE_GID_TABLE_H
#define ROCE_ENGINE_GID_TABLE_H

#include "base/addr.h"
#include "engine/netdev.h"

#include <stdbool.h>
#include <stdint.h>

struct roce_gid_entry {
	struct roce_gid gid;
	bool is_present;
	uint32_t use_count; /* holders */
};

struct roce_gid_table {
	struct roce_gid_entry entries[ROCE_NETDEV_GIDS_MAX];
};

/* `gids` are the addresses now. True when an entry came or left. What does not fit is left out. */
bool roce_gid_table_update(struct roce_gid_table *t, const struct roce_gid *gids, uint32_t count);

/* NULL for an empty entry. */
const struct roce_gid *roce_gid_table_at(const struct roce_gid_table *t, uint32_t index);
/* One behind the last entry in use. */
uint32_t roce_gid_table_end(const struct roce_gid_table *t);

/* -ENOENT when the entry is not, or not any more, this address. */
int roce_gid_table_hold(struct roce_gid_table *t, uint32_t index, const struct roce_gid *gid);
void roce_gid_table_release(struct roce_gid_table *t, uint32_t index);

#endif
