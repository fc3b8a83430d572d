/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Configuration of a port, alike for switches and adapters: how frames become priorities and
 * traffic classes, how classes share the line, what PFC and ECN do, and how much buffer each
 * priority may take. And of the link between two ports.
 *
 * A port is given by a struct that roce_fabric_port_defaults() has filled; the fabric keeps one
 * copy for all ports that have the same.
 */
#ifndef ROCE_FABRIC_PORT_H
#define ROCE_FABRIC_PORT_H

#include <stdbool.h>
#include <stdint.h>

#define ROCE_FABRIC_PRIOS     8u /* priorities, and traffic classes at most */
#define ROCE_FABRIC_PRIO_MASK (ROCE_FABRIC_PRIOS - 1)
#define ROCE_FABRIC_DSCPS     64u

/* Headroom that the fabric computes from rate, length, MTU and the sender's response time. */
#define ROCE_FABRIC_COMPUTED  UINT32_MAX

#define ROCE_FABRIC_ALPHA_ONE 1024u /* alpha of dynamic thresholds: parts of 1024 */

/* ---- classification and scheduling ---- */

enum roce_fabric_trust {
	ROCE_FABRIC_TRUST_DSCP, /* layer 3: the DSCP names the priority */
	ROCE_FABRIC_TRUST_PCP,	/* layer 2: the tag does; untagged frames are default_prio */
};

/* X(enumerator, name): who sends next among traffic classes. */
#define ROCE_FABRIC_SCHEDULERS(X)                                              \
	X(STRICT, "strict") /* before all others; higher class number first */ \
	X(DWRR, "dwrr")	    /* shares what strict classes leave, by weight, in bytes */

enum roce_fabric_scheduler {
#define X(id, name) ROCE_FABRIC_##id,
	ROCE_FABRIC_SCHEDULERS(X)
#undef X
};

const char *roce_fabric_scheduler_str(enum roce_fabric_scheduler scheduler);

struct roce_fabric_qos {
	uint8_t trust; /* enum roce_fabric_trust */
	uint8_t default_prio;
	uint8_t dscp_to_prio[ROCE_FABRIC_DSCPS];
	uint8_t pcp_to_prio[ROCE_FABRIC_PRIOS];
	uint8_t prio_to_tc[ROCE_FABRIC_PRIOS];
	/* Of a switch: the priority with which a frame of this one leaves by the port, in its
	 * queue, its DSCP and its PCP. Where it came in it keeps its old one. */
	uint8_t remark[ROCE_FABRIC_PRIOS];
	uint8_t tc_scheduler[ROCE_FABRIC_PRIOS]; /* enum roce_fabric_scheduler */
	uint8_t tc_weight[ROCE_FABRIC_PRIOS];	 /* DWRR: percent, or any ratio; 1 to 255 */
};

/* ---- ECN ---- */

/* WRED on the bytes in the egress queue, where ECN-capable frames are marked instead of dropped.
 * Data is ECN-capable, acknowledgements are not. */
struct roce_fabric_ecn {
	bool is_enabled;
	bool is_mark_only;  /* what is not ECN-capable passes; else WRED drops it in place of a mark
			     */
	bool is_at_dequeue; /* decide when the frame leaves, by what stays; else as it comes */
	uint32_t kmin_bytes;
	uint32_t kmax_bytes;
	uint32_t pmax_ppm; /* at kmax; above it all are marked */
};

/* ---- PFC ---- */

struct roce_fabric_pfc {
	uint8_t prios;	      /* bit p: pauses are sent and obeyed for priority p */
	uint16_t quanta;      /* that a pause asks for, 512 bit times each */
	bool is_unlimited;    /* a pause lasts until it is ended: nothing is repeated or expires */
	uint64_t refresh_ps;  /* a pause is repeated so long after the last; 0: at half its time */
	uint64_t response_ps; /* from receiving a pause to starting no more frames */
};

/* ---- buffer ---- */

/* X(enumerator, name): what becomes of frames that find no room. */
#define ROCE_FABRIC_BUFFER_KINDS(X)                                                             \
	X(LOSSY, "lossy")	  /* dropped above the dynamic limit of the egress queue */     \
	X(LOSSLESS, "lossless")	  /* the sender is paused; headroom takes what is on its way */ \
	X(UNCOUNTED, "uncounted") /* takes no buffer and is never dropped: control traffic */

enum roce_fabric_buffer_kind {
#define X(id, name) ROCE_FABRIC_##id,
	ROCE_FABRIC_BUFFER_KINDS(X)
#undef X
};

const char *roce_fabric_buffer_kind_str(enum roce_fabric_buffer_kind kind);

/* Ingress buffer of one priority of one port. */
struct roce_fabric_buffer {
	uint8_t kind;		 /* enum roce_fabric_buffer_kind */
	uint32_t reserve_bytes;	 /* of its own, used first */
	uint32_t headroom_bytes; /* LOSSLESS: or ROCE_FABRIC_COMPUTED */
	uint32_t xoff_bytes;	 /* LOSSLESS: static threshold in the shared pool; 0: dynamic */
	uint32_t alpha;		 /* dynamic: threshold = alpha * free shared bytes */
	/* It resumes when all that it holds is at most xon, or xon_offset below reserve and
	 * threshold. xon is the reserve if ROCE_FABRIC_COMPUTED. */
	uint32_t xon_bytes;
	uint32_t xon_offset_bytes;
	uint32_t egress_alpha;	     /* LOSSY: limit of the egress queue, the same way */
	uint32_t egress_limit_bytes; /* static limit of the egress queue; 0: none, LOSSY: alpha */
};

struct roce_fabric_port_config {
	uint32_t mtu_bytes; /* of the IP packet; longer ones are dropped where they come in */
	struct roce_fabric_qos qos;
	struct roce_fabric_pfc pfc;
	struct roce_fabric_ecn ecn[ROCE_FABRIC_PRIOS];	     /* by traffic class */
	struct roce_fabric_buffer buffer[ROCE_FABRIC_PRIOS]; /* by priority */
};

/* What the trade does: trust DSCP (DSCP / 8 is the priority, 26 is 3, 48 is 6), priority 3 lossless
 * with PFC and ECN and half of the line, class 6 strict, the rest lossy; MTU 9000. Sources of the
 * numbers are beside them in defaults.c. */
void roce_fabric_port_defaults(struct roce_fabric_port_config *out);

/* ---- links ---- */

/* Faults of one direction. Each kind draws from a stream of its own. */
struct roce_fabric_faults {
	uint32_t loss_ppm; /* frames that vanish */
	uint32_t duplicate_ppm;
	uint32_t reorder_ppm; /* frames that come late by up to reorder_ps_max */
	uint64_t reorder_ps_max;
	uint32_t
		bit_errors_per_1e15; /* a frame with a wrong bit is dropped by the receiver's FCS */
};

struct roce_fabric_link_config {
	uint64_t rate_bps;			       /* 1 to 800 Gb/s, or less */
	uint64_t delay_ps;			       /* propagation, one way */
	struct roce_fabric_faults faults[2];	       /* [0]: from the first node to the second */
	const struct roce_fabric_port_config *port[2]; /* NULL: as the node's default */
};

#endif
