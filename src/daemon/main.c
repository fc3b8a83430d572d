/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program uroced: options, the manners of a daemon, the control socket, then the server. It is
 * started by the first application that needs it (with --report-fd: the application waits there for
 * one byte), by its keeper (--resume-fd), by systemd or by hand.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/listen.h"
#include "daemon/server.h"

#define IDLE_SECONDS 2

enum {
	KEY_FOREGROUND = 'f',
	KEY_SHARE_WITH = 's',
	KEY_SOCKET = 'S',
	KEY_IDLE_EXIT = 'i',
	KEY_REPORT_FD = 256,
	KEY_RESUME_FD,
	KEY_NO_KEEPER,
};

const char *argp_program_version = "uroced " UROCE_VERSION;

static const struct argp_option options[] = {
	{"foreground", KEY_FOREGROUND, NULL, 0, "Stay in the foreground and log to stderr", 0},
	{"share-with", KEY_SHARE_WITH, "USER", 0,
	 "Serve this user too (name or number; may be given again). All users served share the "
	 "addresses and must trust each other",
	 0},
	{"socket", KEY_SOCKET, "PATH", 0,
	 "Listen at PATH, or at an abstract name when it is @NAME (default: an abstract name of "
	 "the "
	 "user and network namespace)",
	 0},
	{"idle-exit", KEY_IDLE_EXIT, "SECONDS", 0,
	 "Leave SECONDS after the last client (default 2; 0: never)", 0},
	{"no-keeper", KEY_NO_KEEPER, NULL, 0,
	 "Run without the process that preserves the sockets when uroced is killed", 0},
	{"report-fd", KEY_REPORT_FD, "FD", OPTION_HIDDEN, NULL, 0},
	{"resume-fd", KEY_RESUME_FD, "FD", OPTION_HIDDEN, NULL, 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const char doc[] =
	"Shares UDP port 4791 among the programs of a user in a network namespace: leases "
	"receive-queue "
	"slots to them and relays stray packets. Usually started on demand and gone when idle.";

struct arguments {
	struct roce_server_config server;
	const char *socket;
	int report_fd;
};

static int parse_number(struct argp_state *state, const char *s, int least, int most)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(s, &end, 10);
	if (errno || end == s || *end || value < least || value > most)
		argp_error(state, "'%s' is not a number from %d to %d", s, least, most);
	return (int)value;
}

static void share_with(struct argp_state *state, struct roce_server_config *cfg, const char *user)
{
	struct passwd *pw = getpwnam(user);
	char *end;
	unsigned long uid = strtoul(user, &end, 10);

	if (cfg->shared_count == ROCE_SERVER_SHARED_MAX)
		argp_error(state, "--share-with takes at most %d users", ROCE_SERVER_SHARED_MAX);
	if (!pw && (end == user || *end || uid >= UINT32_MAX))
		argp_error(state, "no user '%s'", user);
	cfg->shared[cfg->shared_count++] = pw ? pw->pw_uid : (uid_t)uid;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_FOREGROUND:
		a->server.is_foreground = true;
		return 0;
	case KEY_SHARE_WITH:
		share_with(state, &a->server, arg);
		return 0;
	case KEY_SOCKET:
		a->socket = arg;
		return 0;
	case KEY_IDLE_EXIT:
		a->server.idle_ns = (roce_ns_t)parse_number(state, arg, 0, 1000000) * ROCE_NS_PER_S;
		return 0;
	case KEY_NO_KEEPER:
		a->server.has_keeper = false;
		return 0;
	case KEY_REPORT_FD:
		a->report_fd = parse_number(state, arg, 3, 1 << 20);
		return 0;
	case KEY_RESUME_FD:
		a->server.resume_fd = parse_number(state, arg, 3, 1 << 20);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {options, parse_option, NULL, doc, NULL, NULL, NULL};

/* Whoever started us may have left anything behind. */
static void reset_signals(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN); /* the keeper leaves no zombie */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_others(int keep1, int keep2)
{
	int low = keep1 < keep2 ? keep1 : keep2, high = keep1 < keep2 ? keep2 : keep1;
	int limit = (int)sysconf(_SC_OPEN_MAX);

	for (int i = 3; i <= high; i++)
		if (i != low && i != high)
			close(i);
	if (high < 3)
		high = 2;
	if (syscall(SYS_close_range, (unsigned)high + 1, ~0u, 0) == 0)
		return;
	for (int i = high + 1; i < limit; i++)
		close(i);
}

static void detach(bool keeps_stderr)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	if (chdir("/"))
		_exit(1);
	umask(077);
	if (null < 0)
		return;
	dup2(null, 0);
	dup2(null, 1);
	if (!keeps_stderr)
		dup2(null, 2);
	if (null > 2)
		close(null);
}

static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void report(int fd, bool is_good, const char *text)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "%c%s\n", is_good ? '+' : '-', text);

	if (fd < 0 || n < 0)
		return;
	if (write(fd, line, (size_t)n) < 0)
		return; /* the application has gone; nobody needs to know */
	close(fd);
}

/* Started by hand: the parent waits for the outcome. Returns in the child only. */
static void go_to_background(int *out_report_fd)
{
	int fds[2];
	char text[512];
	ssize_t n;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) || (pid = fork()) < 0) {
		perror("uroced");
		exit(1);
	}
	if (pid == 0) {
		*out_report_fd = fds[1];
		return;
	}
	close(fds[1]);
	n = read(fds[0], text, sizeof(text) - 1);
	if (n > 0 && text[0] == '+')
		exit(0);
	text[n > 0 ? n : 0] = 0;
	fprintf(stderr, "uroced: %s", n > 1 ? text + 1 : "ended unexpectedly\n");
	exit(1);
}

static char **make_keeper_argv(const struct arguments *a, char *name)
{
	static char *argv[ROCE_SERVER_SHARED_MAX + 8];
	unsigned n = 0;

	argv[n++] = name;
	if (a->server.is_foreground)
		argv[n++] = strdup("--foreground");
	if (asprintf(&argv[n++], "--idle-exit=%llu",
		     (unsigned long long)(a->server.idle_ns / ROCE_NS_PER_S)) < 0)
		exit(1);
	for (unsigned i = 0; i < a->server.shared_count; i++)
		if (asprintf(&argv[n++], "--share-with=%u", a->server.shared[i]) < 0)
			exit(1);
	argv[n] = NULL;
	return argv;
}

int main(int argc, char **argv)
{
	struct arguments a = {.report_fd = -1};
	char err[ROCE_CONTROL_TEXT_MAX] = "";
	bool is_resumed;

	a.server.resume_fd = a.server.listen_fd = -1;
	a.server.idle_ns = IDLE_SECONDS * ROCE_NS_PER_S;
	a.server.has_keeper = true;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	is_resumed = a.server.resume_fd >= 0;
	prctl(PR_SET_NAME, "uroced"); /* its keeper runs it as /proc/self/exe */
	reset_signals();
	if (a.report_fd >= 0 || is_resumed)
		close_others(a.report_fd, a.server.resume_fd);
	if (!a.server.is_foreground) {
		if (a.report_fd < 0 && !is_resumed)
			go_to_background(&a.report_fd);
		detach(false);
	}
	if (a.report_fd >= 0)
		fcntl(a.report_fd, F_SETFD, FD_CLOEXEC);
	if (is_resumed)
		fcntl(a.server.resume_fd, F_SETFD, FD_CLOEXEC);
	raise_descriptor_limit();
	if (!is_resumed) {
		a.server.listen_fd = roce_listen_open(a.socket, a.server.shared_count > 0,
						      &a.server.listen, err, sizeof(err));
		if (a.server.listen_fd == -EEXIST && !a.server.is_foreground) {
			report(a.report_fd, true, "");
			return 0;
		}
		if (a.server.listen_fd == -EEXIST)
			snprintf(err, sizeof(err), "another uroced listens already");
		if (a.server.listen_fd < 0) {
			if (a.server.is_foreground)
				fprintf(stderr, "uroced: %s\n", err);
			report(a.report_fd, false, err);
			return 1;
		}
	}
	report(a.report_fd, true, "");
	a.server.argv = make_keeper_argv(&a, argv[0]);
	return roce_server_run(&a.server);
}
