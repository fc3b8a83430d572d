/* SPDX-License-Identifier: BSD-2-Clause */
/* Each mistake in UROCE_NAME has its line; what is right has none. */
#include "tools/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static void expect(const char *names, const char *part)
{
	char err[256] = "";
	int r = roce_names_check(names, err, sizeof(err));

	assert_int_equal(r, part ? -1 : 0);
	if (part)
		assert_non_null(strstr(err, part));
}

static void names_check__right(void **state)
{
	(void)state;
	expect(NULL, NULL);
	expect("", NULL);
	expect("mlx5_0=lo", NULL);
	expect("mlx5_0=lo,", NULL);
}

static void names_check__each_mistake(void **state)
{
	(void)state;
	expect("foo", "\"foo\" is not NAME=INTERFACE");
	expect("=lo", "is not NAME=INTERFACE");
	expect("mlx5_0=", "is not NAME=INTERFACE");
	expect("a/b=lo", "slash");
	expect("mlx5_0=lo,mlx5_0=lo", "has already");
	expect("mlx5_0=no_such_if", "no network interface");
	expect("mlx5_0=an_interface_name_too_long", "no network interface");
	expect("mlx5_0=lo,bad", "\"bad\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_check__right),
		cmocka_unit_test(names_check__each_mistake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
