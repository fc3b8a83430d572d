/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Socket addresses and GIDs: on RoCEv2 the one is the other in another form, so the conversions
 * lose nothing but the port and the scope.
 */
#include "compat/librdmacm/rdmacm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

static const struct sockaddr_in *in_of(const struct sockaddr *addr)
{
	return (const struct sockaddr_in *)(const void *)addr;
}

static const struct sockaddr_in6 *in6_of(const struct sockaddr *addr)
{
	return (const struct sockaddr_in6 *)(const void *)addr;
}

bool cm_gid_from_sockaddr(const struct sockaddr *addr, struct roce_gid *out)
{
	memset(out, 0, sizeof(*out));
	if (addr->sa_family == AF_INET) {
		out->raw[10] = out->raw[11] = 0xff;
		memcpy(out->raw + 12, &in_of(addr)->sin_addr, 4);
		return true;
	}
	if (addr->sa_family == AF_INET6) {
		memcpy(out->raw, &in6_of(addr)->sin6_addr, 16);
		return true;
	}
	return false;
}

void cm_sockaddr_from_gid(const struct roce_gid *gid, uint16_t port, uint32_t scope,
			  struct sockaddr_storage *out)
{
	struct sockaddr_in *in = (struct sockaddr_in *)out;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (roce_gid_is_v4(gid)) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, gid->raw + 12, 4);
		return;
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	in6->sin6_scope_id = cm_gid_is_link_local(gid) ? scope : 0;
	memcpy(&in6->sin6_addr, gid->raw, 16);
}

socklen_t cm_sockaddr_length(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return sizeof(struct sockaddr_in);
	return addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : 0;
}

uint16_t cm_sockaddr_port(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return ntohs(in_of(addr)->sin_port);
	return addr->sa_family == AF_INET6 ? ntohs(in6_of(addr)->sin6_port) : 0;
}

void cm_sockaddr_set_port(struct sockaddr *addr, uint16_t port)
{
	if (addr->sa_family == AF_INET)
		((struct sockaddr_in *)(void *)addr)->sin_port = htons(port);
	else if (addr->sa_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)addr)->sin6_port = htons(port);
}

bool cm_sockaddr_is_zero(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return in_of(addr)->sin_addr.s_addr == 0;
	return addr->sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&in6_of(addr)->sin6_addr);
}

bool cm_sockaddr_is_loopback(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return ntohl(in_of(addr)->sin_addr.s_addr) >> 24 == 127;
	return addr->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6_of(addr)->sin6_addr);
}

bool cm_sockaddr_is_multicast(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return IN_MULTICAST(ntohl(in_of(addr)->sin_addr.s_addr));
	return addr->sa_family == AF_INET6 && IN6_IS_ADDR_MULTICAST(&in6_of(addr)->sin6_addr);
}

bool cm_gid_is_link_local(const struct roce_gid *gid)
{
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

int cm_address_find(const struct sockaddr *addr, uint32_t *out_ifindex)
{
	struct roce_gid wanted, gid;
	uint32_t scope = addr->sa_family == AF_INET6 ? in6_of(addr)->sin6_scope_id : 0;
	struct ifaddrs *all, *i;
	int error = -EADDRNOTAVAIL;

	if (!cm_gid_from_sockaddr(addr, &wanted))
		return -EINVAL;
	if (getifaddrs(&all))
		return -errno;
	for (i = all; i && error; i = i->ifa_next) {
		uint32_t ifindex;

		if (!i->ifa_addr || !cm_gid_from_sockaddr(i->ifa_addr, &gid) ||
		    !roce_gid_is_equal(&gid, &wanted))
			continue;
		ifindex = if_nametoindex(i->ifa_name);
		if (!ifindex || (cm_gid_is_link_local(&wanted) && ifindex != scope))
			continue;
		*out_ifindex = ifindex;
		error = 0;
	}
	freeifaddrs(all);
	return error;
}
