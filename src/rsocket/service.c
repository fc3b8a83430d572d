/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One epoll set over the channels of all sockets. An event names a descriptor, which is looked up
 * under the service's lock: a socket that was closed meanwhile is not found, and one that took its
 * number has nothing to say yet.
 */
#include "rsocket/service.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rsocket/datagram.h"
#include "rsocket/pollers.h"
#include "rsocket/socket.h"
#include "rsocket/table.h"

#define EVENTS_AT_ONCE 16
#define MS_PER_S       1000

static pthread_mutex_t service_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static struct roce_list keepalives = {&keepalives, &keepalives};   /* guarded by keepalive_lock */
static pthread_mutex_t keepalive_lock = PTHREAD_MUTEX_INITIALIZER; /* innermost */
static int epoll_fd = -1;
static int wake_fd = -1; /* a keepalive was set: count the time anew */
static pid_t owner;	 /* a forked child has no thread and starts its own */

/* The first socket whose keepalive is due, and how long until the next one in ms, -1 never. */
static int find_due(uint64_t now, int *out_fd)
{
	struct roce_list *pos;
	uint64_t first = UINT64_MAX;

	*out_fd = -1;
	pthread_mutex_lock(&keepalive_lock);
	roce_list_for_each (pos, &keepalives) {
		struct roce_rs *rs = roce_container_of(pos, struct roce_rs, keepalive_link);

		if (rs->keepalive_at_ms <= now) {
			rs->keepalive_at_ms = now + rs->keepalive_ms;
			*out_fd = rs->fd;
		}
		if (rs->keepalive_at_ms < first)
			first = rs->keepalive_at_ms;
		if (*out_fd >= 0)
			break;
	}
	pthread_mutex_unlock(&keepalive_lock);
	if (*out_fd >= 0)
		return 0;
	if (first == UINT64_MAX)
		return -1;
	return first - now > INT32_MAX ? INT32_MAX : (int)(first - now);
}

static void send_keepalive(int fd)
{
	struct roce_rs *rs;

	pthread_mutex_lock(&service_lock);
	rs = roce_rs_table_get(fd);
	if (rs) {
		pthread_mutex_lock(&rs->lock);
		if (rs->state == ROCE_RS_CONNECTED)
			roce_rs_send_keepalive(rs);
		pthread_mutex_unlock(&rs->lock);
	}
	pthread_mutex_unlock(&service_lock);
}

/* Until raccept() makes room; the event that waits would wake us again and again. */
static void pause_watch(struct roce_rs *rs)
{
	if (rs->is_paused)
		return;
	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, rs->fd, NULL);
	rs->is_paused = true;
}

static void handle(int fd)
{
	struct roce_rs *rs;

	pthread_mutex_lock(&service_lock);
	rs = roce_rs_table_get(fd);
	if (rs) {
		bool was_accepting, is_gone;

		pthread_mutex_lock(&rs->lock);
		was_accepting = rs->state == ROCE_RS_ACCEPTING;
		if (rs->datagram)
			roce_ds_on_udp(rs);
		else
			roce_rs_on_cm(rs);
		if (roce_rs_is_full(rs))
			pause_watch(rs);
		/* Its end may have come along with its begin: what it has sent is still read. */
		if (was_accepting && rs->was_connected)
			roce_rs_child_ready(rs);
		is_gone = was_accepting && rs->state == ROCE_RS_FAILED && !rs->was_connected;
		pthread_mutex_unlock(&rs->lock);
		if (is_gone)
			roce_rs_child_gone(rs);
	}
	pthread_mutex_unlock(&service_lock);
}

static void *run(void *argument)
{
	int fd = (int)(intptr_t)argument;

	for (;;) {
		struct epoll_event events[EVENTS_AT_ONCE];
		int due, timeout = find_due(roce_rs_now_ms(), &due);
		int count;

		if (due >= 0)
			send_keepalive(due);
		count = epoll_wait(fd, events, EVENTS_AT_ONCE, timeout);
		if (count < 0 && errno != EINTR)
			return NULL;
		for (int i = 0; i < count; i++)
			if (events[i].data.fd == wake_fd)
				roce_rs_eventfd_drain(wake_fd);
			else
				handle(events[i].data.fd);
	}
}

static int watch(int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int start_thread(void)
{
	pthread_t thread;
	pthread_attr_t attributes;
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attributes, run, (void *)(intptr_t)epoll_fd);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

static void close_both(void)
{
	if (epoll_fd >= 0)
		close(epoll_fd);
	if (wake_fd >= 0)
		close(wake_fd);
	epoll_fd = -1;
	wake_fd = -1;
}

static int start(void)
{
	int error;

	close_both(); /* a parent's */
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	error = epoll_fd < 0 || wake_fd < 0 ? -errno : watch(wake_fd);
	if (!error)
		error = start_thread();
	if (error)
		close_both();
	else
		owner = getpid();
	return error;
}

static int start_once(void)
{
	int error = 0;

	pthread_mutex_lock(&start_lock);
	if (owner != getpid())
		error = start();
	pthread_mutex_unlock(&start_lock);
	return error;
}

int roce_rs_service_add(struct roce_rs *rs)
{
	int error = start_once();

	if (error)
		return error;
	error = watch(rs->fd);
	return error == -EEXIST ? 0 : error;
}

int roce_rs_service_keepalive(struct roce_rs *rs)
{
	bool is_on = rs->option_bits & ROCE_RS_OPTION_KEEPALIVE;
	int error = is_on ? start_once() : 0;

	if (error)
		return error;
	pthread_mutex_lock(&keepalive_lock);
	roce_list_remove(&rs->keepalive_link);
	if (is_on) {
		rs->keepalive_ms = (uint64_t)rs->keepalive_s * MS_PER_S;
		rs->keepalive_at_ms = roce_rs_now_ms() + rs->keepalive_ms;
		roce_list_add_tail(&keepalives, &rs->keepalive_link);
	}
	pthread_mutex_unlock(&keepalive_lock);
	if (is_on)
		roce_rs_eventfd_ring(wake_fd);
	return 0;
}

void roce_rs_service_lock(void)
{
	pthread_mutex_lock(&service_lock);
}

void roce_rs_service_unlock(void)
{
	pthread_mutex_unlock(&service_lock);
}

void roce_rs_service_remove(struct roce_rs *rs)
{
	pthread_mutex_lock(&keepalive_lock);
	roce_list_remove(&rs->keepalive_link);
	pthread_mutex_unlock(&keepalive_lock);
	if (owner == getpid())
		epoll_ctl(epoll_fd, EPOLL_CTL_DEL, rs->fd, NULL);
}
