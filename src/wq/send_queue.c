/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send queue's ring: slot size and the free-running indexes. What a WQE means is the
 * requester's business; slots are reclaimed by completion_queue.c when the program polls.
 */
#include "wq/wq.h"

#include "base/assert.h"

static uint32_t stride_of(uint32_t max_sge, uint32_t max_inline)
{
	size_t tail = (size_t)max_sge * sizeof(struct roce_sge);

	if (tail < max_inline)
		tail = max_inline;
	return (uint32_t)((sizeof(struct roce_send_wqe) + tail + 7) & ~(size_t)7);
}

size_t roce_send_queue_bytes(uint32_t depth, uint32_t max_sge, uint32_t max_inline)
{
	return (size_t)depth * stride_of(max_sge, max_inline);
}

void roce_send_queue_init(struct roce_send_queue *sq, void *storage, uint32_t depth,
			  uint32_t max_sge, uint32_t max_inline)
{
	ROCE_ASSERT((depth & (depth - 1)) == 0);
	*sq = (struct roce_send_queue){
		.storage = storage,
		.stride = stride_of(max_sge, max_inline),
		.depth = depth,
		.max_sge = max_sge,
		.max_inline = max_inline,
	};
}
