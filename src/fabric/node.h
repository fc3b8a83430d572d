/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Configuration of the two kinds of node: switches, which have a shared buffer, routes, filters and
 * a watchdog; and hosts, each the shipped verbs device and transport behind one adapter port.
 */
#ifndef ROCE_FABRIC_NODE_H
#define ROCE_FABRIC_NODE_H

#include "base/addr.h"
#include "cc/cc.h"
#include "fabric/port.h"

/* ---- switches ---- */

/* X(enumerator, name): how a switch picks one of several next hops. */
#define ROCE_FABRIC_HASHES(X)                                                                    \
	X(HASH_MIXED, "mixed") /* 64-bit mix of the 5-tuple and the switch's own seed */         \
	/* As HPCC's ns-3: seeded by the node's number, next hops in the order in which a search \
	 * from the destination finds them, of its neighbours the last number first. */          \
	X(HASH_MURMUR3, "murmur3")

enum roce_fabric_hash {
#define X(id, name) ROCE_FABRIC_##id,
	ROCE_FABRIC_HASHES(X)
#undef X
};

const char *roce_fabric_hash_str(enum roce_fabric_hash hash);

/* PFC watchdog, by SONiC's rules: a queue that holds frames, sends none, and is paused for at least
 * 99% of the detection time is stormed, until it has not been paused for the restoration time. */
struct roce_fabric_watchdog {
	bool is_enabled;
	bool is_forwarding; /* a stormed queue ignores pauses; else it is emptied and drops */
	uint64_t poll_ps;
	uint64_t detect_ps;
	uint64_t restore_ps;
};

#define ROCE_FABRIC_PORT_ANY   UINT32_MAX
#define ROCE_FABRIC_REGION_OWN UINT32_MAX

/* A filter; frames that match are dropped and counted. */
struct roce_fabric_acl_rule {
	uint32_t in_port; /* or ROCE_FABRIC_PORT_ANY */
	uint8_t family;	  /* 4, 6, or 0: both */
	struct roce_gid src;
	struct roce_gid dst;
	uint8_t src_bits; /* prefix length, of 128 (IPv4: 96 + n); 0: any */
	uint8_t dst_bits;
	uint16_t udp_dport; /* 0: any. RoCEv2 is 4791 */
};

struct roce_fabric_switch_config {
	struct roce_fabric_port_config port; /* of each port that is given no other */
	uint64_t buffer_bytes;		     /* all of it: reserve, headroom and shared pool */
	/* What all lossless, and all lossy priorities may have in egress queues. 0: no limit; lossy
	 * thresholds are of the shared pool then. */
	uint64_t egress_lossless_bytes;
	uint64_t egress_lossy_bytes;
	uint64_t headroom_pool_bytes; /* all headrooms share so much; 0: each is there for itself */
	uint64_t latency_ps;	      /* between coming in and being able to leave */
	bool is_cut_through;	      /* else store and forward */
	uint8_t hash;		      /* enum roce_fabric_hash */
	struct roce_fabric_watchdog watchdog;
	const struct roce_fabric_acl_rule *acl; /* copied */
	uint32_t acl_count;
	/* Switches of one region are one to flows that go by way of it (flow.h); REGION_OWN: each
	 * is a region of its own. */
	uint32_t region;
	int32_t rank; /* level for up-down routing, hosts below all; -1: distance from the hosts */
};

void roce_fabric_switch_defaults(struct roce_fabric_switch_config *out);

/* ---- hosts ---- */

/* Wire bytes of frames: what the headers add up to, or fixed sizes so that results can be compared
 * with a simulator that has them. */
struct roce_fabric_framing {
	uint32_t preamble_gap_bytes; /* occupy the line, but no buffer; 20 */
	uint32_t data_extra_bytes;   /* 0: real headers. Else a frame with payload is that + this */
	uint32_t ack_bytes;	     /* 0: real. Else frames without payload */
	uint32_t pause_bytes;	     /* 0: real (64) */
	bool is_whole_ns;	     /* a frame takes whole nanoseconds, rounded down */
};

/* X(enumerator, name): acknowledgements, beside data that the adapter may send. */
#define ROCE_FABRIC_ACK_TURNS(X)                                         \
	X(ACK_IN_TURN, "no")	/* when it is their queue pair's turn */ \
	X(ACK_FIRST, "yes")	/* before data of their class */         \
	X(ACK_ALWAYS, "always") /* also while their priority is paused here */

enum roce_fabric_ack_turn {
#define X(id, name) ROCE_FABRIC_##id,
	ROCE_FABRIC_ACK_TURNS(X)
#undef X
};

struct roce_fabric_host_config {
	struct roce_fabric_port_config port;
	struct roce_gid gid;  /* zero: ::ffff:10.x.y.z of its number */
	uint64_t tx_delay_ps; /* from the adapter's decision to the first bit */
	uint64_t rx_delay_ps; /* from the last bit to the transport */
	int8_t ack_prio;      /* priority of ACKs; -1: that of their queue pair */
	uint8_t ack_dscp;     /* with ack_prio */
	uint8_t ack_turn;     /* enum roce_fabric_ack_turn; with ack_prio they are first */
	/* Congestion control of its queue pairs (cc/cc.h), and with its parameters what marks that
	 * come lead to. NULL: none, and marks are not told. Longer-lived than the fabric. */
	const struct roce_cc_ops *cc;
	struct roce_cc_params cc_params;
	bool is_reaction_off;	  /* what it is told it does not heed */
	bool is_notification_off; /* it does not tell */
	uint64_t cnp_delay_ps;	  /* from its decision to send a CNP to when that is queued */
	/* A receiver that cannot keep up: bytes wait in a buffer that drains at drain_bps, and
	 * above xoff pauses are sent. 0: as fast as the line. */
	uint64_t drain_bps;
	uint32_t rx_buffer_bytes;
	const char *timing; /* of ACK timeouts: a name of transport/timing.h; NULL: "spec" */
	uint32_t ack_interval_packets; /* an ACK is asked for at least so often */
	uint32_t segment_bytes; /* packets of RC and UC carry so many, if less than the path MTU */
	/* Payload of a queue pair that may be unacknowledged, 0: no limit; by rate: as much of it
	 * as the rate that it may send with is of the line. */
	uint32_t window_bytes;
	bool is_window_by_rate;
	/* After a loss the whole message is sent again, as early adapters did it; on all hosts. */
	bool is_go_back_0;
	bool is_tagged;		 /* frames have an 802.1Q tag with their priority; else no PCP */
	uint16_t vlan_id;	 /* of the tag; 0: for the priority alone */
	bool is_pausing_forever; /* broken: sends pauses for all its PFC priorities */
	bool is_ud_faulty;	 /* broken: damages UD messages of real payload, see nic.c */
};

void roce_fabric_host_defaults(struct roce_fabric_host_config *out);

#endif
