/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What to look at when a case failed: from the words of its reason, then from its group. A list of
 * habits, not a diagnosis; docs/verify-a-network.md has the same in full.
 */
#ifndef ROCE_VERIFY_ADVICE_H
#define ROCE_VERIFY_ADVICE_H

#include <stddef.h>

#define ROCE_VERIFY_ADVICE_MAX 3u

/* The sentences for a case of that name and reason (NULL: none given); how many there are, at least
 * one. */
size_t roce_verify_advice(const char *name, const char *reason,
			  const char *out[ROCE_VERIFY_ADVICE_MAX]);

#endif
