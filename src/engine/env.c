/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The environment that verbs see (struct roce_device_env), on this engine: the slot with its lease
 * and thread, addresses with their sockets, facts of the netdev; progress is in progress.c.
 */
#include "engine/engine_internal.h"

#include "base/clock.h"
#include "engine/guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void roce_engine_complain(const char *format, ...)
{
	const char *debug = getenv("UROCE_DEBUG");
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char last[ROCE_LEASE_ERROR_MAX + 64];
	char line[sizeof(last)];
	bool is_said;
	va_list args;

	if (debug && strcmp(debug, "0") == 0)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	/* A UD queue pair opens many addresses, which may all fail alike. */
	pthread_mutex_lock(&lock);
	is_said = strcmp(line, last) == 0;
	memcpy(last, line, sizeof(last));
	pthread_mutex_unlock(&lock);
	if (!is_said)
		fprintf(stderr, "uroce: %s\n", line);
}

static roce_ns_t env_now(void *ctx)
{
	(void)ctx;
	return roce_clock_now();
}

static void env_random(void *ctx, void *out, size_t length)
{
	(void)ctx;
	roce_engine_random(out, length);
}

static void env_progress(void *ctx, bool is_polling)
{
	roce_progress_run(&((struct roce_engine *)ctx)->progress, is_polling);
}

static void env_kick(void *ctx)
{
	roce_progress_kick(&((struct roce_engine *)ctx)->progress);
}

static void env_arm(void *ctx)
{
	roce_progress_arm(&((struct roce_engine *)ctx)->progress);
}

static void env_on_completions(void *ctx)
{
	roce_progress_on_completions(&((struct roce_engine *)ctx)->progress);
}

/* ---- slot and addresses ---- */

static void on_stray(void *ctx, const struct roce_gid *local, const struct sockaddr_storage *from,
		     const void *data, size_t length, uint8_t tos)
{
	struct roce_engine *e = ctx;

	roce_queue_take_stray(&e->queue, local, from, data, length, tos, roce_clock_now());
}

static void on_replaced(void *ctx, int fd)
{
	struct roce_engine *e = ctx;

	for (uint32_t i = 0; i < e->queue.address_count; i++) {
		struct roce_queue_address *a = &e->queue.addresses[i];

		if (a->use_count && a->io->fd == fd) {
			roce_queue_renew(&e->queue, a);
			roce_progress_renew(&e->progress);
		}
	}
}

static int env_acquire_slot(void *ctx, uint8_t *out_slot)
{
	struct roce_engine *e = ctx;
	struct roce_lease_config cfg = {.on_stray = on_stray, .on_replaced = on_replaced, .ctx = e};
	char text[ROCE_LEASE_ERROR_MAX] = "";
	int err;

	if (e->is_abandoned)
		return -ENOTCONN;
	err = roce_lease_open(&e->lease, &cfg, text);
	if (err) {
		e->lease = NULL;
		roce_engine_complain("%s: %s", e->counters->device_name, text);
		return err;
	}
	err = roce_lease_slot(e->lease, &e->queue.slot, text);
	if (err) {
		roce_engine_complain("%s: %s", e->counters->device_name, text);
		goto fail;
	}
	roce_guard_install();
	e->queue.lease = e->lease;
	err = roce_progress_start(&e->progress, &e->queue, &e->device.lock);
	if (err) {
		roce_engine_complain("%s: cannot start the progress thread: %s",
				     e->counters->device_name, strerror(-err));
		goto fail;
	}
	*out_slot = e->queue.slot;
	return 0;
fail:
	roce_lease_close(e->lease);
	e->lease = NULL;
	e->queue.lease = NULL;
	e->queue.slot = 0;
	return err;
}

/* NULL when it is not open. */
static struct roce_queue_address *find_address(struct roce_engine *e, const struct roce_gid *sgid)
{
	for (uint32_t i = 0; i < e->queue.address_count; i++) {
		struct roce_queue_address *a = &e->queue.addresses[i];

		if (a->use_count && roce_gid_is_equal(&a->gid, sgid))
			return a;
	}
	return NULL;
}

/* The thread waits on the new descriptor of an address or group, too. set_before: the set that the
 * queue had before it came (queue_ready.c). */
static int add_socket_of(struct roce_engine *e, const struct roce_gid *gid, int set_before)
{
	const struct roce_queue_address *a = find_address(e, gid);

	if (e->queue.ready_fd != set_before) {
		roce_progress_renew(&e->progress);
		return 0;
	}
	return a ? roce_progress_add_socket(&e->progress, a->io->fd) : -ENOENT;
}

static int env_open_address(void *ctx, const struct roce_gid *sgid)
{
	struct roce_engine *e = ctx;
	char text[ROCE_LEASE_ERROR_MAX] = "";
	int set_before = e->queue.ready_fd;
	bool is_new;
	int err;

	if (e->is_abandoned || !e->lease)
		return -ENOTCONN;
	roce_guard_install(); /* the program may have set handlers of its own meanwhile */
	err = roce_queue_open_address(&e->queue, sgid, &is_new, text);
	if (err) {
		roce_engine_complain("%s: %s", e->counters->device_name, text);
		return err;
	}
	if (is_new)
		err = add_socket_of(e, sgid, set_before);
	if (err)
		roce_queue_close_address(&e->queue, sgid);
	return err;
}

static void env_close_address(void *ctx, const struct roce_gid *sgid)
{
	struct roce_engine *e = ctx;
	struct roce_queue_address *a;
	int set_before = e->queue.ready_fd;

	if (e->is_abandoned)
		return;
	/* What waits to be sent from here (a last ACK) leaves first. */
	if (roce_tx_is_pending(&e->device.transport))
		(void)roce_queue_tx(&e->queue, roce_clock_now());
	a = find_address(e, sgid);
	if (a && a->use_count == 1)
		roce_progress_remove_socket(&e->progress, a->io->fd);
	roce_queue_close_address(&e->queue, sgid);
	if (e->queue.ready_fd != set_before)
		roce_progress_renew(&e->progress);
}

static int env_join_group(void *ctx, const struct roce_gid *mgid)
{
	struct roce_engine *e = ctx;
	char text[ROCE_LEASE_ERROR_MAX] = "";
	int set_before = e->queue.ready_fd;
	bool is_new;
	int err;

	if (e->is_abandoned || !e->lease)
		return -ENOTCONN;
	err = roce_queue_join_group(&e->queue, mgid, &is_new, text);
	if (err) {
		roce_engine_complain("%s: %s", e->counters->device_name, text);
		return err;
	}
	if (is_new)
		err = add_socket_of(e, mgid, set_before);
	if (err)
		roce_queue_leave_group(&e->queue, mgid);
	return err;
}

static void env_leave_group(void *ctx, const struct roce_gid *mgid)
{
	struct roce_engine *e = ctx;
	int set_before = e->queue.ready_fd;

	if (e->is_abandoned)
		return;
	roce_queue_leave_group(&e->queue, mgid);
	if (e->queue.ready_fd != set_before)
		roce_progress_renew(&e->progress);
}

/* ---- facts ---- */

/* In a forked child the lock may have been another thread's: it is not touched. */

static int env_query_port(void *ctx, struct roce_port_info *out)
{
	struct roce_engine *e = ctx;

	return e->is_abandoned ? -ENOTCONN : roce_port_state_query(&e->port, out);
}

static int env_query_gid(void *ctx, uint32_t index, struct roce_gid *out, uint32_t *out_ifindex)
{
	struct roce_engine *e = ctx;

	*out_ifindex = e->ifindex;
	return e->is_abandoned ? -ENOTCONN : roce_port_state_gid(&e->port, index, out);
}

static int env_hold_gid(void *ctx, uint32_t index, const struct roce_gid *gid)
{
	struct roce_engine *e = ctx;

	return e->is_abandoned ? -ENOTCONN : roce_port_state_hold_gid(&e->port, index, gid);
}

static void env_release_gid(void *ctx, uint32_t index)
{
	struct roce_engine *e = ctx;

	if (!e->is_abandoned)
		roce_port_state_release_gid(&e->port, index);
}

const struct roce_device_env roce_engine_env = {
	.now = env_now,
	.random = env_random,
	.progress = env_progress,
	.kick = env_kick,
	.arm = env_arm,
	.on_completions = env_on_completions,
	.acquire_slot = env_acquire_slot,
	.open_address = env_open_address,
	.close_address = env_close_address,
	.join_group = env_join_group,
	.leave_group = env_leave_group,
	.query_port = env_query_port,
	.query_gid = env_query_gid,
	.hold_gid = env_hold_gid,
	.release_gid = env_release_gid,
};
