/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * "One run at a time" is a word in memory that all connection processes share: who has it is the
 * run, and the parent frees it when that process has ended, however it did.
 */
#include "verify/server.h"

#include "base/clock.h"
#include "verify/handshake.h"
#include "verify/network.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 8
#define TURN_WAIT_S	3 /* below ROCE_VERIFY_HANDSHAKE_S, which the client waits */
#define TURN_LOOK_MS	20

struct state {
	const struct roce_verify_server *server;
	_Atomic int *owner; /* process of the run, 0: none */
	pid_t children[CONNECTIONS_MAX];
	uint32_t count;
	bool has_run;
	bool is_whole; /* the last run was ended by its orchestrator */
};

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	char when[32];
	time_t now = time(NULL);
	struct tm tm;
	va_list ap;

	/* A word that nobody reads is lost: waiting for a reader, strangers could make us wait. */
	if (poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, 0) == 0)
		return;
	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%H:%M:%S", &tm);
	printf("%s ", when);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

/* ---- the process of a connection ---- */

/* A client that comes right after another one finds what that has left behind still being ended. */
static bool take_turn(void *context, char *reason)
{
	roce_ns_t deadline = roce_clock_now() + TURN_WAIT_S * ROCE_NS_PER_S;
	struct state *s = context;

	do {
		int none = 0;

		if (atomic_compare_exchange_strong(s->owner, &none, (int)getpid()))
			return true;
		(void)poll(NULL, 0, TURN_LOOK_MS);
	} while (roce_clock_now() < deadline);
	snprintf(reason, ROCE_VERIFY_REASON_SIZE, "another run is under way");
	return false;
}

/* True: it was ended by the orchestrator. */
static bool await_end(pid_t keeper)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	for (;;) {
		siginfo_t info = {0};
		int sig;

		if (waitid(P_PID, (id_t)keeper, &info, WEXITED | WNOHANG | WNOWAIT))
			return false;
		if (info.si_pid)
			return info.si_code == CLD_EXITED && info.si_status == 0;
		sig = sigwaitinfo(&set, NULL);
		if (sig > 0 && sig != SIGCHLD)
			return false;
	}
}

/* Closing with bytes unread would be a reset, and our answer be lost. */
static void drain(int fd)
{
	char bytes[1024];
	roce_ns_t deadline = roce_clock_now() + ROCE_NS_PER_S;

	(void)shutdown(fd, SHUT_WR);
	while (roce_clock_now() < deadline) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (poll(&p, 1, 100) > 0 && recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0)
			return;
	}
}

__attribute__((noreturn)) static void be_connection(struct state *s, int fd, pid_t parent)
{
	char own[ROCE_VERIFY_ADDRESS_SIZE];
	char peer[ROCE_VERIFY_ADDRESS_SIZE];
	char reason[ROCE_VERIFY_REASON_SIZE] = "";
	struct roce_verify_place place;
	roce_ns_t begun;
	bool is_whole;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	close(s->server->listener);
	roce_verify_socket_tune(fd);
	roce_verify_socket_names(fd, own, peer);
	if (!roce_verify_handshake_server(fd, s->server->token, take_turn, s, reason)) {
		say("%s refused: %s", peer, reason);
		drain(fd);
		_exit(1);
	}
	begun = roce_clock_now();
	say("%s begins a run", peer);
	if (roce_verify_place_serve(&place, &s->server->launch, fd, reason, sizeof(reason))) {
		say("%s: %s", peer, reason);
		_exit(1);
	}
	close(fd);
	is_whole = await_end(place.keeper);
	roce_verify_place_close(&place, true);
	say("%s: the run has ended after %.0f s%s", peer, (double)(roce_clock_now() - begun) / 1e9,
	    is_whole ? "" : ", broken off");
	_exit(is_whole ? 0 : 1);
}

/* ---- the server ---- */

static void reap(struct state *s)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		int owner = (int)pid;

		if (atomic_compare_exchange_strong(s->owner, &owner, 0)) {
			s->has_run = true;
			s->is_whole = status == 0;
		}
		for (uint32_t i = 0; i < s->count; i++) {
			if (s->children[i] == pid)
				s->children[i--] = s->children[--s->count];
		}
	}
}

static void accept_one(struct state *s)
{
	int fd = accept4(s->server->listener, NULL, NULL, SOCK_CLOEXEC);
	pid_t self = getpid();
	pid_t pid;

	if (fd < 0)
		return;
	fflush(NULL);
	pid = fork();
	if (!pid)
		be_connection(s, fd, self);
	close(fd);
	if (pid > 0)
		s->children[s->count++] = pid;
	else
		say("no process for a connection: %s", strerror(errno));
}

static void end_all(struct state *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		(void)kill(s->children[i], SIGTERM);
	while (s->count) {
		if (waitpid(-1, NULL, 0) < 0 && errno == ECHILD)
			return;
		s->count--;
	}
}

enum roce_verify_served roce_verify_serve(const struct roce_verify_server *server)
{
	struct state s = {.server = server};
	struct signalfd_siginfo info;
	bool is_ending = false;
	sigset_t set;
	int signals;

	s.owner = mmap(NULL, sizeof(*s.owner), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN); /* what reads our words may end before us */
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s.owner == MAP_FAILED || signals < 0) {
		say("no memory or descriptor: %s", strerror(errno));
		return ROCE_VERIFY_SERVED_BROKEN;
	}
	while (!is_ending && !(server->is_once && s.has_run)) {
		/* With too many at once the next ones wait in the kernel's queue. */
		struct pollfd p[] = {
			{.fd = signals, .events = POLLIN},
			{.fd = s.count < CONNECTIONS_MAX ? server->listener : -1, .events = POLLIN},
		};

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			break;
		while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
			is_ending |= info.ssi_signo != SIGCHLD;
		reap(&s);
		if (p[1].revents && !is_ending)
			accept_one(&s);
	}
	end_all(&s);
	close(signals);
	(void)munmap(s.owner, sizeof(*s.owner));
	if (!server->is_once || !s.has_run)
		return ROCE_VERIFY_SERVED_UNTIL_SIGNAL;
	return s.is_whole ? ROCE_VERIFY_SERVED_RUN : ROCE_VERIFY_SERVED_BROKEN;
}
