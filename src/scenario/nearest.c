/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Did you mean: the key or word that is nearest to what was written, by letters left out, added,
 * exchanged or transposed, if it is near enough.
 */
#include "scenario/key.h"

#include <stdio.h>
#include <string.h>

#define DISTANCE_LENGTH_MAX 63

uint32_t roce_text_distance(const char *a, const char *b)
{
	uint8_t rows[3][DISTANCE_LENGTH_MAX + 1];
	size_t a_length = strlen(a);
	size_t b_length = strlen(b);

	if (a_length > DISTANCE_LENGTH_MAX || b_length > DISTANCE_LENGTH_MAX)
		return UINT32_MAX;
	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = (uint8_t)j;
	for (size_t i = 1; i <= a_length; i++) {
		uint8_t *now = rows[i % 3];
		const uint8_t *last = rows[(i - 1) % 3];

		now[0] = (uint8_t)i;
		for (size_t j = 1; j <= b_length; j++) {
			uint8_t best = (uint8_t)(last[j - 1] + (a[i - 1] != b[j - 1]));

			if (last[j] + 1 < best)
				best = (uint8_t)(last[j] + 1);
			if (now[j - 1] + 1 < best)
				best = (uint8_t)(now[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    rows[(i - 2) % 3][j - 2] + 1 < best)
				best = (uint8_t)(rows[(i - 2) % 3][j - 2] + 1);
			now[j] = best;
		}
	}
	return rows[a_length % 3][b_length];
}

/* Among equally near ones the one that begins alike. */
struct nearest {
	const char *wanted;
	const char *best;
	size_t best_length;
	uint32_t distance;
	size_t common;
};

static void offer(struct nearest *n, const char *candidate, size_t length, uint32_t distance)
{
	size_t common = 0;

	while (common < length && n->wanted[common] == candidate[common])
		common++;
	if (distance > n->distance || (distance == n->distance && common <= n->common))
		return;
	*n = (struct nearest){n->wanted, candidate, length, distance, common};
}

static uint32_t distance_to(const char *wanted, const char *candidate, size_t length)
{
	char text[DISTANCE_LENGTH_MAX + 1];

	if (length > DISTANCE_LENGTH_MAX)
		return UINT32_MAX;
	memcpy(text, candidate, length);
	text[length] = '\0';
	return roce_text_distance(wanted, text);
}

static uint32_t bearable(const char *wanted)
{
	return 1 + (uint32_t)strlen(wanted) / 4;
}

bool roce_section_nearest(const struct roce_section *section, const char *path, char *out,
			  size_t size)
{
	struct nearest n = {.wanted = path, .distance = bearable(path)};
	const char *last = strrchr(path, '.');

	last = last ? last + 1 : path;
	for (uint32_t i = 0; i < section->key_count; i++) {
		const char *candidate = section->keys[i].path;
		const char *leaf = strrchr(candidate, '.');
		size_t length = strlen(candidate);

		offer(&n, candidate, length, distance_to(path, candidate, length));
		/* The right name in the wrong group; a group. */
		if (leaf && strcmp(leaf + 1, last) == 0)
			offer(&n, candidate, length, 0);
		for (; leaf > candidate; leaf--) {
			length = (size_t)(leaf - candidate);
			if (*leaf == '.')
				offer(&n, candidate, length, distance_to(path, candidate, length));
		}
	}
	if (n.best)
		snprintf(out, size, "%.*s", (int)n.best_length, n.best);
	return n.best != NULL;
}

bool roce_words_nearest(const char *words, const char *word, char *out, size_t size)
{
	struct nearest n = {.wanted = word, .distance = bearable(word)};

	for (size_t length; *words; words += length + (words[length] == '|')) {
		length = strcspn(words, "|");
		offer(&n, words, length, distance_to(word, words, length));
	}
	if (n.best)
		snprintf(out, size, "%.*s", (int)n.best_length, n.best);
	return n.best != NULL;
}
