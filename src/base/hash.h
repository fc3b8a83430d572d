/* SPDX-License-Identifier: BSD-2-Clause */
/* FNV-1a, for names and keys that need no protection against an adversary. */
#ifndef ROCE_BASE_HASH_H
#define ROCE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define ROCE_HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t roce_hash(uint64_t hash, const void *data, size_t length)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
