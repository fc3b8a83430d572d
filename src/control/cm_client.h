/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process's side of the connection manager: one connection to uroced for all ids, requests that
 * wait for their answer, and a thread (all signals blocked) that takes what comes unasked. When the
 * daemon was replaced, every id is named to the new one before any request goes out; what it cannot
 * take up again ends with the error event of its dialogue, and so does everything in set-up when no
 * daemon can be reached for ten seconds.
 *
 * Thread-safe. Events come one at a time, in order, with the client's lock held: on_event must not
 * call back, and must be ready for a handle that it no longer knows.
 */
#ifndef ROCE_CONTROL_CM_CLIENT_H
#define ROCE_CONTROL_CM_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "control/cm_message.h"

struct roce_cm_client;

struct roce_cm_client_config {
	void (*on_event)(void *ctx, const struct roce_cm_event *event);
	void *ctx;
};

/* Finds or starts uroced. 0, or -errno with one line in err. */
int roce_cm_client_open(struct roce_cm_client **out, const struct roce_cm_client_config *cfg,
			char *err, size_t err_size);

/* A number for a new id. */
uint32_t roce_cm_client_new_handle(struct roce_cm_client *c);

/*
 * Sends the request and waits for its answer (TAKEN has none). 0, or -errno: what the daemon said,
 * or why there is none. DESTROY always succeeds, for a daemon that is gone has forgotten the id.
 * out_ok may be NULL.
 */
int roce_cm_client_request(struct roce_cm_client *c, const struct roce_cm_request *request,
			   struct roce_cm_ok *out_ok, char *err, size_t err_size);

/* NULL is allowed. Stops the thread; the daemon ends all dialogues. */
void roce_cm_client_close(struct roce_cm_client *c);

#endif
