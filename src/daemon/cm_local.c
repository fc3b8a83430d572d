/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of cm_local.h, from getifaddrs(); netlink only says when to look again. */
#include "daemon/cm_local.h"

#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/guid.h"

static int open_netlink(void)
{
	const struct sockaddr_nl groups = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&groups, sizeof(groups))) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool get_gid(const struct sockaddr *sa, struct roce_gid *out)
{
	if (sa->sa_family == AF_INET) {
		*out = (struct roce_gid){{[10] = 0xff, 0xff}};
		memcpy(out->raw + 12, &((const struct sockaddr_in *)(const void *)sa)->sin_addr, 4);
		return true;
	}
	if (sa->sa_family != AF_INET6)
		return false;
	memcpy(out->raw, &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr, 16);
	return true;
}

static uint64_t guid_of(const struct ifaddrs *all, const char *name)
{
	uint8_t mac[6] = {0};
	uint8_t guid[8];

	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		const struct sockaddr_ll *ll = (const void *)i->ifa_addr;

		if (ll && ll->sll_family == AF_PACKET && strcmp(i->ifa_name, name) == 0 &&
		    ll->sll_halen == sizeof(mac))
			memcpy(mac, ll->sll_addr, sizeof(mac));
	}
	roce_guid_of(mac, name, guid);
	return roce_get_be64(guid);
}

static void add(struct roce_cm_locals *l, const struct ifaddrs *all, const struct ifaddrs *i)
{
	struct roce_cm_local *e = &l->local[l->count];

	if (l->count == ROCE_CM_LOCALS_MAX || !i->ifa_addr ||
	    !get_gid(i->ifa_addr, &e->address.gid))
		return;
	e->ifindex = if_nametoindex(i->ifa_name);
	e->address.ifindex = roce_gid_is_link_local(&e->address.gid) ? e->ifindex : 0;
	e->guid = guid_of(all, i->ifa_name);
	l->count++;
}

void roce_cm_locals_refresh(struct roce_cm_locals *l)
{
	struct ifaddrs *all;
	char news[8192];

	while (l->netlink_fd >= 0 && recv(l->netlink_fd, news, sizeof(news), MSG_DONTWAIT) > 0)
		;
	if (getifaddrs(&all))
		return;
	l->count = 0;
	for (const struct ifaddrs *i = all; i; i = i->ifa_next)
		add(l, all, i);
	freeifaddrs(all);
}

void roce_cm_locals_init(struct roce_cm_locals *l)
{
	l->count = 0;
	l->fallback_guid = guid_of(NULL, "");
	l->netlink_fd = open_netlink();
	roce_cm_locals_refresh(l);
}

void roce_cm_locals_fini(struct roce_cm_locals *l)
{
	if (l->netlink_fd >= 0)
		close(l->netlink_fd);
	l->netlink_fd = -1;
}

static bool is_v4_loopback(const struct roce_gid *g)
{
	return roce_gid_is_v4(g) && g->raw[12] == 127;
}

const struct roce_cm_local *roce_cm_locals_find(const struct roce_cm_locals *l,
						const struct roce_address *a)
{
	for (uint32_t i = 0; i < l->count; i++) {
		const struct roce_cm_local *e = &l->local[i];

		if (roce_gid_is_equal(&e->address.gid, &a->gid) && e->address.ifindex == a->ifindex)
			return e;
	}
	for (uint32_t i = 0; is_v4_loopback(&a->gid) && i < l->count; i++)
		if (is_v4_loopback(&l->local[i].address.gid))
			return &l->local[i];
	return NULL;
}
