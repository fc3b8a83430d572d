/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slot table. A linear search over 254 entries is cheap against everything else that leasing a
 * slot costs; no free list to keep consistent with claims of particular slots.
 */
#include "daemon/lease.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"

void roce_lease_table_init(struct roce_lease_table *t)
{
	memset(t, 0, sizeof(*t));
}

static void hold(struct roce_lease_table *t, uint8_t slot, uint32_t holder, uint64_t instance)
{
	struct roce_lease_entry *l = &t->lease[slot];

	if (!l->is_held)
		t->held_count++;
	l->is_held = true;
	l->holder = holder;
	l->instance = instance;
}

int roce_lease_table_take(struct roce_lease_table *t, uint32_t holder, uint64_t instance,
			  uint8_t *out_slot)
{
	unsigned best = 0;

	for (unsigned i = 1; i <= ROCE_LEASE_SLOT_MAX; i++) {
		if (t->lease[i].is_held)
			continue;
		if (!best || t->lease[i].freed < t->lease[best].freed)
			best = i;
	}
	if (!best)
		return -EUSERS;
	hold(t, (uint8_t)best, holder, instance);
	*out_slot = (uint8_t)best;
	return 0;
}

int roce_lease_table_claim(struct roce_lease_table *t, uint8_t slot, uint32_t holder,
			   uint64_t instance)
{
	ROCE_ASSERT(slot >= 1 && slot <= ROCE_LEASE_SLOT_MAX);
	if (t->lease[slot].is_held && t->lease[slot].instance != instance)
		return -EBUSY;
	hold(t, slot, holder, instance);
	return 0;
}

void roce_lease_table_release(struct roce_lease_table *t, uint8_t slot)
{
	struct roce_lease_entry *l = &t->lease[slot];

	ROCE_ASSERT(slot >= 1 && slot <= ROCE_LEASE_SLOT_MAX && l->is_held);
	l->is_held = false;
	l->holder = 0;
	l->instance = 0;
	l->freed = ++t->release_count;
	t->held_count--;
}

bool roce_lease_table_is_holder(const struct roce_lease_table *t, uint8_t slot, uint32_t holder)
{
	return slot >= 1 && slot <= ROCE_LEASE_SLOT_MAX && t->lease[slot].is_held &&
	       t->lease[slot].holder == holder;
}
