/* SPDX-License-Identifier: BSD-2-Clause */
/* Words for a pipe that is read at once, late, never, or whose reader has gone. */
#include "verify/outlet.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIPE_BYTES 4096
#define LINE	   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n"
#define LINES	   1000u

struct words {
	struct roce_verify_outlet outlet;
	FILE *to;
	int reader;
	int writer; /* the pipe's other end, again */
};

static int set_up(void **state)
{
	struct words *w = calloc(1, sizeof(*w));
	int fds[2];

	if (!w || pipe2(fds, O_CLOEXEC) || fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES) < 0)
		return -1;
	(void)signal(SIGPIPE, SIG_IGN);
	w->reader = fds[0];
	w->writer = fds[1];
	w->to = fdopen(dup(fds[1]), "w");
	roce_verify_outlet_init(&w->outlet, w->to);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct words *w = *state;

	(void)fclose(w->to);
	if (w->reader >= 0)
		close(w->reader);
	if (w->writer >= 0)
		close(w->writer);
	free(w);
	return 0;
}

static size_t read_all(int fd, char *out, size_t size)
{
	size_t used = 0;
	ssize_t n;

	while (used < size && (n = read(fd, out + used, size - used)) > 0)
		used += (size_t)n;
	return used;
}

static void say_lines(struct words *w)
{
	for (uint32_t i = 0; i < LINES; i++) {
		fputs(LINE, w->outlet.text);
		roce_verify_outlet_push(&w->outlet);
	}
}

static void must_be_lines(const char *found, size_t length, uint32_t count)
{
	assert_int_equal(length, count * strlen(LINE));
	for (uint32_t i = 0; i < count; i++)
		assert_memory_equal(found + i * strlen(LINE), LINE, strlen(LINE));
}

static void outlet__goes_out_at_once(void **state)
{
	struct words *w = *state;
	char found[16] = "";

	fputs("one\n", w->outlet.text);
	assert_true(roce_verify_outlet_can_push(&w->outlet));
	roce_verify_outlet_push(&w->outlet);
	assert_int_equal(read(w->reader, found, sizeof(found)), 4);
	assert_string_equal(found, "one\n");
	assert_false(roce_verify_outlet_can_push(&w->outlet));
	fputs("two\n", w->outlet.text);
	roce_verify_outlet_end(&w->outlet, 0);
	assert_int_equal(read(w->reader, found, sizeof(found)), 4);
	assert_string_equal(found, "two\n");
}

static void *read_late(void *arg)
{
	struct words *w = arg;
	char *found = malloc(2 * LINES * strlen(LINE));
	size_t length;

	usleep(100000);
	length = read_all(w->reader, found, 2 * LINES * strlen(LINE));
	must_be_lines(found, length, LINES);
	free(found);
	return NULL;
}

/* Nothing is lost, in its order, and who speaks does not wait before the end. */
static void outlet__is_read_late(void **state)
{
	struct words *w = *state;
	pthread_t reader;

	close(w->writer);
	w->writer = -1;
	say_lines(w); /* nobody reads: this would never end if it waited */
	assert_false(roce_verify_outlet_can_push(&w->outlet));
	assert_int_equal(pthread_create(&reader, NULL, read_late, w), 0);
	roce_verify_outlet_end(&w->outlet, -1);
	assert_int_equal(fclose(w->to), 0);
	pthread_join(reader, NULL);
	w->to = fopen("/dev/null", "we");
}

static void outlet__is_never_read(void **state)
{
	struct words *w = *state;
	roce_ns_t begun = roce_clock_now();

	say_lines(w);
	roce_verify_outlet_end(&w->outlet, 50);
	assert_true(roce_clock_now() - begun >= 50 * ROCE_NS_PER_MS);
	assert_false(ferror(w->to));
}

static void outlet__has_no_reader_any_longer(void **state)
{
	struct words *w = *state;

	say_lines(w);
	close(w->reader);
	w->reader = -1;
	roce_verify_outlet_end(&w->outlet, -1);
	assert_true(ferror(w->to)); /* which is told in the end */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(outlet__goes_out_at_once),
		TEST(outlet__is_read_late),
		TEST(outlet__is_never_read),
		TEST(outlet__has_no_reader_any_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
