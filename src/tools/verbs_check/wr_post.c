/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A list of work requests by the builder interface: each struct ibv_send_wr is said in ibv_wr_*()
 * calls, one list between ibv_wr_start() and ibv_wr_complete(), so that both ways of posting take
 * the same requests and must have the same results.
 */
#include <errno.h>
#include <string.h>

#include "tools/verbs_check/run.h"

static int say_operation(struct ibv_qp_ex *qp, const struct ibv_send_wr *wr)
{
	uint32_t rkey = wr->wr.rdma.rkey;
	uint64_t address = wr->wr.rdma.remote_addr;

	switch (wr->opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(qp);
		return 0;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(qp, wr->imm_data);
		return 0;
	case IBV_WR_SEND_WITH_INV:
		ibv_wr_send_inv(qp, wr->invalidate_rkey);
		return 0;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(qp, rkey, address);
		return 0;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(qp, rkey, address, wr->imm_data);
		return 0;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(qp, rkey, address);
		return 0;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(qp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
				      wr->wr.atomic.compare_add, wr->wr.atomic.swap);
		return 0;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(qp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
					wr->wr.atomic.compare_add);
		return 0;
	case IBV_WR_LOCAL_INV:
	case IBV_WR_BIND_MW:
	case IBV_WR_TSO:
	case IBV_WR_DRIVER1:
	case IBV_WR_ATOMIC_WRITE:
		break;
	}
	return EINVAL;
}

static void say_data(struct ibv_qp_ex *qp, const struct ibv_send_wr *wr)
{
	struct ibv_data_buf bufs[VC_SGE_MAX];

	if (!(wr->send_flags & IBV_SEND_INLINE)) {
		if (wr->num_sge == 1)
			ibv_wr_set_sge(qp, wr->sg_list[0].lkey, wr->sg_list[0].addr,
				       wr->sg_list[0].length);
		else
			ibv_wr_set_sge_list(qp, (size_t)wr->num_sge, wr->sg_list);
		return;
	}
	for (int i = 0; i < wr->num_sge; i++)
		bufs[i] = (struct ibv_data_buf){.addr = (void *)(uintptr_t)wr->sg_list[i].addr,
						.length = wr->sg_list[i].length};
	if (wr->num_sge == 1)
		ibv_wr_set_inline_data(qp, bufs[0].addr, bufs[0].length);
	else
		ibv_wr_set_inline_data_list(qp, (size_t)wr->num_sge, bufs);
}

/* The eight bytes are part of the call: taken together from the list. */
static void say_atomic_write(struct ibv_qp_ex *qp, const struct ibv_send_wr *wr)
{
	uint8_t bytes[8];
	size_t done = 0;

	for (int i = 0; i < wr->num_sge && done < sizeof(bytes); i++) {
		memcpy(bytes + done, (const void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		done += wr->sg_list[i].length;
	}
	ibv_wr_atomic_write(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, bytes);
}

int vc_post_by_builder(struct ibv_qp_ex *qp, const struct ibv_send_wr *list, enum ibv_qp_type type)
{
	ibv_wr_start(qp);
	for (const struct ibv_send_wr *wr = list; wr; wr = wr->next) {
		qp->wr_id = wr->wr_id;
		qp->wr_flags = wr->send_flags & ~(unsigned int)IBV_SEND_INLINE;
		if (wr->opcode == IBV_WR_ATOMIC_WRITE) {
			say_atomic_write(qp, wr);
		} else if (say_operation(qp, wr)) {
			ibv_wr_abort(qp);
			return EINVAL;
		}
		if (type == IBV_QPT_UD)
			ibv_wr_set_ud_addr(qp, wr->wr.ud.ah, wr->wr.ud.remote_qpn,
					   wr->wr.ud.remote_qkey);
		if (type == IBV_QPT_XRC_SEND)
			ibv_wr_set_xrc_srqn(qp, wr->qp_type.xrc.remote_srqn);
		if (wr->opcode != IBV_WR_ATOMIC_WRITE)
			say_data(qp, wr);
	}
	return ibv_wr_complete(qp);
}
