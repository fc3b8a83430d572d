/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The environment of a verbs device in the fabric, and the way of packets between its transport and
 * its port. The device is the shipped one; here is only what an engine does elsewhere: the clock is
 * the event queue's, numbers are drawn in a row (so that tables are dense), a packet becomes a
 * frame when the line takes it, and after each call into the transport its completions and its next
 * deadline are looked at.
 */
#include "fabric/payload.h"

#include "transport/timing.h"
#include "verbs/pd.h"
#include "wire/headers.h"
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
#define CQ_BATCH      16u
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

/* ---- completions and deadlines ---- */

static void drain(struct roce_fabric_host *host)
{
	struct roce_cqe batch[CQ_BATCH];
	uint32_t n;

	while ((n = roce_cq_poll(&host->cq.cq, batch, CQ_BATCH)) > 0) {
		for (uint32_t i = 0; i < n; i++) {
			const struct roce_qp *qp = batch[i].qp;
			const struct roce_verbs_qp *vqp = qp->cfg.owner;
			struct roce_fabric_flow_qp *fq = vqp->events.owner;

			roce_fabric_flow_on_cqe(fq, &batch[i], vqp == &fq->src, host->rx_message);
		}
	}
	roce_cq_rewind(&host->cq.cq);
}

/* After a call into the transport. */
static void look_after(struct roce_fabric_host *host)
{
	uint64_t at_ps;

	if (!roce_cq_is_empty(&host->cq.cq))
		drain(host);
	at_ps = roce_ps_from_ns(roce_deadline(&host->dev.transport));
	/* A deadline that moved away is not followed: the event finds out. */
	if (at_ps < host->deadline.at_ps)
		roce_event_schedule(&host->f->queue, &host->deadline, at_ps);
}

void roce_fabric_host_follow(struct roce_fabric_port *port)
{
	look_after(port->node->host);
}

static void on_deadline(struct roce_event *ev)
{
	struct roce_fabric_host *host = roce_container_of(ev, struct roce_fabric_host, deadline);
	roce_ns_t now = roce_fabric_host_now(host);

	if (roce_deadline(&host->dev.transport) <= now)
		roce_on_deadline(&host->dev.transport, now);
	look_after(host);
	roce_fabric_port_kick(host->port);
}

/* ---- out ---- */

/* Priority and DSCP are the transport's, but ACKs may have their own. */
static void classify(const struct roce_fabric_host *host, struct roce_fabric_frame *frame,
		     const struct roce_tx_pkt *pkt)
{
	const struct roce_opcode_info *info = roce_opcode_info(pkt->hdr.opcode);
	const struct roce_fabric_host_config *cfg = &host->cfg;

	frame->prio = pkt->tx_class;
	frame->traffic_class = pkt->traffic_class;
	if (info->operation == ROCE_OPERATION_CNP) {
		frame->flags |= ROCE_FABRIC_FRAME_CNP;
		host->f->totals.cnps++;
	} else if (info->operation == ROCE_OPERATION_ACK && cfg->ack_prio >= 0) {
		frame->prio = (uint8_t)cfg->ack_prio;
		frame->traffic_class = (uint8_t)(cfg->ack_dscp << 2);
	}
	frame->pcp = cfg->is_tagged ? frame->prio : ROCE_FABRIC_UNTAGGED;
}

static void queue(struct roce_fabric_port *port, struct roce_fabric_frame *frame)
{
	roce_fabric_queue_push(port, frame, port->profile->cfg.qos.prio_to_tc[frame->prio]);
}

static void on_held(struct roce_event *ev)
{
	struct roce_fabric_late *late = roce_container_of(ev, struct roce_fabric_late, ev);
	struct roce_fabric_port *port = late->to;

	queue(port, late->frame);
	roce_fabric_late_put(port->f, late);
	roce_fabric_port_kick(port);
}

/* An adapter whose firmware takes its time to notify. */
static void hold(struct roce_fabric_host *host, struct roce_fabric_frame *frame)
{
	struct roce_fabric_late *late = roce_fabric_late_get(host->f, on_held);

	late->to = host->port;
	late->frame = frame;
	roce_event_schedule(&host->f->queue, &late->ev,
			    host->f->queue.now_ps + host->cfg.cnp_delay_ps);
}

static void make_frame(struct roce_fabric_host *host, const struct roce_tx_pkt *pkt)
{
	struct roce_fabric *f = host->f;
	struct roce_fabric_frame *frame = roce_fabric_frame_get(&f->frames);
	const struct roce_verbs_qp *vqp = pkt->qp->cfg.owner;
	struct roce_fabric_flow_qp *fq = vqp->events.owner;
	bool is_forward = vqp == &fq->src;
	const struct roce_fabric_host *to = roce_fabric_flow_host(fq->flow, !is_forward);
	uint8_t flags = roce_fabric_host_flags(host->port->node);

	frame->payload_bytes = pkt->payload.length;
	frame->bytes = roce_fabric_frame_bytes(&f->cfg.framing, pkt->hdr.opcode,
					       pkt->payload.length, flags);
	frame->src = host->port->node->host_number;
	frame->dst = to->port->node->host_number;
	frame->hash = fq->hash[!is_forward];
	frame->via = fq->flow->via;
	frame->udp_sport = fq->udp_sport;
	frame->flags = (uint8_t)(flags | (is_forward ? 0 : ROCE_FABRIC_FRAME_BACK));
	frame->ttl = pkt->path->hop_limit;
	frame->at_ps = 0;
	classify(host, frame, pkt);
	frame->hdr = pkt->hdr;
	if (pkt->payload.length) {
		roce_fabric_flow_on_sent(fq, is_forward, &pkt->hdr, pkt->payload.length);
		if (__builtin_expect(fq->flow->cfg.is_real, 0))
			roce_fabric_payload_load(host, frame, &pkt->payload);
	}
	if (frame->flags & ROCE_FABRIC_FRAME_CNP && host->cfg.cnp_delay_ps)
		hold(host, frame);
	else
		queue(host->port, frame);
}

uint8_t roce_fabric_host_waiting(const struct roce_fabric_port *port)
{
	uint32_t classes = roce_tx_waiting(&port->node->host->dev.transport);

	return port->profile->tcs_of_prios[classes];
}

/* Nothing but ACKs and CNPs waits in a queue of a host. */
uint8_t roce_fabric_host_unpaused(const struct roce_fabric_port *port)
{
	return port->node->host->cfg.ack_turn == ROCE_FABRIC_ACK_ALWAYS ? port->busy : 0;
}

bool roce_fabric_host_pull(struct roce_fabric_port *port, uint8_t tc)
{
	struct roce_fabric_host *host = port->node->host;
	struct roce_tx_pkt pkt;
	size_t n = roce_tx_classes(&host->dev.transport, port->profile->tc_prios[tc], &pkt, 1,
				   roce_fabric_host_now(host));

	if (n)
		make_frame(host, &pkt);
	look_after(host);
	return n > 0;
}

/* ---- in ---- */

static struct roce_fabric_flow_qp *find_qp(const struct roce_fabric_host *host,
					   const struct roce_headers *hdr, bool *out_is_src)
{
	const struct roce_transport_config *cfg = &host->dev.transport.cfg;
	const struct roce_qp *qp = cfg->qp_table[hdr->dest_qpn.v & cfg->qp_table_mask];
	const struct roce_verbs_qp *vqp;
	struct roce_fabric_flow_qp *fq;

	if (!qp)
		return NULL;
	vqp = qp->cfg.owner;
	fq = vqp->events.owner;
	*out_is_src = vqp == &fq->src;
	return fq;
}

/* The end of an unreliable WRITE is told to nobody, but its bytes are there. */
static bool is_end_of_write(const struct roce_fabric_flow *flow, roce_opcode_t opcode)
{
	const struct roce_opcode_info *info = roce_opcode_info(opcode);

	return flow->cfg.transport == ROCE_FABRIC_UC && info->operation == ROCE_OPERATION_WRITE &&
	       (info->position == ROCE_POSITION_LAST || info->position == ROCE_POSITION_ONLY);
}

/* Whose bytes these were: the flow's, at its destination, or at its source if it reads. */
static void account(struct roce_fabric_host *host, const struct roce_fabric_frame *frame)
{
	bool is_src;
	struct roce_fabric_flow_qp *fq = find_qp(host, &frame->hdr, &is_src);

	if (!fq)
		return;
	if ((frame->flags & ROCE_FABRIC_FRAME_REAL) && is_end_of_write(fq->flow, frame->hdr.opcode))
		roce_fabric_payload_written(fq, host->rx_message);
	roce_fabric_flow_on_payload(fq, is_src, frame->payload_bytes);
}

/* What is only about real payload, before the transport sees it. */
static void receive_real(struct roce_fabric_host *host, struct roce_fabric_frame *frame)
{
	bool is_src;
	struct roce_fabric_flow_qp *fq = find_qp(host, &frame->hdr, &is_src);

	host->rx_message = roce_fabric_frame_block(&host->f->frames, frame)->message;
	if (fq && host->nic)
		roce_fabric_nic_deliver(host, fq, is_src, frame);
}

/* ACKs that do not wait for their queue pair's turn. Data are made when they leave, so what stands
 * in the queue is ahead of them. */
static void answer(struct roce_fabric_host *host, roce_qpn_t qpn)
{
	struct roce_tx_pkt pkt;

	if (roce_tx_answer(&host->dev.transport, qpn, &pkt, roce_fabric_host_now(host)))
		make_frame(host, &pkt);
}

static enum roce_verdict receive(struct roce_fabric_host *host,
				 const struct roce_fabric_frame *frame)
{
	const struct roce_fabric *f = host->f;
	const struct roce_rx_pkt rx = {
		.hdr = frame->hdr,
		.payload = roce_fabric_frame_payload(&f->frames, frame),
		.payload_len = frame->payload_bytes,
		.src = &f->nodes[f->host_nodes[frame->src]].host->gid,
		.dst = &host->gid,
		.traffic_class = frame->traffic_class,
		.hop_limit = frame->ttl,
	};

	return roce_rx(&host->dev.transport, &rx, roce_fabric_host_now(host));
}

void roce_fabric_host_process(struct roce_fabric_host *host, struct roce_fabric_frame *frame)
{
	enum roce_verdict verdict;

	if (__builtin_expect(frame->flags & ROCE_FABRIC_FRAME_REAL, 0))
		receive_real(host, frame);
	verdict = receive(host, frame);
	if (verdict == ROCE_RX_ACCEPTED && frame->payload_bytes)
		account(host, frame);
	if (host->cfg.ack_prio >= 0 || host->cfg.ack_turn != ROCE_FABRIC_ACK_IN_TURN)
		answer(host, frame->hdr.dest_qpn);
	roce_fabric_frame_put(&host->f->frames, frame);
	look_after(host);
	roce_fabric_port_kick(host->port);
}

void roce_fabric_host_receive(struct roce_fabric_port *in, struct roce_fabric_frame *frame)
{
	struct roce_fabric_host *host = in->node->host;

	frame->prio = roce_fabric_classify(&in->profile->cfg.qos, frame->traffic_class, frame->pcp);
	in->ingress[frame->prio].rx_packets++;
	in->ingress[frame->prio].rx_bytes += frame->bytes;
	if (frame->bytes > in->profile->cfg.mtu_bytes + ROCE_FABRIC_IP_EXTRA_BYTES +
				   roce_fabric_tag_bytes(frame->flags)) {
		roce_fabric_drop(in, frame, ROCE_FABRIC_DROP_MTU);
		return;
	}
	if (frame->dst != in->node->host_number) {
		roce_fabric_drop(in, frame, ROCE_FABRIC_DROP_STRAY);
		return;
	}
	if (__builtin_expect(host->drain_bps || host->rx_queue.head, 0))
		roce_fabric_receiver_take(host, frame);
	else
		roce_fabric_host_process(host, frame);
}

/* ---- life ---- */

uint64_t roce_fabric_host_tx_delay_ps(const struct roce_fabric_node *node)
{
	return node->host->cfg.tx_delay_ps;
}

uint64_t roce_fabric_host_rx_delay_ps(const struct roce_fabric_node *node)
{
	return node->host->cfg.rx_delay_ps;
}

uint8_t roce_fabric_host_flags(const struct roce_fabric_node *node)
{
	const struct roce_fabric_host *host = node->host;

	return (uint8_t)((roce_gid_is_v4(&host->gid) ? 0 : ROCE_FABRIC_FRAME_V6) |
			 (host->cfg.is_tagged ? ROCE_FABRIC_FRAME_TAGGED : 0));
}

uint8_t roce_fabric_host_mtu_code(const struct roce_fabric_node *node)
{
	return roce_mtu_enum_from_netdev(node->ports[0].profile->cfg.mtu_bytes);
}

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
	roce_event_init(&host->deadline, on_deadline);
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
