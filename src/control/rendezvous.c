/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names and connections of the control socket. The user id in a name is the one outside of the
 * innermost user namespace, because that is the one the kernel compares when sockets share a port:
 * a program under `unshare -r` must find the daemon of the user who ran it.
 */
#include "control/rendezvous.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/listener_owner.h"

uint64_t roce_rendezvous_netns(void)
{
	struct stat st;

	return stat("/proc/self/ns/net", &st) ? 0 : (uint64_t)st.st_ino;
}

static unsigned long outer_uid(void)
{
	unsigned long uid = geteuid(), in, out, count;
	FILE *f = fopen("/proc/self/uid_map", "re");

	if (!f)
		return uid;
	while (fscanf(f, "%lu %lu %lu", &in, &out, &count) == 3)
		if (uid >= in && uid - in < count) {
			uid = out + (uid - in);
			break;
		}
	fclose(f);
	return uid;
}

__attribute__((format(printf, 2, 3))) static void set_abstract(struct roce_rendezvous *out,
							       const char *format, ...)
{
	va_list ap;
	int n;

	memset(out, 0, sizeof(*out));
	out->address.sun_family = AF_UNIX;
	va_start(ap, format);
	n = vsnprintf(out->address.sun_path + 1, sizeof(out->address.sun_path) - 1, format, ap);
	va_end(ap);
	out->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

void roce_rendezvous_for_user(struct roce_rendezvous *out, unsigned n)
{
	set_abstract(out, "uroce/%lu/%" PRIu64 "/%u", outer_uid(), roce_rendezvous_netns(), n);
}

void roce_rendezvous_for_address(struct roce_rendezvous *out, const struct roce_address *a,
				 unsigned n)
{
	char hex[33];

	for (int i = 0; i < 16; i++)
		snprintf(hex + 2 * i, 3, "%02x", a->gid.raw[i]);
	set_abstract(out, "uroce/address/%s/%u/%u", hex, a->ifindex, n);
}

int roce_rendezvous_from_str(struct roce_rendezvous *out, const char *s)
{
	size_t length = strlen(s);

	if (!length || !strcmp(s, "@"))
		return -EINVAL;
	if (length >= sizeof(out->address.sun_path))
		return -ENAMETOOLONG;
	if (s[0] == '@') {
		set_abstract(out, "%s", s + 1);
		return 0;
	}
	memset(out, 0, sizeof(*out));
	out->address.sun_family = AF_UNIX;
	memcpy(out->address.sun_path, s, length + 1);
	out->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
	return 0;
}

void roce_rendezvous_str(const struct roce_rendezvous *r, char *out, size_t size)
{
	int abstract = r->address.sun_path[0] == 0;

	snprintf(out, size, "%s%s", abstract ? "@" : "", r->address.sun_path + abstract);
}

int roce_rendezvous_connect(const struct roce_rendezvous *r, struct ucred *out_peer)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), error;
	socklen_t length = sizeof(*out_peer);

	*out_peer = (struct ucred){.uid = ROCE_RENDEZVOUS_UNKNOWN};
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&r->address, r->length) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, out_peer, &length)) {
		error = errno;
		close(fd);
		if (error == EAGAIN && roce_listener_owner_find(r, &out_peer->uid))
			out_peer->uid = ROCE_RENDEZVOUS_UNKNOWN;
		return -error;
	}
	return fd;
}
