/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What becomes of frames that go no further: each is counted where it happened, for its reason,
 * told to the observer and freed. A reason is a counter of the port, of the priority, or both, and
 * has a mark, so that some test makes it happen.
 */
#include "fabric/host.h"

#include "base/marks.h"

/* A switch that had no room for a frame looks so long at who comes at the same time. */
#define TIE_PS (100 * ROCE_NS_PER_US * ROCE_PS_PER_NS)

_Static_assert(ROCE_FABRIC_DROP_BUFFER < ROCE_FABRIC_DROP_EGRESS &&
		       ROCE_FABRIC_DROP_HEADROOM < ROCE_FABRIC_DROP_EGRESS,
	       "drops for want of room come first");

static void count(struct roce_fabric_port *at, uint8_t prio, enum roce_fabric_drop why)
{
	uint64_t *of_prio = at->prio_counters[prio];
	uint64_t *of_port = at->port_counters;

	switch (why) {
	case ROCE_FABRIC_DROP_BUFFER:
		ROCE_MARK(drop_buffer);
		of_prio[ROCE_FABRIC_RX_DISCARDS]++;
		break;
	case ROCE_FABRIC_DROP_HEADROOM:
		ROCE_MARK(drop_headroom);
		of_prio[ROCE_FABRIC_RX_DISCARDS]++;
		break;
	case ROCE_FABRIC_DROP_EGRESS:
		ROCE_MARK(drop_egress);
		of_prio[ROCE_FABRIC_TX_DISCARDS]++;
		break;
	case ROCE_FABRIC_DROP_WRED:
		ROCE_MARK(drop_wred);
		of_prio[ROCE_FABRIC_TX_WRED_DISCARDS]++;
		break;
	case ROCE_FABRIC_DROP_STORM:
		ROCE_MARK(drop_storm);
		of_prio[ROCE_FABRIC_TX_STORM_DISCARDS]++;
		break;
	case ROCE_FABRIC_DROP_ACL:
		ROCE_MARK(drop_acl);
		of_port[ROCE_FABRIC_PORT_RX_ACL_DISCARDS]++;
		break;
	case ROCE_FABRIC_DROP_TTL:
		ROCE_MARK(drop_ttl);
		of_port[ROCE_FABRIC_PORT_RX_TTL_DISCARDS]++;
		break;
	case ROCE_FABRIC_DROP_NO_ROUTE:
		ROCE_MARK(drop_no_route);
		of_port[ROCE_FABRIC_PORT_RX_NO_ROUTE]++;
		break;
	case ROCE_FABRIC_DROP_STRAY:
		ROCE_MARK(drop_stray);
		of_port[ROCE_FABRIC_PORT_RX_NO_ROUTE]++;
		break;
	case ROCE_FABRIC_DROP_MTU:
		ROCE_MARK(drop_mtu);
		of_port[ROCE_FABRIC_PORT_RX_OVERSIZE]++;
		break;
	case ROCE_FABRIC_DROP_LINK_DOWN:
		ROCE_MARK(drop_link_down);
		of_port[ROCE_FABRIC_PORT_TX_LINK_DOWN_DISCARDS]++;
		break;
	case ROCE_FABRIC_DROP_LINK_LOSS:
		ROCE_MARK(drop_link_loss);
		of_port[ROCE_FABRIC_PORT_RX_LINK_DISCARDS]++;
		break;
	case ROCE_FABRIC_DROP_BIT_ERROR:
		ROCE_MARK(drop_bit_error);
		of_port[ROCE_FABRIC_PORT_RX_CRC_ERRORS]++;
		break;
	case ROCE_FABRIC_DROP_COUNT:
		break;
	}
}

struct roce_fabric_frame_view roce_fabric_view_frame(const struct roce_fabric *f,
						     const struct roce_fabric_frame *frame)
{
	struct roce_fabric_frame_view view = {
		.payload_bytes = frame->payload_bytes,
		.wire_bytes = frame->bytes,
		.src = f->host_nodes[frame->src],
		.dst = f->host_nodes[frame->dst],
		.udp_sport = frame->udp_sport,
		.traffic_class = frame->traffic_class,
		.ttl = frame->ttl,
		.prio = frame->prio,
		.payload = roce_fabric_frame_payload(frame),
		.damaged_bit = frame->flags & ROCE_FABRIC_FRAME_DAMAGED ? f->damaged_bit
									: ROCE_FABRIC_UNDAMAGED,
		.is_tagged = frame->flags & ROCE_FABRIC_FRAME_TAGGED,
		.pcp = frame->pcp,
		.vlan_id = f->nodes[f->host_nodes[frame->src]].host->cfg.vlan_id,
	};

	roce_fabric_frame_get_headers(frame, &view.hdr);
	return view;
}

void roce_fabric_drop(struct roce_fabric_port *at, struct roce_fabric_frame *frame,
		      enum roce_fabric_drop why)
{
	struct roce_fabric *f = at->f;

	count(at, frame->prio, why);
	if (at->node->sw && why <= ROCE_FABRIC_DROP_EGRESS)
		at->node->sw->tie_until_ps = f->queue.now_ps + TIE_PS;
	f->totals.drops[why]++;
	if (roce_fabric_is_observed(f) && f->observer->frame_dropped) {
		struct roce_fabric_frame_view view = roce_fabric_view_frame(f, frame);

		f->observer->frame_dropped(f->observer_ctx, f->queue.now_ps, at->node->index,
					   at->index, &view, why);
	}
	roce_fabric_frame_put(&f->frames, frame);
}
