/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random bytes with the system calls taken away one after the other, each time in a child of its
 * own: the filter cannot be removed again.
 */
#include "base/forbid_test.h"
#include "engine/engine_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES	    64u
#define NO_SECCOMP  77 /* exit status */
#define NOT_REFUSED 78

static bool are_random(const uint8_t *bytes)
{
	uint8_t seen[256] = {0};
	uint32_t distinct = 0;

	for (uint32_t i = 0; i < BYTES; i++)
		distinct += !seen[bytes[i]]++;
	return distinct > BYTES / 2;
}

/* The wait status of a child that asks for bytes without these calls. */
static int ask_without(int first, int second)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		uint8_t bytes[BYTES] = {0};

		alarm(120);
		if (!forbid(first, second))
			_exit(NO_SECCOMP);
		if (getrandom(bytes, 1, 0) >= 0)
			_exit(NOT_REFUSED);
		roce_engine_random(bytes, sizeof(bytes));
		_exit(are_random(bytes) ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SECCOMP)
		skip();
	return status;
}

static void random__fills_everything(void **state)
{
	uint8_t a[BYTES] = {0}, b[BYTES] = {0};

	(void)state;
	roce_engine_random(a, sizeof(a));
	roce_engine_random(b, sizeof(b));
	assert_true(are_random(a));
	assert_memory_not_equal(a, b, sizeof(a));
}

static void random__without_getrandom(void **state)
{
	(void)state;
	assert_int_equal(ask_without(SYS_getrandom, SYS_getrandom), 0);
}

static void random__without_any_source_the_program_ends(void **state)
{
	int status = ask_without(SYS_getrandom, SYS_openat);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random__fills_everything),
		cmocka_unit_test(random__without_getrandom),
		cmocka_unit_test(random__without_any_source_the_program_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
