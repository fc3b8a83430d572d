/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The PFC watchdog of a switch, by SONiC's rules: a class that holds frames, sends none, and is
 * paused for at least 99% of each interval, is stormed when that has gone on for the detection
 * time. From then on its frames are dropped, those that wait and those that come, or its pauses are
 * ignored; until it has not been paused for the restoration time.
 */
#include "fabric/watch.h"

#include "base/list.h"
#include "base/marks.h"

#include <errno.h>
#include <stdlib.h>

#define STORM_PERCENT 99u

static uint64_t sent_of(const struct roce_fabric_port *port, uint8_t tc)
{
	uint64_t sum = 0;

	for (uint32_t bits = port->profile->tc_prios[tc]; bits; bits &= bits - 1)
		sum += port->queues[__builtin_ctz(bits)].tx_packets;
	return sum;
}

/* Of the priorities of a class, the one that was paused longest. */
static uint64_t paused_of(const struct roce_fabric_port *port, uint8_t tc)
{
	uint64_t most = 0;

	for (uint32_t bits = port->profile->tc_prios[tc]; bits; bits &= bits - 1) {
		uint64_t ps = roce_fabric_paused_ps(port, (uint8_t)__builtin_ctz(bits));

		if (ps > most)
			most = ps;
	}
	return most;
}

static void observe(struct roce_fabric_port *port, uint8_t tc, bool is_stormed)
{
	struct roce_fabric *f = port->f;

	if (roce_fabric_is_observed(f) && f->observer->storm)
		f->observer->storm(f->observer_ctx, f->queue.now_ps, port->node->index, port->index,
				   tc, is_stormed);
}

static void begin_storm(struct roce_fabric_port *port, uint8_t tc)
{
	const struct roce_fabric_watchdog *cfg = &port->node->sw->cfg.watchdog;
	uint32_t prio = (uint32_t)__builtin_ctz(port->profile->tc_prios[tc]);

	port->prio_counters[prio][ROCE_FABRIC_TX_STORMS]++;
	port->watched_storms |= (uint8_t)(1u << tc);
	observe(port, tc, true);
	if (cfg->is_forwarding) {
		ROCE_MARK(watchdog_forwards);
		port->ignored |= port->profile->tc_prios[tc];
		roce_fabric_port_kick(port);
		return;
	}
	ROCE_MARK(watchdog_drops);
	port->stormed |= (uint8_t)(1u << tc);
	roce_fabric_queue_drop(port, tc, ROCE_FABRIC_DROP_STORM);
}

static void end_storm(struct roce_fabric_port *port, uint8_t tc)
{
	ROCE_MARK(watchdog_restores);
	port->watched_storms &= (uint8_t) ~(1u << tc);
	port->stormed &= (uint8_t) ~(1u << tc);
	port->ignored &= (uint8_t)~port->profile->tc_prios[tc];
	observe(port, tc, false);
}

static void look_at(struct roce_fabric_port *port, uint8_t tc, struct roce_fabric_watched *w)
{
	const struct roce_fabric_watchdog *cfg = &port->node->sw->cfg.watchdog;
	uint64_t sent = sent_of(port, tc);
	uint64_t paused_ps = paused_of(port, tc);
	uint64_t paused_now_ps = paused_ps - w->paused_ps;
	bool is_storm = port->watched_storms >> tc & 1;
	bool is_stuck = port->queues[tc].fifo.head && sent == w->sent &&
			paused_now_ps * 100 >= cfg->poll_ps * STORM_PERCENT;
	bool is_kept = is_storm ? paused_now_ps == 0 : is_stuck;

	w->for_ps = is_kept ? w->for_ps + cfg->poll_ps : 0;
	w->sent = sent;
	w->paused_ps = paused_ps;
	if (w->for_ps < (is_storm ? cfg->restore_ps : cfg->detect_ps) || !w->for_ps)
		return;
	w->for_ps = 0;
	if (is_storm)
		end_storm(port, tc);
	else
		begin_storm(port, tc);
}

static void on_poll(struct roce_event *ev)
{
	struct roce_fabric_watch *watch = roce_container_of(ev, struct roce_fabric_watch, ev);
	struct roce_fabric *f = watch->f;

	for (uint32_t p = 0; p < watch->node->port_count; p++) {
		struct roce_fabric_port *port = &watch->node->ports[p];
		uint8_t tcs = port->profile->tcs_of_prios[port->profile->cfg.pfc.prios];

		for (uint32_t bits = tcs; bits; bits &= bits - 1) {
			uint8_t tc = (uint8_t)__builtin_ctz(bits);

			look_at(port, tc, &watch->classes[p * ROCE_FABRIC_PRIOS + tc]);
		}
	}
	roce_event_schedule(&f->queue, ev, f->queue.now_ps + watch->node->sw->cfg.watchdog.poll_ps);
	if (!f->cfg.deadlock_check_ps)
		roce_fabric_look_for_idle(f);
}

static int start(struct roce_fabric *f, struct roce_fabric_node *node)
{
	struct roce_fabric_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	watch->classes =
		calloc((size_t)node->port_count * ROCE_FABRIC_PRIOS + 1, sizeof(*watch->classes));
	if (!watch->classes) {
		free(watch);
		return -ENOMEM;
	}
	watch->f = f;
	watch->node = node;
	watch->next = f->watches;
	f->watches = watch;
	roce_event_init(&watch->ev, on_poll);
	roce_event_schedule(&f->queue, &watch->ev, node->sw->cfg.watchdog.poll_ps);
	f->polling_count++;
	return 0;
}

int roce_fabric_watchdogs_start(struct roce_fabric *f)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < f->node_count; i++)
		if (f->nodes[i].sw && f->nodes[i].sw->cfg.watchdog.is_enabled)
			err = start(f, &f->nodes[i]);
	return err;
}

void roce_fabric_watchdogs_free(struct roce_fabric *f)
{
	while (f->watches) {
		struct roce_fabric_watch *watch = f->watches;

		f->watches = watch->next;
		free(watch->classes);
		free(watch);
	}
}
