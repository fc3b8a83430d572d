/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection to uroced as a state machine that never waits by itself:
 *
 *   DOWN --connect--> HELLO --HELLO_OK--> CLAIMING --OK--> READY
 *     ^                 |                     |              |
 *     +-----------------+--- the peer is gone +--------------+
 *
 * DOWN tries the places of rendezvous.h in order, starts the daemon when none answers, and tries
 * again when the timer fires. CLAIMING presents the slots and sockets that we held before the
 * connection broke; a client that holds nothing passes through it. roce_client_step() makes the
 * steps that are possible now; roce_client_transact() makes steps and polls until it has its
 * answer.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "control/client_internal.h"
#include "base/clock.h"
#include "control/spawn.h"

#define HELLO_NS_MAX	  (10 * ROCE_NS_PER_S) /* a busy machine may stand still for seconds */
#define RETRY_NS_MIN	  (2 * ROCE_NS_PER_MS)
#define RETRY_NS_MAX	  (250 * ROCE_NS_PER_MS)
#define START_NS_INTERVAL (500 * ROCE_NS_PER_MS) /* between two attempts to start the daemon */
#define STICKY_NS	  (10 * ROCE_NS_PER_S)	 /* root's daemon may be restarted: wait for it */
#define PACKETS_MAX	  64			 /* taken in one step */

void roce_client_note(struct roce_client *c, int error, const char *format, ...)
{
	const char *debug = secure_getenv("UROCE_DEBUG");
	va_list ap;

	va_start(ap, format);
	vsnprintf(c->text, sizeof(c->text), format, ap);
	va_end(ap);
	c->error = error;
	if (debug && *debug && strcmp(debug, "0") != 0)
		fprintf(stderr, "uroce: %s\n", c->text);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void roce_client_close_fds(struct roce_client *c)
{
	close_fd(&c->sock);
	close_fd(&c->report_fd);
	close_fd(&c->timer_fd);
	close_fd(&c->epoll_fd);
}

static void arm_timer(struct roce_client *c, roce_ns_t at)
{
	struct itimerspec it = {0};

	it.it_value.tv_sec = (time_t)(at / ROCE_NS_PER_S);
	it.it_value.tv_nsec = (long)(at % ROCE_NS_PER_S);
	timerfd_settime(c->timer_fd, TFD_TIMER_ABSTIME, &it, NULL);
}

static void retry_later(struct roce_client *c)
{
	c->state = ROCE_CLIENT_DOWN;
	c->place = 0;
	c->retry_at = roce_clock_now() + c->retry_ns;
	c->retry_ns = c->retry_ns * 2 > RETRY_NS_MAX ? RETRY_NS_MAX : c->retry_ns * 2;
	arm_timer(c, c->retry_at);
}

static void disconnect(struct roce_client *c)
{
	close_fd(&c->sock);
	c->state = ROCE_CLIENT_DOWN;
}

void roce_client_on_lost(struct roce_client *c)
{
	if (c->state == ROCE_CLIENT_READY || c->state == ROCE_CLIENT_CLAIMING) {
		c->retry_ns = RETRY_NS_MIN;
		if (c->place == 0 && !c->explicit_path[0])
			c->sticky_until = roce_clock_now() + STICKY_NS;
	}
	disconnect(c);
	roce_client_note(c, -ECONNRESET, "uroced at %s closed the connection", c->socket_name);
	c->place = 0;
	c->retry_at = 0;
	arm_timer(c, roce_clock_now() + 1);
}

static int send_hello(struct roce_client *c)
{
	struct roce_message m = {.type = ROCE_MESSAGE_HELLO, .sequence = ROCE_SEQUENCE_HELLO};

	m.hello.pid = (uint32_t)getpid();
	m.hello.netns = c->netns;
	m.hello.instance = c->instance;
	snprintf(m.hello.product, sizeof(m.hello.product), "%s", UROCE_VERSION);
	snprintf(m.hello.program, sizeof(m.hello.program), "%s", c->program);
	return roce_channel_send(c->sock, &m, NULL, 0);
}

static unsigned count_places(const struct roce_client *c)
{
	return c->explicit_path[0] ? 1 : 1 + ROCE_RENDEZVOUS_NAMES_COUNT;
}

/* False: the place does not exist for us. */
static bool get_place(const struct roce_client *c, unsigned n, struct roce_rendezvous *out)
{
	struct stat st;

	if (c->explicit_path[0])
		return roce_rendezvous_from_str(out, c->explicit_path) == 0;
	if (n > 0) {
		roce_rendezvous_for_user(out, n - 1);
		return true;
	}
	/* In a user namespace root outside is not our root: then the owner is not 0 either. */
	return stat(ROCE_RENDEZVOUS_ROOT_PATH, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       st.st_uid == 0 && roce_rendezvous_from_str(out, ROCE_RENDEZVOUS_ROOT_PATH) == 0;
}

static bool is_trusted(const struct roce_client *c, const struct ucred *peer)
{
	return peer->uid == geteuid() || (peer->uid == 0 && (c->explicit_path[0] || c->place == 0));
}

/* Where it is not known who is behind a full backlog, it may be ours. */
static bool is_stranger(const struct roce_client *c, const struct ucred *peer)
{
	return peer->uid != ROCE_RENDEZVOUS_UNKNOWN && !is_trusted(c, peer);
}

/* One place after the other until somebody takes our HELLO; true if so. */
static bool try_places(struct roce_client *c)
{
	unsigned count = roce_clock_now() < c->sticky_until ? 1 : count_places(c);

	for (; c->place < count; c->place++) {
		struct roce_rendezvous r;
		struct epoll_event ev = {.events = EPOLLIN, .data.fd = 0};
		struct ucred peer;
		int fd;

		if (!get_place(c, c->place, &r))
			continue;
		roce_rendezvous_str(&r, c->socket_name, sizeof(c->socket_name));
		fd = roce_rendezvous_connect(&r, &peer);
		if (fd == -ECONNREFUSED || fd == -ENOENT)
			continue;
		if (fd < 0 && !is_stranger(c, &peer)) {
			roce_client_note(c, fd, "cannot reach uroced at %s: %s", c->socket_name,
					 strerror(-fd));
			continue;
		}
		if (is_stranger(c, &peer)) {
			roce_client_note(c, -EACCES,
					 "ignoring %s: it belongs to user %u, not to uroced of "
					 "this user; set UROCE_SOCKET to choose another",
					 c->socket_name, peer.uid);
			close_fd(&fd);
			continue;
		}
		c->sock = fd;
		if (send_hello(c)) {
			close_fd(&c->sock);
			continue;
		}
		epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
		c->state = ROCE_CLIENT_HELLO;
		c->hello_until = roce_clock_now() + HELLO_NS_MAX;
		arm_timer(c, c->hello_until);
		return true;
	}
	return false;
}

static void start_daemon(struct roce_client *c)
{
	char path[PATH_MAX];
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = 0};
	int error;

	if (roce_clock_now() < c->start_after || roce_clock_now() < c->sticky_until ||
	    c->report_fd >= 0)
		return;
	c->start_after = roce_clock_now() + START_NS_INTERVAL;
	error = roce_spawn_find(path, sizeof(path));
	if (error) {
		roce_client_note(
			c, error,
			"uroced not found: install it beside the library or set UROCE_UROCED");
		c->is_refused = true;
		return;
	}
	error = roce_spawn_start(path, c->explicit_path[0] ? c->explicit_path : NULL,
				 &c->report_fd);
	if (error) {
		roce_client_note(c, error, "cannot start %s: %s", path, strerror(-error));
		c->is_refused = true;
		return;
	}
	epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->report_fd, &ev);
}

static void read_report(struct roce_client *c)
{
	char text[ROCE_CONTROL_TEXT_MAX];
	ssize_t n;

	if (c->report_fd < 0)
		return;
	n = read(c->report_fd, text, sizeof(text) - 1);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	close_fd(&c->report_fd);
	if (n > 0 && text[0] == '+') {
		c->start_after = 0;
		c->retry_at = 0; /* somebody listens */
		return;
	}
	if (n > 1 && text[0] == '-') {
		text[n] = 0;
		text[strcspn(text, "\n")] = 0;
		roce_client_note(c, -ECONNREFUSED, "%s", text + 1);
	} else {
		roce_client_note(c, -ECONNREFUSED, "uroced ended before it listened");
	}
	c->is_refused = true;
}

static void step_down(struct roce_client *c)
{
	if (roce_clock_now() < c->retry_at) {
		arm_timer(c, c->retry_at);
		return;
	}
	if (try_places(c))
		return;
	if (c->cfg.may_start)
		start_daemon(c);
	else if (!c->error)
		roce_client_note(c, -ENOENT,
				 "no uroced is running for this user in this network namespace");
	retry_later(c);
}

static void on_hello_ok(struct roce_client *c, const struct roce_message *m)
{
	if (m->hello.netns && c->netns && m->hello.netns != c->netns && !c->explicit_path[0]) {
		/* A path is visible in other network namespaces too; its daemon is no use here. */
		disconnect(c);
		c->place++;
		return;
	}
	c->retry_ns = RETRY_NS_MIN;
	c->is_refused = false;
	c->generation++;
	if (!c->was_ready) {
		c->was_ready = true;
		c->state = ROCE_CLIENT_READY;
		return;
	}
	c->state = ROCE_CLIENT_CLAIMING;
	if (roce_held_send_claims(c))
		roce_client_on_lost(c);
}

/* An ERROR while nobody waits in roce_client_transact(): the answer to HELLO or a claim, or a
 * farewell. */
static void on_error(struct roce_client *c, const struct roce_message *m)
{
	if (c->state == ROCE_CLIENT_HELLO) {
		roce_client_note(c, -(int)m->error.error, "%s", m->error.text);
		disconnect(c);
		if (m->error.error == EPROTO) {
			c->is_refused = true;
			retry_later(c);
		} else {
			c->place++; /* root's daemon does not serve us: our own may */
		}
		return;
	}
	if (m->sequence == ROCE_SEQUENCE_CLAIMED ||
	    (m->sequence & ~UINT32_C(0xff)) != ROCE_SEQUENCE_CLAIM)
		return;
	roce_held_on_claim_refused(c, (uint8_t)m->sequence, m->error.text);
}

/* What may come at any time; true if it was such. */
static bool on_packet(struct roce_client *c, struct roce_channel_packet *p)
{
	const struct roce_message *m = &p->message;

	if (p->error == ROCE_MESSAGE_ERROR_PROTOCOL) {
		roce_client_note(c, -EPROTO,
				 "uroced speaks another protocol than this library (uroce %s): run "
				 "`uroce stop`, then start again",
				 UROCE_VERSION);
		disconnect(c);
		c->is_refused = true;
		retry_later(c);
		return true;
	}
	if (p->error) {
		roce_client_on_lost(c);
		return true;
	}
	if (m->type == ROCE_MESSAGE_STRAY) {
		if (c->cfg.on_stray)
			c->cfg.on_stray(c->cfg.ctx, &m->stray.local, &m->stray.from, m->stray.data,
					m->stray.length, m->stray.tos);
		return true;
	}
	if (m->type == ROCE_MESSAGE_CM_EVENT ||
	    (m->sequence >= ROCE_SEQUENCE_CM && m->sequence <= ROCE_SEQUENCE_CM_MAX)) {
		if (c->cfg.on_cm)
			c->cfg.on_cm(c->cfg.ctx, m);
		return true;
	}
	if (m->type == ROCE_MESSAGE_REMAPPED) {
		roce_held_on_remapped(c, p);
		return true;
	}
	if (c->state == ROCE_CLIENT_HELLO && m->type == ROCE_MESSAGE_HELLO_OK) {
		on_hello_ok(c, m);
		return true;
	}
	if (m->sequence < ROCE_SEQUENCE_CLAIM && m->sequence)
		return false;
	if (m->type == ROCE_MESSAGE_ERROR)
		on_error(c, m);
	if (c->state == ROCE_CLIENT_CLAIMING && m->sequence == ROCE_SEQUENCE_CLAIMED) {
		c->state = ROCE_CLIENT_READY;
		if (c->cfg.on_reconnected)
			c->cfg.on_reconnected(c->cfg.ctx);
	}
	return true;
}

bool roce_client_step(struct roce_client *c, uint32_t sequence, struct roce_channel_packet *p)
{
	uint64_t ticks;
	unsigned packets = 0;

	if (read(c->timer_fd, &ticks, sizeof(ticks)) < 0)
		ticks = 0; /* not due */
	read_report(c);
	while (packets < PACKETS_MAX) {
		int n;

		if (c->state == ROCE_CLIENT_DOWN) {
			step_down(c);
			if (c->state == ROCE_CLIENT_DOWN)
				return false;
		}
		n = roce_channel_receive(c->sock, p);
		if (n == -EAGAIN) {
			if (c->state == ROCE_CLIENT_HELLO && roce_clock_now() >= c->hello_until) {
				roce_client_note(c, -ETIMEDOUT, "uroced at %s does not answer",
						 c->socket_name);
				disconnect(c);
				c->place++;
				continue;
			}
			return false;
		}
		packets++;
		if (n <= 0) {
			bool was_hello = c->state == ROCE_CLIENT_HELLO;

			roce_client_on_lost(c);
			if (was_hello) { /* it was just leaving: give it a moment to be gone */
				retry_later(c);
				return false;
			}
			continue;
		}
		if (!on_packet(c, p) && sequence && p->message.sequence == sequence)
			return true;
		roce_channel_close_fds(p);
	}
	return false;
}

void roce_client_wait_event(struct roce_client *c, roce_ns_t until)
{
	struct pollfd pfd = {.fd = c->epoll_fd, .events = POLLIN};
	roce_ns_t now = roce_clock_now();
	int ms = until > now ? (int)((until - now) / ROCE_NS_PER_MS) + 1 : 0;

	poll(&pfd, 1, ms);
}

int roce_client_wait_ready(struct roce_client *c, roce_ns_t until, struct roce_channel_packet *p)
{
	for (;;) {
		roce_client_step(c, 0, p);
		if (c->state == ROCE_CLIENT_READY)
			return 0;
		if (c->is_refused && !c->was_ready)
			return c->error;
		if (c->state == ROCE_CLIENT_DOWN && !c->cfg.may_start && !c->was_ready)
			return c->error;
		if (roce_clock_now() >= until)
			return c->error ? c->error : -ETIMEDOUT;
		roce_client_wait_event(c, until);
	}
}

int roce_client_check_answer(const struct roce_channel_packet *p, char *err, size_t err_size)
{
	if (p->message.type != ROCE_MESSAGE_ERROR)
		return 0;
	snprintf(err, err_size, "%s", p->message.error.text);
	return p->message.error.error ? -(int)p->message.error.error : -EIO;
}

int roce_client_transact(struct roce_client *c, struct roce_message *m,
			 struct roce_channel_packet *p, char *err, size_t err_size)
{
	roce_ns_t until = roce_clock_now() + ROCE_CLIENT_ANSWER_NS_MAX;
	uint32_t generation;
	int error;

	if (c->state == ROCE_CLIENT_FORKED) {
		snprintf(err, err_size,
			 "the device was opened by the parent process: open it anew");
		return -ENOTCONN;
	}
	c->sequence = c->sequence % (ROCE_SEQUENCE_CLAIM - 1) + 1;
	m->sequence = c->sequence;
again:
	error = roce_client_wait_ready(c, until, p);
	if (error) {
		snprintf(err, err_size, "%s", c->error ? c->text : "uroced does not answer");
		return error;
	}
	generation = c->generation;
	error = roce_channel_send(c->sock, m, NULL, 0);
	if (error == -EAGAIN) {
		roce_client_wait_event(c, roce_clock_now() + ROCE_NS_PER_MS);
		if (roce_clock_now() < until)
			goto again;
	}
	if (error) {
		roce_client_on_lost(c);
		goto again;
	}
	while (!roce_client_step(c, m->sequence, p)) {
		if (c->state != ROCE_CLIENT_READY || c->generation != generation)
			goto again;
		if (roce_clock_now() >= until) {
			snprintf(err, err_size, "uroced at %s does not answer", c->socket_name);
			return -ETIMEDOUT;
		}
		roce_client_wait_event(c, until);
	}
	return roce_client_check_answer(p, err, err_size);
}

int roce_client_connect(struct roce_client *c, char *err, size_t err_size)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = 0};
	struct roce_channel_packet p;
	int error;

	c->sock = c->report_fd = -1;
	c->retry_ns = RETRY_NS_MIN;
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (c->epoll_fd < 0 || c->timer_fd < 0 ||
	    epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->timer_fd, &ev)) {
		error = -errno;
		snprintf(err, err_size, "no descriptors for the connection to uroced: %s",
			 strerror(-error));
		return error;
	}
	error = roce_client_wait_ready(c, roce_clock_now() + ROCE_CLIENT_ANSWER_NS_MAX, &p);
	if (error)
		snprintf(err, err_size, "%s", c->error ? c->text : "uroced does not answer");
	return error;
}
