/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way of packets between a host's transport and its port. A packet becomes a frame when the
 * line takes it; after each call into the transport its completions and its next deadline are
 * looked at. The device itself is made in host_device.c.
 */
#include "fabric/payload.h"

#include "wire/headers.h"

#define CQ_BATCH    16u
#define NUMBER_MASK (ROCE_FABRIC_FRAME_NUMBERS - 1)

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

void roce_fabric_host_on_deadline(struct roce_event *ev)
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
	} else if (info->operation == ROCE_OPERATION_ACK && host->ack_prio >= 0) {
		frame->prio = (uint8_t)cfg->ack_prio;
		frame->traffic_class = (uint8_t)(cfg->ack_dscp << 2);
	}
	frame->pcp = frame->flags & ROCE_FABRIC_FRAME_TAGGED ? frame->prio & ROCE_FABRIC_PRIO_MASK
							     : ROCE_FABRIC_UNTAGGED;
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
	const struct roce_fabric_flow_config *flow = &fq->flow->cfg;
	uint8_t flags = host->frame_flags;

	frame->payload_bytes = pkt->payload.length & (2 * ROCE_MTU_BYTES_MAX - 1);
	frame->bytes = (uint16_t)roce_fabric_frame_bytes(&f->cfg.framing, pkt->hdr.opcode,
							 pkt->payload.length, flags);
	frame->src = f->nodes[is_forward ? flow->src : flow->dst].host_number & NUMBER_MASK;
	frame->dst = f->nodes[is_forward ? flow->dst : flow->src].host_number & NUMBER_MASK;
	frame->hash = fq->hash[!is_forward];
	frame->udp_sport = fq->udp_sport;
	frame->flags = (uint8_t)(flags | (is_forward ? 0 : ROCE_FABRIC_FRAME_BACK));
	frame->ttl = pkt->path->hop_limit;
	frame->at_ps = 0;
	classify(host, frame, pkt);
	roce_fabric_frame_set_headers(&f->frames, frame, &pkt->hdr);
	if (__builtin_expect(fq->flow->via != ROCE_FABRIC_DIRECT, 0))
		roce_fabric_frame_set_via(&f->frames, frame, fq->flow->via);
	if (pkt->payload.length) {
		roce_fabric_flow_on_sent(fq, is_forward, pkt->hdr.psn, pkt->payload.length);
		if (__builtin_expect(flow->is_real, 0))
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
	return port->node->host->ack_turn == ROCE_FABRIC_ACK_ALWAYS ? port->busy : 0;
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
					   const struct roce_fabric_frame *frame, bool *out_is_src)
{
	const struct roce_transport_config *cfg = &host->dev.transport.cfg;
	const struct roce_qp *qp = cfg->qp_table[frame->dest_qpn & cfg->qp_table_mask];
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
	struct roce_fabric_flow_qp *fq = find_qp(host, frame, &is_src);

	if (!fq)
		return;
	if ((frame->flags & ROCE_FABRIC_FRAME_REAL) &&
	    is_end_of_write(fq->flow, (roce_opcode_t){frame->opcode}))
		roce_fabric_payload_written(fq, host->rx_message);
	roce_fabric_flow_on_payload(fq, is_src, (roce_psn_t){frame->psn}, frame->payload_bytes);
}

/* What is only about real payload, before the transport sees it. */
static void receive_real(struct roce_fabric_host *host, struct roce_fabric_frame *frame)
{
	bool is_src;
	struct roce_fabric_flow_qp *fq = find_qp(host, frame, &is_src);

	host->rx_message = frame->extra->block->message;
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
	struct roce_rx_pkt rx = {
		.payload = roce_fabric_frame_payload(frame),
		.payload_len = frame->payload_bytes,
		.src = &f->gids[frame->src],
		.dst = &f->gids[frame->dst],
		.traffic_class = frame->traffic_class,
		.hop_limit = frame->ttl,
	};

	roce_fabric_frame_get_headers(frame, &rx.hdr);
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
	if (host->ack_prio >= 0 || host->ack_turn != ROCE_FABRIC_ACK_IN_TURN)
		answer(host, (roce_qpn_t){frame->dest_qpn});
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

/* ---- what others ask ---- */

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
	return node->host->frame_flags;
}

uint8_t roce_fabric_host_mtu_code(const struct roce_fabric_node *node)
{
	return roce_mtu_enum_from_netdev(node->ports[0].profile->cfg.mtu_bytes);
}
