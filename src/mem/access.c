/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The access check that every local and remote use of a key passes: key, state, protection domain,
 * rights, range, in this order. Zero-length uses are the caller's to skip (IBTA: keys of a
 * zero-length access are not checked).
 */
#include "mem/mem.h"

#include "base/marks.h"

static enum roce_mem_verdict check_region(const struct roce_mr *mr, const struct roce_pd *pd,
					  uint64_t addr, uint64_t length, uint32_t need,
					  struct roce_mem_place *out)
{
	uint64_t offset;

	if (mr->pd != pd)
		return ROCE_MARKED(access_pd, ROCE_MEM_BAD_PD);
	if ((mr->access & need) != need)
		return ROCE_MARKED(access_rights, ROCE_MEM_BAD_ACCESS);
	/* Unsigned differences: an addr below iova wraps to a huge offset and fails the compare. */
	offset = addr - mr->iova;
	if (offset > mr->length || length > mr->length - offset)
		return ROCE_MARKED(access_range, ROCE_MEM_BAD_RANGE);
	out->ptr = mr->addr + offset;
	out->is_on_demand = mr->access & ROCE_ACCESS_ON_DEMAND;
	return ROCE_MEM_OK;
}

enum roce_mem_verdict roce_mem_check_local(const struct roce_key_table *tab,
					   const struct roce_pd *pd, roce_key_t lkey, uint64_t addr,
					   uint64_t length, uint32_t need,
					   struct roce_mem_place *out)
{
	const struct roce_mr *mr = roce_key_table_find(tab, lkey);

	if (!mr || !mr->is_valid || mr->lkey.v != lkey.v ||
	    (mr->kind != ROCE_MR_REGION && mr->kind != ROCE_MR_NULL))
		return ROCE_MARKED(access_lkey, ROCE_MEM_BAD_KEY);
	if (mr->kind == ROCE_MR_NULL) {
		if (mr->pd != pd)
			return ROCE_MARKED(access_null_pd, ROCE_MEM_BAD_PD);
		*out = (struct roce_mem_place){.ptr = ROCE_MEM_NOWHERE};
		return ROCE_MEM_OK;
	}
	return check_region(mr, pd, addr, length, need, out);
}

enum roce_mem_verdict roce_mem_check_remote(const struct roce_key_table *tab,
					    const struct roce_pd *pd, const void *qp,
					    roce_key_t rkey, uint64_t va, uint64_t length,
					    uint32_t need, struct roce_mem_place *out)
{
	const struct roce_mr *mr = roce_key_table_find(tab, rkey);

	if (!mr || !mr->is_valid || mr->rkey.v != rkey.v || mr->kind == ROCE_MR_NULL)
		return ROCE_MARKED(access_rkey, ROCE_MEM_BAD_KEY);
	if (mr->kind == ROCE_MR_WINDOW_2 && mr->bound_qp != qp)
		return ROCE_MARKED(access_window_qp, ROCE_MEM_BAD_ACCESS);
	return check_region(mr, pd, va, length, need, out);
}
