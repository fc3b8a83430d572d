/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdma_listen(): an id that was not bound gets the IPv4 wildcard and any port; the backlog counts
 * requests that the program has not read yet.
 */
#include "compat/librdmacm/rdmacm.h"

#include <errno.h>

#define BACKLOG_MAX 1024

int rdma_listen(struct rdma_cm_id *rid, int backlog)
{
	struct cm_id *id = cm_id_of(rid);
	struct roce_cm_request r = {.handle = id->handle, .op = ROCE_CM_LISTEN};
	int error = 0;

	if (id->state == CM_IDLE) {
		error = cm_bind(id, NULL, AF_INET);
		if (error)
			return cm_fail(error);
		id->state = CM_BOUND;
	}
	if (id->state != CM_BOUND)
		return cm_fail(EINVAL);
	id->backlog = backlog <= 0 || backlog > BACKLOG_MAX ? BACKLOG_MAX : (uint32_t)backlog;
	r.listen.backlog = id->backlog;
	r.listen.flags = cm_bind_flags(id);
	error = cm_request(&r, NULL);
	if (error)
		return cm_fail(error);
	id->state = CM_LISTENING;
	return 0;
}
