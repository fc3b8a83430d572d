/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a device grants. Each number is a bound that some table or queue really has, so query_device
 * reports them as they are and create calls check against the same names: the last one that it
 * tells of can be made, and no more.
 */
#ifndef ROCE_VERBS_LIMITS_H
#define ROCE_VERBS_LIMITS_H

#include "transport/qp.h"

#include <stdint.h>

#define ROCE_MAX_QP	      32768u /* leaves room for quarantined numbers among 65536 */
#define ROCE_MAX_QP_WR	      16384u
#define ROCE_MAX_SGE	      32u
#define ROCE_MAX_INLINE	      1024u /* bytes */
#define ROCE_MIN_RATE	      1u    /* kbit/s of a queue pair */
#define ROCE_MAX_RATE	      400000000u
#define ROCE_MAX_CQ	      65536u
#define ROCE_MAX_CQE	      (1u << 22)
#define ROCE_MAX_MR	      (1u << 18)
#define ROCE_MAX_MW	      65536u
#define ROCE_MAX_PD	      65536u
#define ROCE_MAX_SRQ	      32768u
#define ROCE_MAX_SRQ_WR	      16384u
#define ROCE_MAX_AH	      65536u
#define ROCE_MAX_DM_BYTES     (1u << 20)
#define ROCE_MAX_MCAST_GROUPS 64u
#define ROCE_MAX_MCAST_ATTACH 16384u	 /* of all queue pairs to all groups */
#define ROCE_MAX_MSG_SIZE     (1u << 31) /* bytes */
#define ROCE_GID_TABLE	      128u	 /* entries */
#define ROCE_PKEY_DEFAULT     0xffffu

/* Enough of a hop count for any network that an address vector's 0 or 1 cannot have meant. */
#define ROCE_HOP_LIMIT_DEFAULT 64u

#endif
