/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the program's descriptors to rsockets, without a lock on the way of data. Each name holds
 * one reference of its rsocket; changes of the map are serialised.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/rsocket.h>
#include <stdatomic.h>

#include "compat/rspreload/preload.h"

#define FD_MAX 65536

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int target_of[FD_MAX]; /* rsocket + 1; 0: not ours */
static unsigned name_count[FD_MAX];   /* by rsocket */
static struct roce_real real;

static void look_up(void)
{
#define X(type, name, parameters) *(void **)&real.name = dlsym(RTLD_NEXT, #name);
	ROCE_PRELOAD_REAL(X)
#undef X
}

const struct roce_real *roce_real(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, look_up);
	return &real;
}

int roce_preload_target(int fd)
{
	return fd >= 0 && fd < FD_MAX ? atomic_load(&target_of[fd]) - 1 : -1;
}

/* lock held */
static void enter(int fd, int target)
{
	atomic_store(&target_of[fd], target + 1);
	name_count[target]++;
}

int roce_preload_add(int target, int minimum, bool is_cloexec)
{
	/* A duplicate of the rsocket's own descriptor reserves the number. */
	int fd = roce_real()->fcntl(target, is_cloexec ? F_DUPFD_CLOEXEC : F_DUPFD, minimum);

	if (fd < 0)
		return -1;
	if (fd >= FD_MAX) {
		roce_real()->close(fd);
		errno = EMFILE;
		return -1;
	}
	pthread_mutex_lock(&lock);
	enter(fd, target);
	pthread_mutex_unlock(&lock);
	return fd;
}

/* lock held; the rsocket to close, -1 none */
static int leave(int fd)
{
	int target = atomic_exchange(&target_of[fd], 0) - 1;

	if (target < 0 || --name_count[target])
		return -1;
	return target;
}

int roce_preload_add_at(int target, int fd, bool is_cloexec)
{
	int gone = -1, result;

	if (fd < 0 || fd >= FD_MAX) {
		errno = EBADF;
		return -1;
	}
	pthread_mutex_lock(&lock);
	result = roce_real()->dup3(target, fd, is_cloexec ? O_CLOEXEC : 0);
	if (result >= 0) {
		gone = leave(fd);
		enter(fd, target);
	}
	pthread_mutex_unlock(&lock);
	if (gone >= 0)
		rclose(gone);
	return result;
}

void roce_preload_forget(int fd)
{
	int gone;

	if (fd < 0 || fd >= FD_MAX)
		return;
	roce_preload_epoll_forget(fd);
	pthread_mutex_lock(&lock);
	gone = leave(fd);
	pthread_mutex_unlock(&lock);
	if (gone >= 0)
		rclose(gone);
}

int roce_preload_replace(int fd, int plain)
{
	int flags = roce_real()->fcntl(fd, F_GETFD);
	int result =
		roce_real()->dup3(plain, fd, flags >= 0 && (flags & FD_CLOEXEC) ? O_CLOEXEC : 0);

	roce_real()->close(plain);
	if (result >= 0)
		roce_preload_forget(fd);
	return result;
}
