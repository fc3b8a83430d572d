/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For the tests of this folder: a listener and an id that connects to it, in one process, over the
 * loopback device of a network namespace of the test's own, through a real uroced of that
 * namespace.
 */
#ifndef ROCE_TESTS_RDMACM_ENDS_H
#define ROCE_TESTS_RDMACM_ENDS_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>

/* Exit status of a test that cannot run here. */
#define ENDS_SKIP 77
#define ENDS_MS	  60000 /* more than anything here takes on a busy machine */

/* Ends the program with ENDS_SKIP where no namespace may be made. */
void ends_enter_namespace(void);

struct ends {
	struct rdma_event_channel *channel; /* of all ids */
	struct rdma_cm_id *listener;
	struct rdma_cm_id *active;
	struct rdma_cm_id *passive; /* once there is one */
	struct sockaddr_in to;
};

/* Channel, listener on all addresses, and an active id with a route to it. */
void ends_open(struct ends *e, enum rdma_port_space ps);
/* All ids with their queue pairs, then the channel. */
void ends_close(struct ends *e);

/* A new id with a route to the listener. */
struct rdma_cm_id *ends_resolve(struct ends *e, enum rdma_port_space ps);
void ends_make_qp(struct rdma_cm_id *id);
/* The next event, which must be of this type and come in time. */
struct rdma_cm_event *ends_expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
/* The same, acknowledged; its status. */
int ends_take(struct ends *e, enum rdma_cm_event_type type);
/* No event for so long. */
void ends_expect_none(struct rdma_event_channel *channel, int ms);
bool ends_is_readable(int fd, int ms);

/* Both with queue pairs, connected. */
void ends_establish(struct ends *e);

#endif
