/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an engine counts, in memory of its own that another process can map: the transport's
 * counters, the engine's, and those of its packet interfaces. Written under the device's lock,
 * read without: a reader may see a value a moment old, never half of one.
 */
#ifndef ROCE_ENGINE_COUNTERS_H
#define ROCE_ENGINE_COUNTERS_H

#include "engine/netdev.h"
#include "pktio/pktio.h"
#include "transport/counter.h"
#include "wire/headers.h"

#include <stdint.h>

#define ROCE_SHARED_COUNTERS_MAGIC   0x756e6365u
#define ROCE_SHARED_COUNTERS_VERSION 4u

/* X(field, what it counts) */
#define ROCE_ENGINE_STATS(X)                                                            \
	X(rx_bad_icrc, "packets whose ICRC is wrong")                                   \
	X(rx_too_short, "packets too short to have one")                                \
	X(rx_strays_forwarded, "packets for another slot, handed to the daemon")        \
	X(rx_strays_dropped, "packets for another slot, over the rate limit")           \
	X(rx_strays_taken, "packets of ours that the daemon brought")                   \
	X(tx_no_address, "packets from an address that is not open")                    \
	X(tx_no_flow, "packets to a destination that cannot be reached")                \
	X(tx_memory_faults, "packets whose payload was gone")                           \
	X(tx_held, "completions that went to the program before what waits to be sent") \
	X(kicks_deferred, "posts that waited to leave in a batch")                      \
	X(thread_wakes, "times the progress thread woke")                               \
	X(thread_aside, "times it left the work to a polling program")                  \
	X(thread_late, "times polling had stopped and packets were waiting")            \
	X(thread_disarms, "times polling took the sockets from the thread")             \
	X(poll_yields, "empty polls that gave the processor away")

struct roce_engine_stats {
#define X(field, text) uint64_t field;
	ROCE_ENGINE_STATS(X)
#undef X
};

struct roce_shared_counters {
	uint32_t magic;
	uint32_t version;
	uint32_t pid;
	uint32_t ifindex;
	char device_name[ROCE_DEVICE_NAME_MAX];
	struct roce_counters transport;
	struct roce_engine_stats engine;
	uint64_t decode[ROCE_DECODE_COUNT]; /* packets by verdict of the decoder */
	struct roce_pktio_stats pktio;	    /* of all addresses together */
};

/* Maps a new one. *out_fd is the memory's descriptor for others to map, or -1 where the system has
 * none to give (the counters are private then). NULL when there is no memory. */
struct roce_shared_counters *roce_shared_counters_create(uint32_t ifindex, int *out_fd);
void roce_shared_counters_destroy(struct roce_shared_counters *counters, int fd);

/*
 * What the device has counted in all processes of this user, living and ended, in this network
 * namespace. Never less than the last time. 0 or -errno: there is no directory to share.
 */
int roce_shared_counters_sum(uint32_t ifindex, struct roce_shared_counters *out);

/* Each counter under its name for users, which sysfs and `uroce counters` share; always in this
 * order. */
typedef void roce_shared_counter_fn(void *ctx, const char *name, uint64_t value);
void roce_shared_counters_each(const struct roce_shared_counters *c, roce_shared_counter_fn *each,
			       void *ctx);

#endif
