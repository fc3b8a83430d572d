/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plain sockets on the path that the verbs device uses: bound to its address, connected to the
 * other side's. What RDMA is compared with.
 */
#ifndef VERIFY_AGENT_SOCKET_H
#define VERIFY_AGENT_SOCKET_H

#include "verify/agent/device.h"

/* An address with its port as JSON for the other side, and theirs taken. */
json_t *va_address_describe(const struct sockaddr_storage *address);
void va_address_take(struct va_run *run, const struct va_device *device, const json_t *theirs,
		     struct sockaddr_storage *out);

/* A socket of SOCK_DGRAM or SOCK_STREAM that is connected to the other side's; both sides call it
 * at the same point. */
int va_socket_pair(struct va_run *run, const struct va_device *device, int type);
/* Waits for data; va_fail() after VA_STALL_S. */
void va_socket_await(struct va_run *run, int fd, const char *awaited);

#endif
