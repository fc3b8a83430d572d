/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Network devices as RDMA ports: which exist, their addresses as a GID table, MTU, state, speed.
 * A source holds netlink sockets of the namespace in which it was opened and answers for that
 * namespace for its whole life.
 *
 * GID order: routable IPv4 addresses first, then global IPv6, then link-local ones of either
 * family, each group as the kernel lists it; so index 0 works for most programs. It is the order of
 * a list that is read now; an open device keeps the indices it began with (gid_table.h).
 */
#ifndef ROCE_ENGINE_NETDEV_H
#define ROCE_ENGINE_NETDEV_H

#include "base/addr.h"

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ROCE_NETDEV_GIDS_MAX 128u
#define ROCE_DEVICE_NAME_MAX 64u

/* What an interface lacks to be a device. X(name, in words) */
#define ROCE_NETDEV_LACKS(X)               \
	X(NOTHING, "nothing")              \
	X(UP, "it is down")                \
	X(ADDRESS, "it has no IP address") \
	X(MTU, "its MTU is below 352, which the smallest path MTU needs")

enum roce_netdev_lack {
#define X(name, text) ROCE_NETDEV_LACKS_##name,
	ROCE_NETDEV_LACKS(X)
#undef X
};

const char *roce_netdev_lack_str(enum roce_netdev_lack lack);

struct roce_netdev {
	uint32_t ifindex;
	char name[IF_NAMESIZE];
	uint32_t mtu;	     /* bytes of IP packet */
	uint32_t speed_mbps; /* 0 if the device does not say */
	bool is_up;	     /* administratively up, and carrier */
	bool is_loopback;
	uint8_t lack; /* enum roce_netdev_lack */
	uint8_t mac[6];
	uint32_t gid_count;
	struct roce_gid gids[ROCE_NETDEV_GIDS_MAX];
};

struct roce_netdev_source;

/* 0 or -errno. */
int roce_netdev_source_open(struct roce_netdev_source **out);
/* NULL is allowed. */
void roce_netdev_source_close(struct roce_netdev_source *src);

/*
 * The usable devices in the order in which they are listed: by interface index, loopback last. A
 * device is usable when it is administratively up, has an address and an MTU that the smallest path
 * MTU fits. *out is to be freed; NULL when there are none. 0 or -errno.
 */
int roce_netdev_list(struct roce_netdev_source *src, struct roce_netdev **out, uint32_t *out_count);
/* The same with those that are not usable behind them. */
int roce_netdev_list_all(struct roce_netdev_source *src, struct roce_netdev **out,
			 uint32_t *out_count);

/* Facts of one device, usable or not; -ENODEV when it is gone. */
int roce_netdev_read(struct roce_netdev_source *src, uint32_t ifindex, struct roce_netdev *out);

/* In a forked child: closes its copies of the descriptors, nothing else. */
void roce_netdev_source_abandon(struct roce_netdev_source *src);

/* Brings the GIDs into table order. */
void roce_netdev_sort_gids(struct roce_gid *gids, uint32_t count);

/* The device's GUID, as it stands in memory and on the wire. Never 0. */
void roce_netdev_guid(const struct roce_netdev *dev, uint8_t out[8]);

/* The number in its uverbs name: the same in every process. */
static inline uint32_t roce_netdev_index(const struct roce_netdev *dev)
{
	return dev->ifindex - 1;
}

/* Can a device have this name? It becomes a directory in sysfs. */
static inline bool roce_netdev_name_is_usable(const char *name, size_t length)
{
	return length > 0 && length < ROCE_DEVICE_NAME_MAX && !memchr(name, '/', length) &&
	       name[0] != '.';
}

/*
 * The RDMA device's name: uroce_<netdev>, unless UROCE_NAME says otherwise: a list of
 * name=netdev pairs with commas ("mlx5_0=eth0,mlx5_1=eth1").
 */
void roce_netdev_device_name(const char *netdev_name, char out[ROCE_DEVICE_NAME_MAX]);

#endif
