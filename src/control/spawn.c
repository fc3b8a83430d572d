/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two nested clones with exit signal 0, both sharing our memory until they exec or exit (the
 * process may be large; copying its page tables for a moment's child would not do). The middle one
 * exits at once and is reaped with __WCLONE, which the application's own wait calls do not look at;
 * the inner one is then no child of ours any more. Between clone and exec only system calls are
 * made, with all signals blocked: a handler of the application must not run in a child that shares
 * its memory. Nor must a preloaded library's dup2(), which would take the program's descriptors for
 * its own: those calls go to the kernel by number. The rest of a daemon's manners (session,
 * directory, descriptors, signals) are uroced's own, after the exec.
 */
#include "control/spawn.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef UROCE_INSTALL_BINDIR
#define UROCE_INSTALL_BINDIR "/usr/local/bin"
#endif

#define STACK_BYTES (64 * 1024)
#define REPORT_FD   3

struct start {
	const char *path;
	char *const *argv;
	char *const *envp;
	char *inner_stack_top;
	int report_fd;
	int error; /* of the inner child: memory is shared */
};

static int is_program(const char *path)
{
	return access(path, X_OK) == 0;
}

static int find_beside(const char *file, char *out, size_t size)
{
	static const char *const places[] = {"/../bin/uroced", "/uroced", "/../../bin/uroced"};
	char dir[PATH_MAX];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", file);
	slash = strrchr(dir, '/');
	if (!slash)
		return 0;
	*slash = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int n = snprintf(out, size, "%s%s", dir, places[i]);

		if (n > 0 && (size_t)n < size && is_program(out))
			return 1;
	}
	return 0;
}

int roce_spawn_find(char *out_path, size_t size)
{
	const char *env = secure_getenv("UROCE_UROCED");
	char file[PATH_MAX];
	Dl_info info;
	ssize_t n;

	if (env && *env) {
		if (snprintf(out_path, size, "%s", env) >= (int)size)
			return -ENAMETOOLONG;
		return is_program(env) ? 0 : -errno;
	}
	/* Of a shared library this is the path it was loaded from; of a program it may be relative.
	 */
	if (dladdr((void *)(uintptr_t)roce_spawn_find, &info) && info.dli_fname &&
	    info.dli_fname[0] == '/' && realpath(info.dli_fname, file) &&
	    find_beside(file, out_path, size))
		return 0;
	n = readlink("/proc/self/exe", file, sizeof(file) - 1);
	if (n > 0) {
		file[n] = 0;
		if (find_beside(file, out_path, size))
			return 0;
	}
	snprintf(out_path, size, "%s/uroced", UROCE_INSTALL_BINDIR);
	return is_program(out_path) ? 0 : -ENOENT;
}

static int run_inner(void *arg)
{
	struct start *s = arg;

	if (s->report_fd == REPORT_FD) {
		syscall(SYS_fcntl, REPORT_FD, F_SETFD, 0);
	} else if (syscall(SYS_dup3, s->report_fd, REPORT_FD, 0) < 0) {
		s->error = errno;
		return 1;
	}
	execve(s->path, s->argv, s->envp);
	s->error = errno;
	return 1; /* clone() exits with it, without anything that exit() would do */
}

static int run_middle(void *arg)
{
	struct start *s = arg;

	/* Exit signal 0 in the low byte. */
	if (clone(run_inner, s->inner_stack_top, CLONE_VM | CLONE_VFORK, s) < 0)
		s->error = errno;
	return 0;
}

static int clone_twice(struct start *s)
{
	sigset_t all, old;
	char *stacks;
	int error = 0, status;
	pid_t pid;

	stacks = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stacks == MAP_FAILED)
		return -errno;
	s->inner_stack_top = stacks + STACK_BYTES;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	pid = clone(run_middle, stacks + 2 * STACK_BYTES, CLONE_VM | CLONE_VFORK, s);
	if (pid < 0)
		error = -errno;
	else
		/* ECHILD: the application waits for clones itself and has taken it. */
		while (waitpid(pid, &status, (int)__WCLONE) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	munmap(stacks, 2 * STACK_BYTES);
	return error ? error : -s->error;
}

int roce_spawn_start(const char *path, const char *socket, int *out_report)
{
	char path_env[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	char name[] = "uroced", report[] = "--report-fd=3", option[] = "--socket";
	char *argv[] = {name, report, NULL, NULL, NULL};
	char *envp[] = {path_env, NULL};
	struct start s = {.path = path, .argv = argv, .envp = envp};
	int fds[2], error;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	if (socket) {
		argv[2] = option;
		argv[3] = (char *)(uintptr_t)socket;
	}
	s.report_fd = fds[1];
	error = clone_twice(&s);
	close(fds[1]);
	if (error) {
		close(fds[0]);
		return error;
	}
	*out_report = fds[0];
	return 0;
}
