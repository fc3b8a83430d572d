/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams here, datagrams in datagram.c; the one place that chooses. */
#include "rsocket/readiness.h"

#include "rsocket/datagram.h"
#include "rsocket/socket.h"

_Static_assert(ROCE_RS_POLL_FDS_MAX >= ROCE_DS_PORTS_MAX, "a datagram socket's ports fit");

void roce_rs_advance(struct roce_rs *rs)
{
	if (rs->datagram)
		roce_ds_progress(rs);
	else
		roce_rs_progress(rs);
}

short roce_rs_revents(const struct roce_rs *rs, short events)
{
	short revents = 0;

	if (rs->datagram)
		return roce_ds_revents(rs, events);
	switch (rs->state) {
	case ROCE_RS_LISTENING:
		return roce_list_is_empty(&rs->accepted) ? 0 : (short)(events & POLLIN);
	case ROCE_RS_RESOLVING_ADDRESS:
	case ROCE_RS_RESOLVING_ROUTE:
	case ROCE_RS_CONNECTING:
	case ROCE_RS_ACCEPTING:
		return 0;
	case ROCE_RS_IDLE:
	case ROCE_RS_BOUND:
		return POLLHUP;
	case ROCE_RS_CONNECTED:
		if (rs->message_count || !rs->is_readable)
			revents |= (short)(events & POLLIN);
		if (roce_rs_can_send_or_never(rs))
			revents |= (short)(events & POLLOUT);
		return revents;
	case ROCE_RS_DISCONNECTED:
		/* Programs that take POLLHUP for the end would not read what is left. */
		if (rs->message_count)
			return (short)(events & (POLLIN | POLLOUT));
		return (short)((events & (POLLIN | POLLOUT)) | POLLHUP);
	case ROCE_RS_FAILED:
		return (short)((events & (POLLIN | POLLOUT)) | POLLERR |
			       (rs->was_connected ? POLLHUP : 0));
	}
	return 0;
}

int roce_rs_poll_fds(struct roce_rs *rs, struct pollfd *out)
{
	if (rs->datagram)
		return roce_ds_poll_fds(rs, out);
	if (rs->state != ROCE_RS_CONNECTED)
		return 0;
	roce_rs_arm(rs);
	out[0] = (struct pollfd){.fd = rs->cq_channel->fd, .events = POLLIN};
	return 1;
}

void roce_rs_take_events(struct roce_rs *rs)
{
	if (rs->datagram)
		roce_ds_take_events(rs);
	else
		roce_rs_take_cq_event(rs);
}
