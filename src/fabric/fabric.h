/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simulated network: hosts with the shipped verbs device and transport, switches with shared
 * buffers, links, and the flows between hosts, in virtual time. One object, no globals; the same
 * calls with the same seed give the same run.
 *
 *   create -> add hosts and switches -> connect -> routes -> prepare -> add flows -> run -> results
 *
 * Nodes are numbered in the order in which they are added, the ports of a node in the order of its
 * connections, flows in the order in which they are added (also in a running fabric). Times are
 * picoseconds. Errors are -EINVAL (an argument, with roce_fabric_fault() to say which rule),
 * -ENOMEM, or what is named here.
 */
#ifndef ROCE_FABRIC_FABRIC_H
#define ROCE_FABRIC_FABRIC_H

#include "fabric/counter.h"
#include "fabric/flow.h"
#include "fabric/node.h"
#include "fabric/observer.h"
#include "fabric/port.h"
#include "transport/counter.h"

struct roce_fabric;

struct roce_fabric_config {
	uint64_t seed;
	struct roce_fabric_framing framing;	     /* of all frames */
	const struct roce_fabric_observer *observer; /* NULL: nobody; must outlive the fabric */
	void *observer_ctx;
	/* When nothing was delivered for so long, paused ports are searched for a cycle. 0: never.
	 */
	uint64_t deadlock_check_ps;
	bool is_deadlock_final; /* a deadlock that was found ends the run */
};

void roce_fabric_defaults(struct roce_fabric_config *out);

/* -ENOMEM; -EINVAL: frames of more than 65,535 bytes. */
int roce_fabric_create(const struct roce_fabric_config *cfg, struct roce_fabric **out);
void roce_fabric_destroy(struct roce_fabric *f); /* NULL is fine */

/* X(enumerator, text): the rule that an argument broke, in the words of an error message. */
#define ROCE_FABRIC_FAULTS(X)                                                             \
	X(FAULT_NONE, "nothing")                                                          \
	X(FAULT_NO_SUCH_NODE, "no such node")                                             \
	X(FAULT_SELF_LINK, "a link needs two nodes")                                      \
	X(FAULT_HOST_PORTS, "a host has one port")                                        \
	X(FAULT_RATE, "a rate is 1 kb/s to 800 Gb/s")                                     \
	X(FAULT_MTU, "an MTU is 256 to 9978 bytes")                                       \
	X(FAULT_PRIO, "priorities and classes are 0 to 7")                                \
	X(FAULT_WEIGHT, "the weight of a DWRR class is at least 1")                       \
	X(FAULT_ECN, "kmin is at most kmax, and pmax at most 1000000 ppm")                \
	X(FAULT_ALPHA, "a dynamic threshold needs an alpha")                              \
	X(FAULT_PFC_LOSSY, "PFC needs a lossless buffer for the priority")                \
	X(FAULT_BUFFER, "reserve and headroom of all ports are more than the buffer")     \
	X(FAULT_XOFF, "the XOFF threshold is above the shared buffer: it never fires")    \
	X(FAULT_NOT_HOST, "flows are between two different hosts")                        \
	X(FAULT_NOT_SWITCH, "routes are of switches")                                     \
	X(FAULT_NO_SUCH_PORT, "no such port")                                             \
	X(FAULT_UNREACHABLE, "no way from one host to another")                           \
	X(FAULT_UNPREPARED, "call prepare first")                                         \
	X(FAULT_PREPARED, "the network is closed after prepare")                          \
	X(FAULT_BYTES, "a flow has at least one byte")                                    \
	X(FAULT_MESSAGE, "a message is at most 2 GiB, of UD a path MTU")                  \
	X(FAULT_PATH_MTU, "a path MTU is 256, 512, 1024, 2048 or 4096 and fits the port") \
	X(FAULT_OPERATION, "UC has no READ, UD has SEND alone, only SEND is answered")    \
	X(FAULT_AFTER, "a flow comes after flows that were added before it")              \
	X(FAULT_QUEUE_PAIRS, "a flow has 1 to 4096 queue pairs")                          \
	X(FAULT_TIMING, "no timing of this name")                                         \
	X(FAULT_PAST, "a time that has passed")

enum roce_fabric_fault {
#define X(id, text) ROCE_FABRIC_##id,
	ROCE_FABRIC_FAULTS(X)
#undef X
};

const char *roce_fabric_fault_str(enum roce_fabric_fault fault);
/* Why the last call that returned -EINVAL did so, and at which node, port and priority (or flow, as
 * `out_node`), where that says anything; UINT32_MAX where not. */
enum roce_fabric_fault roce_fabric_fault(const struct roce_fabric *f, uint32_t *out_node,
					 uint32_t *out_port, uint32_t *out_prio);

/* ---- sizes, before anything is made ---- */

struct roce_fabric_size {
	uint64_t hosts;
	uint64_t switches;
	uint64_t links;
};

/* What a network takes, at least. */
uint64_t roce_fabric_size_bytes(const struct roce_fabric_size *size);
/* What a flow takes from when it is added, and what more as long as it runs, at least. */
uint64_t roce_fabric_flow_bytes(const struct roce_fabric_flow_config *cfg);
uint64_t roce_fabric_flow_running_bytes(const struct roce_fabric_flow_config *cfg);

/* ---- building ---- */

int roce_fabric_add_host(struct roce_fabric *f, const struct roce_fabric_host_config *cfg,
			 uint32_t *out_node);
int roce_fabric_add_switch(struct roce_fabric *f, const struct roce_fabric_switch_config *cfg,
			   uint32_t *out_node);
/* The new ports; either output may be NULL. */
int roce_fabric_connect(struct roce_fabric *f, uint32_t a, uint32_t b,
			const struct roce_fabric_link_config *cfg, uint32_t *out_a_port,
			uint32_t *out_b_port);

/* X(enumerator, name) */
#define ROCE_FABRIC_ROUTINGS(X)                                                                 \
	X(ROUTING_SHORTEST, "shortest") /* all next hops on shortest paths share, by hash */    \
	X(ROUTING_UP_DOWN, "up-down")	/* the same, among paths that never go up after down */ \
	X(ROUTING_MINIMAL,                                                                      \
	  "minimal") /* one link between regions, which are the groups of a dragonfly */

enum roce_fabric_routing {
#define X(id, name) ROCE_FABRIC_##id,
	ROCE_FABRIC_ROUTINGS(X)
#undef X
};

const char *roce_fabric_routing_str(enum roce_fabric_routing routing);

/* How routes from every switch to every host are computed: by prepare(), or at once behind it;
 * links that are down are left out. To be called again after links changed, if routing is to
 * notice. -EINVAL with FAULT_UNREACHABLE when two hosts have no way; what has one is routed all the
 * same. */
int roce_fabric_route(struct roce_fabric *f, enum roce_fabric_routing routing);
#define ROCE_FABRIC_ANY_HOST UINT32_MAX

/* From now on frames for `dst` leave `node` by one of these ports, whatever is computed. Count 0:
 * back to what is computed. ANY_HOST: a default route, for hosts that are at another switch and
 * have no static route of their own. */
int roce_fabric_route_static(struct roce_fabric *f, uint32_t node, uint32_t dst,
			     const uint32_t *ports, uint32_t count);

/* Checks and sizes all buffers, computes routes (shortest, if nobody said otherwise), makes the
 * hosts' devices; the network is closed then. A fabric that was refused is good for fault() and
 * destroy() alone. */
int roce_fabric_prepare(struct roce_fabric *f);

/* ---- flows ---- */

int roce_fabric_add_flow(struct roce_fabric *f, const struct roce_fabric_flow_config *cfg,
			 uint32_t *out_flow);
uint32_t roce_fabric_flow_count(const struct roce_fabric *f);
const struct roce_fabric_flow_config *roce_fabric_flow_config(const struct roce_fabric *f,
							      uint32_t flow);
void roce_fabric_flow_result(const struct roce_fabric *f, uint32_t flow,
			     struct roce_fabric_flow_result *out);
/* What congestion control lets a queue pair of the flow send now: the line rate as long as it does
 * not limit it. 0: the flow does not run, or nothing controls it. Asking changes nothing. */
uint64_t roce_fabric_flow_rate_bps(struct roce_fabric *f, uint32_t flow, uint32_t qp);
/* Of message latencies (or of answers), all flows with this tag: q in 0..1; 0 when there are none.
 */
uint64_t roce_fabric_latency_quantile(const struct roce_fabric *f, uint64_t tag, double q);
/* From start to the last byte, alone on its path and without any queue: what slowdown is measured
 * by. The path is that of the first of the next hops at each switch, and no detour. */
uint64_t roce_fabric_flow_ideal_ps(const struct roce_fabric *f, uint32_t flow);
/* Whether its frames, and what answers them, come to their end on such a path, before they have
 * passed so many switches that their hop limit is used up (in a loop, or on a long ring). */
bool roce_fabric_flow_arrives(const struct roce_fabric *f, uint32_t flow);

/* Can it lock up? Looks, along all routes of the flows that were added and at the priorities with
 * which switches pause each other, for buffers that wait for each other in a circle: out_cycle[i]
 * would wait for the next, the last for the first; to be freed. NULL and 0: there is none, as long
 * as routes stay as they are. -ENOMEM, or -E2BIG: more than `steps_max` steps, of which each takes
 * some tens of nanoseconds. */
int roce_fabric_find_circle(const struct roce_fabric *f, uint64_t steps_max,
			    struct roce_fabric_cycle **out_cycle, uint32_t *out_count);

/* ---- running ---- */

/* X(enumerator, text): why a run came back. */
#define ROCE_FABRIC_ENDS(X)                                                                  \
	X(END_TIME, "the time that was asked for")                                           \
	X(END_DONE, "all flows have ended")                                                  \
	X(END_IDLE, "nothing is left to happen, but flows have not ended")                   \
	X(END_DEADLOCK, "deadlock: paused ports wait for each other")                        \
	X(END_STALLED, "nothing was delivered for a thousand looks at it, though flows run") \
	X(END_STOPPED, "stopped")                                                            \
	X(END_MEMORY, "stopped: the memory is nearly used up") /* the caller found out */

enum roce_fabric_end {
#define X(id, text) ROCE_FABRIC_##id,
	ROCE_FABRIC_ENDS(X)
#undef X
};

const char *roce_fabric_end_str(enum roce_fabric_end end);

/* Up to and including `until_ps`, or until all flows have ended. May be called again. */
enum roce_fabric_end roce_fabric_run(struct roce_fabric *f, uint64_t until_ps);
/* From an observer: the run returns after the event at hand. */
void roce_fabric_stop(struct roce_fabric *f);
uint64_t roce_fabric_now_ps(const struct roce_fabric *f);

/* At a time to come: a link goes down or up. -EINVAL: no such port, or a time that has passed. */
int roce_fabric_schedule_link(struct roce_fabric *f, uint32_t node, uint32_t port, bool is_up,
			      uint64_t at_ps);
/* A host begins to pause its switch, for all its PFC priorities and without end, or stops.
 * -EINVAL: no such host, or a time that has passed. */
int roce_fabric_schedule_storm(struct roce_fabric *f, uint32_t node, bool is_begin, uint64_t at_ps);
/* A host takes packets from its receive buffer so fast; 0: as fast as the line. -EINVAL: as above.
 */
int roce_fabric_schedule_drain(struct roce_fabric *f, uint32_t node, uint64_t drain_bps,
			       uint64_t at_ps);

/* ---- looking ---- */

struct roce_fabric_totals {
	uint64_t events;
	uint64_t packet_hops; /* frames, pause frames left out, that were put on a link */
	uint64_t drops[ROCE_FABRIC_DROP_COUNT];
	uint64_t pause_frames;
	uint64_t ecn_marks;
	uint64_t cnps;		  /* sent by hosts */
	uint64_t bytes_delivered; /* payload of flows */
	uint64_t answer_bytes;	  /* delivered beside it: answers of flows with responses */
	/* Of flows with real payload. */
	uint64_t messages_checked;
	uint64_t messages_wrong;
	uint64_t bytes_wrong;
	uint64_t bytes_missing;
	uint64_t messages_damaged; /* by adapters with that fault */
	uint32_t flows_done;
	uint32_t flows_failed;
};

void roce_fabric_totals(const struct roce_fabric *f, struct roce_fabric_totals *out);

/* The paused ports of the deadlock that was found last, each of which waits for the next, the last
 * for the first; count 0: there was none. */
const struct roce_fabric_cycle *roce_fabric_deadlock_circle(const struct roce_fabric *f,
							    uint32_t *out_count);

#define ROCE_FABRIC_WRONGS_MAX 64u

/* The first of the messages that arrived wrong, at most so many. */
const struct roce_fabric_wrong *roce_fabric_wrongs(const struct roce_fabric *f,
						   uint32_t *out_count);

#define ROCE_FABRIC_WRONG_TEXT_MAX 160u

/* "message 17, byte 128 of 4096: expected 0x3b, found 0x8f; 64 bytes wrong, 0 missing" into `out`
 * (ROCE_FABRIC_WRONG_TEXT_MAX bytes), which is returned. */
const char *roce_fabric_wrong_text(const struct roce_fabric_wrong *wrong, char *out);

uint32_t roce_fabric_node_count(const struct roce_fabric *f);
bool roce_fabric_is_host(const struct roce_fabric *f, uint32_t node);
uint32_t roce_fabric_port_count(const struct roce_fabric *f, uint32_t node);

struct roce_fabric_port_view {
	uint32_t peer_node;
	uint32_t peer_port;
	uint64_t rate_bps;
	uint64_t delay_ps;
	bool is_up;
	const struct roce_fabric_port_config *cfg;
	uint32_t headroom_bytes[ROCE_FABRIC_PRIOS]; /* as computed or given */
	uint32_t queue_bytes[ROCE_FABRIC_PRIOS];    /* egress, by traffic class, now */
	uint32_t queue_bytes_max[ROCE_FABRIC_PRIOS];
	uint32_t ingress_bytes[ROCE_FABRIC_PRIOS]; /* buffer by priority, all parts, now */
	uint32_t ingress_bytes_max[ROCE_FABRIC_PRIOS];
	uint32_t headroom_bytes_max[ROCE_FABRIC_PRIOS]; /* of it in the headroom */
	uint8_t paused;					/* bit p: egress of p is paused now */
	uint64_t prio_counters[ROCE_FABRIC_PRIOS][ROCE_FABRIC_PRIO_COUNTER_COUNT];
	uint64_t port_counters[ROCE_FABRIC_PORT_COUNTER_COUNT];
};

int roce_fabric_port_view(struct roce_fabric *f, uint32_t node, uint32_t port,
			  struct roce_fabric_port_view *out);
/* Bytes in the shared pool of a switch, now and at most. */
void roce_fabric_shared_bytes(const struct roce_fabric *f, uint32_t node, uint64_t *out_now,
			      uint64_t *out_max);
/* The transport's counters of a host (transport/counter.h), NULL for a switch. */
const struct roce_counters *roce_fabric_host_counters(const struct roce_fabric *f, uint32_t node);
const struct roce_gid *roce_fabric_host_gid(const struct roce_fabric *f, uint32_t node);
/* The ports by which frames for `dst` may leave `node`; the number of them, at most `max` stored.
 */
uint32_t roce_fabric_next_hops(const struct roce_fabric *f, uint32_t node, uint32_t dst,
			       uint32_t *out_ports, uint32_t max);

#endif
