/* SPDX-License-Identifier: BSD-2-Clause */
/* The network devices of a namespace, by netlink. Each function acts on the caller's namespace. */
#ifndef ROCE_VERIFY_VETH_H
#define ROCE_VERIFY_VETH_H

#include <stdint.h>
#include <sys/types.h>

#define ROCE_VERIFY_VETH "ve0"

/* 0, or -errno. */
int roce_veth_loopback_up(void);
/* A pair of this name, its other end in the namespace of process `peer`. */
int roce_veth_create(uint32_t mtu, pid_t peer);
/* Gives it 10.77.0.N and fd77::N, and sets it up. */
int roce_veth_configure(uint32_t n, uint32_t mtu);
/* Until it can carry packets; -ETIMEDOUT after some seconds. */
int roce_veth_await(void);

#endif
