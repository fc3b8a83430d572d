/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gets the listening control socket. Binding it is the lock: of several uroced started at once for
 * one user in one network namespace exactly one gets the name, the others see that it listens and
 * leave. Called by main.c.
 */
#ifndef ROCE_DAEMON_LISTEN_H
#define ROCE_DAEMON_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

#include "control/rendezvous.h"

#define ROCE_LISTEN_BACKLOG 256

/*
 * `name` NULL: the abstract names of this user. is_shared: other users may connect to a path. A
 * descriptor, -EEXIST when a uroced of ours listens already, else -errno with one line in err.
 */
int roce_listen_open(const char *name, bool is_shared, struct roce_rendezvous *out, char *err,
		     size_t err_size);

/* A name that nobody else can have while we live; -EADDRINUSE with its owner in *out_owner. */
int roce_listen_guard(const struct roce_rendezvous *r, struct ucred *out_owner);

#endif
