/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receive queue's ring. The head WQE stays in its slot while the responder fills it, so a
 * pointer to it is good until the responder moves the head on.
 */
#include "wq/wq.h"

#include "base/assert.h"
#include "wq/sge.h"

static uint32_t stride_of(uint32_t max_sge)
{
	return (uint32_t)(sizeof(struct roce_recv_wqe) + max_sge * sizeof(struct roce_sge));
}

size_t roce_recv_queue_bytes(uint32_t depth, uint32_t max_sge)
{
	return (size_t)depth * stride_of(max_sge);
}

void roce_recv_queue_init(struct roce_recv_queue *rq, void *storage, uint32_t depth,
			  uint32_t max_sge)
{
	ROCE_ASSERT((depth & (depth - 1)) == 0);
	*rq = (struct roce_recv_queue){
		.storage = storage,
		.stride = stride_of(max_sge),
		.depth = depth,
		.max_sge = max_sge,
	};
}

bool roce_recv_queue_push(struct roce_recv_queue *rq, uint64_t wr_id, const struct roce_sge *sge,
			  uint32_t sge_count)
{
	struct roce_recv_wqe *wqe;

	if (rq->posted - rq->head >= rq->depth)
		return false;
	wqe = (struct roce_recv_wqe *)(void *)(rq->storage +
					       (size_t)(rq->posted & (rq->depth - 1)) * rq->stride);
	wqe->wr_id = wr_id;
	wqe->length = roce_sge_total(sge, sge_count);
	wqe->sge_count = sge_count;
	for (uint32_t i = 0; i < sge_count; i++)
		wqe->sge[i] = sge[i];
	rq->posted++;
	return true;
}
