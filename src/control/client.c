/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The client's side of the control connection as a state machine that never waits by itself:
 *
 *   DOWN --connect--> HELLO --HELLO_OK--> CLAIMING --OK--> READY
 *     ^                 |                     |              |
 *     +-----------------+--- the peer is gone +--------------+
 *
 * DOWN tries the places of rendezvous.h in order, starts the daemon when none answers, and tries
 * again when the timer fires. CLAIMING presents the slots and sockets that we held before the
 * connection broke; a client that holds nothing passes through it. roce_client_on_readable() makes
 * the steps that are possible now; calls that need an answer (transact) make steps and poll.
 */
#include "control/client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/ns.h"
#include "control/channel.h"
#include "control/message.h"
#include "control/rendezvous.h"
#include "control/spawn.h"

#define ANSWER_NS_MAX	  (5 * ROCE_NS_PER_S) /* how long a call waits for the daemon */
#define HELLO_NS_MAX	  (3 * ROCE_NS_PER_S) /* a daemon that its keeper restarts needs a moment */
#define RETRY_NS_MIN	  (2 * ROCE_NS_PER_MS)
#define RETRY_NS_MAX	  (250 * ROCE_NS_PER_MS)
#define START_NS_INTERVAL (500 * ROCE_NS_PER_MS) /* between two attempts to start the daemon */
#define STICKY_NS	  (5 * ROCE_NS_PER_S)	 /* root's daemon may be restarted: wait for it */
#define PACKETS_MAX	  64			 /* taken in one roce_client_on_readable() */

/* Sequence numbers of a reconnect; those of calls stay below. */
#define SEQUENCE_CLAIM	 UINT32_C(0x40000000) /* | slot */
#define SEQUENCE_CLAIMED UINT32_C(0x7fffffff)
#define SEQUENCE_HELLO	 UINT32_C(0x7ffffffe)

enum state { STATE_DOWN, STATE_HELLO, STATE_CLAIMING, STATE_READY, STATE_FORKED };

struct held_address {
	struct roce_address address;
	uint32_t nonce;
	int fd;	   /* the caller's; ours to use only while the inode is the same */
	ino_t ino; /* of the socket behind fd */
};

struct held_slot {
	struct roce_list link;
	uint8_t slot;
	bool is_lost; /* somebody else got it while we were away */
	unsigned count;
	struct held_address address[ROCE_CONTROL_SLOT_ADDR_MAX];
};

struct roce_client {
	struct roce_list link; /* of all clients of the process, for the atfork handler */
	struct roce_client_config cfg;
	char program[ROCE_CONTROL_PROGRAM_MAX];
	char explicit_path[ROCE_CONTROL_PATH_MAX]; /* empty: the usual places */
	char socket_name[ROCE_CONTROL_PATH_MAX];   /* the place we are connected to */
	struct roce_list slots;
	enum state state;
	int epoll_fd, timer_fd;
	int sock;	 /* -1 in DOWN */
	int report_fd;	 /* of a daemon being started; -1 none */
	unsigned place;	 /* next place to try */
	bool was_ready;	 /* ever: then a reconnect claims */
	bool is_refused; /* for a reason that trying again at once does not cure */
	uint64_t instance;
	uint64_t netns;
	uint32_t sequence;
	roce_ns_t retry_ns;
	roce_ns_t retry_at;
	roce_ns_t hello_until;
	roce_ns_t start_after;
	roce_ns_t sticky_until; /* root's daemon served us a moment ago: no other place is tried */
	int error;		/* why we are not connected, negative errno */
	char text[ROCE_CONTROL_TEXT_MAX];
};

static struct roce_list all_clients = {&all_clients, &all_clients};
static pthread_mutex_t all_clients_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t atfork_once = PTHREAD_ONCE_INIT;

static roce_ns_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (roce_ns_t)ts.tv_sec * ROCE_NS_PER_S + (roce_ns_t)ts.tv_nsec;
}

__attribute__((format(printf, 3, 4))) static void fail(char *err, size_t err_size,
						       const char *format, ...)
{
	va_list ap;

	if (err_size) {
		va_start(ap, format);
		vsnprintf(err, err_size, format, ap);
		va_end(ap);
	}
}

__attribute__((format(printf, 3, 4))) static void note(struct roce_client *c, int error,
						       const char *format, ...)
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

/* ---- fork ---- */

static bool is_same_socket(int fd, ino_t ino)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_ino == ino;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_own_fds(struct roce_client *c)
{
	close_fd(&c->sock);
	close_fd(&c->report_fd);
	close_fd(&c->timer_fd);
	close_fd(&c->epoll_fd);
}

static void on_fork_prepare(void)
{
	pthread_mutex_lock(&all_clients_lock);
}

static void on_fork_parent(void)
{
	pthread_mutex_unlock(&all_clients_lock);
}

static void on_fork_child(void)
{
	struct roce_list *pos, *at;

	roce_list_for_each (pos, &all_clients) {
		struct roce_client *c = roce_container_of(pos, struct roce_client, link);

		if (c->state == STATE_FORKED)
			continue;
		c->state = STATE_FORKED;
		close_own_fds(c);
		roce_list_for_each (at, &c->slots) {
			struct held_slot *s = roce_container_of(at, struct held_slot, link);

			for (unsigned i = 0; i < s->count; i++)
				if (is_same_socket(s->address[i].fd, s->address[i].ino))
					close(s->address[i].fd);
		}
	}
	pthread_mutex_unlock(&all_clients_lock);
}

static void register_atfork(void)
{
	pthread_atfork(on_fork_prepare, on_fork_parent, on_fork_child);
}

/* ---- connection ---- */

static void arm_timer(struct roce_client *c, roce_ns_t at)
{
	struct itimerspec it = {0};

	it.it_value.tv_sec = (time_t)(at / ROCE_NS_PER_S);
	it.it_value.tv_nsec = (long)(at % ROCE_NS_PER_S);
	timerfd_settime(c->timer_fd, TFD_TIMER_ABSTIME, &it, NULL);
}

static void retry_later(struct roce_client *c)
{
	c->state = STATE_DOWN;
	c->place = 0;
	c->retry_at = now_ns() + c->retry_ns;
	c->retry_ns = c->retry_ns * 2 > RETRY_NS_MAX ? RETRY_NS_MAX : c->retry_ns * 2;
	arm_timer(c, c->retry_at);
}

static void disconnect(struct roce_client *c)
{
	close_fd(&c->sock);
	c->state = STATE_DOWN;
}

/* The daemon went away: look again at once. */
static void on_lost(struct roce_client *c)
{
	if (c->state == STATE_READY || c->state == STATE_CLAIMING) {
		c->retry_ns = RETRY_NS_MIN;
		if (c->place == 0 && !c->explicit_path[0])
			c->sticky_until = now_ns() + STICKY_NS;
	}
	disconnect(c);
	note(c, -ECONNRESET, "uroced at %s closed the connection", c->socket_name);
	c->place = 0;
	c->retry_at = 0;
	arm_timer(c, now_ns() + 1);
}

static int send_claims(struct roce_client *c)
{
	struct roce_list *pos;
	struct roce_message m = {.type = ROCE_MESSAGE_CLAIMED, .sequence = SEQUENCE_CLAIMED};
	int error;

	roce_list_for_each (pos, &c->slots) {
		struct held_slot *s = roce_container_of(pos, struct held_slot, link);
		unsigned next = 0;

		if (s->is_lost)
			continue;
		do { /* also a slot without addresses makes one claim */
			struct roce_message claim = {.type = ROCE_MESSAGE_CLAIM,
						     .sequence = SEQUENCE_CLAIM | s->slot};
			int fds[ROCE_CONTROL_CLAIM_MAX];
			uint8_t n = 0;

			claim.claim.slot = s->slot;
			for (; next < s->count && n < ROCE_CONTROL_CLAIM_MAX; next++) {
				struct held_address *a = &s->address[next];

				if (!is_same_socket(a->fd, a->ino))
					continue;
				claim.claim.address[n] = a->address;
				claim.claim.nonce[n] = a->nonce;
				fds[n++] = a->fd;
			}
			claim.claim.count = n;
			error = roce_channel_send(c->sock, &claim, fds, n);
			if (error)
				return error;
		} while (next < s->count);
	}
	return roce_channel_send(c->sock, &m, NULL, 0);
}

static int send_hello(struct roce_client *c)
{
	struct roce_message m = {.type = ROCE_MESSAGE_HELLO, .sequence = SEQUENCE_HELLO};

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

/* One place after the other until somebody takes our HELLO; true if so. */
static bool try_places(struct roce_client *c)
{
	unsigned count = now_ns() < c->sticky_until ? 1 : count_places(c);

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
		if (fd < 0) {
			note(c, fd, "cannot reach uroced at %s: %s", c->socket_name, strerror(-fd));
			continue;
		}
		if (!is_trusted(c, &peer)) {
			note(c, -EACCES,
			     "ignoring %s: it belongs to user %u, not to uroced of "
			     "this user; set UROCE_SOCKET to choose another",
			     c->socket_name, peer.uid);
			close(fd);
			continue;
		}
		c->sock = fd;
		if (send_hello(c)) {
			close_fd(&c->sock);
			continue;
		}
		epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
		c->state = STATE_HELLO;
		c->hello_until = now_ns() + HELLO_NS_MAX;
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

	if (now_ns() < c->start_after || now_ns() < c->sticky_until || c->report_fd >= 0)
		return;
	c->start_after = now_ns() + START_NS_INTERVAL;
	error = roce_spawn_find(path, sizeof(path));
	if (error) {
		note(c, error,
		     "uroced not found: install it beside the library or set UROCE_UROCED");
		c->is_refused = true;
		return;
	}
	error = roce_spawn_start(path, c->explicit_path[0] ? c->explicit_path : NULL,
				 &c->report_fd);
	if (error) {
		note(c, error, "cannot start %s: %s", path, strerror(-error));
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
		note(c, -ECONNREFUSED, "%s", text + 1);
	} else {
		note(c, -ECONNREFUSED, "uroced ended before it listened");
	}
	c->is_refused = true;
}

static void step_down(struct roce_client *c)
{
	if (now_ns() < c->retry_at) {
		arm_timer(c, c->retry_at);
		return;
	}
	if (try_places(c))
		return;
	if (c->cfg.may_start)
		start_daemon(c);
	else if (!c->error)
		note(c, -ENOENT, "no uroced is running for this user in this network namespace");
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
	if (!c->was_ready) {
		c->was_ready = true;
		c->state = STATE_READY;
		return;
	}
	c->state = STATE_CLAIMING;
	if (send_claims(c))
		on_lost(c);
}

/* An ERROR while nobody waits in transact(): the answer to HELLO or a claim, or a farewell. */
static void on_error(struct roce_client *c, const struct roce_message *m)
{
	struct roce_list *pos;

	if (c->state == STATE_HELLO) {
		note(c, -(int)m->error.error, "%s", m->error.text);
		disconnect(c);
		if (m->error.error == EPROTO) {
			c->is_refused = true;
			retry_later(c);
		} else {
			c->place++; /* root's daemon does not serve us: our own may */
		}
		return;
	}
	if (m->sequence == SEQUENCE_CLAIMED || (m->sequence & ~UINT32_C(0xff)) != SEQUENCE_CLAIM)
		return;
	roce_list_for_each (pos, &c->slots) {
		struct held_slot *s = roce_container_of(pos, struct held_slot, link);

		if (s->slot == (m->sequence & 0xff)) {
			s->is_lost = true;
			note(c, -ESTALE, "%s", m->error.text);
		}
	}
}

static void on_remapped(struct roce_client *c, struct roce_channel_packet *p)
{
	const struct roce_message *m = &p->message;
	struct roce_list *pos;
	struct stat st;

	if (p->fd_count != 1 || fstat(p->fds[0], &st))
		return;
	roce_list_for_each (pos, &c->slots) {
		struct held_slot *s = roce_container_of(pos, struct held_slot, link);

		for (unsigned i = 0; s->slot == m->open.slot && i < s->count; i++) {
			struct held_address *a = &s->address[i];

			if (!roce_gid_is_equal(&a->address.gid, &m->open.address.gid) ||
			    a->address.ifindex != m->open.address.ifindex ||
			    !is_same_socket(a->fd, a->ino))
				continue;
			if (dup3(p->fds[0], a->fd, O_CLOEXEC) < 0)
				return;
			a->ino = st.st_ino;
			a->nonce = m->open.nonce;
			if (c->cfg.on_replaced)
				c->cfg.on_replaced(c->cfg.ctx, a->fd);
		}
	}
}

/* What may come at any time; true if it was such. */
static bool on_packet(struct roce_client *c, struct roce_channel_packet *p)
{
	const struct roce_message *m = &p->message;

	if (p->error == ROCE_MESSAGE_ERROR_PROTOCOL) {
		note(c, -EPROTO,
		     "uroced speaks another protocol than this library (uroce %s): run "
		     "`uroce stop`, then start again",
		     UROCE_VERSION);
		disconnect(c);
		c->is_refused = true;
		retry_later(c);
		return true;
	}
	if (p->error) {
		on_lost(c);
		return true;
	}
	if (m->type == ROCE_MESSAGE_STRAY) {
		if (c->cfg.on_stray)
			c->cfg.on_stray(c->cfg.ctx, &m->stray.local, &m->stray.from, m->stray.data,
					m->stray.length, m->stray.tos);
		return true;
	}
	if (m->type == ROCE_MESSAGE_REMAPPED) {
		on_remapped(c, p);
		return true;
	}
	if (c->state == STATE_HELLO && m->type == ROCE_MESSAGE_HELLO_OK) {
		on_hello_ok(c, m);
		return true;
	}
	if (m->sequence < SEQUENCE_CLAIM && m->sequence)
		return false;
	if (m->type == ROCE_MESSAGE_ERROR)
		on_error(c, m);
	if (c->state == STATE_CLAIMING && m->sequence == SEQUENCE_CLAIMED)
		c->state = STATE_READY;
	return true;
}

/* Makes every step that is possible now. Stops at an answer to `sequence`: true, in *p. */
static bool step(struct roce_client *c, uint32_t sequence, struct roce_channel_packet *p)
{
	uint64_t ticks;
	unsigned packets = 0;

	if (read(c->timer_fd, &ticks, sizeof(ticks)) < 0)
		ticks = 0; /* not due */
	read_report(c);
	while (packets < PACKETS_MAX) {
		int n;

		if (c->state == STATE_DOWN) {
			step_down(c);
			if (c->state == STATE_DOWN)
				return false;
		}
		n = roce_channel_receive(c->sock, p);
		if (n == -EAGAIN) {
			if (c->state == STATE_HELLO && now_ns() >= c->hello_until) {
				note(c, -ETIMEDOUT, "uroced at %s does not answer", c->socket_name);
				disconnect(c);
				c->place++;
				continue;
			}
			return false;
		}
		packets++;
		if (n <= 0) {
			bool was_hello = c->state == STATE_HELLO;

			on_lost(c);
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

/* Sleeps until something may have changed. */
static void wait_event(struct roce_client *c, roce_ns_t until)
{
	struct pollfd pfd = {.fd = c->epoll_fd, .events = POLLIN};
	roce_ns_t now = now_ns();
	int ms = until > now ? (int)((until - now) / ROCE_NS_PER_MS) + 1 : 0;

	poll(&pfd, 1, ms);
}

static int wait_ready(struct roce_client *c, roce_ns_t until, struct roce_channel_packet *p)
{
	for (;;) {
		step(c, 0, p);
		if (c->state == STATE_READY)
			return 0;
		if (c->is_refused && !c->was_ready)
			return c->error;
		if (c->state == STATE_DOWN && !c->cfg.may_start && !c->was_ready)
			return c->error;
		if (now_ns() >= until)
			return c->error ? c->error : -ETIMEDOUT;
		wait_event(c, until);
	}
}

/* 0, or -errno with the text of an ERROR in err. */
static int check_answer(const struct roce_channel_packet *p, char *err, size_t err_size)
{
	if (p->message.type != ROCE_MESSAGE_ERROR)
		return 0;
	fail(err, err_size, "%s", p->message.error.text);
	return p->message.error.error ? -(int)p->message.error.error : -EIO;
}

/*
 * Sends a request and waits for its answer; a daemon that dies meanwhile is asked again after the
 * reconnect (every request may be repeated). The caller closes the descriptors in *p.
 */
static int transact(struct roce_client *c, struct roce_message *m, struct roce_channel_packet *p,
		    char *err, size_t err_size)
{
	roce_ns_t until = now_ns() + ANSWER_NS_MAX;
	int error;

	if (c->state == STATE_FORKED) {
		fail(err, err_size, "the device was opened by the parent process: open it anew");
		return -ENOTCONN;
	}
	c->sequence = c->sequence % (SEQUENCE_CLAIM - 1) + 1;
	m->sequence = c->sequence;
again:
	error = wait_ready(c, until, p);
	if (error) {
		fail(err, err_size, "%s", c->error ? c->text : "uroced does not answer");
		return error;
	}
	error = roce_channel_send(c->sock, m, NULL, 0);
	if (error == -EAGAIN) {
		wait_event(c, now_ns() + ROCE_NS_PER_MS);
		if (now_ns() < until)
			goto again;
	}
	if (error) {
		on_lost(c);
		goto again;
	}
	while (!step(c, m->sequence, p)) {
		if (c->state != STATE_READY)
			goto again;
		if (now_ns() >= until) {
			fail(err, err_size, "uroced at %s does not answer", c->socket_name);
			return -ETIMEDOUT;
		}
		wait_event(c, until);
	}
	return check_answer(p, err, err_size);
}

/* ---- calls ---- */

static void set_program(struct roce_client *c, const char *program)
{
	snprintf(c->program, sizeof(c->program), "%s",
		 program ? program : program_invocation_short_name);
	for (char *p = c->program; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
}

int roce_client_open(struct roce_client **out, const struct roce_client_config *cfg, char *err,
		     size_t err_size)
{
	const char *path = cfg->socket_path ? cfg->socket_path : secure_getenv("UROCE_SOCKET");
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = 0};
	struct roce_channel_packet p;
	struct roce_client *c;
	int error;

	if (path && strlen(path) >= sizeof(c->explicit_path)) {
		fail(err, err_size, "UROCE_SOCKET is longer than %zu characters",
		     sizeof(c->explicit_path) - 1);
		return -ENAMETOOLONG;
	}
	pthread_once(&atfork_once, register_atfork);
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->cfg = *cfg;
	c->sock = c->report_fd = -1;
	c->retry_ns = RETRY_NS_MIN;
	c->netns = roce_rendezvous_netns();
	roce_list_init(&c->slots);
	set_program(c, cfg->program);
	if (path)
		memcpy(c->explicit_path, path, strlen(path) + 1);
	while (getrandom(&c->instance, sizeof(c->instance), 0) < 0 && errno == EINTR)
		;
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	pthread_mutex_lock(&all_clients_lock);
	roce_list_add_tail(&all_clients, &c->link);
	pthread_mutex_unlock(&all_clients_lock);
	if (c->epoll_fd < 0 || c->timer_fd < 0 ||
	    epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->timer_fd, &ev)) {
		error = -errno;
		fail(err, err_size, "no descriptors for the connection to uroced: %s",
		     strerror(-error));
	} else {
		error = wait_ready(c, now_ns() + ANSWER_NS_MAX, &p);
		if (error)
			fail(err, err_size, "%s", c->error ? c->text : "uroced does not answer");
	}
	if (error) {
		roce_client_close(c);
		return error;
	}
	*out = c;
	return 0;
}

static struct held_slot *find_slot(const struct roce_client *c, uint8_t slot)
{
	struct roce_list *pos;

	roce_list_for_each (pos, &c->slots) {
		struct held_slot *s = roce_container_of(pos, struct held_slot, link);

		if (s->slot == slot)
			return s;
	}
	return NULL;
}

int roce_client_lease_slot(struct roce_client *c, uint8_t *out_slot, char *err, size_t err_size)
{
	struct roce_message m = {.type = ROCE_MESSAGE_LEASE};
	struct held_slot *s = calloc(1, sizeof(*s));
	struct roce_channel_packet p;
	int error;

	if (!s)
		return -ENOMEM;
	error = transact(c, &m, &p, err, err_size);
	if (!error)
		roce_channel_close_fds(&p);
	if (!error && p.message.type != ROCE_MESSAGE_LEASE_OK) {
		fail(err, err_size, "uroced answered LEASE by %s",
		     roce_message_type_str(p.message.type));
		error = -EPROTO;
	}
	if (error) {
		free(s);
		return error;
	}
	s->slot = p.message.lease.slot;
	roce_list_add_tail(&c->slots, &s->link);
	*out_slot = s->slot;
	return 0;
}

static bool is_gro_off(void)
{
	const char *gro = secure_getenv("UROCE_GRO");

	return gro && (!strcmp(gro, "off") || !strcmp(gro, "0"));
}

static struct held_address *find_address(struct held_slot *s, const struct roce_gid *local,
					 uint32_t ifindex)
{
	for (unsigned i = 0; i < s->count; i++)
		if (roce_gid_is_equal(&s->address[i].address.gid, local) &&
		    s->address[i].address.ifindex == ifindex)
			return &s->address[i];
	return NULL;
}

static uint32_t scope_of(const struct roce_gid *g, uint32_t ifindex)
{
	return g->raw[0] == 0xfe && (g->raw[1] & 0xc0) == 0x80 ? ifindex : 0;
}

int roce_client_open_address(struct roce_client *c, uint8_t slot, const struct roce_gid *local,
			     uint32_t ifindex, int *out_fd, char *err, size_t err_size)
{
	struct roce_message m = {.type = ROCE_MESSAGE_OPEN_ADDRESS};
	struct held_slot *s = find_slot(c, slot);
	struct roce_channel_packet p;
	struct held_address *a;
	struct stat st;
	int error;

	if (!s || s->is_lost) {
		fail(err, err_size,
		     s ? "slot %u was lost while uroced was away"
		       : "slot %u is not leased by this client",
		     slot);
		return s ? -ESTALE : -EINVAL;
	}
	ifindex = scope_of(local, ifindex);
	if (s->count == ROCE_CONTROL_SLOT_ADDR_MAX && !find_address(s, local, ifindex)) {
		fail(err, err_size, "slot %u has its maximum of %d addresses", slot,
		     ROCE_CONTROL_SLOT_ADDR_MAX);
		return -EDQUOT;
	}
	m.open.slot = slot;
	m.open.address.gid = *local;
	m.open.address.ifindex = ifindex;
	m.open.flags = is_gro_off() ? ROCE_OPEN_GRO_OFF : 0;
	error = transact(c, &m, &p, err, err_size);
	if (error)
		return error;
	if (p.message.type != ROCE_MESSAGE_OPEN_ADDRESS_OK || p.fd_count != 1 ||
	    fstat(p.fds[0], &st)) {
		roce_channel_close_fds(&p);
		fail(err, err_size, "uroced sent no socket (is the descriptor limit reached?)");
		return -EMFILE;
	}
	a = find_address(s, local, ifindex);
	if (!a)
		a = &s->address[s->count++];
	a->address = m.open.address;
	a->nonce = p.message.open.nonce;
	a->fd = p.fds[0];
	a->ino = st.st_ino;
	*out_fd = p.fds[0];
	return 0;
}

void roce_client_close_address(struct roce_client *c, uint8_t slot, const struct roce_gid *local,
			       uint32_t ifindex)
{
	struct held_slot *s = find_slot(c, slot);
	struct held_address *a;
	struct roce_message m = {.type = ROCE_MESSAGE_CLOSE_ADDRESS};

	ifindex = scope_of(local, ifindex);
	a = s ? find_address(s, local, ifindex) : NULL;
	if (!a || c->state == STATE_FORKED)
		return;
	*a = s->address[--s->count];
	m.open.slot = slot;
	m.open.address.gid = *local;
	m.open.address.ifindex = ifindex;
	/* Not sent: the next claims will not name it, which says the same. */
	if (c->state == STATE_READY && roce_channel_send(c->sock, &m, NULL, 0))
		on_lost(c);
}

void roce_client_release_slot(struct roce_client *c, uint8_t slot)
{
	struct held_slot *s = find_slot(c, slot);
	struct roce_message m = {.type = ROCE_MESSAGE_RELEASE};

	if (!s || c->state == STATE_FORKED)
		return;
	m.lease.slot = slot;
	if (!s->is_lost && c->state == STATE_READY && roce_channel_send(c->sock, &m, NULL, 0))
		on_lost(c);
	roce_list_remove(&s->link);
	free(s);
}

int roce_client_fd(const struct roce_client *c)
{
	return c->epoll_fd;
}

void roce_client_on_readable(struct roce_client *c)
{
	struct roce_channel_packet p;

	if (c->state != STATE_FORKED)
		step(c, 0, &p);
}

int roce_client_forward_stray(struct roce_client *c, const struct roce_gid *local,
			      const struct sockaddr_storage *from, const void *data, size_t length,
			      uint8_t tos)
{
	struct roce_message m = {.type = ROCE_MESSAGE_STRAY};

	if (length > ROCE_CONTROL_STRAY_MAX)
		return -EMSGSIZE;
	if (c->state != STATE_READY)
		return -EAGAIN;
	if (from->ss_family != AF_INET && from->ss_family != AF_INET6)
		return -EINVAL;
	m.stray.local = *local;
	m.stray.from = *from;
	m.stray.tos = tos;
	m.stray.length = (uint16_t)length;
	m.stray.data = data;
	return roce_channel_send(c->sock, &m, NULL, 0);
}

int roce_client_ask(struct roce_client *c, const struct roce_message *request,
		    void (*on_answer)(void *ctx, const struct roce_message *answer), void *ctx,
		    char *err, size_t err_size)
{
	roce_ns_t until = now_ns() + ANSWER_NS_MAX;
	struct roce_message m = *request;
	struct roce_channel_packet p;
	int error = transact(c, &m, &p, err, err_size);

	while (!error) {
		roce_channel_close_fds(&p);
		if (on_answer)
			on_answer(ctx, &p.message);
		if (p.message.type == ROCE_MESSAGE_OK || p.message.type == ROCE_MESSAGE_STATUS_END)
			return 0;
		while (!step(c, m.sequence, &p)) {
			if (c->state != STATE_READY || now_ns() >= until) {
				fail(err, err_size, "uroced stopped answering");
				return -ECONNRESET;
			}
			wait_event(c, until);
		}
		error = check_answer(&p, err, err_size);
	}
	return error;
}

const char *roce_client_socket(const struct roce_client *c)
{
	return c->socket_name;
}

void roce_client_close(struct roce_client *c)
{
	struct roce_list *pos, *tmp;

	if (!c)
		return;
	pthread_mutex_lock(&all_clients_lock);
	roce_list_remove(&c->link);
	pthread_mutex_unlock(&all_clients_lock);
	close_own_fds(c);
	roce_list_for_each_safe (pos, tmp, &c->slots)
		free(roce_container_of(pos, struct held_slot, link));
	free(c);
}
