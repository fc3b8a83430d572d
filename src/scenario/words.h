/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists of words, "a, b" split at commas and blanks. A store owns all lists of a scenario until it
 * ends.
 */
#ifndef ROCE_SCENARIO_WORDS_H
#define ROCE_SCENARIO_WORDS_H

#include <stdbool.h>
#include <stdint.h>

struct roce_words {
	const char *const *at;
	uint32_t count;
};

struct roce_word_store {
	struct roce_word_list *first; /* NULL: empty */
};

/* False: out of memory. */
bool roce_words_split(struct roce_word_store *store, const char *text, struct roce_words *out);
void roce_word_store_fini(struct roce_word_store *store);

#endif
