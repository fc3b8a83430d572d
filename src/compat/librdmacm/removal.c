/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DEVICE_REMOVAL: when an interface goes, or moves to another network namespace, every id that was
 * bound to its device is told, once. A thread sleeps on the kernel's news of links; the first id
 * that is bound to a device starts it. Without it (no thread, no socket) ids just do not hear of
 * it.
 */
#include "compat/librdmacm/rdmacm.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define NEWS_BYTES 8192

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t watcher; /* whose thread it is: a forked child has none */

static int open_news(void)
{
	struct sockaddr_nl local = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&local, sizeof(local))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void read_news(const uint8_t *news, size_t length)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)news;

	for (; NLMSG_OK(h, length); h = NLMSG_NEXT(h, length)) {
		const struct ifinfomsg *link = NLMSG_DATA(h);

		if (h->nlmsg_type == RTM_DELLINK && h->nlmsg_len >= NLMSG_LENGTH(sizeof(*link)) &&
		    link->ifi_family == AF_UNSPEC)
			cm_ids_on_removal((uint32_t)link->ifi_index);
	}
}

static void *watch(void *arg)
{
	int fd = (int)(intptr_t)arg;
	_Alignas(struct nlmsghdr) uint8_t news[NEWS_BYTES];
	ssize_t n;

	/* News that did not fit are lost (ENOBUFS); what comes later is as good. */
	do {
		n = recv(fd, news, sizeof(news), 0);
		if (n > 0)
			read_news(news, (size_t)n);
	} while (n > 0 || errno == ENOBUFS || errno == EINTR);
	close(fd);
	return NULL;
}

void cm_removal_watch(void)
{
	int fd;

	pthread_mutex_lock(&start_lock);
	if (watcher != getpid()) {
		fd = open_news();
		if (fd >= 0 && cm_start_thread(watch, (void *)(intptr_t)fd, "uroce-removal"))
			close(fd);
		watcher = getpid();
	}
	pthread_mutex_unlock(&start_lock);
}
