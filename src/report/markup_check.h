/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For tests of pages: each element that is opened is closed, in order. Included by a test, after
 * cmocka.h.
 */
#ifndef ROCE_REPORT_MARKUP_CHECK_H
#define ROCE_REPORT_MARKUP_CHECK_H

#include <stdbool.h>
#include <string.h>

static size_t count_of(const char *text, const char *what)
{
	size_t n = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		n++;
	}
	return n;
}

static bool is_void_element(const char *name, size_t length)
{
	static const char *const names[] = {"meta", "!DOCTYPE"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0)
			return true;
	}
	return false;
}

/* Everything but the script and the style, whose text is not markup. */
static void assert_well_formed(const char *text)
{
	char open[64][16];
	size_t depth = 0;

	for (const char *p = strchr(text, '<'); p; p = strchr(p, '<')) {
		bool is_end = p[1] == '/';
		const char *name = p + 1 + is_end;
		size_t length = strcspn(name, " >\n/");
		const char *close = strchr(p, '>');

		assert_non_null(close);
		assert_in_range(length, 1, sizeof(open[0]) - 1);
		if (is_end) {
			assert_true(depth > 0);
			depth--;
			assert_memory_equal(open[depth], name, length);
			assert_int_equal(strlen(open[depth]), length);
		} else if (close[-1] != '/' && !is_void_element(name, length)) {
			assert_in_range(depth, 0, 63);
			memcpy(open[depth], name, length);
			open[depth++][length] = '\0';
		}
		p = close;
		if (!is_end && (strncmp(name, "style", 5) == 0 || strncmp(name, "script", 6) == 0))
			p = strstr(p, name[1] == 't' ? "</style>" : "</script>");
		assert_non_null(p);
	}
	assert_int_equal(depth, 0);
}

#endif
