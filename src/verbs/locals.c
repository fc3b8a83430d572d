/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A UD queue pair receives on every address of its device and sends from any of them: they are
 * opened when it becomes able to receive. From then on it follows the port: addresses that come are
 * opened, those that leave are closed.
 */
#include "verbs/qp_verbs.h"

#include <errno.h>
#include <stdlib.h>

static bool is_among(const struct roce_gid *gid, const struct roce_gid *gids, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (roce_gid_is_equal(&gids[i], gid))
			return true;
	}
	return false;
}

static int open_one(struct roce_verbs_qp *vqp, const struct roce_gid *gid)
{
	struct roce_device *dev = vqp->ctx->dev;
	struct roce_gid *grown;
	int err;

	if (is_among(gid, vqp->locals, vqp->local_count))
		return 0;
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

void roce_locals_open(struct roce_verbs_qp *vqp, const struct roce_path *path)
{
	struct roce_device *dev = vqp->ctx->dev;
	struct roce_gid now;
	uint32_t ifindex;

	if (!vqp->has_locals || is_among(&path->sgid, vqp->locals, vqp->local_count))
		return;
	/* An address that has left is not asked for with each datagram. */
	if (dev->env->query_gid(dev->env_ctx, path->sgid_index, &now, &ifindex) == 0 &&
	    roce_gid_is_equal(&now, &path->sgid))
		(void)open_one(vqp, &path->sgid);
}

int roce_locals_read(struct roce_device *dev, struct roce_locals *out)
{
	struct roce_port_info port;
	int err = dev->env->query_port(dev->env_ctx, &port);

	out->count = 0;
	if (err)
		return err;
	for (uint32_t i = 0; i < port.gid_count && i < ROCE_GID_TABLE; i++) {
		struct roce_gid *gid = &out->gids[out->count];
		uint32_t ifindex;

		if (dev->env->query_gid(dev->env_ctx, i, gid, &ifindex) == 0 &&
		    !roce_gid_is_zero(gid))
			out->count++;
	}
	return 0;
}

int roce_locals_open_all(struct roce_verbs_qp *vqp)
{
	struct roce_locals now;
	int err = roce_locals_read(vqp->ctx->dev, &now);
	int first_err = 0;

	if (err)
		return err;
	for (uint32_t i = 0; i < now.count; i++) {
		err = open_one(vqp, &now.gids[i]);
		if (err && !first_err)
			first_err = err;
	}
	vqp->has_locals = vqp->local_count > 0;
	return vqp->has_locals ? 0 : first_err ? first_err : -EADDRNOTAVAIL;
}

void roce_locals_follow(struct roce_verbs_qp *vqp, const struct roce_locals *now)
{
	struct roce_device *dev = vqp->ctx->dev;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < vqp->local_count; i++) {
		if (is_among(&vqp->locals[i], now->gids, now->count))
			vqp->locals[kept++] = vqp->locals[i];
		else
			dev->env->close_address(dev->env_ctx, &vqp->locals[i]);
	}
	vqp->local_count = kept;
	for (uint32_t i = 0; i < now->count; i++)
		(void)open_one(vqp, &now->gids[i]);
}

void roce_locals_close(struct roce_verbs_qp *vqp)
{
	struct roce_device *dev = vqp->ctx->dev;

	for (uint32_t i = 0; i < vqp->local_count; i++)
		dev->env->close_address(dev->env_ctx, &vqp->locals[i]);
	free(vqp->locals);
	vqp->locals = NULL;
	vqp->local_count = 0;
	vqp->has_locals = false;
}
