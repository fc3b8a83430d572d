/* SPDX-License-Identifier: BSD-2-Clause */
/* One side from the opened control connection to the last seed. */
#ifndef VERBS_CHECK_SESSION_H
#define VERBS_CHECK_SESSION_H

#include "tools/verbs_check/options.h"
#include "tools/verbs_check/report.h"

/*
 * fd: an established connection to the other side, or -1 to make one as the options say. The
 * verdict is also in the report; options become what was agreed.
 */
enum vc_verdict vc_session_run(struct vc_options *options, uint32_t side, int fd,
			       struct vc_report *report);

#endif
