/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs device of a host, which is the shipped one, and its life. Here is what an engine has
 * elsewhere: the clock is the event queue's, numbers are drawn in a row (so that tables are dense),
 * memory is memory.h's.
 */
#include "fabric/host.h"

#include "fabric/payload.h"
#include "transport/timing.h"
#include "verbs/pd.h"
#include "wire/mtu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOT	      1u
#define QP_TABLE      32u /* grows; one page has all tables of a host with few queue pairs */
#define MR_BUCKETS    8u
#define READ_CHUNK    4096u
#define BURST_PACKETS 16u
#define CQ_DEPTH      32768u /* a failing queue pair flushes all that was posted */
#define SRQ_DEPTH     1024u
#define SRQ_BYTES     (1u << 31)
#define MBPS	      1000000u

static struct roce_fabric_host *host_of(void *ctx)
{
	return ctx;
}

/* ---- the device's environment ---- */

static roce_ns_t env_now(void *ctx)
{
	return roce_fabric_host_now(host_of(ctx));
}

/* The low 16 bits count, since queue pairs are numbered by them; the rest differs. */
static void env_random(void *ctx, void *out, size_t length)
{
	struct roce_fabric_host *host = host_of(ctx);
	uint8_t *p = out;

	for (size_t i = 0; i + sizeof(uint32_t) <= length; i += sizeof(uint32_t)) {
		uint32_t n = ++host->draws;
		uint32_t value = (n * 0x9e3779b1u & 0xffff0000u) | (n & 0xffff);

		memcpy(p + i, &value, sizeof(value));
	}
}

static void env_nothing(void *ctx)
{
	(void)ctx;
}

static void env_progress(void *ctx, bool is_polling)
{
	(void)ctx;
	(void)is_polling;
}

static int env_acquire_slot(void *ctx, uint8_t *out_slot)
{
	(void)ctx;
	*out_slot = SLOT;
	return 0;
}

static int env_open(void *ctx, const struct roce_gid *gid)
{
	(void)ctx;
	(void)gid;
	return 0;
}

static void env_close(void *ctx, const struct roce_gid *gid)
{
	(void)ctx;
	(void)gid;
}

static int env_query_port(void *ctx, struct roce_port_info *out)
{
	const struct roce_fabric_host *host = host_of(ctx);
	uint32_t mtu = host->port->profile->cfg.mtu_bytes;

	*out = (struct roce_port_info){
		.is_up = true,
		.netdev_mtu = mtu,
		.active_mtu = roce_mtu_enum_from_netdev(mtu),
		.speed_mbps = (uint32_t)(host->port->rate_bps / MBPS),
		.gid_count = 1,
	};
	return 0;
}

static int env_query_gid(void *ctx, uint32_t index, struct roce_gid *out, uint32_t *out_ifindex)
{
	if (index > 0)
		return -ENOENT;
	*out = host_of(ctx)->gid;
	*out_ifindex = 1;
	return 0;
}

static int env_hold_gid(void *ctx, uint32_t index, const struct roce_gid *gid)
{
	(void)ctx;
	(void)index;
	(void)gid;
	return 0;
}

static void env_release_gid(void *ctx, uint32_t index)
{
	(void)ctx;
	(void)index;
}

static const struct roce_device_env device_env = {
	.now = env_now,
	.random = env_random,
	.progress = env_progress,
	.kick = env_nothing,
	.arm = env_nothing,
	.on_completions = env_nothing,
	.acquire_slot = env_acquire_slot,
	.open_address = env_open,
	.close_address = env_close,
	.join_group = env_open,
	.leave_group = env_close,
	.query_port = env_query_port,
	.query_gid = env_query_gid,
	.hold_gid = env_hold_gid,
	.release_gid = env_release_gid,
};

static int mem_store(void *ctx, const struct roce_mem_place *to, const void *from, size_t length)
{
	return roce_fabric_memory_store(&host_of(ctx)->memory, to->ptr, from, length);
}

/* Flows have no atomics. */

static int mem_compare_swap(void *ctx, uint64_t *word, uint64_t compare, uint64_t swap,
			    uint64_t *out_orig)
{
	(void)ctx;
	(void)word;
	(void)compare;
	(void)swap;
	*out_orig = 0;
	return 0;
}

static int mem_fetch_add(void *ctx, uint64_t *word, uint64_t add, uint64_t *out_orig)
{
	(void)ctx;
	(void)word;
	(void)add;
	*out_orig = 0;
	return 0;
}

static const struct roce_mem_ops mem_ops = {
	.store = mem_store,
	.compare_swap = mem_compare_swap,
	.fetch_add = mem_fetch_add,
};

/* ---- life ---- */

int roce_fabric_host_create(struct roce_fabric *f, struct roce_fabric_node *node,
			    const struct roce_fabric_host_config *cfg)
{
	struct roce_fabric_host *host;

	if (cfg->timing && !roce_timing_find(cfg->timing))
		return roce_fabric_refuse(f, ROCE_FABRIC_FAULT_TIMING, node->index,
					  ROCE_FABRIC_NONE, ROCE_FABRIC_NONE);
	host = calloc(1, sizeof(*host));
	if (!host)
		return -ENOMEM;
	host->f = f;
	host->cfg = *cfg;
	host->gid = cfg->gid;
	if (roce_gid_is_zero(&host->gid)) {
		uint32_t n = node->index + 1;
		const struct roce_gid gid = {{[10] = 0xff,
					      [11] = 0xff,
					      [12] = 10,
					      [13] = (uint8_t)(n >> 16),
					      [14] = (uint8_t)(n >> 8),
					      [15] = (uint8_t)n}};

		host->gid = gid;
	}
	host->frame_flags = (uint8_t)((roce_gid_is_v4(&host->gid) ? 0 : ROCE_FABRIC_FRAME_V6) |
				      (cfg->is_tagged ? ROCE_FABRIC_FRAME_TAGGED : 0));
	host->ack_turn = cfg->ack_turn;
	host->ack_prio = cfg->ack_prio;
	roce_event_init(&host->deadline, roce_fabric_host_on_deadline);
	node->host = host;
	f->has_tags |= cfg->is_tagged;
	return 0;
}

/* What a rate counts: what the line carries; or as the simulator does whose frames these are. */
static void count_bytes(const struct roce_fabric_host *host, struct roce_transport_config *tuning)
{
	const struct roce_fabric_framing *framing = &host->f->cfg.framing;

	if (framing->data_extra_bytes)
		tuning->header_bytes = framing->data_extra_bytes;
	else
		tuning->link_bytes =
			ROCE_FABRIC_IP_EXTRA_BYTES + framing->preamble_gap_bytes +
			roce_fabric_tag_bytes(roce_fabric_host_flags(host->port->node));
}

static void choose_control(struct roce_fabric_host *host, struct roce_transport_config *tuning)
{
	const struct roce_fabric_host_config *cfg = &host->cfg;

	if (!cfg->cc)
		return;
	host->cc = (struct roce_cc_config){
		.ops = cfg->cc,
		.params = cfg->cc_params,
		.line_kbit_per_s = (uint32_t)(host->port->rate_bps / 1000),
	};
	if (!cfg->is_reaction_off)
		tuning->cc = &host->cc;
	if (!cfg->is_notification_off)
		cfg->cc->notify_config(&cfg->cc_params, &tuning->notify);
	count_bytes(host, tuning);
}

static int init_device(struct roce_fabric_host *host)
{
	struct roce_transport_config tuning = {
		.mem_ops = &mem_ops,
		.ctx = host,
		.qp_table_mask = QP_TABLE - 1,
		.mr_bucket_count = MR_BUCKETS,
		.window = {.initial = ROCE_WINDOW_UNLIMITED,
			   .min = ROCE_WINDOW_UNLIMITED,
			   .max = ROCE_WINDOW_UNLIMITED},
		.read_window = ROCE_WINDOW_UNLIMITED,
		.read_chunk_packets = READ_CHUNK,
		.ack_interval_packets = host->cfg.ack_interval_packets,
		.burst_packets = BURST_PACKETS,
		.segment_bytes = host->cfg.segment_bytes,
		.qp_window_bytes = host->cfg.window_bytes,
		.is_qp_window_by_rate = host->cfg.is_window_by_rate,
		.recovery =
			host->cfg.is_go_back_0 ? ROCE_RECOVERY_GO_BACK_0 : ROCE_RECOVERY_GO_BACK_N,
		.timing = host->cfg.timing ? roce_timing_find(host->cfg.timing) : NULL,
	};

	choose_control(host, &tuning);
	return roce_device_init(&host->dev, &device_env, host, &tuning, &host->counters);
}

int roce_fabric_host_prepare(struct roce_fabric_node *node)
{
	struct roce_fabric_host *host = node->host;
	int err;

	host->port = &node->ports[0];
	host->f->gids[node->host_number] = host->gid;
	roce_fabric_receiver_init(host);
	err = init_device(host);
	if (err)
		return err;
	host->has_device = true;
	roce_fabric_memory_init(&host->memory, SRQ_DEPTH);
	if (host->cfg.is_ud_faulty)
		err = roce_fabric_nic_init(host);
	if (err)
		return err;
	roce_context_init_mute(&host->ctx, &host->dev, host);
	host->has_context = true;
	roce_pd_init(&host->pd, 1);
	err = roce_verbs_cq_init(&host->cq, &host->ctx, CQ_DEPTH, NULL, NULL, host);
	if (err)
		return err;
	host->has_cq = true;
	/* On demand: registering does not ask whether there is memory. */
	err = roce_verbs_mr_init(&host->mr, &host->ctx, &host->pd, ROCE_FABRIC_MEMORY_BASE,
				 ROCE_FABRIC_MEMORY_BYTES, ROCE_FABRIC_MEMORY_BASE,
				 ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE |
					 ROCE_ACCESS_REMOTE_READ | ROCE_ACCESS_ON_DEMAND);
	host->has_mr = !err;
	return err;
}

void roce_fabric_host_destroy(struct roce_fabric_node *node)
{
	struct roce_fabric_host *host = node->host;

	if (!host)
		return;
	if (host->has_srq)
		roce_verbs_srq_fini(&host->srq);
	if (host->has_mr)
		roce_verbs_mr_fini(&host->mr);
	if (host->has_cq)
		roce_verbs_cq_fini(&host->cq);
	if (host->has_context)
		roce_context_fini(&host->ctx);
	if (host->has_device)
		roce_device_fini(&host->dev);
	roce_fabric_nic_fini(host);
	roce_fabric_memory_fini(&host->memory);
	free(host);
	node->host = NULL;
}

/* ---- receives ---- */

void roce_fabric_host_repost(struct roce_fabric_host *host, uint32_t slot)
{
	const struct roce_sge sge = {.addr = roce_fabric_slot_address(slot),
				     .length = SRQ_BYTES,
				     .lkey = host->mr.mr.lkey.v};

	roce_recv_queue_push(&host->srq.srq.rq, slot, &sge, 1);
}

int roce_fabric_host_open_srq(struct roce_fabric_host *host)
{
	const struct roce_srq_request req = {.pd = &host->pd, .max_wr = SRQ_DEPTH, .max_sge = 1};
	int err;

	if (host->has_srq)
		return 0;
	err = roce_verbs_srq_init(&host->srq, &host->ctx, &req);
	if (err)
		return err;
	host->has_srq = true;
	for (uint32_t i = 0; i < SRQ_DEPTH; i++)
		roce_fabric_host_repost(host, i + 1);
	return 0;
}
