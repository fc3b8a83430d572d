/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes that nobody can guess, or none at all: getrandom(), or the device file where that is
 * missing or forbidden (an old kernel, a seccomp filter).
 */
#ifndef ROCE_CONTROL_RANDOM_H
#define ROCE_CONTROL_RANDOM_H

#include <stddef.h>

/* 0, or -errno when there is no source; then `out` is not to be used. */
__attribute__((warn_unused_result)) int roce_random_fill(void *out, size_t length);

#endif
