/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A frame's way through a switch: its priority by what the port trusts, the checks that drop it
 * (length, filters, TTL, route, buffer), the egress queue, and ECN when it enters or leaves that.
 * Every drop has its counter.
 */
#include "fabric/ecmp.h"
#include "fabric/state.h"

#define UDP_DPORT_ROCE 4791u
#define PPM	       1000000u
#define HPCC_DPORT     100u

uint32_t roce_fabric_murmur3(const uint32_t *words, uint32_t count, uint32_t seed)
{
	uint32_t h = seed;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t k = words[i] * 0xcc9e2d51u;

		k = (k << 15 | k >> 17) * 0x1b873593u;
		h ^= k;
		h = (h << 13 | h >> 19) * 5 + 0xe6546b64u;
	}
	h ^= count * 4;
	h = (h ^ h >> 16) * 0x85ebca6bu;
	h = (h ^ h >> 13) * 0xc2b2ae35u;
	return h ^ h >> 16;
}

/* ---- filters ---- */

static bool has_prefix(const struct roce_gid *gid, const struct roce_gid *prefix, uint32_t bits)
{
	uint32_t bytes = bits / 8;
	uint32_t rest = bits % 8;

	if (memcmp(gid->raw, prefix->raw, bytes) != 0)
		return false;
	return !rest || (uint8_t)(gid->raw[bytes] ^ prefix->raw[bytes]) >> (8 - rest) == 0;
}

static bool is_match(const struct roce_fabric_acl_rule *rule, const struct roce_fabric_port *in,
		     const struct roce_fabric_frame *frame)
{
	const struct roce_fabric *f = in->f;
	uint8_t family = frame->flags & ROCE_FABRIC_FRAME_V6 ? 6 : 4;

	if (rule->in_port != ROCE_FABRIC_PORT_ANY && rule->in_port != in->index)
		return false;
	if (rule->family && rule->family != family)
		return false;
	if (rule->udp_dport && rule->udp_dport != UDP_DPORT_ROCE)
		return false;
	return has_prefix(roce_fabric_host_gid(f, f->host_nodes[frame->src]), &rule->src,
			  rule->src_bits) &&
	       has_prefix(roce_fabric_host_gid(f, f->host_nodes[frame->dst]), &rule->dst,
			  rule->dst_bits);
}

static bool is_filtered(const struct roce_fabric_switch *sw, const struct roce_fabric_port *in,
			const struct roce_fabric_frame *frame)
{
	for (uint32_t i = 0; i < sw->acl_count; i++)
		if (is_match(&sw->acl[i], in, frame))
			return true;
	return false;
}

/* ---- route ---- */

static uint32_t hash_as_hpcc(const struct roce_fabric_node *node,
			     const struct roce_fabric_frame *frame)
{
	const struct roce_fabric *f = node->ports->f;
	bool is_back = frame->flags & ROCE_FABRIC_FRAME_BACK;
	const uint32_t words[] = {
		0x0b000001u + (f->host_nodes[frame->src] << 8),
		0x0b000001u + (f->host_nodes[frame->dst] << 8),
		is_back ? HPCC_DPORT | (uint32_t)frame->udp_sport << 16
			: frame->udp_sport | HPCC_DPORT << 16,
	};

	return roce_fabric_murmur3(words, 3, node->index);
}

bool roce_fabric_is_region_of(const struct roce_fabric_node *node, uint32_t host)
{
	const struct roce_fabric *f = node->ports->f;
	const struct roce_fabric_node *at = f->nodes[f->host_nodes[host]].ports->peer->node;

	return at == node || (at->sw && node->sw->cfg.region != ROCE_FABRIC_REGION_OWN &&
			      at->sw->cfg.region == node->sw->cfg.region);
}

/* NULL: there is none. */
static struct roce_fabric_port *find_egress(const struct roce_fabric_node *node,
					    const struct roce_fabric_frame *frame)
{
	const struct roce_fabric_switch *sw = node->sw;
	const struct roce_fabric_group *group =
		&sw->groups[sw->routes[roce_fabric_frame_target(frame)]];
	uint32_t index = 0;

	if (group->count > 1)
		index = sw->hash == ROCE_FABRIC_HASH_MURMUR3
				? hash_as_hpcc(node, frame) % group->count
				: roce_fabric_ecmp_mixed(frame->hash, sw->hash_seed, group->count);
	else if (group->count == 0)
		return NULL;
	return &node->ports[sw->hops[group->first + index]];
}

/* ---- ECN ---- */

enum wred { WRED_PASS, WRED_HIT };

static enum wred draw_wred(struct roce_fabric_switch *sw, const struct roce_fabric_ecn *ecn,
			   uint32_t bytes)
{
	uint64_t ppm;

	if (bytes <= ecn->kmin_bytes)
		return WRED_PASS;
	if (bytes > ecn->kmax_bytes)
		return WRED_HIT;
	ppm = (uint64_t)ecn->pmax_ppm * (bytes - ecn->kmin_bytes) /
	      (ecn->kmax_bytes - ecn->kmin_bytes);
	return (roce_prng_next(&sw->wred) >> 32) * PPM < ppm << 32 ? WRED_HIT : WRED_PASS;
}

/* False: it cannot be marked. It leaves with priority `prio`. */
static bool mark(struct roce_fabric_port *out, struct roce_fabric_frame *frame, uint8_t prio)
{
	struct roce_fabric *f = out->f;

	if (!(frame->traffic_class & ROCE_FABRIC_ECN_MASK))
		return false;
	if ((frame->traffic_class & ROCE_FABRIC_ECN_MASK) == ROCE_FABRIC_ECN_CE)
		return true;
	frame->traffic_class |= ROCE_FABRIC_ECN_CE;
	out->prio_counters[prio][ROCE_FABRIC_TX_ECN_MARKED]++;
	f->totals.ecn_marks++;
	if (roce_fabric_is_observed(f) && f->observer->frame_marked) {
		struct roce_fabric_frame_view view = roce_fabric_view_frame(f, frame);

		f->observer->frame_marked(f->observer_ctx, f->queue.now_ps, out->node->index,
					  out->index, &view);
	}
	return true;
}

/* ---- in and out ---- */

/* When it may leave. A cut-through switch begins before the end has come, but must not run dry on a
 * faster line. */
static uint64_t ready_ps(const struct roce_fabric_port *in, const struct roce_fabric_port *out,
			 const struct roce_fabric_frame *frame)
{
	uint64_t at_ps = in->f->queue.now_ps;
	uint64_t end_ps;

	if (!out->has_unready)
		return at_ps;
	at_ps += out->latency_ps;
	if (!in->peer->is_cut)
		return at_ps;
	end_ps = at_ps + roce_fabric_line_ps(in, frame->bytes) - roce_fabric_line_ps(in, 64);
	end_ps -= roce_fabric_line_ps(out, frame->bytes);
	return (int64_t)(end_ps - at_ps) > 0 ? end_ps : at_ps;
}

static bool pass_checks(struct roce_fabric_port *in, struct roce_fabric_frame *frame,
			enum roce_fabric_drop *out_why)
{
	struct roce_fabric_switch *sw = in->node->sw;

	if (frame->bytes > in->profile->cfg.mtu_bytes + ROCE_FABRIC_IP_EXTRA_BYTES +
				   roce_fabric_tag_bytes(frame->flags)) {
		*out_why = ROCE_FABRIC_DROP_MTU;
		return false;
	}
	if (sw->acl_count && is_filtered(sw, in, frame)) {
		*out_why = ROCE_FABRIC_DROP_ACL;
		return false;
	}
	if (frame->ttl <= 1) {
		*out_why = ROCE_FABRIC_DROP_TTL;
		return false;
	}
	frame->ttl--;
	return true;
}

/* The lower bits of the DSCP stay. */
static void remark(struct roce_fabric_frame *frame, uint8_t prio)
{
	frame->prio = prio;
	frame->traffic_class = (uint8_t)(prio << 5 | (frame->traffic_class & 0x1f));
	if (frame->flags & ROCE_FABRIC_FRAME_TAGGED)
		frame->pcp = prio & ROCE_FABRIC_PRIO_MASK;
}

void roce_fabric_switch_receive(struct roce_fabric_port *in, struct roce_fabric_frame *frame)
{
	struct roce_fabric_node *node = in->node;
	const struct roce_fabric_qos *qos = &in->profile->cfg.qos;
	struct roce_fabric_port *out;
	const struct roce_fabric_ecn *ecn;
	enum roce_fabric_drop why = ROCE_FABRIC_DROP_NO_ROUTE;
	uint8_t prio, tc;

	frame->prio = roce_fabric_classify(qos, frame->traffic_class, frame->pcp);
	in->ingress[frame->prio].rx_packets++;
	in->ingress[frame->prio].rx_bytes += frame->bytes;
	if (__builtin_expect(frame->flags & ROCE_FABRIC_FRAME_DETOUR, 0) &&
	    roce_fabric_is_region_of(node, frame->extra->via))
		frame->flags &= (uint8_t)~ROCE_FABRIC_FRAME_DETOUR;
	if (!pass_checks(in, frame, &why) || !(out = find_egress(node, frame))) {
		roce_fabric_drop(in, frame, why);
		return;
	}
	prio = out->profile->cfg.qos.remark[frame->prio];
	tc = out->profile->cfg.qos.prio_to_tc[prio];
	if (__builtin_expect(out->stormed >> tc & 1 || !out->is_up, 0)) {
		roce_fabric_drop(out, frame,
				 out->is_up ? ROCE_FABRIC_DROP_STORM : ROCE_FABRIC_DROP_LINK_DOWN);
		return;
	}
	ecn = &out->profile->cfg.ecn[tc];
	if (ecn->is_enabled && !ecn->is_at_dequeue &&
	    draw_wred(node->sw, ecn, out->queues[tc].bytes) == WRED_HIT &&
	    !mark(out, frame, prio) && !ecn->is_mark_only) {
		roce_fabric_drop(out, frame, ROCE_FABRIC_DROP_WRED);
		return;
	}
	if (!roce_fabric_buffer_take(node->sw, in, &out->queues[tc], frame, &why)) {
		roce_fabric_drop(why == ROCE_FABRIC_DROP_EGRESS ? out : in, frame, why);
		return;
	}
	frame->in_port = (uint32_t)(in - node->ports); /* its index is far away */
	frame->in_prio = frame->prio & ROCE_FABRIC_PRIO_MASK;
	if (__builtin_expect(prio != frame->prio, 0))
		remark(frame, prio);
	frame->at_ps = ready_ps(in, out, frame);
	roce_fabric_queue_push(out, frame, tc);
	roce_fabric_port_kick(out);
}

bool roce_fabric_switch_leave(struct roce_fabric_port *out, const struct roce_fabric_queue *queue,
			      struct roce_fabric_frame *frame, uint8_t tc)
{
	struct roce_fabric_switch *sw = out->node->sw;
	const struct roce_fabric_ecn *ecn = &out->profile->cfg.ecn[tc];

	roce_fabric_buffer_give(sw, &out->node->ports[frame->in_port], frame);
	if (!ecn->is_enabled || !ecn->is_at_dequeue ||
	    draw_wred(sw, ecn, queue->bytes) == WRED_PASS || mark(out, frame, frame->prio) ||
	    ecn->is_mark_only)
		return true;
	roce_fabric_drop(out, frame, ROCE_FABRIC_DROP_WRED);
	return false;
}
