/* SPDX-License-Identifier: BSD-2-Clause */
/* What of a socket a thread may sleep on, for either kind of socket; lock held. */
#ifndef ROCE_RSOCKET_READINESS_H
#define ROCE_RSOCKET_READINESS_H

#include <poll.h>

struct roce_rs;

#define ROCE_RS_POLL_FDS_MAX 8 /* of one socket */

void roce_rs_advance(struct roce_rs *rs); /* takes completions */
short roce_rs_revents(const struct roce_rs *rs, short events);
/* Arms the completion queues; the descriptors that become readable, and their number. */
int roce_rs_poll_fds(struct roce_rs *rs, struct pollfd *out);
void roce_rs_take_events(struct roce_rs *rs);

#endif
