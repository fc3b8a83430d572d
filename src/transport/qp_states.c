/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which state change takes which attributes: the table of the specification (required and optional
 * attributes by transition and QP type), and nothing else. roce_qp_modify() in qp.c applies it.
 */
#include "transport/qp_states.h"

#define PKEY  ROCE_ATTR_PKEY_INDEX
#define PORT  ROCE_ATTR_PORT
#define QKEY  ROCE_ATTR_QKEY
#define ACC   ROCE_ATTR_ACCESS_FLAGS
#define AV    ROCE_ATTR_AV
#define MTU   ROCE_ATTR_PATH_MTU
#define DQPN  ROCE_ATTR_DEST_QPN
#define RQPSN ROCE_ATTR_RQ_PSN
#define SQPSN ROCE_ATTR_SQ_PSN
#define MDRA  ROCE_ATTR_MAX_DEST_RD_ATOMIC
#define MRA   ROCE_ATTR_MAX_QP_RD_ATOMIC
#define RNRT  ROCE_ATTR_MIN_RNR_TIMER
#define TO    ROCE_ATTR_TIMEOUT
#define RTRY  ROCE_ATTR_RETRY_CNT
#define RNRR  ROCE_ATTR_RNR_RETRY
#define ALT   ROCE_ATTR_ALT_PATH
#define MIG   ROCE_ATTR_PATH_MIG_STATE
#define CUR   ROCE_ATTR_CUR_STATE
#define SQDN  ROCE_ATTR_EN_SQD_ASYNC_NOTIFY

#define RC    1u
#define UC    2u
#define UD    4u
#define INI   8u
#define TGT   16u

struct transition {
	uint8_t from;
	uint8_t to;
	uint32_t types;
	uint32_t required;
	uint32_t optional;
};

static const struct transition transitions[] = {
	{ROCE_QP_RESET, ROCE_QP_INIT, RC | UC | INI | TGT, PKEY | PORT | ACC, 0},
	{ROCE_QP_RESET, ROCE_QP_INIT, UD, PKEY | PORT | QKEY, 0},
	{ROCE_QP_INIT, ROCE_QP_INIT, RC | UC | INI | TGT, 0, PKEY | PORT | ACC},
	{ROCE_QP_INIT, ROCE_QP_INIT, UD, 0, PKEY | PORT | QKEY},
	{ROCE_QP_INIT, ROCE_QP_RTR, RC | TGT, AV | MTU | DQPN | RQPSN | MDRA | RNRT,
	 ALT | ACC | PKEY},
	{ROCE_QP_INIT, ROCE_QP_RTR, UC | INI, AV | MTU | DQPN | RQPSN, ALT | ACC | PKEY},
	{ROCE_QP_INIT, ROCE_QP_RTR, UD, 0, PKEY | QKEY},
	{ROCE_QP_RTR, ROCE_QP_RTS, RC, TO | RTRY | RNRR | SQPSN | MRA,
	 CUR | ALT | ACC | RNRT | MIG},
	{ROCE_QP_RTR, ROCE_QP_RTS, INI, TO | RTRY | RNRR | SQPSN | MRA, CUR | ALT | ACC | MIG},
	{ROCE_QP_RTR, ROCE_QP_RTS, TGT, TO | SQPSN, CUR | ALT | ACC | RNRT | MIG},
	{ROCE_QP_RTR, ROCE_QP_RTS, UC, SQPSN, CUR | ALT | ACC | MIG},
	{ROCE_QP_RTR, ROCE_QP_RTS, UD, SQPSN, CUR | QKEY},
	{ROCE_QP_RTS, ROCE_QP_RTS, RC | TGT, 0, CUR | ACC | ALT | MIG | RNRT},
	{ROCE_QP_RTS, ROCE_QP_RTS, UC | INI, 0, CUR | ACC | ALT | MIG},
	{ROCE_QP_RTS, ROCE_QP_RTS, UD, 0, CUR | QKEY},
	{ROCE_QP_RTS, ROCE_QP_SQD, RC | UC | UD | INI | TGT, 0, SQDN},
	{ROCE_QP_SQD, ROCE_QP_RTS, RC | TGT, 0, CUR | ALT | ACC | RNRT | MIG},
	{ROCE_QP_SQD, ROCE_QP_RTS, UC | INI, 0, CUR | ALT | ACC | MIG},
	{ROCE_QP_SQD, ROCE_QP_RTS, UD, 0, CUR | QKEY},
	{ROCE_QP_SQD, ROCE_QP_SQD, RC, 0,
	 PORT | AV | TO | RTRY | RNRR | MRA | MDRA | ALT | ACC | PKEY | RNRT | MIG},
	{ROCE_QP_SQD, ROCE_QP_SQD, INI, 0,
	 PORT | AV | TO | RTRY | RNRR | MRA | ALT | ACC | PKEY | MIG},
	{ROCE_QP_SQD, ROCE_QP_SQD, TGT, 0, PORT | AV | TO | MDRA | ALT | ACC | PKEY | RNRT | MIG},
	{ROCE_QP_SQD, ROCE_QP_SQD, UC, 0, AV | ALT | ACC | PKEY | MIG},
	{ROCE_QP_SQD, ROCE_QP_SQD, UD, 0, PKEY | QKEY},
	{ROCE_QP_SQE, ROCE_QP_RTS, UC, 0, CUR | ACC},
	{ROCE_QP_SQE, ROCE_QP_RTS, UD, 0, CUR | QKEY},
};

static uint32_t type_bit(uint8_t type)
{
	switch ((enum roce_qp_type)type) {
	case ROCE_QP_RC:
		return RC;
	case ROCE_QP_UC:
		return UC;
	case ROCE_QP_UD:
		return UD;
	case ROCE_QP_XRC_INI:
		return INI;
	case ROCE_QP_XRC_TGT:
		return TGT;
	}
	return 0;
}

/* INIT, RTR, RTS, SQD, SQE and ERR may always go to RESET or ERR, RESET to RESET; without
 * attributes. */
static bool is_always_allowed(uint8_t from, uint8_t to)
{
	return to == ROCE_QP_RESET || (to == ROCE_QP_ERR && from != ROCE_QP_RESET);
}

enum roce_modify_result roce_qp_check_transition(uint8_t type, uint8_t from, uint8_t to,
						 uint32_t mask, uint32_t *out_bad_mask)
{
	uint32_t given = mask & ~(uint32_t)ROCE_ATTR_STATE;
	uint32_t bit = type_bit(type);

	*out_bad_mask = 0;
	if (is_always_allowed(from, to)) {
		*out_bad_mask = given;
		return given ? ROCE_MODIFY_UNEXPECTED : ROCE_MODIFY_OK;
	}
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		const struct transition *tr = &transitions[i];

		if (tr->from != from || tr->to != to || !(tr->types & bit))
			continue;
		if ((given & tr->required) != tr->required) {
			*out_bad_mask = tr->required & ~given;
			return ROCE_MODIFY_MISSING;
		}
		if (given & ~(tr->required | tr->optional)) {
			*out_bad_mask = given & ~(tr->required | tr->optional);
			return ROCE_MODIFY_UNEXPECTED;
		}
		return ROCE_MODIFY_OK;
	}
	*out_bad_mask = ROCE_ATTR_STATE;
	return ROCE_MODIFY_BAD_TRANSITION;
}
