/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * epoll sets with rsockets in them. The kernel's set keeps the plain descriptors; ours are on a
 * list beside it, and a wait polls both: the set itself is pollable. EPOLLONESHOT is kept. With
 * EPOLLET readability is reported as long as it holds, and writability when it comes back.
 */
#include <errno.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "compat/rspreload/preload.h"

#define MEMBERS_MAX 4096 /* of all sets together */

struct member {
	int set; /* 0: free entry */
	int fd;
	struct epoll_event event;
	bool is_spent;	     /* EPOLLONESHOT, and it was reported */
	bool is_write_known; /* EPOLLET: the program knows that it may write */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct member members[MEMBERS_MAX];
static unsigned member_end; /* entries from here on were never used */
static atomic_uint member_count;

/* lock held */
static struct member *find(int set, int fd)
{
	for (unsigned i = 0; i < member_end; i++)
		if (members[i].set == set && members[i].fd == fd)
			return &members[i];
	return NULL;
}

static struct member *find_free(void)
{
	for (unsigned i = 0; i < member_end; i++)
		if (!members[i].set)
			return &members[i];
	return member_end < MEMBERS_MAX ? &members[member_end++] : NULL;
}

/* lock held; 0 or a positive errno */
static int change(int set, int operation, int fd, const struct epoll_event *event)
{
	struct member *m = find(set, fd);

	switch (operation) {
	case EPOLL_CTL_ADD:
		if (m)
			return EEXIST;
		m = find_free();
		if (!m)
			return ENOSPC;
		*m = (struct member){.set = set, .fd = fd, .event = *event};
		member_count++;
		return 0;
	case EPOLL_CTL_MOD:
		if (!m)
			return ENOENT;
		m->event = *event;
		m->is_spent = false;
		m->is_write_known = false;
		return 0;
	case EPOLL_CTL_DEL:
		if (!m)
			return ENOENT;
		m->set = 0;
		member_count--;
		return 0;
	default:
		return EINVAL;
	}
}

int epoll_ctl(int set, int operation, int fd, struct epoll_event *event)
{
	int error;

	if (roce_preload_target(fd) < 0)
		return roce_real()->epoll_ctl(set, operation, fd, event);
	pthread_mutex_lock(&lock);
	error = change(set, operation, fd, event);
	pthread_mutex_unlock(&lock);
	if (!error)
		return 0;
	errno = error;
	return -1;
}

void roce_preload_epoll_forget(int fd)
{
	/* Any descriptor that is closed may be a set; most programs have none with ours in it. */
	if (!member_count)
		return;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < member_end; i++) {
		if (!members[i].set || (members[i].fd != fd && members[i].set != fd))
			continue;
		members[i].set = 0;
		member_count--;
	}
	pthread_mutex_unlock(&lock);
}

/* What to ask of a member now. */
static short events_of(struct member *m, int target)
{
	short events = (short)(m->event.events & (POLLIN | POLLOUT));
	struct pollfd now = {.fd = target, .events = POLLOUT};

	if (!(m->event.events & EPOLLET) || !m->is_write_known)
		return events;
	rpoll(&now, 1, 0);
	m->is_write_known = now.revents & POLLOUT;
	return m->is_write_known ? (short)(events & ~POLLOUT) : events;
}

/* The set's rsockets, behind the set itself. lock not held. */
static nfds_t collect(int set, struct pollfd *fds, nfds_t max)
{
	nfds_t count = 0;

	fds[count++] = (struct pollfd){.fd = set, .events = POLLIN};
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < member_end && count < max; i++) {
		struct member *m = &members[i];
		int target = roce_preload_target(m->fd);

		if (m->set == set && !m->is_spent && target >= 0)
			fds[count++] =
				(struct pollfd){.fd = target, .events = events_of(m, target)};
	}
	pthread_mutex_unlock(&lock);
	return count;
}

static bool take(struct member *m, const struct pollfd *fd, struct epoll_event *out)
{
	uint32_t wanted = (uint32_t)fd->events | EPOLLERR | EPOLLHUP;
	uint32_t got = (uint32_t)(unsigned short)fd->revents & wanted;

	if (!got)
		return false;
	*out = (struct epoll_event){.events = got, .data = m->event.data};
	m->is_spent = m->event.events & EPOLLONESHOT;
	m->is_write_known |= (got & EPOLLOUT) != 0;
	return true;
}

static int report(int set, const struct pollfd *fds, nfds_t count, struct epoll_event *events,
		  int max)
{
	int done = 0;

	pthread_mutex_lock(&lock);
	for (nfds_t i = 1; i < count && done < max; i++)
		for (unsigned j = 0; j < member_end && done < max; j++)
			if (members[j].set == set &&
			    roce_preload_target(members[j].fd) == fds[i].fd &&
			    take(&members[j], &fds[i], &events[done]))
				done++;
	pthread_mutex_unlock(&lock);
	return done;
}

static bool has_ours(int set)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < member_end && !found; i++)
		found = members[i].set == set;
	pthread_mutex_unlock(&lock);
	return found;
}

static int wait_mixed(int set, struct epoll_event *events, int max, int timeout)
{
	struct pollfd *fds = calloc(MEMBERS_MAX + 1, sizeof(*fds));
	nfds_t count;
	int done;

	if (!fds) {
		errno = ENOMEM;
		return -1;
	}
	count = collect(set, fds, MEMBERS_MAX + 1);
	done = rpoll(fds, count, timeout);
	if (done > 0) {
		done = report(set, fds, count, events, max);
		if (fds[0].revents && done < max) {
			int plain =
				roce_real()->epoll_pwait(set, events + done, max - done, 0, NULL);

			done += plain > 0 ? plain : 0;
		}
	}
	free(fds);
	return done;
}

int epoll_pwait(int set, struct epoll_event *events, int max, int timeout, const sigset_t *mask)
{
	sigset_t before;
	int done;

	if (!has_ours(set))
		return roce_real()->epoll_pwait(set, events, max, timeout, mask);
	if (mask)
		pthread_sigmask(SIG_SETMASK, mask, &before);
	done = wait_mixed(set, events, max, timeout);
	if (mask)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return done;
}

int epoll_wait(int set, struct epoll_event *events, int max, int timeout)
{
	return epoll_pwait(set, events, max, timeout, NULL);
}
