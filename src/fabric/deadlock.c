/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deadlock: nothing was delivered since the last look, and from some paused egress one can follow
 * "waits for" back to it. A paused egress waits for the neighbour's ingress to drain, and that
 * waits for each egress queue where its frames stand; if a priority of that one is paused too, the
 * way goes on. The circle is told by name.
 *
 * The same looks end runs that do not move for another reason: nothing is left to happen, or
 * nothing was delivered for a long time though flows run (a host that pauses for ever, and no
 * watchdog).
 */
#include "fabric/watch.h"

#include "base/list.h"
#include "base/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STALL_LOOKS 1000u

enum { MARK_NEW, MARK_ON_PATH, MARK_DONE };

static uint8_t *mark_of(struct roce_fabric_deadlock *d, const struct roce_fabric_port *port,
			uint32_t prio)
{
	return &d->marks[(size_t)(port - d->f->ports) * ROCE_FABRIC_PRIOS + prio];
}

static bool is_paused(const struct roce_fabric_port *port, uint32_t prio)
{
	return (port->paused >> prio & 1) && port->paused_until_ps[prio] > port->f->queue.now_ps;
}

/* Does a frame that came in by `in_port` with `prio` stand in this queue? */
static bool holds_frame_of(const struct roce_fabric_port *out, uint8_t tc, uint32_t in_port,
			   uint32_t prio)
{
	const struct roce_fabric_frame *frame;

	for (frame = out->queues[tc].fifo.head; frame; frame = frame->next)
		if (frame->in_port == in_port && frame->in_prio == prio)
			return true;
	return false;
}

static uint32_t visit(struct roce_fabric_deadlock *d, struct roce_fabric_port *port, uint32_t prio,
		      uint32_t depth);

/* A queue stands still when any of the priorities that share it is paused. */
static uint32_t visit_queue(struct roce_fabric_deadlock *d, struct roce_fabric_port *out,
			    uint8_t tc, uint32_t depth)
{
	uint32_t length = 0;

	for (uint32_t bits = out->profile->tc_prios[tc]; bits && !length; bits &= bits - 1) {
		uint32_t prio = (uint32_t)__builtin_ctz(bits);

		if (is_paused(out, prio))
			length = visit(d, out, prio, depth);
	}
	return length;
}

/* The next steps from a paused egress; the length of a circle at the end of the path, or 0. */
static uint32_t follow(struct roce_fabric_deadlock *d, const struct roce_fabric_port *port,
		       uint32_t prio, uint32_t depth)
{
	struct roce_fabric_node *next = port->peer->node;
	uint32_t length = 0;

	if (!next->sw || !(port->peer->told >> prio & 1))
		return 0;
	for (uint32_t p = 0; p < next->port_count && !length; p++) {
		struct roce_fabric_port *out = &next->ports[p];
		const struct roce_fabric_qos *qos = &out->profile->cfg.qos;
		uint8_t tc = qos->prio_to_tc[qos->remark[prio]];

		if ((out->paused & out->profile->tc_prios[tc]) &&
		    holds_frame_of(out, tc, port->peer->index, prio))
			length = visit_queue(d, out, tc, depth);
	}
	return length;
}

static uint32_t visit(struct roce_fabric_deadlock *d, struct roce_fabric_port *port, uint32_t prio,
		      uint32_t depth)
{
	uint8_t *mark = mark_of(d, port, prio);
	uint32_t length;

	if (*mark == MARK_ON_PATH) {
		uint32_t first = depth;

		while (d->path[first - 1].node != port->node->index ||
		       d->path[first - 1].port != port->index || d->path[first - 1].prio != prio)
			first--;
		d->path += first - 1;
		return depth - first + 1;
	}
	if (*mark == MARK_DONE || depth == d->path_room)
		return 0;
	*mark = MARK_ON_PATH;
	d->path[depth] = (struct roce_fabric_cycle){
		.node = port->node->index, .port = port->index, .prio = prio};
	length = follow(d, port, prio, depth + 1);
	*mark = MARK_DONE;
	return length;
}

static uint32_t count_paused(const struct roce_fabric *f)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < 2 * f->link_count; i++)
		count += (uint32_t)__builtin_popcount(f->ports[i].paused);
	return count;
}

/* For who asks after the run; without memory it is not known, and told all the same. */
static void keep(struct roce_fabric_deadlock *d, uint32_t length)
{
	free(d->found);
	d->found = calloc(length, sizeof(*d->found));
	d->found_count = d->found ? length : 0;
	if (d->found)
		memcpy(d->found, d->path, length * sizeof(*d->found));
}

const struct roce_fabric_cycle *roce_fabric_deadlock_circle(const struct roce_fabric *f,
							    uint32_t *out_count)
{
	*out_count = f->deadlock ? f->deadlock->found_count : 0;
	return f->deadlock ? f->deadlock->found : NULL;
}

static void tell(struct roce_fabric_deadlock *d, uint32_t length)
{
	struct roce_fabric *f = d->f;

	ROCE_MARK(deadlock_found);
	d->is_told = true;
	keep(d, length);
	if (roce_fabric_is_observed(f) && f->observer->deadlock)
		f->observer->deadlock(f->observer_ctx, f->queue.now_ps, d->path, length);
	if (!f->cfg.is_deadlock_final)
		return;
	f->end = ROCE_FABRIC_END_DEADLOCK;
	f->is_stopped = true;
}

static void search(struct roce_fabric_deadlock *d)
{
	struct roce_fabric *f = d->f;
	uint32_t ports = 2 * f->link_count;
	struct roce_fabric_cycle *path;
	uint32_t length = 0;

	d->path_room = count_paused(f) + 1;
	d->marks = calloc((size_t)ports * ROCE_FABRIC_PRIOS + 1, sizeof(*d->marks));
	path = calloc(d->path_room, sizeof(*path));
	for (uint32_t i = 0; d->marks && path && !length && i < ports; i++) {
		struct roce_fabric_port *port = &f->ports[i];

		for (uint32_t prio = 0; !length && prio < ROCE_FABRIC_PRIOS; prio++) {
			d->path = path;
			if (port->node->sw && is_paused(port, prio))
				length = visit(d, port, prio, 0);
		}
	}
	if (length)
		tell(d, length);
	free(path);
	free(d->marks);
	d->path = NULL;
	d->marks = NULL;
}

static void on_look(struct roce_event *ev)
{
	struct roce_fabric_deadlock *d = roce_container_of(ev, struct roce_fabric_deadlock, ev);
	struct roce_fabric *f = d->f;
	uint64_t delivered = f->totals.bytes_delivered + f->totals.answer_bytes;
	bool is_still = delivered == d->delivered;

	d->still_count = is_still && f->running_count ? d->still_count + 1 : 0;
	d->is_told = d->is_told && is_still;
	d->delivered = delivered;
	roce_event_schedule(&f->queue, ev, f->queue.now_ps + f->cfg.deadlock_check_ps);
	if (is_still && f->running_count && !d->is_told)
		search(d);
	if (!f->is_stopped)
		roce_fabric_look_for_idle(f);
	if (!f->is_stopped && d->still_count >= STALL_LOOKS) {
		ROCE_MARK(deadlock_stalled_without_one);
		d->still_count = 0;
		f->end = ROCE_FABRIC_END_STALLED;
		f->is_stopped = true;
	}
}

int roce_fabric_deadlock_start(struct roce_fabric *f)
{
	struct roce_fabric_deadlock *d;

	if (!f->cfg.deadlock_check_ps)
		return 0;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->f = f;
	f->deadlock = d;
	roce_event_init(&d->ev, on_look);
	roce_event_schedule(&f->queue, &d->ev, f->cfg.deadlock_check_ps);
	f->polling_count++;
	return 0;
}

void roce_fabric_deadlock_free(struct roce_fabric *f)
{
	if (f->deadlock)
		free(f->deadlock->found);
	free(f->deadlock);
	f->deadlock = NULL;
}
