/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection manager's client against a played daemon: answers and events in every order, and
 * what becomes of each kind of id when the daemon is replaced. The daemon is a thread that follows
 * a script; what it did not expect it notes, and the test looks at the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "control/channel.h"
#include "control/cm_client.h"
#include "control/rendezvous.h"

#define CHILD	    (ROCE_CM_HANDLE_CHILD | 7)
#define MANY	    100
#define EVENTS_MAX  8

#define PATIENCE_MS 60000

struct played {
	int listen_fd, fd;
	pthread_t thread;
	const char *surprise; /* what was not as the script has it */
	_Atomic bool is_restored;
	struct roce_channel_packet p;
};

struct fixture {
	struct played daemon;
	struct roce_cm_client *client;
	pthread_mutex_t lock;
	struct roce_cm_event events[EVENTS_MAX];
	unsigned count;
};

/* ---- the daemon's side ---- */

static void note(struct played *d, const char *what)
{
	if (!d->surprise)
		d->surprise = what;
}

static void receive(struct played *d)
{
	struct pollfd pfd = {.fd = d->fd, .events = POLLIN};

	while (roce_channel_receive(d->fd, &d->p) == -EAGAIN)
		if (poll(&pfd, 1, PATIENCE_MS) == 0)
			return note(d, "nothing came");
}

static void answer(struct played *d, struct roce_message *m)
{
	m->sequence = d->p.message.sequence;
	if (roce_channel_send(d->fd, m, NULL, 0))
		note(d, "an answer could not be sent");
}

static void greet(struct played *d, bool is_first)
{
	struct roce_message hello = {.type = ROCE_MESSAGE_HELLO_OK};
	struct roce_message ok = {.type = ROCE_MESSAGE_OK};

	if (d->fd >= 0)
		close(d->fd);
	d->fd = accept4(d->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	receive(d);
	answer(d, &hello);
	if (is_first)
		return;
	receive(d);
	if (d->p.message.type != ROCE_MESSAGE_CLAIMED)
		note(d, "no CLAIMED after a reconnect");
	answer(d, &ok);
}

static void expect(struct played *d, enum roce_cm_op op, uint32_t handle)
{
	receive(d);
	if (d->p.message.type != ROCE_MESSAGE_CM || d->p.message.cm.op != op)
		note(d, roce_cm_op_str(op));
	else if (d->p.message.cm.handle != handle)
		note(d, "another handle");
}

static void say_ok(struct played *d, uint16_t port, const char *saved)
{
	struct roce_message m = {.type = ROCE_MESSAGE_CM_OK};

	m.cm_ok.handle = d->p.message.cm.handle;
	m.cm_ok.port = port;
	m.cm_ok.saved.length = (uint16_t)strlen(saved);
	memcpy(m.cm_ok.saved.data, saved, strlen(saved));
	answer(d, &m);
}

static void say_error(struct played *d, uint32_t error)
{
	struct roce_message m = {.type = ROCE_MESSAGE_ERROR, .error = {.error = error}};

	answer(d, &m);
}

static void send_event(struct played *d, enum roce_cm_event_type type, uint32_t handle,
		       uint32_t listener)
{
	struct roce_message m = {.type = ROCE_MESSAGE_CM_EVENT};

	m.cm_event.event = type;
	m.cm_event.handle = handle;
	m.cm_event.listener = listener;
	m.cm_event.local_port = 7471;
	if (roce_channel_send(d->fd, &m, NULL, 0))
		note(d, "an event could not be sent");
}

static void start(struct fixture *f, void *(*script)(void *arg))
{
	pthread_create(&f->daemon.thread, NULL, script, &f->daemon);
}

static void end(struct fixture *f)
{
	pthread_join(f->daemon.thread, NULL);
	if (f->daemon.surprise)
		fail_msg("the daemon: %s", f->daemon.surprise);
}

/* ---- the client's side ---- */

static void on_event(void *ctx, const struct roce_cm_event *e)
{
	struct fixture *f = ctx;

	pthread_mutex_lock(&f->lock);
	if (f->count < EVENTS_MAX)
		f->events[f->count++] = *e;
	pthread_mutex_unlock(&f->lock);
}

static unsigned count_events(struct fixture *f)
{
	unsigned count;

	pthread_mutex_lock(&f->lock);
	count = f->count;
	pthread_mutex_unlock(&f->lock);
	return count;
}

static void wait_events(struct fixture *f, unsigned count)
{
	for (unsigned i = 0; i < PATIENCE_MS / 10 && count_events(f) < count; i++)
		usleep(10000);
	assert_int_equal(count_events(f), count);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct roce_rendezvous r;
	char name[64];

	snprintf(name, sizeof(name), "@uroce-cm-client-test-%d", (int)getpid());
	setenv("UROCE_SOCKET", name, 1);
	pthread_mutex_init(&f->lock, NULL);
	f->daemon.fd = -1;
	f->daemon.listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(roce_rendezvous_from_str(&r, name), 0);
	assert_int_equal(bind(f->daemon.listen_fd, (struct sockaddr *)&r.address, r.length), 0);
	assert_int_equal(listen(f->daemon.listen_fd, 1), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	roce_cm_client_close(f->client);
	close(f->daemon.fd);
	close(f->daemon.listen_fd);
	free(f);
	return 0;
}

static void open_client(struct fixture *f)
{
	struct roce_cm_client_config cfg = {.on_event = on_event, .ctx = f};
	char err[320] = "";

	assert_int_equal(roce_cm_client_open(&f->client, &cfg, err, sizeof(err)), 0);
}

static int request(struct fixture *f, enum roce_cm_op op, uint32_t handle, struct roce_cm_ok *ok)
{
	struct roce_cm_request r = {.handle = handle, .op = op};
	char err[320] = "";

	if (op == ROCE_CM_BIND)
		r.bind = (struct roce_cm_bind){.port_space = 0x106, .family = 4};
	if (op == ROCE_CM_LISTEN)
		r.listen.backlog = 5;
	return roce_cm_client_request(f->client, &r, ok, err, sizeof(err));
}

/* ---- answers and events ---- */

static void *play_answers(void *arg)
{
	struct played *d = arg;

	greet(d, true);
	expect(d, ROCE_CM_BIND, 1);
	say_ok(d, 40001, "");
	expect(d, ROCE_CM_LISTEN, 1);
	say_error(d, EADDRINUSE);
	/* An event that comes while a request waits for its answer. */
	expect(d, ROCE_CM_LISTEN, 1);
	say_ok(d, 40001, "");
	send_event(d, ROCE_CM_EVENT_CONNECT_REQUEST, CHILD, 1);
	expect(d, ROCE_CM_TAKEN, CHILD);
	expect(d, ROCE_CM_ACCEPT, CHILD);
	send_event(d, ROCE_CM_EVENT_CONNECT_REQUEST, CHILD + 1, 1);
	say_ok(d, 40001, "");
	send_event(d, ROCE_CM_EVENT_ESTABLISHED, CHILD, 0);
	expect(d, ROCE_CM_DESTROY, 1);
	say_ok(d, 0, "");
	/* Of an id that is gone, of a child that went with it: nobody is told. */
	send_event(d, ROCE_CM_EVENT_DISCONNECTED, CHILD + 1, 0);
	send_event(d, ROCE_CM_EVENT_CONNECT_REQUEST, CHILD + 2, 1);
	send_event(d, ROCE_CM_EVENT_DISCONNECTED, CHILD, 0);
	return NULL;
}

static void request__answers_and_events(void **state)
{
	struct fixture *f = *state;
	struct roce_cm_ok ok = {0};

	start(f, play_answers);
	open_client(f);
	assert_int_equal(roce_cm_client_new_handle(f->client), 1);
	assert_int_equal(request(f, ROCE_CM_BIND, 1, &ok), 0);
	assert_int_equal(ok.port, 40001);
	assert_int_equal(request(f, ROCE_CM_LISTEN, 1, NULL), -EADDRINUSE);
	assert_int_equal(request(f, ROCE_CM_LISTEN, 1, NULL), 0);
	wait_events(f, 1);
	assert_int_equal(f->events[0].handle, CHILD);
	assert_int_equal(request(f, ROCE_CM_TAKEN, CHILD, NULL), 0);
	assert_int_equal(request(f, ROCE_CM_ACCEPT, CHILD, NULL), 0);
	wait_events(f, 3);
	assert_int_equal(f->events[1].handle, CHILD + 1);
	assert_int_equal(f->events[2].event, ROCE_CM_EVENT_ESTABLISHED);
	assert_int_equal(request(f, ROCE_CM_DESTROY, 1, NULL), 0);
	wait_events(f, 4);
	assert_int_equal(f->events[3].event, ROCE_CM_EVENT_DISCONNECTED);
	assert_int_equal(f->events[3].handle, CHILD);
	end(f);
}

/* ---- the daemon is replaced ---- */

static void check_restore(struct played *d, uint16_t port, uint32_t backlog, const char *saved)
{
	const struct roce_cm_request *r = &d->p.message.cm;

	if (r->restore.bind.port != port)
		note(d, "RESTORE with another port");
	if (r->restore.backlog != backlog)
		note(d, "RESTORE with another backlog");
	if (r->restore.saved.length != strlen(saved) ||
	    memcmp(r->restore.saved.data, saved, strlen(saved)) != 0)
		note(d, "RESTORE with other notes");
}

static void *play_replaced(void *arg)
{
	struct played *d = arg;

	greet(d, true);
	expect(d, ROCE_CM_BIND, 1);
	say_ok(d, 7471, "");
	expect(d, ROCE_CM_LISTEN, 1);
	say_ok(d, 7471, "listener");
	send_event(d, ROCE_CM_EVENT_CONNECT_REQUEST, CHILD, 1);
	expect(d, ROCE_CM_TAKEN, CHILD);
	expect(d, ROCE_CM_ACCEPT, CHILD);
	say_ok(d, 7471, "accepted");
	expect(d, ROCE_CM_BIND, 2);
	say_ok(d, 40002, "");
	expect(d, ROCE_CM_CONNECT, 2);
	say_ok(d, 40002, "asked");
	greet(d, false);
	expect(d, ROCE_CM_RESTORE, 2);
	check_restore(d, 40002, 0, "asked");
	say_error(d, ESTALE);
	expect(d, ROCE_CM_RESTORE, CHILD);
	check_restore(d, 7471, 0, "accepted");
	say_ok(d, 7471, "accepted");
	/* Last: a child that it gets from now on has a number that none of the program's has. */
	expect(d, ROCE_CM_RESTORE, 1);
	check_restore(d, 7471, 5, "listener");
	say_ok(d, 7471, "");
	expect(d, ROCE_CM_RESTORED, 0);
	say_ok(d, 0, "");
	/* What the program asked meanwhile comes after all that. */
	expect(d, ROCE_CM_BIND, 3);
	say_ok(d, 40003, "");
	send_event(d, ROCE_CM_EVENT_ESTABLISHED, CHILD, 0);
	return NULL;
}

static void reconnect__names_every_id(void **state)
{
	struct fixture *f = *state;

	start(f, play_replaced);
	open_client(f);
	assert_int_equal(request(f, ROCE_CM_BIND, 1, NULL), 0);
	assert_int_equal(request(f, ROCE_CM_LISTEN, 1, NULL), 0);
	wait_events(f, 1);
	assert_int_equal(request(f, ROCE_CM_TAKEN, CHILD, NULL), 0);
	assert_int_equal(request(f, ROCE_CM_ACCEPT, CHILD, NULL), 0);
	assert_int_equal(request(f, ROCE_CM_BIND, 2, NULL), 0);
	assert_int_equal(request(f, ROCE_CM_CONNECT, 2, NULL), 0);
	assert_int_equal(request(f, ROCE_CM_BIND, 3, NULL), 0);
	wait_events(f, 3);
	/* The connect that could not be taken up again. */
	assert_int_equal(f->events[1].handle, 2);
	assert_int_equal(f->events[1].event, ROCE_CM_EVENT_UNREACHABLE);
	assert_int_equal(f->events[1].status, -ETIMEDOUT);
	assert_int_equal(f->events[2].handle, CHILD);
	assert_int_equal(f->events[2].event, ROCE_CM_EVENT_ESTABLISHED);
	end(f);
}

static void *play_forgotten(void *arg)
{
	struct played *d = arg;

	greet(d, true);
	expect(d, ROCE_CM_BIND, 1);
	say_ok(d, 40001, "");
	expect(d, ROCE_CM_CONNECT, 1);
	say_ok(d, 40001, "");
	send_event(d, ROCE_CM_EVENT_CONNECT_RESPONSE, 1, 0);
	expect(d, ROCE_CM_ESTABLISH, 1);
	say_ok(d, 40001, "");
	greet(d, false);
	expect(d, ROCE_CM_RESTORE, 1);
	say_error(d, ESTALE);
	expect(d, ROCE_CM_RESTORED, 0);
	say_ok(d, 0, "");
	expect(d, ROCE_CM_DISCONNECT, 1);
	say_error(d, EINVAL);
	return NULL;
}

/* An established connection goes on without the daemon, and ends when the program wants it to. */
static void reconnect__established_survives(void **state)
{
	struct fixture *f = *state;

	start(f, play_forgotten);
	open_client(f);
	assert_int_equal(request(f, ROCE_CM_BIND, 1, NULL), 0);
	assert_int_equal(request(f, ROCE_CM_CONNECT, 1, NULL), 0);
	wait_events(f, 1);
	assert_int_equal(request(f, ROCE_CM_ESTABLISH, 1, NULL), 0);
	assert_int_equal(request(f, ROCE_CM_DISCONNECT, 1, NULL), 0);
	wait_events(f, 2);
	assert_int_equal(f->events[1].event, ROCE_CM_EVENT_DISCONNECTED);
	assert_int_equal(f->events[1].status, -ETIMEDOUT);
	end(f);
}

static void *play_port_only(void *arg)
{
	struct played *d = arg;

	greet(d, true);
	expect(d, ROCE_CM_BIND, 1);
	say_ok(d, 40001, "");
	expect(d, ROCE_CM_CONNECT, 1);
	say_ok(d, 40001, "");
	greet(d, false);
	expect(d, ROCE_CM_RESTORE, 1);
	say_ok(d, 40001, "");
	expect(d, ROCE_CM_RESTORED, 0);
	say_ok(d, 0, "");
	return NULL;
}

/* The daemon takes the id back, but knows nothing of its dialogue: nobody else will end it. */
static void reconnect__only_the_port_is_back(void **state)
{
	struct fixture *f = *state;

	start(f, play_port_only);
	open_client(f);
	assert_int_equal(request(f, ROCE_CM_BIND, 1, NULL), 0);
	assert_int_equal(request(f, ROCE_CM_CONNECT, 1, NULL), 0);
	wait_events(f, 1);
	assert_int_equal(f->events[0].event, ROCE_CM_EVENT_UNREACHABLE);
	assert_int_equal(f->events[0].status, -ETIMEDOUT);
	end(f);
}

static void *play_many(void *arg)
{
	struct played *d = arg;
	bool seen[MANY + 1] = {false};

	greet(d, true);
	for (uint32_t i = 1; i <= MANY; i++) {
		expect(d, ROCE_CM_BIND, i);
		say_ok(d, (uint16_t)(1000 + i), "");
	}
	greet(d, false);
	for (unsigned i = 0; i < MANY; i++) {
		const struct roce_cm_request *r = &d->p.message.cm;

		receive(d);
		if (r->op != ROCE_CM_RESTORE || r->handle < 1 || r->handle > MANY ||
		    seen[r->handle] || r->restore.bind.port != 1000 + r->handle)
			note(d, "not each id once");
		else
			seen[r->handle] = true;
		say_ok(d, r->restore.bind.port, "");
	}
	expect(d, ROCE_CM_RESTORED, 0);
	d->is_restored = true;
	say_ok(d, 0, "");
	expect(d, ROCE_CM_DESTROY, 1);
	say_ok(d, 0, "");
	return NULL;
}

static void reconnect__more_than_fit_at_once(void **state)
{
	struct fixture *f = *state;

	start(f, play_many);
	open_client(f);
	for (uint32_t i = 1; i <= MANY; i++)
		assert_int_equal(request(f, ROCE_CM_BIND, i, NULL), 0);
	/* DESTROY needs no daemon; this one must find the new one. */
	while (!f->daemon.is_restored)
		usleep(1000);
	assert_int_equal(request(f, ROCE_CM_DESTROY, 1, NULL), 0);
	end(f);
}

static void *play_deaf(void *arg)
{
	struct played *d = arg;

	greet(d, true);
	expect(d, ROCE_CM_BIND, 1);
	say_ok(d, 40001, "");
	close(d->fd);
	d->fd = -1;
	close(d->listen_fd);
	d->listen_fd = -1;
	return NULL;
}

/* The daemon has forgotten it with everything else. */
static void destroy__succeeds_without_a_daemon(void **state)
{
	struct fixture *f = *state;
	struct timespec begin, now;

	setenv("UROCE_UROCED", "/nonexistent/uroced", 1);
	start(f, play_deaf);
	open_client(f);
	assert_int_equal(request(f, ROCE_CM_BIND, 1, NULL), 0);
	end(f);
	/* Whether its end was noticed or not: at once, not when the wait for an answer is over. */
	clock_gettime(CLOCK_MONOTONIC, &begin);
	assert_int_equal(request(f, ROCE_CM_DESTROY, 1, NULL), 0);
	clock_gettime(CLOCK_MONOTONIC, &now);
	assert_true(now.tv_sec - begin.tv_sec < 15);
	unsetenv("UROCE_UROCED");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(request__answers_and_events, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reconnect__names_every_id, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reconnect__established_survives, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reconnect__only_the_port_is_back, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(reconnect__more_than_fit_at_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(destroy__succeeds_without_a_daemon, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
