/* SPDX-License-Identifier: BSD-2-Clause */
/* What is left, by files like those of the kernel; and that the kernel has such files. */
#include "base/memory_left.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

static char folder[] = "/tmp/memory_left.XXXXXX";

static void write_file(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void make_folder(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int begin(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
	char command[256];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static void assert_left(uint64_t mib)
{
	uint64_t left = roce_memory_left_by(folder, folder);

	assert_int_equal(left, mib * MIB);
}

static void left__least_of_machine_and_groups(void **state)
{
	(void)state;
	assert_true(roce_memory_left_by(folder, folder) == UINT64_MAX);
	write_file("meminfo", "MemTotal: 9000000 kB\nMemAvailable: 1024000 kB\n");
	assert_left(1000);
	make_folder("self");
	make_folder("a");
	make_folder("a/b");
	write_file("self/cgroup", "1:cpu:/elsewhere\n0::/a/b\n");
	assert_left(1000); /* no limits */
	write_file("a/b/memory.max", "max\n");
	write_file("a/b/memory.current", "104857600\n");
	assert_left(1000);
	write_file("a/b/memory.max", "943718400\n"); /* 900 MiB, of which 100 are used */
	assert_left(800);
	/* 60 of the 100 are of files. */
	write_file("a/b/memory.stat", "anon 41943040\nactive_file 20971520\n"
				      "inactive_file 41943040\nslab 5\n");
	assert_left(860);
	/* A group that this one is part of has less. */
	write_file("a/memory.max", "524288000\n");
	write_file("a/memory.current", "209715200\n");
	assert_left(300);
	write_file("a/memory.current", "629145600\n"); /* more than there may be: it was lowered */
	assert_left(0);
	write_file("self/cgroup", "0::/\n");
	assert_left(1000);
	write_file("memory.max", "104857600\n"); /* the group of a container */
	assert_left(100);
}

static void left__of_this_process(void **state)
{
	struct rlimit before, limit;
	uint64_t left;

	(void)state;
	left = roce_memory_left();
	assert_true(left > 0 && left < UINT64_MAX);
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	limit = (struct rlimit){.rlim_cur = UINT64_C(1) << 60, .rlim_max = before.rlim_max};
	if (before.rlim_cur == RLIM_INFINITY) {
		assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
		assert_in_range(roce_memory_left_by("/nowhere", "/nowhere"), 1, UINT64_C(1) << 60);
		assert_true(roce_memory_left_by("/proc", "/nowhere") <= UINT64_C(1) << 60);
		assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(left__least_of_machine_and_groups),
		cmocka_unit_test(left__of_this_process),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
