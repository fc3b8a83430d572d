/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library in front of a program's sockets, linked in front of libc instead of preloaded: this
 * file only makes the calls of a plain program. In a namespace of its own, over lo, with a daemon
 * of its own.
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/loopback.h"

#define SKIP	 77
#define WAIT_MS	 60000
#define SHORT_MS 300

static void enter_namespace(void)
{
	if (!loopback_enter()) {
		puts("no network namespace may be made here");
		exit(SKIP);
	}
}

static int listen_at(struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)address, sizeof(*address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

/* Not cut short when the whole process was stopped and goes on. */
static int wait_in(int set, struct epoll_event *got, int ms)
{
	int count;

	do
		count = epoll_wait(set, got, 2, ms);
	while (count < 0 && errno == EINTR);
	return count;
}

/* What was in a set goes with it: another set under the same number begins empty. */
static void epoll__set_is_closed(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(7100),
				      .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int listener = listen_at(&address), client = socket(AF_INET, SOCK_STREAM, 0);
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = 1}, got[2];
	int set = epoll_create1(0);

	(void)state;
	assert_true(client >= 0 && set >= 0);
	assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, listener, &event), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(wait_in(set, got, WAIT_MS), 1);
	assert_int_equal(got[0].data.u32, 1);
	assert_int_equal(close(set), 0);
	assert_int_equal(epoll_create1(0), set);
	assert_int_equal(wait_in(set, got, SHORT_MS), 0);
	event.data.u32 = 2;
	assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, listener, &event), 0);
	assert_int_equal(wait_in(set, got, WAIT_MS), 1);
	assert_int_equal(got[0].data.u32, 2);
	assert_int_equal(close(set), 0);
	assert_int_equal(close(client), 0);
	assert_int_equal(close(listener), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(epoll__set_is_closed),
	};

	enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
