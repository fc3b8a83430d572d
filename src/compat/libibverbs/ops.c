/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables through which the inline functions of verbs.h reach us. A member of struct
 * verbs_context that stays NULL makes its inline answer EOPNOTSUPP; members that the inlines call
 * unchecked, and all of struct ibv_context_ops, have a function in any case.
 */
#include "compat/libibverbs/compat.h"

void compat_fill_ops(struct compat_context *cc)
{
	struct verbs_context *vctx = &cc->vctx;
	struct ibv_context_ops *ops = &vctx->context.ops;

	vctx->sz = sizeof(*vctx);
	vctx->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	vctx->query_port = compat_query_port;
	vctx->query_device_ex = compat_query_device_ex;
	vctx->query_rt_values = compat_query_rt_values;
	vctx->advise_mr = compat_advise_mr;
	vctx->alloc_null_mr = compat_alloc_null_mr;
	vctx->modify_qp_rate_limit = compat_modify_qp_rate_limit;
	vctx->create_cq_ex = compat_create_cq_ex;
	vctx->modify_cq = compat_modify_cq;
	vctx->create_qp_ex = compat_create_qp_ex;
	vctx->create_srq_ex = compat_create_srq_ex;
	vctx->get_srq_num = compat_get_srq_num;
	vctx->open_qp = compat_open_qp;
	vctx->open_xrcd = compat_open_xrcd;
	vctx->close_xrcd = compat_close_xrcd;
	vctx->alloc_td = compat_alloc_td;
	vctx->dealloc_td = compat_dealloc_td;
	vctx->alloc_parent_domain = compat_alloc_parent_domain;
	vctx->alloc_dm = compat_alloc_dm;
	vctx->free_dm = compat_free_dm;
	vctx->reg_dm_mr = compat_reg_dm_mr;

	ops->_compat_query_device = ibv_query_device;
	ops->_compat_query_port = ibv_query_port;
	ops->alloc_mw = compat_alloc_mw;
	ops->bind_mw = compat_bind_mw;
	ops->dealloc_mw = compat_dealloc_mw;
	ops->poll_cq = compat_poll_cq;
	ops->req_notify_cq = compat_req_notify_cq;
	ops->post_srq_recv = compat_post_srq_recv;
	ops->post_send = compat_post_send;
	ops->post_recv = compat_post_recv;
}
