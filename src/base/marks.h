/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ROCE_MARK(name) at a check or a rare branch says: some test must come here. In debug builds a
 * mark sets a flag, which the unit tests write out when they end; tools/dev/marks.py then fails for
 * every mark in src/ that no test has hit. In release builds it is nothing at all.
 *
 * Names are unique in the tree, in the form <file>_<what>: icrc_id_refused.
 */
#ifndef ROCE_BASE_MARKS_H
#define ROCE_BASE_MARKS_H

#ifdef ROCE_DEBUG

struct roce_mark {
	const char *name;
	unsigned char is_hit;
};

/* The section holds pointers, so that the compiler's alignment of structs leaves no gaps in it. */
#define ROCE_MARK(mark_name)                                                   \
	do {                                                                   \
		static struct roce_mark mark_ = {#mark_name, 0};               \
		static struct roce_mark *const mark_entry_                     \
			__attribute__((section("roce_marks"), used)) = &mark_; \
		__atomic_store_n(&mark_.is_hit, 1, __ATOMIC_RELAXED);          \
	} while (0)

/* The value, marked: for a check that is one line. */
#define ROCE_MARKED(mark_name, value) \
	({                            \
		ROCE_MARK(mark_name); \
		(value);              \
	})

#else
#define ROCE_MARK(mark_name)	      ((void)0)
#define ROCE_MARKED(mark_name, value) (value)
#endif

#endif
