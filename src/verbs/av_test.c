/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address vectors that cannot work are refused with EINVAL and one line that names the field: the
 * test reads its own standard error.
 */
#include "verbs/loop_env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

static struct loop_env env;

static int setup(void **state)
{
	(void)state;
	loop_env_init(&env, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	loop_env_fini(&env);
	return 0;
}

/* Refuses with a line that contains `expected`, and with no other line. */
static void check_refused(const struct roce_av *av, const char *expected)
{
	char line[1024] = "";
	struct roce_path path;
	int saved = dup(STDERR_FILENO);
	int fds[2];
	int result;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
	result = roce_av_resolve(&env.dev, "create_ah", av, &path);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	close(saved);
	close(fds[1]);
	assert_true(read(fds[0], line, sizeof(line) - 1) > 0);
	close(fds[0]);
	assert_int_equal(result, -EINVAL);
	if (!strstr(line, expected) || strchr(line, '\n') != line + strlen(line) - 1)
		fail_msg("no \"%s\" in: %s", expected, line);
}

static void resolve__case_010_no_grh(void **state)
{
	struct roce_av av = loop_av();

	(void)state;
	av.is_global = false;
	check_refused(&av, "ah_attr.is_global is 0");
}

static void resolve__case_011_empty_index(void **state)
{
	struct roce_av av = loop_av();

	(void)state;
	av.sgid_index = 9;
	check_refused(&av, "ah_attr.grh.sgid_index 9: GID index 9 empty");
	/* Both sides asked for index 9: the own one is the one to name. */
	av.dgid = (struct roce_gid){{0}};
	check_refused(&av, "ah_attr.grh.sgid_index 9: GID index 9 empty");
}

static void resolve__case_018_zero_dgid(void **state)
{
	struct roce_av av = loop_av();

	(void)state;
	av.dgid = (struct roce_gid){{0}};
	check_refused(&av, "ah_attr.grh.dgid is zero");
	check_refused(&av, "no IP on its network device");
}

static void resolve__two_families(void **state)
{
	struct roce_av av = loop_av();

	(void)state;
	av.sgid_index = 1;
	check_refused(&av, "GID index 1 is an IPv6 address, dgid an IPv4 one");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(resolve__case_010_no_grh, setup, teardown),
		cmocka_unit_test_setup_teardown(resolve__case_011_empty_index, setup, teardown),
		cmocka_unit_test_setup_teardown(resolve__case_018_zero_dgid, setup, teardown),
		cmocka_unit_test_setup_teardown(resolve__two_families, setup, teardown),
	};

	setenv("UROCE_DEBUG", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
