/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Binding of control sockets. A name that is taken is looked at: ours (somebody was faster), a
 * stranger's (try the next name), or a path that a dead daemon left (remove it). Between bind() and
 * listen() of a faster one there is a moment in which it refuses; hence the attempts.
 */
#include "daemon/listen.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define PATIENCE_NS   (4 * ROCE_NS_PER_S) /* with one who stands still on a busy machine */
#define DEAD_NS	      (ROCE_NS_PER_S / 2) /* then nobody will listen at the path any more */
#define ATTEMPT_MS    10
#define RUN_DIRECTORY "/run/uroce"

static int bind_and_listen(const struct roce_rendezvous *r)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&r->address, r->length) == 0 &&
	    listen(fd, ROCE_LISTEN_BACKLOG) == 0)
		return fd;
	error = errno;
	close(fd);
	return -error;
}

static bool is_known(const struct ucred *owner)
{
	return owner->uid != ROCE_RENDEZVOUS_UNKNOWN;
}

static bool is_stranger(const struct ucred *owner)
{
	return is_known(owner) && owner->uid != geteuid();
}

/* The socket, -EEXIST (ours), -EACCES (a stranger's, in *out_owner), -EBUSY (whosever it is, its
 * backlog stayed full) or -errno. */
static int try_name(const struct roce_rendezvous *r, struct ucred *out_owner)
{
	bool is_path = r->address.sun_path[0] != 0;
	roce_ns_t begin = roce_clock_now();

	for (;;) {
		roce_ns_t passed =
			roce_clock_now() - begin; /* so we look once more, whatever it is */
		int fd = bind_and_listen(r), peer;

		if (fd != -EADDRINUSE)
			return fd;
		peer = roce_rendezvous_connect(r, out_owner);
		if (peer >= 0) {
			close(peer);
			return is_stranger(out_owner) ? -EACCES : -EEXIST;
		}
		if (peer == -EAGAIN && is_known(out_owner))
			return is_stranger(out_owner) ? -EACCES : -EEXIST;
		if (passed >= PATIENCE_NS)
			return peer == -EAGAIN ? -EBUSY : fd;
		if (peer == -ECONNREFUSED && is_path && passed >= DEAD_NS)
			unlink(r->address.sun_path);
		poll(NULL, 0, ATTEMPT_MS);
	}
}

static int open_for_user(struct roce_rendezvous *out, char *err, size_t err_size)
{
	struct ucred owner = {0};

	for (unsigned n = 0; n < ROCE_RENDEZVOUS_NAMES_COUNT; n++) {
		int fd;

		roce_rendezvous_for_user(out, n);
		fd = try_name(out, &owner);
		if (fd >= 0 || fd == -EEXIST)
			return fd;
		/* One of ours takes who asks, if not at once; a stranger need not. */
		if (fd != -EACCES && fd != -EADDRINUSE && fd != -EBUSY) {
			snprintf(err, err_size, "uroced cannot make its control socket: %s",
				 strerror(-fd));
			return fd;
		}
	}
	snprintf(err, err_size,
		 "user %u occupies all names of uroced's control socket: set UROCE_SOCKET=@NAME or "
		 "a path",
		 owner.uid);
	return -EADDRINUSE;
}

int roce_listen_open(const char *name, bool is_shared, struct roce_rendezvous *out, char *err,
		     size_t err_size)
{
	struct ucred owner = {0};
	int fd;

	if (!name)
		return open_for_user(out, err, err_size);
	fd = roce_rendezvous_from_str(out, name);
	if (fd) {
		snprintf(err, err_size, "control socket name '%s': %s", name, strerror(-fd));
		return fd;
	}
	if (!strncmp(name, RUN_DIRECTORY "/", sizeof(RUN_DIRECTORY)))
		mkdir(RUN_DIRECTORY, 0755);
	fd = try_name(out, &owner);
	if (fd == -EBUSY)
		fd = -EEXIST;
	if (fd == -EACCES && owner.uid && owner.uid != geteuid())
		snprintf(err, err_size, "control socket %s belongs to user %u", name, owner.uid);
	else if (fd < 0 && fd != -EEXIST)
		snprintf(err, err_size, "control socket %s: %s", name, strerror(-fd));
	else if (fd >= 0 && name[0] != '@' && chmod(name, is_shared ? 0666 : 0600))
		snprintf(err, err_size, "control socket %s: %s", name, strerror(errno));
	return fd;
}

/* One of ours that listens there may be busy with those that asked before us, or standing still.
 * -EAGAIN at the end, and *out_owner as roce_rendezvous_connect() leaves it. */
static int ask_owner(const struct roce_rendezvous *name, roce_ns_t until, struct ucred *out_owner)
{
	for (;;) {
		int peer = roce_rendezvous_connect(name, out_owner);

		if (peer != -EAGAIN || is_stranger(out_owner) || roce_clock_now() >= until)
			return peer;
		poll(NULL, 0, ATTEMPT_MS);
	}
}

/* A uroced of this user that holds one of the first `count` names. Else *out_owner is a stranger,
 * if one listens. */
static bool find_own_guard(const struct roce_address *a, unsigned count, roce_ns_t until,
			   struct ucred *out_owner)
{
	for (unsigned n = 0; n < count; n++) {
		struct roce_rendezvous name;
		struct ucred owner;
		int peer;

		roce_rendezvous_for_address(&name, a, n);
		peer = ask_owner(&name, until, &owner);
		if (peer >= 0)
			close(peer);
		else if (peer != -EAGAIN || !is_known(&owner))
			continue;
		else
			owner.pid = ROCE_LISTEN_BUSY;
		*out_owner = owner;
		if (owner.uid == geteuid())
			return true;
	}
	return false;
}

int roce_listen_guard(const struct roce_address *a, struct ucred *out_owner)
{
	roce_ns_t until = roce_clock_now() + PATIENCE_NS; /* for all names */

	*out_owner = (struct ucred){.uid = (uid_t)-1};
	if (find_own_guard(a, ROCE_RENDEZVOUS_NAMES_COUNT, until, out_owner))
		return -EADDRINUSE;
	for (unsigned n = 0; n < ROCE_RENDEZVOUS_NAMES_COUNT; n++) {
		struct roce_rendezvous name;
		int fd;

		roce_rendezvous_for_address(&name, a, n);
		fd = bind_and_listen(&name);
		if (fd == -EADDRINUSE)
			continue;
		/* It may have been one of ours that was not listening yet: the lower name counts.
		 */
		if (fd >= 0 && n && find_own_guard(a, n, until, out_owner)) {
			close(fd);
			return -EADDRINUSE;
		}
		return fd;
	}
	return -EACCES;
}
