/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Touching memory that may be gone. Regions are the process's own memory and are not pinned, so a
 * program can unmap one while a peer writes to it; that must be an error of the queue pair, not the
 * end of the program. These routines copy or change memory and give -EFAULT where a plain access
 * would have raised SIGSEGV or SIGBUS.
 *
 * The signal handlers act only while the calling thread is inside one of these routines; any other
 * fault goes to whatever handler was there before. UROCE_GUARD=off installs none: then a fault
 * kills, with the core dump at the right place. A thread that blocks SIGSEGV or SIGBUS is not
 * protected, since the kernel does not deliver them.
 */
#ifndef ROCE_ENGINE_GUARD_H
#define ROCE_ENGINE_GUARD_H

#include <stddef.h>
#include <stdint.h>

/* Puts our handlers in place, in front of the program's; again when the program has installed its
 * own since. Cheap: call it whenever a device is opened or an address is. */
void roce_guard_install(void);

/* 0 or -EFAULT; on a fault part of the bytes may have been copied. */
int roce_guard_copy(void *dst, const void *src, size_t length);

/* Atomic on an aligned word; out_orig is set only when 0 is returned. */
int roce_guard_compare_swap(uint64_t *word, uint64_t compare, uint64_t swap, uint64_t *out_orig);
int roce_guard_fetch_add(uint64_t *word, uint64_t add, uint64_t *out_orig);

#endif
