/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Eight bytes at a time: word i of a key is a mixed value, little-endian in memory, and offsets
 * that do not start on a word take the inner bytes of it.
 */
#include "tools/verbs_check/pattern.h"

#include <endian.h>
#include <string.h>

static uint64_t pattern_word(uint64_t key, uint64_t index)
{
	uint64_t x = key + index * 0x9E3779B97F4A7C15ULL;

	x ^= x >> 32;
	x *= 0xD6E8FEB86659FD93ULL;
	x ^= x >> 32;
	return htole64(x);
}

uint8_t vc_pattern_byte(uint64_t key, uint64_t offset)
{
	uint64_t word = pattern_word(key, offset / 8);
	uint8_t bytes[8];

	memcpy(bytes, &word, sizeof(bytes));
	return bytes[offset % 8];
}

void vc_pattern_fill(uint8_t *to, size_t length, uint64_t key, uint64_t offset)
{
	size_t at = 0;

	for (; at < length && (offset + at) % 8 != 0; at++)
		to[at] = vc_pattern_byte(key, offset + at);
	for (; at + 8 <= length; at += 8) {
		uint64_t word = pattern_word(key, (offset + at) / 8);

		memcpy(to + at, &word, sizeof(word));
	}
	for (; at < length; at++)
		to[at] = vc_pattern_byte(key, offset + at);
}

static bool check_bytes(const uint8_t *from, size_t start, size_t end, uint64_t key,
			uint64_t offset, struct vc_mismatch *out_mismatch)
{
	for (size_t at = start; at < end; at++) {
		uint8_t expected = vc_pattern_byte(key, offset + at);

		if (from[at] != expected) {
			*out_mismatch = (struct vc_mismatch){
				.offset = at, .expected = expected, .found = from[at]};
			return false;
		}
	}
	return true;
}

bool vc_pattern_check(const uint8_t *from, size_t length, uint64_t key, uint64_t offset,
		      struct vc_mismatch *out_mismatch)
{
	size_t at = (8 - offset % 8) % 8;

	if (at > length)
		at = length;
	if (!check_bytes(from, 0, at, key, offset, out_mismatch))
		return false;
	for (; at + 8 <= length; at += 8) {
		uint64_t expected = pattern_word(key, (offset + at) / 8);
		uint64_t found;

		memcpy(&found, from + at, sizeof(found));
		if (found != expected)
			return check_bytes(from, at, at + 8, key, offset, out_mismatch);
	}
	return check_bytes(from, at, length, key, offset, out_mismatch);
}
