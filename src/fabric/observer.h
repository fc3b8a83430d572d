/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who watches a run: capture files, logs, time series. All members may be NULL; what nobody watches
 * costs a test of a pointer. An observer looks and must not change the fabric, but it may call
 * roce_fabric_stop().
 */
#ifndef ROCE_FABRIC_OBSERVER_H
#define ROCE_FABRIC_OBSERVER_H

#include "fabric/flow.h"
#include "wire/packet.h"

/* X(enumerator, name): why a frame was dropped. */
#define ROCE_FABRIC_DROPS(X)                  \
	X(DROP_BUFFER, "no shared buffer")    \
	X(DROP_HEADROOM, "headroom exceeded") \
	X(DROP_EGRESS, "egress queue limit")  \
	X(DROP_WRED, "WRED, not ECN-capable") \
	X(DROP_STORM, "PFC watchdog")         \
	X(DROP_ACL, "ACL")                    \
	X(DROP_TTL, "TTL expired")            \
	X(DROP_NO_ROUTE, "no route")          \
	X(DROP_MTU, "longer than the MTU")    \
	X(DROP_LINK_DOWN, "link down")        \
	X(DROP_LINK_LOSS, "lost on the link") \
	X(DROP_BIT_ERROR, "bit error")        \
	X(DROP_STRAY, "not for this host")

enum roce_fabric_drop {
#define X(id, text) ROCE_FABRIC_##id,
	ROCE_FABRIC_DROPS(X)
#undef X
		ROCE_FABRIC_DROP_COUNT
};

const char *roce_fabric_drop_str(enum roce_fabric_drop drop);

/* A frame as an observer sees it, borrowed for the call. */
struct roce_fabric_frame_view {
	struct roce_headers hdr;
	const uint8_t *payload; /* NULL: phantom */
	uint32_t payload_bytes;
	uint32_t wire_bytes; /* of the frame, without preamble and gap */
	uint32_t src;	     /* hosts */
	uint32_t dst;
	uint16_t udp_sport;
	uint8_t traffic_class; /* DSCP << 2 | ECN, as it is now */
	uint8_t ttl;
	uint8_t prio;
	uint32_t damaged_bit; /* that the link flipped, counted from the destination MAC on */
	bool is_tagged;	      /* 802.1Q: */
	uint8_t pcp;	      /* 0 to 7 */
	uint16_t vlan_id;     /* 0: for the priority alone */
};

#define ROCE_FABRIC_UNDAMAGED UINT32_MAX

struct roce_fabric_cycle {
	uint32_t node;
	uint32_t port; /* paused, by its neighbour */
	uint32_t prio;
};

struct roce_fabric_observer {
	/* The first bit leaves, the last bit is there. */
	void (*frame_sent)(void *ctx, uint64_t ps, uint32_t node, uint32_t port,
			   const struct roce_fabric_frame_view *frame);
	void (*frame_received)(void *ctx, uint64_t ps, uint32_t node, uint32_t port,
			       const struct roce_fabric_frame_view *frame);
	void (*frame_dropped)(void *ctx, uint64_t ps, uint32_t node, uint32_t port,
			      const struct roce_fabric_frame_view *frame,
			      enum roce_fabric_drop why);
	/* CE was set at the egress port. */
	void (*frame_marked)(void *ctx, uint64_t ps, uint32_t node, uint32_t port,
			     const struct roce_fabric_frame_view *frame);
	/* A pause frame leaves or has come: bit p of `prios` says that quanta[p] counts. */
	void (*pause_sent)(void *ctx, uint64_t ps, uint32_t node, uint32_t port, uint8_t prios,
			   const uint16_t quanta[8]);
	void (*pause_received)(void *ctx, uint64_t ps, uint32_t node, uint32_t port, uint8_t prios,
			       const uint16_t quanta[8]);
	/* The egress side stops or goes on; an expired pause is told of when the port notices. */
	void (*paused)(void *ctx, uint64_t ps, uint32_t node, uint32_t port, uint32_t prio,
		       bool is_paused);
	/* The watchdog has found a storm of pauses, or its end, for a traffic class. */
	void (*storm)(void *ctx, uint64_t ps, uint32_t node, uint32_t port, uint32_t tc,
		      bool is_stormed);
	void (*link_changed)(void *ctx, uint64_t ps, uint32_t node, uint32_t port, bool is_up);
	/* A host goes wrong, or right again, at a time that was scheduled: it begins or ends to
	 * pause without end, or takes packets at `drain_bps` (0: as fast as the line). */
	void (*host_stormed)(void *ctx, uint64_t ps, uint32_t node, bool is_begin);
	void (*host_drained)(void *ctx, uint64_t ps, uint32_t node, uint64_t drain_bps);
	void (*flow_started)(void *ctx, uint64_t ps, uint32_t flow);
	void (*flow_done)(void *ctx, uint64_t ps, uint32_t flow);
	/* A message of real payload differs from what was sent. */
	void (*payload_wrong)(void *ctx, uint64_t ps, const struct roce_fabric_wrong *wrong);
	/* cycle[i] waits for cycle[i + 1], the last for the first. */
	void (*deadlock)(void *ctx, uint64_t ps, const struct roce_fabric_cycle *cycle,
			 uint32_t count);
};

#endif
