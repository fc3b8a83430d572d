/* SPDX-License-Identifier: BSD-2-Clause */
/* In the build tree examples stand beside bin, installed ones in libexec. */
#include "verify/agent/program.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool va_program_find(struct va_run *run, const char *name, char out[VA_PATH_BYTES])
{
	static const char *const places[] = {"", "../examples/", "../libexec/uroce/"};
	char self[VA_PATH_BYTES - 256] = "";
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	va_need(run, n > 0 && strrchr(self, '/'), "readlink");
	strrchr(self, '/')[1] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(out, VA_PATH_BYTES, "%s%s%s", self, places[i], name);
		if (!access(out, X_OK))
			return true;
	}
	snprintf(out, VA_PATH_BYTES, "%s%s", self, name);
	return false;
}

static pid_t start(struct va_run *run, char *const argv[], int *out_fd)
{
	int fds[2];
	pid_t pid;

	va_need(run, !pipe(fds), "pipe");
	pid = fork();
	va_need(run, pid >= 0, "fork");
	if (!pid) {
		(void)dup2(fds[1], STDOUT_FILENO);
		(void)dup2(fds[1], STDERR_FILENO);
		(void)close_range(3, ~0u, 0);
		execv(argv[0], argv);
		dprintf(STDOUT_FILENO, "%s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	close(fds[1]);
	*out_fd = fds[0];
	return pid;
}

int va_program_run(struct va_run *run, char *const argv[], char *text, size_t size)
{
	size_t used = 0;
	int status = 0;
	int fd;
	pid_t pid = start(run, argv, &fd);

	for (;;) {
		struct pollfd readable = {.fd = fd, .events = POLLIN};
		char rest[256];
		bool has_room = used + 1 < size;
		ssize_t n;

		if (roce_clock_now() > run->deadline)
			va_fail(run, "%s did not end in the time of the case", argv[0]);
		if (poll(&readable, 1, 1000) != 1)
			continue;
		n = read(fd, has_room ? text + used : rest,
			 has_room ? size - 1 - used : sizeof(rest));
		if (n <= 0)
			break;
		used += has_room ? (size_t)n : 0;
	}
	text[used] = '\0';
	close(fd);
	va_need(run, waitpid(pid, &status, 0) == pid, "waitpid");
	if (WIFSIGNALED(status))
		va_fail(run, "%s ended by signal %d (%s)", argv[0], WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	return WEXITSTATUS(status);
}
