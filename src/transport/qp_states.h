/* SPDX-License-Identifier: BSD-2-Clause */
/* The transition table of qp_states.c, for qp.c and its exhaustive test. */
#ifndef ROCE_TRANSPORT_QP_STATES_H
#define ROCE_TRANSPORT_QP_STATES_H

#include "transport/qp.h"

/* May a QP of `type` go from `from` to `to` with the attributes in `mask`? */
enum roce_modify_result roce_qp_check_transition(uint8_t type, uint8_t from, uint8_t to,
						 uint32_t mask, uint32_t *out_bad_mask);

#endif
