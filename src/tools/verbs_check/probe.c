/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the device can do: attributes where there are any, else by trial (inline data, the builder
 * interface, extended CQs). What it cannot is left out of programs and counted as skipped. Called
 * once per side, before the sides agree.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tools/verbs_check/device.h"
#include "tools/verbs_check/transport.h"

#define SEND_OPS                                                                          \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_WRITE | \
	 IBV_QP_EX_WITH_RDMA_READ)

struct trial {
	struct vc_device *device;
	struct ibv_cq *cq;
};

/* A QP of the kind, with so much inline data, and the operations of the builder if any. */
static bool makes_qp(const struct trial *trial, enum ibv_qp_type type, uint32_t inline_bytes,
		     uint64_t send_ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = trial->cq,
		.recv_cq = trial->cq,
		.qp_type = type,
		.cap = {.max_send_wr = 1,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = inline_bytes},
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = trial->device->pds[0],
	};
	struct ibv_qp *qp;

	if (send_ops) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = send_ops;
	}
	qp = ibv_create_qp_ex(trial->device->context, &attr);
	if (!qp)
		return false;
	(void)ibv_destroy_qp(qp);
	return attr.cap.max_inline_data >= inline_bytes;
}

static void probe_inline(const struct trial *trial)
{
	static const uint32_t sizes[] = {512, 400, 256, 128, 64, 32};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (makes_qp(trial, IBV_QPT_RC, sizes[i], 0)) {
			trial->device->inline_max = sizes[i];
			return;
		}
	}
}

static void probe_transports(const struct trial *trial)
{
	struct vc_device *device = trial->device;
	struct ibv_xrcd_init_attr attr = {.comp_mask =
						  IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					  .fd = -1,
					  .oflags = O_CREAT};

	device->transports = 1u << VC_TRANSPORT_RC;
	if (makes_qp(trial, IBV_QPT_UC, 0, 0))
		device->transports |= 1u << VC_TRANSPORT_UC;
	if (makes_qp(trial, IBV_QPT_UD, 0, 0))
		device->transports |= 1u << VC_TRANSPORT_UD;
	if (device->attr.device_cap_flags & IBV_DEVICE_XRC)
		device->xrcd = ibv_open_xrcd(device->context, &attr);
	if (device->xrcd)
		device->transports |= 1u << VC_TRANSPORT_XRC;
}

static bool makes_extended_cq(struct vc_device *device, uint64_t more_fields)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 4,
					   .wc_flags = IBV_WC_STANDARD_FLAGS | more_fields};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(device->context, &attr);

	if (!cq)
		return false;
	(void)ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	return true;
}

static void note(struct vc_device *device, bool has, enum vc_feature feature)
{
	if (has)
		device->features |= 1u << feature;
}

static void probe_regions(struct vc_device *device)
{
	struct ibv_device_attr_ex attr = {0};
	uint64_t general;

	if (ibv_query_device_ex(device->context, NULL, &attr))
		return;
	general = attr.odp_caps.general_caps;
	note(device, general & IBV_ODP_SUPPORT, VC_FEATURE_ODP);
	note(device, general & IBV_ODP_SUPPORT_IMPLICIT, VC_FEATURE_IMPLICIT);
	note(device, attr.max_dm_size > 0, VC_FEATURE_DM);
	device->dm_max = attr.max_dm_size;
}

/* Linux has no route for IPv6 multicast over the loopback device. */
static bool is_ipv6_loopback(const union ibv_gid *gid)
{
	static const union ibv_gid loopback = {.raw = {[15] = 1}};

	return memcmp(gid, &loopback, sizeof(loopback)) == 0;
}

static void probe_features(const struct trial *trial)
{
	struct vc_device *device = trial->device;
	unsigned int caps = device->attr.device_cap_flags;
	bool has_ud = vc_mask_has(device->transports, VC_TRANSPORT_UD);

	note(device, device->attr.max_srq > 0, VC_FEATURE_SRQ);
	note(device, device->attr.max_srq > 0, VC_FEATURE_SRQ_LIMIT);
	note(device, caps & IBV_DEVICE_SRQ_RESIZE, VC_FEATURE_RESIZE_SRQ);
	note(device, makes_qp(trial, IBV_QPT_RC, 0, SEND_OPS), VC_FEATURE_WR);
	note(device, makes_extended_cq(device, 0), VC_FEATURE_CQ_EX);
	note(device, ibv_resize_cq(trial->cq, 8) == 0, VC_FEATURE_RESIZE_CQ);
	note(device, caps & IBV_DEVICE_MEM_WINDOW, VC_FEATURE_WINDOW1);
	note(device, true, VC_FEATURE_REREG);
	note(device, true, VC_FEATURE_DRAIN);
	note(device, true, VC_FEATURE_ASYNC);
	note(device,
	     has_ud && device->attr.max_mcast_qp_attach > 0 && !is_ipv6_loopback(&device->gid),
	     VC_FEATURE_MULTICAST);
	note(device, has_ud, VC_FEATURE_REPLY);
	note(device, has_ud, VC_FEATURE_BAD_QKEY);
	note(device, has_ud, VC_FEATURE_OVERSIZE);
	probe_regions(device);
	device->atomic_write = makes_qp(trial, IBV_QPT_RC, 0, IBV_QP_EX_WITH_ATOMIC_WRITE);
	device->timestamps = makes_extended_cq(device, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
}

enum vc_verdict vc_device_probe(struct vc_device *device, struct vc_report *report)
{
	struct trial trial = {.device = device,
			      .cq = ibv_create_cq(device->context, 4, NULL, NULL, 0)};

	if (!trial.cq)
		return vc_report_unusable(report, "ibv_create_cq: %s", strerror(errno));
	if (!makes_qp(&trial, IBV_QPT_RC, 0, 0)) {
		(void)ibv_destroy_cq(trial.cq);
		return vc_report_unusable(report, "no RC QP can be created: %s", strerror(errno));
	}
	probe_inline(&trial);
	probe_transports(&trial);
	probe_features(&trial);
	(void)ibv_destroy_cq(trial.cq);
	return VC_RIGHT;
}
