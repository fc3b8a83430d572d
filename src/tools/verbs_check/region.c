/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions of all kinds. Whatever the kind, a region's bytes have their place in the side's
 * memory; those of device memory are copied there before they are looked at. A region that is
 * registered anew was first another one: shorter, with other rights, or in another domain.
 */
#include <errno.h>
#include <string.h>

#include "tools/verbs_check/endpoint.h"

static enum vc_verdict refuse(const struct vc_mr *mr, const char *call, struct vc_report *report)
{
	return vc_report_unusable(report, "%s of %zu bytes with access 0x%x: %s", call,
				  (size_t)mr->length, mr->access, strerror(errno));
}

static enum vc_verdict reregister(struct vc_endpoint *endpoint, struct vc_device *device,
				  const struct vc_mr *mr, uint32_t m, uint8_t *bytes,
				  struct vc_report *report)
{
	int flags = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD |
		    IBV_REREG_MR_CHANGE_ACCESS;
	int error;

	endpoint->mrs[m] = ibv_reg_mr(device->pds[!mr->pd], bytes, 1 + mr->length / 2, 0);
	if (!endpoint->mrs[m])
		return refuse(mr, "ibv_reg_mr", report);
	error = ibv_rereg_mr(endpoint->mrs[m], flags, device->pds[mr->pd], bytes, mr->length,
			     (int)mr->access);
	if (error)
		return vc_report_wrong(report,
				       "ibv_rereg_mr of %zu bytes with access 0x%x: %d (%s)",
				       (size_t)mr->length, mr->access, error, strerror(errno));
	if (endpoint->mrs[m]->pd != device->pds[mr->pd] || endpoint->mrs[m]->addr != bytes ||
	    endpoint->mrs[m]->length != mr->length)
		return vc_report_wrong(report, "ibv_rereg_mr left the region's old attributes");
	return VC_RIGHT;
}

/* Copies are of whole words; the last ones go beyond the region, where nobody may write. */
static size_t dm_bytes(const struct vc_mr *mr)
{
	return (mr->length + 3) & ~(size_t)3;
}

static enum vc_verdict register_dm(struct vc_endpoint *endpoint, struct vc_device *device,
				   const struct vc_mr *mr, uint32_t m, const uint8_t *bytes,
				   struct vc_report *report)
{
	struct ibv_alloc_dm_attr attr = {.length = dm_bytes(mr)};
	int error;

	endpoint->dms[m] = ibv_alloc_dm(device->context, &attr);
	if (!endpoint->dms[m])
		return refuse(mr, "ibv_alloc_dm", report);
	endpoint->mrs[m] = ibv_reg_dm_mr(device->pds[mr->pd], endpoint->dms[m], 0, mr->length,
					 mr->access | IBV_ACCESS_ZERO_BASED);
	if (!endpoint->mrs[m])
		return refuse(mr, "ibv_reg_dm_mr", report);
	error = ibv_memcpy_to_dm(endpoint->dms[m], 0, bytes, dm_bytes(mr));
	if (error)
		return vc_report_wrong(report, "ibv_memcpy_to_dm: %s", strerror(error));
	return VC_RIGHT;
}

static enum vc_verdict create_one(struct vc_endpoint *endpoint, struct vc_device *device,
				  const struct vc_mr *mr, uint32_t m, uint8_t *bytes,
				  struct vc_report *report)
{
	unsigned int access = mr->access;

	endpoint->bases[m] = (uintptr_t)bytes;
	switch (mr->kind) {
	case VC_MR_REREG:
		return reregister(endpoint, device, mr, m, bytes, report);
	case VC_MR_DM:
		endpoint->bases[m] = 0;
		return register_dm(endpoint, device, mr, m, bytes, report);
	case VC_MR_IMPLICIT:
		access |= IBV_ACCESS_ON_DEMAND;
		endpoint->mrs[m] = ibv_reg_mr(device->pds[mr->pd], NULL, SIZE_MAX, access);
		break;
	case VC_MR_ODP:
		access |= IBV_ACCESS_ON_DEMAND;
		endpoint->mrs[m] = ibv_reg_mr(device->pds[mr->pd], bytes, mr->length, access);
		break;
	case VC_MR_PLAIN:
		endpoint->mrs[m] = ibv_reg_mr(device->pds[mr->pd], bytes, mr->length, access);
		break;
	}
	return endpoint->mrs[m] ? VC_RIGHT : refuse(mr, "ibv_reg_mr", report);
}

enum vc_verdict vc_region_create_all(struct vc_endpoint *endpoint, struct vc_device *device,
				     const struct vc_side *side, const struct vc_memory *memory,
				     struct vc_report *report)
{
	enum vc_verdict verdict = VC_RIGHT;

	for (uint32_t m = 0; m < side->mr_count && verdict == VC_RIGHT; m++)
		verdict = create_one(endpoint, device, &side->mrs[m], m,
				     memory->bytes + side->mrs[m].base, report);
	return verdict;
}

enum vc_verdict vc_region_fetch(const struct vc_endpoint *endpoint, const struct vc_side *side,
				const struct vc_memory *memory, struct vc_report *report)
{
	for (uint32_t m = 0; m < side->mr_count; m++) {
		int error;

		if (!endpoint->dms[m])
			continue;
		error = ibv_memcpy_from_dm(memory->bytes + side->mrs[m].base, endpoint->dms[m], 0,
					   dm_bytes(&side->mrs[m]));
		if (error)
			return vc_report_wrong(report, "ibv_memcpy_from_dm: %s", strerror(error));
	}
	return VC_RIGHT;
}

void vc_region_destroy_all(struct vc_endpoint *endpoint, struct vc_report *report)
{
	for (uint32_t m = 0; m < VC_MR_MAX; m++) {
		int error = endpoint->mrs[m] ? ibv_dereg_mr(endpoint->mrs[m]) : 0;

		if (error)
			(void)vc_report_wrong(report, "ibv_dereg_mr: %s", strerror(error));
		error = endpoint->dms[m] ? ibv_free_dm(endpoint->dms[m]) : 0;
		if (error)
			(void)vc_report_wrong(report, "ibv_free_dm: %s", strerror(error));
	}
}
