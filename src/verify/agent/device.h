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

/* By what `where` asks for; without protection domain, so close only its context. False: `why` says
 * why there is none. */
bool va_device_find(const json_t *where, enum va_family family, struct va_device *out, char *why,
		    size_t why_size);

/* The same for a case, which ends if there is none: skipped where a family was asked for. */
void va_device_open(struct va_run *run, enum va_family family, struct va_device *out);
void va_device_close(struct va_run *run, struct va_device *device);
/* {"device", "port", "gid_index", "gid", "port_mtu"} */
json_t *va_device_describe(const struct va_device *device);
/* The same as the detail `path` of this side. */
void va_device_report(struct va_run *run, const struct va_device *device);

#endif
