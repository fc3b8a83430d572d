/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a stream. DISCONNECT goes out behind all data, and the caller waits until the peer's
 * queue pair has acknowledged it all, also on a nonblocking socket: then the DREQ that destroying
 * the id sends overtakes nothing. A peer that is gone ends the wait by an error of the queue pair;
 * one whose program has stopped calling us answers "not ready" for ever, so the wait ends when
 * nothing was acknowledged for a minute, or for as long as SO_LINGER says.
 */
#include <errno.h>

#include "rsocket/socket.h"

#define PATIENCE_MS 60000
#define MS_PER_S    1000

static bool is_late(const struct roce_rs *rs)
{
	return roce_rs_now_ms() >= rs->give_up_at_ms;
}

static bool has_control_room_or_is_late(const struct roce_rs *rs)
{
	return roce_rs_has_control_room_or_never(rs) || is_late(rs);
}

static bool has_sent_all_or_is_late(const struct roce_rs *rs)
{
	return roce_rs_has_sent_all_or_never(rs) || is_late(rs);
}

static int send_notice(struct roce_rs *rs, enum roce_rs_control control)
{
	int error = roce_rs_wait(rs, false, has_control_room_or_is_late);

	if (error || rs->state != ROCE_RS_CONNECTED)
		return error;
	if (!rs->control_room)
		return -ETIMEDOUT;
	return roce_rs_send_control(rs, control);
}

/* What is under way when patience ends may still arrive. */
static int end(struct roce_rs *rs, enum roce_rs_control control)
{
	int error;

	rs->patience_ms = rs->linger.l_onoff && rs->linger.l_linger > 0
				  ? (uint64_t)rs->linger.l_linger * MS_PER_S
				  : PATIENCE_MS;
	rs->give_up_at_ms = roce_rs_now_ms() + rs->patience_ms;
	do
		error = send_notice(rs, control);
	while (error == -EINTR);
	while (!error) {
		error = roce_rs_wait(rs, false, has_sent_all_or_is_late);
		if (!error)
			break;
		if (error == -EINTR)
			error = 0;
	}
	rs->give_up_at_ms = 0;
	return error;
}

int roce_rs_shutdown(struct roce_rs *rs, int how)
{
	enum roce_rs_control control = ROCE_RS_CONTROL_DISCONNECT;

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
	return end(rs, control);
}
