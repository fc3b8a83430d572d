/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies to and from on-demand and implicit regions, of which a program may unmap parts whenever it
 * likes. The kernel moves the bytes and tells by an error what is not there: no signal is involved,
 * so this holds also without the guard's handlers (guard.h) and in threads that block them.
 * 1.3 us a call, hence not for ordinary regions.
 */
#ifndef ROCE_ENGINE_ON_DEMAND_H
#define ROCE_ENGINE_ON_DEMAND_H

#include <stddef.h>

/* 0 or -EFAULT; on a fault part of the bytes may have been copied. */
int roce_on_demand_read(void *to, const void *from_region, size_t length);
int roce_on_demand_write(void *to_region, const void *from, size_t length);

#endif
