/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registration: the rules on access flags and ranges, and the drawing of keys. The kernel would pin
 * the pages and so notice a range that is not mapped; msync() walks the mappings and tells the same
 * without touching a page.
 */
#include "verbs/mr_verbs.h"

#include "verbs/limits.h"
#include "verbs/refuse.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define ACCESS_KNOWN                                                                    \
	(ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE | ROCE_ACCESS_REMOTE_READ | \
	 ROCE_ACCESS_REMOTE_ATOMIC | ROCE_ACCESS_MW_BIND | ROCE_ACCESS_ZERO_BASED |     \
	 ROCE_ACCESS_ON_DEMAND | ROCE_ACCESS_HUGETLB)

/* Flags in this range are hints that a device may ignore (IBV_ACCESS_OPTIONAL_RANGE). */
#define ACCESS_OPTIONAL 0x3ff00000u

static uint64_t page_mask(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE) - 1;
}

static int check_access(const char *call, uint32_t access)
{
	uint32_t flags = access & ~ACCESS_OPTIONAL;

	if (flags & ~(uint32_t)ACCESS_KNOWN)
		return roce_refuse(EINVAL, "%s: access flags 0x%x: 0x%x is unknown", call, access,
				   flags & ~(uint32_t)ACCESS_KNOWN);
	if ((flags & (ROCE_ACCESS_REMOTE_WRITE | ROCE_ACCESS_REMOTE_ATOMIC)) &&
	    !(flags & ROCE_ACCESS_LOCAL_WRITE))
		return roce_refuse(EINVAL,
				   "%s: access flags 0x%x: REMOTE_WRITE and REMOTE_ATOMIC need "
				   "LOCAL_WRITE",
				   call, access);
	return 0;
}

static bool is_implicit(uint64_t addr, uint64_t length, uint32_t access)
{
	return addr == 0 && length == UINT64_MAX && (access & ROCE_ACCESS_ON_DEMAND);
}

static int check_range(const char *call, uint64_t addr, uint64_t length, uint32_t access)
{
	uint64_t start = addr & ~page_mask();

	if (is_implicit(addr, length, access))
		return 0;
	if (length == 0)
		return roce_refuse(EINVAL, "%s: length 0", call);
	/* Rounded up to pages it must not wrap either. */
	if (addr + length < addr || addr + length > UINT64_MAX - page_mask())
		return roce_refuse(EINVAL, "%s: address 0x%llx + length 0x%llx wraps around", call,
				   (unsigned long long)addr, (unsigned long long)length);
	if (access & ROCE_ACCESS_ON_DEMAND)
		return 0;
	if (msync((void *)(uintptr_t)start, addr + length - start, MS_ASYNC) < 0 && errno == ENOMEM)
		return roce_refuse(EFAULT, "%s: part of 0x%llx..0x%llx is not mapped", call,
				   (unsigned long long)addr, (unsigned long long)(addr + length));
	return 0;
}

static void draw_keys(struct roce_device *dev, struct roce_mr *mr)
{
	int err;

	do {
		uint32_t index = roce_device_random(dev);
		uint32_t variants = roce_device_random(dev);
		uint8_t lkey = (uint8_t)variants;
		/* 1 to 255 away, so the two keys always differ */
		uint8_t rkey = (uint8_t)(lkey + 1 + (variants >> 8) % 255);

		err = roce_key_table_add(&dev->transport.keys, mr, index, lkey, rkey);
	} while (err);
}

static int enter_device(struct roce_verbs_mr *vmr, const char *call)
{
	struct roce_device *dev = vmr->ctx->dev;

	pthread_mutex_lock(&dev->lock);
	if (dev->mr_count >= ROCE_MAX_MR) {
		pthread_mutex_unlock(&dev->lock);
		return roce_refuse(ENOMEM, "%s: all %u regions are in use", call, ROCE_MAX_MR);
	}
	draw_keys(dev, &vmr->mr);
	dev->mr_count++;
	vmr->mr.pd->use_count++;
	roce_list_add_tail(&vmr->ctx->mrs, &vmr->link);
	pthread_mutex_unlock(&dev->lock);
	return 0;
}

int roce_verbs_mr_init(struct roce_verbs_mr *vmr, struct roce_context *ctx, struct roce_pd *pd,
		       uint64_t addr, uint64_t length, uint64_t iova, uint32_t access)
{
	int err = check_access("reg_mr", access);

	if (!err)
		err = check_range("reg_mr", addr, length, access);
	if (!err && !(access & ROCE_ACCESS_ZERO_BASED) &&
	    (iova & page_mask()) != (addr & page_mask()))
		err = roce_refuse(EINVAL,
				  "reg_mr: iova 0x%llx and address 0x%llx differ in their offset "
				  "into a page",
				  (unsigned long long)iova, (unsigned long long)addr);
	if (err)
		return err;
	*vmr = (struct roce_verbs_mr){
		.ctx = ctx,
		.mr = {.pd = pd,
		       .iova = access & ROCE_ACCESS_ZERO_BASED ? 0 : iova,
		       .addr = addr,
		       .length = length,
		       .access = access & ~ACCESS_OPTIONAL},
	};
	return enter_device(vmr, "reg_mr");
}

int roce_verbs_mr_init_null(struct roce_verbs_mr *vmr, struct roce_context *ctx, struct roce_pd *pd)
{
	*vmr = (struct roce_verbs_mr){
		.ctx = ctx,
		.mr = {.pd = pd, .length = UINT64_MAX, .kind = ROCE_MR_NULL},
	};
	return enter_device(vmr, "alloc_null_mr");
}

void roce_verbs_mr_detach(struct roce_verbs_mr *vmr)
{
	struct roce_device *dev = vmr->ctx->dev;

	roce_key_table_remove(&dev->transport.keys, &vmr->mr);
	dev->mr_count--;
	vmr->mr.pd->use_count--;
	roce_list_remove(&vmr->link);
}

int roce_verbs_mr_fini(struct roce_verbs_mr *vmr)
{
	uint32_t windows;

	pthread_mutex_lock(&vmr->ctx->dev->lock);
	windows = vmr->mr.window_count;
	if (!windows)
		roce_verbs_mr_detach(vmr);
	pthread_mutex_unlock(&vmr->ctx->dev->lock);
	return windows ? roce_refuse(EBUSY, "dereg_mr: %u windows are bound to it", windows) : 0;
}

int roce_verbs_mr_change(struct roce_verbs_mr *vmr, const struct roce_mr_change *change)
{
	struct roce_device *dev = vmr->ctx->dev;
	uint32_t access = change->is_access_given ? change->access : vmr->mr.access;
	int err = vmr->mr.kind == ROCE_MR_NULL
			  ? roce_refuse(EINVAL, "rereg_mr: a null region stays as it is")
			  : 0;

	if (!err && change->is_access_given)
		err = check_access("rereg_mr", access);
	if (!err && change->is_range_given)
		err = check_range("rereg_mr", change->addr, change->length, access);
	if (err)
		return err;
	pthread_mutex_lock(&dev->lock);
	if (vmr->mr.window_count) {
		pthread_mutex_unlock(&dev->lock);
		return roce_refuse(EBUSY, "rereg_mr: windows are bound to it");
	}
	if (change->pd) {
		vmr->mr.pd->use_count--;
		vmr->mr.pd = change->pd;
		vmr->mr.pd->use_count++;
	}
	if (change->is_access_given)
		vmr->mr.access = access & ~ACCESS_OPTIONAL;
	if (change->is_range_given) {
		vmr->mr.addr = change->addr;
		vmr->mr.length = change->length;
		vmr->mr.iova = access & ROCE_ACCESS_ZERO_BASED ? 0 : change->addr;
	}
	pthread_mutex_unlock(&dev->lock);
	return 0;
}
