/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One dump of the Unix sockets that listen, of which the name is looked for: the kernel finds
 * single sockets by inode only. It has some dozens of them at most and is asked seldom.
 */
#include "control/listener_owner.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_SECONDS 2 /* it comes at once */

struct search {
	const char *name; /* from its leading zero */
	size_t length;
	uid_t uid;
	bool is_found, is_without_uid;
};

static int ask(int fd)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req what;
	} request = {
		.head = {.nlmsg_len = sizeof(request),
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.what = {.sdiag_family = AF_UNIX,
			 .udiag_states = 1u << TCP_LISTEN,
			 .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID},
	};
	struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	ssize_t n = sendto(fd, &request, sizeof(request), 0, (struct sockaddr *)&kernel,
			   sizeof(kernel));

	return n < 0 ? -errno : 0;
}

static void look_at(struct search *s, const struct nlmsghdr *head)
{
	struct unix_diag_msg *socket = NLMSG_DATA(head);
	struct rtattr *at = (struct rtattr *)(socket + 1);
	unsigned left;
	bool is_named = false, has_uid = false;
	uid_t uid = 0;

	if (head->nlmsg_len < NLMSG_LENGTH(sizeof(*socket)))
		return;
	left = head->nlmsg_len - (unsigned)NLMSG_LENGTH(sizeof(*socket));
	for (; RTA_OK(at, left); at = RTA_NEXT(at, left)) {
		if (at->rta_type == UNIX_DIAG_NAME)
			is_named = RTA_PAYLOAD(at) == s->length &&
				   !memcmp(RTA_DATA(at), s->name, s->length);
		if (at->rta_type == UNIX_DIAG_UID && RTA_PAYLOAD(at) >= sizeof(uid)) {
			memcpy(&uid, RTA_DATA(at), sizeof(uid));
			has_uid = true;
		}
	}
	if (is_named && has_uid) {
		s->uid = uid;
		s->is_found = true;
	} else if (is_named) {
		s->is_without_uid = true;
	}
}

/* 1: there is more. */
static int read_answer(int fd, struct search *s)
{
	_Alignas(struct nlmsghdr) char data[16384];
	ssize_t n = recv(fd, data, sizeof(data), 0);
	struct nlmsghdr *head = (struct nlmsghdr *)data;
	unsigned left = (unsigned)n;

	if (n < 0)
		return errno == EINTR ? 1 : -errno;
	for (; NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
		if (head->nlmsg_type == NLMSG_DONE)
			return 0;
		if (head->nlmsg_type == NLMSG_ERROR) {
			struct nlmsgerr *error = NLMSG_DATA(head);

			return error->error && error->error != -ENOENT ? error->error : -EOPNOTSUPP;
		}
		look_at(s, head);
	}
	return 1;
}

int roce_listener_owner_find(const struct roce_rendezvous *r, uid_t *out_uid)
{
	struct search s = {
		.name = r->address.sun_path,
		.length = r->length - offsetof(struct sockaddr_un, sun_path),
	};
	struct timeval limit = {.tv_sec = ANSWER_SECONDS};
	int fd, result;

	if (r->address.sun_path[0])
		return -EINVAL;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd < 0)
		return errno == EPROTONOSUPPORT || errno == EAFNOSUPPORT ? -EOPNOTSUPP : -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	result = ask(fd);
	for (int more = 1; !result && more;) {
		more = read_answer(fd, &s);
		if (more < 0)
			result = more;
	}
	close(fd);
	if (result)
		return result;
	if (!s.is_found)
		return s.is_without_uid ? -EOPNOTSUPP : -ENOENT;
	*out_uid = s.uid;
	return 0;
}
