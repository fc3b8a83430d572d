/* SPDX-License-Identifier: BSD-2-Clause */
/* Each list is one block: link, then the words' addresses, then a copy of the text cut into words.
 */
#include "scenario/words.h"

#include <stdlib.h>
#include <string.h>

#define SEPARATORS ", \t"

struct roce_word_list {
	struct roce_word_list *next;
	const char *at[];
};

static uint32_t count_words(const char *text)
{
	uint32_t count = 0;

	for (text += strspn(text, SEPARATORS); *text; text += strspn(text, SEPARATORS)) {
		text += strcspn(text, SEPARATORS);
		count++;
	}
	return count;
}

bool roce_words_split(struct roce_word_store *store, const char *text, struct roce_words *out)
{
	size_t length = strlen(text);
	uint32_t count = count_words(text);
	struct roce_word_list *list =
		malloc(sizeof(*list) + count * sizeof(list->at[0]) + length + 1);
	char *p;

	if (!list)
		return false;
	p = (char *)&list->at[count];
	memcpy(p, text, length + 1);
	for (uint32_t i = 0; i < count; i++) {
		p += strspn(p, SEPARATORS);
		list->at[i] = p;
		p += strcspn(p, SEPARATORS);
		if (*p)
			*p++ = '\0';
	}
	list->next = store->first;
	store->first = list;
	*out = (struct roce_words){.at = list->at, .count = count};
	return true;
}

void roce_word_store_fini(struct roce_word_store *store)
{
	while (store->first) {
		struct roce_word_list *list = store->first;

		store->first = list->next;
		free(list);
	}
}
