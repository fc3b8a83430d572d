/* SPDX-License-Identifier: BSD-2-Clause */
/* The phases of an open seed, with their barriers and what is done to QPs between them. */
#ifndef VERBS_CHECK_OPEN_PHASES_H
#define VERBS_CHECK_OPEN_PHASES_H

#include "tools/verbs_check/run.h"

/* Ends at a barrier, with all QPs in the error state. */
enum vc_verdict vc_open_phases_run(struct vc_run *run);

#endif
