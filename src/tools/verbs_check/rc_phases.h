/* SPDX-License-Identifier: BSD-2-Clause */
/* The phases of a seed on RC QPs, with their barriers and what is done to QPs between them. */
#ifndef VERBS_CHECK_RC_PHASES_H
#define VERBS_CHECK_RC_PHASES_H

#include "tools/verbs_check/run.h"

/* Ends at a barrier: nothing of the other side is on its way any more. */
enum vc_verdict vc_rc_phases_run(struct vc_run *run);

#endif
