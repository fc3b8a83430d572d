/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host's own membership in a multicast group. Attaching a QP is all that verbs ask for, but
 * Soft-RoCE receives through the kernel's IP layer and does not join the group there, so that
 * datagrams are dropped below it: with that quirk a socket joins for as long as the seed lasts.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/verbs_check/endpoint.h"

/* A GID as a socket address. */
static void address_from_gid(const union ibv_gid *gid, struct sockaddr_storage *out)
{
	struct sockaddr_in ipv4 = {.sin_family = AF_INET};
	struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6};

	memset(out, 0, sizeof(*out));
	if (vc_gid_is_ipv4(gid)) {
		memcpy(&ipv4.sin_addr, gid->raw + 12, sizeof(ipv4.sin_addr));
		memcpy(out, &ipv4, sizeof(ipv4));
	} else {
		memcpy(&ipv6.sin6_addr, gid->raw, sizeof(ipv6.sin6_addr));
		memcpy(out, &ipv6, sizeof(ipv6));
	}
}

static bool is_address(const struct sockaddr *address, const struct sockaddr_storage *wanted)
{
	struct sockaddr_in6 ipv6, wanted6;
	struct sockaddr_in ipv4, wanted4;

	if (!address || address->sa_family != wanted->ss_family)
		return false;
	if (address->sa_family == AF_INET) {
		memcpy(&ipv4, address, sizeof(ipv4));
		memcpy(&wanted4, wanted, sizeof(wanted4));
		return ipv4.sin_addr.s_addr == wanted4.sin_addr.s_addr;
	}
	memcpy(&ipv6, address, sizeof(ipv6));
	memcpy(&wanted6, wanted, sizeof(wanted6));
	return memcmp(&ipv6.sin6_addr, &wanted6.sin6_addr, sizeof(ipv6.sin6_addr)) == 0;
}

/* Of the interface that has the address; 0: none. */
static unsigned int find_interface(const union ibv_gid *own)
{
	struct ifaddrs *list = NULL;
	struct sockaddr_storage wanted;
	unsigned int index = 0;

	address_from_gid(own, &wanted);
	if (getifaddrs(&list))
		return 0;
	for (const struct ifaddrs *at = list; at && !index; at = at->ifa_next)
		if (is_address(at->ifa_addr, &wanted))
			index = if_nametoindex(at->ifa_name);
	freeifaddrs(list);
	return index;
}

enum vc_verdict vc_group_join(struct vc_endpoint *endpoint, const struct vc_device *device,
			      struct vc_report *report)
{
	struct group_req request = {.gr_interface = find_interface(&device->gid)};
	bool is_ipv4 = vc_gid_is_ipv4(&device->gid);

	address_from_gid(&endpoint->group, &request.gr_group);
	endpoint->group_socket = socket(is_ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (!request.gr_interface || endpoint->group_socket < 0 ||
	    setsockopt(endpoint->group_socket, is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6,
		       MCAST_JOIN_GROUP, &request, sizeof(request)))
		return vc_report_unusable(report, "joining the multicast group: %s",
					  strerror(errno));
	return VC_RIGHT;
}

void vc_group_leave(struct vc_endpoint *endpoint)
{
	if (endpoint->group_socket > 0)
		(void)close(endpoint->group_socket);
	endpoint->group_socket = 0;
}
