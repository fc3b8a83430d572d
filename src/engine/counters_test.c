/* SPDX-License-Identifier: BSD-2-Clause */
/* A device's counters over all its processes: those that live, those that ended, those killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/counters.h"
#include "engine/shared_dir.h"

#define SKIP 77

/* No network device has such an index, and no other run of this test. */
static uint32_t test_index(void)
{
	return 2000000000u + (uint32_t)getpid();
}

static uint64_t sum_of_packets(uint32_t ifindex)
{
	struct roce_shared_counters sum;

	assert_int_equal(roce_shared_counters_sum(ifindex, &sum), 0);
	assert_int_equal(sum.pktio.tx_packets, sum.transport.v[ROCE_STAT_TX_PACKETS]);
	assert_int_equal(sum.engine.poll_yields, sum.transport.v[ROCE_STAT_TX_PACKETS]);
	assert_int_equal(sum.decode[ROCE_DECODE_COUNT - 1], sum.transport.v[ROCE_STAT_TX_PACKETS]);
	return sum.pktio.tx_packets;
}

static void count(struct roce_shared_counters *c, uint64_t n)
{
	c->transport.v[ROCE_STAT_TX_PACKETS] += n;
	c->pktio.tx_packets += n;
	c->engine.poll_yields += n;
	c->decode[ROCE_DECODE_COUNT - 1] += n;
}

static struct roce_shared_counters *create(uint32_t ifindex, int *fd)
{
	struct roce_shared_counters *c = roce_shared_counters_create(ifindex, fd);

	assert_non_null(c);
	assert_int_equal(c->ifindex, ifindex);
	assert_int_equal(c->pid, getpid());
	return c;
}

static void sum__of_the_living_and_the_past(void **state)
{
	uint32_t ifindex = test_index();
	struct roce_shared_counters *a;
	struct roce_shared_counters *b;
	int a_fd;
	int b_fd;

	(void)state;
	assert_int_equal(sum_of_packets(ifindex), 0);
	a = create(ifindex, &a_fd);
	b = create(ifindex, &b_fd);
	count(a, 3);
	count(b, 40);
	assert_int_equal(sum_of_packets(ifindex), 43);
	count(a, 500); /* live, not as it was */
	assert_int_equal(sum_of_packets(ifindex), 543);
	roce_shared_counters_destroy(b, b_fd);
	assert_int_equal(sum_of_packets(ifindex), 543);
	assert_int_equal(sum_of_packets(ifindex), 543); /* added to the past once only */
	roce_shared_counters_destroy(a, a_fd);
	assert_int_equal(sum_of_packets(ifindex), 543);
}

static void sum__not_of_another_device(void **state)
{
	uint32_t ifindex = test_index();
	struct roce_shared_counters *a;
	int fd;

	(void)state;
	/* Its index begins with the digits of the other. */
	a = create(ifindex / 10, &fd);
	count(a, 7);
	assert_int_equal(sum_of_packets(ifindex), 543);
	assert_int_equal(sum_of_packets(ifindex / 10), 7);
	roce_shared_counters_destroy(a, fd);
}

/* `uroce counters PID` finds it in /proc/PID/fd. */
static void create__has_a_name(void **state)
{
	char self[32];
	char name[256] = "";
	struct roce_shared_counters *c;
	int fd;

	(void)state;
	c = create(test_index(), &fd);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	assert_true(readlink(self, name, sizeof(name) - 1) > 0);
	assert_non_null(strstr(name, "/uroce-counters-"));
	assert_null(strstr(name, "deleted"));
	roce_shared_counters_destroy(c, fd);
}

static void sum__of_a_killed_process(void **state)
{
	uint32_t ifindex = test_index();
	int ready[2];
	int status;
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		int fd;
		struct roce_shared_counters *c = roce_shared_counters_create(ifindex, &fd);

		count(c, 1000);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(sum_of_packets(ifindex), 1543);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(sum_of_packets(ifindex), 1543);
	assert_int_equal(sum_of_packets(ifindex), 1543);
	close(ready[0]);
	close(ready[1]);
}

/* Of a uroce with one counter more: what stands where is not known, so it neither counts nor, when
 * its process has ended, becomes the past. */
static void sum__not_of_another_layout(void **state)
{
	uint32_t ifindex = test_index();
	struct roce_shared_counters *c;
	int fd;

	(void)state;
	c = create(ifindex, &fd);
	count(c, 9);
	assert_int_equal(sum_of_packets(ifindex), 1552);
	assert_int_equal(ftruncate(fd, (off_t)(sizeof(*c) + sizeof(uint64_t))), 0);
	assert_int_equal(sum_of_packets(ifindex), 1543);
	roce_shared_counters_destroy(c, fd);
	assert_int_equal(sum_of_packets(ifindex), 1543);
}

static int remove_files(void **state)
{
	char dir[ROCE_SHARED_DIR_MAX];
	char path[ROCE_SHARED_DIR_MAX + 64];

	(void)state;
	if (roce_shared_dir_get(dir) != 0)
		return 0;
	snprintf(path, sizeof(path), "%s/uroce-counters-%u-past", dir, test_index());
	unlink(path);
	snprintf(path, sizeof(path), "%s/uroce-counters-%u-past", dir, test_index() / 10);
	unlink(path);
	return 0;
}

/* Exits with 0 if a process that may write no file lives on and counts, unshared. */
static void count_without_files(uint32_t ifindex)
{
	const struct rlimit none = {0, RLIM_INFINITY};
	struct roce_shared_counters past;
	struct roce_shared_counters *c;
	int fd;

	signal(SIGXFSZ, SIG_DFL);
	if (setrlimit(RLIMIT_FSIZE, &none) != 0)
		_exit(1);
	c = roce_shared_counters_create(ifindex, &fd);
	if (!c)
		_exit(2);
	count(c, 1);
	(void)roce_shared_counters_sum(ifindex, &past);
	_exit(0);
}

static void create__under_a_limit_of_file_sizes(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0)
		count_without_files(test_index());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sum__of_the_living_and_the_past),
		cmocka_unit_test(sum__not_of_another_device),
		cmocka_unit_test(sum__of_a_killed_process),
		cmocka_unit_test(sum__not_of_another_layout),
		cmocka_unit_test(create__has_a_name),
		cmocka_unit_test(create__under_a_limit_of_file_sizes),
	};
	char dir[ROCE_SHARED_DIR_MAX];

	(void)!unshare(CLONE_NEWNET); /* then nobody else removes or counts anything there */
	if (roce_shared_dir_get(dir) != 0) {
		puts("no directory in memory here");
		return SKIP;
	}
	return cmocka_run_group_tests(tests, NULL, remove_files);
}
