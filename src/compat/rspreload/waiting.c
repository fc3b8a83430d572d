/* SPDX-License-Identifier: BSD-2-Clause */
/* poll() and select() with rsockets among the descriptors. Without any, libc's. */
#include <errno.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "compat/rspreload/preload.h"

#define FDS_ON_STACK 64
#define MS_PER_S     1000
#define NS_PER_MS    1000000

static bool has_ours(const struct pollfd *fds, nfds_t count)
{
	for (nfds_t i = 0; i < count; i++)
		if (roce_preload_target(fds[i].fd) >= 0)
			return true;
	return false;
}

static int poll_mixed(struct pollfd *fds, nfds_t count, int timeout)
{
	struct pollfd on_stack[FDS_ON_STACK], *inner = on_stack;
	int ready;

	if (count > FDS_ON_STACK) {
		inner = calloc(count, sizeof(*inner));
		if (!inner) {
			errno = ENOMEM;
			return -1;
		}
	}
	for (nfds_t i = 0; i < count; i++) {
		int target = roce_preload_target(fds[i].fd);

		inner[i] = fds[i];
		if (target >= 0)
			inner[i].fd = target;
	}
	ready = rpoll(inner, count, timeout);
	for (nfds_t i = 0; i < count && ready >= 0; i++)
		fds[i].revents = inner[i].revents;
	if (inner != on_stack)
		free(inner);
	return ready;
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	return has_ours(fds, count) ? poll_mixed(fds, count, timeout)
				    : roce_real()->poll(fds, count, timeout);
}

static int milliseconds(const struct timespec *t)
{
	if (!t)
		return -1;
	if (t->tv_sec > INT32_MAX / MS_PER_S - 1)
		return INT32_MAX;
	return (int)(t->tv_sec * MS_PER_S + (t->tv_nsec + NS_PER_MS - 1) / NS_PER_MS);
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
	sigset_t before;
	int ready;

	if (!has_ours(fds, count))
		return roce_real()->ppoll(fds, count, timeout, mask);
	if (mask)
		pthread_sigmask(SIG_SETMASK, mask, &before);
	ready = poll_mixed(fds, count, milliseconds(timeout));
	if (mask)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ready;
}

static bool is_asked(int fd, const fd_set *r, const fd_set *w, const fd_set *e)
{
	return (r && FD_ISSET(fd, r)) || (w && FD_ISSET(fd, w)) || (e && FD_ISSET(fd, e));
}

static bool has_ours_in_sets(int nfds, const fd_set *r, const fd_set *w, const fd_set *e)
{
	for (int fd = 0; fd < nfds && fd < FD_SETSIZE; fd++)
		if (is_asked(fd, r, w, e) && roce_preload_target(fd) >= 0)
			return true;
	return false;
}

/* Clears the bit when the condition does not hold; 1 when it does. */
static int keep_bit(int fd, fd_set *set, bool holds)
{
	if (!set || !FD_ISSET(fd, set))
		return 0;
	if (!holds)
		FD_CLR(fd, set);
	return holds;
}

static int select_mixed(int nfds, fd_set *r, fd_set *w, fd_set *e, int timeout)
{
	struct pollfd fds[FD_SETSIZE];
	nfds_t count = 0;
	int bits = 0;

	for (int fd = 0; fd < nfds && fd < FD_SETSIZE; fd++) {
		if (!is_asked(fd, r, w, e))
			continue;
		fds[count] = (struct pollfd){.fd = fd};
		if (r && FD_ISSET(fd, r))
			fds[count].events |= POLLIN;
		if (w && FD_ISSET(fd, w))
			fds[count].events |= POLLOUT;
		count++;
	}
	if (poll_mixed(fds, count, timeout) < 0)
		return -1;
	for (nfds_t i = 0; i < count; i++) {
		short got = fds[i].revents;

		bits += keep_bit(fds[i].fd, r, got & (POLLIN | POLLHUP | POLLERR));
		bits += keep_bit(fds[i].fd, w, got & (POLLOUT | POLLERR));
		bits += keep_bit(fds[i].fd, e, got & POLLPRI);
	}
	return bits;
}

int select(int nfds, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout)
{
	struct timespec t;

	if (!has_ours_in_sets(nfds, r, w, e))
		return roce_real()->select(nfds, r, w, e, timeout);
	if (timeout)
		t = (struct timespec){.tv_sec = timeout->tv_sec,
				      .tv_nsec = timeout->tv_usec * 1000};
	return select_mixed(nfds, r, w, e, milliseconds(timeout ? &t : NULL));
}

int pselect(int nfds, fd_set *r, fd_set *w, fd_set *e, const struct timespec *timeout,
	    const sigset_t *mask)
{
	sigset_t before;
	int bits;

	if (!has_ours_in_sets(nfds, r, w, e))
		return roce_real()->pselect(nfds, r, w, e, timeout, mask);
	if (mask)
		pthread_sigmask(SIG_SETMASK, mask, &before);
	bits = select_mixed(nfds, r, w, e, milliseconds(timeout));
	if (mask)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return bits;
}
