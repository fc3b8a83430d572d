/* SPDX-License-Identifier: BSD-2-Clause */
/* Guarded access: memory that is gone gives -EFAULT, every other fault reaches who had it before.
 */
#include "engine/guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u

static uint8_t *map_pages(size_t count)
{
	void *p = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	assert_true(p != MAP_FAILED);
	return p;
}

static void copy__plain_memory(void **state)
{
	uint8_t a[300], b[300] = {0};

	(void)state;
	roce_guard_install(); /* cmocka has put its handlers in place */
	for (size_t i = 0; i < sizeof(a); i++)
		a[i] = (uint8_t)i;
	assert_int_equal(roce_guard_copy(b, a, sizeof(a)), 0);
	assert_memory_equal(a, b, sizeof(a));
	assert_int_equal(roce_guard_copy(b, a, 0), 0);
}

static void copy__unmapped_target_and_source(void **state)
{
	uint8_t local[PAGE] = {1};
	uint8_t *gone = map_pages(1);

	(void)state;
	roce_guard_install(); /* cmocka has put its handlers in place */
	munmap(gone, PAGE);
	for (int i = 0; i < 1000; i++) { /* the guard works again and again */
		assert_int_equal(roce_guard_copy(gone, local, sizeof(local)), -EFAULT);
		assert_int_equal(roce_guard_copy(local, gone, sizeof(local)), -EFAULT);
	}
	assert_int_equal(roce_guard_copy(local, local + 8, 8), 0);
}

static void copy__tail_unmapped(void **state)
{
	uint8_t *two = map_pages(2);
	uint8_t local[2 * PAGE];

	(void)state;
	roce_guard_install(); /* cmocka has put its handlers in place */
	memset(local, 7, sizeof(local));
	munmap(two + PAGE, PAGE);
	assert_int_equal(roce_guard_copy(two, local, sizeof(local)), -EFAULT);
	assert_int_equal(roce_guard_copy(two, local, PAGE), 0);
	assert_memory_equal(two, local, PAGE);
	munmap(two, PAGE);
}

static void copy__read_only_target(void **state)
{
	uint8_t *page = map_pages(1);
	uint8_t byte = 1;

	(void)state;
	roce_guard_install(); /* cmocka has put its handlers in place */
	mprotect(page, PAGE, PROT_READ);
	assert_int_equal(roce_guard_copy(page, &byte, 1), -EFAULT);
	munmap(page, PAGE);
}

/* A file that shrank raises SIGBUS, not SIGSEGV. */
static void copy__truncated_file(void **state)
{
	int fd = memfd_create("guard", 0);
	uint8_t local[16];
	void *p;

	(void)state;
	roce_guard_install(); /* cmocka has put its handlers in place */
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(roce_guard_copy(local, p, sizeof(local)), -EFAULT);
	munmap(p, PAGE);
	close(fd);
}

static void atomics__value_and_fault(void **state)
{
	uint64_t *word = (void *)map_pages(1);
	uint64_t orig = 99;

	(void)state;
	roce_guard_install(); /* cmocka has put its handlers in place */
	*word = 5;
	assert_int_equal(roce_guard_fetch_add(word, 3, &orig), 0);
	assert_true(orig == 5 && *word == 8);
	assert_int_equal(roce_guard_compare_swap(word, 7, 1, &orig), 0);
	assert_true(orig == 8 && *word == 8);
	assert_int_equal(roce_guard_compare_swap(word, 8, 1, &orig), 0);
	assert_true(orig == 8 && *word == 1);
	munmap(word, PAGE);
	assert_int_equal(roce_guard_fetch_add(word, 1, &orig), -EFAULT);
	assert_int_equal(roce_guard_compare_swap(word, 1, 1, &orig), -EFAULT);
	assert_true(orig == 8);
}

/* ---- faults that are not ours, each in a child ---- */

static sigjmp_buf program_escape;
static volatile sig_atomic_t program_calls;

static void program_handler(int number)
{
	(void)number;
	program_calls++;
	siglongjmp(program_escape, 1);
}

static int fault_in_program(void)
{
	volatile uint8_t *gone = map_pages(1);

	munmap((void *)(uintptr_t)gone, PAGE);
	if (sigsetjmp(program_escape, 1) == 0)
		*gone = 1;
	return (int)program_calls;
}

static int status_of_child(void (*body)(void))
{
	int status = 0;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void check_both(void)
{
	uint8_t local[8] = {0};
	uint8_t *gone = map_pages(1);

	munmap(gone, PAGE);
	if (roce_guard_copy(gone, local, sizeof(local)) != -EFAULT)
		_exit(2);
	if (fault_in_program() != 1 || fault_in_program() != 2)
		_exit(3); /* its handler leaves by a jump, and is called again all the same */
	if (roce_guard_copy(gone, local, sizeof(local)) != -EFAULT)
		_exit(4);
}

static void program_handler_installed_later(void)
{
	signal(SIGSEGV, program_handler);
	roce_guard_install();
	check_both();
}

static void chain__program_keeps_its_handler(void **state)
{
	int status = status_of_child(program_handler_installed_later);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void fault_without_handler(void)
{
	signal(SIGSEGV, SIG_DFL);
	roce_guard_install();
	(void)fault_in_program();
}

static void chain__no_handler_dies_as_before(void **state)
{
	int status = status_of_child(fault_without_handler);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static void fault_with_guard_off(void)
{
	uint8_t *gone = map_pages(1);

	signal(SIGSEGV, SIG_DFL);
	setenv("UROCE_GUARD", "off", 1);
	roce_guard_install();
	munmap(gone, PAGE);
	(void)roce_guard_copy(gone, "x", 1);
}

static void install__off_leaves_the_fault_alone(void **state)
{
	int status = status_of_child(fault_with_guard_off);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static struct sigaction action_before_program;

static void handler_that_calls_the_one_before(int number, siginfo_t *info, void *context)
{
	action_before_program.sa_sigaction(number, info, context);
}

static void fault_in_a_circle_of_handlers(void)
{
	struct sigaction action = {.sa_sigaction = handler_that_calls_the_one_before,
				   .sa_flags = SA_SIGINFO};

	signal(SIGSEGV, SIG_DFL);
	roce_guard_install();
	sigaction(SIGSEGV, &action, &action_before_program);
	roce_guard_install();
	(void)fault_in_program();
}

static void chain__a_circle_of_handlers_dies(void **state)
{
	int status = status_of_child(fault_in_a_circle_of_handlers);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static void sent_signal(void)
{
	signal(SIGSEGV, SIG_DFL);
	roce_guard_install();
	raise(SIGSEGV);
}

static void ignored_signal(void)
{
	signal(SIGSEGV, SIG_IGN);
	roce_guard_install();
	raise(SIGSEGV);
}

static void chain__sent_signal_still_kills(void **state)
{
	int status = status_of_child(sent_signal);

	(void)state;
	assert_true(WIFSIGNALED(status));
	status = status_of_child(ignored_signal);
	assert_true(WIFEXITED(status));
}

static void *copy_with_all_signals_blocked(void *gone)
{
	uint8_t local[8];
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	if (roce_guard_copy(local, gone, sizeof(local)) != -EFAULT)
		return NULL;
	pthread_sigmask(SIG_SETMASK, NULL, &all);
	return sigismember(&all, SIGUSR1) ? gone : NULL; /* the others stay as they were */
}

static void fault_in_a_worker(void)
{
	uint8_t *gone = map_pages(1);
	void *result = NULL;
	pthread_t worker;

	roce_guard_install();
	mprotect(gone, PAGE, PROT_NONE); /* unmapped, the new thread's stack could take its place */
	if (pthread_create(&worker, NULL, copy_with_all_signals_blocked, gone) == 0)
		pthread_join(worker, &result);
	_exit(result == gone ? 0 : 1);
}

/* The system would kill a thread that faults with the signal blocked. */
static void copy__thread_that_blocks_all_signals(void **state)
{
	int status = status_of_child(fault_in_a_worker);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copy__plain_memory),
		cmocka_unit_test(copy__unmapped_target_and_source),
		cmocka_unit_test(copy__tail_unmapped),
		cmocka_unit_test(copy__read_only_target),
		cmocka_unit_test(copy__truncated_file),
		cmocka_unit_test(atomics__value_and_fault),
		cmocka_unit_test(chain__program_keeps_its_handler),
		cmocka_unit_test(chain__no_handler_dies_as_before),
		cmocka_unit_test(chain__a_circle_of_handlers_dies),
		cmocka_unit_test(install__off_leaves_the_fault_alone),
		cmocka_unit_test(chain__sent_signal_still_kills),
		cmocka_unit_test(copy__thread_that_blocks_all_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
