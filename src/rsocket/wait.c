/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a thread waits for something of a stream to be true. One thread a socket, the watcher, sleeps
 * on the completion channel and on an eventfd of its own; all others wait on `changed` behind it.
 * Whoever changes something calls roce_rs_notify(), which reaches both. So it does not matter which
 * thread takes a completion: nobody sleeps through it.
 */
#include <errno.h>
#include <poll.h>

#include "base/clock.h"
#include "rsocket/pollers.h"
#include "rsocket/readiness.h"
#include "rsocket/socket.h"

uint64_t roce_rs_now_ms(void)
{
	return roce_clock_now() / ROCE_NS_PER_MS;
}

void roce_rs_take_cq_event(struct roce_rs *rs)
{
	struct ibv_cq *cq;
	void *context;

	if (!rs->cq_channel)
		return;
	while (!ibv_get_cq_event(rs->cq_channel, &cq, &context)) {
		ibv_ack_cq_events(cq, 1);
		rs->is_armed = false;
	}
}

int roce_rs_arm(struct roce_rs *rs)
{
	int error;

	if (rs->is_armed || !rs->cq)
		return 0;
	error = ibv_req_notify_cq(rs->cq, 0);
	if (!error)
		rs->is_armed = true;
	return -error;
}

static int watch(struct roce_rs *rs, struct pollfd *fds, int fd_count, int wake_fd)
{
	int count, error;

	fds[fd_count++] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
	roce_rs_eventfd_drain(wake_fd);
	rs->watcher_fd = wake_fd;
	pthread_mutex_unlock(&rs->lock);
	count = poll(fds, (nfds_t)fd_count, (int)roce_rs_config()->wake_up_ms);
	error = count < 0 ? -errno : 0;
	pthread_mutex_lock(&rs->lock);
	rs->watcher_fd = -1;
	pthread_cond_broadcast(&rs->changed); /* somebody else may have to watch */
	roce_rs_take_events(rs);
	return error;
}

int roce_rs_wait(struct roce_rs *rs, bool is_nonblocking, bool (*is_true)(const struct roce_rs *))
{
	uint64_t spin_until = 0;

	for (;;) {
		struct pollfd fds[ROCE_RS_POLL_FDS_MAX + 1];
		int wake_fd, fd_count, error;

		roce_rs_advance(rs);
		if (is_true(rs))
			return 0;
		if (is_nonblocking)
			return -EAGAIN;
		if (!spin_until)
			spin_until =
				roce_clock_now() + roce_rs_config()->polling_us * ROCE_NS_PER_US;
		if (roce_clock_now() < spin_until) {
			pthread_mutex_unlock(&rs->lock);
			pthread_mutex_lock(&rs->lock);
			continue;
		}
		if (rs->watcher_fd >= 0) {
			pthread_cond_wait(&rs->changed, &rs->lock);
			continue;
		}
		wake_fd = roce_rs_thread_eventfd();
		if (wake_fd < 0)
			return wake_fd;
		fd_count = roce_rs_poll_fds(rs, fds);
		/* What came before the arming raises no event. */
		roce_rs_advance(rs);
		if (is_true(rs))
			return 0;
		error = watch(rs, fds, fd_count, wake_fd);
		if (error)
			return error;
	}
}
