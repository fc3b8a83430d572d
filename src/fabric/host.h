/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A host from inside: the shipped verbs device in virtual time, with one protection domain, one
 * completion queue and one region. Payload is a length and no bytes, or bytes in the memory behind
 * that region (memory.h).
 */
#ifndef ROCE_FABRIC_HOST_H
#define ROCE_FABRIC_HOST_H

#include "fabric/memory.h"
#include "fabric/state.h"
#include "verbs/mr_verbs.h"
#include "verbs/qp_verbs.h"

struct roce_fabric_nic;

#define ROCE_FABRIC_DEPTH_MAX 16384u /* messages of a queue pair that are posted */

struct roce_fabric_host {
	struct roce_fabric *f;
	struct roce_fabric_port *port;
	/* What each packet asks, first. */
	uint8_t frame_flags; /* V6 and TAGGED of the frames that it sends */
	uint8_t ack_turn;    /* of cfg, as the next */
	int8_t ack_prio;
	uint64_t drain_bps;		  /* now; 0: as fast as the line */
	struct roce_fabric_fifo rx_queue; /* in the buffer, by the time at which they are out */
	struct roce_event deadline;	  /* not later than that of the transport */
	struct roce_gid gid;
	uint32_t draws; /* of the device's randomness */
	/* A receiver that drains at a rate of its own, see receiver.c. */
	struct roce_event drained; /* the first of the buffer */
	uint64_t drained_ps;	   /* when all of it is */
	uint32_t rx_bytes;
	uint32_t rx_xoff_bytes;
	uint32_t storms; /* reasons for which it pauses its switch without end */
	struct roce_fabric_host_config cfg;
	struct roce_pd pd;
	struct roce_verbs_cq cq;
	struct roce_verbs_mr mr;
	struct roce_verbs_srq srq; /* where SENDs go */
	bool has_device;
	bool has_context;
	bool has_cq;
	bool has_mr;
	bool has_srq;
	struct roce_cc_config cc;
	struct roce_counters counters;
	struct roce_context ctx;
	struct roce_device dev;
	/* Of real payload. */
	struct roce_fabric_memory memory;
	struct roce_fabric_nic *nic; /* of one that is at fault, or NULL */
	uint64_t rx_message;	     /* of the frame that is being processed */
};

/* ---- host_device.c ---- */

int roce_fabric_host_create(struct roce_fabric *f, struct roce_fabric_node *node,
			    const struct roce_fabric_host_config *cfg);
/* Receives for SENDs, from now on; again and again is fine. */
int roce_fabric_host_open_srq(struct roce_fabric_host *host);
/* The receive that was used is posted again. */
void roce_fabric_host_repost(struct roce_fabric_host *host, uint32_t slot);

/* ---- host.c ---- */

/* A packet reaches the transport. */
void roce_fabric_host_process(struct roce_fabric_host *host, struct roce_fabric_frame *frame);
/* Of `deadline`. */
void roce_fabric_host_on_deadline(struct roce_event *ev);

/* ---- receiver.c ---- */

void roce_fabric_receiver_init(struct roce_fabric_host *host);
void roce_fabric_receiver_take(struct roce_fabric_host *host, struct roce_fabric_frame *frame);
/* From now on it drains so fast, also what is in the buffer; 0: as fast as the line. */
void roce_fabric_receiver_set_drain(struct roce_fabric_host *host, uint64_t drain_bps);
/* The neighbour may go on, if neither buffer nor storm are against it. */
void roce_fabric_receiver_relent(struct roce_fabric_host *host);

/* ---- host_fault.c ---- */

/* Pauses all PFC priorities as long as it is in a storm: at its begin, and when the link is back.
 */
void roce_fabric_host_storm(struct roce_fabric_host *host);

static inline roce_ns_t roce_fabric_host_now(const struct roce_fabric_host *host)
{
	return roce_event_queue_now_ns(&host->f->queue);
}

#endif
