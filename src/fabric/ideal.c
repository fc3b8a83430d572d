/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a flow takes alone: its frames follow each other without a gap along the path that the first
 * next hops make, wait for nothing but each other, and the answer comes back the same way. The
 * first frames are followed exactly, and those in the middle, all alike, at the pace of the slowest
 * link. And whether there is such a path that frames survive.
 */
#include "fabric/flow_state.h"
#include "fabric/state.h"

#include "wire/opcode.h"

#define FOLLOWED 64u /* frames, at each end of the flow */

struct way {
	const struct roce_fabric_port
		*ports[ROCE_FABRIC_HOP_LIMIT]; /* that send: a host, switches */
	uint32_t count;
	uint64_t finish_ps[ROCE_FABRIC_HOP_LIMIT]; /* when the last frame had left port i, gap
						      included */
};

static bool find_way(const struct roce_fabric *f, uint32_t src, uint32_t dst, struct way *way)
{
	uint32_t node = src, port = 0;

	*way = (struct way){0};
	while (node != dst) {
		const struct roce_fabric_port *out;

		if (way->count == ROCE_FABRIC_HOP_LIMIT ||
		    (node != src && roce_fabric_next_hops(f, node, dst, &port, 1) == 0))
			return false;
		out = &f->nodes[node].ports[port];
		way->ports[way->count++] = out;
		node = out->peer->node->index;
	}
	return true;
}

bool roce_fabric_flow_arrives(const struct roce_fabric *f, uint32_t flow)
{
	const struct roce_fabric_flow_config *cfg = &f->flows[flow]->cfg;
	bool is_answered = cfg->transport == ROCE_FABRIC_RC || cfg->response_bytes;
	struct way way;

	return find_way(f, cfg->src, cfg->dst, &way) &&
	       (!is_answered || find_way(f, cfg->dst, cfg->src, &way));
}

/* Behind the last bit's departure from a port, to when the next node may act on it. */
static uint64_t flight_ps(const struct roce_fabric_port *port)
{
	const struct roce_fabric_node *to = port->peer->node;
	uint64_t ps = port->delay_ps + (to->sw ? to->sw->cfg.latency_ps : 0);

	if (port->node->host)
		ps += roce_fabric_host_tx_delay_ps(port->node);
	return ps + (to->host ? roce_fabric_host_rx_delay_ps(to) : 0);
}

/* One more frame along the way, which may start at `at_ps`; returns when it is there. Of a
 * cut-through switch only the first bits are waited for. */
static uint64_t follow(struct way *way, uint32_t bytes, uint64_t at_ps)
{
	for (uint32_t i = 0; i < way->count; i++) {
		const struct roce_fabric_port *port = way->ports[i];
		const struct roce_fabric_node *to = port->peer->node;
		uint64_t line_ps = roce_fabric_line_ps(port, bytes + port->gap_bytes);
		uint64_t start_ps = at_ps > way->finish_ps[i] ? at_ps : way->finish_ps[i];

		way->finish_ps[i] = start_ps + line_ps;
		at_ps = way->finish_ps[i] - port->tail_ps + flight_ps(port);
		if (port->is_cut)
			at_ps = start_ps + port->cut_ps + to->sw->cfg.latency_ps;
	}
	return at_ps;
}

static uint64_t slowest_line_ps(const struct way *way, uint32_t bytes)
{
	uint64_t slowest = 0;

	for (uint32_t i = 0; i < way->count; i++) {
		uint64_t ps = roce_fabric_line_ps(way->ports[i], bytes + way->ports[i]->gap_bytes);

		slowest = ps > slowest ? ps : slowest;
	}
	return slowest;
}

/* The frames of a flow, all of its messages one behind the other. */
struct train {
	const struct roce_fabric *f;
	const roce_opcode_t *opcodes; /* by position: only, first, middle, last */
	uint8_t flags;		      /* of its frames */
	uint32_t mtu;
	uint32_t message_bytes;
	uint32_t final_bytes; /* of the last message */
	uint64_t messages;
	uint64_t frames_per_message;
	uint64_t count;
};

enum { ONLY, FIRST, MIDDLE, LAST, POSITIONS };

#define OPCODES(only, first, middle, last)                      \
	{                                                       \
		{ROCE_##only}, {ROCE_##first}, {ROCE_##middle}, \
		{                                               \
			ROCE_##last                             \
		}                                               \
	}

static const roce_opcode_t opcodes[ROCE_FABRIC_OPERATION_COUNT][POSITIONS] = {
	[ROCE_FABRIC_WRITE] =
		OPCODES(RC_WRITE_ONLY, RC_WRITE_FIRST, RC_WRITE_MIDDLE, RC_WRITE_LAST),
	[ROCE_FABRIC_READ] = OPCODES(RC_READ_RESPONSE_ONLY, RC_READ_RESPONSE_FIRST,
				     RC_READ_RESPONSE_MIDDLE, RC_READ_RESPONSE_LAST),
	[ROCE_FABRIC_SEND] = OPCODES(RC_SEND_ONLY, RC_SEND_FIRST, RC_SEND_MIDDLE, RC_SEND_LAST),
};
static const roce_opcode_t datagram[POSITIONS] = {{ROCE_UD_SEND_ONLY}};

static struct train make_train(const struct roce_fabric *f, const struct roce_fabric_flow *flow,
			       uint8_t flags)
{
	const struct roce_fabric_flow_config *cfg = &flow->cfg;
	uint64_t before = (flow->message_count - 1) * (uint64_t)flow->message_bytes;
	struct train t = {
		.f = f,
		.opcodes = cfg->transport == ROCE_FABRIC_UD ? datagram : opcodes[cfg->operation],
		.flags = flags,
		.mtu = cfg->path_mtu,
		.message_bytes = flow->message_bytes,
		.final_bytes = (uint32_t)(cfg->bytes - before),
		.messages = flow->message_count,
		.frames_per_message = (flow->message_bytes + cfg->path_mtu - 1) / cfg->path_mtu,
	};

	t.count = (t.messages - 1) * t.frames_per_message + (t.final_bytes + t.mtu - 1) / t.mtu;
	return t;
}

static uint32_t bytes_of(const struct train *t, uint64_t frame)
{
	uint64_t message = frame / t->frames_per_message;
	uint32_t offset = (uint32_t)(frame % t->frames_per_message) * t->mtu;
	uint32_t length = message + 1 == t->messages ? t->final_bytes : t->message_bytes;
	uint32_t left = length - offset;
	uint32_t position = left > t->mtu ? (offset ? MIDDLE : FIRST) : (offset ? LAST : ONLY);

	return roce_fabric_frame_bytes(&t->f->cfg.framing, t->opcodes[position],
				       left > t->mtu ? t->mtu : left, t->flags);
}

/* Frames in [first, last) leave each port later by what they take on the slowest link. Whole
 * messages of them are alike. */
static void skip(struct way *way, const struct train *t, uint64_t first, uint64_t last)
{
	uint64_t round =
		t->frames_per_message < last - first ? t->frames_per_message : last - first;
	uint64_t rounds = (last - first) / round;
	uint64_t one_ps = 0, ps;

	if (round > 2 * FOLLOWED) {
		/* within one message, or a few long ones: nearly all are middle ones */
		ps = (last - first) * slowest_line_ps(way, bytes_of(t, first));
	} else {
		for (uint64_t i = 0; i < round; i++)
			one_ps += slowest_line_ps(way, bytes_of(t, first + i));
		ps = rounds * one_ps;
		for (uint64_t i = rounds * round; i < last - first; i++)
			ps += slowest_line_ps(way, bytes_of(t, first + i));
	}
	for (uint32_t i = 0; i < way->count; i++)
		way->finish_ps[i] += ps;
}

static uint64_t follow_train(struct way *way, const struct train *t, uint64_t at_ps)
{
	uint64_t there_ps = at_ps;

	for (uint64_t i = 0; i < t->count; i++) {
		if (i == FOLLOWED && t->count > 2 * FOLLOWED) {
			skip(way, t, i, t->count - FOLLOWED);
			i = t->count - FOLLOWED;
		}
		there_ps = follow(way, bytes_of(t, i), at_ps);
	}
	return there_ps;
}

uint64_t roce_fabric_flow_ideal_ps(const struct roce_fabric *f, uint32_t flow_index)
{
	const struct roce_fabric_flow *flow = f->flows[flow_index];
	const struct roce_fabric_flow_config *cfg = &flow->cfg;
	bool is_read = cfg->operation == ROCE_FABRIC_READ;
	uint8_t to = roce_fabric_host_flags(&f->nodes[cfg->src]);
	uint8_t fro = roce_fabric_host_flags(&f->nodes[cfg->dst]);
	struct train train = make_train(f, flow, is_read ? fro : to);
	struct way there, back;
	uint64_t at_ps = 0;

	/* Such flows are as long as their program makes them. */
	if (cfg->interval_ps || cfg->response_bytes || cfg->rate_kbps)
		return 0;
	if (!find_way(f, cfg->src, cfg->dst, &there) || !find_way(f, cfg->dst, cfg->src, &back))
		return 0;
	if (is_read) {
		uint32_t request = roce_fabric_frame_bytes(
			&f->cfg.framing, roce_opcode_make(ROCE_RC_READ_REQUEST), 0, to);

		at_ps = follow(&there, request, 0);
		return follow_train(&back, &train, at_ps);
	}
	at_ps = follow_train(&there, &train, 0);
	if (cfg->transport == ROCE_FABRIC_RC)
		at_ps = follow(&back,
			       roce_fabric_frame_bytes(&f->cfg.framing,
						       roce_opcode_make(ROCE_RC_ACK), 0, fro),
			       at_ps);
	return at_ps;
}
