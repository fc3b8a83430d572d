/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The checks on an address vector. On RoCE every destination is global: the GIDs are the IP
 * addresses, so a missing GRH, an empty table entry or addresses of two families cannot work, and
 * are refused here rather than found out by a time-out.
 */
#include "verbs/av.h"

#include "verbs/limits.h"
#include "verbs/refuse.h"

#include <errno.h>

#define SL_MAX 15u /* 4 bits */

/* 1 is what programs say that do not think of routers; a group may be meant to stay on the link. */
static uint8_t hop_limit_of(const struct roce_av *av)
{
	if (av->hop_limit > 1 || (av->hop_limit == 1 && roce_gid_is_multicast(&av->dgid)))
		return av->hop_limit;
	return ROCE_HOP_LIMIT_DEFAULT;
}

int roce_av_resolve(struct roce_device *dev, const char *call, const struct roce_av *av,
		    struct roce_path *out)
{
	struct roce_gid sgid;
	uint32_t ifindex;

	if (!av->is_global)
		return roce_refuse(EINVAL, "%s: ah_attr.is_global is 0, RoCE needs a GRH", call);
	if (av->port_num != 1)
		return roce_refuse(EINVAL, "%s: ah_attr.port_num %u, the only port is 1", call,
				   av->port_num);
	if (av->sl > SL_MAX) /* a UD completion's may come back here: up to 10 (transport/ud.c) */
		return roce_refuse(EINVAL, "%s: ah_attr.sl %u is above %u", call, av->sl, SL_MAX);
	/* The own index first: programs on both sides often use the same wrong one, and then the
	 * peer's GID is zero for the same reason. */
	if (dev->env->query_gid(dev->env_ctx, av->sgid_index, &sgid, &ifindex) != 0 ||
	    roce_gid_is_zero(&sgid))
		return roce_refuse(EINVAL,
				   "%s: ah_attr.grh.sgid_index %u: GID index %u empty (no such "
				   "IP address on the network device)",
				   call, av->sgid_index, av->sgid_index);
	if (roce_gid_is_zero(&av->dgid))
		return roce_refuse(EINVAL,
				   "%s: ah_attr.grh.dgid is zero: the GID index that the peer told "
				   "of is empty (no IP on its network device there)",
				   call);
	if (roce_gid_is_v4(&sgid) != roce_gid_is_v4(&av->dgid))
		return roce_refuse(
			EINVAL,
			"%s: ah_attr.grh: GID index %u is an IPv%d address, dgid an IPv%d "
			"one",
			call, av->sgid_index, roce_gid_is_v4(&sgid) ? 4 : 6,
			roce_gid_is_v4(&av->dgid) ? 4 : 6);
	*out = (struct roce_path){
		.sgid = sgid,
		.dgid = av->dgid,
		.flow_label = av->flow_label & 0xfffffu,
		.pkey = ROCE_PKEY_DEFAULT,
		.traffic_class = av->traffic_class,
		.hop_limit = hop_limit_of(av),
		.sl = av->sl,
		.sgid_index = av->sgid_index,
	};
	return 0;
}

int roce_av_hold(struct roce_device *dev, const char *call, const struct roce_path *path)
{
	int err = dev->env->hold_gid(dev->env_ctx, path->sgid_index, &path->sgid);

	if (err == -ENOENT)
		return roce_refuse(EINVAL,
				   "%s: ah_attr.grh.sgid_index %u: its address left the network "
				   "device just now",
				   call, path->sgid_index);
	return err;
}

static int enter_device(struct roce_ah *ah)
{
	struct roce_device *dev = ah->ctx->dev;
	int err = 0;

	pthread_mutex_lock(&dev->lock);
	if (dev->ah_count >= ROCE_MAX_AH) {
		err = roce_refuse(ENOMEM, "create_ah: all %u handles are in use", ROCE_MAX_AH);
	} else {
		dev->ah_count++;
		ah->ctx->ah_count++;
		ah->pd->use_count++;
	}
	pthread_mutex_unlock(&dev->lock);
	return err;
}

int roce_ah_init(struct roce_ah *ah, struct roce_context *ctx, struct roce_pd *pd,
		 const struct roce_av *av)
{
	int err;

	*ah = (struct roce_ah){.ctx = ctx, .pd = pd};
	err = roce_av_resolve(ctx->dev, "create_ah", av, &ah->path);
	if (!err)
		err = roce_av_hold(ctx->dev, "create_ah", &ah->path);
	if (err)
		return err;
	err = enter_device(ah);
	if (err)
		ctx->dev->env->release_gid(ctx->dev->env_ctx, ah->path.sgid_index);
	return err;
}

void roce_ah_fini(struct roce_ah *ah)
{
	ah->ctx->dev->env->release_gid(ah->ctx->dev->env_ctx, ah->path.sgid_index);
	pthread_mutex_lock(&ah->ctx->dev->lock);
	ah->ctx->dev->ah_count--;
	ah->ctx->ah_count--;
	ah->pd->use_count--;
	pthread_mutex_unlock(&ah->ctx->dev->lock);
}
