/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast: a UD queue pair that is attached to a group gets a copy of each of its packets. The
 * network side (joining the IP group) is the environment's, counted by attachment.
 */
#include "verbs/qp_verbs.h"

#include "verbs/limits.h"
#include "verbs/refuse.h"

#include <errno.h>
#include <stdlib.h>

struct attachment {
	struct roce_group_member member;
	struct roce_list link; /* vqp->groups */
};

static int check(const struct roce_verbs_qp *vqp, const char *call, const struct roce_gid *mgid)
{
	if (vqp->qp.cfg.type != ROCE_QP_UD)
		return roce_refuse(EINVAL, "%s: QP 0x%06x is not a UD one", call,
				   vqp->qp.cfg.qpn.v);
	if (!roce_gid_is_multicast(mgid))
		return roce_refuse(EINVAL, "%s: the GID is not a multicast one", call);
	return 0;
}

static int attach(struct roce_verbs_qp *vqp, const struct roce_gid *mgid, struct attachment *a)
{
	struct roce_device *dev = vqp->ctx->dev;
	int err;

	if (dev->mcast_count >= ROCE_MAX_MCAST_ATTACH)
		return roce_refuse(ENOMEM, "attach_mcast: all %u attachments are in use",
				   ROCE_MAX_MCAST_ATTACH);
	err = dev->env->join_group(dev->env_ctx, mgid);
	if (err)
		return err;
	roce_group_attach(&dev->transport, &a->member, mgid, &vqp->qp);
	roce_list_add_tail(&vqp->groups, &a->link);
	dev->mcast_count++;
	return 0;
}

int roce_verbs_qp_attach(struct roce_verbs_qp *vqp, const struct roce_gid *mgid)
{
	struct roce_device *dev = vqp->ctx->dev;
	int err = check(vqp, "attach_mcast", mgid);
	struct attachment *a;

	if (err)
		return err;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	pthread_mutex_lock(&dev->lock);
	if (roce_group_find(&dev->transport, mgid, &vqp->qp)) { /* once more changes nothing */
		pthread_mutex_unlock(&dev->lock);
		free(a);
		return 0;
	}
	err = attach(vqp, mgid, a);
	pthread_mutex_unlock(&dev->lock);
	if (err)
		free(a);
	return err;
}

static void detach(struct roce_verbs_qp *vqp, struct attachment *a)
{
	struct roce_device *dev = vqp->ctx->dev;
	struct roce_gid mgid = a->member.mgid;

	roce_group_detach(&a->member);
	roce_list_remove(&a->link);
	dev->mcast_count--;
	free(a);
	dev->env->leave_group(dev->env_ctx, &mgid);
}

int roce_verbs_qp_detach_group(struct roce_verbs_qp *vqp, const struct roce_gid *mgid)
{
	struct roce_device *dev = vqp->ctx->dev;
	int err = check(vqp, "detach_mcast", mgid);
	struct roce_group_member *member;

	if (err)
		return err;
	pthread_mutex_lock(&dev->lock);
	member = roce_group_find(&dev->transport, mgid, &vqp->qp);
	if (member)
		detach(vqp, roce_container_of(member, struct attachment, member));
	pthread_mutex_unlock(&dev->lock);
	return member ? 0
		      : roce_refuse(EINVAL, "detach_mcast: QP 0x%06x is not attached to the group",
				    vqp->qp.cfg.qpn.v);
}

void roce_verbs_qp_leave_groups(struct roce_verbs_qp *vqp)
{
	struct roce_list *it, *next;

	roce_list_for_each_safe (it, next, &vqp->groups)
		detach(vqp, roce_container_of(it, struct attachment, link));
}
