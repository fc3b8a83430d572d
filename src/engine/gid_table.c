/* SPDX-License-Identifier: BSD-2-Clause */
/* See gid_table.h. The table is short: everything is a walk over it. */
#include "engine/gid_table.h"

#include "base/assert.h"

#include <errno.h>

static bool is_among(const struct roce_gid *gid, const struct roce_gid *gids, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (roce_gid_is_equal(&gids[i], gid))
			return true;
	}
	return false;
}

static bool remove_others(struct roce_gid_table *t, const struct roce_gid *gids, uint32_t count)
{
	bool is_changed = false;

	for (uint32_t i = 0; i < ROCE_NETDEV_GIDS_MAX; i++) {
		struct roce_gid_entry *e = &t->entries[i];

		if (e->is_present && !is_among(&e->gid, gids, count)) {
			e->is_present = false;
			is_changed = true;
		}
	}
	return is_changed;
}

/* The entry that the address has or had, else the first free one; NULL when there is none. */
static struct roce_gid_entry *find_place(struct roce_gid_table *t, const struct roce_gid *gid)
{
	struct roce_gid_entry *first_free = NULL;

	for (uint32_t i = 0; i < ROCE_NETDEV_GIDS_MAX; i++) {
		struct roce_gid_entry *e = &t->entries[i];

		if ((e->is_present || e->use_count) && roce_gid_is_equal(&e->gid, gid))
			return e;
		if (!first_free && !e->is_present && !e->use_count)
			first_free = e;
	}
	return first_free;
}

bool roce_gid_table_update(struct roce_gid_table *t, const struct roce_gid *gids, uint32_t count)
{
	bool is_changed = remove_others(t, gids, count);

	for (uint32_t i = 0; i < count; i++) {
		struct roce_gid_entry *e = find_place(t, &gids[i]);

		if (!e || e->is_present)
			continue;
		e->gid = gids[i];
		e->is_present = true;
		is_changed = true;
	}
	return is_changed;
}

const struct roce_gid *roce_gid_table_at(const struct roce_gid_table *t, uint32_t index)
{
	if (index >= ROCE_NETDEV_GIDS_MAX || !t->entries[index].is_present)
		return NULL;
	return &t->entries[index].gid;
}

uint32_t roce_gid_table_end(const struct roce_gid_table *t)
{
	uint32_t end = ROCE_NETDEV_GIDS_MAX;

	while (end && !t->entries[end - 1].is_present)
		end--;
	return end;
}

int roce_gid_table_hold(struct roce_gid_table *t, uint32_t index, const struct roce_gid *gid)
{
	const struct roce_gid *at = roce_gid_table_at(t, index);

	if (!at || !roce_gid_is_equal(at, gid))
		return -ENOENT;
	t->entries[index].use_count++;
	return 0;
}

void roce_gid_table_release(struct roce_gid_table *t, uint32_t index)
{
	ROCE_ASSERT(index < ROCE_NETDEV_GIDS_MAX && t->entries[index].use_count);
	t->entries[index].use_count--;
}
