/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a seed does on reliable connected QPs: rc_program.c for seeds in which all succeeds,
 * rc_fault_program.c for error seeds, rc_shape.c for both and for the other transports. Pure;
 * called by vc_program_draw().
 */
#ifndef VERBS_CHECK_RC_PROGRAM_H
#define VERBS_CHECK_RC_PROGRAM_H

#include "tools/verbs_check/program.h"

void vc_rc_program_draw(struct vc_program *program);
void vc_rc_fault_program_draw(struct vc_program *program);

/* All that is drawn before the first request; rc_shape.c. */
void vc_rc_shapes_draw(struct vc_program *program);
/* Queue depths, scatter/gather limits, timers and PSN of both ends of a QP. */
void vc_rc_lane_draw(struct vc_program *program, uint32_t qp);
/* Every CQ gets room for all that its queues can hold, and a drawn number more. */
void vc_rc_cq_depths_draw(struct vc_program *program);
/* Memory of `side` that the other side's requests on this QP use for atomics, and by windows. */
void vc_rc_cells_draw(struct vc_program *program, uint32_t side, uint32_t qp);
void vc_rc_windows_draw(struct vc_program *program, uint32_t side, uint32_t qp, uint32_t count);
/* Makes the next request of a lane one of `op`, with the receive it takes on the other side. */
struct vc_request *vc_rc_request_add(struct vc_program *program, uint32_t side, uint32_t qp,
				     enum vc_op op, uint32_t length);
/* The signalled SEND that ends each lane. */
struct vc_request *vc_rc_last_add(struct vc_program *program, uint32_t side, uint32_t qp);
/* One of the operations in op_mask that the devices offer; counts those drawn in vain. */
enum vc_op vc_rc_op_draw(struct vc_program *program, uint32_t op_mask);

#endif
