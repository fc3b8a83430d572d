/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `uroce verify --server`: waits for orchestrators that know the token, and gives each in turn an
 * agent. Every connection is a process of its own, with short lines and short time until it has
 * proved the token, so that a stranger costs a moment and no more.
 */
#ifndef ROCE_VERIFY_SERVER_H
#define ROCE_VERIFY_SERVER_H

#include "verify/place.h"

#include <stdbool.h>

struct roce_verify_server {
	int listener;
	const char *token;
	struct roce_verify_launch launch;
	bool is_once; /* ends after the first run */
};

enum roce_verify_served {
	ROCE_VERIFY_SERVED_UNTIL_SIGNAL,
	ROCE_VERIFY_SERVED_RUN,	   /* the one run, and its orchestrator ended it */
	ROCE_VERIFY_SERVED_BROKEN, /* the one run, which broke off; or nothing could be served */
};

/* Until SIGINT, SIGTERM or SIGHUP. Prints a line for each that comes. */
enum roce_verify_served roce_verify_serve(const struct roce_verify_server *server);

#endif
