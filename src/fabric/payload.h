/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Real payload. The bytes of a message follow from its flow, its number and their offsets, so
 * whoever has them in the end can tell which are wrong. No byte of a pattern is 0 and memory is 0
 * before it is written: a byte that never came is told from a wrong one.
 *
 * Each queue pair of a flow with real payload has two lists of slots (memory.h), in the order of
 * its messages: those that bytes are sent from, and those that they are written or read into (but
 * see uc_sinks). What is sent to a receive is in the slot of that receive. A message is compared
 * when it is complete: a WRITE when its sender knows (UC: when its last packet was accepted), a
 * READ when it has completed, a SEND with the receive's completion.
 */
#ifndef ROCE_FABRIC_PAYLOAD_H
#define ROCE_FABRIC_PAYLOAD_H

#include "fabric/flow_state.h"

/* The pattern from `offset` on. */
void roce_fabric_payload_fill(const struct roce_fabric_content *content, uint32_t offset,
			      uint8_t *out, uint32_t length);

/* The receives of an end take the messages of this flow from now on. */
void roce_fabric_payload_expect(struct roce_fabric_flow_qp *fq, bool is_at_src);

/* Where a message is to be sent from, and where it goes if not to a receive;
 * ROCE_FABRIC_SLOT_NONE for phantom payload. */
struct roce_fabric_slots {
	uint32_t source;
	uint32_t sink;
};

struct roce_fabric_slots roce_fabric_payload_take(struct roce_fabric_flow_qp *fq, uint64_t message);
/* It was posted, or could not be. */
void roce_fabric_payload_post(struct roce_fabric_flow_qp *fq, const struct roce_fabric_slots *slots,
			      bool is_posted);
/* The same of an answer; the wr_id of its completion is the slot. */
struct roce_fabric_slots roce_fabric_payload_take_answer(struct roce_fabric_flow_qp *fq,
							 uint32_t imm_be);
void roce_fabric_payload_post_answer(struct roce_fabric_flow_qp *fq,
				     const struct roce_fabric_slots *slots, bool is_posted);
void roce_fabric_payload_answered(struct roce_fabric_flow_qp *fq, uint64_t wr_id);

/* All messages of src up to and with `last`, by numbers of the queue pair, have completed. */
void roce_fabric_payload_completed(struct roce_fabric_flow_qp *fq, uint64_t last);
/* A receive has completed, from a packet of message `message`, if it was of real payload. */
void roce_fabric_payload_received(struct roce_fabric_flow_qp *fq, const struct roce_cqe *cqe,
				  bool is_at_src, uint64_t message);
/* A receive has ended with a part of a message. */
void roce_fabric_payload_broken(struct roce_fabric_flow_qp *fq, const struct roce_cqe *cqe,
				bool is_at_src);
/* The last packet of an unreliable WRITE was accepted. */
void roce_fabric_payload_written(struct roce_fabric_flow_qp *fq, uint64_t message);
void roce_fabric_payload_close(struct roce_fabric_flow_qp *fq);

/* The bytes of a packet that leaves go into the frame. */
void roce_fabric_payload_load(struct roce_fabric_host *host, struct roce_fabric_frame *frame,
			      const struct roce_payload *from);

/* ---- nic.c: adapters that damage what they deliver ---- */

int roce_fabric_nic_init(struct roce_fabric_host *host);
void roce_fabric_nic_fini(struct roce_fabric_host *host);
/* A frame with real payload is about to be delivered. */
void roce_fabric_nic_deliver(struct roce_fabric_host *host, struct roce_fabric_flow_qp *fq,
			     bool is_at_src, struct roce_fabric_frame *frame);

#endif
