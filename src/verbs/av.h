/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address vectors: what a program says about a destination, checked and turned into the path that
 * packets take. Used for the primary path of a connected queue pair and for address handles.
 */
#ifndef ROCE_VERBS_AV_H
#define ROCE_VERBS_AV_H

#include "verbs/context.h"

struct roce_av {
	struct roce_gid dgid;
	uint32_t flow_label;
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t sl;
	uint8_t port_num;
	bool is_global;
};

/* -EINVAL with a line that names `call` and the field. The device lock need not be held. */
int roce_av_resolve(struct roce_device *dev, const char *call, const struct roce_av *av,
		    struct roce_path *out);

/* Holds the GID index of a resolved path until env->release_gid(). -EINVAL as above when the
 * address has left since, -ENOTCONN in a forked child. */
int roce_av_hold(struct roce_device *dev, const char *call, const struct roce_path *path);

/* An address handle: a resolved path of a domain, which holds its GID index. */
struct roce_ah {
	struct roce_context *ctx;
	struct roce_pd *pd;
	struct roce_path path;
};

/* -EINVAL as roce_av_resolve(), -ENOMEM: all handles of the device are in use. */
int roce_ah_init(struct roce_ah *ah, struct roce_context *ctx, struct roce_pd *pd,
		 const struct roce_av *av);
void roce_ah_fini(struct roce_ah *ah);

#endif
