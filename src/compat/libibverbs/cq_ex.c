/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The extended way of reading a completion queue: one entry at a time, its fields through function
 * pointers. Every queue has them, since any struct ibv_cq may be used as a struct ibv_cq_ex.
 */
#include "compat/libibverbs/compat.h"

#include <time.h>

static const struct roce_cqe *current_of(struct ibv_cq_ex *ex)
{
	return &roce_container_of(ex, struct compat_cq, ex)->current;
}

static int take_next(struct ibv_cq_ex *ex)
{
	struct compat_cq *cq = roce_container_of(ex, struct compat_cq, ex);
	int n = roce_verbs_cq_poll(&cq->vcq, &cq->current, 1);

	if (n < 0)
		return -n;
	if (n == 0)
		return ENOENT;
	ex->status = (enum ibv_wc_status)cq->current.status;
	ex->wr_id = cq->current.wr_id;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	if (attr->comp_mask)
		return EINVAL;
	if (roce_context_is_forked(roce_container_of(ex, struct compat_cq, ex)->vcq.ctx))
		return COMPAT_FORKED;
	return take_next(ex);
}

/* Entries are taken one by one, so there is nothing to hand back. */
static void end_poll(struct ibv_cq_ex *ex)
{
	(void)ex;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return (enum ibv_wc_opcode)current_of(ex)->opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return current_of(ex)->vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return (uint32_t)current_of(ex)->byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return current_of(ex)->imm_be;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return current_of(ex)->qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return current_of(ex)->src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return current_of(ex)->wc_flags;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return current_of(ex)->sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return current_of(ex)->timestamp_ns;
}

static uint16_t read_cvlan(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint32_t read_flow_tag(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static void read_tm_info(struct ibv_cq_ex *ex, struct ibv_wc_tm_info *tm_info)
{
	(void)ex;
	*tm_info = (struct ibv_wc_tm_info){0};
}

/* The completion's age, taken off the wall clock's present. */
static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
	struct roce_device *dev = roce_container_of(ex, struct compat_cq, ex)->vcq.ctx->dev;
	struct timespec wall;
	uint64_t age = dev->env->now(dev->env_ctx) - current_of(ex)->timestamp_ns;

	clock_gettime(CLOCK_REALTIME, &wall);
	return (uint64_t)wall.tv_sec * ROCE_NS_PER_S + (uint64_t)wall.tv_nsec - age;
}

void compat_fill_cq_ex(struct compat_cq *cc)
{
	struct ibv_cq_ex *ex = &cc->ex;

	ex->start_poll = start_poll;
	ex->next_poll = take_next;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_byte_len = read_byte_len;
	ex->read_imm_data = read_imm_data;
	ex->read_qp_num = read_qp_num;
	ex->read_src_qp = read_src_qp;
	ex->read_wc_flags = read_wc_flags;
	ex->read_slid = read_slid;
	ex->read_sl = read_sl;
	ex->read_dlid_path_bits = read_dlid_path_bits;
	ex->read_completion_ts = read_completion_ts;
	ex->read_cvlan = read_cvlan;
	ex->read_flow_tag = read_flow_tag;
	ex->read_tm_info = read_tm_info;
	ex->read_completion_wallclock_ns = read_completion_wallclock_ns;
}
