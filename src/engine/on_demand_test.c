/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies that the kernel makes: what is mapped arrives, what is not is an error, at any border, and
 * no handler is needed for it. Where the calls are forbidden the guard steps in.
 */
#include "engine/on_demand.h"

#include "base/forbid_test.h"
#include "engine/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	   4096u
#define NO_SECCOMP 77 /* exit status */

/* Three pages, the last of them not there. */
static uint8_t *map_two_of_three(void)
{
	uint8_t *at =
		mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(munmap(at + 2 * PAGE, PAGE), 0);
	return at;
}

static void copy__what_is_mapped(void **state)
{
	uint8_t *region = map_two_of_three();
	uint8_t bytes[PAGE];

	(void)state;
	memset(bytes, 0x5a, sizeof(bytes));
	/* pages that nobody has touched, and across their border */
	assert_int_equal(roce_on_demand_write(region + PAGE - 7, bytes, sizeof(bytes)), 0);
	assert_memory_equal(region + PAGE - 7, bytes, sizeof(bytes));
	assert_int_equal(region[PAGE - 8], 0);
	assert_int_equal(region[2 * PAGE - 7], 0);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(roce_on_demand_read(bytes, region + PAGE - 7, sizeof(bytes)), 0);
	assert_memory_equal(region + PAGE - 7, bytes, sizeof(bytes));
	munmap(region, 2 * PAGE);
}

static void copy__what_is_not(void **state)
{
	uint8_t *region = map_two_of_three();
	uint8_t bytes[64] = {0};

	(void)state;
	/* no handler is installed: a plain access would end the test */
	assert_int_equal(roce_on_demand_read(bytes, region + 2 * PAGE, 1), -EFAULT);
	assert_int_equal(roce_on_demand_write(region + 2 * PAGE, bytes, 1), -EFAULT);
	assert_int_equal(roce_on_demand_read(bytes, region + 2 * PAGE - 63, 64), -EFAULT);
	assert_int_equal(roce_on_demand_write(region + 2 * PAGE - 63, bytes, 64), -EFAULT);
	assert_int_equal(roce_on_demand_read(bytes, NULL, 8), -EFAULT);
	assert_int_equal(mprotect(region, PAGE, PROT_READ), 0);
	assert_int_equal(roce_on_demand_read(bytes, region, 64), 0);
	assert_int_equal(roce_on_demand_write(region, bytes, 64), -EFAULT);
	assert_int_equal(mprotect(region, PAGE, PROT_NONE), 0);
	assert_int_equal(roce_on_demand_read(bytes, region, 64), -EFAULT);
	munmap(region, 2 * PAGE);
}

static void copy__calls_are_forbidden(void **state)
{
	uint8_t *region = map_two_of_three();
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		uint8_t bytes[64] = {1, 2, 3};

		if (!forbid(SYS_process_vm_readv, SYS_process_vm_writev))
			_exit(NO_SECCOMP);
		if (process_vm_readv(getpid(), NULL, 0, NULL, 0, 0) == 0)
			_exit(1);
		roce_guard_install();
		if (roce_on_demand_write(region, bytes, 64) != 0 || region[2] != 3 ||
		    roce_on_demand_read(bytes, region + 1, 63) != 0 || bytes[1] != 3)
			_exit(2);
		if (roce_on_demand_write(region + 2 * PAGE, bytes, 1) != -EFAULT ||
		    roce_on_demand_read(bytes, region + 2 * PAGE, 1) != -EFAULT)
			_exit(3);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	munmap(region, 2 * PAGE);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_SECCOMP)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copy__what_is_mapped),
		cmocka_unit_test(copy__what_is_not),
		cmocka_unit_test(copy__calls_are_forbidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
