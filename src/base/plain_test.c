/* SPDX-License-Identifier: BSD-2-Clause */
/* What stays of a text, byte by byte. */
#include "base/plain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *text, const char *expected)
{
	char copy[64];

	snprintf(copy, sizeof(copy), "%s", text);
	roce_plain_make(copy);
	assert_string_equal(copy, expected);
	assert_int_equal(roce_plain_is(text, false), strcmp(text, expected) == 0);
	assert_true(roce_plain_is(copy, false));
}

static void plain__keeps_text(void **state)
{
	(void)state;
	expect("", "");
	expect("a ~", "a ~");
	expect("\u00a0\u00e9 \u20ac \U0001f600 \U0010ffff",
	       "\u00a0\u00e9 \u20ac \U0001f600 \U0010ffff");
	expect("\uffef\ufffd", "\uffef\ufffd");
}

static void plain__replaces_control_characters(void **state)
{
	(void)state;
	expect("\x1b[2J\a\n\t\x7f", "?[2J????");
	expect("\xc2\x9b"
	       "31m",
	       "??31m"); /* CSI as one character */
	expect("\xc2\x80\xc2\x9f\xc2\xa0", "????\xc2\xa0");
	expect("\xef\xbf\xbe\xef\xbf\xbf", "??????"); /* not allowed in XML */
}

static void plain__replaces_what_is_no_utf_8(void **state)
{
	(void)state;
	expect("\xff"
	       "a\xfe",
	       "?a?");
	expect("\xc3", "?"); /* cut off */
	expect("\xe2\x82", "??");
	expect("\xe2\x82"
	       "x",
	       "??x");
	expect("\xc0\xaf\xe0\x80\xaf", "?????"); /* longer than need be */
	expect("\xed\xa0\x80", "???");		 /* a surrogate */
	expect("\xf4\x90\x80\x80", "????");	 /* above U+10FFFF */
	expect("\x80\xbf", "??");
}

static void plain__may_have_lines(void **state)
{
	(void)state;
	assert_true(roce_plain_is("a\n\tb\n", true));
	assert_false(roce_plain_is("a\n\tb\r", true));
	assert_false(roce_plain_is("a\n", false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain__keeps_text),
		cmocka_unit_test(plain__replaces_control_characters),
		cmocka_unit_test(plain__replaces_what_is_no_utf_8),
		cmocka_unit_test(plain__may_have_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
