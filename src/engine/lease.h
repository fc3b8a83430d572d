/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a process's receive slot and its sockets come from: the daemon, which shares each address
 * among processes, or with UROCE_DAEMON=off nobody: then this process binds port 4791 itself and
 * has the address alone.
 *
 * Not thread-safe; the engine calls it with the device's lock held.
 */
#ifndef ROCE_ENGINE_LEASE_H
#define ROCE_ENGINE_LEASE_H

#include "base/addr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define ROCE_LEASE_ERROR_MAX 256u

struct roce_lease;

struct roce_lease_config {
	/* A packet for our slot that arrived elsewhere; borrowed for the call. */
	void (*on_stray)(void *ctx, const struct roce_gid *local,
			 const struct sockaddr_storage *from, const void *data, size_t length,
			 uint8_t tos);
	/* Another socket is behind this descriptor now. */
	void (*on_replaced)(void *ctx, int fd);
	void *ctx;
};

/* All of these: 0 or -errno with one clear line in `err` (ROCE_LEASE_ERROR_MAX bytes). */
int roce_lease_open(struct roce_lease **out, const struct roce_lease_config *cfg, char *err);
int roce_lease_slot(struct roce_lease *lease, uint8_t *out_slot, char *err);
int roce_lease_open_address(struct roce_lease *lease, const struct roce_gid *local,
			    uint32_t ifindex, int *out_fd, char *err);

/* The descriptor is closed by its owner, before or after. */
void roce_lease_close_address(struct roce_lease *lease, const struct roce_gid *local,
			      uint32_t ifindex);

/* -1 when there is nothing to wait for; else readable: call roce_lease_on_readable(). */
int roce_lease_fd(const struct roce_lease *lease);
void roce_lease_on_readable(struct roce_lease *lease);

/* 0, or -errno when the packet was dropped. Never blocks. */
int roce_lease_forward_stray(struct roce_lease *lease, const struct roce_gid *local,
			     const struct sockaddr_storage *from, const void *data, size_t length,
			     uint8_t tos);

/* In a forked child: leased sockets were closed by the daemon's client already, own ones not. */
bool roce_lease_are_sockets_closed_in_child(const struct roce_lease *lease);

/* NULL is allowed. */
void roce_lease_close(struct roce_lease *lease);

#endif
