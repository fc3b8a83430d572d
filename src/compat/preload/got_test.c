/* SPDX-License-Identifier: BSD-2-Clause */
/* Patching: the calls of those who need the library are ours afterwards, everybody else's are not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compat/preload/got.h"

#define NEEDED "libgot_test_needed.so"
#define ANSWER 4711

typedef int call_fn(const char *path);

static int own_access(const char *path, int mode)
{
	(void)path;
	(void)mode;
	return ANSWER;
}

static const struct roce_wrapped_call calls[] = {
	{"access", (void *)(uintptr_t)own_access},
	{NULL, NULL},
};

static void *load(const char *path, int how)
{
	void *object = dlopen(path, how | RTLD_LOCAL);

	if (!object)
		fail_msg("%s", dlerror());
	return object;
}

static int call(void *object, const char *name)
{
	call_fn *function = (call_fn *)dlsym(object, name);

	assert_non_null(function);
	return function("/");
}

static void check_patched(void *object)
{
	assert_int_equal(call(object, "needy_access"), ANSWER);
	assert_int_equal(call(object, "needy_access_by_pointer"), ANSWER);
	assert_int_equal(call(object, "needy_stat"), 0); /* not in the list */
}

static void check_untouched(void *object)
{
	assert_int_equal(call(object, "needy_access"), 0);
	assert_int_equal(call(object, "needy_access_by_pointer"), 0);
	assert_int_equal(call(object, "needy_stat"), 0);
}

static void patch__nothing_needs_it(void **state)
{
	void *stranger = load(GOT_TEST_STRANGER, RTLD_NOW);

	(void)state;
	assert_int_equal(roce_got_patch(NEEDED, calls), 0);
	check_untouched(stranger);
	dlclose(stranger);
}

/* RELRO: the loader has made the slots read-only. */
static void patch__bound_at_load(void **state)
{
	void *stranger = load(GOT_TEST_STRANGER, RTLD_NOW);
	void *needy = load(GOT_TEST_NEEDY_NOW, RTLD_NOW);

	(void)state;
	check_untouched(needy);
	assert_true(roce_got_patch(NEEDED, calls) > 0);
	check_patched(needy);
	check_untouched(stranger);
	assert_int_equal(access("/", F_OK), 0);		    /* the program's own */
	assert_int_equal(roce_got_patch(NEEDED, calls), 0); /* once is enough */
	dlclose(needy);
	dlclose(stranger);
}

/* The slot is filled before the loader would have; nothing undoes that. */
static void patch__bound_lazily(void **state)
{
	void *needy = load(GOT_TEST_NEEDY_LAZY, RTLD_LAZY);

	(void)state;
	assert_true(roce_got_patch(NEEDED, calls) > 0);
	check_patched(needy);
	dlclose(needy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patch__nothing_needs_it),
		cmocka_unit_test(patch__bound_at_load),
		cmocka_unit_test(patch__bound_lazily),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
