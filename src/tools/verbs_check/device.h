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
	uint32_t inline_max;
	uint8_t port;
	uint8_t gid_index;
};

enum vc_verdict vc_device_open(struct vc_device *device, const struct vc_options *options,
			       struct vc_report *report);
void vc_device_close(struct vc_device *device);

#endif
