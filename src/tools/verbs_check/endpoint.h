/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs objects of one side of one seed, made as the program says and torn down after it, and
 * what the other side's are called (QP numbers, addresses, keys).
 */
#ifndef VERBS_CHECK_ENDPOINT_H
#define VERBS_CHECK_ENDPOINT_H

#include <infiniband/verbs.h>

#include "tools/verbs_check/control.h"
#include "tools/verbs_check/device.h"
#include "tools/verbs_check/memory.h"
#include "tools/verbs_check/program.h"

struct vc_remote_mr {
	uint64_t address;
	uint32_t rkey;
};

/* The other side as a whole, the same for all seeds. */
struct vc_peer {
	union ibv_gid gid;
	uint16_t lid;
};

/* UD: an answer goes to whom a completion names. */
struct vc_return {
	struct ibv_ah *ah;
	uint32_t qpn;
};

struct vc_endpoint {
	struct ibv_comp_channel *channel; /* NULL without -e */
	struct ibv_cq *cqs[VC_CQ_MAX];
	struct ibv_cq_ex *extended[VC_CQ_MAX]; /* the same, or NULL */
	uint64_t last_stamps[VC_CQ_MAX];
	uint64_t born_ns; /* by the wall clock */
	bool has_stamps;
	struct ibv_mr *mrs[VC_MR_MAX];
	struct ibv_dm *dms[VC_MR_MAX];
	uint64_t bases[VC_MR_MAX];	 /* the address that the device knows a region by */
	struct ibv_srq *srqs[VC_QP_MAX]; /* by pool */
	struct ibv_qp *qps[VC_QP_MAX];
	struct ibv_qp_ex *builders[VC_QP_MAX]; /* the same, or NULL */
	struct ibv_qp *targets[VC_QP_MAX];     /* XRC: qps are the initiators */
	struct ibv_ah *ahs[VC_QP_MAX];	       /* UD: to the other side */
	struct ibv_ah *group_ah;
	union ibv_gid group;
	int group_socket; /* the host's membership; 0: none */
	struct vc_return returns[VC_QP_MAX];
	uint32_t remote_targets[VC_QP_MAX];
	uint32_t remote_srqns[VC_QP_MAX];
	struct ibv_mw *windows[VC_QP_MAX][VC_WINDOW_MAX];
	uint32_t window_rkeys[VC_QP_MAX][VC_WINDOW_MAX];
	uint32_t remote_qpns[VC_QP_MAX];
	struct vc_remote_mr remote_mrs[VC_MR_MAX];
	uint32_t remote_window_rkeys[VC_QP_MAX][VC_WINDOW_MAX];
};

enum vc_verdict vc_endpoint_create(struct vc_endpoint *endpoint, struct vc_device *device,
				   const struct vc_program *program, uint32_t side,
				   const struct vc_memory *memory, struct vc_report *report);
/* Exchanges names with the other side. */
enum vc_verdict vc_endpoint_exchange(struct vc_endpoint *endpoint, const struct vc_program *program,
				     uint32_t side, struct vc_control *control,
				     struct vc_report *report);
/* region.c: registers all regions; brings what lies in device memory into the side's memory. */
enum vc_verdict vc_region_create_all(struct vc_endpoint *endpoint, struct vc_device *device,
				     const struct vc_side *side, const struct vc_memory *memory,
				     struct vc_report *report);
enum vc_verdict vc_region_fetch(const struct vc_endpoint *endpoint, const struct vc_side *side,
				const struct vc_memory *memory, struct vc_report *report);
void vc_region_destroy_all(struct vc_endpoint *endpoint, struct vc_report *report);
/* datagram.c: address handles and the group of UD QPs. */
enum vc_verdict vc_datagram_create(struct vc_endpoint *endpoint, const struct vc_device *device,
				   const struct vc_program *program, uint32_t side,
				   const struct vc_peer *peer, struct vc_report *report);
/* Of what a QP sends to the other side: DSCP, without the two bits that the network may set. */
uint8_t vc_datagram_class(const struct vc_program *program, uint32_t qp);
/* group.c: the host's own membership in the group. */
enum vc_verdict vc_group_join(struct vc_endpoint *endpoint, const struct vc_device *device,
			      struct vc_report *report);
void vc_group_leave(struct vc_endpoint *endpoint);
void vc_datagram_destroy(struct vc_endpoint *endpoint, const struct vc_program *program,
			 uint32_t side, struct vc_report *report);
/* INIT, RTR and RTS; connect.c. Receives may be posted from then on. */
enum vc_verdict vc_endpoint_connect(struct vc_endpoint *endpoint, const struct vc_device *device,
				    const struct vc_program *program, uint32_t side,
				    const struct vc_peer *peer, struct vc_report *report);
/* window.c: binds the memory windows; each bind's completion is checked. */
enum vc_verdict vc_window_bind_all(struct vc_endpoint *endpoint, const struct vc_program *program,
				   uint32_t side, const struct vc_memory *memory,
				   struct vc_report *report);
/* Makes the key of window 0 of qp 0 void, as the fault says. */
enum vc_verdict vc_window_end(struct vc_endpoint *endpoint, const struct vc_program *program,
			      uint32_t side, const struct vc_memory *memory,
			      struct vc_report *report);
enum vc_verdict vc_endpoint_move(struct vc_endpoint *endpoint, uint32_t qp, enum ibv_qp_state state,
				 struct vc_report *report);
enum vc_verdict vc_endpoint_check_state(struct vc_endpoint *endpoint,
					const struct vc_program *program, uint32_t qp,
					enum ibv_qp_state state, struct vc_report *report);
enum vc_verdict vc_endpoint_deregister(struct vc_endpoint *endpoint, uint32_t mr,
				       struct vc_report *report);
/* Accepts what was half made. Objects that refuse to go are a fault. */
enum vc_verdict vc_endpoint_destroy(struct vc_endpoint *endpoint, const struct vc_program *program,
				    uint32_t side, struct vc_report *report);

#endif
