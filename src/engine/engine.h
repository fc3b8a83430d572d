/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One RDMA device in one process: a network device's engine, shared by all contexts that the
 * process opens on it. It gives the verbs layer its environment: clock, randomness, progress,
 * addresses, facts about the port.
 *
 * Making one costs memory and a thread that sleeps until the network device changes; the receive
 * slot, the progress thread and the daemon's connection come with the first queue pair, so listing
 * and querying devices disturbs nobody.
 *
 * Fork: in the child all engines of the parent are dead (their descriptors are closed, nothing
 * moves); a device opened anew there gets an engine of its own.
 */
#ifndef ROCE_ENGINE_ENGINE_H
#define ROCE_ENGINE_ENGINE_H

#include "engine/counters.h"
#include "engine/netdev.h"
#include "verbs/device.h"

struct roce_engine;

/* The process's engine of a network device, made if there is none. 0 or -errno: ENODEV, ENOMEM,
 * EINVAL (a variable of the environment that cannot be understood; it is named on stderr). */
int roce_engine_get(uint32_t ifindex, struct roce_engine **out);
/* NULL is allowed. The last one ends it. */
void roce_engine_put(struct roce_engine *engine);

struct roce_device *roce_engine_device(struct roce_engine *engine);

/* The counters, and the descriptor of their memory (-1 if private). Lock not needed. */
const struct roce_shared_counters *roce_engine_counters(const struct roce_engine *engine,
							int *out_fd);

#endif
