/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keeper: a small process that holds a copy of every descriptor which must survive uroced, and
 * the table of leases. It is told by records over a socket pair. When that ends without a BYE, it
 * starts uroced again (its own program) and hands everything over; when the keeper dies, uroced
 * starts another and tells it everything again. Both sides are the same program, so a record is a
 * plain struct.
 */
#ifndef ROCE_DAEMON_KEEPER_H
#define ROCE_DAEMON_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "control/message.h"
#include "control/rendezvous.h"

#define ROCE_KEEPER_VERSION 1

enum roce_keeper_kind {
	ROCE_KEEPER_LISTEN,	 /* with the listening socket */
	ROCE_KEEPER_GUARD,	 /* address, nonce; with the guard socket */
	ROCE_KEEPER_MEMBER,	 /* address, inode, member_kind, slot, index; with the socket */
	ROCE_KEEPER_SLOT,	 /* slot, instance, pid, start_time, uid, program */
	ROCE_KEEPER_DROP_GROUP,	 /* address */
	ROCE_KEEPER_DROP_MEMBER, /* inode */
	ROCE_KEEPER_DROP_SLOT,	 /* slot */
	ROCE_KEEPER_BYE,	 /* uroced leaves for good */
	ROCE_KEEPER_END,	 /* to uroced: that was all; to the keeper: nothing */
};

struct roce_keeper_record {
	uint32_t version;
	enum roce_keeper_kind kind;
	struct roce_address address;
	struct roce_rendezvous listen;
	uint32_t nonce;
	uint32_t member_kind;
	uint32_t index;
	uint32_t uid;
	uint64_t inode;
	uint64_t instance;
	uint64_t start_time; /* of pid, as /proc tells; 0 unknown */
	int32_t pid;
	uint8_t slot;
	char program[ROCE_CONTROL_PROGRAM_MAX];
};

/*
 * Forks the keeper. `argv` is what it starts uroced with again, --resume-fd added. `*out_fd`: our
 * end, blocking with a time limit. 0 or -errno.
 */
int roce_keeper_start(char *const *argv, int *out_fd, pid_t *out_pid);

/* fd -1: none. 0 or -errno: then the keeper is no use any more. */
int roce_keeper_send(int keeper_fd, const struct roce_keeper_record *r, int fd);

/* As roce_keeper_send() sends; *out_fd -1 if none came. 1, 0 at the end, -errno. */
int roce_keeper_receive(int keeper_fd, struct roce_keeper_record *out_record, int *out_fd);

#endif
