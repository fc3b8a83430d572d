/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A receiver that cannot keep up. What comes waits in a buffer that drains at a rate of its own.
 * When what is left of it would just hold what may still come, the neighbour is paused for the
 * lossless priorities that are in it, and may go on at half of that; what finds no room is dropped.
 * So a slow host shows up as pauses in the network, as it does in practice.
 */
#include "fabric/host.h"

#include "base/list.h"
#include "base/marks.h"

#define XON_SHARE 2u /* of the threshold */

static uint64_t drain_ps(const struct roce_fabric_host *host, uint32_t bytes)
{
	uint64_t bps = host->drain_bps ? host->drain_bps : host->port->rate_bps;

	return (uint64_t)((unsigned __int128)bytes * 8000000000000u / bps);
}

/* Tells the neighbour about each lossless priority that the buffer holds. */
static void tell(struct roce_fabric_host *host, bool is_paused)
{
	struct roce_fabric_port *port = host->port;
	uint8_t prios = port->profile->cfg.pfc.prios;

	for (uint32_t bits = prios; bits; bits &= bits - 1) {
		uint8_t prio = (uint8_t)__builtin_ctz(bits);
		bool is_told = port->told >> prio & 1;

		if (is_paused ? !is_told && port->ingress[prio].bytes : is_told)
			roce_fabric_pause_tell(port, prio, is_paused);
	}
}

void roce_fabric_receiver_relent(struct roce_fabric_host *host)
{
	if (host->port->told && !host->storms && host->rx_bytes <= host->rx_xoff_bytes / XON_SHARE)
		tell(host, false);
}

static void give(struct roce_fabric_host *host, const struct roce_fabric_frame *frame)
{
	host->rx_bytes -= frame->bytes;
	host->port->ingress[frame->prio].bytes -= frame->bytes;
	roce_fabric_receiver_relent(host);
}

static void on_drained(struct roce_event *ev)
{
	struct roce_fabric_host *host = roce_container_of(ev, struct roce_fabric_host, drained);
	struct roce_fabric_frame *frame = roce_fabric_fifo_pop(&host->rx_queue);

	if (host->rx_queue.head)
		roce_event_schedule(&host->f->queue, ev, frame->next_at_ps);
	give(host, frame);
	roce_fabric_host_process(host, frame);
}

void roce_fabric_receiver_init(struct roce_fabric_host *host)
{
	const struct roce_fabric_port *port = host->port;
	uint64_t rest = roce_fabric_headroom_bytes(port) +
			(uint64_t)((unsigned __int128)host->cfg.rx_delay_ps * port->rate_bps /
				   8000000000000u);

	/* A buffer that is too small for that pauses early, and drops. */
	host->rx_xoff_bytes = host->cfg.rx_buffer_bytes > 2 * rest
				      ? host->cfg.rx_buffer_bytes - (uint32_t)rest
				      : host->cfg.rx_buffer_bytes / 2;
	host->drain_bps = host->cfg.drain_bps;
	roce_event_init(&host->drained, on_drained);
}

/* What is in the buffer leaves at the new rate; the first of it begins anew. */
void roce_fabric_receiver_set_drain(struct roce_fabric_host *host, uint64_t drain_bps)
{
	struct roce_event_queue *queue = &host->f->queue;
	struct roce_fabric_frame *frame = host->rx_queue.head;

	host->drain_bps = drain_bps;
	host->drained_ps = queue->now_ps;
	roce_event_cancel(queue, &host->drained);
	for (; frame; frame = frame->next) {
		host->drained_ps += drain_ps(host, frame->bytes);
		frame->at_ps = host->drained_ps;
		frame->next_at_ps =
			frame->next ? frame->at_ps + drain_ps(host, frame->next->bytes) : 0;
	}
	if (host->rx_queue.head)
		roce_event_schedule(queue, &host->drained, host->rx_queue.head->at_ps);
}

void roce_fabric_receiver_take(struct roce_fabric_host *host, struct roce_fabric_frame *frame)
{
	struct roce_fabric_ingress *in = &host->port->ingress[frame->prio];
	uint64_t now_ps = host->f->queue.now_ps;
	bool is_first = !host->rx_queue.head;

	if (host->rx_bytes + frame->bytes > host->cfg.rx_buffer_bytes) {
		ROCE_MARK(receiver_full);
		roce_fabric_drop(host->port, frame, ROCE_FABRIC_DROP_BUFFER);
		return;
	}
	host->rx_bytes += frame->bytes;
	in->bytes += frame->bytes;
	if (in->bytes > in->bytes_max)
		in->bytes_max = in->bytes;
	host->drained_ps = (host->drained_ps > now_ps ? host->drained_ps : now_ps) +
			   drain_ps(host, frame->bytes);
	frame->at_ps = host->drained_ps;
	roce_fabric_fifo_push(&host->rx_queue, frame);
	if (is_first)
		roce_event_schedule(&host->f->queue, &host->drained, frame->at_ps);
	if (host->rx_bytes >= host->rx_xoff_bytes)
		tell(host, true);
}
