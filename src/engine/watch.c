/* SPDX-License-Identifier: BSD-2-Clause */
/* See watch.h. The device's lock is taken only to tell what was found. */
#include "engine/watch.h"

#include "engine/thread.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define RETRY_MS 100

enum source {
	STOP,
	WAKE,
	NEWS,
	SOURCE_COUNT,
};

static void tell(struct roce_watch *w)
{
	struct roce_port_change change;

	if (!roce_port_state_take(w->port, &change))
		return;
	pthread_mutex_lock(&w->dev->lock);
	roce_device_on_port_change(w->dev, &change);
	pthread_mutex_unlock(&w->dev->lock);
}

static void *run_watch(void *arg)
{
	struct roce_watch *w = arg;
	struct pollfd fds[SOURCE_COUNT] = {
		[STOP] = {.fd = w->stop_fd, .events = POLLIN},
		[WAKE] = {.fd = w->port->wake_fd, .events = POLLIN},
		[NEWS] = {.fd = w->port->news.fd, .events = POLLIN},
	};

	for (;;) {
		int timeout = roce_port_state_must_read(w->port) ? RETRY_MS : -1;

		if (poll(fds, SOURCE_COUNT, timeout) < 0)
			continue;
		if (fds[STOP].revents)
			return NULL;
		tell(w);
		if (roce_port_state_is_gone(w->port))
			fds[NEWS].fd = -1; /* of a device that will never be ours again */
	}
}

int roce_watch_start(struct roce_watch *w, struct roce_port_state *port, struct roce_device *dev)
{
	int err;

	*w = (struct roce_watch){.port = port, .dev = dev};
	w->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (w->stop_fd < 0)
		return -errno;
	err = roce_thread_create(&w->thread, "uroce-watch", run_watch, w);
	if (err)
		close(w->stop_fd);
	else
		w->is_started = true;
	return err;
}

void roce_watch_stop(struct roce_watch *w)
{
	uint64_t one = 1;

	if (!w->is_started)
		return;
	if (write(w->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(w->thread, NULL);
	w->is_started = false;
	close(w->stop_fd);
}

void roce_watch_abandon(struct roce_watch *w)
{
	if (!w->is_started)
		return;
	w->is_started = false;
	close(w->stop_fd);
}
