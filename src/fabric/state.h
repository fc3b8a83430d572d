/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fabric from inside: ports, nodes and what the files of this folder call of each other. Only
 * files here include it; everybody else sees fabric.h.
 *
 * A port is both ends of two directions: its egress queues and line, and the frames that fly
 * towards it. It has one event for each, so a hop costs one event, or two where the frame had to
 * wait: a line that falls idle needs none.
 */
#ifndef ROCE_FABRIC_STATE_H
#define ROCE_FABRIC_STATE_H

#include "base/prng.h"
#include "fabric/fabric.h"
#include "fabric/frame.h"
#include "sim/event_queue.h"

#include <string.h>

#define ROCE_FABRIC_NONE UINT32_MAX

struct roce_fabric_node;
struct roce_fabric_host;
struct roce_fabric_switch;
struct roce_fabric_flow;
struct roce_fabric_histogram;
struct roce_fabric_late;
struct roce_fabric_fault_state;
struct roce_fabric_watch;
struct roce_fabric_deadlock;
struct roce_fabric_host_change;

/* What all ports with one configuration share. */
struct roce_fabric_profile {
	struct roce_fabric_profile *next;
	struct roce_fabric_port_config cfg;
	uint8_t strict_tcs;			  /* bit per class */
	uint8_t tc_prios[ROCE_FABRIC_PRIOS];	  /* priorities of a class */
	int32_t quantum_bytes[ROCE_FABRIC_PRIOS]; /* DWRR: of a class, each round */
	uint8_t tcs_of_prios[1u << ROCE_FABRIC_PRIOS];
};

/* Egress queue of a traffic class, and what has left by the priority of the same number: one cache
 * line, since mostly they are the same. */
struct roce_fabric_queue {
	_Alignas(64) struct roce_fabric_fifo fifo;
	uint32_t bytes;
	uint32_t bytes_max;
	int32_t deficit_bytes; /* DWRR: what it may still send in this round */
	uint64_t tx_packets;
	uint64_t tx_bytes;
};

/* Buffer that one priority of a port has taken in its switch, and what has come in: all that a
 * frame which leaves asks of the port that it came in at. */
struct roce_fabric_ingress {
	_Alignas(64) const struct roce_fabric_buffer *cfg; /* of a switch: in its port's profile */
	uint32_t bytes;					   /* in reserve and shared pool */
	uint32_t headroom_bytes;
	uint32_t headroom_limit;
	uint32_t bytes_max; /* with headroom */
	uint32_t headroom_max;
	bool is_told; /* as `told` of the port says */
	uint64_t rx_packets;
	uint64_t rx_bytes;
};

struct roce_fabric_port {
	/* Sending: a line that every frame needs, and another. */
	_Alignas(64) struct roce_event tx; /* the line may take the next frame */
	uint64_t free_ps;		   /* the line is taken until then */
	uint8_t busy;			   /* classes with frames */
	uint8_t paused;			   /* priorities that the peer has paused */
	uint8_t told;			   /* priorities that the peer is paused for, by us */
	uint8_t tell;			   /* priorities that a pause frame has to speak of */
	uint8_t stormed;		   /* classes that the watchdog has taken out of service */
	uint8_t ignored; /* priorities whose pauses are not obeyed: the watchdog's */
	uint8_t last_tc; /* DWRR: whose turn it is */
	bool is_up;
	_Alignas(64) struct roce_fabric *f;
	struct roce_fabric_node *node;
	struct roce_fabric_port *peer;
	const struct roce_fabric_profile *profile;
	uint64_t byte_ps_q16; /* a byte, 16 bits of fraction */
	int64_t flight_ps;    /* from the line's end to the peer's arrival event */
	struct roce_fabric_fault_state *faults; /* of what it sends, or NULL */
	uint32_t gap_bytes;			/* preamble and gap */
	bool has_unready; /* frames in the queues may have to wait, though the line is free */
	bool is_cut;	  /* the peer is a cut-through switch */
	bool is_whole_ns; /* see struct roce_fabric_framing */

	/* Receiving. */
	_Alignas(64) struct roce_event arrival;
	struct roce_fabric_fifo flying; /* towards this port, in order of arrival */

	struct roce_fabric_queue queues[ROCE_FABRIC_PRIOS];
	struct roce_fabric_ingress ingress[ROCE_FABRIC_PRIOS];

	/* Rare. */
	uint64_t prio_counters[ROCE_FABRIC_PRIOS][ROCE_FABRIC_PRIO_COUNTER_COUNT];
	uint32_t index;		/* in its node */
	uint8_t watched_storms; /* classes that are stormed, whatever is done about it */
	uint64_t latency_ps;	/* of the switch */
	uint64_t tail_ps;	/* the gap behind a frame */
	uint64_t cut_ps;	/* from the start to the bits that a cut-through peer decides by */
	uint64_t rate_bps;
	uint64_t delay_ps;
	uint64_t paused_until_ps[ROCE_FABRIC_PRIOS];
	uint64_t paused_since_ps[ROCE_FABRIC_PRIOS];
	uint64_t paused_sum_ps[ROCE_FABRIC_PRIOS]; /* ended pauses */
	uint64_t refresh_ps[ROCE_FABRIC_PRIOS];	   /* when the neighbour's pause is repeated */
	struct roce_event refresh;
	uint64_t port_counters[ROCE_FABRIC_PORT_COUNTER_COUNT];
};

struct roce_fabric_node {
	uint32_t index;
	uint32_t host_number; /* or ROCE_FABRIC_NONE */
	uint32_t port_count;
	struct roce_fabric_profile *profile; /* of ports that were given no other */
	struct roce_fabric_port *ports;
	struct roce_fabric_host *host; /* or NULL */
	struct roce_fabric_switch *sw; /* or NULL */
};

/* Next hops that several destinations share. */
struct roce_fabric_group {
	uint32_t first; /* in hops */
	uint32_t count;
};

struct roce_fabric_switch {
	/* What every frame needs. */
	_Alignas(64) uint64_t shared_total; /* what reserve and headroom leave */
	uint64_t shared_used;
	uint64_t shared_max;
	uint16_t *routes; /* group by destination host */
	struct roce_fabric_group *groups;
	uint32_t *hops; /* ports */
	uint64_t hash_seed;
	uint32_t acl_count;
	uint8_t hash; /* enum roce_fabric_hash */
	bool has_egress_limits;
	uint64_t headroom_used;

	uint64_t headroom_total;  /* 0: no pool */
	uint64_t egress_total[2]; /* LOSSY, LOSSLESS; 0: no limit */
	uint64_t egress_used[2];  /* with has_egress_limits */
	uint64_t tie_until_ps; /* frames that come at one time are drawn among: there were drops */
	struct roce_prng tie;
	struct roce_prng wred;
	uint32_t group_count;
	uint32_t hop_count;
	struct roce_fabric_acl_rule *acl;
	struct roce_fabric_switch_config cfg;
};

struct roce_fabric_link {
	struct roce_fabric_link_config cfg;
	uint32_t node[2];
	uint32_t port[2];
	struct roce_fabric_profile *profile[2];
};

struct roce_fabric_static_route {
	uint32_t node;
	uint32_t dst;
	uint32_t count;
	uint32_t *ports;
};

struct roce_fabric {
	struct roce_event_queue queue;
	struct roce_fabric_frame_pool frames;
	const struct roce_fabric_observer *observer; /* NULL: nobody watches */
	void *observer_ctx;
	struct roce_fabric_config cfg;
	struct roce_fabric_totals totals;
	bool is_prepared;
	bool is_stopped;
	uint8_t end; /* enum roce_fabric_end of a run that ended itself */
	uint8_t routing;
	struct roce_fabric_late *late_free;
	struct roce_fabric_late *late_made;

	struct roce_fabric_node *nodes;
	uint32_t node_count;
	uint32_t node_room;
	uint32_t *host_nodes;  /* node by host number */
	struct roce_gid *gids; /* of hosts, the same way: hosts themselves are far apart */
	uint32_t host_count;
	struct roce_fabric_link *links;
	uint32_t link_count;
	uint32_t link_room;
	struct roce_fabric_port *ports; /* of all nodes */
	struct roce_fabric_static_route *statics;
	uint32_t static_count;
	uint32_t static_room;
	uint32_t *static_slots; /* numbers of them + 1, by node and destination: open addressing */
	uint32_t static_slot_mask;
	struct roce_fabric_profile *profiles;

	struct roce_fabric_flow **flows;
	struct roce_fabric_histogram *histograms;
	uint32_t flow_count;
	uint32_t flow_room;
	uint32_t open_count;	/* flows that have not ended */
	uint32_t running_count; /* of them, those that have begun */

	struct roce_fabric_host_change *host_changes;
	struct roce_fabric_watch *watches;
	struct roce_fabric_deadlock *deadlock; /* or NULL */
	uint32_t polling_count;		       /* events that go on for ever */
	bool has_tags;			       /* some host's frames are tagged */

	uint32_t fault;
	uint32_t fault_node;
	uint32_t fault_port;
	uint32_t fault_prio;

	uint32_t damaged_bit; /* of the damaged frame that is being dropped */
	uint32_t wrong_count; /* that are kept */
	struct roce_fabric_wrong wrongs[ROCE_FABRIC_WRONGS_MAX];
};

/* Whole nanoseconds are rounded down from a sum of seconds that is a little too small: 8384 ns are
 * 8383. */
static inline uint64_t roce_fabric_line_ps(const struct roce_fabric_port *port, uint64_t bytes)
{
	uint64_t ps = (bytes * port->byte_ps_q16 + (1u << 15)) >> 16;

	return __builtin_expect(port->is_whole_ns && ps, 0) ? ps - 1 - (ps - 1) % ROCE_PS_PER_NS
							    : ps;
}

/* Now; in whole nanoseconds where all times are, so without the picosecond below. */
static inline uint64_t roce_fabric_line_begin_ps(const struct roce_fabric_port *port)
{
	uint64_t ps = port->f->queue.now_ps;

	return __builtin_expect(port->is_whole_ns, 0) ? ps - ps % ROCE_PS_PER_NS : ps;
}

/* The line is taken from then on for so many bytes; until when. Where all times are whole
 * nanoseconds, much happens in one, and what comes in it comes before the line is free: the queue
 * that marks are decided by is as long as it gets. */
static inline uint64_t roce_fabric_line_take(struct roce_fabric_port *port, uint64_t begin_ps,
					     uint32_t bytes)
{
	uint64_t end_ps = begin_ps + roce_fabric_line_ps(port, bytes);

	port->free_ps = end_ps + port->is_whole_ns;
	return end_ps;
}

static inline bool roce_fabric_is_observed(const struct roce_fabric *f)
{
	return __builtin_expect(f->observer != NULL, 0);
}

/* ---- check.c ---- */

int roce_fabric_refuse(struct roce_fabric *f, enum roce_fabric_fault fault, uint32_t node,
		       uint32_t port, uint32_t prio);
int roce_fabric_check_port(struct roce_fabric *f, const struct roce_fabric_port_config *cfg,
			   uint32_t node, uint32_t port);
int roce_fabric_check_flow(struct roce_fabric *f, const struct roce_fabric_flow_config *cfg);

/* ---- profile.c ---- */

/* The profile of this configuration, made if it is new; NULL: no memory. */
struct roce_fabric_profile *roce_fabric_profile_get(struct roce_fabric *f,
						    const struct roce_fabric_port_config *cfg);

#define ROCE_FABRIC_UNTAGGED 15u /* in the place of a PCP */

static inline uint8_t roce_fabric_classify(const struct roce_fabric_qos *qos, uint8_t traffic_class,
					   uint8_t pcp)
{
	if (qos->trust == ROCE_FABRIC_TRUST_DSCP)
		return qos->dscp_to_prio[traffic_class >> 2];
	return pcp < ROCE_FABRIC_PRIOS ? qos->pcp_to_prio[pcp] : qos->default_prio;
}

/* ---- line.c: sending and flying ---- */

void roce_fabric_port_init(struct roce_fabric_port *port);
/* Something may have become ready to be sent: sends it, or sees to it that it is sent. */
void roce_fabric_port_kick(struct roce_fabric_port *port);
/* Into the queue of a class, without more. */
void roce_fabric_queue_push(struct roce_fabric_port *port, struct roce_fabric_frame *frame,
			    uint8_t tc);
/* Drops what waits in a class. */
void roce_fabric_queue_drop(struct roce_fabric_port *port, uint8_t tc, enum roce_fabric_drop why);
/* A frame has come. */
void roce_fabric_deliver(struct roce_fabric_port *to, struct roce_fabric_frame *frame);

/* ---- drop.c: what becomes of frames that go no further ---- */

/* Counts it, tells the observer, frees the frame. */
void roce_fabric_drop(struct roce_fabric_port *at, struct roce_fabric_frame *frame,
		      enum roce_fabric_drop why);
struct roce_fabric_frame_view roce_fabric_view_frame(const struct roce_fabric *f,
						     const struct roce_fabric_frame *frame);

/* ---- late.c: what travels on an event of its own ---- */

/* A pause frame, or a frame out of order: rare, so ports have no event for it. */
struct roce_fabric_late {
	struct roce_event ev;
	struct roce_fabric_late *next_free;
	struct roce_fabric_late *next_made;
	struct roce_fabric_port *to;
	struct roce_fabric_frame *frame;
	uint8_t prios;
	uint16_t quanta[ROCE_FABRIC_PRIOS];
};

struct roce_fabric_late *roce_fabric_late_get(struct roce_fabric *f,
					      void (*fire)(struct roce_event *ev));
void roce_fabric_late_put(struct roce_fabric *f, struct roce_fabric_late *late);
void roce_fabric_late_free_all(struct roce_fabric *f);

/* ---- fault.c: links that lose, and links that go ---- */

int roce_fabric_faults_init(struct roce_fabric_port *port, const struct roce_fabric_faults *faults,
			    struct roce_prng *root);
/* A frame whose arrival is set flies through a link with faults. */
void roce_fabric_faults_apply(struct roce_fabric_port *from, struct roce_fabric_frame *frame);

/* ---- pause.c: PFC ---- */

void roce_fabric_pause_init(struct roce_fabric_port *port);
/* The neighbour shall pause, or may go on with, the priority. */
void roce_fabric_pause_tell(struct roce_fabric_port *port, uint8_t prio, bool is_paused);
/* Puts the pause frame that is due on the line, which is free. */
void roce_fabric_pause_send(struct roce_fabric_port *port);
/* Classes that may not send now. */
uint8_t roce_fabric_paused_tcs(struct roce_fabric_port *port);
/* When the first of the pauses that hold back classes `tcs` expires. */
uint64_t roce_fabric_pause_end_ps(const struct roce_fabric_port *port, uint8_t tcs);
/* How long the priority was paused, until now. */
uint64_t roce_fabric_paused_ps(const struct roce_fabric_port *port, uint8_t prio);
/* The link goes: nobody is paused any more. */
void roce_fabric_pause_forget(struct roce_fabric_port *port);

/* ---- buffer.c: the shared buffer of a switch ---- */

/* Takes room for a frame that came in at `in` and is to leave by `out`. False: `out_why`. */
bool roce_fabric_buffer_take(struct roce_fabric_switch *sw, struct roce_fabric_port *in,
			     const struct roce_fabric_queue *out, struct roce_fabric_frame *frame,
			     enum roce_fabric_drop *out_why);
void roce_fabric_buffer_give(struct roce_fabric_switch *sw, struct roce_fabric_port *in,
			     const struct roce_fabric_frame *frame);
/* Reserve, headroom and shared pool of all switches. */
int roce_fabric_buffers_prepare(struct roce_fabric *f);
/* What may come in at the port after the decision to pause. */
uint64_t roce_fabric_headroom_bytes(const struct roce_fabric_port *port);

/* ---- switch.c ---- */

void roce_fabric_switch_receive(struct roce_fabric_port *in, struct roce_fabric_frame *frame);
/* A frame leaves: its buffer is free again, and it may be marked. False: dropped by WRED. */
bool roce_fabric_switch_leave(struct roce_fabric_port *out, const struct roce_fabric_queue *queue,
			      struct roce_fabric_frame *frame, uint8_t tc);

/* Whether a detour by way of that host ends at this switch. */
bool roce_fabric_is_region_of(const struct roce_fabric_node *node, uint32_t host);

/* ---- route.c ---- */

int roce_fabric_routes_compute(struct roce_fabric *f);
void roce_fabric_routes_free(struct roce_fabric_switch *sw);

/* ---- host_device.c ---- */

int roce_fabric_host_prepare(struct roce_fabric_node *node);
void roce_fabric_host_destroy(struct roce_fabric_node *node);

/* ---- host.c ---- */

void roce_fabric_host_receive(struct roce_fabric_port *in, struct roce_fabric_frame *frame);
/* Classes for which the transport has something to send. */
uint8_t roce_fabric_host_waiting(const struct roce_fabric_port *port);
/* Classes that send what stands in their queue although they are paused. */
uint8_t roce_fabric_host_unpaused(const struct roce_fabric_port *port);
/* Pulls the next packet of a class into the queue where it belongs; false: there was none. */
bool roce_fabric_host_pull(struct roce_fabric_port *port, uint8_t tc);
uint64_t roce_fabric_host_tx_delay_ps(const struct roce_fabric_node *node);
uint64_t roce_fabric_host_rx_delay_ps(const struct roce_fabric_node *node);
/* V6 and TAGGED of the frames that it sends. */
uint8_t roce_fabric_host_flags(const struct roce_fabric_node *node);
uint8_t roce_fabric_host_mtu_code(const struct roce_fabric_node *node);
/* The timer of the transport has changed. */
void roce_fabric_host_follow(struct roce_fabric_port *port);

/* ---- host_fault.c ---- */

void roce_fabric_host_changes_free(struct roce_fabric *f);

/* ---- flow.c ---- */

void roce_fabric_flows_free(struct roce_fabric *f);

#endif
