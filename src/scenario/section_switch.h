/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A switch: its buffer by the names of SONiC's profiles, classes of service as mlnx_qos writes
 * them, marking, watchdog. `switches` overrides it by name, `ports` for a port ("leaf0:spine*").
 */
#ifndef ROCE_SCENARIO_SECTION_SWITCH_H
#define ROCE_SCENARIO_SECTION_SWITCH_H

#include "scenario/key.h"

#include "scenario/section_qos.h"

enum roce_forwarding { ROCE_STORE_AND_FORWARD, ROCE_CUT_THROUGH };
enum roce_mark_at { ROCE_MARK_AT_ENQUEUE, ROCE_MARK_AT_DEQUEUE };
enum roce_watchdog_action { ROCE_WATCHDOG_DROP, ROCE_WATCHDOG_FORWARD };

/* `only` of a key that a single port cannot have. */
#define ROCE_WHOLE_SWITCH 1u

/* clang-format off */
#define ROCE_SWITCH_OWN_KEYS(X)                                                                    \
	X(forwarding, "forwarding", WORD, "store-and-forward", NULL, NULL,                         \
	  "store-and-forward|cut-through", ROCE_WHOLE_SWITCH,                                      \
	  "whether a frame leaves before it has come in whole", NULL)                              \
	X(latency, "latency", TIME, "600ns", NULL, "1ms", NULL, ROCE_WHOLE_SWITCH,                 \
	  "time from a frame's arrival to its queue", "data sheets of 100G to 400G switches: 300 to 800 ns") \
	X(mtu, "mtu", BYTES, "9000", "256", "9978", NULL, 0,                                      \
	  "longest IP packet; what is longer is dropped and counted", "jumbo frames, as RoCE networks have them") \
	X(hash, "hash", WORD, "mixed", NULL, NULL, "mixed|murmur3", ROCE_WHOLE_SWITCH,             \
	  "how it picks one of several next hops; murmur3: as HPCC ns-3", NULL)                    \
	X(buffer_size, "buffer.size", BYTES, "32MiB", "16kB", "4GB", NULL, ROCE_WHOLE_SWITCH,      \
	  "packet memory, shared by all ports; less reserves and headroom SONiC's ingress_lossless_pool", \
	  "switches of 3.2 to 6.4 Tb/s: 16 to 42 MB")                                              \
	X(headroom_pool, "buffer.ingress_lossless_pool.xoff", BYTES, "0", NULL, "4GB", NULL, ROCE_WHOLE_SWITCH, \
	  "headroom that all ports share, as they will not need it at one time; 0: each its own",  \
	  "SONiC BUFFER_POOL xoff: the shared headroom pool")                                      \
	X(egress_lossless, "buffer.egress_lossless_pool.size", BYTES_AUTO, "auto", "16kB", "4GB", NULL, ROCE_WHOLE_SWITCH, \
	  "what all lossless queues hold at most: above it lossless packets are dropped; auto: no limit", \
	  "SONiC gives it all of the memory")                                                      \
	X(egress_lossy, "buffer.egress_lossy_pool.size", BYTES_AUTO, "auto", "16kB", "4GB", NULL, ROCE_WHOLE_SWITCH, \
	  "what all lossy queues hold at most, and share by their thresholds; auto: they share what is free of the buffer", \
	  "SONiC has it smaller than the memory")                                                  \
	X(pg_size, "buffer.pg_lossless.size", BYTES, "18432", NULL, "64MB", NULL, 0,               \
	  "reserve of each lossless priority of a port", "SONiC pg_lossless profile at 100G")      \
	X(pg_xoff, "buffer.pg_lossless.xoff", BYTES_AUTO, "auto", NULL, "64MB", NULL, 0,           \
	  "headroom: room for what still comes after XOFF; auto: from rate, length and MTU",       \
	  "SONiC BUFFER_PROFILE xoff; IEEE 802.1Q annex on PFC buffer requirements")               \
	X(pg_dynamic_th, "buffer.pg_lossless.dynamic_th", SIGNED, "-3","-8", "8", NULL, 0,         \
	  "XOFF above alpha times the free pool, alpha = 2^dynamic_th",                            \
	  "SONiC pg_lossless profiles have -3 to 3")                                               \
	X(pg_static_th, "buffer.pg_lossless.static_th", BYTES, "0", NULL, "64MB", NULL, 0,         \
	  "XOFF above so many bytes in place of a dynamic threshold; 0: dynamic", NULL)            \
	X(pg_xon, "buffer.pg_lossless.xon", BYTES_AUTO, "auto", NULL, "64MB", NULL, 0,             \
	  "XON when the priority holds no more than this, or is xon_offset below XOFF; auto: size", \
	  "SONiC pg_lossless profiles at 100G have xon = size")                                    \
	X(pg_xon_offset, "buffer.pg_lossless.xon_offset", BYTES, "2496", NULL, "64MB", NULL, 0,    \
	  "XON so far below the XOFF point", "SONiC pg_lossless profiles have 2288 to 4608")       \
	X(uncounted, "buffer.uncounted", PFC, "0,0,0,0,0,0,0,0", NULL, NULL, NULL, 0,              \
	  "1 for each priority whose packets take no buffer: control traffic", NULL)               \
	X(q_lossless_th, "buffer.q_lossless.static_th", BYTES, "0", NULL, "4GB", NULL, 0,          \
	  "a lossless queue drops above so many bytes; 0: never",                                  \
	  "SONiC egress_lossless_profile: all of the memory, so never")                            \
	X(q_size, "buffer.q_lossy.size", BYTES, "0", NULL, "64MB", NULL, 0,                        \
	  "reserve of each lossy queue", "SONiC q_lossy_profile")                                  \
	X(q_dynamic_th, "buffer.q_lossy.dynamic_th", SIGNED, "0", "-8", "8", NULL, 0,              \
	  "a lossy queue drops above alpha times what is free of its pool", "SONiC q_lossy profiles have 0 to 3") \
	X(q_static_th, "buffer.q_lossy.static_th", BYTES, "0", NULL, "4GB", NULL, 0,               \
	  "a lossy queue drops above so many bytes in place of a dynamic threshold; 0: dynamic", NULL) \
	X(ecn, "ecn.enabled", BOOL, "true", NULL, NULL, NULL, 0,                                   \
	  "mark packets", NULL)                                                                    \
	X(ecn_tc, "ecn.tc", PFC, "0,0,0,1,0,0,0,0", NULL, NULL, NULL, 0,                       \
	  "1 for each traffic class whose packets are marked", "NVIDIA RoCE configuration")                      \
	X(kmin, "ecn.kmin", BYTES, "400kB", NULL, "1GB", NULL, 0,                                  \
	  "nothing is marked below; SONiC's green_min_threshold", "HPCC ns-3 at 100G")             \
	X(kmax, "ecn.kmax", BYTES, "1600kB", NULL, "1GB", NULL, 0,                                 \
	  "everything is marked above; SONiC's green_max_threshold", "HPCC ns-3 at 100G")          \
	X(pmax, "ecn.pmax", PERCENT, "20%", NULL, "100%", NULL, 0,                                 \
	  "part marked at kmax; SONiC's green_drop_probability", "HPCC ns-3")                      \
	X(red, "ecn.red", BOOL, "false", NULL, NULL, NULL, 0,                                      \
	  "drop by the same curve what is not ECN-capable, as acknowledgements", "NVIDIA's switches mark only; SONiC's wred_green_enable drops") \
	X(mark_at, "ecn.at", WORD, "enqueue", NULL, NULL, "enqueue|dequeue", 0,                    \
	  "where the queue is looked at", "where WRED stands")                     \
	X(watchdog, "watchdog.enabled", BOOL, "false", NULL, NULL, NULL, ROCE_WHOLE_SWITCH, \
	  "PFC watchdog", "SONiC: off until started")                                              \
	X(watchdog_poll, "watchdog.poll_interval", TIME, "200ms", "10us", "10s", NULL, ROCE_WHOLE_SWITCH, \
	  "how often queues are looked at", "SONiC POLL_INTERVAL")                                 \
	X(watchdog_detection, "watchdog.detection_time", TIME, "200ms", "10us", "10s", NULL, ROCE_WHOLE_SWITCH, \
	  "a queue paused so long without sending is in a storm", "SONiC pfcwd start_default")     \
	X(watchdog_restoration, "watchdog.restoration_time", TIME, "200ms", "10us", "60s", NULL, ROCE_WHOLE_SWITCH, \
	  "a storm is over when no pause came for so long", "SONiC pfcwd start_default")           \
	X(watchdog_action, "watchdog.action", WORD, "drop", NULL, NULL, "drop|forward", ROCE_WHOLE_SWITCH, \
	  "what becomes of packets of a queue in a storm", "SONiC pfcwd start_default")
/* clang-format on */
#define ROCE_SWITCH_QOS_KEYS(X)                                                         \
	X(remark, "qos.remark", PRIO_TC, "0,1,2,3,4,5,6,7", NULL, NULL, NULL, 0,        \
	  "priority with which packets of each priority leave, in queue, DSCP and PCP", \
	  "SONiC dual ToR has such a map, so that what comes back cannot lock up with what goes")
#define ROCE_SWITCH_KEYS(X) ROCE_SWITCH_OWN_KEYS(X) ROCE_QOS_KEYS(X) ROCE_SWITCH_QOS_KEYS(X)

struct roce_switch_conf {
	ROCE_SWITCH_KEYS(ROCE_KEY_MEMBER)
	struct {
		ROCE_SWITCH_KEYS(ROCE_KEY_LINE)
	} where;
};

extern const struct roce_section roce_section_switch;
/* The same keys for single ports: list only. */
extern const struct roce_section roce_section_port;

#endif
