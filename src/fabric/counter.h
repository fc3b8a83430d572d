/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a port of the fabric counts, in the names of `ethtool -S` where it has one. One list for
 * each priority, one for the port as a whole; both grow at the end only, since reports name
 * counters by their text. A frame counts where it is when the thing happens: rx at the port that it
 * came in at, tx at the port that it leaves by.
 */
#ifndef ROCE_FABRIC_COUNTER_H
#define ROCE_FABRIC_COUNTER_H

#include <stdint.h>

/* X(enumerator, direction, rest): "rx" + "_prio3_" + "packets". */
#define ROCE_FABRIC_PRIO_COUNTERS(X)                                                               \
	X(RX_PACKETS, "rx", "packets")                                                             \
	X(RX_BYTES, "rx", "bytes") /* wire bytes of the frame: without preamble and gap */         \
	X(RX_PAUSE, "rx", "pause") /* pause frames that name the priority, resumes included */     \
	X(RX_PAUSE_DURATION, "rx", "pause_duration")	 /* us that it was paused */               \
	X(RX_PAUSE_TRANSITION, "rx", "pause_transition") /* from running to paused */              \
	X(RX_DISCARDS, "rx", "discards") /* no room in shared buffer or headroom */                \
	X(TX_PACKETS, "tx", "packets")                                                             \
	X(TX_BYTES, "tx", "bytes")                                                                 \
	X(TX_PAUSE, "tx", "pause")                                                                 \
	X(TX_DISCARDS, "tx", "discards")	     /* egress queue above its limit (lossy) */    \
	X(TX_ECN_MARKED, "tx", "ecn_marked")	     /* CE set */                                  \
	X(TX_WRED_DISCARDS, "tx", "wred_discards")   /* would have been marked, not ECN-capable */ \
	X(TX_STORM_DISCARDS, "tx", "storm_discards") /* dropped by the watchdog */                 \
	X(TX_STORMS, "tx", "storms")		     /* that the watchdog detected */

enum roce_fabric_prio_counter {
#define X(id, direction, rest) ROCE_FABRIC_##id,
	ROCE_FABRIC_PRIO_COUNTERS(X)
#undef X
		ROCE_FABRIC_PRIO_COUNTER_COUNT
};

/* X(enumerator, name) */
#define ROCE_FABRIC_PORT_COUNTERS(X)                                                     \
	X(RX_CRC_ERRORS, "rx_crc_errors_phy")  /* bit errors of the link */              \
	X(RX_OVERSIZE, "rx_oversize_pkts_phy") /* above this port's MTU */               \
	X(RX_ACL_DISCARDS, "rx_acl_discards")                                            \
	X(RX_TTL_DISCARDS, "rx_ttl_discards") /* would leave with TTL 0 */               \
	X(RX_NO_ROUTE, "rx_no_route_discards")                                           \
	X(RX_LINK_DISCARDS, "rx_link_discards") /* lost, by the link's fault settings */ \
	X(TX_LINK_DOWN_DISCARDS, "tx_link_down_discards")                                \
	X(LINK_DOWN_EVENTS, "link_down_events_phy")

enum roce_fabric_port_counter {
#define X(id, name) ROCE_FABRIC_PORT_##id,
	ROCE_FABRIC_PORT_COUNTERS(X)
#undef X
		ROCE_FABRIC_PORT_COUNTER_COUNT
};

#define ROCE_FABRIC_COUNTER_NAME_MAX 40u

/* "rx_prio3_pause" into `out` (ROCE_FABRIC_COUNTER_NAME_MAX bytes). */
void roce_fabric_prio_counter_name(enum roce_fabric_prio_counter counter, uint32_t prio, char *out);
const char *roce_fabric_port_counter_str(enum roce_fabric_port_counter counter);

#endif
