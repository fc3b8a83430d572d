/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An environment for tests of this folder: a device whose packets come back to itself, in virtual
 * time, with real memory. Progress carries every packet that the transport has; nothing is lost.
 * Counts what it is asked for, so that tests can see that all of it is given back.
 */
#ifndef ROCE_VERBS_LOOP_ENV_H
#define ROCE_VERBS_LOOP_ENV_H

#include "base/prng.h"
#include "verbs/qp_verbs.h"
#include "wq/sge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOP_SLOT      5
#define LOOP_MTU_BYTES 4096
#define LOOP_PACKETS   16
#define LOOP_TICK_NS   100

struct loop_env {
	struct roce_device dev;
	struct roce_counters counters;
	struct roce_prng prng;
	roce_ns_t now;
	uint8_t active_mtu;
	int open_count; /* addresses */
	int group_count;
	int slot_count; /* times asked */
	int arm_count;
	int slot_error;
	int open_error;
	int held_count;		     /* GID entries */
	bool is_leaving;	     /* what a question found has gone when it is to be held */
	uint32_t gid_count;	     /* 0: those of loop_gid() */
	struct roce_gid gids[4];     /* else these; a zero one is an empty entry */
	struct roce_gid opened_last; /* address */
	struct roce_gid closed_last;
};

/* GIDs 0 and 1 are 10.0.0.1 and fd00::1, the others are empty. */
static inline int loop_gid(uint32_t index, struct roce_gid *out)
{
	static const struct roce_gid gids[] = {
		{{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1}},
		{{[0] = 0xfd, [15] = 1}},
	};

	if (index >= sizeof(gids) / sizeof(gids[0]))
		return -ENOENT;
	*out = gids[index];
	return 0;
}

static roce_ns_t loop_now(void *ctx)
{
	return ((struct loop_env *)ctx)->now;
}

static void loop_random(void *ctx, void *out, size_t length)
{
	uint8_t *p = out;

	for (size_t i = 0; i < length; i++)
		p[i] = (uint8_t)roce_prng_next(&((struct loop_env *)ctx)->prng);
}

static size_t loop_gather(const struct roce_payload *from, uint8_t *to)
{
	uint64_t skip = from->offset;
	size_t done = 0;

	if (!from->sge) {
		if (from->length)
			memcpy(to, (const uint8_t *)from->data + skip, from->length);
		return from->length;
	}
	for (uint32_t i = 0; i < from->sge_count && done < from->length; i++) {
		const struct roce_sge *sge = &from->sge[i];
		size_t n;

		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		n = sge->length - skip;
		if (n > from->length - done)
			n = from->length - done;
		if (roce_sge_is_zeros(sge))
			memset(to + done, 0, n);
		else
			memcpy(to + done, (const uint8_t *)(uintptr_t)sge->addr + skip, n);
		done += n;
		skip = 0;
	}
	return done;
}

/* One round: what is ready now travels. Number of packets. */
static inline size_t loop_step(struct loop_env *env)
{
	static uint8_t bytes[LOOP_PACKETS][LOOP_MTU_BYTES];
	struct roce_tx_pkt pkts[LOOP_PACKETS];
	struct roce_path paths[LOOP_PACKETS];
	size_t n = roce_tx(&env->dev.transport, pkts, LOOP_PACKETS, env->now);

	for (size_t i = 0; i < n; i++) {
		paths[i] = *pkts[i].path;
		loop_gather(&pkts[i].payload, bytes[i]);
	}
	for (size_t i = 0; i < n; i++) {
		struct roce_rx_pkt rx = {
			.hdr = pkts[i].hdr,
			.payload = bytes[i],
			.payload_len = pkts[i].payload.length,
			.src = &paths[i].sgid,
			.dst = &paths[i].dgid,
		};

		env->now += LOOP_TICK_NS;
		roce_rx(&env->dev.transport, &rx, env->now);
	}
	return n;
}

static void loop_progress(void *ctx, bool is_polling)
{
	struct loop_env *env = ctx;

	(void)is_polling;
	env->now += LOOP_TICK_NS;
	roce_on_deadline(&env->dev.transport, env->now);
	while (loop_step(env) > 0)
		;
}

static void loop_nothing(void *ctx)
{
	(void)ctx;
}

static void loop_arm(void *ctx)
{
	((struct loop_env *)ctx)->arm_count++;
}

static int loop_acquire_slot(void *ctx, uint8_t *out_slot)
{
	struct loop_env *env = ctx;

	env->slot_count++;
	if (env->slot_error)
		return env->slot_error;
	*out_slot = LOOP_SLOT;
	return 0;
}

static int loop_open_address(void *ctx, const struct roce_gid *sgid)
{
	struct loop_env *env = ctx;

	if (env->open_error)
		return env->open_error;
	env->open_count++;
	env->opened_last = *sgid;
	return 0;
}

static void loop_close_address(void *ctx, const struct roce_gid *sgid)
{
	((struct loop_env *)ctx)->open_count--;
	((struct loop_env *)ctx)->closed_last = *sgid;
}

static int loop_join_group(void *ctx, const struct roce_gid *mgid)
{
	(void)mgid;
	((struct loop_env *)ctx)->group_count++;
	return 0;
}

static void loop_leave_group(void *ctx, const struct roce_gid *mgid)
{
	(void)mgid;
	((struct loop_env *)ctx)->group_count--;
}

static int loop_query_port(void *ctx, struct roce_port_info *out)
{
	const struct loop_env *env = ctx;

	*out = (struct roce_port_info){
		.is_up = true,
		.netdev_mtu = 9000,
		.active_mtu = env->active_mtu,
		.gid_count = env->gid_count ? env->gid_count : 2,
	};
	return 0;
}

static int loop_query_gid(void *ctx, uint32_t index, struct roce_gid *out, uint32_t *out_ifindex)
{
	const struct loop_env *env = ctx;

	*out_ifindex = 1;
	if (!env->gid_count)
		return loop_gid(index, out);
	if (index >= env->gid_count || roce_gid_is_zero(&env->gids[index]))
		return -ENOENT;
	*out = env->gids[index];
	return 0;
}

static int loop_hold_gid(void *ctx, uint32_t index, const struct roce_gid *gid)
{
	struct loop_env *env = ctx;
	struct roce_gid at;
	uint32_t ifindex;

	if (env->is_leaving || loop_query_gid(ctx, index, &at, &ifindex) != 0 ||
	    !roce_gid_is_equal(&at, gid))
		return -ENOENT;
	env->held_count++;
	return 0;
}

static void loop_release_gid(void *ctx, uint32_t index)
{
	(void)index;
	((struct loop_env *)ctx)->held_count--;
}

static int loop_store(void *ctx, const struct roce_mem_place *to, const void *from, size_t length)
{
	(void)ctx;
	memcpy((void *)(uintptr_t)to->ptr, from, length);
	return 0;
}

static int loop_compare_swap(void *ctx, uint64_t *word, uint64_t compare, uint64_t swap,
			     uint64_t *out_orig)
{
	(void)ctx;
	*out_orig = *word;
	if (*word == compare)
		*word = swap;
	return 0;
}

static int loop_fetch_add(void *ctx, uint64_t *word, uint64_t add, uint64_t *out_orig)
{
	(void)ctx;
	*out_orig = *word;
	*word += add;
	return 0;
}

static inline void loop_env_init(struct loop_env *env, uint64_t seed)
{
	static const struct roce_device_env ops = {
		.now = loop_now,
		.random = loop_random,
		.progress = loop_progress,
		.kick = loop_nothing,
		.arm = loop_arm,
		.on_completions = loop_nothing,
		.acquire_slot = loop_acquire_slot,
		.open_address = loop_open_address,
		.close_address = loop_close_address,
		.join_group = loop_join_group,
		.leave_group = loop_leave_group,
		.query_port = loop_query_port,
		.query_gid = loop_query_gid,
		.hold_gid = loop_hold_gid,
		.release_gid = loop_release_gid,
	};
	static const struct roce_mem_ops mem_ops = {
		.store = loop_store,
		.compare_swap = loop_compare_swap,
		.fetch_add = loop_fetch_add,
	};
	const struct roce_transport_config tuning = {
		.mem_ops = &mem_ops,
		.window = {.initial = 1 << 20, .min = 1 << 16, .max = 1 << 20},
		.read_window = 1 << 20,
		.read_chunk_packets = 64,
		.ack_interval_packets = 8,
		.burst_packets = LOOP_PACKETS,
	};

	memset(env, 0, sizeof(*env));
	env->prng.state = seed;
	env->active_mtu = 5;
	if (roce_device_init(&env->dev, &ops, env, &tuning, &env->counters) != 0)
		abort();
}

static inline void loop_env_fini(struct loop_env *env)
{
	roce_device_fini(&env->dev);
}

/* ---- a connected queue pair ---- */

static inline int loop_qp_to_init(struct roce_verbs_qp *qp, uint32_t access)
{
	const struct roce_qp_attr attr = {
		.state = ROCE_QP_INIT, .port_num = 1, .access_flags = access};

	return roce_verbs_qp_modify(qp, &attr,
				    ROCE_ATTR_STATE | ROCE_ATTR_PKEY_INDEX | ROCE_ATTR_PORT |
					    ROCE_ATTR_ACCESS_FLAGS,
				    NULL);
}

#define LOOP_RTR_MASK                                                               \
	(ROCE_ATTR_STATE | ROCE_ATTR_AV | ROCE_ATTR_PATH_MTU | ROCE_ATTR_DEST_QPN | \
	 ROCE_ATTR_RQ_PSN | ROCE_ATTR_MAX_DEST_RD_ATOMIC | ROCE_ATTR_MIN_RNR_TIMER)
#define LOOP_RTS_MASK                                                                      \
	(ROCE_ATTR_STATE | ROCE_ATTR_TIMEOUT | ROCE_ATTR_RETRY_CNT | ROCE_ATTR_RNR_RETRY | \
	 ROCE_ATTR_SQ_PSN | ROCE_ATTR_MAX_QP_RD_ATOMIC)

static inline struct roce_av loop_av(void)
{
	struct roce_av av = {.port_num = 1, .is_global = true};

	loop_gid(0, &av.dgid);
	return av;
}

static inline int loop_qp_to_rtr(struct roce_verbs_qp *qp, uint32_t dest_qpn)
{
	const struct roce_av av = loop_av();
	const struct roce_qp_attr attr = {
		.state = ROCE_QP_RTR,
		.path_mtu = 3,
		.dest_qpn = dest_qpn,
		.rq_psn = 0x123456,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
	};

	return roce_verbs_qp_modify(qp, &attr, LOOP_RTR_MASK, &av);
}

static inline int loop_qp_to_rts(struct roce_verbs_qp *qp)
{
	const struct roce_qp_attr attr = {
		.state = ROCE_QP_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.sq_psn = 0x123456,
		.max_rd_atomic = 4,
	};

	return roce_verbs_qp_modify(qp, &attr, LOOP_RTS_MASK, NULL);
}

#endif
