/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a stream. DISCONNECT goes out behind all data, and the caller waits until the peer's
 * queue pair has acknowledged it all, also on a nonblocking socket: then the DREQ that destroying
 * the id sends overtakes nothing.
 */
#include <errno.h>

#include "rsocket/socket.h"

static int send_notice(struct roce_rs *rs, enum roce_rs_control control)
{
	int error = roce_rs_wait(rs, false, roce_rs_has_control_room_or_never);

	if (error || rs->state != ROCE_RS_CONNECTED)
		return error;
	return roce_rs_send_control(rs, control);
}

int roce_rs_shutdown(struct roce_rs *rs, int how)
{
	enum roce_rs_control control = ROCE_RS_CONTROL_DISCONNECT;
	int error;

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return -EINVAL;
	if (rs->state != ROCE_RS_CONNECTED)
		return rs->was_connected ? 0 : -ENOTCONN;
	if (how == SHUT_RD) {
		rs->is_readable = false;
		roce_rs_notify(rs);
		if (rs->is_writable)
			return 0;
	} else {
		if (how == SHUT_WR && !rs->is_writable)
			return 0;
		if (how == SHUT_WR && rs->is_readable)
			control = ROCE_RS_CONTROL_SHUTDOWN;
		rs->is_writable = false;
		if (how == SHUT_RDWR)
			rs->is_readable = false;
		roce_rs_notify(rs);
	}
	do
		error = send_notice(rs, control);
	while (error == -EINTR);
	while (!error) {
		error = roce_rs_wait(rs, false, roce_rs_has_sent_all_or_never);
		if (!error)
			break;
		if (error == -EINTR)
			error = 0;
	}
	return error;
}
