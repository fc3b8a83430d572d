/* SPDX-License-Identifier: BSD-2-Clause */
/* A case that is killed: what it had changed is put right, although all that belongs to the run is
 * told to end before. */
#include "verify/agent/aftermath.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void restore(const void *what)
{
	int fd = open(what, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
}

/* A process that changes something and never ends by itself. */
static pid_t begin_case(const char *path)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		va_when_gone(restore, path, strlen(path) + 1);
		(void)!write(ready[1], "r", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

/* How many of ours there are beside `pid`; they are told to end. */
static int end_others(pid_t pid)
{
	char path[64];
	int other;
	int count = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	f = fopen(path, "re");
	assert_non_null(f);
	while (fscanf(f, "%d", &other) == 1) {
		if (other == pid)
			continue;
		assert_int_equal(kill(other, SIGTERM), 0);
		count++;
	}
	fclose(f);
	return count;
}

static void restored__although_the_run_is_over(void **state)
{
	char path[VA_AFTERMATH_BYTES];
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/aftermath_test.%d", (int)getpid());
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	pid = begin_case(path);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(end_others(pid), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	while (waitpid(-1, NULL, 0) > 0)
		;
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(restored__although_the_run_is_over)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
