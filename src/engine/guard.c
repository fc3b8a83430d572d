/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guarded memory access by a jump out of the signal handler.
 *
 * A routine notes where to go on in a thread-local variable, does its work, and clears the
 * variable. A fault in between is synchronous: the handler runs on the same thread, sees the
 * variable and jumps. SA_NODEFER leaves the signal mask alone, so nothing of it is saved or
 * restored and the guard costs a few nanoseconds.
 *
 * The system kills a thread that faults while it blocks the signal, handler or not, and programs
 * block all signals in their workers. So each thread has the two unblocked before its first copy:
 * for good, since a look at the mask costs as much as the copy.
 *
 * Rejected: process_vm_writev() on ourselves, 1.3 us a call; the compiler's builtin jump, for which
 * gcc drops the landing when it sees no call in between that could jump.
 */
#include "engine/guard.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CHAINED 0x75726f63 /* in si_errno, which is 0 in a signal from the kernel */

/* initial-exec: a handler must not allocate thread-local storage on first use. */
static _Thread_local sigjmp_buf *volatile escape __attribute__((tls_model("initial-exec")));

static _Thread_local bool is_unblocked __attribute__((tls_model("initial-exec")));

static bool is_installed; /* set once, read without the lock */
static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction previous_segv;
static struct sigaction previous_bus;

static bool is_sent(const siginfo_t *info)
{
	return info->si_code <= 0;
}

static void reset_to_default(int number)
{
	struct sigaction action = {.sa_handler = SIG_DFL};

	sigaction(number, &action, NULL);
}

/* Returning from the handler meets a fault again; what somebody sent must come once more. */
static void die_by_default(int number, const siginfo_t *info)
{
	reset_to_default(number);
	if (is_sent(info))
		raise(number);
}

/* The fault is not ours. If the program's handler calls us in turn, the default ends the circle:
 * seen by a mark in the signal's own facts, since a handler may also leave by a jump. */
static void chain(int number, siginfo_t *info, void *context)
{
	const struct sigaction *previous = number == SIGSEGV ? &previous_segv : &previous_bus;
	bool has_info = previous->sa_flags & SA_SIGINFO;
	sigset_t old;

	if (!has_info && previous->sa_handler == SIG_IGN && is_sent(info))
		return;
	if (info->si_errno == CHAINED ||
	    (!has_info && (previous->sa_handler == SIG_DFL || previous->sa_handler == SIG_IGN))) {
		die_by_default(number, info);
		return;
	}
	info->si_errno = CHAINED;
	if (previous->sa_flags & (int)SA_RESETHAND)
		reset_to_default(number);
	pthread_sigmask(SIG_BLOCK, &previous->sa_mask, &old);
	if (has_info)
		previous->sa_sigaction(number, info, context);
	else
		previous->sa_handler(number);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	sigjmp_buf *to = escape;

	/* A signal that somebody sent is no fault of the copy. */
	if (to && !is_sent(info)) {
		escape = NULL;
		siglongjmp(*to, 1);
	}
	chain(number, info, context);
}

static void install_one(int number, struct sigaction *previous)
{
	struct sigaction now;
	struct sigaction ours = {.sa_sigaction = on_fault,
				 .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};

	sigemptyset(&ours.sa_mask);
	if (sigaction(number, NULL, &now) < 0)
		return;
	if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault)
		return;
	*previous = now;
	sigaction(number, &ours, NULL);
}

void roce_guard_install(void)
{
	const char *choice = getenv("UROCE_GUARD");

	if (choice && strcmp(choice, "off") == 0)
		return;
	pthread_mutex_lock(&install_lock);
	install_one(SIGSEGV, &previous_segv);
	install_one(SIGBUS, &previous_bus);
	__atomic_store_n(&is_installed, true, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&install_lock);
}

/* The barriers keep the access between setting and clearing `escape`. */
#define BARRIER() __asm__ volatile("" ::: "memory")

static void unblock_faults(void)
{
	sigset_t faults;

	if (is_unblocked || !__atomic_load_n(&is_installed, __ATOMIC_RELAXED))
		return;
	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	sigaddset(&faults, SIGBUS);
	pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
	is_unblocked = true;
}

int roce_guard_copy(void *dst, const void *src, size_t length)
{
	sigjmp_buf here;

	unblock_faults();
	if (sigsetjmp(here, 0))
		return -EFAULT;
	escape = &here;
	BARRIER();
	memcpy(dst, src, length);
	BARRIER();
	escape = NULL;
	return 0;
}

int roce_guard_compare_swap(uint64_t *word, uint64_t compare, uint64_t swap, uint64_t *out_orig)
{
	sigjmp_buf here;
	uint64_t found = compare;

	unblock_faults();
	if (sigsetjmp(here, 0))
		return -EFAULT;
	escape = &here;
	BARRIER();
	(void)__atomic_compare_exchange_n(word, &found, swap, false, __ATOMIC_SEQ_CST,
					  __ATOMIC_SEQ_CST);
	BARRIER();
	escape = NULL;
	*out_orig = found;
	return 0;
}

int roce_guard_fetch_add(uint64_t *word, uint64_t add, uint64_t *out_orig)
{
	sigjmp_buf here;
	uint64_t found;

	unblock_faults();
	if (sigsetjmp(here, 0))
		return -EFAULT;
	escape = &here;
	BARRIER();
	found = __atomic_fetch_add(word, add, __ATOMIC_SEQ_CST);
	BARRIER();
	escape = NULL;
	*out_orig = found;
	return 0;
}
