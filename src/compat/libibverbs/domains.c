/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parent domains and thread domains. A parent domain stands for its protection domain: objects made
 * in either may be used together; what it adds is where the memory of queues comes from. A thread
 * domain is a promise of the program that we need not make use of.
 */
#include "compat/libibverbs/compat.h"

#include "verbs/refuse.h"

#include <stdlib.h>

/* The kind of resource is for the driver to define; ours have one. */
#define RESOURCE_QUEUE 1

struct ibv_td *compat_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct compat_td *td;

	if (roce_context_is_forked(compat_roce_of(context)))
		return compat_null(-COMPAT_FORKED);
	if (attr->comp_mask)
		return compat_null(
			roce_refuse(EOPNOTSUPP, "alloc_td: comp_mask 0x%x", attr->comp_mask));
	td = calloc(1, sizeof(*td));
	if (!td)
		return compat_null(-ENOMEM);
	td->td.context = context;
	return &td->td;
}

int compat_dealloc_td(struct ibv_td *td)
{
	struct compat_td *ctd = roce_container_of(td, struct compat_td, td);
	struct roce_device *dev = compat_roce_of(td->context)->dev;
	uint32_t users;

	if (roce_context_is_forked(compat_roce_of(td->context)))
		return COMPAT_FORKED;
	pthread_mutex_lock(&dev->lock);
	users = ctd->use_count;
	pthread_mutex_unlock(&dev->lock);
	if (users)
		return -roce_refuse(EBUSY, "dealloc_td: %u parent domains use it", users);
	free(ctd);
	return 0;
}

static void *allocate(void *ctx, size_t size, size_t alignment, int *out_is_own)
{
	struct compat_pd *parent = ctx;
	void *ptr = parent->alloc(&parent->pd, parent->pd_context, size, alignment, RESOURCE_QUEUE);

	*out_is_own = ptr != IBV_ALLOCATOR_USE_DEFAULT;
	return *out_is_own ? ptr : NULL;
}

static void release(void *ctx, void *ptr)
{
	struct compat_pd *parent = ctx;

	parent->free(&parent->pd, parent->pd_context, ptr, RESOURCE_QUEUE);
}

/* The domain itself, its base and its thread domain are in use as long as the parent domain is. */
static void count_users(struct compat_pd *parent, uint32_t change)
{
	struct roce_device *dev = compat_roce_of(parent->pd.context)->dev;

	pthread_mutex_lock(&dev->lock);
	parent->base->rpd.use_count += change;
	if (parent->td)
		parent->td->use_count += change;
	pthread_mutex_unlock(&dev->lock);
}

struct ibv_pd *compat_alloc_parent_domain(struct ibv_context *context,
					  struct ibv_parent_domain_init_attr *attr)
{
	const uint32_t known =
		IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
	struct compat_pd *parent;

	if (roce_context_is_forked(compat_roce_of(context)))
		return compat_null(-COMPAT_FORKED);
	if (attr->comp_mask & ~known)
		return compat_null(roce_refuse(EOPNOTSUPP, "alloc_parent_domain: comp_mask 0x%x",
					       attr->comp_mask));
	if (!attr->pd || compat_pd_of(attr->pd)->base)
		return compat_null(roce_refuse(EINVAL, "alloc_parent_domain: pd is %s",
					       attr->pd ? "a parent domain itself" : "NULL"));
	if ((attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) &&
	    (!attr->alloc || !attr->free))
		return compat_null(
			roce_refuse(EINVAL, "alloc_parent_domain: alloc or free is NULL"));
	parent = calloc(1, sizeof(*parent));
	if (!parent)
		return compat_null(-ENOMEM);
	parent->pd.context = context;
	parent->pd.handle = compat_next_handle();
	roce_pd_init(&parent->rpd, parent->pd.handle);
	parent->base = compat_pd_of(attr->pd);
	parent->td = attr->td ? roce_container_of(attr->td, struct compat_td, td) : NULL;
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		parent->alloc = attr->alloc;
		parent->free = attr->free;
		parent->allocator = (struct roce_allocator){
			.alloc = allocate, .release = release, .ctx = parent};
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		parent->pd_context = attr->pd_context;
	roce_list_init(&parent->link); /* not to be imported */
	count_users(parent, 1);
	return &parent->pd;
}

void compat_parent_domain_release(struct compat_pd *parent)
{
	count_users(parent, (uint32_t)-1);
}

void compat_pd_hold(struct ibv_pd *pd)
{
	struct compat_pd *cpd = pd ? compat_pd_of(pd) : NULL;

	if (cpd && cpd->base)
		roce_pd_hold(compat_roce_of(pd->context), &cpd->rpd);
}

void compat_pd_drop(struct ibv_pd *pd)
{
	struct compat_pd *cpd = pd ? compat_pd_of(pd) : NULL;
	struct roce_device *dev;
	bool is_last;

	if (!cpd || !cpd->base)
		return;
	dev = compat_roce_of(pd->context)->dev;
	pthread_mutex_lock(&dev->lock);
	is_last = --cpd->rpd.use_count == 0 && cpd->is_unimported;
	pthread_mutex_unlock(&dev->lock);
	if (is_last)
		free(cpd);
}
