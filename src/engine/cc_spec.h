/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UROCE_CC: what the user wants of congestion control.
 *
 *   off     marked packets are counted, that is all
 *   np      (not given) they are answered by CNPs, as by any adapter; the peer's CNPs are counted
 *   dcqcn   the peer's CNPs slow down, too, and data is sent as ECN-capable
 *
 * Not dcqcn by default: what slows us down needs no more than an address and a queue pair number,
 * and on sockets most losses are our own buffers', which the window sees to. Behind the word stand
 * a set of values and single ones: "dcqcn,set=paper,rpg_ai_rate=20".
 */
#ifndef ROCE_ENGINE_CC_SPEC_H
#define ROCE_ENGINE_CC_SPEC_H

#include "cc/cc.h"

struct roce_cc_spec {
	const struct roce_cc_ops *ops; /* NULL: nothing slows us down */
	struct roce_cc_params params;
	struct roce_notify_config notify;
};

/* NULL or "": as if not given. 0, or -EINVAL with one line in `err`. */
int roce_cc_spec_parse(const char *text, struct roce_cc_spec *out, char *err, size_t err_size);

#endif
