/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rpoll() and rselect() over rsockets and plain descriptors together. First it looks, for a short
 * time busily, then it arms the completion queues, looks once more, and sleeps on their channels
 * and on the thread's own eventfd, which any other thread rings that changes one of the sockets.
 */
#include <errno.h>
#include <limits.h>
#include <rdma/rsocket.h>
#include <stdlib.h>

#include "base/clock.h"
#include "rsocket/api.h"
#include "rsocket/pollers.h"
#include "rsocket/readiness.h"
#include "rsocket/socket.h"
#include "rsocket/table.h"

#define FDS_ON_STACK 32
#define NS_PER_US    ((int64_t)ROCE_NS_PER_US)
#define NS_PER_MS    ((int64_t)ROCE_NS_PER_MS)
#define MS_PER_S     1000
#define US_PER_MS    1000

/* Signed: a negative time means for ever. */
static int64_t now_ns(void)
{
	return (int64_t)roce_clock_now();
}

/* One look at all; the number of entries with revents. */
static int look(struct pollfd *fds, nfds_t count)
{
	int ready = 0;

	for (nfds_t i = 0; i < count; i++) {
		struct roce_rs *rs = roce_rs_table_get(fds[i].fd);

		if (!rs) {
			fds[i].revents = 0;
			if (fds[i].fd >= 0 && poll(&fds[i], 1, 0) < 0)
				fds[i].revents = 0;
		} else {
			pthread_mutex_lock(&rs->lock);
			roce_rs_advance(rs);
			fds[i].revents = roce_rs_revents(rs, fds[i].events);
			pthread_mutex_unlock(&rs->lock);
		}
		ready += fds[i].revents != 0;
	}
	return ready;
}

/* A sleep's descriptors: the eventfd, then those of each entry. */
struct sleep {
	struct pollfd *fds;
	nfds_t count;
};

static void prepare(struct sleep *s, struct pollfd *fds, nfds_t count, int wake_fd)
{
	s->fds[0] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
	s->count = 1;
	for (nfds_t i = 0; i < count; i++) {
		struct roce_rs *rs = roce_rs_table_get(fds[i].fd);

		if (!rs) {
			s->fds[s->count++] =
				(struct pollfd){.fd = fds[i].fd, .events = fds[i].events};
			continue;
		}
		pthread_mutex_lock(&rs->lock);
		rs->poller_count++;
		s->count += (nfds_t)roce_rs_poll_fds(rs, s->fds + s->count);
		pthread_mutex_unlock(&rs->lock);
	}
}

static void finish(struct pollfd *fds, nfds_t count)
{
	for (nfds_t i = 0; i < count; i++) {
		struct roce_rs *rs = roce_rs_table_get(fds[i].fd);

		if (!rs)
			continue;
		pthread_mutex_lock(&rs->lock);
		if (rs->poller_count) /* 0: it was made while we slept, under an old number */
			rs->poller_count--;
		roce_rs_take_events(rs);
		pthread_mutex_unlock(&rs->lock);
	}
}

static int remaining_ms(int64_t until)
{
	int64_t left = until - now_ns();
	int most = (int)roce_rs_config()->wake_up_ms;

	if (until < 0)
		return most;
	if (left <= 0)
		return 0;
	left = (left + NS_PER_MS - 1) / NS_PER_MS;
	return left < most ? (int)left : most;
}

static int sleep_and_look(struct sleep *s, struct pollfd *fds, nfds_t count, int64_t until)
{
	int wake_fd = roce_rs_thread_eventfd(), ready, slept = 0;

	if (wake_fd < 0) {
		errno = -wake_fd;
		return -1;
	}
	roce_rs_pollers_enter(wake_fd);
	prepare(s, fds, count, wake_fd);
	/* What came before the arming, or before the list had us, rings nobody. */
	ready = look(fds, count);
	if (!ready)
		slept = poll(s->fds, s->count, remaining_ms(until));
	roce_rs_pollers_leave(wake_fd);
	finish(fds, count);
	if (slept < 0)
		return -1;
	return ready ? ready : look(fds, count);
}

static int poll_until(struct sleep *s, struct pollfd *fds, nfds_t count, int64_t until)
{
	int64_t spin_until = now_ns() + roce_rs_config()->polling_us * NS_PER_US;
	int ready;

	do {
		ready = look(fds, count);
		if (ready || (until >= 0 && now_ns() >= until))
			return ready;
	} while (now_ns() < spin_until);
	do {
		ready = sleep_and_look(s, fds, count, until);
	} while (!ready && (until < 0 || now_ns() < until));
	return ready;
}

int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	struct pollfd on_stack[FDS_ON_STACK * ROCE_RS_POLL_FDS_MAX + 1];
	struct sleep s = {.fds = on_stack};
	int64_t until = timeout < 0 ? -1 : now_ns() + timeout * NS_PER_MS;
	int ready;

	if (nfds > FDS_ON_STACK) {
		s.fds = calloc(nfds * ROCE_RS_POLL_FDS_MAX + 1, sizeof(*s.fds));
		if (!s.fds) {
			errno = ENOMEM;
			return -1;
		}
	}
	ready = poll_until(&s, fds, nfds, until);
	if (s.fds != on_stack)
		free(s.fds);
	return ready;
}

/* ---- rselect ---- */

static nfds_t fds_from_sets(int nfds, const fd_set *r, const fd_set *w, const fd_set *e,
			    struct pollfd *out)
{
	nfds_t count = 0;

	for (int fd = 0; fd < nfds; fd++) {
		short events = 0;

		if (r && FD_ISSET(fd, r))
			events |= POLLIN;
		if (w && FD_ISSET(fd, w))
			events |= POLLOUT;
		if (events || (e && FD_ISSET(fd, e)))
			out[count++] = (struct pollfd){.fd = fd, .events = events};
	}
	return count;
}

static int sets_from_fds(const struct pollfd *fds, nfds_t count, fd_set *r, fd_set *w, fd_set *e)
{
	int bits = 0;

	for (nfds_t i = 0; i < count; i++) {
		short got = fds[i].revents;

		if (r && FD_ISSET(fds[i].fd, r) && !(got & (POLLIN | POLLHUP)))
			FD_CLR(fds[i].fd, r);
		else if (r && FD_ISSET(fds[i].fd, r))
			bits++;
		if (w && FD_ISSET(fds[i].fd, w) && !(got & POLLOUT))
			FD_CLR(fds[i].fd, w);
		else if (w && FD_ISSET(fds[i].fd, w))
			bits++;
		if (e && FD_ISSET(fds[i].fd, e) && !(got & ~(POLLIN | POLLOUT)))
			FD_CLR(fds[i].fd, e);
		else if (e && FD_ISSET(fds[i].fd, e))
			bits++;
	}
	return bits;
}

/* Rounded up; what is longer than poll() can say, 24 days, is that. */
static int ms_from_timeval(const struct timeval *t)
{
	if (t->tv_sec >= INT_MAX / MS_PER_S - 1)
		return INT_MAX;
	return (int)(t->tv_sec * MS_PER_S + (t->tv_usec + US_PER_MS - 1) / US_PER_MS);
}

int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds, struct timeval *timeout)
{
	struct pollfd fds[FD_SETSIZE];
	int timeout_ms = -1, ready;
	nfds_t count;

	if (nfds < 0 || nfds > FD_SETSIZE) {
		errno = EINVAL;
		return -1;
	}
	count = fds_from_sets(nfds, readfds, writefds, exceptfds, fds);
	if (timeout)
		timeout_ms = ms_from_timeval(timeout);
	ready = rpoll(fds, count, timeout_ms);
	return ready < 0 ? ready : sets_from_fds(fds, count, readfds, writefds, exceptfds);
}
