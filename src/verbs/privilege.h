/* SPDX-License-Identifier: BSD-2-Clause */
/* What the specification reserves for privileged consumers. */
#ifndef ROCE_VERBS_PRIVILEGE_H
#define ROCE_VERBS_PRIVILEGE_H

#include <stdbool.h>

/* May this thread give a queue pair a Q_Key whose top bit is set? As on Linux: CAP_NET_RAW. */
bool roce_may_control_qkeys(void);

#endif
