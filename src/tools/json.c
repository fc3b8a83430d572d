/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings of JSON: bytes above 0x7f are taken for UTF-8 and passed on. */
#include "tools/json.h"

#include <stdio.h>

void roce_json_print_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < 0x20)
			printf("\\u%04x", (unsigned int)*s);
		else
			putchar(*s);
	}
	putchar('"');
}
