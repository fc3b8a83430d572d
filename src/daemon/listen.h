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

/*
 * A name that says that this address is ours, for another uroced of this user: two must not serve
 * one address. -EADDRINUSE: such a one has it, *out_owner (whose pid
 * is ROCE_LISTEN_BUSY if it did not take a connection within 4 s). Other users are kept out by the
 * port, not by the name, so a stranger who sits on some names is passed over; on all of them:
 * -EACCES.
 */
#define ROCE_LISTEN_BUSY (-1)
int roce_listen_guard(const struct roce_address *a, struct ucred *out_owner);

#endif
