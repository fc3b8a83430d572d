/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Engines of the process: found by network namespace and interface, counted, ended with their last
 * user or with the process, abandoned in a forked child. What a device's environment does is in
 * env.c.
 */
#include "engine/engine_internal.h"

#include "base/clock.h"
#include "engine/cc_spec.h"
#include "engine/guard.h"
#include "engine/on_demand.h"
#include "pktio/udp/udp.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PACKET_COST	     (4096u + ROCE_WINDOW_PACKET_COST)
#define WINDOW_INITIAL	     (16u * PACKET_COST)
#define WINDOW_MAX	     (64u * PACKET_COST) /* batches: the stock buffer holds 85 packets so */
#define WINDOW_MAX_SINGLE    (32u * PACKET_COST) /* one by one: it holds 50 */
#define WINDOW_MIN	     (2u * PACKET_COST)
#define READ_CHUNK_PACKETS   64u
#define ACK_INTERVAL_PACKETS 8u
#define BURST_PACKETS	     16u
#define PACE_KBIT_PER_S	     8000000u
#define PACE_BURST_BYTES     (128u * 1024u)
#define ACK_TIMEOUT_FLOOR_NS (50 * ROCE_NS_PER_MS)
#define LINE_KBIT_DEFAULT    100000000u		    /* where the network device tells no speed */
#define CC_BURST_NS	     (200 * ROCE_NS_PER_US) /* waking up for each packet costs too much */
#define CC_LATE_NS	     ROCE_NS_PER_MS
#define ETHERNET_BYTES	     38u /* preamble, header, FCS, gap */

static pthread_mutex_t engines_lock = PTHREAD_MUTEX_INITIALIZER;
static struct roce_list engines = {&engines, &engines};

/* A process may change its namespace between two opens. */
static uint64_t current_namespace(void)
{
	struct stat st;

	return stat("/proc/thread-self/ns/net", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* ---- environment variables ---- */

static int read_impair(struct roce_engine *e)
{
	const char *text = getenv("UROCE_IMPAIR");
	char err[ROCE_LEASE_ERROR_MAX];

	if (!text || !*text)
		return 0;
	if (roce_impair_parse(text, &e->impair, err, sizeof(err)) < 0) {
		roce_engine_complain("%s", err);
		return -EINVAL;
	}
	e->queue.impair = &e->impair;
	return 0;
}

static int read_ack_floor(roce_ns_t *out)
{
	const char *text = getenv("UROCE_ACK_TIMEOUT_FLOOR_US");
	unsigned long long us;
	char *end;

	*out = ACK_TIMEOUT_FLOOR_NS;
	if (!text || !*text)
		return 0;
	errno = 0;
	us = strtoull(text, &end, 10);
	if (errno || *end || us > 1000000) {
		roce_engine_complain("UROCE_ACK_TIMEOUT_FLOOR_US: '%s' is not 0 to 1000000", text);
		return -EINVAL;
	}
	*out = us * ROCE_NS_PER_US;
	return 0;
}

static int read_timing(const struct roce_timing **out)
{
	const char *text = getenv("UROCE_TIMING");

	*out = text && *text ? roce_timing_find(text) : NULL;
	if (text && *text && !*out) {
#define X(name, code_min, permille) " " name
		roce_engine_complain("UROCE_TIMING: '%s' is none of" ROCE_TIMINGS(X), text);
#undef X
		return -EINVAL;
	}
	return 0;
}

static int read_cc(struct roce_engine *e, struct roce_transport_config *tuning)
{
	uint64_t line = (uint64_t)e->port.facts.speed_mbps * 1000;
	struct roce_cc_spec spec;
	char err[ROCE_LEASE_ERROR_MAX];

	if (roce_cc_spec_parse(getenv("UROCE_CC"), &spec, err, sizeof(err)) < 0) {
		roce_engine_complain("%s", err);
		return -EINVAL;
	}
	tuning->notify = spec.notify;
	if (!spec.ops)
		return 0;
	e->cc = (struct roce_cc_config){
		.ops = spec.ops,
		.params = spec.params,
		.line_kbit_per_s = line && line <= UINT32_MAX ? (uint32_t)line : LINE_KBIT_DEFAULT,
		.burst_ns = CC_BURST_NS,
		.late_ns = CC_LATE_NS,
	};
	tuning->cc = &e->cc;
	tuning->link_bytes = ETHERNET_BYTES;
	return 0;
}

/* ---- making and ending ---- */

static int store_guarded(void *ctx, const struct roce_mem_place *to, const void *from,
			 size_t length)
{
	void *at = (void *)(uintptr_t)to->ptr;

	(void)ctx;
	return to->is_on_demand ? roce_on_demand_write(at, from, length)
				: roce_guard_copy(at, from, length);
}

static int compare_swap_guarded(void *ctx, uint64_t *word, uint64_t compare, uint64_t swap,
				uint64_t *out_orig)
{
	(void)ctx;
	return roce_guard_compare_swap(word, compare, swap, out_orig);
}

static int fetch_add_guarded(void *ctx, uint64_t *word, uint64_t add, uint64_t *out_orig)
{
	(void)ctx;
	return roce_guard_fetch_add(word, add, out_orig);
}

static const struct roce_mem_ops mem_ops = {
	.store = store_guarded,
	.compare_swap = compare_swap_guarded,
	.fetch_add = fetch_add_guarded,
};

/* Three alternating runs over veth on two busy cores, ib_write_bw 64 KiB: 11 Gb/s with 32 packets,
 * 18 with 64, 16 with 128; a smaller window makes sender and receiver wait for each other's
 * wake-up. */
static uint32_t choose_window_max(void)
{
	struct roce_pktio_facts facts;

	roce_udp_probe(&facts);
	return facts.segments_max > 1 ? WINDOW_MAX : WINDOW_MAX_SINGLE;
}

static int init_device(struct roce_engine *e)
{
	uint32_t window_max = choose_window_max();
	struct roce_transport_config tuning = {
		.mem_ops = &mem_ops,
		.window = {.initial = WINDOW_INITIAL, .min = WINDOW_MIN, .max = window_max},
		.read_window = window_max,
		.read_chunk_packets = READ_CHUNK_PACKETS,
		.ack_interval_packets = ACK_INTERVAL_PACKETS,
		.burst_packets = BURST_PACKETS,
		.pace = {.kbit_per_s = PACE_KBIT_PER_S, .burst_bytes = PACE_BURST_BYTES},
	};
	int err = read_ack_floor(&tuning.ack_timeout_floor_ns);

	if (!err)
		err = read_timing(&tuning.timing);
	if (!err)
		err = read_cc(e, &tuning);
	if (err)
		return err;
	return roce_device_init(&e->device, &roce_engine_env, e, &tuning, &e->counters->transport);
}

static void destroy(struct roce_engine *e)
{
	roce_watch_stop(&e->watch);
	roce_progress_stop(&e->progress);
	if (e->queue.stage)
		roce_queue_fini(&e->queue);
	roce_lease_close(e->lease);
	if (e->is_device_ready)
		roce_device_fini(&e->device);
	roce_shared_counters_destroy(e->counters, e->counters_fd);
	roce_port_state_close(&e->port);
	free(e);
}

static int create(uint32_t ifindex, uint64_t namespace_id, struct roce_engine **out)
{
	struct roce_engine *e = calloc(1, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	e->ifindex = ifindex;
	e->namespace_id = namespace_id;
	e->use_count = 1;
	e->counters_fd = -1;
	err = roce_port_state_open(&e->port, ifindex);
	if (err)
		goto fail;
	err = -ENOMEM;
	e->counters = roce_shared_counters_create(ifindex, &e->counters_fd);
	if (!e->counters)
		goto fail;
	roce_netdev_device_name(e->port.facts.name, e->counters->device_name);
	e->queue.transport = &e->device.transport;
	e->queue.ifindex = ifindex;
	e->queue.counters = e->counters;
	err = read_impair(e);
	if (!err)
		err = roce_queue_init(&e->queue);
	if (!err)
		err = init_device(e);
	if (err)
		goto fail;
	e->is_device_ready = true;
	err = roce_watch_start(&e->watch, &e->port, &e->device);
	if (err)
		goto fail;
	*out = e;
	return 0;
fail:
	destroy(e);
	return err;
}

/* ---- fork ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&engines_lock);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&engines_lock);
}

/* Other threads are gone, perhaps in the middle of anything: only close and forget. */
static void after_fork_in_child(void)
{
	struct roce_list *it, *next;

	roce_list_for_each_safe (it, next, &engines) {
		struct roce_engine *e = roce_container_of(it, struct roce_engine, link);

		roce_list_remove(it);
		e->is_abandoned = true;
		roce_progress_abandon(&e->progress);
		roce_watch_abandon(&e->watch);
		roce_port_state_abandon(&e->port);
		if (e->lease)
			roce_queue_abandon(&e->queue,
					   roce_lease_are_sockets_closed_in_child(e->lease));
	}
	pthread_mutex_init(&engines_lock, NULL);
}

static void register_fork_handlers(void)
{
	(void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* ---- exit ---- */

#define EXIT_PATIENCE_NS (20 * ROCE_NS_PER_MS)

/* The program may end inside of a call, by a handler of a signal or in another thread. */
static bool lock_until(pthread_mutex_t *lock, roce_ns_t end)
{
	while (pthread_mutex_trylock(lock) != 0) {
		if (roce_clock_now() >= end)
			return false;
		sched_yield();
	}
	return true;
}

/*
 * A completion reaches the program before its acknowledgement leaves (progress.c). A program that
 * ends right there has received the message all the same, and its peer is to know: an adapter of
 * hardware would have told it.
 */
static __attribute__((destructor)) void send_what_is_left(void)
{
	roce_ns_t end = roce_clock_now() + EXIT_PATIENCE_NS;
	struct roce_list *it;

	if (!lock_until(&engines_lock, end))
		return;
	roce_list_for_each (it, &engines) {
		struct roce_engine *e = roce_container_of(it, struct roce_engine, link);

		if (!e->lease || !lock_until(&e->device.lock, end))
			continue;
		for (roce_ns_t now = roce_clock_now();
		     roce_tx_is_pending(&e->device.transport) && now < end; now = roce_clock_now())
			(void)roce_queue_tx(&e->queue, now);
		pthread_mutex_unlock(&e->device.lock);
	}
	pthread_mutex_unlock(&engines_lock);
}

/* ---- interface ---- */

int roce_engine_get(uint32_t ifindex, struct roce_engine **out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t namespace_id = current_namespace();
	struct roce_list *it;
	int err;

	pthread_once(&once, register_fork_handlers);
	pthread_mutex_lock(&engines_lock);
	roce_list_for_each (it, &engines) {
		struct roce_engine *e = roce_container_of(it, struct roce_engine, link);

		/* A network device that is gone may have a successor with its number. */
		if (e->ifindex == ifindex && e->namespace_id == namespace_id &&
		    !roce_port_state_is_gone(&e->port)) {
			e->use_count++;
			pthread_mutex_unlock(&engines_lock);
			*out = e;
			return 0;
		}
	}
	err = create(ifindex, namespace_id, out);
	if (!err)
		roce_list_add_tail(&engines, &(*out)->link);
	pthread_mutex_unlock(&engines_lock);
	return err;
}

void roce_engine_put(struct roce_engine *e)
{
	bool is_last;

	/* In a forked child the parent's engine stays as it was: a piece of memory. */
	if (!e || e->is_abandoned)
		return;
	pthread_mutex_lock(&engines_lock);
	is_last = --e->use_count == 0;
	if (is_last)
		roce_list_remove(&e->link);
	pthread_mutex_unlock(&engines_lock);
	if (is_last)
		destroy(e);
}

struct roce_device *roce_engine_device(struct roce_engine *e)
{
	return &e->device;
}

const struct roce_shared_counters *roce_engine_counters(const struct roce_engine *e, int *out_fd)
{
	*out_fd = e->counters_fd;
	return e->counters;
}
