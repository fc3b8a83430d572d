/* SPDX-License-Identifier: BSD-2-Clause */
/* The opened verbs device: what lives through all seeds, and what it can do. */
#ifndef VERBS_CHECK_DEVICE_H
#define VERBS_CHECK_DEVICE_H

#include <infiniband/verbs.h>

#include "tools/verbs_check/options.h"
#include "tools/verbs_check/report.h"

struct vc_device {
	struct ibv_context *context;
	struct ibv_pd *pds[2]; /* the second is for regions that QPs must not reach */
	struct ibv_device_attr attr;
	struct ibv_port_attr port_attr;
	union ibv_gid gid;
	struct ibv_xrcd *xrcd; /* NULL: no XRC */
	uint64_t dm_max;       /* bytes of device memory; 0: none */
	uint32_t transports;   /* bit per enum vc_transport */
	uint32_t features;     /* bit per enum vc_feature */
	uint32_t inline_max;
	bool atomic_write;
	bool timestamps;
	uint8_t port;
	uint8_t gid_index;
};

enum vc_verdict vc_device_open(struct vc_device *device, const struct vc_options *options,
			       struct vc_report *report);
/* What the device has, by asking and by trying; probe.c. Fills the fields above. */
enum vc_verdict vc_device_probe(struct vc_device *device, struct vc_report *report);
void vc_device_close(struct vc_device *device);

/* An IPv4 address in the form of an IPv6 one, as RoCEv2 names them. */
bool vc_gid_is_ipv4(const union ibv_gid *gid);

#endif
