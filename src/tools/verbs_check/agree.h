/* SPDX-License-Identifier: BSD-2-Clause */
/* The first exchange: what each side can do, what the client wants, and the limits that follow. */
#ifndef VERBS_CHECK_AGREE_H
#define VERBS_CHECK_AGREE_H

#include "tools/verbs_check/control.h"
#include "tools/verbs_check/device.h"
#include "tools/verbs_check/endpoint.h"
#include "tools/verbs_check/options.h"

/* options become the client's where they decide what is run. */
enum vc_verdict vc_agree(struct vc_options *options, const struct vc_device *device, uint32_t side,
			 struct vc_control *control, struct vc_limits *out_limits,
			 struct vc_peer *out_peer, struct vc_report *report);

#endif
