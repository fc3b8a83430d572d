/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For files of ours in a program's process. Under a limit of file sizes (RLIMIT_FSIZE, as sandboxes
 * and services have it) a write sends SIGXFSZ, which kills; and a program that writes no files has
 * no handler. Between begin and end such a write is just an error (EFBIG): the signal is blocked,
 * and one that has come meanwhile is taken away. It goes to the thread that writes, so nobody else
 * misses one.
 */
#ifndef ROCE_ENGINE_FILE_LIMIT_H
#define ROCE_ENGINE_FILE_LIMIT_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

struct roce_file_limit {
	sigset_t before;
	bool was_pending;
};

static inline bool roce_file_limit_is_pending(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

static inline void roce_file_limit_begin(struct roce_file_limit *limit)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, SIGXFSZ);
	limit->was_pending = roce_file_limit_is_pending();
	pthread_sigmask(SIG_BLOCK, &one, &limit->before);
}

/* Keeps errno. */
static inline void roce_file_limit_end(const struct roce_file_limit *limit)
{
	const struct timespec at_once = {0};
	int err = errno;
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, SIGXFSZ);
	if (!limit->was_pending && roce_file_limit_is_pending())
		(void)sigtimedwait(&one, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &limit->before, NULL);
	errno = err;
}

#endif
