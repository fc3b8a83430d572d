/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Joining a multicast group. SO_REUSEADDR lets every process of the host have a socket of its own
 * for the same group; the kernel gives each a copy. Bound to the group's address such a socket
 * gets nothing else, and without MULTICAST_ALL nothing that another interface joined for.
 */
#include "engine/group.h"

#include "wire/icrc.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29
#endif

static int bind_v4(int fd, const struct roce_gid *mgid, uint32_t ifindex)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT)};
	struct ip_mreqn join = {.imr_ifindex = (int)ifindex};
	int off = 0;

	memcpy(&at.sin_addr, mgid->raw + 12, 4);
	join.imr_multiaddr = at.sin_addr;
	(void)setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof(off));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	return setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &join, sizeof(join)) < 0 ? -errno : 0;
}

static int bind_v6(int fd, const struct roce_gid *mgid, uint32_t ifindex)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6,
				  .sin6_port = htons(ROCE_UDP_PORT),
				  .sin6_scope_id = ifindex};
	struct ipv6_mreq join = {.ipv6mr_interface = ifindex};
	int on = 1, off = 0;

	memcpy(&at.sin6_addr, mgid->raw, 16);
	join.ipv6mr_multiaddr = at.sin6_addr;
	(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, &off, sizeof(off));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	return setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &join, sizeof(join)) < 0 ? -errno : 0;
}

int roce_group_socket(const struct roce_gid *mgid, uint32_t ifindex, int *out_fd)
{
	bool is_v4 = roce_gid_is_v4(mgid);
	int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;
	int err;

	if (fd < 0)
		return -errno;
	err = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ? -errno : 0;
	if (!err)
		err = is_v4 ? bind_v4(fd, mgid, ifindex) : bind_v6(fd, mgid, ifindex);
	if (err) {
		close(fd);
		return err;
	}
	*out_fd = fd;
	return 0;
}
