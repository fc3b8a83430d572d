/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shared buffer of a switch. What a frame takes is charged to the port and priority that it
 * came in by: first their reserve, then the shared pool, up to a threshold; lossless priorities
 * pause the sender at the threshold and put what still comes into their headroom. The threshold is
 * static, or alpha times what is free of the pool, so that it falls while others take more. Lossy
 * priorities are held down where they leave: their egress queue has a threshold of that kind.
 * Beside the ingress pool there may be egress pools, one for lossless and one for lossy priorities,
 * and a pool of headroom that all ports share, as SONiC has them.
 *
 * Given back in the opposite order: headroom first. A frame leaves the buffer when its transmission
 * begins.
 */
#include "fabric/state.h"

#include "base/marks.h"

#define ALPHA_SHIFT	 10u /* ROCE_FABRIC_ALPHA_ONE */
#define PAUSE_LINE_BYTES 84u /* a pause frame with preamble and gap */
#define PS_PER_S	 UINT64_C(1000000000000)

_Static_assert(1u << ALPHA_SHIFT == ROCE_FABRIC_ALPHA_ONE, "shift and unit agree");

static uint64_t dynamic_threshold(const struct roce_fabric_switch *sw, uint32_t alpha)
{
	return (sw->shared_total - sw->shared_used) * alpha >> ALPHA_SHIFT;
}

static uint64_t xoff_threshold(const struct roce_fabric_switch *sw,
			       const struct roce_fabric_buffer *cfg)
{
	return cfg->xoff_bytes ? cfg->xoff_bytes : dynamic_threshold(sw, cfg->alpha);
}

/* Of a lossy egress queue: its share of the pool that it lives in. */
static uint64_t lossy_threshold(const struct roce_fabric_switch *sw,
				const struct roce_fabric_buffer *cfg)
{
	uint64_t total = sw->egress_total[ROCE_FABRIC_LOSSY];

	if (cfg->egress_limit_bytes)
		return cfg->egress_limit_bytes;
	if (total)
		return (total - sw->egress_used[ROCE_FABRIC_LOSSY]) * cfg->egress_alpha >>
		       ALPHA_SHIFT;
	return dynamic_threshold(sw, cfg->egress_alpha);
}

/* Of `bytes`, what is beyond the reserve. */
static uint32_t shared_part(const struct roce_fabric_buffer *cfg, uint32_t bytes)
{
	return bytes > cfg->reserve_bytes ? bytes - cfg->reserve_bytes : 0;
}

static void charge(struct roce_fabric_switch *sw, const struct roce_fabric_buffer *cfg,
		   struct roce_fabric_ingress *in, uint32_t bytes)
{
	sw->shared_used += shared_part(cfg, in->bytes + bytes) - shared_part(cfg, in->bytes);
	if (sw->shared_used > sw->shared_max)
		sw->shared_max = sw->shared_used;
	in->bytes += bytes;
}

static void note_max(struct roce_fabric_ingress *in)
{
	if (in->bytes + in->headroom_bytes > in->bytes_max)
		in->bytes_max = in->bytes + in->headroom_bytes;
	if (in->headroom_bytes > in->headroom_max)
		in->headroom_max = in->headroom_bytes;
}

static bool take_lossless(struct roce_fabric_switch *sw, struct roce_fabric_port *port,
			  const struct roce_fabric_frame *frame, enum roce_fabric_drop *out_why)
{
	struct roce_fabric_ingress *in = &port->ingress[frame->prio];
	const struct roce_fabric_buffer *cfg = in->cfg;
	uint64_t threshold = xoff_threshold(sw, cfg);
	uint32_t shared = shared_part(cfg, in->bytes + frame->bytes);
	uint64_t need = shared - shared_part(cfg, in->bytes);

	if (shared <= threshold && sw->shared_used + need <= sw->shared_total) {
		charge(sw, cfg, in, frame->bytes);
	} else if (in->headroom_bytes + frame->bytes <= in->headroom_limit &&
		   (!sw->headroom_total ||
		    sw->headroom_used + frame->bytes <= sw->headroom_total)) {
		in->headroom_bytes += frame->bytes;
		sw->headroom_used += frame->bytes;
	} else {
		*out_why = in->headroom_limit ? ROCE_FABRIC_DROP_HEADROOM : ROCE_FABRIC_DROP_BUFFER;
		return false;
	}
	note_max(in);
	if (in->is_told || !(port->profile->cfg.pfc.prios >> frame->prio & 1))
		return true;
	if (in->headroom_bytes || shared_part(cfg, in->bytes) >= xoff_threshold(sw, cfg))
		roce_fabric_pause_tell(port, frame->prio, true);
	return true;
}

static bool take_lossy(struct roce_fabric_switch *sw, struct roce_fabric_port *port,
		       const struct roce_fabric_queue *out, const struct roce_fabric_frame *frame,
		       enum roce_fabric_drop *out_why)
{
	struct roce_fabric_ingress *in = &port->ingress[frame->prio];
	const struct roce_fabric_buffer *cfg = in->cfg;
	uint64_t need = shared_part(cfg, in->bytes + frame->bytes) - shared_part(cfg, in->bytes);

	if (need && sw->shared_used + need > sw->shared_total) {
		ROCE_MARK(buffer_lossy_finds_it_full);
		*out_why = ROCE_FABRIC_DROP_BUFFER;
		return false;
	}
	if (need && out->bytes + frame->bytes > lossy_threshold(sw, cfg)) {
		*out_why = ROCE_FABRIC_DROP_EGRESS;
		return false;
	}
	charge(sw, cfg, in, frame->bytes);
	note_max(in);
	return true;
}

/* Egress pools and static limits of queues: beyond them frames are dropped, lossless ones too. */
static bool has_egress_room(const struct roce_fabric_switch *sw,
			    const struct roce_fabric_buffer *cfg,
			    const struct roce_fabric_queue *out, uint32_t bytes)
{
	uint64_t total = sw->egress_total[cfg->kind];

	if (cfg->kind == ROCE_FABRIC_LOSSLESS && cfg->egress_limit_bytes &&
	    out->bytes + bytes > cfg->egress_limit_bytes)
		return ROCE_MARKED(buffer_lossless_queue_limit, false);
	if (total && sw->egress_used[cfg->kind] + bytes > total)
		return ROCE_MARKED(buffer_egress_pool_full, false);
	return true;
}

static bool take(struct roce_fabric_switch *sw, struct roce_fabric_port *in,
		 const struct roce_fabric_queue *out, const struct roce_fabric_frame *frame,
		 enum roce_fabric_drop *out_why)
{
	switch ((enum roce_fabric_buffer_kind)in->ingress[frame->prio].cfg->kind) {
	case ROCE_FABRIC_LOSSLESS:
		return take_lossless(sw, in, frame, out_why);
	case ROCE_FABRIC_LOSSY:
		return take_lossy(sw, in, out, frame, out_why);
	case ROCE_FABRIC_UNCOUNTED:
		return true;
	}
	return true;
}

static bool take_with_limits(struct roce_fabric_switch *sw, struct roce_fabric_port *in,
			     const struct roce_fabric_queue *out,
			     const struct roce_fabric_frame *frame, enum roce_fabric_drop *out_why)
{
	const struct roce_fabric_buffer *cfg = in->ingress[frame->prio].cfg;

	if (cfg->kind == ROCE_FABRIC_UNCOUNTED)
		return true;
	*out_why = ROCE_FABRIC_DROP_EGRESS;
	if (!has_egress_room(sw, cfg, out, frame->bytes) || !take(sw, in, out, frame, out_why))
		return false;
	sw->egress_used[cfg->kind] += frame->bytes;
	return true;
}

bool roce_fabric_buffer_take(struct roce_fabric_switch *sw, struct roce_fabric_port *in,
			     const struct roce_fabric_queue *out, struct roce_fabric_frame *frame,
			     enum roce_fabric_drop *out_why)
{
	if (__builtin_expect(sw->has_egress_limits, 0))
		return take_with_limits(sw, in, out, frame, out_why);
	return take(sw, in, out, frame, out_why);
}

/* As SONiC has it. At xon, whatever the threshold: a port whose threshold has fallen to nothing
 * would stay paused for ever. */
static bool may_resume(const struct roce_fabric_switch *sw, const struct roce_fabric_buffer *cfg,
		       const struct roce_fabric_ingress *in)
{
	uint32_t xon = cfg->xon_bytes == ROCE_FABRIC_COMPUTED ? cfg->reserve_bytes : cfg->xon_bytes;

	if (in->headroom_bytes)
		return false;
	return in->bytes <= xon || (uint64_t)in->bytes + cfg->xon_offset_bytes <=
					   cfg->reserve_bytes + xoff_threshold(sw, cfg);
}

void roce_fabric_buffer_give(struct roce_fabric_switch *sw, struct roce_fabric_port *port,
			     const struct roce_fabric_frame *frame)
{
	struct roce_fabric_ingress *in = &port->ingress[frame->in_prio];
	const struct roce_fabric_buffer *cfg = in->cfg;
	uint32_t bytes = frame->bytes;
	uint32_t part = bytes < in->headroom_bytes ? bytes : in->headroom_bytes;

	if (cfg->kind == ROCE_FABRIC_UNCOUNTED)
		return;
	if (__builtin_expect(sw->has_egress_limits, 0))
		sw->egress_used[cfg->kind] -= bytes;
	if (__builtin_expect(part, 0)) {
		in->headroom_bytes -= part;
		sw->headroom_used -= part;
		bytes -= part;
	}
	sw->shared_used -= shared_part(cfg, in->bytes) - shared_part(cfg, in->bytes - bytes);
	in->bytes -= bytes;
	if (__builtin_expect(in->is_told, 0) && may_resume(sw, cfg, in))
		roce_fabric_pause_tell(port, frame->in_prio, false);
}

/* ---- sizes ---- */

static uint64_t line_bytes(const struct roce_fabric_port *port, uint64_t ps)
{
	return (uint64_t)(((unsigned __int128)ps * port->rate_bps / 8 + PS_PER_S - 1) / PS_PER_S);
}

/* Worst case: the frame that crosses the threshold does so by all of its length; our own longest
 * frame has just begun to leave when the pause must go out; the pause travels, is obeyed, and the
 * neighbour had just begun its longest frame; what is on the cable follows. */
uint64_t roce_fabric_headroom_bytes(const struct roce_fabric_port *port)
{
	const struct roce_fabric_port *peer = port->peer;
	uint32_t gap = port->gap_bytes + (port->f->has_tags ? ROCE_FABRIC_TAG_BYTES : 0);
	uint64_t ours = port->profile->cfg.mtu_bytes + ROCE_FABRIC_IP_EXTRA_BYTES + gap;
	uint64_t theirs = peer->profile->cfg.mtu_bytes + ROCE_FABRIC_IP_EXTRA_BYTES + gap;
	uint64_t wait_ps = 2 * port->delay_ps + peer->profile->cfg.pfc.response_ps;

	if (peer->node->host)
		wait_ps += roce_fabric_host_tx_delay_ps(peer->node);
	return theirs + ours + PAUSE_LINE_BYTES + line_bytes(port, wait_ps) + theirs;
}

static int prepare_port(struct roce_fabric_switch *sw, struct roce_fabric_port *port,
			uint64_t *taken)
{
	for (uint32_t prio = 0; prio < ROCE_FABRIC_PRIOS; prio++) {
		const struct roce_fabric_buffer *cfg = &port->profile->cfg.buffer[prio];
		struct roce_fabric_ingress *in = &port->ingress[prio];

		in->cfg = cfg;
		if (cfg->kind == ROCE_FABRIC_UNCOUNTED)
			continue;
		*taken += cfg->reserve_bytes;
		sw->has_egress_limits |= cfg->egress_limit_bytes != 0;
		if (cfg->kind != ROCE_FABRIC_LOSSLESS)
			continue;
		in->headroom_limit = cfg->headroom_bytes == ROCE_FABRIC_COMPUTED
					     ? (uint32_t)roce_fabric_headroom_bytes(port)
					     : cfg->headroom_bytes;
		*taken += sw->headroom_total ? 0 : in->headroom_limit;
		if (*taken > sw->cfg.buffer_bytes)
			return roce_fabric_refuse(port->f, ROCE_FABRIC_FAULT_BUFFER,
						  port->node->index, port->index, prio);
	}
	return 0;
}

static int check_xoff(const struct roce_fabric_switch *sw, struct roce_fabric_port *port)
{
	for (uint32_t prio = 0; prio < ROCE_FABRIC_PRIOS; prio++) {
		const struct roce_fabric_buffer *cfg = &port->profile->cfg.buffer[prio];

		if (cfg->kind == ROCE_FABRIC_LOSSLESS && cfg->xoff_bytes > sw->shared_total)
			return roce_fabric_refuse(port->f, ROCE_FABRIC_FAULT_XOFF,
						  port->node->index, port->index, prio);
	}
	return 0;
}

/* What of the buffer is not the ports' own. */
static uint64_t prepare_pools(struct roce_fabric_switch *sw)
{
	sw->headroom_total = sw->cfg.headroom_pool_bytes;
	sw->egress_total[ROCE_FABRIC_LOSSY] = sw->cfg.egress_lossy_bytes;
	sw->egress_total[ROCE_FABRIC_LOSSLESS] = sw->cfg.egress_lossless_bytes;
	sw->has_egress_limits = sw->cfg.egress_lossy_bytes || sw->cfg.egress_lossless_bytes;
	return sw->headroom_total;
}

int roce_fabric_buffers_prepare(struct roce_fabric *f)
{
	for (uint32_t i = 0; i < f->node_count; i++) {
		struct roce_fabric_node *node = &f->nodes[i];
		uint64_t taken;
		int err = 0;

		if (!node->sw)
			continue;
		taken = prepare_pools(node->sw);
		for (uint32_t p = 0; !err && p < node->port_count; p++)
			err = prepare_port(node->sw, &node->ports[p], &taken);
		if (err)
			return err;
		node->sw->shared_total = node->sw->cfg.buffer_bytes - taken;
		for (uint32_t p = 0; !err && p < node->port_count; p++)
			err = check_xoff(node->sw, &node->ports[p]);
		if (err)
			return err;
	}
	return 0;
}
