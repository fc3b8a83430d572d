/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks of the pcapng format (IETF draft-ietf-opsawg-pcapng): type, total length, body padded to
 * 32 bits, total length again; in the byte order of the machine, which the section header tells.
 */
#include "report/pcapng.h"

#include <string.h>

enum {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_PACKET = 6,
	BYTE_ORDER_MAGIC = 0x1a2b3c4d,
	LINKTYPE_ETHERNET = 1,
};

enum {
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	OPTION_FLAGS = 2,	/* of a packet */
	OPTION_NAME = 2,	/* of an interface */
	OPTION_APPLICATION = 4, /* of a section */
	OPTION_SPEED = 8,	/* of an interface */
	OPTION_RESOLUTION = 9,	/* of an interface: a power of ten */
};

static const uint8_t nanoseconds = 9;

static void put16(FILE *out, uint16_t v)
{
	fwrite(&v, sizeof(v), 1, out);
}

static void put32(FILE *out, uint32_t v)
{
	fwrite(&v, sizeof(v), 1, out);
}

static uint32_t padded(size_t length)
{
	return (uint32_t)((length + 3) & ~(size_t)3);
}

static void put_padded(FILE *out, const void *bytes, size_t length)
{
	static const uint8_t zeros[4];

	if (length)
		fwrite(bytes, 1, length, out);
	fwrite(zeros, 1, padded(length) - length, out);
}

static uint32_t option_bytes(size_t length)
{
	return 4 + padded(length);
}

static void put_option(FILE *out, uint16_t code, const void *value, size_t length)
{
	put16(out, code);
	put16(out, (uint16_t)length);
	put_padded(out, value, length);
}

static size_t text_length(const char *text)
{
	return strnlen(text, UINT16_MAX);
}

void roce_pcapng_begin(FILE *out, const char *application)
{
	size_t length = text_length(application);
	uint32_t total = 28 + option_bytes(length) + option_bytes(0);
	uint64_t unknown_length = UINT64_MAX;

	put32(out, BLOCK_SECTION);
	put32(out, total);
	put32(out, BYTE_ORDER_MAGIC);
	put16(out, 1); /* version 1.0 */
	put16(out, 0);
	fwrite(&unknown_length, sizeof(unknown_length), 1, out);
	put_option(out, OPTION_APPLICATION, application, length);
	put_option(out, OPTION_END, NULL, 0);
	put32(out, total);
}

void roce_pcapng_interface(FILE *out, const char *name, uint64_t bits_per_s)
{
	size_t length = text_length(name);
	uint32_t total = 20 + option_bytes(length) + option_bytes(1) + option_bytes(0);

	if (bits_per_s)
		total += option_bytes(sizeof(bits_per_s));
	put32(out, BLOCK_INTERFACE);
	put32(out, total);
	put16(out, LINKTYPE_ETHERNET);
	put16(out, 0);
	put32(out, 0); /* no limit to a packet's length */
	put_option(out, OPTION_NAME, name, length);
	if (bits_per_s)
		put_option(out, OPTION_SPEED, &bits_per_s, sizeof(bits_per_s));
	put_option(out, OPTION_RESOLUTION, &nanoseconds, 1);
	put_option(out, OPTION_END, NULL, 0);
	put32(out, total);
}

void roce_pcapng_write(FILE *out, const struct roce_pcapng_packet *packet)
{
	size_t comment = packet->comment ? text_length(packet->comment) : 0;
	uint32_t flags = packet->direction;
	uint32_t total = 32 + padded(packet->length) + option_bytes(0);

	if (flags)
		total += option_bytes(sizeof(flags));
	if (comment)
		total += option_bytes(comment);
	put32(out, BLOCK_PACKET);
	put32(out, total);
	put32(out, packet->interface);
	put32(out, (uint32_t)(packet->time_ns >> 32));
	put32(out, (uint32_t)packet->time_ns);
	put32(out, packet->length);
	put32(out, packet->original);
	put_padded(out, packet->bytes, packet->length);
	if (flags)
		put_option(out, OPTION_FLAGS, &flags, sizeof(flags));
	if (comment)
		put_option(out, OPTION_COMMENT, packet->comment, comment);
	put_option(out, OPTION_END, NULL, 0);
	put32(out, total);
}
