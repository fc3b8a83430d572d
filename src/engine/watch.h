/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread that follows the network device of an open device, from the first context to the last:
 * it sleeps until the kernel tells of a change, and then lets the verbs layer know, which moves the
 * addresses of datagram queue pairs along and tells the program. It is apart from the progress
 * thread, which exists only while there are queue pairs, and whose packets must not wait until
 * netlink has been read.
 */
#ifndef ROCE_ENGINE_WATCH_H
#define ROCE_ENGINE_WATCH_H

#include "engine/port_state.h"
#include "verbs/device.h"

#include <pthread.h>
#include <stdbool.h>

struct roce_watch {
	pthread_t thread;
	bool is_started;
	int stop_fd;
	struct roce_port_state *port;
	struct roce_device *dev;
};

/* 0 or -errno. */
int roce_watch_start(struct roce_watch *w, struct roce_port_state *port, struct roce_device *dev);
/* Ends the thread, if there is one; called without the device's lock. */
void roce_watch_stop(struct roce_watch *w);
/* In a forked child, where there is no thread: closes the descriptor. */
void roce_watch_abandon(struct roce_watch *w);

#endif
