/* SPDX-License-Identifier: BSD-2-Clause */
/* Processor time of this process, its children and theirs is its own; the rest is others'. */
#include "verify/others.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define SPIN_NS (200 * 1000 * 1000)

static void spin(void)
{
	struct timespec t;

	do {
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while (t.tv_sec == 0 && t.tv_nsec < SPIN_NS);
}

static void others__are_the_rest(void **state)
{
	struct roce_verify_ticks from = {.all = 1000, .busy = 500, .own = 100};
	struct roce_verify_ticks to = {.all = 1200, .busy = 600, .own = 150};
	struct roce_verify_ticks none = {0};

	(void)state;
	assert_true(roce_verify_others(&from, &to) == 25);
	to.own = 201; /* a tick is counted here and there not at the same moment */
	assert_true(roce_verify_others(&from, &to) == 0);
	assert_true(roce_verify_others(&none, &none) == 0);
	assert_true(roce_verify_others(&to, &from) == 0);
}

static void ticks__count_descendants(void **state)
{
	uint64_t expected = (uint64_t)sysconf(_SC_CLK_TCK) / 10; /* half of what was spent */
	struct roce_verify_ticks before;
	struct roce_verify_ticks running;
	struct roce_verify_ticks after;
	int ready[2];
	char byte;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	roce_verify_ticks_now(&before);
	assert_true(before.all > before.busy && before.busy > 0);
	child = fork();
	if (!child) {
		if (!fork()) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* with the child */
			spin();
			(void)!write(ready[1], "", 1);
			pause();
		}
		pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	roce_verify_ticks_now(&running);
	assert_true(running.own >= before.own + expected);
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	roce_verify_ticks_now(&after);
	assert_true(after.busy >= running.busy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others__are_the_rest),
		cmocka_unit_test(ticks__count_descendants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
