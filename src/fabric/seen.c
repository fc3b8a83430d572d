/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring of words that moves on over full ones and doubles where a hole stays open. A number that
 * was lost for good keeps its word, so a flow that loses takes an eighth of a byte for each packet
 * from there on.
 */
#include "fabric/seen.h"

#include "base/assert.h"

#include <stdlib.h>

#define WORD_BITS 64u

static uint64_t *word_of(const struct roce_fabric_seen *seen, uint64_t number)
{
	return &seen->words[number / WORD_BITS & (seen->count - 1)];
}

static void grow(struct roce_fabric_seen *seen)
{
	uint32_t count = seen->count ? 2 * seen->count : 1;
	struct roce_fabric_seen wider = {.words = calloc(count, sizeof(*wider.words)),
					 .count = count};

	ROCE_ASSERT(wider.words);
	for (uint32_t i = 0; i < seen->count; i++) {
		uint64_t number = seen->base + i * (uint64_t)WORD_BITS;

		*word_of(&wider, number) = *word_of(seen, number);
	}
	free(seen->words);
	seen->words = wider.words;
	seen->count = count;
}

static void make_room(struct roce_fabric_seen *seen, uint64_t number)
{
	while (number - seen->base >= (uint64_t)seen->count * WORD_BITS) {
		uint64_t *first = seen->count ? word_of(seen, seen->base) : NULL;

		if (!first || *first != UINT64_MAX) {
			grow(seen);
			continue;
		}
		*first = 0;
		seen->base += WORD_BITS;
	}
}

bool roce_fabric_seen_add(struct roce_fabric_seen *seen, uint64_t number)
{
	uint64_t bit = UINT64_C(1) << number % WORD_BITS;
	uint64_t *word;

	if (number < seen->base)
		return false;
	make_room(seen, number);
	word = word_of(seen, number);
	if (*word & bit)
		return false;
	*word |= bit;
	if (number > seen->newest)
		seen->newest = number;
	return true;
}

bool roce_fabric_seen_add_psn(struct roce_fabric_seen *seen, roce_psn_t psn)
{
	const roce_psn_t newest = {(uint32_t)(seen->newest & ROCE_PSN_MASK)};
	int64_t number = (int64_t)seen->newest + roce_psn_diff(psn, newest);

	/* Before the first: one that was never sent. */
	return number >= 0 && roce_fabric_seen_add(seen, (uint64_t)number);
}

void roce_fabric_seen_fini(struct roce_fabric_seen *seen)
{
	free(seen->words);
	*seen = (struct roce_fabric_seen){0};
}
