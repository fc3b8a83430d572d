/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdma_cm as cases use it, one event after the other: each must be the one that is due, and come in
 * VA_STALL_S. The target listens and tells its port through the relay; the initiator resolves it.
 */
#ifndef VERIFY_AGENT_CM_H
#define VERIFY_AGENT_CM_H

#include "verify/agent/device.h"

#include <rdma/rdma_cma.h>

/* va_skip() where the machine has no rdma_cm. */
struct rdma_event_channel *va_cm_channel_create(struct va_run *run);

/* The next event, for rdma_ack_cm_event(). */
struct rdma_cm_event *va_cm_await(struct va_run *run, struct rdma_event_channel *channel,
				  enum rdma_cm_event_type expected);
/* The same, acknowledged. */
void va_cm_expect(struct va_run *run, struct rdma_event_channel *channel,
		  enum rdma_cm_event_type expected);

/* Target: listens on the device's address, and tells where. */
struct rdma_cm_id *va_cm_listen(struct va_run *run, const struct va_device *device,
				struct rdma_event_channel *channel, int backlog);
/* Initiator: where the target listens; and an id with its address and route resolved. */
void va_cm_hear(struct va_run *run, const struct va_device *device, struct sockaddr_storage *out);
struct rdma_cm_id *va_cm_resolve(struct va_run *run, const struct va_device *device,
				 struct rdma_event_channel *channel,
				 const struct sockaddr_storage *target);

#endif
