/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hosts that go wrong for a while, at times that are given before or during the run: an adapter
 * that pauses its switch whatever it has received, and a receiver that takes packets from its
 * buffer more slowly. Storms may overlap, the last to end ends them; of drain rates the last one
 * that was set counts.
 */
#include "fabric/host.h"

#include "base/list.h"

#include <errno.h>
#include <stdlib.h>

struct roce_fabric_host_change {
	struct roce_event ev;
	struct roce_fabric_host_change *next;
	struct roce_fabric_host *host;
	uint64_t drain_bps;
	bool is_begin;
};

void roce_fabric_host_storm(struct roce_fabric_host *host)
{
	uint8_t prios = host->storms ? host->port->profile->cfg.pfc.prios : 0;

	for (uint32_t bits = prios; bits; bits &= bits - 1)
		roce_fabric_pause_tell(host->port, (uint8_t)__builtin_ctz(bits), true);
}

static void on_storm(struct roce_event *ev)
{
	const struct roce_fabric_host_change *change =
		roce_container_of(ev, struct roce_fabric_host_change, ev);
	struct roce_fabric_host *host = change->host;
	const struct roce_fabric *f = host->f;

	if (roce_fabric_is_observed(f) && f->observer->host_stormed)
		f->observer->host_stormed(f->observer_ctx, f->queue.now_ps, host->port->node->index,
					  change->is_begin);
	if (change->is_begin) {
		host->storms++;
		/* Of a link that is down it is told when that is up. */
		if (host->port->is_up)
			roce_fabric_host_storm(host);
	} else if (host->storms) {
		host->storms--;
		roce_fabric_receiver_relent(host);
	}
}

static void on_drain(struct roce_event *ev)
{
	const struct roce_fabric_host_change *change =
		roce_container_of(ev, struct roce_fabric_host_change, ev);
	const struct roce_fabric *f = change->host->f;

	if (roce_fabric_is_observed(f) && f->observer->host_drained)
		f->observer->host_drained(f->observer_ctx, f->queue.now_ps,
					  change->host->port->node->index, change->drain_bps);
	roce_fabric_receiver_set_drain(change->host, change->drain_bps);
}

static int schedule(struct roce_fabric *f, uint32_t node, uint64_t at_ps,
		    const struct roce_fabric_host_change *as, void (*fire)(struct roce_event *ev))
{
	struct roce_fabric_host_change *change;

	if (!f->is_prepared)
		return roce_fabric_refuse(f, ROCE_FABRIC_FAULT_UNPREPARED, node, ROCE_FABRIC_NONE,
					  ROCE_FABRIC_NONE);
	if (node >= f->node_count || !f->nodes[node].host)
		return roce_fabric_refuse(f, ROCE_FABRIC_FAULT_NO_SUCH_NODE, node, ROCE_FABRIC_NONE,
					  ROCE_FABRIC_NONE);
	if (at_ps < f->queue.now_ps)
		return roce_fabric_refuse(f, ROCE_FABRIC_FAULT_PAST, node, ROCE_FABRIC_NONE,
					  ROCE_FABRIC_NONE);
	change = malloc(sizeof(*change));
	if (!change)
		return -ENOMEM;
	*change = *as;
	change->host = f->nodes[node].host;
	change->next = f->host_changes;
	f->host_changes = change;
	roce_event_init(&change->ev, fire);
	roce_event_schedule(&f->queue, &change->ev, at_ps);
	return 0;
}

int roce_fabric_schedule_storm(struct roce_fabric *f, uint32_t node, bool is_begin, uint64_t at_ps)
{
	return schedule(f, node, at_ps, &(struct roce_fabric_host_change){.is_begin = is_begin},
			on_storm);
}

int roce_fabric_schedule_drain(struct roce_fabric *f, uint32_t node, uint64_t drain_bps,
			       uint64_t at_ps)
{
	return schedule(f, node, at_ps, &(struct roce_fabric_host_change){.drain_bps = drain_bps},
			on_drain);
}

void roce_fabric_host_changes_free(struct roce_fabric *f)
{
	while (f->host_changes) {
		struct roce_fabric_host_change *change = f->host_changes;

		f->host_changes = change->next;
		free(change);
	}
}
