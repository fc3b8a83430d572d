/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the client makes of answers that a healthy uroced seldom gives. A child plays the daemon: it
 * takes one client, greets it and answers its next request as the test says. (Clients against the
 * real daemon: tests/daemon.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/forbid_test.h"
#include "control/channel.h"
#include "control/client.h"
#include "control/rendezvous.h"

#define NO_SECCOMP 77 /* exit status */

/* The next request. */
static void receive(int fd, struct roce_channel_packet *p)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	while (roce_channel_receive(fd, p) == -EAGAIN)
		poll(&pfd, 1, -1);
}

static void answer(int fd, const struct roce_channel_packet *request, struct roce_message *m)
{
	m->sequence = request->message.sequence;
	roce_channel_send(fd, m, NULL, 0);
}

static void fail_in_the_middle(int fd)
{
	struct roce_message hello = {.type = ROCE_MESSAGE_HELLO_OK};
	struct roce_message first = {.type = ROCE_MESSAGE_STATUS_DAEMON};
	struct roce_message error = {.type = ROCE_MESSAGE_ERROR,
				     .error = {.error = ENOMEM, .text = "no memory for more"}};
	static struct roce_channel_packet p;

	receive(fd, &p);
	answer(fd, &p, &hello);
	receive(fd, &p);
	answer(fd, &p, &first);
	answer(fd, &p, &error);
	receive(fd, &p); /* until the client closes */
}

/* The socket's name goes to `name`; the child ends with the client. */
static pid_t start_daemon(void (*play)(int fd), char *name, size_t name_size)
{
	struct roce_rendezvous r;
	pid_t child;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(name, name_size, "@uroce-client-test-%d", (int)getpid());
	assert_true(fd >= 0);
	assert_int_equal(roce_rendezvous_from_str(&r, name), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&r.address, r.length), 0);
	assert_int_equal(listen(fd, 1), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		alarm(30);
		play(accept(fd, NULL, NULL));
		_exit(0);
	}
	close(fd);
	return child;
}

static void count_answer(void *ctx, const struct roce_message *m)
{
	unsigned *count = ctx;

	assert_int_equal(m->type, ROCE_MESSAGE_STATUS_DAEMON);
	++*count;
}

static void ask__error_after_an_answer(void **state)
{
	struct roce_message request = {.type = ROCE_MESSAGE_STATUS};
	struct roce_client_config cfg = {0};
	struct roce_client *client;
	char name[64];
	char err[ROCE_CONTROL_TEXT_MAX] = "";
	unsigned count = 0;
	time_t begin;
	pid_t child;
	int status;

	(void)state;
	child = start_daemon(fail_in_the_middle, name, sizeof(name));
	cfg.socket_path = name;
	assert_int_equal(roce_client_open(&client, &cfg, err, sizeof(err)), 0);
	begin = time(NULL);
	assert_int_equal(roce_client_ask(client, &request, count_answer, &count, err, sizeof(err)),
			 -ENOMEM);
	assert_true(time(NULL) - begin < 15); /* it does not wait for another answer */
	assert_string_equal(err, "no memory for more");
	assert_int_equal(count, 1);
	roce_client_close(client);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Takes one client and greets it; 1 if its HELLO has no instance. */
static void greet(int fd)
{
	struct roce_message hello = {.type = ROCE_MESSAGE_HELLO_OK};
	static struct roce_channel_packet p;

	receive(fd, &p);
	if (p.message.type != ROCE_MESSAGE_HELLO || !p.message.hello.instance)
		_exit(1);
	answer(fd, &p, &hello);
	receive(fd, &p); /* until the client closes */
}

/* 0: opened; 1: refused with a line that says why; else: something else. */
static int open_without(const char *name, int first, int second)
{
	struct roce_client_config cfg = {.socket_path = name};
	struct roce_client *client;
	char err[ROCE_CONTROL_TEXT_MAX] = "";
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		int error;

		alarm(120);
		if (!forbid(first, second))
			_exit(NO_SECCOMP);
		error = roce_client_open(&client, &cfg, err, sizeof(err));
		if (error)
			_exit(error == -ENOSYS && strstr(err, "random") ? 1 : 2);
		roce_client_close(client);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_SECCOMP)
		skip();
	return WEXITSTATUS(status);
}

static void open__without_random_bytes(void **state)
{
	char name[64];
	pid_t child;
	int status;

	(void)state;
	child = start_daemon(greet, name, sizeof(name));
	assert_int_equal(open_without(name, SYS_getrandom, SYS_openat), 1);
	assert_int_equal(open_without(name, SYS_getrandom, SYS_getrandom), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ask__error_after_an_answer),
		cmocka_unit_test(open__without_random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
