/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A UD queue pair receives on every address of its device and sends from any of them: they are
 * opened when it becomes able to receive, those that come later when the table changes or a request
 * names one.
 */
#include "verbs/qp_verbs.h"

#include <errno.h>
#include <stdlib.h>

static bool is_open(const struct roce_verbs_qp *vqp, const struct roce_gid *gid)
{
	for (uint32_t i = 0; i < vqp->local_count; i++) {
		if (roce_gid_is_equal(&vqp->locals[i], gid))
			return true;
	}
	return false;
}

static int open_one(struct roce_verbs_qp *vqp, const struct roce_gid *gid)
{
	struct roce_device *dev = vqp->ctx->dev;
	struct roce_gid *grown;
	int err;

	grown = realloc(vqp->locals, (vqp->local_count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	vqp->locals = grown;
	err = dev->env->open_address(dev->env_ctx, gid);
	if (err)
		return err;
	vqp->locals[vqp->local_count++] = *gid;
	return 0;
}

int roce_locals_open(struct roce_verbs_qp *vqp, const struct roce_gid *gid)
{
	return is_open(vqp, gid) ? 0 : open_one(vqp, gid);
}

int roce_locals_open_all(struct roce_verbs_qp *vqp)
{
	struct roce_device *dev = vqp->ctx->dev;
	struct roce_port_info port;
	int err = dev->env->query_port(dev->env_ctx, &port);
	int first_err = 0;

	if (err)
		return err;
	for (uint32_t i = 0; i < port.gid_count; i++) {
		struct roce_gid gid;
		uint32_t ifindex;

		if (dev->env->query_gid(dev->env_ctx, i, &gid, &ifindex) != 0 ||
		    roce_gid_is_zero(&gid))
			continue;
		err = roce_locals_open(vqp, &gid);
		if (err && !first_err)
			first_err = err;
	}
	return vqp->local_count ? 0 : first_err ? first_err : -EADDRNOTAVAIL;
}

void roce_locals_close(struct roce_verbs_qp *vqp)
{
	struct roce_device *dev = vqp->ctx->dev;

	for (uint32_t i = 0; i < vqp->local_count; i++)
		dev->env->close_address(dev->env_ctx, &vqp->locals[i]);
	free(vqp->locals);
	vqp->locals = NULL;
	vqp->local_count = 0;
}
