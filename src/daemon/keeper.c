/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keeper process and both ends of its connection. It does nothing but remember: one record per
 * descriptor or slot, the latest one counts. It is forked from uroced while that has one thread and
 * keeps none of the inherited descriptors, so that what it holds is exactly what it was told.
 */
#include "daemon/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define SEND_SECONDS_MAX     1 /* of uroced, which has other things to do */
#define HANDOVER_SECONDS_MAX 30
#define RESTARTS_MAX	     5 /* within RESTARTS_NS: then give up */
#define RESTARTS_NS	     (10 * ROCE_NS_PER_S)
#define ARGUMENTS_MAX	     64
#define ENTRIES_STEP	     64

struct entry {
	struct roce_keeper_record record;
	int fd;
};

struct keeper {
	char *const *argv;
	int fd; /* to uroced */
	struct entry *entry;
	size_t count, room;
	roce_ns_t restart[RESTARTS_MAX];
};

int roce_keeper_send(int keeper_fd, const struct roce_keeper_record *r, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} anc;
	struct roce_keeper_record copy = *r;
	struct iovec iov = {&copy, sizeof(copy)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	copy.version = ROCE_KEEPER_VERSION;
	if (fd >= 0) {
		struct cmsghdr *cm;

		memset(&anc, 0, sizeof(anc));
		msg.msg_control = &anc;
		msg.msg_controllen = sizeof(anc);
		cm = CMSG_FIRSTHDR(&msg);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cm), &fd, sizeof(int));
	}
	while (sendmsg(keeper_fd, &msg, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

int roce_keeper_receive(int keeper_fd, struct roce_keeper_record *out_record, int *out_fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} anc;
	struct iovec iov = {out_record, sizeof(*out_record)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &anc,
			     .msg_controllen = sizeof(anc)};
	struct cmsghdr *cm;
	ssize_t n;

	*out_fd = -1;
	do
		n = recvmsg(keeper_fd, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	cm = CMSG_FIRSTHDR(&msg);
	if (cm && cm->cmsg_level == SOL_SOCKET && cm->cmsg_type == SCM_RIGHTS)
		memcpy(out_fd, CMSG_DATA(cm), sizeof(int));
	if (n == 0)
		return 0;
	if (n != sizeof(*out_record) || out_record->version != ROCE_KEEPER_VERSION) {
		if (*out_fd >= 0)
			close(*out_fd);
		*out_fd = -1;
		return -EPROTO;
	}
	return 1;
}

/* ---- the keeper process ---- */

static bool is_same_address(const struct roce_address *a, const struct roce_address *b)
{
	return roce_gid_is_equal(&a->gid, &b->gid) && a->ifindex == b->ifindex;
}

/* The entry that `r` replaces or drops? */
static bool is_about(const struct entry *e, const struct roce_keeper_record *r)
{
	switch (r->kind) {
	case ROCE_KEEPER_LISTEN:
		return e->record.kind == ROCE_KEEPER_LISTEN;
	case ROCE_KEEPER_GUARD:
		return e->record.kind == ROCE_KEEPER_GUARD &&
		       is_same_address(&e->record.address, &r->address);
	case ROCE_KEEPER_MEMBER:
	case ROCE_KEEPER_DROP_MEMBER:
		return e->record.kind == ROCE_KEEPER_MEMBER && e->record.inode == r->inode;
	case ROCE_KEEPER_SLOT:
	case ROCE_KEEPER_DROP_SLOT:
		return e->record.kind == ROCE_KEEPER_SLOT && e->record.slot == r->slot;
	case ROCE_KEEPER_DROP_GROUP:
		return (e->record.kind == ROCE_KEEPER_GUARD ||
			e->record.kind == ROCE_KEEPER_MEMBER) &&
		       is_same_address(&e->record.address, &r->address);
	case ROCE_KEEPER_BYE:
	case ROCE_KEEPER_END:
		return false;
	}
	return false;
}

static void forget(struct keeper *k, const struct roce_keeper_record *r)
{
	for (size_t i = 0; i < k->count;) {
		struct entry *e = &k->entry[i];

		if (!is_about(e, r)) {
			i++;
			continue;
		}
		if (e->fd >= 0)
			close(e->fd);
		*e = k->entry[--k->count];
	}
}

static void remember(struct keeper *k, const struct roce_keeper_record *r, int fd)
{
	if (k->count == k->room) {
		size_t room = k->room + ENTRIES_STEP;
		struct entry *grown = realloc(k->entry, room * sizeof(*grown));

		if (!grown)
			_exit(1); /* uroced starts another */
		k->entry = grown;
		k->room = room;
	}
	k->entry[k->count++] = (struct entry){*r, fd};
}

static void exec_daemon(struct keeper *k, int fd)
{
	char option[32], path[] = "/proc/self/exe";
	char *argv[ARGUMENTS_MAX + 2];
	unsigned n = 0;

	for (; k->argv[n] && n < ARGUMENTS_MAX; n++)
		argv[n] = k->argv[n];
	snprintf(option, sizeof(option), "--resume-fd=%d", fd);
	argv[n++] = option;
	argv[n] = NULL;
	fcntl(fd, F_SETFD, 0);
	execv(path, argv);
	execvp(argv[0], argv);
	_exit(127);
}

static bool may_restart(struct keeper *k)
{
	roce_ns_t now = roce_clock_now();

	if (k->restart[0] && now - k->restart[0] < RESTARTS_NS)
		return false;
	memmove(k->restart, k->restart + 1, sizeof(k->restart) - sizeof(k->restart[0]));
	k->restart[RESTARTS_MAX - 1] = now;
	return true;
}

static int restart_daemon(struct keeper *k)
{
	struct timeval limit = {.tv_sec = HANDOVER_SECONDS_MAX};
	struct roce_keeper_record end = {.kind = ROCE_KEEPER_END};
	int pair[2], error = 0;
	pid_t pid;

	if (!may_restart(k) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	pid = fork();
	if (pid == 0) {
		setsid();
		exec_daemon(k, pair[1]);
	}
	close(pair[1]);
	close(k->fd);
	k->fd = pair[0];
	if (pid < 0)
		return -1;
	setsockopt(k->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	for (size_t i = 0; i < k->count && !error; i++)
		error = roce_keeper_send(k->fd, &k->entry[i].record, k->entry[i].fd);
	if (!error)
		roce_keeper_send(k->fd, &end, -1);
	return 0; /* if it died meanwhile, the next receive tells */
}

static void run_keeper(struct keeper *k)
{
	for (;;) {
		struct roce_keeper_record r;
		int fd, n = roce_keeper_receive(k->fd, &r, &fd);

		if (n == 1 && r.kind == ROCE_KEEPER_BYE)
			return;
		if (n <= 0) {
			if (restart_daemon(k))
				return;
			continue;
		}
		forget(k, &r);
		if (r.kind <= ROCE_KEEPER_SLOT)
			remember(k, &r, fd);
		else if (fd >= 0)
			close(fd);
	}
}

static void close_all_but(int fd)
{
	for (int i = 3; i < fd; i++)
		close(i);
	if (syscall(SYS_close_range, (unsigned)fd + 1, ~0u, 0) == 0)
		return;
	for (int i = fd + 1, n = (int)sysconf(_SC_OPEN_MAX); i < n; i++)
		close(i);
}

int roce_keeper_start(char *const *argv, int *out_fd, pid_t *out_pid)
{
	struct timeval limit = {.tv_sec = SEND_SECONDS_MAX};
	struct keeper k = {.argv = argv};
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid = fork();
	if (pid < 0) {
		int error = -errno;

		close(pair[0]);
		close(pair[1]);
		return error;
	}
	if (pid == 0) {
		sigset_t none;

		setsid();
		prctl(PR_SET_NAME, "uroced-keeper");
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGTERM, SIG_DFL);
		signal(SIGCHLD, SIG_IGN); /* no zombies of former daemons */
		close_all_but(pair[1]);
		k.fd = pair[1];
		run_keeper(&k);
		_exit(0);
	}
	close(pair[1]);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	*out_fd = pair[0];
	*out_pid = pid;
	return 0;
}
