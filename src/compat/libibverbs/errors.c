/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From -errno to the two styles of the interface.
 */
#include "compat/libibverbs/compat.h"

#include <stdatomic.h>

void *compat_null(int err)
{
	errno = -err;
	return NULL;
}

int compat_minus_one(int err)
{
	errno = -err;
	return -1;
}

uint32_t compat_next_handle(void)
{
	static atomic_uint last;
	uint32_t handle;

	do {
		handle = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
	} while (handle == 0);
	return handle;
}
