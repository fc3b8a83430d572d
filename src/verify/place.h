/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the two agents run, and their processes. All of them are children of one keeper, which ends
 * them and whatever they leave behind (daemons too, unless others use them) when the run is over,
 * when it is told to, or when this program has gone in any way; network namespaces go with the last
 * process in them. It exits with 0 when the agents had been told to go.
 */
#ifndef ROCE_VERIFY_PLACE_H
#define ROCE_VERIFY_PLACE_H

#include "verify/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct roce_verify_launch {
	const char *agent; /* path of verify-agent */
	/* Called in each agent's process before it becomes the agent: the environment. 0 or -errno;
	 * may be NULL. */
	int (*prepare)(void *context);
	void *context;
	/* Called in each network namespace that was made, when all that was in it has ended; may be
	 * NULL. */
	void (*forget)(void);
	/* Called where no namespace was made, with the daemons that agents have left. True: they
	 * stay, for others use them; else they are ended. May be NULL. */
	bool (*dismiss)(const pid_t *pids, size_t count);
	int signal_fd; /* readable when there shall be no run any more; -1: none */
	/* What it is told beside its socket, up to a NULL; or NULL. */
	const char *const *arguments;
};

struct roce_verify_place {
	pid_t keeper;
	int fds[ROCE_VERIFY_SIDES]; /* to the agents; whoever takes one sets it to -1 */
};

/* Both agents in two new network namespaces with a veth between them:
 *
 *	+-- initiator ---+              +---- target ----+
 *	| ve0 10.77.0.1  |---- veth ----| ve0 10.77.0.2  |
 *	|     fd77::1    |    (mtu)     |     fd77::2    |
 *	+----------------+              +----------------+
 *
 * In a user namespace where this process has not the right to make them. 0, or -errno with one line
 * in `err`: EINTR for the launch's signal, ETIMEDOUT. */
int roce_verify_place_namespaces(struct roce_verify_place *out,
				 const struct roce_verify_launch *launch, uint32_t mtu, char *err,
				 size_t err_size);
/* Both, or only one of them, where this process is. */
int roce_verify_place_here(struct roce_verify_place *out, const struct roce_verify_launch *launch,
			   bool is_both, char *err, size_t err_size);
/* One, with this connected socket (which stays open here). */
int roce_verify_place_serve(struct roce_verify_place *out, const struct roce_verify_launch *launch,
			    int fd, char *err, size_t err_size);

/* Waits for the agents to end, a few seconds unless `is_now`, and ends what is left. */
void roce_verify_place_close(struct roce_verify_place *place, bool is_now);

#endif
