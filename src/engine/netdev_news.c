/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notifications are taken from a plain netlink socket: libnl would order its messages by cache, and
 * the order is what matters here. Messages that name another device cost a glance.
 */
#include "engine/netdev_news.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int join(int fd, int group)
{
	return setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0
		       ? -errno
		       : 0;
}

int roce_netdev_news_open(struct roce_netdev_news *n, uint32_t ifindex)
{
	struct sockaddr_nl own = {.nl_family = AF_NETLINK};
	int err = 0;

	n->ifindex = ifindex;
	n->at = n->end = 0;
	n->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (n->fd < 0)
		return -errno;
	if (bind(n->fd, (struct sockaddr *)&own, sizeof(own)) < 0)
		err = -errno;
	if (!err)
		err = join(n->fd, RTNLGRP_LINK);
	if (!err)
		err = join(n->fd, RTNLGRP_IPV4_IFADDR);
	if (!err)
		err = join(n->fd, RTNLGRP_IPV6_IFADDR);
	if (err)
		roce_netdev_news_close(n);
	return err;
}

void roce_netdev_news_close(struct roce_netdev_news *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

/* What a message about a link says. Bridges tell of their ports in messages of a family of their
 * own, where the port's end is not the device's. */
static enum roce_netdev_told read_link(const struct roce_netdev_news *n, uint16_t type,
				       const struct ifinfomsg *link)
{
	const unsigned int up = IFF_UP | IFF_RUNNING;

	if ((uint32_t)link->ifi_index != n->ifindex || link->ifi_family != AF_UNSPEC)
		return ROCE_NETDEV_NOTHING;
	if (type == RTM_DELLINK)
		return ROCE_NETDEV_GONE;
	return (link->ifi_flags & up) == up ? ROCE_NETDEV_LINK_UP : ROCE_NETDEV_LINK_DOWN;
}

static enum roce_netdev_told read_message(const struct roce_netdev_news *n,
					  const struct nlmsghdr *h)
{
	const void *body = NLMSG_DATA(h);
	size_t length = h->nlmsg_len - NLMSG_HDRLEN;

	switch (h->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		return length < sizeof(struct ifinfomsg) ? ROCE_NETDEV_NOTHING
							 : read_link(n, h->nlmsg_type, body);
	case RTM_NEWADDR:
	case RTM_DELADDR:
		return length >= sizeof(struct ifaddrmsg) &&
				       ((const struct ifaddrmsg *)body)->ifa_index == n->ifindex
			       ? ROCE_NETDEV_CHANGED
			       : ROCE_NETDEV_NOTHING;
	default:
		return ROCE_NETDEV_NOTHING;
	}
}

/* The next message of the datagram at hand; NULL at its end. */
static const struct nlmsghdr *next_message(struct roce_netdev_news *n)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)(n->bytes + n->at);

	if (n->end - n->at < NLMSG_HDRLEN || h->nlmsg_len < NLMSG_HDRLEN ||
	    h->nlmsg_len > n->end - n->at)
		return NULL;
	n->at += NLMSG_ALIGN(h->nlmsg_len);
	if (n->at > n->end)
		n->at = n->end;
	return h;
}

/* 1: there is a datagram of the kernel's; 0: none waits; negative: something was lost. */
static int receive(struct roce_netdev_news *n)
{
	for (;;) {
		struct sockaddr_nl from = {0};
		struct iovec iov = {.iov_base = n->bytes, .iov_len = sizeof(n->bytes)};
		struct msghdr msg = {.msg_name = &from,
				     .msg_namelen = sizeof(from),
				     .msg_iov = &iov,
				     .msg_iovlen = 1};
		ssize_t got = recvmsg(n->fd, &msg, MSG_DONTWAIT);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == ENOBUFS ? -1 : 0;
		if (msg.msg_flags & MSG_TRUNC)
			return -1;
		if (from.nl_pid != 0)
			continue;
		n->at = 0;
		n->end = (size_t)got;
		return 1;
	}
}

enum roce_netdev_told roce_netdev_news_next(struct roce_netdev_news *n)
{
	for (;;) {
		const struct nlmsghdr *h = next_message(n);
		int received;

		if (h) {
			enum roce_netdev_told told = read_message(n, h);

			if (told != ROCE_NETDEV_NOTHING)
				return told;
			continue;
		}
		n->at = n->end = 0;
		received = receive(n);
		if (received < 0)
			return ROCE_NETDEV_LOST;
		if (!received)
			return ROCE_NETDEV_NOTHING;
	}
}
