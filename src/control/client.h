/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process's side of the control plane: finds uroced (or starts it), leases receive-queue slots,
 * gets the receiving socket of a (slot, local address) as a descriptor, relays packets that reached
 * the wrong slot. Nothing here is on the data path: leased sockets keep working while the daemon is
 * dead, and the first call after its death finds or starts another one and claims what we hold.
 *
 * Not thread-safe: the caller serialises the calls on one client (different clients may be used by
 * different threads at once). A forked child inherits nothing: its copies of the daemon connection
 * and of the sockets handed out are closed by an atfork handler (it must not close those numbers
 * again), and every call in the child but roce_client_close() fails with -ENOTCONN.
 */
#ifndef ROCE_CONTROL_CLIENT_H
#define ROCE_CONTROL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/addr.h"

struct roce_client;
struct roce_message;

struct roce_client_config {
	const char *program;	 /* shown by `uroce status`; NULL: the process's own name */
	const char *socket_path; /* explicit daemon; NULL: UROCE_SOCKET, then the usual places */
	bool may_start;		 /* start uroced if none answers */
	/*
	 * A packet for a slot of ours that arrived elsewhere; `data` is the UDP payload (BTH
	 * first), borrowed for the call. Called from within roce_client_on_readable(), or from any
	 * other call that waits for an answer of the daemon. NULL: such packets are dropped.
	 */
	void (*on_stray)(void *ctx, const struct roce_gid *local,
			 const struct sockaddr_storage *from, const void *data, size_t length,
			 uint8_t tos);
	void *ctx;
	/*
	 * The socket behind `fd` was damaged and another took its place under the same number: an
	 * epoll set must be told again (EPOLL_CTL_ADD). NULL: nobody needs to know.
	 */
	void (*on_replaced)(void *ctx, int fd);
	/*
	 * For cm_client.c: a CM_EVENT, or an answer to a request of a sequence from
	 * ROCE_SEQUENCE_CM on; and that a connection which was lost is back. Both are called from
	 * within a step and may send. NULL: such messages are dropped.
	 */
	void (*on_cm)(void *ctx, const struct roce_message *m);
	void (*on_reconnected)(void *ctx);
};

/*
 * All calls with `err` write one clear line (no newline, always terminated) there when they fail.
 * 0 or -errno: ENOENT no daemon and may_start false; EPROTO other version; EACCES not ours;
 * ETIMEDOUT the daemon does not answer; else what the system said.
 */
int roce_client_open(struct roce_client **out, const struct roce_client_config *cfg, char *err,
		     size_t err_size);

/* EUSERS: all 254 slots are taken; EDQUOT: this process has its maximum. */
int roce_client_lease_slot(struct roce_client *c, uint8_t *out_slot, char *err, size_t err_size);

/*
 * The socket on which packets for `slot` at `local` (ifindex: scope of a link-local address, else
 * ignored) arrive: bound, non-blocking, close-on-exec, never to be connected; the caller owns the
 * descriptor. EADDRINUSE: another program or user has the port, err names the remedy;
 * EADDRNOTAVAIL: not an address of this host.
 */
int roce_client_open_address(struct roce_client *c, uint8_t slot, const struct roce_gid *local,
			     uint32_t ifindex, int *out_fd, char *err, size_t err_size);

/* Tells the daemon that the socket is not read any more; close the descriptor before or after. */
void roce_client_close_address(struct roce_client *c, uint8_t slot, const struct roce_gid *local,
			       uint32_t ifindex);

void roce_client_release_slot(struct roce_client *c, uint8_t slot);

/*
 * Pollable (an epoll descriptor, the same for the client's whole life); readable: call
 * roce_client_on_readable(), which takes strays and notices the daemon's death: then it reconnects
 * or restarts it and claims our slots. It never blocks longer than a few milliseconds; what is not
 * done then goes on at the next call (the descriptor becomes readable again).
 */
int roce_client_fd(const struct roce_client *c);
void roce_client_on_readable(struct roce_client *c);

/*
 * Hands over a packet that reached the wrong slot. 0, or -errno when it was dropped: EMSGSIZE,
 * EAGAIN (the daemon is busy, or away). Never blocks.
 */
int roce_client_forward_stray(struct roce_client *c, const struct roce_gid *local,
			      const struct sockaddr_storage *from, const void *data, size_t length,
			      uint8_t tos);

/*
 * For `uroce status` and `uroce stop`: sends the request and hands every answer to on_answer (NULL
 * allowed) until OK, ERROR or STATUS_END. -errno of an ERROR with its text in err.
 */
int roce_client_ask(struct roce_client *c, const struct roce_message *request,
		    void (*on_answer)(void *ctx, const struct roce_message *answer), void *ctx,
		    char *err, size_t err_size);

/* The daemon's socket as UROCE_SOCKET would take it. */
const char *roce_client_socket(const struct roce_client *c);

/* NULL is allowed. Releases all slots of this client. */
void roce_client_close(struct roce_client *c);

#endif
