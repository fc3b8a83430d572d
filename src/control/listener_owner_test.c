/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owners of abstract names: ours, another user's, with a full backlog, and names that are nearly
 * the same.
 */
#include "control/listener_owner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static struct roce_rendezvous make_name(const char *end)
{
	struct roce_rendezvous r;
	char text[64];

	(void)snprintf(text, sizeof(text), "@uroce/listener-owner-test/%d%s", (int)getpid(), end);
	assert_int_equal(roce_rendezvous_from_str(&r, text), 0);
	return r;
}

static int open_there(const struct roce_rendezvous *r, bool is_listening)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&r->address, r->length), 0);
	if (is_listening)
		assert_int_equal(listen(fd, 0), 0);
	return fd;
}

static bool kernel_tells;

static void need_a_kernel_that_tells(void)
{
	if (!kernel_tells)
		skip();
}

static void ours_is_found(void **state)
{
	struct roce_rendezvous here = make_name(""), longer = make_name("0"), path;
	uid_t uid = 12345;
	int fd;

	(void)state;
	fd = open_there(&here, true);
	kernel_tells = roce_listener_owner_find(&here, &uid) != -EOPNOTSUPP;
	close(fd);
	need_a_kernel_that_tells();
	uid = 12345;
	assert_int_equal(roce_listener_owner_find(&here, &uid), -ENOENT);
	fd = open_there(&here, false);
	assert_int_equal(roce_listener_owner_find(&here, &uid), -ENOENT);
	assert_int_equal(listen(fd, 0), 0);
	assert_int_equal(roce_listener_owner_find(&longer, &uid), -ENOENT);
	assert_int_equal(uid, 12345);
	assert_int_equal(roce_listener_owner_find(&here, &uid), 0);
	assert_int_equal(uid, geteuid());
	close(fd);
	assert_int_equal(roce_rendezvous_from_str(&path, "/run/x"), 0);
	assert_int_equal(roce_listener_owner_find(&path, &uid), -EINVAL);
}

/* More than fit into one answer of the kernel. */
static void one_of_many_is_found(void **state)
{
	enum { COUNT = 400 };
	int fds[COUNT];
	char end[16]; /* "/" and any number */

	(void)state;
	need_a_kernel_that_tells();
	for (int i = 0; i < COUNT; i++) {
		struct roce_rendezvous r;

		(void)snprintf(end, sizeof(end), "/%d", i);
		r = make_name(end);
		fds[i] = open_there(&r, true);
	}
	for (int i = 0; i < COUNT; i += 57) {
		struct roce_rendezvous r;
		uid_t uid = 12345;

		(void)snprintf(end, sizeof(end), "/%d", i);
		r = make_name(end);
		assert_int_equal(roce_listener_owner_find(&r, &uid), 0);
		assert_int_equal(uid, geteuid());
	}
	for (int i = 0; i < COUNT; i++)
		close(fds[i]);
}

static void strangers_is_found_behind_a_full_backlog(void **state)
{
	struct roce_rendezvous here = make_name("");
	int pipe_fds[2], taken[16], count = 0;
	struct ucred peer;
	char byte;
	uid_t uid;
	pid_t pid;

	(void)state;
	need_a_kernel_that_tells();
	if (geteuid())
		skip();
	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	if (!pid) {
		if (setresuid(NOBODY, NOBODY, NOBODY))
			_exit(1);
		(void)open_there(&here, true);
		(void)!write(pipe_fds[1], "x", 1);
		pause();
		_exit(0);
	}
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	while ((taken[count] = roce_rendezvous_connect(&here, &peer)) >= 0)
		assert_true(++count < 16);
	assert_int_equal(taken[count], -EAGAIN);
	assert_int_equal(roce_listener_owner_find(&here, &uid), 0);
	assert_int_equal(uid, NOBODY);
	while (count)
		close(taken[--count]);
	close(pipe_fds[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ours_is_found),
		cmocka_unit_test(one_of_many_is_found),
		cmocka_unit_test(strangers_is_found_behind_a_full_backlog),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
