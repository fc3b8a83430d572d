/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sockets that share (one local address, port 4791). The kernel numbers the members of such a
 * SO_REUSEPORT group from 0; when one goes, the *last* takes its number. member[] mirrors that
 * order, and a program maps the top byte of DestQP to a number. Two rules keep the numbers of
 * sockets in use from ever changing:
 *
 *   - Whoever goes is replaced by a spare: before a leased socket is closed, the daemon appends a
 *     socket of its own, which then moves into the gap and waits there for the next lease.
 *   - A member that others may still hold open (a forked child of the former owner, or a process we
 *     do not know) is UNKNOWN: it can go at any time. While there are such members, at least as
 *     many spares are the last members, so that each gap is filled by a spare.
 *
 * Probes (member.h) verify every number that is about to be used; if a number is wrong
 * (somebody else joined, connected or detached something), resync finds out all of them and
 * replaces sockets that have left the group. Single-threaded; called by served_group.c and
 * session.c.
 */
#ifndef ROCE_DAEMON_GROUP_H
#define ROCE_DAEMON_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/message.h"

#define ROCE_GROUP_MEMBERS_MAX 768

#define ROCE_MEMBER_KINDS(X)                                              \
	X(UNKNOWN, "unknown") /* fd -1 */                                 \
	X(DAEMON, "daemon")   /* slot 0: what no lease claims */          \
	X(SPARE, "spare")     /* the daemon's, never handed out, empty */ \
	X(LEASED, "leased")

enum roce_member_kind {
#define X(name, text) ROCE_MEMBER_##name,
	ROCE_MEMBER_KINDS(X)
#undef X
};

struct roce_group_member {
	enum roce_member_kind kind;
	uint8_t slot; /* LEASED */
	int fd;
	uint64_t inode;
	bool is_watched;	  /* served_group.c listens to it */
	bool is_unclaimed;	  /* of a client that has not come back since we were restarted */
	int32_t kept_index;	  /* what the keeper believes (handover.c), or one of the next */
#define ROCE_MEMBER_NOT_KEPT (-1) /* the keeper does not have it */
#define ROCE_MEMBER_CHANGED  (-2) /* has it, but knows it as something else */
};

struct roce_group {
	struct roce_address address;
	uint32_t nonce;
	int guard_fd; /* -1, or the name that says that this address is ours (served_group.c) */
	bool is_guard_kept;
	int prober_fd;
	bool can_probe; /* false: probes do not arrive here (a packet filter?), trust the count */
	uint16_t round;
	unsigned count;
	struct roce_group_member member[ROCE_GROUP_MEMBERS_MAX];
	/* Inodes of sockets closed since the server last looked; it tells the keeper. */
	uint64_t gone[ROCE_GROUP_MEMBERS_MAX];
	unsigned gone_count;
	uint64_t resync_count; /* of all, also those that found nothing wrong */
	uint64_t repair_count;
	/* A leased socket had left the group and was replaced by `fd` (borrowed). */
	void (*on_replaced)(void *ctx, const struct roce_group *g, uint8_t slot, int fd);
	/* A descriptor is about to be closed. NULL: nobody cares. */
	void (*on_close)(void *ctx, int fd);
	void *ctx;
};

/*
 * Joins or founds the group. Members that are there already become UNKNOWN; `nonce` is the one they
 * were given, or any random number. -errno of bind(): EADDRINUSE, EADDRNOTAVAIL, ...
 */
int roce_group_init(struct roce_group *g, const struct roce_address *a, uint32_t nonce);

/* Closes everything. */
void roce_group_fini(struct roce_group *g);

/*
 * The socket of a slot, made when it is not there; borrowed: it stays the group's. -errno;
 * -ENOBUFS: the group is full.
 */
int roce_group_add(struct roce_group *g, uint8_t slot, bool without_gro, int *out_fd);

/* Takes a socket that a former daemon leased. -ESTALE: it is no member (any more). */
int roce_group_adopt(struct roce_group *g, uint8_t slot, int fd);

/* Its packets go to slot 0 from here on. No harm if there is none. */
void roce_group_remove(struct roce_group *g, uint8_t slot);

/* Looks whether UNKNOWN members have gone; true while there are any. */
bool roce_group_check_unknown(struct roce_group *g);

/* Attaches the program again; cheap, cures a detached or foreign one. */
int roce_group_attach(struct roce_group *g);

/* Finds out all numbers and repairs what is wrong; true if anything was. */
bool roce_group_resync(struct roce_group *g);

/*
 * For a restarted daemon: an empty group, to be filled by roce_group_restore_member() in any order
 * and completed by _finish(), which verifies it.
 */
void roce_group_restore_begin(struct roce_group *g, const struct roce_address *a, uint32_t nonce);
int roce_group_restore_member(struct roce_group *g, enum roce_member_kind kind, uint8_t slot,
			      int fd, unsigned index);
int roce_group_restore_finish(struct roce_group *g);

/*
 * The daemon leaves while programs go on: closes what is the daemon's, in such a way that the
 * sockets in use are still mapped right afterwards. Then call _fini.
 */
void roce_group_leave(struct roce_group *g);

int roce_group_find(const struct roce_group *g, uint8_t slot); /* index or -1 */
int roce_group_get_daemon_fd(const struct roce_group *g);
unsigned roce_group_count(const struct roce_group *g, enum roce_member_kind kind);

#endif
