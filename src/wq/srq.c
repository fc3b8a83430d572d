/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shared receive queue: a receive ring whose WQEs are taken when a message begins, so each QP
 * keeps a copy of the one it is filling. The limit fires once and is then disarmed (IBTA 10.2.9).
 */
#include "wq/wq.h"

#include "base/marks.h"

#include <string.h>

void roce_srq_init(struct roce_srq *srq, void *storage, uint32_t depth, uint32_t max_sge,
		   struct roce_pd *pd, void (*on_limit)(struct roce_srq *), void *owner)
{
	*srq = (struct roce_srq){.pd = pd, .on_limit = on_limit, .owner = owner};
	roce_recv_queue_init(&srq->rq, storage, depth, max_sge);
}

bool roce_srq_take(struct roce_srq *srq, struct roce_recv_wqe *out)
{
	const struct roce_recv_wqe *wqe;

	if (roce_recv_queue_is_empty(&srq->rq))
		return false;
	wqe = roce_recv_queue_head(&srq->rq);
	memcpy(out, wqe, sizeof(*wqe) + wqe->sge_count * sizeof(wqe->sge[0]));
	srq->rq.head++;
	if (srq->limit && roce_srq_count(srq) < srq->limit) {
		ROCE_MARK(srq_limit);
		srq->limit = 0;
		srq->on_limit(srq);
	}
	return true;
}

void roce_srq_resize(struct roce_srq *srq, void *storage, uint32_t depth)
{
	struct roce_recv_queue old = srq->rq;

	roce_recv_queue_init(&srq->rq, storage, depth, old.max_sge);
	for (; old.head != old.posted; old.head++) {
		const struct roce_recv_wqe *wqe = roce_recv_queue_head(&old);

		(void)roce_recv_queue_push(&srq->rq, wqe->wr_id, wqe->sge, wqe->sge_count);
	}
}
