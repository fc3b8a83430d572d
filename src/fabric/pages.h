/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory for what a run walks over without order: ports, and frames in large numbers. From 2 MiB on
 * it asks for huge pages, since a network of a thousand hosts has more small ones than the
 * processor remembers. Freed by free().
 */
#ifndef ROCE_FABRIC_PAGES_H
#define ROCE_FABRIC_PAGES_H

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ROCE_FABRIC_LINE      64u
#define ROCE_FABRIC_HUGE_PAGE ((size_t)2 << 20)

/* Not cleared; NULL without memory. */
static inline void *roce_fabric_pages_get(size_t bytes)
{
	size_t unit = bytes < ROCE_FABRIC_HUGE_PAGE ? ROCE_FABRIC_LINE : ROCE_FABRIC_HUGE_PAGE;
	size_t size = (bytes + unit - 1) & ~(unit - 1);
	void *at = aligned_alloc(unit, size);

	/* Where the system has none, small ones do. */
	if (at && unit == ROCE_FABRIC_HUGE_PAGE)
		(void)madvise(at, size, MADV_HUGEPAGE);
	return at;
}

#endif
