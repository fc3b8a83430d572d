/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs device of a case, opened: the one that was asked for; else the one with the address
 * over which the two hosts speak; else the first one with a RoCEv2 address in an active port.
 * Loopback comes last, as uroce lists it.
 */
#ifndef VERIFY_AGENT_DEVICE_H
#define VERIFY_AGENT_DEVICE_H

#include "verify/agent/run.h"

#include <infiniband/verbs.h>
#include <net/if.h>
#include <sys/socket.h>

struct va_device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_device_attr attr;
	struct ibv_port_attr port_attr;
	uint8_t port;
	uint8_t gid_index;
	union ibv_gid gid;
	uint32_t mtu_bytes;		 /* path MTU to be used: the port's active one */
	struct sockaddr_storage address; /* the GID's, for plain sockets on the same path; port 0 */
	socklen_t address_size;
};

enum va_family { VA_ANY_FAMILY, VA_IPV4, VA_IPV6 };

void va_device_open(struct va_run *run, enum va_family family, struct va_device *out);
void va_device_close(struct va_run *run, struct va_device *device);
/* Detail `path`: device, port, GID and MTU of this side. */
void va_device_report(struct va_run *run, const struct va_device *device);

/* An open device's facts as JSON; for agent/facts.c. */
json_t *va_device_describe(struct ibv_context *context);

#endif
