/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts our functions where an object's calls of libc go: into its global offset table. Only objects
 * that need a given library are touched, so the rest of the program stays what it was.
 *
 * Other patchers (UCX watches mmap() and the like in this way) work under the same lock of the
 * loader, on other names.
 */
#ifndef ROCE_COMPAT_PRELOAD_GOT_H
#define ROCE_COMPAT_PRELOAD_GOT_H

#include "compat/preload/calls.h"

/* In all objects loaded now. The number of entries that were changed. */
unsigned int roce_got_patch(const char *needed_library, const struct roce_wrapped_call *calls);

#endif
