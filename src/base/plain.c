/* SPDX-License-Identifier: BSD-2-Clause */
/* UTF-8 as RFC 3629 has it: shortest forms, no surrogates, up to U+10FFFF. */
#include "base/plain.h"

#include <stdint.h>

/* How many bytes the character at `p` has; 0: there is none. */
static unsigned int decode(const unsigned char *p, uint32_t *out)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned int length = *p < 0x80		? 1
			      : *p >> 5 == 0x06 ? 2
			      : *p >> 4 == 0x0e ? 3
			      : *p >> 3 == 0x1e ? 4
						: 0;
	uint32_t value = length > 1 ? *p & (0x7fu >> length) : *p;

	for (unsigned int i = 1; i < length; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		value = value << 6 | (p[i] & 0x3fu);
	}
	if (!length || value < least[length] || value > 0x10ffff || value >> 11 == 0x1b)
		return 0;
	*out = value;
	return length;
}

/* How many bytes at `p` are plain; 0: it is none. */
static unsigned int plain_length(const unsigned char *p)
{
	uint32_t value = 0;
	unsigned int length = decode(p, &value);
	bool is_control = value < 0x20 || (value >= 0x7f && value < 0xa0);

	return is_control || value == 0xfffe || value == 0xffff ? 0 : length;
}

void roce_plain_make(char *text)
{
	while (*text) {
		unsigned int length = plain_length((unsigned char *)text);
		uint32_t value;
		unsigned int all = length ? length : decode((unsigned char *)text, &value);

		for (unsigned int i = 0; !length && i < (all ? all : 1); i++)
			text[i] = '?';
		text += all ? all : 1;
	}
}

bool roce_plain_is(const char *text, bool has_lines)
{
	while (*text) {
		unsigned int length = plain_length((const unsigned char *)text);

		if (!length && has_lines && (*text == '\n' || *text == '\t'))
			length = 1;
		if (!length)
			return false;
		text += length;
	}
	return true;
}
