/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keeper is a child in a process group of its own, so that Ctrl-C on the terminal reaches this
 * program only. It is the reaper of its descendants: a daemon that an agent's library starts ends
 * up as its child, and is ended like one. Set-up errors come back over a pipe as one line; its
 * closing says that both agents have begun.
 */
#include "verify/place.h"

#include "base/clock.h"
#include "verify/veth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define AGENT_FD       3
#define COPY_FD	       64 /* above what is given away */
#define BEGIN_S	       60 /* to make namespaces and start programs, on a busy machine */
#define LEAVE_S	       5  /* for agents to end by themselves */
#define END_S	       20 /* for the keeper that was told to end them, which only it can do */
#define TERM_MS	       1500
#define KILLS	       100 /* each with a tenth of a second for those who were killed to be gone */
#define LINE_MAX_BYTES 250
#define CHILDREN_MAX   256
#define ARGUMENTS_MAX  16
#define DAEMON	       "uroced"

struct set_up {
	const struct roce_verify_launch *launch;
	uint32_t mtu;			  /* 0: no namespaces */
	int agent_fds[ROCE_VERIFY_SIDES]; /* -1: no such agent */
	int report;			  /* the pipe for an error */
	/* in the keeper */
	pid_t agents[ROCE_VERIFY_SIDES];
	int ready[ROCE_VERIFY_SIDES];	   /* sockets between keeper and agents before they begin */
	int namespaces[ROCE_VERIFY_SIDES]; /* of the agents, -1: none was made */
};

__attribute__((noreturn, format(printf, 3, 4))) static void die(const struct set_up *s, int error,
								const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (error && n < (int)sizeof(line))
		snprintf(line + n, sizeof(line) - (size_t)n, ": %s", strerror(error));
	n = (int)strlen(line);
	line[n] = '\n'; /* in place of the end: the other one may have a line of its own */
	(void)!write(s->report, line, (size_t)n + 1);
	_exit(1);
}

/* ---- an agent's process ---- */

static void await(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		_exit(1); /* the other one has said why */
}

static void signal_ready(int fd)
{
	(void)!write(fd, "r", 1);
}

static void need(const struct set_up *s, int rc, const char *what)
{
	if (rc)
		die(s, -rc, "%s", what);
}

/* The keeper lets the sides go on by turns: unshare, the veth, addresses. */
static void enter_namespace(const struct set_up *s, enum roce_verify_side side, int keeper)
{
	pid_t peer;

	if (unshare(CLONE_NEWNET))
		die(s, errno == ENOSPC ? 0 : errno, "no network namespace%s",
		    errno == ENOSPC ? ": /proc/sys/user/max_net_namespaces is reached" : "");
	need(s, roce_veth_loopback_up(), "lo cannot be set up");
	signal_ready(keeper);
	if (side == ROCE_VERIFY_INITIATOR) {
		if (read(keeper, &peer, sizeof(peer)) != (ssize_t)sizeof(peer))
			_exit(1);
		need(s, roce_veth_create(s->mtu, peer), "no veth");
	} else {
		await(keeper);
	}
	need(s, roce_veth_configure(side == ROCE_VERIFY_INITIATOR ? 1 : 2, s->mtu),
	     "the veth gets no address");
	signal_ready(keeper);
	await(keeper);
	need(s, roce_veth_await(), "the veth does not come up");
}

static void reset_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

__attribute__((noreturn)) static void be_agent(const struct set_up *s, enum roce_verify_side side,
					       int keeper)
{
	char fd_text[16];
	char *argv[ARGUMENTS_MAX] = {(char *)(uintptr_t)s->launch->agent,
				     (char *)(uintptr_t) "--fd", fd_text};
	int argc = 3;
	int agent = fcntl(s->agent_fds[side], F_DUPFD_CLOEXEC, COPY_FD);
	int report = fcntl(s->report, F_DUPFD_CLOEXEC, COPY_FD);
	struct set_up own = *s;
	int rc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (agent < 0 || report < 0)
		die(s, 0, "no file descriptors for an agent (ulimit -n: at least 256)");
	own.report = report;
	if (s->mtu)
		enter_namespace(&own, side, keeper);
	reset_signals();
	snprintf(fd_text, sizeof(fd_text), "%d", AGENT_FD);
	if (s->mtu) /* what an interface is called does not tell whose it is */
		argv[argc++] = (char *)(uintptr_t) "--own-namespace";
	for (const char *const *a = s->launch->arguments; a && *a && argc + 1 < ARGUMENTS_MAX; a++)
		argv[argc++] = (char *)(uintptr_t)*a;
	if (dup2(agent, AGENT_FD) < 0)
		die(&own, errno, "dup2");
	close_range(AGENT_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	rc = s->launch->prepare ? s->launch->prepare(s->launch->context) : 0;
	if (rc)
		die(&own, -rc, "the environment of the agent");
	execv(s->launch->agent, argv);
	die(&own, errno, "%s", s->launch->agent);
}

/* ---- the keeper ---- */

static void write_file(const struct set_up *s, const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die(s, errno, "%s", path);
	close(fd);
}

/* Root of a container often may not. */
static bool may_make_namespaces(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

	return syscall(SYS_capget, &header, data) == 0 &&
	       (data[0].effective & (1u << CAP_SYS_ADMIN)) &&
	       (data[0].effective & (1u << CAP_NET_ADMIN));
}

static void enter_user_namespace(const struct set_up *s)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWUSER))
		die(s, errno == ENOSPC ? 0 : errno,
		    "no user namespace, which network namespaces need without privilege (run it "
		    "as root, in a container with CAP_SYS_ADMIN, or verify with --self-test, "
		    "--system or --peer)%s",
		    errno == ENOSPC ? ": /proc/sys/user/max_user_namespaces is reached" : "");
	write_file(s, "/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_file(s, "/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	write_file(s, "/proc/self/gid_map", map);
}

static void begin_agent(struct set_up *s, enum roce_verify_side side)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		die(s, errno, "socketpair");
	s->agents[side] = fork();
	if (s->agents[side] < 0)
		die(s, errno, "no process for an agent");
	if (!s->agents[side]) {
		close(fds[0]);
		be_agent(s, side, fds[1]);
	}
	close(fds[1]);
	s->ready[side] = fds[0];
}

/* For the end, when nobody is left to tell. */
static void hold_namespaces(struct set_up *s)
{
	char path[64];

	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)s->agents[side]);
		s->namespaces[side] = open(path, O_RDONLY | O_CLOEXEC);
	}
}

static void forget_namespaces(const struct set_up *s)
{
	for (int side = 0; side < ROCE_VERIFY_SIDES && s->launch->forget; side++) {
		if (s->namespaces[side] >= 0 && !setns(s->namespaces[side], CLONE_NEWNET))
			s->launch->forget();
	}
}

static void pass_turns(struct set_up *s)
{
	const int *fd = s->ready;
	pid_t target = s->agents[ROCE_VERIFY_TARGET];

	await(fd[ROCE_VERIFY_INITIATOR]);
	await(fd[ROCE_VERIFY_TARGET]);
	hold_namespaces(s);
	(void)!write(fd[ROCE_VERIFY_INITIATOR], &target, sizeof(target));
	await(fd[ROCE_VERIFY_INITIATOR]);
	signal_ready(fd[ROCE_VERIFY_TARGET]);
	await(fd[ROCE_VERIFY_TARGET]);
	signal_ready(fd[ROCE_VERIFY_INITIATOR]);
	signal_ready(fd[ROCE_VERIFY_TARGET]);
}

static size_t list_children(pid_t pids[CHILDREN_MAX])
{
	char path[64];
	size_t count = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)gettid());
	f = fopen(path, "re");
	while (f && count < CHILDREN_MAX && fscanf(f, "%d", &pids[count]) == 1)
		count++;
	if (f)
		fclose(f);
	return count;
}

/* By its name, which its own keeper's begins with, too. */
static bool is_daemon(pid_t pid)
{
	char path[64];
	char name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f && !fgets(name, sizeof(name), f))
		name[0] = '\0';
	if (f)
		fclose(f);
	return strncmp(name, DAEMON, strlen(DAEMON)) == 0;
}

static size_t list_some(pid_t pids[CHILDREN_MAX], bool is_of_daemons)
{
	size_t count = list_children(pids);
	size_t some = 0;

	for (size_t i = 0; i < count; i++) {
		if (is_daemon(pids[i]) == is_of_daemons)
			pids[some++] = pids[i];
	}
	return some;
}

/* Waits for all of them, or those who are no daemons, until `ms` are over. True: nobody is left. */
static bool reap(bool is_all, uint64_t ms)
{
	roce_ns_t deadline = roce_clock_now() + ms * ROCE_NS_PER_MS;
	pid_t pids[CHILDREN_MAX];

	for (;;) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0 && errno == ECHILD)
			return true;
		if (pid == 0) {
			struct timespec pause = {.tv_nsec = 10000000};

			if (!is_all && !list_some(pids, false))
				return true;
			if (roce_clock_now() >= deadline)
				return false;
			nanosleep(&pause, NULL);
		}
	}
}

static void signal_children(bool is_all, int sig)
{
	pid_t pids[CHILDREN_MAX];
	size_t count = is_all ? list_children(pids) : list_some(pids, false);

	while (count--)
		(void)kill(pids[count], sig);
}

/* Each first hears that it should go; one that appears meanwhile does, too. */
static void end_children(bool is_all)
{
	for (int i = 0; i < 3; i++) {
		signal_children(is_all, SIGTERM);
		if (reap(is_all, TERM_MS / 3))
			return;
	}
	for (int i = 0; i < KILLS; i++) {
		signal_children(is_all, SIGKILL);
		if (reap(is_all, 100))
			return;
	}
}

static void end_all(const struct set_up *s)
{
	pid_t daemons[CHILDREN_MAX];
	size_t count;

	if (!s->mtu && s->launch->dismiss) {
		end_children(false);
		count = list_some(daemons, true);
		if (!count || s->launch->dismiss(daemons, count) || reap(true, TERM_MS / 3))
			return;
	}
	end_children(true);
}

static bool is_agent(const struct set_up *s, pid_t pid)
{
	return pid == s->agents[0] || pid == s->agents[1];
}

/* True: all agents were told to go, and went. */
static bool keep(const struct set_up *s, const sigset_t *signals)
{
	int left = (s->agents[0] > 0) + (s->agents[1] > 0);
	bool is_good = true;

	while (left > 0) {
		pid_t pid;
		int status;
		int sig = sigwaitinfo(signals, NULL);

		if (sig == SIGTERM || sig == SIGINT || sig == SIGHUP)
			break;
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			left -= is_agent(s, pid);
			is_good &= !is_agent(s, pid) || status == 0;
		}
	}
	end_all(s);
	return is_good && left <= 0;
}

__attribute__((noreturn)) static void be_keeper(struct set_up *s, pid_t parent)
{
	sigset_t signals;
	bool is_good;

	(void)setpgid(0, 0);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (s->mtu && !may_make_namespaces())
		enter_user_namespace(s);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		if (s->agent_fds[side] >= 0)
			begin_agent(s, (enum roce_verify_side)side);
	}
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		if (s->agent_fds[side] >= 0)
			close(s->agent_fds[side]);
	}
	close(s->report);
	if (s->mtu)
		pass_turns(s);
	is_good = keep(s, &signals);
	forget_namespaces(s);
	_exit(is_good ? 0 : 1);
}

/* ---- the caller ---- */

/* Until `fd` is readable: 0, -EINTR for the signal, -ETIMEDOUT. */
static int wait_for_report(int fd, int signal_fd, roce_ns_t deadline)
{
	struct pollfd p[] = {
		{.fd = fd, .events = POLLIN},
		{.fd = signal_fd, .events = POLLIN},
	};

	for (roce_ns_t now = roce_clock_now(); now < deadline; now = roce_clock_now()) {
		if (poll(p, 2, (int)((deadline - now) / ROCE_NS_PER_MS + 1)) <= 0)
			continue;
		return p[1].revents ? -EINTR : 0;
	}
	return -ETIMEDOUT;
}

/* What the keeper or an agent had to say; 0: nothing, all have begun. */
static int read_report(int fd, int signal_fd, char *err, size_t err_size)
{
	roce_ns_t deadline = roce_clock_now() + BEGIN_S * ROCE_NS_PER_S;
	size_t used = 0;
	ssize_t n = 1;
	int rc = 0;

	while (!rc && n > 0 && used + 1 < err_size) {
		rc = wait_for_report(fd, signal_fd, deadline);
		if (rc)
			break;
		n = read(fd, err + used, err_size - 1 - used);
		used += n > 0 ? (size_t)n : 0;
	}
	err[used] = '\0';
	err[strcspn(err, "\n")] = '\0';
	if (used)
		return -EIO;
	if (rc == -ETIMEDOUT)
		snprintf(err, err_size, "the agents have not begun in %d s", BEGIN_S);
	else if (rc)
		snprintf(err, err_size, ROCE_VERIFY_BY_SIGNAL);
	return rc;
}

/* After an error the caller closes the place: the keeper may be there already. */
static int begin(struct set_up *s, struct roce_verify_place *out, char *err, size_t err_size)
{
	pid_t self = getpid();
	int report[2];
	int rc;

	if (pipe2(report, O_CLOEXEC)) {
		snprintf(err, err_size, "pipe: %s", strerror(errno));
		return -errno;
	}
	s->report = report[1];
	fflush(NULL);
	out->keeper = fork();
	if (!out->keeper) {
		close(report[0]);
		be_keeper(s, self);
	}
	close(report[1]);
	if (out->keeper < 0) {
		snprintf(err, err_size, "no process: %s", strerror(errno));
		close(report[0]);
		return -EAGAIN;
	}
	rc = read_report(report[0], s->launch->signal_fd, err, err_size);
	close(report[0]);
	return rc;
}

static int begin_with_sockets(struct set_up *s, bool is_both, struct roce_verify_place *out,
			      char *err, size_t err_size)
{
	int rc = 0;

	*out = (struct roce_verify_place){.fds = {-1, -1}};
	for (int side = 0; side < (is_both ? 2 : 1); side++) {
		int fds[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) {
			snprintf(err, err_size, "socketpair: %s", strerror(errno));
			rc = -EMFILE;
			break;
		}
		out->fds[side] = fds[0];
		s->agent_fds[side] = fds[1];
	}
	if (!rc)
		rc = begin(s, out, err, err_size);
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		if (s->agent_fds[side] >= 0)
			close(s->agent_fds[side]);
	}
	if (rc)
		roce_verify_place_close(out, true);
	return rc;
}

int roce_verify_place_namespaces(struct roce_verify_place *out,
				 const struct roce_verify_launch *launch, uint32_t mtu, char *err,
				 size_t err_size)
{
	struct set_up s = {
		.launch = launch, .mtu = mtu, .agent_fds = {-1, -1}, .namespaces = {-1, -1}};

	return begin_with_sockets(&s, true, out, err, err_size);
}

int roce_verify_place_here(struct roce_verify_place *out, const struct roce_verify_launch *launch,
			   bool is_both, char *err, size_t err_size)
{
	struct set_up s = {.launch = launch, .agent_fds = {-1, -1}, .namespaces = {-1, -1}};

	return begin_with_sockets(&s, is_both, out, err, err_size);
}

int roce_verify_place_serve(struct roce_verify_place *out, const struct roce_verify_launch *launch,
			    int fd, char *err, size_t err_size)
{
	struct set_up s = {.launch = launch, .agent_fds = {-1, fd}, .namespaces = {-1, -1}};
	int rc;

	*out = (struct roce_verify_place){.fds = {-1, -1}};
	rc = begin(&s, out, err, err_size);
	if (rc)
		roce_verify_place_close(out, true);
	return rc;
}

static bool has_ended(pid_t pid, uint64_t ms)
{
	roce_ns_t deadline = roce_clock_now() + ms * ROCE_NS_PER_MS;

	for (;;) {
		struct timespec pause = {.tv_nsec = 5000000};
		pid_t done = waitpid(pid, NULL, WNOHANG);

		if (done == pid || (done < 0 && errno == ECHILD))
			return true;
		if (roce_clock_now() >= deadline)
			return false;
		nanosleep(&pause, NULL);
	}
}

void roce_verify_place_close(struct roce_verify_place *place, bool is_now)
{
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		if (place->fds[side] >= 0)
			close(place->fds[side]);
		place->fds[side] = -1;
	}
	if (place->keeper <= 0)
		return;
	if (!has_ended(place->keeper, is_now ? 0 : LEAVE_S * 1000)) {
		(void)kill(place->keeper, SIGTERM);
		(void)kill(place->keeper, SIGCONT); /* only itself knows what there is to end */
		if (!has_ended(place->keeper, END_S * 1000)) {
			(void)kill(place->keeper, SIGKILL);
			(void)waitpid(place->keeper, NULL, 0);
		}
	}
	place->keeper = 0;
}
