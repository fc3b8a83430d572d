/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Assertions for our own bugs only; a peer's packet or a caller's argument never trips one.
 * ROCE_ASSERT stays on in release builds, ROCE_ASSERT_SLOW only in debug builds and under the
 * simulator. A trap instead of abort(): the core has no libc dependency beyond freestanding.
 */
#ifndef ROCE_BASE_ASSERT_H
#define ROCE_BASE_ASSERT_H

#define ROCE_ASSERT(cond)                         \
	do {                                      \
		if (__builtin_expect(!(cond), 0)) \
			__builtin_trap();         \
	} while (0)

#ifdef ROCE_DEBUG
#define ROCE_ASSERT_SLOW(cond) ROCE_ASSERT(cond)
#else
#define ROCE_ASSERT_SLOW(cond) ((void)sizeof(!(cond)))
#endif

#define roce_unreachable() __builtin_trap()

#endif
