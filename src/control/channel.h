/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One control message over a SOCK_SEQPACKET socket, with up to ROCE_CONTROL_CLAIM_MAX descriptors
 * beside it. Never blocks, never raises SIGPIPE. Used by the client and by uroced.
 */
#ifndef ROCE_CONTROL_CHANNEL_H
#define ROCE_CONTROL_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "control/message.h"

struct roce_channel_packet {
	struct roce_message message;
	enum roce_message_error error;	 /* of the decoder */
	int fds[ROCE_CONTROL_CLAIM_MAX]; /* the receiver's to close */
	unsigned fd_count;
	uint8_t bytes[ROCE_CONTROL_MESSAGE_MAX + 1]; /* message.stray.data points in here */
};

/* 0, or -EAGAIN, -EPIPE, -ECONNRESET, ... */
int roce_channel_send(int fd, const struct roce_message *m, const int *fds, unsigned fd_count);

/* 1 a packet (see its `error`), 0 the peer has closed, -EAGAIN none now, else -errno. */
int roce_channel_receive(int fd, struct roce_channel_packet *out);

void roce_channel_close_fds(struct roce_channel_packet *p);

#endif
