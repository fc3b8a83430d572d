/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sizes and offsets that programs were compiled with (64-bit), and that our objects lie where the
 * casts of compat.h take them to be. What is wrong does not compile; the program only says so.
 */
#include "compat/libibverbs/compat.h"

#include <stdio.h>

#define AT(type, member, offset) \
	_Static_assert(offsetof(struct type, member) == (offset), #type "." #member)
#define SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type)

AT(ibv_device, node_type, 16);
AT(ibv_device, transport_type, 20);
AT(ibv_device, name, 24);
AT(ibv_device, dev_name, 88);
AT(ibv_device, dev_path, 152);
AT(ibv_device, ibdev_path, 408);
SIZE(ibv_device, 664);

/* 32 pointers; those that inline functions call */
AT(ibv_context_ops, alloc_mw, 7 * 8);
AT(ibv_context_ops, bind_mw, 8 * 8);
AT(ibv_context_ops, dealloc_mw, 9 * 8);
AT(ibv_context_ops, poll_cq, 11 * 8);
AT(ibv_context_ops, req_notify_cq, 12 * 8);
AT(ibv_context_ops, post_srq_recv, 20 * 8);
AT(ibv_context_ops, post_send, 25 * 8);
AT(ibv_context_ops, post_recv, 26 * 8);
SIZE(ibv_context_ops, 256);

AT(ibv_context, ops, 8);
AT(ibv_context, cmd_fd, 264);
AT(ibv_context, async_fd, 268);
AT(ibv_context, num_comp_vectors, 272);
AT(ibv_context, abi_compat, 320);
SIZE(ibv_context, 328);

/* The extended context grows at its front: distances count from its end. */
#define BEFORE_CONTEXT(member, distance)                                         \
	_Static_assert(offsetof(struct verbs_context, context) -                 \
				       offsetof(struct verbs_context, member) == \
			       (distance),                                       \
		       "verbs_context." #member)
BEFORE_CONTEXT(sz, 8);
BEFORE_CONTEXT(close_xrcd, 24);
BEFORE_CONTEXT(open_xrcd, 32);
BEFORE_CONTEXT(create_srq_ex, 40);
BEFORE_CONTEXT(create_qp_ex, 56);
BEFORE_CONTEXT(query_device_ex, 104);
BEFORE_CONTEXT(create_cq_ex, 120);
BEFORE_CONTEXT(query_port, 320);

AT(ibv_pd, handle, 8);
AT(ibv_mr, lkey, 36);
AT(ibv_mr, rkey, 40);
SIZE(ibv_mr, 48);

AT(ibv_cq, cqe, 28);
AT(ibv_cq, mutex, 32);
SIZE(ibv_cq, 128);
AT(ibv_cq_ex, comp_mask, 128);
AT(ibv_cq_ex, wr_id, 136);
AT(ibv_cq_ex, start_poll, 144);
AT(ibv_cq_ex, read_completion_wallclock_ns, 144 + 17 * 8);

AT(ibv_qp, qp_num, 52);
AT(ibv_qp, state, 56);
AT(ibv_qp, qp_type, 60);
SIZE(ibv_qp, 160);
AT(ibv_qp_ex, wr_id, 168);
AT(ibv_qp_ex, wr_atomic_cmp_swp, 184);
AT(ibv_qp_ex, wr_start, 184 + 17 * 8);
AT(ibv_qp_ex, wr_atomic_write, 184 + 20 * 8);

SIZE(ibv_wc, 48);
SIZE(ibv_sge, 16);
SIZE(ibv_send_wr, 128);
SIZE(ibv_recv_wr, 32);
AT(ibv_send_wr, wr, 40);
SIZE(ibv_port_attr, 52);
AT(ibv_port_attr, port_cap_flags2, 48);
SIZE(ibv_gid_entry, 32);
SIZE(ibv_async_event, 16);
SIZE(ibv_device_attr, 232);

/* Ours. */
AT(compat_device, provider_room, 664);
AT(compat_context, vctx, 0);
AT(compat_cq, ex, 0);
AT(compat_qp, ex, 0);
_Static_assert(offsetof(struct ibv_cq_ex, async_events_completed) ==
		       offsetof(struct ibv_cq, async_events_completed),
	       "a queue is both");

int main(void)
{
	puts("layouts are right");
	return 0;
}
