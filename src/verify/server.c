/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * "One run at a time" is a word in memory that all connection processes share: who has it is the
 * run, and the parent frees it when that process has ended, however it did. Beside it they note
 * that a client has proved the token: of those that have not, the oldest one makes room for the
 * next when there are too many, for strangers may come by the thousand and say nothing.
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

#define CONNECTIONS_MAX 64
#define ROOM_AGE_MS	250 /* that each has for its proof, whoever else comes */
#define TURN_WAIT_S	3   /* below ROCE_VERIFY_ANSWER_S, which the client waits */
#define TURN_LOOK_MS	20
#define LEAVE_S		6   /* for an agent whose client has gone */
#define END_S		40  /* beyond what a connection process needs to end its agent */
#define WITHOUT_MS	100 /* before the next try where descriptors or processes are short */
#define TELL_MS		1000

struct shared {
	_Atomic int owner; /* process of the run, 0: none */
	_Atomic bool has_proved[CONNECTIONS_MAX];
};

struct connection {
	pid_t pid; /* 0: none */
	roce_ns_t since;
};

struct state {
	const struct roce_verify_server *server;
	struct shared *shared;
	struct connection connections[CONNECTIONS_MAX];
	uint32_t place;	    /* of the one that a process is for */
	uint32_t displaced; /* that were not told of yet */
	roce_ns_t told_at;
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

	atomic_store(&s->shared->has_proved[s->place], true);
	do {
		int none = 0;

		if (atomic_compare_exchange_strong(&s->shared->owner, &none, (int)getpid()))
			return true;
		(void)poll(NULL, 0, TURN_LOOK_MS);
	} while (roce_clock_now() < deadline);
	snprintf(reason, ROCE_VERIFY_REASON_SIZE, "another run is under way");
	return false;
}

static void list_signals(sigset_t *out)
{
	sigemptyset(out);
	sigaddset(out, SIGINT);
	sigaddset(out, SIGTERM);
	sigaddset(out, SIGHUP);
	sigaddset(out, SIGCHLD);
}

/* The keeper's end, a signal, or that the client has gone and its agent does not: it may stand
 * still, and nobody else would notice. True: the orchestrator ended it. */
static bool await_end(pid_t keeper, int fd)
{
	roce_ns_t deadline = ROCE_NEVER;
	sigset_t set;
	int signals;

	list_signals(&set);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	for (;;) {
		struct pollfd p[] = {
			{.fd = signals, .events = POLLIN},
			{.fd = deadline == ROCE_NEVER ? fd : -1, .events = POLLRDHUP},
		};
		struct signalfd_siginfo signal;
		siginfo_t info = {0};

		if (waitid(P_PID, (id_t)keeper, &info, WEXITED | WNOHANG | WNOWAIT))
			return false;
		if (info.si_pid)
			return info.si_code == CLD_EXITED && info.si_status == 0;
		if (signals < 0 || roce_clock_now() >= deadline)
			return false;
		(void)poll(p, 2, deadline == ROCE_NEVER ? -1 : TURN_LOOK_MS);
		while (read(signals, &signal, sizeof(signal)) == (ssize_t)sizeof(signal)) {
			if (signal.ssi_signo != SIGCHLD)
				return false;
		}
		if (p[1].revents)
			deadline = roce_clock_now() + LEAVE_S * ROCE_NS_PER_S;
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
	sigset_t set;

	/* Until there is an agent to end, any of them ends us. */
	list_signals(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
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
	sigprocmask(SIG_BLOCK, &set, NULL);
	begun = roce_clock_now();
	say("%s begins a run", peer);
	if (roce_verify_place_serve(&place, &s->server->launch, fd, reason, sizeof(reason))) {
		say("%s: %s", peer, reason);
		_exit(1);
	}
	is_whole = await_end(place.keeper, fd);
	close(fd);
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

		if (atomic_compare_exchange_strong(&s->shared->owner, &owner, 0)) {
			s->has_run = true;
			s->is_whole = status == 0;
		}
		for (uint32_t i = 0; i < CONNECTIONS_MAX; i++) {
			if (s->connections[i].pid == pid)
				s->connections[i].pid = 0;
		}
	}
}

/* A place for one more: free, or of who has been longest without a proof. CONNECTIONS_MAX: all
 * have proved, or none has had its time for it. */
static uint32_t find_place(const struct state *s)
{
	roce_ns_t before = roce_clock_now() - ROOM_AGE_MS * ROCE_NS_PER_MS;
	uint32_t oldest = CONNECTIONS_MAX;

	for (uint32_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (!s->connections[i].pid)
			return i;
		if (s->connections[i].since < before && !s->shared->has_proved[i]) {
			before = s->connections[i].since;
			oldest = i;
		}
	}
	return oldest;
}

static void displace(struct state *s, struct connection *c)
{
	if (!c->pid)
		return;
	/* Should it have come to its proof just now, it has no agent yet, or hears of this later.
	 */
	(void)kill(c->pid, SIGTERM);
	s->displaced++;
}

static void tell_displaced(struct state *s)
{
	roce_ns_t now = roce_clock_now();

	if (!s->displaced || now < s->told_at + TELL_MS * ROCE_NS_PER_MS)
		return;
	say("%u connection%s without a word of the token closed to make room for others",
	    s->displaced, s->displaced == 1 ? " was" : "s were");
	s->displaced = 0;
	s->told_at = now;
}

static void accept_one(struct state *s)
{
	/* Asked now, not before waiting: by now the oldest one may be the run. */
	uint32_t place = find_place(s);
	struct connection *c = &s->connections[place];
	pid_t self = getpid();
	int fd;

	if (place == CONNECTIONS_MAX)
		return;
	fd = accept4(s->server->listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0) {
		if (errno != EAGAIN && errno != ECONNABORTED)
			(void)poll(NULL, 0, WITHOUT_MS);
		return;
	}
	displace(s, c);
	s->shared->has_proved[place] = false;
	s->place = place;
	fflush(NULL);
	*c = (struct connection){.pid = fork(), .since = roce_clock_now()};
	if (!c->pid)
		be_connection(s, fd, self);
	close(fd);
	if (c->pid > 0)
		return;
	c->pid = 0;
	say("no process for a connection: %s", strerror(errno));
	(void)poll(NULL, 0, WITHOUT_MS);
}

static bool signal_all(const struct state *s, int sig)
{
	bool has_any = false;

	for (uint32_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (s->connections[i].pid)
			has_any |= kill(s->connections[i].pid, sig) == 0;
	}
	return has_any;
}

static void end_all(struct state *s)
{
	roce_ns_t deadline = roce_clock_now() + END_S * ROCE_NS_PER_S;

	(void)signal_all(s, SIGTERM);
	(void)signal_all(s, SIGCONT); /* one that was stopped has to hear it */
	while (signal_all(s, 0) && roce_clock_now() < deadline) {
		(void)poll(NULL, 0, TURN_LOOK_MS);
		reap(s);
	}
	(void)signal_all(s, SIGKILL);
}

static void serve_one(struct state *s, int signals, bool *is_ending)
{
	bool has_room = find_place(s) < CONNECTIONS_MAX;
	struct signalfd_siginfo info;
	/* Where there is no room now the next ones wait in the kernel's queue. */
	struct pollfd p[] = {
		{.fd = signals, .events = POLLIN},
		{.fd = has_room ? s->server->listener : -1, .events = POLLIN},
	};

	(void)poll(p, 2, !has_room ? TURN_LOOK_MS : s->displaced ? TELL_MS : -1);
	while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		*is_ending |= info.ssi_signo != SIGCHLD;
	reap(s);
	tell_displaced(s);
	if (p[1].revents && !*is_ending)
		accept_one(s);
}

enum roce_verify_served roce_verify_serve(const struct roce_verify_server *server)
{
	struct state s = {.server = server};
	enum roce_verify_served served = ROCE_VERIFY_SERVED_UNTIL_SIGNAL;
	bool is_ending = false;
	sigset_t set;
	int signals;

	s.shared = mmap(NULL, sizeof(*s.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	list_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN); /* what reads our words may end before us */
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s.shared == MAP_FAILED || signals < 0) {
		say("no memory or descriptor: %s", strerror(errno));
		return ROCE_VERIFY_SERVED_BROKEN;
	}
	while (!is_ending && !(server->is_once && s.has_run))
		serve_one(&s, signals, &is_ending);
	/* Who has the next turn already is ended below: that is not how this run ended. */
	if (server->is_once && s.has_run)
		served = s.is_whole ? ROCE_VERIFY_SERVED_RUN : ROCE_VERIFY_SERVED_BROKEN;
	end_all(&s);
	close(signals);
	(void)munmap(s.shared, sizeof(*s.shared));
	return served;
}
