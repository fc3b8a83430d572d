/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends and receives control messages. Descriptors arrive close-on-exec; those that came beside a
 * datagram which does not fit or with a truncated list are closed here, so nothing can leak them
 * into the process.
 */
#include "control/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union ancillary {
	char bytes[CMSG_SPACE(sizeof(int) * ROCE_CONTROL_CLAIM_MAX) + CMSG_SPACE(64)];
	struct cmsghdr align;
};

int roce_channel_send(int fd, const struct roce_message *m, const int *fds, unsigned fd_count)
{
	uint8_t bytes[ROCE_CONTROL_MESSAGE_MAX];
	struct iovec iov = {bytes, roce_message_encode(m, bytes)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	union ancillary anc;

	if (fd_count) {
		struct cmsghdr *cm;

		memset(&anc, 0, sizeof(anc));
		msg.msg_control = &anc;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		cm = CMSG_FIRSTHDR(&msg);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(cm), fds, sizeof(int) * fd_count);
	}
	for (;;) {
		if (sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

static void take_fds(struct roce_channel_packet *out, struct msghdr *msg)
{
	for (struct cmsghdr *cm = CMSG_FIRSTHDR(msg); cm; cm = CMSG_NXTHDR(msg, cm)) {
		size_t n;

		if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
			continue;
		n = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(cm) + i * sizeof(int), sizeof(int));
			if (out->fd_count < ROCE_CONTROL_CLAIM_MAX)
				out->fds[out->fd_count++] = fd;
			else
				close(fd);
		}
	}
}

int roce_channel_receive(int fd, struct roce_channel_packet *out)
{
	struct iovec iov = {out->bytes, sizeof(out->bytes)};
	union ancillary anc;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &anc,
			     .msg_controllen = sizeof(anc)};
	ssize_t n;

	out->fd_count = 0;
	do
		n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	take_fds(out, &msg);
	if (n == 0) { /* an empty datagram counts as the end as well */
		roce_channel_close_fds(out);
		return 0;
	}
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		roce_channel_close_fds(out);
		memset(&out->message, 0, offsetof(struct roce_message, hello));
		out->error = ROCE_MESSAGE_ERROR_LENGTH;
		return 1;
	}
	out->error = roce_message_decode(&out->message, out->bytes, (size_t)n);
	return 1;
}

void roce_channel_close_fds(struct roce_channel_packet *p)
{
	for (unsigned i = 0; i < p->fd_count; i++)
		close(p->fds[i]);
	p->fd_count = 0;
}
