/* SPDX-License-Identifier: BSD-2-Clause */
/* See two_ends.h. */
#include "two_ends.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define V4_FIRST	0 /* GID indexes of the two ends */
#define V4_SECOND	1
#define V6_FIRST	2
#define V6_SECOND	3

#define TIMEOUT_PATIENT 19 /* 2.1 s, 8 times */

static bool has_namespace;

void two_ends_skip_under_tsan(void)
{
#ifdef __SANITIZE_THREAD__
	skip();
#endif
}

int two_ends_enter_namespace(void **state)
{
	(void)state;
	setenv("UROCE_DAEMON", "off", 1);
	setenv("UROCE_ACK_TIMEOUT_FLOOR_US", "20000", 1);
	has_namespace =
		(unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) &&
		system("ip link set lo up && ip addr add 127.0.0.2/8 dev lo && "
		       "ip addr add fd00::2/128 dev lo nodad") == 0;
	return 0;
}

static struct end_config config(bool is_second, const struct two_ends_options *o)
{
	return (struct end_config){
		.ifindex = if_nametoindex("lo"),
		.gid_index = o->is_v6 ? (is_second ? V6_SECOND : V6_FIRST)
				      : (is_second ? V4_SECOND : V4_FIRST),
		.mtu = 5,
		.depth = 64,
		.buffer_bytes = TWO_ENDS_BUFFER_BYTES,
		.has_events = o->has_events,
		.is_on_demand = o->is_on_demand,
		.timeout = o->timeout ? o->timeout : TIMEOUT_PATIENT,
		.retry_count = 7,
	};
}

void two_ends_run(end_fn *first, end_fn *second, struct two_ends_options options)
{
	static struct end e;
	struct end_config cfg;
	int fds[2];
	int status;
	pid_t child;

	if (!has_namespace)
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		alarm(300);
		close(fds[0]);
		cfg = config(true, &options);
		end_open(&e, &cfg, fds[1]);
		second(&e, fds[1]);
		end_close(&e);
		_exit(0);
	}
	close(fds[1]);
	cfg = config(false, &options);
	end_open(&e, &cfg, fds[0]);
	first(&e, fds[0]);
	end_close(&e);
	close(fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (options.second_is_killed)
		assert_true(WIFSIGNALED(status));
	else
		assert_int_equal(status, 0);
}

void two_ends_expect(struct end *e, uint8_t status)
{
	struct roce_cqe cqe;

	assert_true(end_poll(e, &cqe, TWO_ENDS_PATIENCE));
	assert_int_equal(cqe.status, status);
}

void two_ends_stay_passive(struct end *e, int fd)
{
	(void)e;
	end_meet(fd);
}
