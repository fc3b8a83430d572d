/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port's egress: which frame goes next, and its flight to the neighbour.
 *
 * The line needs no event while it is idle: free_ps says since when. A frame that comes to an idle
 * line leaves at once, from within the event that brought it; one that has to wait makes the port's
 * tx event due at free_ps. Pause frames go before everything. Then strict classes, the highest
 * first; then the DWRR classes, each as long as its deficit is positive (it may end below zero by a
 * part of a frame, which the next round pays), so that nobody needs to know the next frame's
 * length.
 *
 * A host's queues are filled from its transport, one frame at the moment at which it leaves, so
 * that the time that the transport sees is the time of sending.
 */
#include "fabric/state.h"

#include "base/list.h"
#include "base/marks.h"

#define PREAMBLE_BYTES 8u
#define CUT_BYTES      64u /* a cut-through switch knows the way then */

static bool has_work(const struct roce_fabric_port *port)
{
	return port->busy | port->tell || (port->node->host && roce_fabric_host_waiting(port));
}

static void wake_at(struct roce_fabric_port *port, uint64_t at_ps)
{
	if (port->tx.at_ps <= at_ps)
		return;
	if (port->busy)
		port->tx.touch = port->queues[__builtin_ctz(port->busy)].fifo.head;
	roce_event_schedule(&port->f->queue, &port->tx, at_ps);
}

/* ---- flight ---- */

void roce_fabric_deliver(struct roce_fabric_port *to, struct roce_fabric_frame *frame)
{
	struct roce_fabric *f = to->f;

	if (roce_fabric_is_observed(f) && f->observer->frame_received) {
		struct roce_fabric_frame_view view = roce_fabric_view_frame(f, frame);

		f->observer->frame_received(f->observer_ctx, f->queue.now_ps, to->node->index,
					    to->index, &view);
	}
	if (to->node->sw)
		roce_fabric_switch_receive(to, frame);
	else
		roce_fabric_host_receive(to, frame);
}

/* Events of one time come in the order in which they were scheduled, so one of two senders in step
 * would always get the last place in a full queue. One of the ports whose frame is here by now is
 * drawn, and its turn goes to the one that was first. */
static struct roce_fabric_port *draw_port(struct roce_fabric_port *first)
{
	struct roce_fabric_node *node = first->node;
	struct roce_event_queue *queue = &first->f->queue;
	struct roce_fabric_port *drawn = first;
	uint64_t count = 1;

	for (uint32_t p = 0; p < node->port_count; p++) {
		struct roce_fabric_port *port = &node->ports[p];

		if (port->arrival.at_ps == queue->now_ps &&
		    roce_prng_below(&node->sw->tie, ++count) == 0)
			drawn = port;
	}
	if (drawn != first) {
		ROCE_MARK(line_tie_drawn);
		roce_event_cancel(queue, &drawn->arrival);
		roce_event_schedule(queue, &first->arrival, queue->now_ps);
	}
	return drawn;
}

static void on_arrival(struct roce_event *ev)
{
	struct roce_fabric_port *to = roce_container_of(ev, struct roce_fabric_port, arrival);
	struct roce_fabric_frame *frame;

	if (to->node->sw && __builtin_expect(to->node->sw->tie_until_ps > to->f->queue.now_ps, 0))
		to = draw_port(to);
	frame = roce_fabric_fifo_pop(&to->flying);

	if (to->flying.head) {
		to->arrival.touch = to->flying.head;
		roce_event_schedule(&to->f->queue, &to->arrival, frame->next_at_ps);
	}
	roce_fabric_deliver(to, frame);
}

/* The line is taken from now on. */
static void put_on_line(struct roce_fabric_port *port, struct roce_fabric_frame *frame)
{
	struct roce_fabric *f = port->f;
	struct roce_fabric_port *peer = port->peer;
	uint64_t now_ps = roce_fabric_line_begin_ps(port);
	uint64_t end_ps;

	port->queues[frame->prio].tx_packets++;
	port->queues[frame->prio].tx_bytes += frame->bytes;
	f->totals.packet_hops++;
	end_ps = roce_fabric_line_take(port, now_ps, frame->bytes + port->gap_bytes);
	frame->at_ps = port->is_cut && frame->bytes > CUT_BYTES
			       ? now_ps + port->cut_ps
			       : end_ps + (uint64_t)port->flight_ps;
	if (roce_fabric_is_observed(f) && f->observer->frame_sent) {
		struct roce_fabric_frame_view view = roce_fabric_view_frame(f, frame);

		f->observer->frame_sent(f->observer_ctx, now_ps, port->node->index, port->index,
					&view);
	}
	if (__builtin_expect(port->faults != NULL, 0)) {
		roce_fabric_faults_apply(port, frame);
		return;
	}
	if (!peer->flying.head) {
		peer->arrival.touch = frame;
		roce_event_schedule(&f->queue, &peer->arrival, frame->at_ps);
	}
	roce_fabric_fifo_push(&peer->flying, frame);
}

/* ---- choice ---- */

/* Of the classes whose first frame may leave by now; `out_ps` is when the next one may. */
static uint8_t drop_unready(const struct roce_fabric_port *port, uint8_t tcs, uint64_t *out_ps)
{
	uint64_t now_ps = port->f->queue.now_ps;
	uint8_t ready = tcs;

	*out_ps = ROCE_PS_NEVER;
	for (uint32_t bits = tcs; bits; bits &= bits - 1) {
		uint32_t tc = (uint32_t)__builtin_ctz(bits);
		const struct roce_fabric_frame *head = port->queues[tc].fifo.head;

		if (!head || head->at_ps <= now_ps)
			continue;
		ready &= (uint8_t) ~(1u << tc);
		if (head->at_ps < *out_ps)
			*out_ps = head->at_ps;
	}
	return ready;
}

static uint8_t choose_dwrr(struct roce_fabric_port *port, uint8_t tcs)
{
	const struct roce_fabric_profile *p = port->profile;
	uint32_t tc = port->last_tc;

	while (!(tcs >> tc & 1) || port->queues[tc].deficit_bytes <= 0) {
		tc = (tc + 1) % ROCE_FABRIC_PRIOS;
		if (tcs >> tc & 1)
			port->queues[tc].deficit_bytes += p->quantum_bytes[tc];
	}
	port->last_tc = (uint8_t)tc;
	return (uint8_t)tc;
}

/* `tcs` is not empty. */
static uint8_t choose(struct roce_fabric_port *port, uint8_t tcs)
{
	uint32_t strict = tcs & port->profile->strict_tcs;

	if (strict)
		return (uint8_t)(31 - __builtin_clz(strict));
	return choose_dwrr(port, tcs);
}

/* ---- sending ---- */

static struct roce_fabric_frame *take_first(struct roce_fabric_port *port, uint8_t tc)
{
	struct roce_fabric_queue *queue = &port->queues[tc];
	struct roce_fabric_frame *frame = roce_fabric_fifo_pop(&queue->fifo);

	queue->bytes -= frame->bytes;
	queue->deficit_bytes -= (int32_t)frame->bytes;
	if (!queue->fifo.head) {
		port->busy &= (uint8_t) ~(1u << tc);
		/* An idle class saves nothing up. */
		if (queue->deficit_bytes > 0)
			queue->deficit_bytes = 0;
	}
	return frame;
}

/* The classes that may send now; if there is none, the port is woken when that may change. */
static uint8_t sendable(struct roce_fabric_port *port)
{
	uint8_t tcs = port->busy;
	uint64_t ready_ps;

	if (port->node->host)
		tcs |= roce_fabric_host_waiting(port);
	if (__builtin_expect(port->paused && tcs, 0)) {
		uint8_t held = tcs & roce_fabric_paused_tcs(port);

		if (port->node->host)
			held &= (uint8_t)~roce_fabric_host_unpaused(port);
		if (held) {
			wake_at(port, roce_fabric_pause_end_ps(port, held));
			tcs &= (uint8_t)~held;
		}
	}
	if (!tcs || !port->has_unready)
		return tcs;
	tcs = drop_unready(port, tcs, &ready_ps);
	if (!tcs)
		wake_at(port, ready_ps);
	return tcs;
}

/* Sends one frame if any may go; the line is free. */
static void send_next(struct roce_fabric_port *port)
{
	struct roce_fabric_frame *frame;
	uint8_t tcs;

	__builtin_prefetch(&port->peer->arrival, 1);
	if (port->tell) {
		roce_fabric_pause_send(port);
		if (has_work(port))
			wake_at(port, port->free_ps);
		return;
	}
	while ((tcs = sendable(port)) != 0) {
		uint8_t tc = choose(port, tcs);

		/* A host's packet may turn out to be of another class: an ACK. Choose again. */
		if (!port->queues[tc].fifo.head &&
		    (!roce_fabric_host_pull(port, tc) || !port->queues[tc].fifo.head))
			continue;
		frame = take_first(port, tc);
		if (port->node->sw && !roce_fabric_switch_leave(port, &port->queues[tc], frame, tc))
			continue;
		put_on_line(port, frame);
		if (has_work(port))
			wake_at(port, port->free_ps);
		return;
	}
}

void roce_fabric_port_kick(struct roce_fabric_port *port)
{
	if (!port->is_up)
		return;
	if (port->free_ps > port->f->queue.now_ps)
		wake_at(port, port->free_ps);
	else
		send_next(port);
}

static void on_tx(struct roce_event *ev)
{
	roce_fabric_port_kick(roce_container_of(ev, struct roce_fabric_port, tx));
}

void roce_fabric_queue_push(struct roce_fabric_port *port, struct roce_fabric_frame *frame,
			    uint8_t tc)
{
	struct roce_fabric_queue *queue = &port->queues[tc];

	roce_fabric_fifo_push(&queue->fifo, frame);
	port->busy |= (uint8_t)(1u << tc);
	queue->bytes += frame->bytes;
	if (queue->bytes > queue->bytes_max)
		queue->bytes_max = queue->bytes;
}

void roce_fabric_queue_drop(struct roce_fabric_port *port, uint8_t tc, enum roce_fabric_drop why)
{
	while (port->queues[tc].fifo.head) {
		struct roce_fabric_frame *frame = take_first(port, tc);

		if (port->node->sw)
			roce_fabric_buffer_give(port->node->sw, &port->node->ports[frame->in_port],
						frame);
		roce_fabric_drop(port, frame, why);
	}
}

void roce_fabric_port_init(struct roce_fabric_port *port)
{
	const struct roce_fabric_node *node = port->node;
	const struct roce_fabric_node *to = port->peer->node;
	uint32_t gap = port->f->cfg.framing.preamble_gap_bytes;
	uint32_t preamble = gap < PREAMBLE_BYTES ? gap : PREAMBLE_BYTES;
	uint64_t flight_ps = port->delay_ps;

	port->byte_ps_q16 =
		(uint64_t)(((unsigned __int128)8000000000000u * 65536u + port->rate_bps / 2) /
			   port->rate_bps);
	port->gap_bytes = gap;
	port->is_whole_ns = port->f->cfg.framing.is_whole_ns;
	port->latency_ps = node->sw ? node->sw->cfg.latency_ps : 0;
	port->has_unready = node->sw && (port->latency_ps || node->sw->cfg.is_cut_through);
	if (node->host)
		flight_ps += roce_fabric_host_tx_delay_ps(node);
	if (to->host)
		flight_ps += roce_fabric_host_rx_delay_ps(to);
	port->tail_ps = roce_fabric_line_ps(port, gap - preamble);
	port->flight_ps = (int64_t)flight_ps - (int64_t)port->tail_ps;
	port->is_cut = to->sw && to->sw->cfg.is_cut_through;
	port->cut_ps = flight_ps + roce_fabric_line_ps(port, preamble + CUT_BYTES);
	roce_event_init(&port->tx, on_tx);
	roce_event_init(&port->arrival, on_arrival);
	roce_fabric_pause_init(port);
}
