/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Importing: another name, in the same process, of a device, a domain, a region or device memory
 * that exists. A context is known by its command descriptor, of which any duplicate will do; other
 * objects by their handle. What was imported is a reference: the first owner still ends the object.
 *
 * Objects live in the memory of their process, so there is nothing to import from another one.
 */
#include "compat/libibverbs/compat.h"

#include "verbs/refuse.h"

#include <stdlib.h>
#include <sys/stat.h>

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct roce_list contexts = {&contexts, &contexts};
static struct roce_list pds = {&pds, &pds};
static struct roce_list dms = {&dms, &dms};

static void add(struct roce_list *list, struct roce_list *link)
{
	pthread_mutex_lock(&registry_lock);
	roce_list_add_tail(list, link);
	pthread_mutex_unlock(&registry_lock);
}

static void drop(struct roce_list *link)
{
	pthread_mutex_lock(&registry_lock);
	roce_list_remove(link);
	pthread_mutex_unlock(&registry_lock);
}

void compat_context_enlist(struct compat_context *cc)
{
	add(&contexts, &cc->link);
}

void compat_context_delist(struct compat_context *cc)
{
	drop(&cc->link);
}

void compat_pd_enlist(struct compat_pd *pd)
{
	add(&pds, &pd->link);
}

void compat_pd_delist(struct compat_pd *pd)
{
	drop(&pd->link);
}

void compat_dm_enlist(struct compat_dm *dm)
{
	add(&dms, &dm->link);
}

void compat_dm_delist(struct compat_dm *dm)
{
	drop(&dm->link);
}

/* ---- device ---- */

static struct compat_device *device_behind(const struct stat *st)
{
	struct compat_device *found = NULL;
	struct roce_list *it;

	pthread_mutex_lock(&registry_lock);
	roce_list_for_each (it, &contexts) {
		struct compat_context *cc = roce_container_of(it, struct compat_context, link);
		struct stat own;

		if (!found && !roce_context_is_forked(&cc->ctx) &&
		    fstat(cc->vctx.context.cmd_fd, &own) == 0 && own.st_dev == st->st_dev &&
		    own.st_ino == st->st_ino)
			found = compat_device_of(cc->vctx.context.device);
	}
	pthread_mutex_unlock(&registry_lock);
	return found;
}

struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct compat_device *device;
	struct stat st;

	if (fstat(cmd_fd, &st) < 0)
		return compat_null(-EBADF);
	device = device_behind(&st);
	if (!device)
		return compat_null(roce_refuse(
			EOPNOTSUPP,
			"import_device: the descriptor is of no context of this process"));
	return compat_open_device(device, cmd_fd);
}

/* ---- domains ---- */

static bool is_same_device(const struct ibv_context *a, const struct ibv_context *b)
{
	return compat_roce_of((struct ibv_context *)a)->dev ==
	       compat_roce_of((struct ibv_context *)b)->dev;
}

static struct compat_pd *find_pd(struct ibv_context *context, uint32_t handle)
{
	struct compat_pd *found = NULL;
	struct roce_list *it;

	pthread_mutex_lock(&registry_lock);
	roce_list_for_each (it, &pds) {
		struct compat_pd *pd = roce_container_of(it, struct compat_pd, link);

		if (pd->pd.handle == handle && is_same_device(pd->pd.context, context))
			found = pd;
	}
	pthread_mutex_unlock(&registry_lock);
	return found;
}

struct ibv_pd *ibv_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	struct compat_pd *base;
	struct compat_pd *pd;

	if (roce_context_is_forked(compat_roce_of(context)))
		return compat_null(-COMPAT_FORKED);
	base = find_pd(context, pd_handle);
	if (!base)
		return compat_null(roce_refuse(ENOENT, "import_pd: no domain %u", pd_handle));
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return compat_null(-ENOMEM);
	pd->pd.context = context;
	pd->pd.handle = pd_handle;
	pd->base = base;
	roce_list_init(&pd->link);
	roce_pd_init(&pd->rpd, pd_handle);
	return &pd->pd;
}

/* Programs do so with queue pairs still in it. */
void ibv_unimport_pd(struct ibv_pd *pd)
{
	compat_pd_of(pd)->is_unimported = true;
	compat_pd_hold(pd);
	compat_pd_drop(pd);
}

/* ---- regions ---- */

static bool copy_mr(struct ibv_context *context, uint32_t handle, struct ibv_mr *out)
{
	struct roce_device *dev = compat_roce_of(context)->dev;
	struct roce_list *it, *at;
	bool found = false;

	pthread_mutex_lock(&dev->lock);
	roce_list_for_each (it, &dev->contexts) {
		struct roce_context *ctx = roce_container_of(it, struct roce_context, link);

		roce_list_for_each (at, &ctx->mrs) {
			struct roce_verbs_mr *vmr =
				roce_container_of(at, struct roce_verbs_mr, link);
			struct compat_mr *mr = roce_container_of(vmr, struct compat_mr, vmr);

			if (mr->mr.handle == handle) {
				*out = mr->mr;
				found = true;
			}
		}
	}
	pthread_mutex_unlock(&dev->lock);
	return found;
}

struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	struct compat_mr *mr;

	if (roce_context_is_forked(compat_roce_of(pd->context)))
		return compat_null(-COMPAT_FORKED);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return compat_null(-ENOMEM);
	if (!copy_mr(pd->context, mr_handle, &mr->mr)) {
		free(mr);
		return compat_null(roce_refuse(ENOENT, "import_mr: no region %u", mr_handle));
	}
	mr->mr.context = pd->context;
	mr->mr.pd = pd;
	mr->mr.addr = NULL; /* the program sets it, it knows where it is */
	return &mr->mr;
}

void ibv_unimport_mr(struct ibv_mr *mr)
{
	free(compat_mr_of(mr));
}

/* ---- device memory ---- */

struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	struct compat_dm *copy = calloc(1, sizeof(*copy));
	struct roce_list *it;

	if (!copy)
		return compat_null(-ENOMEM);
	pthread_mutex_lock(&registry_lock);
	roce_list_for_each (it, &dms) {
		struct compat_dm *dm = roce_container_of(it, struct compat_dm, link);

		if (dm->dm.handle == dm_handle && is_same_device(dm->dm.context, context))
			*copy = *dm;
	}
	pthread_mutex_unlock(&registry_lock);
	if (!copy->bytes) {
		free(copy);
		return compat_null(
			roce_refuse(ENOENT, "import_dm: no device memory %u", dm_handle));
	}
	copy->dm.context = context;
	copy->use_count = 0;
	return &copy->dm;
}

void ibv_unimport_dm(struct ibv_dm *dm)
{
	free(roce_container_of(dm, struct compat_dm, dm));
}
