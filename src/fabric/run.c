/* SPDX-License-Identifier: BSD-2-Clause */
/* Running, and looking at what came of it. */
#include "fabric/host.h"
#include "fabric/state.h"

#define PS_PER_US UINT64_C(1000000)

enum roce_fabric_end roce_fabric_run(struct roce_fabric *f, uint64_t until_ps)
{
	if (!f->is_prepared)
		return ROCE_FABRIC_END_STOPPED;
	f->is_stopped = false;
	f->end = ROCE_FABRIC_END_STOPPED;
	roce_event_queue_run_until(&f->queue, until_ps, &f->is_stopped);
	if (f->is_stopped)
		return (enum roce_fabric_end)f->end;
	if (roce_event_queue_next_ps(&f->queue) == ROCE_PS_NEVER && f->open_count)
		return ROCE_FABRIC_END_IDLE;
	if (until_ps != ROCE_PS_NEVER && f->queue.now_ps < until_ps)
		f->queue.now_ps = until_ps;
	return f->open_count || until_ps != ROCE_PS_NEVER ? ROCE_FABRIC_END_TIME
							  : ROCE_FABRIC_END_DONE;
}

void roce_fabric_stop(struct roce_fabric *f)
{
	f->is_stopped = true;
}

uint64_t roce_fabric_now_ps(const struct roce_fabric *f)
{
	return f->queue.now_ps;
}

void roce_fabric_totals(const struct roce_fabric *f, struct roce_fabric_totals *out)
{
	*out = f->totals;
	out->events = f->queue.fired_count;
}

const struct roce_fabric_wrong *roce_fabric_wrongs(const struct roce_fabric *f, uint32_t *out_count)
{
	*out_count = f->wrong_count;
	return f->wrongs;
}

uint32_t roce_fabric_node_count(const struct roce_fabric *f)
{
	return f->node_count;
}

bool roce_fabric_is_host(const struct roce_fabric *f, uint32_t node)
{
	return f->nodes[node].host != NULL;
}

uint32_t roce_fabric_port_count(const struct roce_fabric *f, uint32_t node)
{
	return f->nodes[node].port_count;
}

static void view_prio(const struct roce_fabric_port *port, uint8_t prio,
		      struct roce_fabric_port_view *out)
{
	const struct roce_fabric_ingress *in = &port->ingress[prio];

	out->headroom_bytes[prio] = in->headroom_limit;
	out->ingress_bytes[prio] = in->bytes + in->headroom_bytes;
	out->ingress_bytes_max[prio] = in->bytes_max;
	out->headroom_bytes_max[prio] = in->headroom_max;
	out->queue_bytes[prio] = port->queues[prio].bytes; /* by class, as many */
	out->queue_bytes_max[prio] = port->queues[prio].bytes_max;
	for (uint32_t i = 0; i < ROCE_FABRIC_PRIO_COUNTER_COUNT; i++)
		out->prio_counters[prio][i] = port->prio_counters[prio][i];
	out->prio_counters[prio][ROCE_FABRIC_RX_PACKETS] = in->rx_packets;
	out->prio_counters[prio][ROCE_FABRIC_RX_BYTES] = in->rx_bytes;
	out->prio_counters[prio][ROCE_FABRIC_TX_PACKETS] = port->queues[prio].tx_packets;
	out->prio_counters[prio][ROCE_FABRIC_TX_BYTES] = port->queues[prio].tx_bytes;
	out->prio_counters[prio][ROCE_FABRIC_RX_PAUSE_DURATION] =
		roce_fabric_paused_ps(port, prio) / PS_PER_US;
	if ((port->paused >> prio & 1) && port->paused_until_ps[prio] > port->f->queue.now_ps)
		out->paused |= (uint8_t)(1u << prio);
}

int roce_fabric_port_view(struct roce_fabric *f, uint32_t node, uint32_t index,
			  struct roce_fabric_port_view *out)
{
	const struct roce_fabric_port *port;

	if (!f->is_prepared || node >= f->node_count || index >= f->nodes[node].port_count)
		return roce_fabric_refuse(f,
					  f->is_prepared ? ROCE_FABRIC_FAULT_NO_SUCH_PORT
							 : ROCE_FABRIC_FAULT_UNPREPARED,
					  node, index, ROCE_FABRIC_NONE);
	port = &f->nodes[node].ports[index];
	*out = (struct roce_fabric_port_view){
		.peer_node = port->peer->node->index,
		.peer_port = port->peer->index,
		.rate_bps = port->rate_bps,
		.delay_ps = port->delay_ps,
		.is_up = port->is_up,
		.cfg = &port->profile->cfg,
	};
	for (uint8_t prio = 0; prio < ROCE_FABRIC_PRIOS; prio++)
		view_prio(port, prio, out);
	for (uint32_t i = 0; i < ROCE_FABRIC_PORT_COUNTER_COUNT; i++)
		out->port_counters[i] = port->port_counters[i];
	return 0;
}

void roce_fabric_shared_bytes(const struct roce_fabric *f, uint32_t node, uint64_t *out_now,
			      uint64_t *out_max)
{
	const struct roce_fabric_switch *sw = f->nodes[node].sw;

	*out_now = sw ? sw->shared_used : 0;
	*out_max = sw ? sw->shared_max : 0;
}

const struct roce_counters *roce_fabric_host_counters(const struct roce_fabric *f, uint32_t node)
{
	return f->nodes[node].host ? &f->nodes[node].host->counters : NULL;
}

const struct roce_gid *roce_fabric_host_gid(const struct roce_fabric *f, uint32_t node)
{
	return f->nodes[node].host ? &f->nodes[node].host->gid : NULL;
}
