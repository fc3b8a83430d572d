/* SPDX-License-Identifier: BSD-2-Clause */
/* The end is seen by a pipe whose other end only the case has; the kernel closes it in any case. */
#include "verify/agent/aftermath.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noreturn)) static void
wait_and_restore(int pipe_end, void (*restore)(const void *what), const void *what)
{
	char byte;

	/* A session of its own, for a case that is killed is killed with its whole group; and no
	 * descriptor of the case's, or its end would not be seen by others. */
	(void)setsid();
	(void)dup2(pipe_end, 0);
	(void)close_range(3, ~0u, 0);
	if (read(0, &byte, 1) != 1)
		restore(what);
	_exit(0);
}

int va_when_gone(void (*restore)(const void *what), const void *what, size_t size)
{
	char copy[VA_AFTERMATH_BYTES];
	int fds[2];
	pid_t pid;

	memcpy(copy, what, size < sizeof(copy) ? size : sizeof(copy));
	if (pipe(fds))
		return -1;
	pid = fork();
	if (pid == 0) {
		/* what all processes of a run get when it is over may come first */
		(void)signal(SIGTERM, SIG_IGN);
		if (fork()) /* nobody's child, so that nobody waits for it */
			_exit(0);
		(void)close(fds[1]);
		wait_and_restore(fds[0], restore, copy);
	}
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	(void)close(fds[0]);
	(void)fcntl(fds[1], F_SETFD, FD_CLOEXEC); /* closes with this process */
	return fds[1];
}

void va_put_right(int aftermath)
{
	(void)!write(aftermath, "", 1);
	(void)close(aftermath);
}
