/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device memory: memory of the library's own that programs reach only by copy calls and by regions
 * with offsets from 0. Copies are of whole words, as on adapters that have such memory on chip.
 *
 * Nothing of it is shared with another process, so a forked child may use it, too.
 */
#include "compat/libibverbs/compat.h"

#include "verbs/limits.h"
#include "verbs/refuse.h"

#include <stdlib.h>

#define WORD	      4u
#define ALIGNMENT_MIN 6u /* log2 */
#define ALIGNMENT_MAX 12u

static struct compat_dm *dm_of(struct ibv_dm *dm)
{
	return roce_container_of(dm, struct compat_dm, dm);
}

static int check_copy(const struct compat_dm *dm, uint64_t offset, size_t length)
{
	if (offset % WORD || length % WORD)
		return roce_refuse(EINVAL, "memcpy of device memory: offset and length are not "
					   "multiples of 4");
	if (offset > dm->length || length > dm->length - offset)
		return roce_refuse(EINVAL, "memcpy of device memory: outside of its %zu bytes",
				   dm->length);
	return 0;
}

static int copy_to_dm(struct ibv_dm *dm, uint64_t dm_offset, const void *host_addr, size_t length)
{
	struct compat_dm *cdm = dm_of(dm);
	int err = check_copy(cdm, dm_offset, length);

	if (!err)
		memcpy(cdm->bytes + dm_offset, host_addr, length);
	return -err;
}

static int copy_from_dm(void *host_addr, struct ibv_dm *dm, uint64_t dm_offset, size_t length)
{
	struct compat_dm *cdm = dm_of(dm);
	int err = check_copy(cdm, dm_offset, length);

	if (!err)
		memcpy(host_addr, cdm->bytes + dm_offset, length);
	return -err;
}

static bool take_room(struct roce_device *dev, size_t length)
{
	bool fits;

	pthread_mutex_lock(&dev->lock);
	fits = length <= ROCE_MAX_DM_BYTES - dev->dm_bytes;
	if (fits)
		dev->dm_bytes += length;
	pthread_mutex_unlock(&dev->lock);
	return fits;
}

static void give_room_back(struct roce_device *dev, size_t length)
{
	pthread_mutex_lock(&dev->lock);
	dev->dm_bytes -= length;
	pthread_mutex_unlock(&dev->lock);
}

struct ibv_dm *compat_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct roce_device *dev = compat_roce_of(context)->dev;
	uint32_t log_align =
		attr->log_align_req > ALIGNMENT_MIN ? attr->log_align_req : ALIGNMENT_MIN;
	struct compat_dm *dm;

	if (attr->comp_mask)
		return compat_null(
			roce_refuse(EOPNOTSUPP, "alloc_dm: comp_mask 0x%x", attr->comp_mask));
	if (attr->length == 0 || attr->length > ROCE_MAX_DM_BYTES || log_align > ALIGNMENT_MAX)
		return compat_null(roce_refuse(EINVAL, "alloc_dm: length %zu, alignment 1 << %u",
					       attr->length, attr->log_align_req));
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return compat_null(-ENOMEM);
	if (!take_room(dev, attr->length)) {
		free(dm);
		return compat_null(roce_refuse(ENOMEM, "alloc_dm: %u bytes are all there is",
					       ROCE_MAX_DM_BYTES));
	}
	if (posix_memalign((void **)&dm->bytes, (size_t)1 << log_align, attr->length + 1)) {
		give_room_back(dev, attr->length);
		free(dm);
		return compat_null(-ENOMEM);
	}
	memset(dm->bytes, 0, attr->length);
	dm->length = attr->length;
	dm->dm.context = context;
	dm->dm.memcpy_to_dm = copy_to_dm;
	dm->dm.memcpy_from_dm = copy_from_dm;
	dm->dm.handle = compat_next_handle();
	compat_dm_enlist(dm);
	return &dm->dm;
}

int compat_free_dm(struct ibv_dm *dm)
{
	struct compat_dm *cdm = dm_of(dm);
	struct roce_device *dev = compat_roce_of(dm->context)->dev;
	uint32_t users;

	pthread_mutex_lock(&dev->lock);
	users = cdm->use_count;
	pthread_mutex_unlock(&dev->lock);
	if (users)
		return -roce_refuse(EBUSY, "free_dm: %u regions are in it", users);
	compat_dm_delist(cdm);
	give_room_back(dev, cdm->length);
	free(cdm->bytes);
	free(cdm);
	return 0;
}

struct ibv_mr *compat_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t dm_offset,
				size_t length, unsigned int access)
{
	struct compat_dm *cdm = dm_of(dm);
	struct ibv_mr *mr;

	if (!(access & IBV_ACCESS_ZERO_BASED))
		return compat_null(roce_refuse(EINVAL, "reg_dm_mr: access lacks ZERO_BASED"));
	if (dm_offset > cdm->length || length > cdm->length - dm_offset)
		return compat_null(
			roce_refuse(EINVAL, "reg_dm_mr: outside of the %zu bytes", cdm->length));
	/* An empty region is of no use, but allowed in this memory. */
	mr = compat_register(pd, cdm->bytes + dm_offset, length ? length : 1, 0, access);
	if (!mr)
		return NULL;
	mr->addr = NULL; /* the program has no address of it */
	mr->length = length;
	compat_mr_of(mr)->dm = cdm;
	pthread_mutex_lock(&compat_roce_of(pd->context)->dev->lock);
	compat_mr_of(mr)->vmr.mr.length = length;
	cdm->use_count++;
	pthread_mutex_unlock(&compat_roce_of(pd->context)->dev->lock);
	return mr;
}

void compat_dm_drop(struct compat_dm *dm)
{
	struct roce_device *dev = compat_roce_of(dm->dm.context)->dev;

	pthread_mutex_lock(&dev->lock);
	dm->use_count--;
	pthread_mutex_unlock(&dev->lock);
}
