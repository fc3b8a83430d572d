/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows: keys that open a part of a region for a while. A window is an entry of the key
 * table like a region, valid while it is bound; the access check then needs no second look-up.
 * Binding and invalidating are work requests, so they happen in the order of the send queue.
 */
#include "mem/mem.h"

#include "base/marks.h"

#define REMOTE_WRITES (ROCE_ACCESS_REMOTE_WRITE | ROCE_ACCESS_REMOTE_ATOMIC)

static void unbind(struct roce_mr *mw)
{
	if (mw->bound_to)
		mw->bound_to->window_count--;
	mw->bound_to = NULL;
	mw->bound_qp = NULL;
	mw->is_valid = false;
}

int roce_window_mr_add(struct roce_key_table *tab, struct roce_mr *mw, enum roce_mr_kind kind,
		       struct roce_pd *pd, uint32_t random_index, uint8_t variant)
{
	*mw = (struct roce_mr){.kind = (uint8_t)kind, .pd = pd};
	if (roce_key_table_add(tab, mw, random_index, variant, variant))
		return -1;
	mw->is_valid = false;
	tab->window_count++;
	return 0;
}

void roce_mem_unbind_all(struct roce_key_table *tab, const void *qp)
{
	for (uint32_t i = 0; tab->window_count && i <= tab->bucket_mask; i++)
		for (struct roce_mr *mr = tab->buckets[i]; mr; mr = mr->bucket_next)
			if (mr->bound_qp == qp)
				unbind(mr);
}

void roce_window_mr_remove(struct roce_key_table *tab, struct roce_mr *mw)
{
	unbind(mw);
	roce_key_table_remove(tab, mw);
	tab->window_count--;
}

/* The region that a bind may use, by the rules for its rights and domain. */
static enum roce_mem_verdict find_region(const struct roce_key_table *tab, const struct roce_pd *pd,
					 const struct roce_mem_bind *bind, struct roce_mr **out)
{
	struct roce_mr *mr = roce_key_table_find(tab, (roce_key_t){bind->lkey});
	uint64_t offset;

	if (!mr || mr->kind != ROCE_MR_REGION || !mr->is_valid || mr->lkey.v != bind->lkey)
		return ROCE_MARKED(window_lkey, ROCE_MEM_BAD_KEY);
	if (mr->pd != pd)
		return ROCE_MARKED(window_region_pd, ROCE_MEM_BAD_PD);
	if (!(mr->access & ROCE_ACCESS_MW_BIND))
		return ROCE_MARKED(window_no_bind, ROCE_MEM_BAD_ACCESS);
	if (mr->access & ROCE_ACCESS_ZERO_BASED)
		return ROCE_MARKED(window_region_zero_based, ROCE_MEM_BAD_ACCESS);
	if ((bind->access & REMOTE_WRITES) && !(mr->access & ROCE_ACCESS_LOCAL_WRITE))
		return ROCE_MARKED(window_no_local_write, ROCE_MEM_BAD_ACCESS);
	offset = bind->addr - mr->iova;
	if (offset > mr->length || bind->length > mr->length - offset)
		return ROCE_MARKED(window_range, ROCE_MEM_BAD_RANGE);
	*out = mr;
	return ROCE_MEM_OK;
}

enum roce_mem_verdict roce_mem_bind(struct roce_key_table *tab, const struct roce_pd *pd,
				    const void *qp, const struct roce_mem_bind *bind)
{
	struct roce_mr *mw = roce_key_table_find(tab, bind->rkey);
	struct roce_mr *mr = NULL;
	enum roce_mem_verdict verdict;

	if (!mw || (mw->kind != ROCE_MR_WINDOW_1 && mw->kind != ROCE_MR_WINDOW_2))
		return ROCE_MARKED(window_rkey, ROCE_MEM_BAD_KEY);
	if (bind->current.v && mw->rkey.v != bind->current.v)
		return ROCE_MARKED(window_not_current, ROCE_MEM_BAD_KEY);
	if (mw->pd != pd)
		return ROCE_MARKED(window_pd, ROCE_MEM_BAD_PD);
	if (mw->kind == ROCE_MR_WINDOW_2 && mw->is_valid)
		return ROCE_MARKED(window_not_free, ROCE_MEM_BAD_ACCESS);
	if (mw->kind == ROCE_MR_WINDOW_2 && bind->length == 0)
		return ROCE_MARKED(window_empty, ROCE_MEM_BAD_ACCESS);
	if (mw->kind == ROCE_MR_WINDOW_1 && (bind->access & ROCE_ACCESS_ZERO_BASED))
		return ROCE_MARKED(window_zero_based, ROCE_MEM_BAD_ACCESS);
	if (bind->length) {
		verdict = find_region(tab, pd, bind, &mr);
		if (verdict != ROCE_MEM_OK)
			return verdict;
	}
	unbind(mw);
	mw->rkey = mw->lkey = bind->rkey;
	if (!mr)
		return ROCE_MEM_OK;
	mw->addr = mr->addr + (bind->addr - mr->iova);
	mw->iova = bind->access & ROCE_ACCESS_ZERO_BASED ? 0 : bind->addr;
	mw->length = bind->length;
	mw->access = bind->access | (mr->access & ROCE_ACCESS_ON_DEMAND);
	mw->bound_to = mr;
	mw->bound_qp = mw->kind == ROCE_MR_WINDOW_2 ? qp : NULL;
	mw->is_valid = true;
	mr->window_count++;
	return ROCE_MEM_OK;
}

enum roce_mem_verdict roce_mem_invalidate(struct roce_key_table *tab, const struct roce_pd *pd,
					  const void *qp, roce_key_t rkey)
{
	struct roce_mr *mr = roce_key_table_find(tab, rkey);

	if (!mr || !mr->is_valid || mr->rkey.v != rkey.v)
		return ROCE_MARKED(access_invalidate_key, ROCE_MEM_BAD_KEY);
	if (mr->pd != pd)
		return ROCE_MARKED(access_invalidate_pd, ROCE_MEM_BAD_PD);
	if (mr->kind == ROCE_MR_WINDOW_2 ? mr->bound_qp != qp : !mr->can_invalidate)
		return ROCE_MARKED(access_invalidate_rights, ROCE_MEM_BAD_ACCESS);
	unbind(mr);
	return ROCE_MEM_OK;
}
