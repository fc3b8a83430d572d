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

struct vc_endpoint {
	struct ibv_comp_channel *channel; /* NULL without -e */
	struct ibv_cq *cqs[VC_CQ_MAX];
	struct ibv_mr *mrs[VC_MR_MAX];
	struct ibv_qp *qps[VC_QP_MAX];
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
/* INIT, RTR and RTS; rc_endpoint.c. Receives may be posted from then on. */
enum vc_verdict vc_rc_endpoint_connect(struct vc_endpoint *endpoint, const struct vc_device *device,
				       const struct vc_program *program, uint32_t side,
				       const struct vc_peer *peer, struct vc_report *report);
/* Binds the memory windows; each bind's completion is checked. */
enum vc_verdict vc_rc_endpoint_bind(struct vc_endpoint *endpoint, const struct vc_program *program,
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
enum vc_verdict vc_endpoint_destroy(struct vc_endpoint *endpoint, struct vc_report *report);

#endif
