/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose a listening abstract name is, as the kernel's socket diagnosis tells (sock_diag(7)),
 * without connecting to it. A connection tells that too, and who else, but not while the listener's
 * backlog is full; and anybody can bind a name, listen there and let it be full.
 */
#ifndef ROCE_CONTROL_LISTENER_OWNER_H
#define ROCE_CONTROL_LISTENER_OWNER_H

#include <sys/types.h>

#include "control/rendezvous.h"

/*
 * The user who listens there, in this network namespace. -ENOENT nobody, -EINVAL a path (files have
 * owners), -EOPNOTSUPP the kernel does not tell (before 5.3, or without unix_diag), or another
 * -errno.
 */
int roce_listener_owner_find(const struct roce_rendezvous *r, uid_t *out_uid)
	__attribute__((warn_unused_result));

#endif
