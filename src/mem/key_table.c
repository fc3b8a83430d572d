/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys to regions: a chained hash table over the 24-bit index that lkey and rkey share. Indexes
 * come from the caller's randomness, so the low bits are a good hash as they are, and a key tells
 * nothing about its neighbours.
 */
#include "mem/mem.h"

#include "base/assert.h"
#include "base/marks.h"

static struct roce_mr **bucket_of(const struct roce_key_table *tab, uint32_t index)
{
	return &tab->buckets[index & tab->bucket_mask];
}

void roce_key_table_init(struct roce_key_table *tab, struct roce_mr **buckets,
			 uint32_t bucket_count)
{
	ROCE_ASSERT(bucket_count && (bucket_count & (bucket_count - 1)) == 0);
	tab->buckets = buckets;
	tab->bucket_mask = bucket_count - 1;
	tab->count = 0;
	tab->window_count = 0;
}

int roce_key_table_add(struct roce_key_table *tab, struct roce_mr *mr, uint32_t random_index,
		       uint8_t lkey_variant, uint8_t rkey_variant)
{
	uint32_t index = random_index >> 8;
	struct roce_mr **bucket = bucket_of(tab, index);

	/* Index 0 stays unused: key 0 is what an unset field holds. */
	if (index == 0)
		return ROCE_MARKED(key_table_index_zero, -1);
	for (struct roce_mr *it = *bucket; it; it = it->bucket_next)
		if (it->lkey.v >> 8 == index)
			return ROCE_MARKED(key_table_index_taken, -1);
	mr->lkey = (roce_key_t){index << 8 | lkey_variant};
	mr->rkey = (roce_key_t){index << 8 | rkey_variant};
	mr->bucket_next = *bucket;
	mr->is_valid = true;
	*bucket = mr;
	tab->count++;
	return 0;
}

void roce_key_table_remove(struct roce_key_table *tab, struct roce_mr *mr)
{
	struct roce_mr **p = bucket_of(tab, mr->lkey.v >> 8);

	while (*p && *p != mr)
		p = &(*p)->bucket_next;
	if (!*p)
		return;
	*p = mr->bucket_next;
	mr->bucket_next = NULL;
	mr->is_valid = false;
	tab->count--;
}

struct roce_mr *roce_key_table_find(const struct roce_key_table *tab, roce_key_t key)
{
	uint32_t index = key.v >> 8;
	struct roce_mr *mr = *bucket_of(tab, index);

	while (mr && mr->lkey.v >> 8 != index)
		mr = mr->bucket_next;
	return mr;
}
