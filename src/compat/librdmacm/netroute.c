/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's answers about a destination: by which interface, from which address, and is the
 * neighbour's hardware address known. Over rtnetlink, unprivileged, one question per socket, so
 * that any thread may ask.
 *
 * An unprivileged process cannot start neighbour discovery by itself; it sends an empty datagram to
 * the discard port, with a hop limit that no router lets pass, and the kernel looks for the
 * neighbour in order to deliver it.
 */
#include "compat/librdmacm/rdmacm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define DISCARD_PORT 9

struct question {
	struct nlmsghdr header;
	union {
		struct rtmsg route;
		struct ndmsg neighbour;
		uint8_t room[256];
	};
};

/* A GID as the address of its family. */
static int raw_address(const struct roce_gid *gid, const uint8_t **out, uint32_t *out_length)
{
	bool is_v4 = roce_gid_is_v4(gid);

	*out = is_v4 ? gid->raw + 12 : gid->raw;
	*out_length = is_v4 ? 4 : 16;
	return is_v4 ? AF_INET : AF_INET6;
}

static void gid_from_raw(const void *address, size_t length, struct roce_gid *out)
{
	memset(out, 0, sizeof(*out));
	if (length == 4) {
		out->raw[10] = out->raw[11] = 0xff;
		memcpy(out->raw + 12, address, 4);
	} else if (length == 16) {
		memcpy(out->raw, address, 16);
	}
}

static void add_attribute(struct question *q, uint16_t type, const void *data, uint32_t length)
{
	uint8_t *at = (uint8_t *)q + NLMSG_ALIGN(q->header.nlmsg_len);
	struct rtattr attribute = {.rta_type = type, .rta_len = (uint16_t)(RTA_LENGTH(0) + length)};

	memcpy(at, &attribute, sizeof(attribute));
	memcpy(at + RTA_LENGTH(0), data, length);
	q->header.nlmsg_len =
		(uint32_t)(NLMSG_ALIGN(q->header.nlmsg_len) + RTA_ALIGN(attribute.rta_len));
}

/* One question, one answer. 0 or -errno. */
static int ask(struct question *q, uint8_t *answer, size_t size, struct nlmsghdr **out)
{
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct nlmsghdr *h = (struct nlmsghdr *)(void *)answer;
	ssize_t n;
	int error = 0;

	if (fd < 0)
		return -errno;
	if (sendto(fd, q, q->header.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		error = -errno;
	while (!error) {
		n = recv(fd, answer, size, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			error = -errno;
		else if (!NLMSG_OK(h, (size_t)n))
			error = -EBADMSG;
		break;
	}
	close(fd);
	if (!error && h->nlmsg_type == NLMSG_ERROR) {
		const struct nlmsgerr *e = NLMSG_DATA(h);

		error = h->nlmsg_len < NLMSG_LENGTH(sizeof(*e)) || !e->error ? -EBADMSG : e->error;
	}
	*out = h;
	return error;
}

static void read_route(const struct nlmsghdr *h, struct cm_next_hop *out)
{
	const struct rtmsg *route = NLMSG_DATA(h);
	uint32_t left = h->nlmsg_len - (uint32_t)NLMSG_LENGTH(sizeof(*route));

	out->is_local = route->rtm_type == RTN_LOCAL;
	for (const struct rtattr *a = RTM_RTA(route); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		size_t length = RTA_PAYLOAD(a);

		if (a->rta_type == RTA_PREFSRC)
			gid_from_raw(RTA_DATA(a), length, &out->source);
		else if (a->rta_type == RTA_GATEWAY)
			gid_from_raw(RTA_DATA(a), length, &out->neighbour);
		else if (a->rta_type == RTA_VIA && length > 2)
			gid_from_raw((const uint8_t *)RTA_DATA(a) + 2, length - 2, &out->neighbour);
		else if (a->rta_type == RTA_OIF && length == 4)
			memcpy(&out->ifindex, RTA_DATA(a), 4);
	}
}

/* Loopback and point-to-point links have no neighbours to look for. */
static bool has_neighbours(uint32_t ifindex)
{
	struct ifreq request = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool has = true;

	if (fd < 0)
		return true;
	if (if_indextoname(ifindex, request.ifr_name) && ioctl(fd, SIOCGIFFLAGS, &request) == 0)
		has = !(request.ifr_flags & (IFF_LOOPBACK | IFF_NOARP | IFF_POINTOPOINT));
	close(fd);
	return has;
}

int cm_next_hop_find(const struct sockaddr *dst, const struct sockaddr *src,
		     struct cm_next_hop *out)
{
	struct question q = {.header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
					.nlmsg_type = RTM_GETROUTE,
					.nlmsg_flags = NLM_F_REQUEST,
					.nlmsg_seq = 1}};
	_Alignas(struct nlmsghdr) uint8_t answer[2048];
	struct roce_gid gid;
	struct nlmsghdr *h;
	const uint8_t *raw;
	uint32_t length, scope;
	int error;

	memset(out, 0, sizeof(*out));
	if (!cm_gid_from_sockaddr(dst, &gid))
		return -EINVAL;
	out->neighbour = gid;
	q.route.rtm_family = (uint8_t)raw_address(&gid, &raw, &length);
	q.route.rtm_dst_len = (uint8_t)(length * 8);
	add_attribute(&q, RTA_DST, raw, length);
	if (src && cm_gid_from_sockaddr(src, &gid)) {
		raw_address(&gid, &raw, &length);
		q.route.rtm_src_len = (uint8_t)(length * 8);
		add_attribute(&q, RTA_SRC, raw, length);
	}
	scope = dst->sa_family == AF_INET6
			? ((const struct sockaddr_in6 *)(const void *)dst)->sin6_scope_id
			: 0;
	if (scope)
		add_attribute(&q, RTA_OIF, &scope, sizeof(scope));
	error = ask(&q, answer, sizeof(answer), &h);
	if (error)
		return error;
	if (h->nlmsg_type != RTM_NEWROUTE || h->nlmsg_len < NLMSG_LENGTH(sizeof(struct rtmsg)))
		return -EBADMSG;
	read_route(h, out);
	if (cm_sockaddr_is_multicast(dst) || !has_neighbours(out->ifindex))
		out->is_local = true;
	return 0;
}

int cm_neighbour_is_known(const struct cm_next_hop *hop)
{
	struct question q = {.header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct ndmsg)),
					.nlmsg_type = RTM_GETNEIGH,
					.nlmsg_flags = NLM_F_REQUEST,
					.nlmsg_seq = 1}};
	_Alignas(struct nlmsghdr) uint8_t answer[1024];
	const struct ndmsg *neighbour;
	struct nlmsghdr *h;
	const uint8_t *raw;
	uint32_t length;
	int error;

	if (hop->is_local)
		return 1;
	q.neighbour.ndm_family = (uint8_t)raw_address(&hop->neighbour, &raw, &length);
	q.neighbour.ndm_ifindex = (int)hop->ifindex;
	add_attribute(&q, NDA_DST, raw, length);
	error = ask(&q, answer, sizeof(answer), &h);
	if (error == -ENOENT)
		return 0;
	/* A kernel that answers dumps only: then the first packet finds out. */
	if (error == -EOPNOTSUPP || error == -EINVAL)
		return 1;
	if (error)
		return error;
	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*neighbour)))
		return -EBADMSG;
	neighbour = NLMSG_DATA(h);
	return neighbour->ndm_state & (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE |
				       NUD_STALE | NUD_DELAY)
		       ? 1
		       : 0;
}

void cm_neighbour_probe(const struct cm_next_hop *hop)
{
	struct sockaddr_storage to;
	int fd, one = 1;

	cm_sockaddr_from_gid(&hop->neighbour, DISCARD_PORT, hop->ifindex, &to);
	fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (to.ss_family == AF_INET)
		setsockopt(fd, IPPROTO_IP, IP_TTL, &one, sizeof(one));
	else
		setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &one, sizeof(one));
	/* What becomes of it shows in the neighbour table. */
	if (sendto(fd, "", 0, 0, (struct sockaddr *)&to,
		   cm_sockaddr_length((struct sockaddr *)&to)) < 0)
		one = 0;
	close(fd);
}
