/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines over a socket pair: in pieces, together, too long, no JSON, cut off. */
#include "verify/lines.h"

#include "base/clock.h"
#include "verify/limit_test.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct ends {
	struct roce_lines lines;
	int other;
};

static int set_up(void **state)
{
	static struct ends e;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	roce_lines_init(&e.lines, fds[0], 64);
	e.other = fds[1];
	*state = &e;
	return 0;
}

static int tear_down(void **state)
{
	struct ends *e = *state;

	roce_lines_fini(&e->lines);
	if (e->other >= 0)
		close(e->other);
	return 0;
}

static void say(const struct ends *e, const char *text)
{
	assert_int_equal(write(e->other, text, strlen(text)), (int)strlen(text));
}

static void expect(struct ends *e, const char *name)
{
	json_t *object;

	assert_int_equal(roce_lines_take(&e->lines, &object), 1);
	assert_string_equal(roce_json_text(object, "is"), name);
	json_decref(object);
}

static void lines__in_pieces_and_together(void **state)
{
	struct ends *e = *state;
	json_t *object;

	say(e, "{\"is\":");
	assert_int_equal(roce_lines_fill(&e->lines), 0);
	assert_int_equal(roce_lines_take(&e->lines, &object), 0);
	say(e, "\"a\"}\n{\"is\":\"b\"}\n{\"i");
	assert_int_equal(roce_lines_fill(&e->lines), 0);
	expect(e, "a");
	assert_true(roce_lines_has(&e->lines)); /* nobody waits for what is there */
	expect(e, "b");
	assert_false(roce_lines_has(&e->lines));
	assert_int_equal(roce_lines_take(&e->lines, &object), 0);
	say(e, "s\":\"c\"}\n");
	assert_int_equal(roce_lines_fill(&e->lines), 0);
	expect(e, "c");
}

static void lines__refuses_what_is_no_object(void **state)
{
	static const char *const rows[] = {
		"[1]\n", "nonsense\n", "\n", "{\"a\":1,\"a\":2}\n", "{\"a\":1} x\n", "\xff\xfe\n"};
	struct ends *e = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *object;

		say(e, rows[i]);
		assert_int_equal(roce_lines_fill(&e->lines), 0);
		assert_int_equal(roce_lines_take(&e->lines, &object), -EBADMSG);
	}
}

static void lines__refuses_what_is_too_long(void **state)
{
	struct ends *e = *state;
	char text[200];
	json_t *object;

	/* many short ones are fine, though longer than the limit together */
	for (int i = 0; i < 6; i++)
		say(e, "{\"is\":\"short\"}\n");
	for (int i = 0; i < 6; i++) {
		(void)!roce_lines_fill(&e->lines);
		expect(e, "short");
	}
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	say(e, text);
	assert_int_equal(roce_lines_fill(&e->lines), -EMSGSIZE);
	assert_int_equal(roce_lines_take(&e->lines, &object), 0);
	assert_int_equal(roce_lines_send(&e->lines, json_pack("{s:s}", "is", text)), -EMSGSIZE);
}

/* As many as a buffer holds take no longer than others do. */
static void lines__takes_a_million_short_ones(void **state)
{
	enum { LINES = 700000 };
	struct ends *e = *state;
	json_t *object;

	roce_lines_fini(&e->lines);
	roce_lines_init(&e->lines, -1, 4u << 20);
	e->lines.size = 3 * (size_t)LINES;
	e->lines.used = e->lines.size;
	e->lines.buffer = malloc(e->lines.size);
	assert_non_null(e->lines.buffer);
	for (size_t i = 0; i < LINES; i++)
		memcpy(e->lines.buffer + 3 * i, "{}\n", 3);
	limit_processor_seconds(60);
	for (size_t i = 0; i < LINES; i++) {
		assert_int_equal(roce_lines_take(&e->lines, &object), 1);
		json_decref(object);
	}
	limit_processor_seconds(0);
	assert_int_equal(roce_lines_take(&e->lines, &object), 0);
}

static void lines__end_and_time(void **state)
{
	struct ends *e = *state;
	json_t *object;

	assert_int_equal(roce_lines_receive(&e->lines, roce_clock_now() + ROCE_NS_PER_MS, &object),
			 -ETIMEDOUT);
	say(e, "{\"is\":\"last\"}\n{\"cut");
	close(e->other);
	e->other = -1;
	/* although the time is over */
	assert_int_equal(roce_lines_receive(&e->lines, 0, &object), 0);
	assert_string_equal(roce_json_text(object, "is"), "last");
	json_decref(object);
	assert_int_equal(roce_lines_receive(&e->lines, 0, &object), -EPIPE);
	assert_int_equal(roce_lines_send(&e->lines, json_pack("{s:s}", "is", "x")), -EPIPE);
}

static void lines__sends_what_it_receives(void **state)
{
	struct ends *e = *state;
	struct roce_lines other;
	json_t *object;

	roce_lines_init(&other, e->other, 64);
	e->other = -1;
	assert_int_equal(roce_lines_send(&other, json_pack("{s:s, s:f, s:I}", "is", "line\n2", "n",
							   1.5, "i", (json_int_t)INT64_MIN)),
			 0);
	assert_int_equal(roce_lines_receive(&e->lines, ROCE_NEVER, &object), 0);
	assert_string_equal(roce_json_text(object, "is"), "line\n2");
	assert_true(roce_json_number(object, "n") == 1.5);
	assert_int_equal(roce_json_integer(object, "n"), 0);
	assert_int_equal(roce_json_integer(object, "i"), INT64_MIN);
	assert_int_equal(roce_json_integer(object, "is"), 0);
	json_decref(object);
	roce_lines_fini(&other);
}

static void json__text_that_is_cut_stays_text(void **state)
{
	json_t *text = json_string("abcd\u00e9");
	char out[6];

	(void)state;
	roce_json_format(text, out, sizeof(out));
	assert_string_equal(out, "abcd?");
	json_decref(text);
}

static void json__numbers_are_rounded_all_the_way_down(void **state)
{
	json_t *json = json_pack("{s:f, s:[{s:f}], s:f, s:f, s:i, s:s}", "a", 3.1400000000000001,
				 "b", "c", 23.143999999999998, "whole", 123456789012345.0, "nine",
				 123456789.5, "i", 7, "t", "0.1");
	char *text;

	(void)state;
	roce_json_round(json);
	text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(ROCE_JSON_DIGITS_MAX));
	assert_string_equal(text, "{\"a\":3.14,\"b\":[{\"c\":23.144}],\"whole\":123456789012345.0,"
				  "\"nine\":123456790.0,\"i\":7,"
				  "\"t\":\"0.1\"}");
	free(text);
	json_decref(json);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines__in_pieces_and_together),
		TEST(lines__refuses_what_is_no_object),
		TEST(lines__refuses_what_is_too_long),
		TEST(lines__takes_a_million_short_ones),
		TEST(lines__end_and_time),
		TEST(lines__sends_what_it_receives),
		TEST(json__text_that_is_cut_stays_text),
		TEST(json__numbers_are_rounded_all_the_way_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
