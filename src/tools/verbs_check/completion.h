/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One completion against what the program says it must be. Pure: run.c decides which request or
 * receive is next on the queue, this compares every field that the specification defines for it.
 */
#ifndef VERBS_CHECK_COMPLETION_H
#define VERBS_CHECK_COMPLETION_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/verbs_check/program.h"

struct vc_expected {
	uint64_t wr_id;
	uint32_t qp_num;
	enum ibv_wc_status status;
	enum ibv_wc_status quirk_status; /* accepted as well */
	bool receive;
	enum vc_op op; /* for a receive: of the request that filled it */
	uint32_t length;
	uint32_t imm;	      /* host order */
	uint32_t invalidated; /* the key that SEND with invalidate names */
	uint32_t quirks;      /* of the own device */
};

/* False: text says which field differs, what was expected and what was found. */
bool vc_completion_check(const struct ibv_wc *wc, const struct vc_expected *expected, char *text,
			 size_t size);

#endif
