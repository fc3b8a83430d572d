/* SPDX-License-Identifier: BSD-2-Clause */
/* The variables that `uroce run` sets: ours first, what was there kept, nothing twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "tools/environment.h"

static const struct roce_place place = {.library_dir = "/x/lib", .daemon = "/x/bin/uroced"};

static const struct roce_environment_extras none, verbs = {.preload_verbs = true},
						  sockets = {.sockets = true};

/* What a program was promised must not be left out without a word. */
static void set__sockets_without_their_library(void **state)
{
	(void)state;
	assert_int_equal(roce_environment_set(&place, &sockets), -ENOENT);
}

static void set__empty_environment(void **state)
{
	(void)state;
	unsetenv("LD_LIBRARY_PATH");
	unsetenv("LD_PRELOAD");
	assert_int_equal(roce_environment_set(&place, &none), 0);
	assert_string_equal(getenv("LD_LIBRARY_PATH"), "/x/lib");
	assert_string_equal(getenv("UROCE_UROCED"), "/x/bin/uroced");
	assert_null(getenv("LD_PRELOAD"));
}

static void set__keeps_what_is_there(void **state)
{
	(void)state;
	setenv("LD_LIBRARY_PATH", "/a:/b", 1);
	setenv("LD_PRELOAD", "/other.so", 1);
	assert_int_equal(roce_environment_set(&place, &verbs), 0);
	assert_string_equal(getenv("LD_LIBRARY_PATH"), "/x/lib:/a:/b");
	assert_string_equal(getenv("LD_PRELOAD"), "/x/lib/libibverbs.so.1:/other.so");
}

static void set__twice_is_once(void **state)
{
	(void)state;
	setenv("LD_LIBRARY_PATH", "/a:/x/lib/more", 1); /* begins alike, but is another */
	assert_int_equal(roce_environment_set(&place, &none), 0);
	assert_string_equal(getenv("LD_LIBRARY_PATH"), "/x/lib:/a:/x/lib/more");
	assert_int_equal(roce_environment_set(&place, &none), 0);
	assert_string_equal(getenv("LD_LIBRARY_PATH"), "/x/lib:/a:/x/lib/more");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set__empty_environment),
		cmocka_unit_test(set__sockets_without_their_library),
		cmocka_unit_test(set__keeps_what_is_there),
		cmocka_unit_test(set__twice_is_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
