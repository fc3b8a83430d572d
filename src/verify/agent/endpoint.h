/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A queue pair with its completion queues, and the way to its partner on the other side: what the
 * two must know of each other goes through the relay. Both sides make and connect their endpoints
 * in the same order.
 */
#ifndef VERIFY_AGENT_ENDPOINT_H
#define VERIFY_AGENT_ENDPOINT_H

#include "verify/agent/device.h"

/* Zeroed: an RC queue pair, one request and one receive at a time. */
struct va_endpoint_config {
	enum ibv_qp_type type; /* IBV_QPT_RC, _UC, _UD, _XRC_SEND */
	uint32_t send_depth;
	uint32_t receive_depth;
	uint32_t pieces_max; /* of a request or receive */
	uint32_t inline_max;
	struct ibv_srq *srq;	/* receives come from it */
	struct ibv_cq *send_cq; /* shared ones; else it has its own */
	struct ibv_cq *recv_cq;
	uint32_t mtu_bytes;	  /* 0: the smaller of both ports' */
	uint8_t timeout;	  /* code as ibv_modify_qp() has it; 0: as ordered, or 14 */
	uint8_t retry_count_less; /* 7 less it */
	bool no_remote_access;
	bool by_cm; /* RC: connected by rdma_cm in place of the relay (endpoint_cm.c) */
};

struct va_endpoint {
	struct va_endpoint_config config;
	struct va_device *device;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_qp *qp;
	struct ibv_srq *srq; /* where receives are posted; NULL: to the queue pair */
	/* XRC (endpoint_xrc.c): what the partner's requests come to; its completions name it */
	struct ibv_xrcd *xrcd;
	struct ibv_qp *target_qp;
	uint32_t inline_max; /* what the device gave */
	uint32_t own_psn;
	/* the partner's */
	uint32_t peer_qpn;
	uint32_t peer_target_qpn; /* XRC */
	uint32_t peer_srqn;
	uint32_t peer_psn;
	uint32_t peer_reads; /* READs and atomics that it answers at once */
	uint32_t mtu_bytes;  /* agreed */
	union ibv_gid peer_gid;
	struct ibv_ah *ah; /* UD */
	/* by_cm: */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

#define VA_QKEY	     0x11111111u
#define VA_GRH_BYTES 40 /* stand in front of what a UD receive brings */

void va_endpoint_create(struct va_run *run, struct va_device *device,
			const struct va_endpoint_config *config, struct va_endpoint *out);
/* The same, for cases that count what fails: 0, or errno of ibv_create_qp(). */
int va_endpoint_try(struct va_run *run, struct va_device *device,
		    const struct va_endpoint_config *config, struct va_endpoint *out);
/* To RTS, with the partner's address; not before both sides are there. */
void va_endpoint_connect(struct va_run *run, struct va_endpoint *endpoint);
/* To RTS with itself as partner: what is sent goes through the device and comes back. */
void va_endpoint_connect_to_itself(struct va_run *run, struct va_endpoint *endpoint);
void va_endpoint_destroy(struct va_run *run, struct va_endpoint *endpoint);

/* "rc", "uc", "ud" or "xrc" of a case's parameter. */
enum ibv_qp_type va_transport_type(const char *word);
/* The number that completions of receives have. */
uint32_t va_endpoint_receive_qpn(const struct va_endpoint *endpoint);

/* For endpoint.c: XRC's queue pairs and their shared queue, made as `attr` says (0 or errno), with
 * va_skip() where the device has none; and gone again. */
int va_endpoint_xrc_try(struct va_run *run, struct va_endpoint *endpoint,
			const struct ibv_qp_init_attr *attr);
void va_endpoint_xrc_destroy(struct va_run *run, struct va_endpoint *endpoint);
uint32_t va_endpoint_xrc_srqn(const struct va_endpoint *endpoint);

/* For endpoint.c: what connect and destroy do with by_cm. */
void va_endpoint_cm_connect(struct va_run *run, struct va_endpoint *endpoint);
void va_endpoint_cm_disconnect(struct va_run *run, struct va_endpoint *endpoint);

/* The steps of va_endpoint_connect(), for cases that time them: facts to send, taking theirs, and
 * one step of the state each. They return what ibv_modify_qp() does. */
json_t *va_endpoint_facts(const struct va_endpoint *endpoint);
void va_endpoint_take(struct va_run *run, struct va_endpoint *endpoint, const json_t *facts);
int va_endpoint_to_init(struct va_endpoint *endpoint);
int va_endpoint_to_rtr(struct va_endpoint *endpoint);
int va_endpoint_to_rts(struct va_endpoint *endpoint);
/* The address handle of a UD endpoint. */
void va_endpoint_address(struct va_run *run, struct va_endpoint *endpoint);

#endif
