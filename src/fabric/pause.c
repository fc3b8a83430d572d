/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Priority flow control (IEEE 802.1Qbb). What we ask of the neighbour is in `told`; a change, or a
 * pause that would expire soon, sets a bit in `tell`, and the next thing on the line is a pause
 * frame that says how things are by then. What the neighbour asks of us is in `paused`, with the
 * time at which it ends by itself; nobody waits for that time unless frames do.
 *
 * A pause frame is not forwarded, takes no buffer, and is obeyed response_ps after it came; a frame
 * that is being sent is finished.
 */
#include "fabric/state.h"

#include "base/list.h"
#include "base/marks.h"

#define PAUSE_BYTES   64u
#define QUANTUM_BYTES 64u /* 512 bit times */
#define REFRESH_SHARE 2u  /* a pause is repeated at half of its time */

static const struct roce_fabric_pfc *pfc_of(const struct roce_fabric_port *port)
{
	return &port->profile->cfg.pfc;
}

static void observe_paused(struct roce_fabric_port *port, uint32_t prio, bool is_paused,
			   uint64_t ps)
{
	struct roce_fabric *f = port->f;

	if (roce_fabric_is_observed(f) && f->observer->paused)
		f->observer->paused(f->observer_ctx, ps, port->node->index, port->index, prio,
				    is_paused);
}

/* ---- being paused ---- */

static void end_pause(struct roce_fabric_port *port, uint32_t prio, uint64_t ps)
{
	port->paused &= (uint8_t) ~(1u << prio);
	port->paused_sum_ps[prio] += ps - port->paused_since_ps[prio];
	observe_paused(port, prio, false, ps);
}

static void begin_pause(struct roce_fabric_port *port, uint32_t prio, uint16_t quanta)
{
	uint64_t now_ps = port->f->queue.now_ps;

	if (!(port->paused >> prio & 1)) {
		port->paused |= (uint8_t)(1u << prio);
		port->paused_since_ps[prio] = now_ps;
		port->prio_counters[prio][ROCE_FABRIC_RX_PAUSE_TRANSITION]++;
		observe_paused(port, prio, true, now_ps);
	}
	port->paused_until_ps[prio] =
		pfc_of(port)->is_unlimited
			? ROCE_PS_NEVER
			: now_ps + roce_fabric_line_ps(port, (uint64_t)quanta * QUANTUM_BYTES);
}

static void expire(struct roce_fabric_port *port)
{
	uint64_t now_ps = port->f->queue.now_ps;

	for (uint32_t bits = port->paused; bits; bits &= bits - 1) {
		uint32_t prio = (uint32_t)__builtin_ctz(bits);

		if (port->paused_until_ps[prio] <= now_ps) {
			ROCE_MARK(pause_expired);
			end_pause(port, prio, port->paused_until_ps[prio]);
		}
	}
}

uint8_t roce_fabric_paused_tcs(struct roce_fabric_port *port)
{
	expire(port);
	return port->profile->tcs_of_prios[port->paused & (uint8_t)~port->ignored];
}

uint64_t roce_fabric_pause_end_ps(const struct roce_fabric_port *port, uint8_t tcs)
{
	const struct roce_fabric_qos *qos = &port->profile->cfg.qos;
	uint64_t end_ps = ROCE_PS_NEVER;

	for (uint32_t bits = port->paused; bits; bits &= bits - 1) {
		uint32_t prio = (uint32_t)__builtin_ctz(bits);

		if ((tcs >> qos->prio_to_tc[prio] & 1) && port->paused_until_ps[prio] < end_ps)
			end_ps = port->paused_until_ps[prio];
	}
	return end_ps;
}

uint64_t roce_fabric_paused_ps(const struct roce_fabric_port *port, uint8_t prio)
{
	uint64_t end_ps = port->f->queue.now_ps;

	if (!(port->paused >> prio & 1))
		return port->paused_sum_ps[prio];
	if (port->paused_until_ps[prio] < end_ps)
		end_ps = port->paused_until_ps[prio];
	return port->paused_sum_ps[prio] + end_ps - port->paused_since_ps[prio];
}

/* ---- a pause frame comes ---- */

static void on_obey(struct roce_event *ev)
{
	struct roce_fabric_late *late = roce_container_of(ev, struct roce_fabric_late, ev);
	struct roce_fabric_port *port = late->to;

	if (port->is_up) {
		expire(port);
		for (uint32_t bits = late->prios & pfc_of(port)->prios; bits; bits &= bits - 1) {
			uint32_t prio = (uint32_t)__builtin_ctz(bits);

			if (late->quanta[prio])
				begin_pause(port, prio, late->quanta[prio]);
			else if (port->paused >> prio & 1)
				end_pause(port, prio, port->f->queue.now_ps);
		}
		roce_fabric_port_kick(port);
	}
	roce_fabric_late_put(port->f, late);
}

static void on_pause_frame(struct roce_event *ev)
{
	struct roce_fabric_late *late = roce_container_of(ev, struct roce_fabric_late, ev);
	struct roce_fabric_port *port = late->to;
	struct roce_fabric *f = port->f;

	if (!port->is_up) {
		roce_fabric_late_put(f, late);
		return;
	}
	for (uint32_t bits = late->prios; bits; bits &= bits - 1)
		port->prio_counters[__builtin_ctz(bits)][ROCE_FABRIC_RX_PAUSE]++;
	if (roce_fabric_is_observed(f) && f->observer->pause_received)
		f->observer->pause_received(f->observer_ctx, f->queue.now_ps, port->node->index,
					    port->index, late->prios, late->quanta);
	roce_event_init(&late->ev, on_obey);
	roce_event_schedule(&f->queue, &late->ev, f->queue.now_ps + pfc_of(port)->response_ps);
}

/* ---- pausing the neighbour ---- */

void roce_fabric_pause_tell(struct roce_fabric_port *port, uint8_t prio, bool is_paused)
{
	uint8_t bit = (uint8_t)(1u << prio);

	port->told = (uint8_t)(is_paused ? port->told | bit : port->told & ~bit);
	port->ingress[prio].is_told = is_paused;
	port->tell |= bit;
	roce_fabric_port_kick(port);
}

static void plan_refresh(struct roce_fabric_port *port)
{
	uint64_t at_ps = ROCE_PS_NEVER;

	for (uint32_t bits = port->told & (uint8_t)~port->tell; bits; bits &= bits - 1) {
		uint32_t prio = (uint32_t)__builtin_ctz(bits);

		if (port->refresh_ps[prio] < at_ps)
			at_ps = port->refresh_ps[prio];
	}
	roce_event_schedule(&port->f->queue, &port->refresh, at_ps);
}

static void on_refresh(struct roce_event *ev)
{
	struct roce_fabric_port *port = roce_container_of(ev, struct roce_fabric_port, refresh);
	uint64_t now_ps = port->f->queue.now_ps;

	for (uint32_t bits = port->told; bits; bits &= bits - 1) {
		uint32_t prio = (uint32_t)__builtin_ctz(bits);

		if (port->refresh_ps[prio] <= now_ps) {
			ROCE_MARK(pause_refreshed);
			port->tell |= (uint8_t)(1u << prio);
		}
	}
	plan_refresh(port);
	roce_fabric_port_kick(port);
}

static uint64_t refresh_after_ps(const struct roce_fabric_port *port)
{
	const struct roce_fabric_pfc *pfc = pfc_of(port);

	if (pfc->is_unlimited)
		return ROCE_PS_NEVER;
	if (pfc->refresh_ps)
		return port->f->queue.now_ps + pfc->refresh_ps;
	return port->f->queue.now_ps +
	       roce_fabric_line_ps(port, (uint64_t)pfc->quanta * QUANTUM_BYTES) / REFRESH_SHARE;
}

void roce_fabric_pause_send(struct roce_fabric_port *port)
{
	struct roce_fabric *f = port->f;
	uint32_t bytes = f->cfg.framing.pause_bytes ? f->cfg.framing.pause_bytes : PAUSE_BYTES;
	struct roce_fabric_late *late = roce_fabric_late_get(f, on_pause_frame);
	uint64_t refresh_ps = refresh_after_ps(port);
	uint64_t end_ps;

	late->to = port->peer;
	late->prios = port->tell;
	for (uint32_t prio = 0; prio < ROCE_FABRIC_PRIOS; prio++) {
		late->quanta[prio] = port->told >> prio & 1 ? pfc_of(port)->quanta : 0;
		if (!(port->tell >> prio & 1))
			continue;
		port->prio_counters[prio][ROCE_FABRIC_TX_PAUSE]++;
		port->refresh_ps[prio] = refresh_ps;
	}
	port->tell = 0;
	plan_refresh(port);
	f->totals.pause_frames++;
	if (roce_fabric_is_observed(f) && f->observer->pause_sent)
		f->observer->pause_sent(f->observer_ctx, f->queue.now_ps, port->node->index,
					port->index, late->prios, late->quanta);
	end_ps = roce_fabric_line_take(port, roce_fabric_line_begin_ps(port),
				       bytes + port->gap_bytes);
	roce_event_schedule(&f->queue, &late->ev, end_ps - port->tail_ps + port->delay_ps);
}

void roce_fabric_pause_forget(struct roce_fabric_port *port)
{
	for (uint32_t bits = port->paused; bits; bits &= bits - 1)
		end_pause(port, (uint32_t)__builtin_ctz(bits), port->f->queue.now_ps);
	for (uint32_t prio = 0; prio < ROCE_FABRIC_PRIOS; prio++)
		port->ingress[prio].is_told = false;
	port->told = 0;
	port->tell = 0;
	roce_event_cancel(&port->f->queue, &port->refresh);
}

void roce_fabric_pause_init(struct roce_fabric_port *port)
{
	roce_event_init(&port->refresh, on_refresh);
}
