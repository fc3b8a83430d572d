/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a device, its port and its tables are: limits from verbs/limits.h, the port and the GIDs
 * asked from the engine at each call, so that they follow the network device.
 */
#include "compat/libibverbs/compat.h"

#include "compat/preload/port_speed.h"
#include "verbs/limits.h"
#include "verbs/refuse.h"

#include <endian.h>
#include <stdio.h>
#include <time.h>

#define PHYS_STATE_DISABLED 3
#define PHYS_STATE_LINK_UP  5

/* 4.096 us << 14: an answer may take this long on a loaded machine. */
#define ACK_DELAY_CODE 14

#define HCA_CLOCK_KHZ  1000000 /* completion timestamps are nanoseconds */

static void fill_device_attr(struct ibv_context *context, struct ibv_device_attr *attr)
{
	*attr = (struct ibv_device_attr){
		.node_guid = compat_device_of(context->device)->guid_be,
		.sys_image_guid = compat_device_of(context->device)->guid_be,
		.max_mr_size = UINT64_MAX,
		.page_size_cap = UINT64_C(0xfffffffffffff000),
		.vendor_id = 0xffffff,
		.max_qp = ROCE_MAX_QP,
		.max_qp_wr = ROCE_MAX_QP_WR,
		.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
				    IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
				    IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_XRC | IBV_DEVICE_MEM_WINDOW |
				    IBV_DEVICE_MEM_WINDOW_TYPE_2B,
		.max_sge = ROCE_MAX_SGE,
		.max_sge_rd = ROCE_MAX_SGE,
		.max_cq = ROCE_MAX_CQ,
		.max_cqe = ROCE_MAX_CQE,
		.max_mr = ROCE_MAX_MR,
		.max_mw = ROCE_MAX_MW,
		.max_pd = ROCE_MAX_PD,
		.max_qp_rd_atom = ROCE_MAX_RD_ATOMIC,
		.max_res_rd_atom = ROCE_MAX_RD_ATOMIC * ROCE_MAX_QP,
		.max_qp_init_rd_atom = ROCE_MAX_RD_ATOMIC,
		.atomic_cap = IBV_ATOMIC_HCA,
		.max_mcast_grp = ROCE_MAX_MCAST_GROUPS,
		.max_mcast_qp_attach = ROCE_MAX_MCAST_ATTACH,
		.max_total_mcast_qp_attach = ROCE_MAX_MCAST_ATTACH,
		.max_ah = ROCE_MAX_AH,
		.max_srq = ROCE_MAX_SRQ,
		.max_srq_wr = ROCE_MAX_SRQ_WR,
		.max_srq_sge = ROCE_MAX_SGE,
		.max_pkeys = 1,
		.local_ca_ack_delay = ACK_DELAY_CODE,
		.phys_port_cnt = 1,
	};
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%s", UROCE_VERSION);
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *device_attr)
{
	fill_device_attr(context, device_attr);
	return 0;
}

int compat_query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t attr_size)
{
	const uint32_t odp = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
			     IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC;
	const uint32_t unreliable =
		IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
	const uint32_t uc = unreliable | IBV_ODP_SUPPORT_WRITE;
	struct ibv_device_attr_ex full = {
		/* No region is pinned, so all of them are "on demand". */
		.odp_caps = {.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT,
			     .per_transport_caps = {.rc_odp_caps = odp | IBV_ODP_SUPPORT_SRQ_RECV,
						    .uc_odp_caps = uc,
						    .ud_odp_caps = unreliable}},
		.xrc_odp_caps = odp | IBV_ODP_SUPPORT_SRQ_RECV,
		.packet_pacing_caps = {.qp_rate_limit_min = ROCE_MIN_RATE,
				       .qp_rate_limit_max = ROCE_MAX_RATE,
				       .supported_qpts = 1u << IBV_QPT_RC | 1u << IBV_QPT_UC |
							 1u << IBV_QPT_UD | 1u << IBV_QPT_XRC_SEND},
		.cq_mod_caps = {.max_cq_count = UINT16_MAX, .max_cq_period = UINT16_MAX},
		.max_dm_size = ROCE_MAX_DM_BYTES,
		.completion_timestamp_mask = UINT64_MAX,
		.hca_core_clock = HCA_CLOCK_KHZ,
		.phys_port_cnt_ex = 1,
	};

	if (input && input->comp_mask)
		return EINVAL;
	if (attr_size < sizeof(attr->orig_attr))
		return EINVAL;
	fill_device_attr(context, &full.orig_attr);
	full.device_cap_flags_ex = full.orig_attr.device_cap_flags;
	memset(attr, 0, attr_size);
	memcpy(attr, &full, attr_size < sizeof(full) ? attr_size : sizeof(full));
	return 0;
}

int compat_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	struct roce_device *dev = compat_roce_of(context)->dev;
	uint32_t wanted = values->comp_mask;

	values->comp_mask = 0;
	if (wanted & IBV_VALUES_MASK_RAW_CLOCK) {
		roce_ns_t now = dev->env->now(dev->env_ctx);

		values->raw_clock.tv_sec = (time_t)(now / ROCE_NS_PER_S);
		values->raw_clock.tv_nsec = (long)(now % ROCE_NS_PER_S);
		values->comp_mask |= IBV_VALUES_MASK_RAW_CLOCK;
	}
	return 0;
}

/* ---- port ---- */

static int refuse_port(uint32_t port_num)
{
	return -roce_refuse(EINVAL, "port_num %u, the only port is 1", port_num);
}

int compat_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		      size_t attr_len)
{
	struct roce_device *dev = compat_roce_of(context)->dev;
	struct roce_port_info port;
	struct ibv_port_attr full;
	int err;

	if (port_num != 1)
		return refuse_port(port_num);
	err = dev->env->query_port(dev->env_ctx, &port);
	if (err)
		return -err;
	full = (struct ibv_port_attr){
		.state = port.is_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
		.max_mtu = IBV_MTU_4096,
		/* The type has no value for "none": the port is down then. */
		.active_mtu = port.active_mtu ? (enum ibv_mtu)port.active_mtu : IBV_MTU_256,
		.gid_tbl_len = ROCE_GID_TABLE,
		.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS,
		.max_msg_sz = ROCE_MAX_MSG_SIZE,
		.pkey_tbl_len = 1,
		.max_vl_num = 1,
		.phys_state = port.is_up ? PHYS_STATE_LINK_UP : PHYS_STATE_DISABLED,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
		.flags = IBV_QPF_GRH_REQUIRED,
	};
	full.active_width = roce_port_speed(port.speed_mbps)->width;
	full.active_speed = roce_port_speed(port.speed_mbps)->speed;
	memset(attr, 0, attr_len);
	memcpy(attr, &full, attr_len < sizeof(full) ? attr_len : sizeof(full));
	return 0;
}

/* The exported symbol serves programs built against headers whose port attributes ended before
 * port_cap_flags2. */
int ibv_query_port(struct ibv_context *context, uint8_t port_num,
		   struct _compat_ibv_port_attr *port_attr)
{
	return compat_query_port(context, port_num, (struct ibv_port_attr *)port_attr,
				 offsetof(struct ibv_port_attr, port_cap_flags2));
}

/* In units of 100 Mb/s. */
int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed);

int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed)
{
	struct roce_device *dev = compat_roce_of(context)->dev;
	struct roce_port_info port;
	int err;

	if (port_num != 1)
		return refuse_port(port_num);
	err = dev->env->query_port(dev->env_ctx, &port);
	if (err)
		return -err;
	*port_speed = port.speed_mbps / 100;
	return 0;
}

/* ---- GIDs ---- */

/* ENODATA: no address at this index. */
static int query_entry(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		       struct ibv_gid_entry *entry)
{
	struct roce_device *dev = compat_roce_of(context)->dev;
	struct roce_gid gid;
	uint32_t ifindex = 0;

	if (port_num != 1)
		return refuse_port(port_num);
	if (gid_index >= ROCE_GID_TABLE)
		return -roce_refuse(EINVAL, "query_gid: index %u, the table has %u entries",
				    gid_index, ROCE_GID_TABLE);
	if (dev->env->query_gid(dev->env_ctx, gid_index, &gid, &ifindex) != 0)
		return ENODATA;
	*entry = (struct ibv_gid_entry){
		.gid_index = gid_index,
		.port_num = port_num,
		.gid_type = IBV_GID_TYPE_ROCE_V2,
		.ndev_ifindex = ifindex,
	};
	memcpy(entry->gid.raw, gid.raw, sizeof(gid.raw));
	return 0;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry full;
	int err;

	if (flags)
		return EOPNOTSUPP;
	err = query_entry(context, port_num, gid_index, &full);
	if (err)
		return err;
	memset(entry, 0, entry_size);
	memcpy(entry, &full, entry_size < sizeof(full) ? entry_size : sizeof(full));
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t max_entries, uint32_t flags, size_t entry_size)
{
	uint8_t *out = (uint8_t *)entries;
	size_t count = 0;

	if (flags)
		return -EOPNOTSUPP;
	for (uint32_t i = 0; i < ROCE_GID_TABLE; i++) {
		struct ibv_gid_entry full;

		if (query_entry(context, 1, i, &full))
			continue;
		if (count == max_entries)
			return -EINVAL;
		memset(out, 0, entry_size);
		memcpy(out, &full, entry_size < sizeof(full) ? entry_size : sizeof(full));
		out += entry_size;
		count++;
	}
	return (ssize_t)count;
}

/* An empty entry reads as a zero GID, as it always has. */
int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	struct ibv_gid_entry entry;
	int err = index < 0 ? EINVAL : query_entry(context, port_num, (uint32_t)index, &entry);

	if (err == ENODATA) {
		memset(gid, 0, sizeof(*gid));
		return 0;
	}
	if (err)
		return compat_minus_one(-err);
	*gid = entry.gid;
	return 0;
}

/* The numbers of the private interface: 0 is IB or RoCE v1, 1 is RoCE v2. */
enum gid_type_private {
	GID_TYPE_IB_ROCE_V1,
	GID_TYPE_ROCE_V2,
};

int compat_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
			  unsigned int *type)
{
	struct ibv_gid_entry entry;
	int err = query_entry(context, port_num, index, &entry);

	if (err && err != ENODATA)
		return compat_minus_one(-err);
	*type = err ? GID_TYPE_IB_ROCE_V1 : GID_TYPE_ROCE_V2;
	return 0;
}

/* ---- P_Keys ---- */

int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	(void)context;
	if (port_num != 1 || index != 0)
		return compat_minus_one(-EINVAL);
	*pkey = htobe16(ROCE_PKEY_DEFAULT);
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	(void)context;
	if (port_num != 1 || pkey != htobe16(ROCE_PKEY_DEFAULT))
		return compat_minus_one(-EINVAL);
	return 0;
}
