/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address handles, and how to answer the sender of a received datagram: from the 40 bytes before
 * its payload, which hold an IPv6-style GRH or, in their last 20 bytes, an IPv4 header.
 */
#include "compat/libibverbs/compat.h"

#include "base/bytes.h"
#include "verbs/refuse.h"

#include <stdlib.h>

#define IPV4_AT	    20 /* offset of an IPv4 header in the GRH's place */
#define IPV4_SRC_AT (IPV4_AT + 12)
#define IPV4_DST_AT (IPV4_AT + 16)
#define IPV4_TOS_AT (IPV4_AT + 1)
#define IPV4_TTL_AT (IPV4_AT + 8)

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct roce_context *ctx = compat_roce_of(pd->context);
	struct compat_ah *ah;
	struct roce_av av;
	int err;

	if (roce_context_is_forked(ctx))
		return compat_null(-COMPAT_FORKED);
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return compat_null(-ENOMEM);
	compat_av_from_ah_attr(&av, attr);
	err = roce_ah_init(&ah->rah, ctx, compat_rpd_of(pd), &av);
	if (err) {
		free(ah);
		return compat_null(err);
	}
	compat_pd_hold(pd);
	ah->ah.context = pd->context;
	ah->ah.pd = pd;
	ah->ah.handle = compat_next_handle();
	return &ah->ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	if (roce_context_is_forked(compat_roce_of(ah->context)))
		return COMPAT_FORKED;
	roce_ah_fini(&compat_ah_of(ah)->rah);
	compat_pd_drop(ah->pd);
	free(compat_ah_of(ah));
	return 0;
}

static void gid_from_ipv4(struct roce_gid *gid, const uint8_t *ip)
{
	*gid = (struct roce_gid){.raw = {[10] = 0xff, [11] = 0xff}};
	memcpy(&gid->raw[12], ip, 4);
}

/* The first byte of an IPv4 header without options; an IPv6-style header has 6 in its own first
 * nibble. What stands before an IPv4 header is not defined, so that is looked at first. */
static bool is_ipv4(const uint8_t *grh)
{
	return grh[IPV4_AT] == 0x45 && grh[0] >> 4 != 6;
}

static int find_gid(struct roce_device *dev, const struct roce_gid *wanted, uint8_t *out_index)
{
	for (uint32_t i = 0; i < 256; i++) {
		struct roce_gid gid;
		uint32_t ifindex;

		if (dev->env->query_gid(dev->env_ctx, i, &gid, &ifindex) == 0 &&
		    roce_gid_is_equal(&gid, wanted)) {
			*out_index = (uint8_t)i;
			return 0;
		}
	}
	return roce_refuse(ENOENT,
			   "init_ah_from_wc: the datagram's destination is in no GID entry");
}

/* The hop limit is the received one, as rdma-core's library has it; 255 is what management
 * datagrams are answered with. */
int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
			struct ibv_grh *grh, struct ibv_ah_attr *ah_attr)
{
	const uint8_t *bytes = (const uint8_t *)grh;
	struct roce_gid src;
	struct roce_gid dst;
	int err;

	memset(ah_attr, 0, sizeof(*ah_attr));
	ah_attr->dlid = wc->slid;
	ah_attr->sl = wc->sl;
	ah_attr->src_path_bits = wc->dlid_path_bits;
	ah_attr->port_num = port_num;
	if (!(wc->wc_flags & IBV_WC_GRH))
		return 0;
	ah_attr->is_global = 1;
	if (is_ipv4(bytes)) {
		gid_from_ipv4(&src, bytes + IPV4_SRC_AT);
		gid_from_ipv4(&dst, bytes + IPV4_DST_AT);
		ah_attr->grh.hop_limit = bytes[IPV4_TTL_AT];
		ah_attr->grh.traffic_class = bytes[IPV4_TOS_AT];
	} else {
		uint32_t vtf = roce_get_be32(bytes);

		memcpy(src.raw, grh->sgid.raw, sizeof(src.raw));
		memcpy(dst.raw, grh->dgid.raw, sizeof(dst.raw));
		ah_attr->grh.hop_limit = grh->hop_limit;
		ah_attr->grh.flow_label = vtf & 0xfffff;
		ah_attr->grh.traffic_class = (uint8_t)(vtf >> 20);
	}
	memcpy(ah_attr->grh.dgid.raw, src.raw, sizeof(src.raw));
	err = find_gid(compat_roce_of(context)->dev, &dst, &ah_attr->grh.sgid_index);
	return err ? compat_minus_one(err) : 0;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr))
		return NULL;
	return ibv_create_ah(pd, &attr);
}
