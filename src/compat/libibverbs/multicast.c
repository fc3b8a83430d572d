/* SPDX-License-Identifier: BSD-2-Clause */
/* Attaching UD queue pairs to multicast groups; the LID of other networks is ignored. */
#include "compat/libibverbs/compat.h"

static struct roce_gid gid_of(const union ibv_gid *gid)
{
	struct roce_gid out;

	memcpy(out.raw, gid->raw, sizeof(out.raw));
	return out;
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct roce_verbs_qp *vqp = compat_vqp_of(qp);
	struct roce_gid mgid = gid_of(gid);

	(void)lid;
	if (roce_context_is_forked(vqp->ctx))
		return COMPAT_FORKED;
	return -roce_verbs_qp_attach(vqp, &mgid);
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct roce_verbs_qp *vqp = compat_vqp_of(qp);
	struct roce_gid mgid = gid_of(gid);

	(void)lid;
	if (roce_context_is_forked(vqp->ctx))
		return COMPAT_FORKED;
	return -roce_verbs_qp_detach_group(vqp, &mgid);
}
