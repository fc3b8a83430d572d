/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An open seed's account of which message took which receive. Filled by arrival.c as completions
 * come; the final comparison of memory (image.c) is built on it.
 */
#ifndef VERBS_CHECK_ARRIVAL_H
#define VERBS_CHECK_ARRIVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/verbs_check/program.h"

struct vc_taken {
	bool is_done;
	bool is_filled; /* by a message; else flushed */
	uint32_t from;	/* side */
	uint32_t lane;
	uint32_t request;
};

struct vc_arrivals {
	struct vc_taken *taken[VC_QP_MAX]; /* by pool, then receive */
	bool *seen[VC_QP_MAX];		   /* by QP or XRC queue, then request of both sides */
	uint32_t offsets[VC_SIDES][VC_QP_MAX];
	uint32_t cursors[VC_SIDES][VC_QP_MAX][VC_QP_MAX]; /* by sender, and QP or queue */
};

#endif
