/* SPDX-License-Identifier: BSD-2-Clause */
/* Kind `edges`: what its files share. */
#ifndef VERIFY_AGENT_EDGES_H
#define VERIFY_AGENT_EDGES_H

#include "verify/agent/work.h"

struct va_edges {
	struct va_device device;
	uint64_t checked; /* things that were found to be so */
	uint64_t edge;	  /* the limit at which they were */
};

/* Each is called on both sides. */
void va_edges_pieces(struct va_run *run, struct va_edges *e);
void va_edges_inline(struct va_run *run, struct va_edges *e);
void va_edges_message(struct va_run *run, struct va_edges *e);
void va_edges_queues(struct va_run *run, struct va_edges *e);
void va_edges_bind(struct va_run *run, struct va_edges *e);
void va_edges_xrc(struct va_run *run, struct va_edges *e);

/* va_fail() if `rc` of `what` says that it was done. */
void va_edges_refused(struct va_run *run, struct va_edges *e, int rc, const char *what,
		      uint64_t edge);
/* The queue pair's own limits, which may be more than was asked for. */
struct ibv_qp_cap va_edges_cap(struct va_run *run, const struct va_endpoint *endpoint);

#endif
