/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions of a CQ, by whichever of the two interfaces the seed gave it. */
#ifndef VERBS_CHECK_POLL_H
#define VERBS_CHECK_POLL_H

#include "tools/verbs_check/endpoint.h"

/* At most `max` of CQ `cq`, their number returned; negative, or more than `max`, is a fault of the
 * device. What only extended CQs tell (time stamps) is checked here, and a fault reported. */
int vc_poll(struct vc_endpoint *endpoint, uint32_t cq, int max, struct ibv_wc *wcs,
	    struct vc_report *report);

#endif
