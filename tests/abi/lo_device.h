/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For the tests of this folder: the device of the loopback in a network namespace of the test's
 * own, without the daemon, and a pair of queue pairs on it, through the public interface alone.
 */
#ifndef ROCE_TESTS_ABI_LO_DEVICE_H
#define ROCE_TESTS_ABI_LO_DEVICE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>

#define LO_BYTES      65536u
#define LO_PATIENCE_S 60 /* for what must come: a busy machine may stand still for seconds */

/* Exit status of a test that cannot run here. */
#define LO_SKIP 77

/* Ends the program with LO_SKIP where no namespace may be made. */
void lo_enter_namespace(void);

struct lo_device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr; /* LO_BYTES, all rights */
	unsigned char *mem;
};

void lo_open(struct lo_device *lo);
/* Another device of the namespace. */
void lo_open_other(struct lo_device *lo, const char *name);
void lo_close(struct lo_device *lo);
/* The same for cmocka: *state is the open device. */
int lo_set_up(void **state);
int lo_tear_down(void **state);

struct ibv_qp *lo_make_qp(struct lo_device *lo);
/* GID 0 of the device as an address vector. */
struct ibv_ah_attr lo_ah_attr(struct lo_device *lo);
/* Attributes that lead from RESET to RTS, each transition taking those of its mask. */
struct ibv_qp_attr lo_attr(struct lo_device *lo, uint32_t dest_qpn);
#define LO_INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define LO_RTR_MASK                                                                     \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define LO_RTS_MASK                                                                            \
	(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | \
	 IBV_QP_MAX_QP_RD_ATOMIC)
/* From RESET as far as `state`; 0 or the errno. */
int lo_bring(struct lo_device *lo, struct ibv_qp *qp, uint32_t dest_qpn, enum ibv_qp_state state);
/* The same with attributes of the caller's. */
int lo_bring_with(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state state);
/* Polls until there is a completion; false after LO_PATIENCE_S. */
bool lo_poll(struct lo_device *lo, struct ibv_wc *wc);

#endif
