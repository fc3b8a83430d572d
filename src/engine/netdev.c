/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices and addresses over rtnetlink (libnl), speed over the ethtool ioctl. Everything is read
 * afresh on demand: a table of a dozen devices costs well under a millisecond. Who wants to know
 * when listens to netdev_news.h.
 */
#include "engine/netdev.h"

#include "wire/mtu.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define NO_SPEED	 UINT32_MAX
#define UNUSABLE_ADDRESS (IFA_F_TENTATIVE | IFA_F_DADFAILED)

struct roce_netdev_source {
	struct nl_sock *query;
	int ioctl_fd;
};

/* libnl's error numbers are its own. */
static int errno_from_nl(int err)
{
	switch (-err) {
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_PERM:
	case NLE_NOACCESS:
		return -EPERM;
	case NLE_NODEV:
	case NLE_OBJ_NOTFOUND:
		return -ENODEV;
	default:
		return -EIO;
	}
}

int roce_netdev_source_open(struct roce_netdev_source **out)
{
	struct roce_netdev_source *src = calloc(1, sizeof(*src));
	int err = -NLE_NOMEM;

	if (!src)
		return -ENOMEM;
	src->ioctl_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	src->query = nl_socket_alloc();
	if (!src->query)
		goto fail;
	err = nl_connect(src->query, NETLINK_ROUTE);
	if (err < 0)
		goto fail;
	*out = src;
	return 0;
fail:
	roce_netdev_source_close(src);
	return errno_from_nl(err);
}

void roce_netdev_source_close(struct roce_netdev_source *src)
{
	if (!src)
		return;
	nl_socket_free(src->query);
	if (src->ioctl_fd >= 0)
		close(src->ioctl_fd);
	free(src);
}

void roce_netdev_source_abandon(struct roce_netdev_source *src)
{
	close(nl_socket_get_fd(src->query));
	if (src->ioctl_fd >= 0)
		close(src->ioctl_fd);
}

/* ---- GIDs ---- */

static uint32_t gid_rank(const struct roce_gid *g)
{
	if (roce_gid_is_v4(g))
		return g->raw[12] == 169 && g->raw[13] == 254 ? 2 : 0;
	return roce_gid_is_link_local(g) ? 2 : 1;
}

void roce_netdev_sort_gids(struct roce_gid *gids, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) { /* stable, and the table is short */
		struct roce_gid g = gids[i];
		uint32_t at = i;

		for (; at > 0 && gid_rank(&gids[at - 1]) > gid_rank(&g); at--)
			gids[at] = gids[at - 1];
		gids[at] = g;
	}
}

static bool gid_from_nl(const struct nl_addr *a, struct roce_gid *out)
{
	const void *bytes = nl_addr_get_binary_addr(a);
	int family = nl_addr_get_family(a);

	memset(out, 0, sizeof(*out));
	if (family == AF_INET && nl_addr_get_len(a) == 4) {
		out->raw[10] = 0xff;
		out->raw[11] = 0xff;
		memcpy(out->raw + 12, bytes, 4);
		return true;
	}
	if (family == AF_INET6 && nl_addr_get_len(a) == 16) {
		memcpy(out->raw, bytes, 16);
		return true;
	}
	return false;
}

/* A device may have an address twice (with two prefixes); a GID must stand once. */
static void add_gid(struct roce_netdev *dev, const struct roce_gid *gid)
{
	for (uint32_t i = 0; i < dev->gid_count; i++) {
		if (roce_gid_is_equal(&dev->gids[i], gid))
			return;
	}
	if (dev->gid_count < ROCE_NETDEV_GIDS_MAX)
		dev->gids[dev->gid_count++] = *gid;
}

static void read_gids(struct nl_cache *addresses, struct roce_netdev *dev)
{
	dev->gid_count = 0;
	for (struct nl_object *o = nl_cache_get_first(addresses); o; o = nl_cache_get_next(o)) {
		struct rtnl_addr *a = (struct rtnl_addr *)o;
		struct nl_addr *local = rtnl_addr_get_local(a);
		struct roce_gid gid;

		if (rtnl_addr_get_ifindex(a) == (int)dev->ifindex && local &&
		    !(rtnl_addr_get_flags(a) & UNUSABLE_ADDRESS) && gid_from_nl(local, &gid))
			add_gid(dev, &gid);
	}
	roce_netdev_sort_gids(dev->gids, dev->gid_count);
}

/* ---- devices ---- */

static uint32_t read_speed(const struct roce_netdev_source *src, const char *name)
{
	struct ethtool_cmd cmd = {.cmd = ETHTOOL_GSET};
	struct ifreq ifr = {.ifr_data = (void *)&cmd};
	uint32_t speed;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (src->ioctl_fd < 0 || ioctl(src->ioctl_fd, SIOCETHTOOL, &ifr) < 0)
		return 0;
	speed = (uint32_t)cmd.speed_hi << 16 | cmd.speed;
	return speed == NO_SPEED ? 0 : speed;
}

static void read_link(const struct roce_netdev_source *src, struct rtnl_link *link,
		      struct roce_netdev *dev)
{
	unsigned int flags = rtnl_link_get_flags(link);
	struct nl_addr *mac = rtnl_link_get_addr(link);

	memset(dev, 0, offsetof(struct roce_netdev, gids));
	dev->ifindex = (uint32_t)rtnl_link_get_ifindex(link);
	snprintf(dev->name, sizeof(dev->name), "%s", rtnl_link_get_name(link));
	dev->mtu = rtnl_link_get_mtu(link);
	dev->is_up = (flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
	dev->is_loopback = flags & IFF_LOOPBACK;
	if (mac && nl_addr_get_len(mac) == sizeof(dev->mac))
		memcpy(dev->mac, nl_addr_get_binary_addr(mac), sizeof(dev->mac));
	dev->speed_mbps = read_speed(src, dev->name);
}

const char *roce_netdev_lack_str(enum roce_netdev_lack lack)
{
	static const char *const texts[] = {
#define X(name, text) text,
		ROCE_NETDEV_LACKS(X)
#undef X
	};

	return texts[lack];
}

static uint8_t find_lack(struct rtnl_link *link, const struct roce_netdev *dev)
{
	if (!(rtnl_link_get_flags(link) & IFF_UP))
		return ROCE_NETDEV_LACKS_UP;
	if (dev->gid_count == 0)
		return ROCE_NETDEV_LACKS_ADDRESS;
	if (roce_mtu_enum_from_netdev(dev->mtu) == 0)
		return ROCE_NETDEV_LACKS_MTU;
	return ROCE_NETDEV_LACKS_NOTHING;
}

static int compare_devices(const void *a, const void *b)
{
	const struct roce_netdev *x = a;
	const struct roce_netdev *y = b;

	if (!x->lack != !y->lack)
		return x->lack ? 1 : -1;
	if (x->is_loopback != y->is_loopback)
		return x->is_loopback ? 1 : -1;
	return x->ifindex < y->ifindex ? -1 : x->ifindex > y->ifindex;
}

int roce_netdev_list(struct roce_netdev_source *src, struct roce_netdev **out, uint32_t *out_count)
{
	int err = roce_netdev_list_all(src, out, out_count);

	while (!err && *out_count && (*out)[*out_count - 1].lack)
		--*out_count;
	if (!err && !*out_count) {
		free(*out);
		*out = NULL;
	}
	return err;
}

int roce_netdev_list_all(struct roce_netdev_source *src, struct roce_netdev **out,
			 uint32_t *out_count)
{
	struct nl_cache *links = NULL;
	struct nl_cache *addresses = NULL;
	struct roce_netdev *devs = NULL;
	uint32_t count = 0;
	int err = rtnl_link_alloc_cache(src->query, AF_UNSPEC, &links);

	if (err >= 0)
		err = rtnl_addr_alloc_cache(src->query, &addresses);
	if (err < 0) {
		err = errno_from_nl(err);
		goto done;
	}
	err = -ENOMEM;
	devs = calloc((size_t)nl_cache_nitems(links) + 1, sizeof(*devs));
	if (!devs)
		goto done;
	for (struct nl_object *o = nl_cache_get_first(links); o; o = nl_cache_get_next(o)) {
		struct rtnl_link *link = (struct rtnl_link *)o;

		read_link(src, link, &devs[count]);
		read_gids(addresses, &devs[count]);
		devs[count].lack = find_lack(link, &devs[count]);
		count++;
	}
	qsort(devs, count, sizeof(*devs), compare_devices);
	if (count == 0) {
		free(devs);
		devs = NULL;
	}
	*out = devs;
	*out_count = count;
	err = 0;
done:
	nl_cache_free(links);
	nl_cache_free(addresses);
	return err;
}

int roce_netdev_read(struct roce_netdev_source *src, uint32_t ifindex, struct roce_netdev *out)
{
	struct rtnl_link *link = NULL;
	struct nl_cache *addresses = NULL;
	int err = rtnl_link_get_kernel(src->query, (int)ifindex, NULL, &link);

	if (err >= 0)
		err = rtnl_addr_alloc_cache(src->query, &addresses);
	if (err >= 0) {
		read_link(src, link, out);
		read_gids(addresses, out);
		out->lack = find_lack(link, out);
	}
	if (link)
		rtnl_link_put(link);
	nl_cache_free(addresses);
	return err < 0 ? errno_from_nl(err) : 0;
}

/* ---- names ---- */

/* Is [pair, end) "name=netdev" for this netdev? Then its name's length, else 0. */
static size_t match_pair(const char *pair, const char *end, const char *netdev_name)
{
	const char *equals = memchr(pair, '=', (size_t)(end - pair));

	if (!equals || (size_t)(end - equals - 1) != strlen(netdev_name) ||
	    memcmp(equals + 1, netdev_name, strlen(netdev_name)) != 0)
		return 0;
	return (size_t)(equals - pair);
}

void roce_netdev_device_name(const char *netdev_name, char out[ROCE_DEVICE_NAME_MAX])
{
	const char *pair = getenv("UROCE_NAME");

	while (pair && *pair) {
		const char *end = strchrnul(pair, ',');
		size_t length = match_pair(pair, end, netdev_name);

		if (roce_netdev_name_is_usable(pair, length)) {
			memcpy(out, pair, length);
			out[length] = '\0';
			return;
		}
		pair = *end ? end + 1 : end;
	}
	snprintf(out, ROCE_DEVICE_NAME_MAX, "uroce_%s", netdev_name);
}
