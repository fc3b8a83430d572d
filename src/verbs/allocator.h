/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the rings of queue pairs and receive queues come from: the heap, or functions that the
 * program gave with a parent domain. What they return is cleared before use.
 */
#ifndef ROCE_VERBS_ALLOCATOR_H
#define ROCE_VERBS_ALLOCATOR_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ROCE_ALLOCATOR_ALIGNMENT 64u

/* Zeroed members: the heap. */
struct roce_allocator {
	/* NULL: out of memory. *out_is_own tells whether release() takes it back, or free(). */
	void *(*alloc)(void *ctx, size_t size, size_t alignment, int *out_is_own);
	void (*release)(void *ctx, void *ptr);
	void *ctx;
};

struct roce_block {
	void *ptr;
	struct roce_allocator from; /* zeroed for the heap */
};

static inline int roce_block_get(struct roce_block *block, const struct roce_allocator *from,
				 size_t size)
{
	int is_own = 0;

	*block = (struct roce_block){0};
	if (from && from->alloc) {
		block->ptr = from->alloc(from->ctx, size, ROCE_ALLOCATOR_ALIGNMENT, &is_own);
		if (is_own) {
			if (!block->ptr)
				return -1;
			block->from = *from;
			memset(block->ptr, 0, size);
			return 0;
		}
	}
	block->ptr = calloc(1, size);
	return block->ptr ? 0 : -1;
}

static inline void roce_block_put(struct roce_block *block)
{
	if (block->ptr && block->from.release)
		block->from.release(block->from.ctx, block->ptr);
	else
		free(block->ptr);
	*block = (struct roce_block){0};
}

#endif
