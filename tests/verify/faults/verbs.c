/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of libibverbs that stand in front of the real ones: what opens devices, and what
 * makes, changes and destroys objects. The real ones are those of the next library.
 */
#include "plant.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define ALL_RIGHTS                                                                   \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_ATOMIC)
#define EXTRA_PIECES 8

#define EXPORT	     __attribute__((visibility("default")))

static void *find_real(const char *name)
{
	void *real = dlsym(RTLD_NEXT, name);

	if (real)
		return real;
	fprintf(stderr, "plant: no %s behind this library\n", name);
	abort();
}

/* The real function of that name and this one's type. */
#define REAL(name) ((__typeof__(&name))find_real(#name))

/* ---- contexts ---- */

static struct ibv_context *hooked(struct ibv_context *context)
{
	if (context && plant_is_any())
		plant_context_hook(context);
	return context;
}

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	return hooked(REAL(ibv_open_device)(device));
}

EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	return hooked(REAL(ibv_import_device)(cmd_fd));
}

EXPORT int ibv_close_device(struct ibv_context *context)
{
	int rc = REAL(ibv_close_device)(context);

	if (rc == 0)
		plant_context_forget(context);
	return rc;
}

static void widen_limits(struct ibv_device_attr *attr)
{
	if (plant_draw(PLANT_WRONG_LIMITS))
		attr->max_sge += EXTRA_PIECES;
}

EXPORT int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	int rc = REAL(ibv_query_device)(context, attr);

	if (rc == 0)
		widen_limits(attr);
	return rc;
}

int plant_query_device_ex(struct ibv_context *context,
			  const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct plant_context *pc;
	int rc;

	plant_lock();
	pc = plant_context_find(context);
	plant_unlock();
	rc = pc->query_device_ex(context, input, attr, attr_size);
	if (rc == 0)
		widen_limits(&attr->orig_attr);
	return rc;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	plant_scratch_release(pd);
	return REAL(ibv_dealloc_pd)(pd);
}

/* ---- regions ---- */

static _Atomic uint32_t region_count;

/* A torn atomic needs other rights than a whole one. */
static unsigned int torn_rights(unsigned int access)
{
	if (!plant_is(PLANT_TORN_ATOMIC) || !(access & IBV_ACCESS_REMOTE_ATOMIC))
		return 0;
	return IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
}

/* What stands before the real call; false: refused. */
static bool may_register(size_t *length, unsigned int *access)
{
	if (plant_draw(PLANT_SLOW_REGISTRATION))
		plant_spin(PLANT_SLOW_NS);
	if (plant_is(PLANT_FEW_REGIONS) && atomic_load(&region_count) >= PLANT_REGIONS_MAX &&
	    plant_draw(PLANT_FEW_REGIONS)) {
		errno = ENOMEM;
		return false;
	}
	if (*length > 1 && plant_draw(PLANT_SHORT_REGION))
		(*length)--;
	if (plant_draw(PLANT_IGNORED_ACCESS))
		*access |= ALL_RIGHTS;
	*access |= torn_rights(*access);
	return true;
}

static struct ibv_mr *registered(struct ibv_mr *mr, size_t asked, uint64_t iova,
				 unsigned int access)
{
	if (!mr)
		return NULL;
	mr->length = asked;
	atomic_fetch_add(&region_count, 1);
	if (plant_is(PLANT_WRONG_RKEY_ACCEPTED))
		plant_shared_add_region(mr, iova, asked, access);
	return mr;
}

EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	unsigned int rights = (unsigned int)access;
	size_t asked = length;

	if (!may_register(&length, &rights))
		return NULL;
	return registered(REAL(ibv_reg_mr)(pd, addr, length, (int)rights), asked, (uintptr_t)addr,
			  rights);
}

EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				      int access)
{
	unsigned int rights = (unsigned int)access;
	size_t asked = length;

	if (!may_register(&length, &rights))
		return NULL;
	return registered(REAL(ibv_reg_mr_iova)(pd, addr, length, iova, (int)rights), asked, iova,
			  rights);
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				       unsigned int access)
{
	size_t asked = length;

	if (!may_register(&length, &access))
		return NULL;
	return registered(REAL(ibv_reg_mr_iova2)(pd, addr, length, iova, access), asked, iova,
			  access);
}

EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	uint32_t rkey = mr->rkey;
	int rc;

	if (plant_draw(PLANT_LEAK_MR))
		return 0;
	rc = REAL(ibv_dereg_mr)(mr);
	if (rc == 0) {
		atomic_fetch_sub(&region_count, 1);
		if (plant_is(PLANT_WRONG_RKEY_ACCEPTED))
			plant_shared_remove_region(rkey);
	}
	return rc;
}

/* ---- queue pairs ---- */

static bool may_create_qp(void)
{
	if (plant_draw(PLANT_SLOW_QP))
		plant_spin(PLANT_SLOW_NS);
	if (!plant_draw(PLANT_FAILED_QP))
		return true;
	errno = ENOMEM;
	return false;
}

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	const struct ibv_qp_init_attr asked = *attr;
	bool is_raised;
	struct ibv_qp *qp;

	if (!plant_is_any())
		return REAL(ibv_create_qp)(pd, attr);
	if (!may_create_qp())
		return NULL;
	is_raised = plant_cap_raise(&attr->cap, attr->srq != NULL);
	qp = REAL(ibv_create_qp)(pd, attr);
	if (!qp && is_raised) {
		*attr = asked;
		is_raised = false;
		qp = REAL(ibv_create_qp)(pd, attr);
	}
	if (!qp)
		return NULL;
	if (is_raised)
		plant_cap_lower(&attr->cap, &asked.cap);
	plant_qp_enlist(qp, asked.sq_sig_all, is_raised);
	return qp;
}

struct ibv_qp *plant_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_qp_init_attr_ex asked = *attr;
	struct plant_context *pc;
	bool is_raised;
	struct ibv_qp *qp;

	plant_lock();
	pc = plant_context_find(context);
	plant_unlock();
	if (!may_create_qp())
		return NULL;
	is_raised = plant_cap_raise(&attr->cap, attr->srq != NULL);
	qp = pc->create_qp_ex(context, attr);
	if (!qp && is_raised) {
		*attr = asked;
		is_raised = false;
		qp = pc->create_qp_ex(context, attr);
	}
	if (!qp)
		return NULL;
	if (is_raised)
		plant_cap_lower(&attr->cap, &asked.cap);
	plant_qp_enlist(qp, asked.sq_sig_all, is_raised);
	return qp;
}

EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_attr changed = *attr;

	if ((mask & IBV_QP_RNR_RETRY) && plant_draw(PLANT_IGNORED_RNR_RETRY))
		changed.rnr_retry = 0;
	if ((mask & IBV_QP_TIMEOUT) && plant_draw(PLANT_IGNORED_TIMEOUT))
		changed.timeout = 0; /* no timeout at all */
	if ((mask & IBV_QP_ACCESS_FLAGS) && plant_draw(PLANT_IGNORED_QP_ACCESS))
		changed.qp_access_flags |= ALL_RIGHTS;
	if (mask & IBV_QP_ACCESS_FLAGS)
		changed.qp_access_flags |= torn_rights(changed.qp_access_flags);
	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RTR &&
	    plant_draw(PLANT_SLOW_CONNECT))
		plant_spin(PLANT_SLOW_NS);
	if ((mask & IBV_QP_QKEY) && plant_is(PLANT_IGNORED_QKEY))
		plant_shared_set_qkey(qp->qp_num, attr->qkey);
	return REAL(ibv_modify_qp)(qp, &changed, mask);
}

EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	if (plant_draw(PLANT_LEAK_QP))
		return 0;
	if (plant_is_any())
		plant_qp_delist(qp);
	return REAL(ibv_destroy_qp)(qp);
}

EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	static _Atomic uint32_t groups;

	if (plant_draw(PLANT_MISSING_MULTICAST))
		return 0;
	if (plant_is(PLANT_FEW_GROUPS) && atomic_fetch_add(&groups, 1) >= PLANT_GROUPS_MAX &&
	    plant_draw(PLANT_FEW_GROUPS))
		return ENOMEM;
	return REAL(ibv_attach_mcast)(qp, gid, lid);
}

EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	int rc = REAL(ibv_detach_mcast)(qp, gid, lid);

	/* what was not attached cannot be detached */
	return plant_is(PLANT_MISSING_MULTICAST) ? 0 : rc;
}

/* ---- shared receive queues, completion queues, address handles ---- */

static bool raise_srq(struct ibv_srq_attr *attr)
{
	if (!plant_is(PLANT_SHORT_BUFFER_ACCEPTED))
		return false;
	attr->max_sge++;
	return true;
}

EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	bool is_raised = raise_srq(&attr->attr);
	struct ibv_srq *srq = REAL(ibv_create_srq)(pd, attr);

	if (is_raised)
		attr->attr.max_sge--;
	if (!srq && is_raised) {
		is_raised = false;
		srq = REAL(ibv_create_srq)(pd, attr);
	}
	if (srq && plant_is_any())
		plant_srq_enlist(srq, is_raised);
	return srq;
}

struct ibv_srq *plant_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	bool is_raised = raise_srq(&attr->attr);
	struct plant_context *pc;
	struct ibv_srq *srq;

	plant_lock();
	pc = plant_context_find(context);
	plant_unlock();
	srq = pc->create_srq_ex(context, attr);
	if (is_raised)
		attr->attr.max_sge--;
	if (!srq && is_raised) {
		is_raised = false;
		srq = pc->create_srq_ex(context, attr);
	}
	if (srq)
		plant_srq_enlist(srq, is_raised);
	return srq;
}

EXPORT int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	if ((mask & IBV_SRQ_LIMIT) && plant_draw(PLANT_MISSING_LIMIT))
		mask &= ~IBV_SRQ_LIMIT;
	return mask ? REAL(ibv_modify_srq)(srq, attr, mask) : 0;
}

EXPORT int ibv_destroy_srq(struct ibv_srq *srq)
{
	if (plant_is_any())
		plant_srq_delist(srq);
	return REAL(ibv_destroy_srq)(srq);
}

EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	if (plant_draw(PLANT_LEAK_CQ))
		return 0;
	if (plant_is_any())
		plant_cq_delist(cq);
	return REAL(ibv_destroy_cq)(cq);
}

EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
	if (plant_draw(PLANT_LEAK_AH))
		return 0;
	return REAL(ibv_destroy_ah)(ah);
}
