/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flows from inside. A flow's queue pairs exist from its start to its end; messages are dealt to
 * them in turn, message i to queue pair i % qp_count. A flow has one event: its start, then the
 * time of its next message, at last the taking down of its queue pairs, which must not happen from
 * within their completions.
 */
#ifndef ROCE_FABRIC_FLOW_STATE_H
#define ROCE_FABRIC_FLOW_STATE_H

#include "fabric/host.h"
#include "fabric/seen.h"

struct roce_fabric_flow;

#define ROCE_FABRIC_HOP_LIMIT 64u /* of what flows send; the 64th switch drops it */

/* The two ends of a connection; forward is src to dst. */
struct roce_fabric_flow_qp {
	struct roce_fabric_flow *flow;
	uint32_t hash[2]; /* for ECMP: forward, back */
	uint32_t index;
	uint16_t udp_sport;
	roce_psn_t high_psn[2];		  /* behind the newest that was sent */
	roce_psn_t new_psn[2];		  /* RC: behind the newest that was taken, by dst, by src */
	struct roce_fabric_seen taken[2]; /* UC, UD: PSNs, by dst, by src */
	struct roce_fabric_seen answers_taken; /* the same: messages */
	uint64_t count;			       /* messages */
	uint64_t posted;
	uint64_t completed; /* src knows */
	uint64_t answered;
	uint64_t *posted_ps; /* ring, by message */
	uint32_t ring_mask;
	struct roce_verbs_qp src;
	struct roce_verbs_qp dst;
	/* Of real payload, see payload.h. */
	struct roce_fabric_slot_list sources;
	struct roce_fabric_slot_list sinks;
	uint32_t *uc_sinks; /* of unreliable WRITEs, by number of the queue pair; or NULL */
	struct roce_fabric_slot_list answers;
	uint64_t received[2]; /* messages: by dst, by src */
	roce_psn_t rx_psn[2]; /* that nic.c expects next */
	uint32_t rx_disorder[2];
};

struct roce_fabric_flow {
	struct roce_event event;
	struct roce_fabric *f;
	uint32_t via; /* host number, or ROCE_FABRIC_DIRECT */
	struct roce_fabric_flow_config cfg;
	struct roce_fabric_flow_result result;
	struct roce_fabric_histogram *histogram; /* of its tag, or NULL */
	struct roce_fabric_flow_qp *qps;
	uint32_t index;
	uint32_t qps_open; /* with messages that src waits for */
	uint32_t message_bytes;
	uint32_t after_open; /* predecessors that have not ended */
	uint64_t message_count;
	uint64_t released; /* messages whose time has come */
	uint64_t answers;
	struct roce_prng prng;
	uint32_t *successors;
	uint32_t successor_count;
	uint32_t successor_room;
	bool is_ended;
	bool is_delivered;
};

/* ---- flow_qp.c ---- */

/* Makes and connects the queue pairs. */
int roce_fabric_flow_open(struct roce_fabric_flow *flow);
void roce_fabric_flow_close(struct roce_fabric_flow *flow);
/* Posts what may be posted. */
void roce_fabric_flow_post(struct roce_fabric_flow_qp *fq);
/* Posts the answer to a message. */
void roce_fabric_flow_answer(struct roce_fabric_flow_qp *fq, uint32_t imm_be);

uint32_t roce_fabric_flow_message_bytes(const struct roce_fabric_flow_config *cfg);
uint64_t roce_fabric_message_length(const struct roce_fabric_flow *flow, uint64_t message);

/* ---- flow.c, called by hosts ---- */

/* `message` is that of the packet that led to it, where payload is real. */
void roce_fabric_flow_on_cqe(struct roce_fabric_flow_qp *fq, const struct roce_cqe *cqe,
			     bool is_src, uint64_t message);
/* A packet with payload leaves. */
void roce_fabric_flow_on_sent(struct roce_fabric_flow_qp *fq, bool is_forward, roce_psn_t psn,
			      uint32_t bytes);
/* A packet with payload was accepted. */
void roce_fabric_flow_on_payload(struct roce_fabric_flow_qp *fq, bool is_at_src, roce_psn_t psn,
				 uint32_t bytes);

static inline struct roce_fabric_host *roce_fabric_flow_host(const struct roce_fabric_flow *flow,
							     bool is_src)
{
	return flow->f->nodes[is_src ? flow->cfg.src : flow->cfg.dst].host;
}

#endif
