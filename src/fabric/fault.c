/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links that lose, repeat, delay and damage frames, and links that go down and come up. Each kind
 * of fault of each direction draws from a stream of its own, so that switching one on does not move
 * the others. What a link that goes down carries, and what waits for it, is lost; both ends forget
 * their pauses.
 */
#include "fabric/ecmp.h"
#include "fabric/host.h"

#include "base/list.h"

#include <errno.h>
#include <stdlib.h>

#define BITS_PER_BYTE 8u
#define PER_1E15      UINT64_C(1000000000000000)

struct roce_fabric_fault_state {
	struct roce_fabric_faults cfg;
	struct roce_prng loss;
	struct roce_prng duplicate;
	struct roce_prng reorder;
	struct roce_prng bit_errors;
	struct roce_prng position; /* of the bit */
};

int roce_fabric_faults_init(struct roce_fabric_port *port, const struct roce_fabric_faults *faults,
			    struct roce_prng *root)
{
	struct roce_fabric_fault_state *state;

	if (!faults->loss_ppm && !faults->duplicate_ppm && !faults->reorder_ppm &&
	    !faults->bit_errors_per_1e15)
		return 0;
	state = calloc(1, sizeof(*state));
	if (!state)
		return -ENOMEM;
	state->cfg = *faults;
	state->loss.state = roce_prng_next(root);
	state->duplicate.state = roce_prng_next(root);
	state->reorder.state = roce_prng_next(root);
	state->bit_errors.state = roce_prng_next(root);
	state->position.state = roce_fabric_mix(state->bit_errors.state);
	free(port->faults);
	port->faults = state;
	return 0;
}

static void fly(struct roce_fabric_port *to, struct roce_fabric_frame *frame)
{
	if (!to->flying.head)
		roce_event_schedule(&to->f->queue, &to->arrival, frame->at_ps);
	roce_fabric_fifo_push(&to->flying, frame);
}

static void on_late(struct roce_event *ev)
{
	struct roce_fabric_late *late = roce_container_of(ev, struct roce_fabric_late, ev);
	struct roce_fabric_port *to = late->to;
	struct roce_fabric_frame *frame = late->frame;

	roce_fabric_late_put(to->f, late);
	if (to->is_up)
		roce_fabric_deliver(to, frame);
	else
		roce_fabric_drop(to, frame, ROCE_FABRIC_DROP_LINK_DOWN);
}

static void fly_late(struct roce_fabric_port *to, struct roce_fabric_frame *frame, uint64_t at_ps)
{
	struct roce_fabric_late *late = roce_fabric_late_get(to->f, on_late);

	late->to = to;
	late->frame = frame;
	roce_event_schedule(&to->f->queue, &late->ev, at_ps);
}

static void repeat(struct roce_fabric_port *to, const struct roce_fabric_frame *frame)
{
	fly_late(to, roce_fabric_frame_copy(&to->f->frames, frame), frame->at_ps);
}

static bool is_damaged(struct roce_fabric_fault_state *s, const struct roce_fabric_frame *frame)
{
	uint64_t bits = (uint64_t)frame->bytes * BITS_PER_BYTE;

	return s->cfg.bit_errors_per_1e15 &&
	       roce_prng_below(&s->bit_errors, PER_1E15) < bits * s->cfg.bit_errors_per_1e15;
}

void roce_fabric_faults_apply(struct roce_fabric_port *from, struct roce_fabric_frame *frame)
{
	struct roce_fabric_fault_state *s = from->faults;
	struct roce_fabric_port *to = from->peer;

	if (s->cfg.loss_ppm && roce_prng_hit(&s->loss, s->cfg.loss_ppm)) {
		roce_fabric_drop(to, frame, ROCE_FABRIC_DROP_LINK_LOSS);
		return;
	}
	if (is_damaged(s, frame)) {
		frame->flags |= ROCE_FABRIC_FRAME_DAMAGED;
		to->f->damaged_bit = (uint32_t)roce_prng_below(
			&s->position, (uint64_t)frame->bytes * BITS_PER_BYTE);
		roce_fabric_drop(to, frame, ROCE_FABRIC_DROP_BIT_ERROR);
		return;
	}
	if (s->cfg.duplicate_ppm && roce_prng_hit(&s->duplicate, s->cfg.duplicate_ppm))
		repeat(to, frame);
	if (s->cfg.reorder_ppm && roce_prng_hit(&s->reorder, s->cfg.reorder_ppm))
		fly_late(to, frame,
			 frame->at_ps + roce_prng_below(&s->reorder, s->cfg.reorder_ps_max + 1));
	else
		fly(to, frame);
}

/* ---- up and down ---- */

static void take_down(struct roce_fabric_port *port)
{
	struct roce_fabric *f = port->f;

	port->is_up = false;
	port->port_counters[ROCE_FABRIC_PORT_LINK_DOWN_EVENTS]++;
	roce_event_cancel(&f->queue, &port->tx);
	roce_event_cancel(&f->queue, &port->arrival);
	while (port->flying.head)
		roce_fabric_drop(port->peer, roce_fabric_fifo_pop(&port->flying),
				 ROCE_FABRIC_DROP_LINK_DOWN);
	for (uint8_t tc = 0; tc < ROCE_FABRIC_PRIOS; tc++)
		roce_fabric_queue_drop(port, tc, ROCE_FABRIC_DROP_LINK_DOWN);
	roce_fabric_pause_forget(port);
}

/* What it was paused for may have been told while nobody listened. */
static void bring_up(struct roce_fabric_port *port)
{
	port->is_up = true;
	port->free_ps = port->f->queue.now_ps;
	if (port->node->host)
		roce_fabric_host_storm(port->node->host);
	roce_fabric_port_kick(port);
}

static void observe_link(struct roce_fabric_port *port)
{
	struct roce_fabric *f = port->f;

	if (roce_fabric_is_observed(f) && f->observer->link_changed)
		f->observer->link_changed(f->observer_ctx, f->queue.now_ps, port->node->index,
					  port->index, port->is_up);
}

static void on_link_change(struct roce_event *ev)
{
	struct roce_fabric_late *late = roce_container_of(ev, struct roce_fabric_late, ev);
	struct roce_fabric_port *ends[2] = {late->to, late->to->peer};
	bool is_up = late->quanta[0];

	roce_fabric_late_put(late->to->f, late);
	if (ends[0]->is_up == is_up)
		return;
	for (uint32_t i = 0; i < 2; i++) {
		if (is_up)
			bring_up(ends[i]);
		else
			take_down(ends[i]);
	}
	observe_link(ends[0]);
	observe_link(ends[1]);
}

int roce_fabric_schedule_link(struct roce_fabric *f, uint32_t node, uint32_t port, bool is_up,
			      uint64_t at_ps)
{
	struct roce_fabric_late *late;

	if (!f->is_prepared)
		return roce_fabric_refuse(f, ROCE_FABRIC_FAULT_UNPREPARED, node, port,
					  ROCE_FABRIC_NONE);
	if (node >= f->node_count || port >= f->nodes[node].port_count || at_ps < f->queue.now_ps)
		return roce_fabric_refuse(f, ROCE_FABRIC_FAULT_NO_SUCH_PORT, node, port,
					  ROCE_FABRIC_NONE);
	late = roce_fabric_late_get(f, on_link_change);
	late->to = &f->nodes[node].ports[port];
	late->quanta[0] = is_up;
	roce_event_schedule(&f->queue, &late->ev, at_ps);
	return 0;
}
