/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine's parts, shared by engine.c (life) and env.c (what verbs call). */
#ifndef ROCE_ENGINE_ENGINE_INTERNAL_H
#define ROCE_ENGINE_ENGINE_INTERNAL_H

#include "engine/engine.h"
#include "engine/port_state.h"
#include "engine/progress.h"
#include "engine/queue.h"
#include "engine/watch.h"

struct roce_engine {
	struct roce_list link; /* of all engines of the process */
	uint64_t namespace_id;
	uint32_t ifindex;
	uint32_t use_count;
	bool is_abandoned; /* this is a forked child */
	bool is_device_ready;
	struct roce_device device;
	struct roce_shared_counters *counters;
	int counters_fd;
	struct roce_impair_spec impair;
	struct roce_cc_config cc; /* if something slows us down */
	struct roce_lease *lease; /* NULL until the slot is acquired */
	struct roce_queue queue;
	struct roce_progress progress;

	struct roce_port_state port;
	struct roce_watch watch; /* the thread that follows it */
};

extern const struct roce_device_env roce_engine_env;

/* One line on stderr: opening a device is no data path, and its errors have only an errno else. Not
 * the program's mistake but its surroundings', so it is said always, unless UROCE_DEBUG=0. */
void roce_engine_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Fit for keys. Ends the program when the system gives none. */
void roce_engine_random(void *out, size_t length);

#endif
