/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel tells of one network device while it happens: rtnetlink's notifications, each in
 * its turn, so that a link that went down and came back is not mistaken for one that stayed up.
 * What exactly changed is read afresh (netdev.h); only the link's state is taken from here.
 *
 * The socket belongs to the network namespace in which it was opened. Not thread-safe.
 */
#ifndef ROCE_ENGINE_NETDEV_NEWS_H
#define ROCE_ENGINE_NETDEV_NEWS_H

#include <stddef.h>
#include <stdint.h>

#define ROCE_NETDEV_NEWS_BYTES 16384u

enum roce_netdev_told {
	ROCE_NETDEV_NOTHING,
	ROCE_NETDEV_CHANGED,   /* an address or something else */
	ROCE_NETDEV_LINK_UP,   /* it is up now, as it may have been before */
	ROCE_NETDEV_LINK_DOWN, /* the same */
	ROCE_NETDEV_GONE,      /* removed, or moved to another namespace */
	ROCE_NETDEV_LOST,      /* so much happened that some of it was not told */
};

struct roce_netdev_news {
	int fd; /* readable when something was told, perhaps of other devices */
	uint32_t ifindex;
	size_t at; /* messages not yet looked at */
	size_t end;
	_Alignas(8) uint8_t bytes[ROCE_NETDEV_NEWS_BYTES];
};

/* 0 or -errno. */
int roce_netdev_news_open(struct roce_netdev_news *n, uint32_t ifindex);
void roce_netdev_news_close(struct roce_netdev_news *n);

/* The next piece of news about the device; never blocks. */
enum roce_netdev_told roce_netdev_news_next(struct roce_netdev_news *n);

#endif
