/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verify-agent: one side of `uroce verify` and `uroce perf`. It is started with a connected socket
 * and does what comes over it (verify/protocol.h), as far as whoever started it allows. Each case
 * is a child of its own, so that one that crashes or hangs costs its own verdict only; this process
 * passes lines between child and orchestrator, and uses no verbs. When the orchestrator has gone,
 * child and agent go too.
 */
#include "verify/agent/facts.h"
#include "verify/agent/kind.h"

#include "base/clock.h"
#include "verify/protocol.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* What whoever started the agent has decided; orders do not change it. */
struct own_choice {
	const char *device; /* NULL: as ordered */
	const char *kinds;  /* the only ones, with commas; NULL: all */
	const char *quirks; /* of the device, known and accepted; NULL: as ordered */
	int port;	    /* -1: as ordered */
	int gid_index;
	bool has_namespace; /* the run's own, with its own link */
};

struct agent {
	const struct own_choice *own;
	struct roce_lines up;
	struct roce_lines child; /* fd -1: none runs */
	pid_t pid;
	uint32_t run;	/* its number */
	json_t *result; /* or hello: told when the process has ended, for a crash on the way out
			 * counts, and then there is room for the next one */
	bool is_hello;
	roce_ns_t alive_at;
	roce_ns_t heard_at;
};

static void send_up(struct agent *agent, json_t *message)
{
	if (roce_lines_send(&agent->up, message)) {
		if (agent->pid > 0)
			kill(-agent->pid, SIGKILL);
		exit(1);
	}
}

/* ---- a child for a case ---- */

static struct va_run make_run(struct agent *agent, json_t *order, int fd)
{
	double timeout_s = roce_json_number(order, "timeout_s");
	struct va_run run = {
		.is_initiator = strcmp(roce_json_text(order, "role"), "initiator") == 0,
		.seed = (uint64_t)roce_json_integer(order, "seed"),
		.number = agent->run,
		.deadline = roce_clock_now() + (roce_ns_t)(timeout_s * 1e9),
		.parameters = json_object_get(order, "parameters"),
		.where = json_object_get(order, "where"),
		.has_namespace = agent->own->has_namespace,
		.result = json_object(),
	};

	roce_lines_init(&run.up, fd, ROCE_VERIFY_LINE_MAX);
	return run;
}

static void insist(const struct own_choice *own, json_t *order)
{
	json_t *where = json_object_get(order, "where");

	if (!json_is_object(where)) {
		where = json_object();
		json_object_set_new(order, "where", where);
	}
	if (own->device)
		json_object_set_new(where, "device", roce_json_plain(own->device));
	if (own->quirks)
		json_object_set_new(where, "quirks", json_string(own->quirks));
	if (own->port >= 0)
		json_object_set_new(where, "port", json_integer(own->port));
	if (own->gid_index >= 0)
		json_object_set_new(where, "gid_index", json_integer(own->gid_index));
}

static bool is_allowed(const char *kinds, const char *kind)
{
	size_t length = strlen(kind);

	while (kinds && *kinds) {
		size_t n = strcspn(kinds, ",");

		if (n == length && strncmp(kinds, kind, n) == 0)
			return true;
		kinds += n + (kinds[n] == ',');
	}
	return !kinds;
}

__attribute__((noreturn)) static void be_case(struct agent *agent, json_t *order, int fd)
{
	const char *name = roce_json_text(order, "kind");
	const struct va_kind *kind = va_kind_find(name);
	struct va_run run;

	insist(agent->own, order);
	run = make_run(agent, order, fd);
	close(agent->up.fd);
	if (!is_allowed(agent->own->kinds, name))
		va_fail(&run, "cases of kind %s are not allowed here, only %s", name,
			agent->own->kinds);
	if (!kind)
		va_fail(&run, "this agent has no kind %s", name);
	if (run.is_initiator)
		kind->initiator(&run);
	else
		kind->target(&run);
	va_finish(&run);
}

__attribute__((noreturn)) static void be_hello(struct agent *agent, json_t *order, int fd)
{
	struct roce_lines up;

	insist(agent->own, order);
	close(agent->up.fd);
	roce_lines_init(&up, fd, ROCE_VERIFY_LINE_MAX);
	_exit(roce_lines_send(&up, json_pack("{s:s, s:i, s:s, s:o}", "is", "hello", "protocol",
					     ROCE_VERIFY_PROTOCOL, "version", UROCE_VERSION,
					     "facts", va_facts(json_object_get(order, "where"))))
		      ? 1
		      : 0);
}

static void fail_start(struct agent *agent, uint32_t run, bool is_hello, int error)
{
	send_up(agent, json_pack("{s:s, s:i, s:s, s:s+}", "is", is_hello ? "hello" : "result",
				 "run", (int)run, "verdict", "fail", "reason",
				 "no process for the case: ", strerror(error)));
}

static void start(struct agent *agent, json_t *order, bool is_hello)
{
	uint32_t run = (uint32_t)roce_json_integer(order, "run");
	pid_t self = getpid();
	int fds[2];

	/* One that runs keeps its number: what it says is its own. */
	if (agent->pid > 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) {
		fail_start(agent, run, is_hello, agent->pid > 0 ? EBUSY : errno);
		return;
	}
	agent->run = run;
	agent->is_hello = is_hello;
	agent->pid = fork();
	if (!agent->pid) {
		/* A group of its own: a case may start programs, which end with it. */
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self)
			_exit(1);
		close(fds[0]);
		if (is_hello)
			be_hello(agent, order, fds[1]);
		be_case(agent, order, fds[1]);
	}
	close(fds[1]);
	if (agent->pid < 0) {
		fail_start(agent, run, is_hello, errno);
		close(fds[0]);
		return;
	}
	(void)setpgid(agent->pid, agent->pid);
	roce_lines_init(&agent->child, fds[0], ROCE_VERIFY_LINE_MAX);
}

static void tell_end(struct agent *agent, int status)
{
	char reason[160];

	if (agent->result && (!status || strcmp(roce_json_text(agent->result, "verdict"), "ok"))) {
		send_up(agent, json_incref(agent->result));
		return;
	}
	if (WIFSIGNALED(status))
		snprintf(reason, sizeof(reason), "the process of the case ended by signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(reason, sizeof(reason), "the process of the case ended with status %d%s",
			 WEXITSTATUS(status),
			 agent->result ? ", after its result" : " and no result");
	send_up(agent, json_pack("{s:s, s:i, s:s, s:s}", "is", agent->is_hello ? "hello" : "result",
				 "run", (int)agent->run, "verdict", "fail", "reason", reason));
}

/* Its process has ended, or is ended here. */
static void end_child(struct agent *agent, bool is_killed)
{
	int status = 0;

	if (agent->pid <= 0)
		return;
	if (is_killed)
		kill(-agent->pid, SIGKILL);
	while (waitpid(agent->pid, &status, 0) < 0 && errno == EINTR)
		;
	kill(-agent->pid, SIGKILL); /* what it had started */
	roce_lines_fini(&agent->child);
	agent->pid = 0;
	if (!is_killed)
		tell_end(agent, status);
	json_decref(agent->result);
	agent->result = NULL;
}

static bool is_last(const json_t *message)
{
	const char *is = roce_json_text(message, "is");

	return strcmp(is, "result") == 0 || strcmp(is, "hello") == 0;
}

static void pass_up(struct agent *agent)
{
	json_t *message;
	int rc = roce_lines_fill(&agent->child);
	int taken;

	while ((taken = roce_lines_take(&agent->child, &message)) > 0) {
		json_object_set_new(message, "run", json_integer(agent->run));
		if (is_last(message) && !agent->result)
			agent->result = message;
		else
			send_up(agent, message);
	}
	if (rc || taken < 0)
		end_child(agent, taken < 0);
}

/* ---- orders ---- */

static void obey(struct agent *agent, json_t *order)
{
	const char *what = roce_json_text(order, "do");

	if (strcmp(what, "hello") == 0) {
		start(agent, order, true);
	} else if (strcmp(what, "run") == 0) {
		start(agent, order, false);
	} else if (strcmp(what, "stop") == 0) {
		end_child(agent, true);
		send_up(agent, json_pack("{s:s, s:i}", "is", "stopped", "run", (int)agent->run));
	} else if (strcmp(what, "relay") == 0) {
		/* One that comes after the child's end has nobody to go to. */
		if (agent->pid > 0 && (uint32_t)roce_json_integer(order, "run") == agent->run)
			(void)roce_lines_send(&agent->child, json_incref(order));
	} else if (strcmp(what, "quit") == 0) {
		end_child(agent, true);
		exit(0);
	}
}

static void take_orders(struct agent *agent)
{
	json_t *order;
	int rc = roce_lines_fill(&agent->up);
	int taken;

	agent->heard_at = roce_clock_now();
	while ((taken = roce_lines_take(&agent->up, &order)) > 0) {
		obey(agent, order);
		json_decref(order);
	}
	if (rc || taken < 0) {
		end_child(agent, true);
		exit(1); /* the run was not ended, it broke off */
	}
}

static int run_agent(int fd, const struct own_choice *own)
{
	struct agent agent = {.own = own, .child = {.fd = -1}, .heard_at = roce_clock_now()};

	roce_lines_init(&agent.up, fd, ROCE_VERIFY_LINE_MAX);
	for (;;) {
		struct pollfd p[] = {
			{.fd = agent.up.fd, .events = POLLIN},
			{.fd = agent.child.fd, .events = POLLIN},
		};
		roce_ns_t now = roce_clock_now();

		if (now > agent.heard_at + ROCE_VERIFY_ABANDONED_S * ROCE_NS_PER_S) {
			end_child(&agent, true);
			return 1;
		}
		if (now >= agent.alive_at) {
			send_up(&agent, json_pack("{s:s}", "is", "alive"));
			agent.alive_at = now + ROCE_VERIFY_ALIVE_S * ROCE_NS_PER_S;
		}
		if (poll(p, 2, ROCE_VERIFY_ALIVE_S * 1000) < 0 && errno != EINTR)
			return 1;
		if (p[1].revents)
			pass_up(&agent);
		if (p[0].revents)
			take_orders(&agent);
	}
}

static bool parse_number(const char *text, long most, int *out)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*end || end == text || value < 0 || value > most)
		return false;
	*out = (int)value;
	return true;
}

static bool parse(int argc, char **argv, struct own_choice *own, int *fd)
{
	static const struct option options[] = {
		{"fd", required_argument, NULL, 'f'},
		{"device", required_argument, NULL, 'd'},
		{"port", required_argument, NULL, 'i'},
		{"gid-index", required_argument, NULL, 'x'},
		{"kinds", required_argument, NULL, 'k'},
		{"own-namespace", no_argument, NULL, 'n'},
		{"quirks", required_argument, NULL, 'q'},
		{NULL, 0, NULL, 0},
	};
	bool is_good = true;
	int c;

	opterr = 0;
	while (is_good && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'd')
			own->device = optarg;
		else if (c == 'k')
			own->kinds = optarg;
		else if (c == 'n')
			own->has_namespace = true;
		else if (c == 'q')
			own->quirks = optarg;
		else if (c == 'i')
			is_good = parse_number(optarg, 255, &own->port);
		else if (c == 'x')
			is_good = parse_number(optarg, 255, &own->gid_index);
		else
			is_good = c == 'f' && parse_number(optarg, 1024, fd);
	}
	return is_good && optind == argc && *fd >= 0;
}

int main(int argc, char **argv)
{
	struct own_choice own = {.port = -1, .gid_index = -1};
	int fd = -1;

	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("verify-agent " UROCE_VERSION "\n");
		return 0;
	}
	if (!parse(argc, argv, &own, &fd)) {
		fprintf(stderr, "verify-agent: started by uroce verify and uroce perf, with --fd "
				"SOCKET\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	return run_agent(fd, &own);
}
