/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fields of control messages in both directions: each function either writes the field or reads and
 * checks it, so that encoder and decoder are one list of calls and cannot drift apart.
 */
#include "control/cursor.h"

#include <string.h>

uint8_t *roce_cursor_advance(struct roce_cursor *c, size_t bytes)
{
	uint8_t *p = c->data + c->at;

	if (c->error)
		return NULL;
	if (bytes > c->length - c->at) {
		c->error = ROCE_MESSAGE_ERROR_TRUNCATED;
		return NULL;
	}
	c->at += bytes;
	return p;
}

static uint64_t transfer_number(struct roce_cursor *c, uint64_t value, size_t bytes)
{
	uint8_t *p = roce_cursor_advance(c, bytes);

	if (!p)
		return 0;
	if (c->writing) {
		for (size_t i = 0; i < bytes; i++)
			p[i] = (uint8_t)(value >> (8 * i));
		return value;
	}
	value = 0;
	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)p[i] << (8 * i);
	return value;
}

void roce_cursor_u8(struct roce_cursor *c, uint8_t *v)
{
	*v = (uint8_t)transfer_number(c, *v, 1);
}

void roce_cursor_u16(struct roce_cursor *c, uint16_t *v)
{
	*v = (uint16_t)transfer_number(c, *v, 2);
}

void roce_cursor_u32(struct roce_cursor *c, uint32_t *v)
{
	*v = (uint32_t)transfer_number(c, *v, 4);
}

void roce_cursor_u64(struct roce_cursor *c, uint64_t *v)
{
	*v = transfer_number(c, *v, 8);
}

void roce_cursor_bytes(struct roce_cursor *c, void *bytes, size_t length)
{
	uint8_t *p = roce_cursor_advance(c, length);

	if (!p)
		return;
	if (c->writing)
		memcpy(p, bytes, length);
	else
		memcpy(bytes, p, length);
}

/* Two bytes of length, then the characters without a terminator. */
void roce_cursor_string(struct roce_cursor *c, char *s, size_t size)
{
	uint16_t length = c->writing ? (uint16_t)strnlen(s, size - 1) : 0;

	roce_cursor_u16(c, &length);
	if (c->error)
		return;
	if (length >= size) {
		c->error = ROCE_MESSAGE_ERROR_STRING;
		return;
	}
	roce_cursor_bytes(c, s, length);
	if (c->writing || c->error)
		return;
	s[length] = 0;
	/* They end up in terminals and logs. */
	for (uint16_t i = 0; i < length; i++)
		if ((uint8_t)s[i] < 0x20 || s[i] == 0x7f)
			c->error = ROCE_MESSAGE_ERROR_STRING;
}

void roce_cursor_flags(struct roce_cursor *c, uint32_t *flags, uint32_t known)
{
	roce_cursor_u32(c, flags);
	if (!c->error && (*flags & ~known))
		c->error = ROCE_MESSAGE_ERROR_FLAGS;
}

void roce_cursor_address(struct roce_cursor *c, struct roce_address *a)
{
	roce_cursor_bytes(c, a->gid.raw, sizeof(a->gid.raw));
	roce_cursor_u32(c, &a->ifindex);
}

void roce_cursor_count(struct roce_cursor *c, uint8_t *count, uint8_t most)
{
	roce_cursor_u8(c, count);
	if (!c->error && *count > most)
		c->error = ROCE_MESSAGE_ERROR_COUNT;
}
