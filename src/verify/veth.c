/* SPDX-License-Identifier: BSD-2-Clause */
/* libnl's errors become -EIO where they have no name of their own. */
#include "verify/veth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <netinet/in.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AWAIT_TRIES    250
#define AWAIT_PAUSE_MS 20

static int error_of(int nl)
{
	switch (nl) {
	case 0:
		return 0;
	case -NLE_PERM:
	case -NLE_NOACCESS:
		return -EPERM;
	case -NLE_EXIST:
		return -EEXIST;
	case -NLE_NOMEM:
		return -ENOMEM;
	case -NLE_OPNOTSUPP:
		return -EOPNOTSUPP;
	case -NLE_NODEV:
	case -NLE_OBJ_NOTFOUND:
		return -ENODEV;
	default:
		return nl < 0 ? -EIO : 0;
	}
}

static struct nl_sock *open_route(void)
{
	struct nl_sock *sock = nl_socket_alloc();

	if (sock && nl_connect(sock, NETLINK_ROUTE)) {
		nl_socket_free(sock);
		sock = NULL;
	}
	return sock;
}

static int set_up(struct nl_sock *sock, const char *name, uint32_t mtu)
{
	struct rtnl_link *link = NULL;
	struct rtnl_link *change = rtnl_link_alloc();
	int rc = rtnl_link_get_kernel(sock, 0, name, &link);

	if (!rc && change) {
		rtnl_link_set_flags(change, IFF_UP);
		if (mtu)
			rtnl_link_set_mtu(change, mtu);
		rc = rtnl_link_change(sock, link, change, 0);
	}
	rtnl_link_put(link);
	rtnl_link_put(change);
	return change ? error_of(rc) : -ENOMEM;
}

int roce_veth_loopback_up(void)
{
	struct nl_sock *sock = open_route();
	int rc = sock ? set_up(sock, "lo", 0) : -EIO;

	nl_socket_free(sock);
	return rc;
}

/* Link-local addresses are usable at once. Without IPv6 there is no such file. */
static void skip_duplicate_detection(void)
{
	static const char *const paths[] = {
		"/proc/sys/net/ipv6/conf/all/accept_dad",
		"/proc/sys/net/ipv6/conf/default/accept_dad",
		"/proc/sys/net/ipv6/conf/" ROCE_VERIFY_VETH "/accept_dad",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int fd = open(paths[i], O_WRONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		(void)!write(fd, "0", 1);
		(void)close(fd);
	}
}

int roce_veth_create(uint32_t mtu, pid_t peer)
{
	struct nl_sock *sock = open_route();
	struct rtnl_link *link = rtnl_link_veth_alloc();
	struct rtnl_link *other = link ? rtnl_link_veth_get_peer(link) : NULL;
	int rc = -ENOMEM;

	if (sock && link && other) {
		rtnl_link_set_name(link, ROCE_VERIFY_VETH);
		rtnl_link_set_name(other, ROCE_VERIFY_VETH);
		rtnl_link_set_mtu(link, mtu);
		rtnl_link_set_mtu(other, mtu);
		rtnl_link_set_ns_pid(other, peer);
		rc = error_of(rtnl_link_add(sock, link, NLM_F_CREATE | NLM_F_EXCL));
	}
	rtnl_link_put(other);
	rtnl_link_put(link);
	nl_socket_free(sock);
	return rc;
}

static int add_address(struct nl_sock *sock, int ifindex, int family, const void *bytes,
		       size_t size, int prefix)
{
	struct rtnl_addr *addr = rtnl_addr_alloc();
	struct nl_addr *local = nl_addr_build(family, bytes, size);
	int rc = -ENOMEM;

	if (addr && local) {
		nl_addr_set_prefixlen(local, prefix);
		rtnl_addr_set_ifindex(addr, ifindex);
		rc = error_of(rtnl_addr_set_local(addr, local));
		if (family == AF_INET6)
			rtnl_addr_set_flags(addr, IFA_F_NODAD);
		if (!rc)
			rc = error_of(rtnl_addr_add(sock, addr, 0));
	}
	nl_addr_put(local);
	rtnl_addr_put(addr);
	return rc;
}

int roce_veth_configure(uint32_t n, uint32_t mtu)
{
	uint8_t ipv4[4] = {10, 77, 0, (uint8_t)n};
	uint8_t ipv6[16] = {0xfd, 0x77, [15] = (uint8_t)n};
	struct nl_sock *sock = open_route();
	struct rtnl_link *link = NULL;
	int ifindex = 0;
	int rc = sock ? error_of(rtnl_link_get_kernel(sock, 0, ROCE_VERIFY_VETH, &link)) : -EIO;

	skip_duplicate_detection();
	if (!rc) {
		ifindex = rtnl_link_get_ifindex(link);
		rtnl_link_put(link);
		rc = add_address(sock, ifindex, AF_INET, ipv4, sizeof(ipv4), 24);
	}
	if (!rc)
		rc = set_up(sock, ROCE_VERIFY_VETH, mtu);
	/* A kernel without IPv6 is no obstacle. */
	if (!rc && access("/proc/sys/net/ipv6", F_OK) == 0)
		rc = add_address(sock, ifindex, AF_INET6, ipv6, sizeof(ipv6), 64);
	nl_socket_free(sock);
	return rc;
}

int roce_veth_await(void)
{
	struct nl_sock *sock = open_route();
	int rc = sock ? -ETIMEDOUT : -EIO;

	for (int i = 0; sock && i < AWAIT_TRIES && rc == -ETIMEDOUT; i++) {
		struct rtnl_link *link = NULL;
		struct timespec pause = {.tv_nsec = AWAIT_PAUSE_MS * 1000000L};

		if (!rtnl_link_get_kernel(sock, 0, ROCE_VERIFY_VETH, &link) &&
		    rtnl_link_get_operstate(link) == IF_OPER_UP)
			rc = 0;
		rtnl_link_put(link);
		if (rc)
			nanosleep(&pause, NULL);
	}
	nl_socket_free(sock);
	return rc;
}
