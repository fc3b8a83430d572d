/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where uroced listens. A root-owned /run/uroce/sock comes first, then abstract names made of user
 * id and network namespace. Abstract names live in the network namespace, like the port that is
 * shared, but anybody can bind one first: the credentials behind a name decide, and a few more
 * names exist for the case that a stranger sits on the first. Used by the client and by uroced.
 */
#ifndef ROCE_CONTROL_RENDEZVOUS_H
#define ROCE_CONTROL_RENDEZVOUS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "control/address.h"

#define ROCE_RENDEZVOUS_ROOT_PATH   "/run/uroce/sock"
#define ROCE_RENDEZVOUS_NAMES_COUNT 4

struct roce_rendezvous {
	struct sockaddr_un address;
	socklen_t length;
};

/* Inode of our network namespace; 0 when /proc does not tell. */
uint64_t roce_rendezvous_netns(void);

/* The n-th abstract name of this user in this network namespace. */
void roce_rendezvous_for_user(struct roce_rendezvous *out, unsigned n);

/* The n-th of the names of which the one daemon of a user that serves a local address holds one. */
void roce_rendezvous_for_address(struct roce_rendezvous *out, const struct roce_address *a,
				 unsigned n);

/* A path, or @NAME for an abstract one. -ENAMETOOLONG, -EINVAL (empty). */
int roce_rendezvous_from_str(struct roce_rendezvous *out, const char *s);

/* As roce_rendezvous_from_str() takes it. */
void roce_rendezvous_str(const struct roce_rendezvous *r, char *out, size_t size);

#define ROCE_RENDEZVOUS_UNKNOWN ((uid_t)-1)

/*
 * A connected, non-blocking, close-on-exec descriptor and who listens there, or -errno:
 * ECONNREFUSED and ENOENT nobody; EAGAIN its backlog is full, and *out_peer has only the user, or
 * ROCE_RENDEZVOUS_UNKNOWN.
 */
int roce_rendezvous_connect(const struct roce_rendezvous *r, struct ucred *out_peer);

#endif
