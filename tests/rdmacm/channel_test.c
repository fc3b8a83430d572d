/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event channels and synchronous ids: the descriptor, waiting and being interrupted,
 * acknowledgement, moving an id, and what goes with an id that is destroyed.
 */
#include "ends.h"

#include "harness/asleep.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static void set_nonblocking(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

/* AddressSanitizer takes a cancelled thread's stack, which is not unwound, for damaged. */
#ifdef __SANITIZE_ADDRESS__
#define MAY_CANCEL 0
#else
#define MAY_CANCEL 1
#endif

/* A number that no connection before has had: those are still known for a while. */
static struct rdma_conn_param next_param(void)
{
	static uint32_t qpn = 100;

	return (struct rdma_conn_param){.qp_num = ++qpn};
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- the descriptor ---- */

static void descriptor__readable_while_events_are_queued(void **state)
{
	struct rdma_cm_event *event;
	struct ends e;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	set_nonblocking(e.channel->fd);
	assert_false(ends_is_readable(e.channel->fd, 0));
	errno = 0;
	assert_int_equal(rdma_get_cm_event(e.channel, &event), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(rdma_get_cm_event(e.channel, NULL), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_ack_cm_event(NULL), -1);
	ends_establish(&e);
	assert_int_equal(rdma_disconnect(e.active), 0);
	assert_int_equal(rdma_disconnect(e.passive), 0);
	for (int i = 0; i < 4; i++) {
		assert_true(ends_is_readable(e.channel->fd, ENDS_MS));
		assert_int_equal(rdma_get_cm_event(e.channel, &event), 0);
		rdma_ack_cm_event(event);
	}
	assert_false(ends_is_readable(e.channel->fd, 0));
	assert_true(fcntl(e.channel->fd, F_GETFD) & FD_CLOEXEC);
	ends_close(&e);
}

/* ---- waiting ---- */

struct waiter {
	struct rdma_event_channel *channel;
	struct rdma_cm_event *event;
	_Atomic pid_t thread; /* once it is about to wait */
	_Atomic int is_back;
	int rc, error;
};

static void *wait_for_event(void *arg)
{
	struct waiter *w = arg;

	w->thread = gettid();
	w->rc = rdma_get_cm_event(w->channel, &w->event);
	w->error = errno;
	w->is_back = 1;
	return NULL;
}

static void ignore(int number)
{
	(void)number;
}

static void set_handler(int flags)
{
	struct sigaction action = {.sa_handler = ignore, .sa_flags = flags};

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

static void wait__interrupted_by_a_signal(void **state)
{
	struct waiter w = {0};
	pthread_t thread;
	struct ends e;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	w.channel = e.channel;
	set_handler(0);
	pthread_create(&thread, NULL, wait_for_event, &w);
	while (!w.is_back) {
		usleep(10000);
		pthread_kill(thread, SIGUSR1);
	}
	pthread_join(thread, NULL);
	assert_int_equal(w.rc, -1);
	assert_int_equal(w.error, EINTR);
	ends_close(&e);
}

/* As with a call of the kernel: who wants to be interrupted says so. */
static void wait__restarted_after_a_signal(void **state)
{
	struct rdma_conn_param param = next_param();
	struct waiter w = {0};
	pthread_t thread;
	struct ends e;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	w.channel = e.channel;
	set_handler(SA_RESTART);
	pthread_create(&thread, NULL, wait_for_event, &w);
	assert_true(asleep_await(&w.thread));
	for (int i = 0; i < 10; i++) {
		usleep(10000);
		pthread_kill(thread, SIGUSR1);
	}
	assert_false(w.is_back);
	assert_int_equal(rdma_connect(e.active, &param), 0);
	pthread_join(thread, NULL);
	assert_int_equal(w.rc, 0);
	assert_int_equal(w.event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = w.event->id;
	rdma_ack_cm_event(w.event);
	ends_close(&e);
}

static void wait__cancelled(void **state)
{
	struct waiter w = {0};
	pthread_t thread;
	struct ends e;
	void *result;

	(void)state;
	if (!MAY_CANCEL)
		skip();
	ends_open(&e, RDMA_PS_TCP);
	w.channel = e.channel;
	pthread_create(&thread, NULL, wait_for_event, &w);
	assert_true(asleep_await(&w.thread));
	assert_int_equal(pthread_cancel(thread), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	ends_close(&e);
}

/* A program may come to its end while a thread of it still waits: it gets no error. */
static void wait__channel_destroyed_meanwhile(void **state)
{
	static struct waiter w;
	pthread_t thread;
	struct ends e;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	w.channel = e.channel;
	set_handler(0);
	pthread_create(&thread, NULL, wait_for_event, &w);
	assert_true(asleep_await(&w.thread));
	ends_close(&e);
	usleep(50000);
	pthread_kill(thread, SIGUSR1);
	usleep(50000);
	assert_false(w.is_back);
	/* It stays there to the end. */
	if (!MAY_CANCEL)
		return;
	pthread_cancel(thread);
	pthread_join(thread, NULL);
}

/* ---- acknowledging ---- */

static void *acknowledge_later(void *arg)
{
	usleep(200000);
	rdma_ack_cm_event(arg);
	return NULL;
}

static void destroy__waits_for_acknowledgement(void **state)
{
	struct rdma_conn_param param = next_param();
	struct rdma_cm_event *event;
	pthread_t thread;
	struct ends e;
	double begin;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	assert_int_equal(rdma_connect(e.active, &param), 0);
	event = ends_expect(e.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	/* It counts against the listener: the child need not wait. */
	rdma_destroy_id(event->id);
	begin = now();
	pthread_create(&thread, NULL, acknowledge_later, event);
	rdma_destroy_id(e.listener);
	assert_true(now() - begin >= 0.15);
	e.listener = NULL;
	pthread_join(thread, NULL);
	assert_int_equal(ends_take(&e, RDMA_CM_EVENT_REJECTED), 28);
	ends_close(&e);
}

static void destroy__takes_unread_events_along(void **state)
{
	struct rdma_conn_param param = next_param();
	struct ends e;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	assert_int_equal(rdma_connect(e.active, &param), 0);
	assert_true(ends_is_readable(e.channel->fd, ENDS_MS));
	/* With the child that nobody has seen, and whose peer hears of it. */
	rdma_destroy_id(e.listener);
	e.listener = NULL;
	assert_int_equal(ends_take(&e, RDMA_CM_EVENT_REJECTED), 28);
	assert_false(ends_is_readable(e.channel->fd, 50));
	ends_close(&e);
}

/* ---- moving ---- */

static void migrate__unread_events_move(void **state)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct rdma_conn_param param = next_param();
	struct rdma_cm_event *event;
	struct ends e;

	(void)state;
	ends_open(&e, RDMA_PS_TCP);
	assert_int_equal(rdma_connect(e.active, &param), 0);
	assert_true(ends_is_readable(e.channel->fd, ENDS_MS));
	assert_int_equal(rdma_migrate_id(e.listener, other), 0);
	assert_ptr_equal(e.listener->channel, other);
	assert_false(ends_is_readable(e.channel->fd, 0));
	event = ends_expect(other, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.passive = event->id;
	assert_ptr_equal(e.passive->channel, other);
	rdma_ack_cm_event(event);
	param = next_param();
	assert_int_equal(rdma_accept(e.passive, &param), 0);
	assert_int_equal(ends_take(&e, RDMA_CM_EVENT_CONNECT_RESPONSE), 0);
	assert_int_equal(rdma_migrate_id(e.passive, e.channel), 0);
	assert_int_equal(rdma_establish(e.active), 0);
	assert_int_equal(ends_take(&e, RDMA_CM_EVENT_ESTABLISHED), 0);
	rdma_destroy_id(e.listener);
	e.listener = NULL;
	rdma_destroy_event_channel(other);
	ends_close(&e);
}

/* ---- fork ---- */

/* The child has connections of its own; the parent's go on. */
static void fork__both_connect(void **state)
{
	struct rdma_cm_event *event;
	struct ends parents, childs;
	int status;
	pid_t pid;

	(void)state;
	ends_open(&parents, RDMA_PS_TCP);
	ends_establish(&parents);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(300);
		ends_open(&childs, RDMA_PS_TCP);
		ends_establish(&childs);
		ends_close(&childs);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(rdma_disconnect(parents.active), 0);
	event = ends_expect(parents.channel, RDMA_CM_EVENT_DISCONNECTED);
	assert_ptr_equal(event->id, parents.passive);
	rdma_ack_cm_event(event);
	ends_close(&parents);
}

/* ---- synchronous ids ---- */

static void *connect_synchronously(void *arg)
{
	const struct sockaddr_in *to = arg;
	struct rdma_conn_param param = {.qp_num = ntohs(to->sin_port)};
	struct rdma_cm_id *id;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, (struct sockaddr *)(uintptr_t)to, 1000) ||
	    rdma_resolve_route(id, 1000))
		return "no route";
	if (id->event->event != RDMA_CM_EVENT_ROUTE_RESOLVED)
		return "no event of the route";
	if (rdma_connect(id, &param))
		return errno == ECONNREFUSED ? "refused" : strerror(errno);
	if (id->event->event != RDMA_CM_EVENT_CONNECT_RESPONSE || rdma_establish(id))
		return "no answer";
	if (rdma_disconnect(id))
		return "disconnect";
	return id->event->event == RDMA_CM_EVENT_DISCONNECTED && !rdma_destroy_id(id) ? "fine"
										      : "?";
}

static struct rdma_cm_id *listen_synchronously(struct sockaddr_in *out_to)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	struct rdma_cm_id *listener;

	assert_int_equal(rdma_create_id(NULL, &listener, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(listener, (struct sockaddr *)&any), 0);
	assert_int_equal(rdma_listen(listener, 0), 0);
	out_to->sin_family = AF_INET;
	out_to->sin_addr.s_addr = htobe32(INADDR_LOOPBACK);
	out_to->sin_port = rdma_get_src_port(listener);
	return listener;
}

static void synchronous__whole_dialogue(void **state)
{
	struct rdma_conn_param param = {.qp_num = 8};
	struct rdma_cm_id *listener, *child;
	struct sockaddr_in to;
	pthread_t thread;
	void *said;

	(void)state;
	listener = listen_synchronously(&to);
	pthread_create(&thread, NULL, connect_synchronously, &to);
	assert_int_equal(rdma_get_request(listener, &child), 0);
	assert_ptr_not_equal(child->channel, listener->channel);
	assert_int_equal(child->event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(child->event->param.conn.qp_num, ntohs(to.sin_port));
	assert_int_equal(rdma_accept(child, &param), 0);
	assert_int_equal(child->event->event, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(rdma_disconnect(child), 0);
	assert_int_equal(child->event->event, RDMA_CM_EVENT_DISCONNECTED);
	pthread_join(thread, &said);
	assert_string_equal(said, "fine");
	assert_int_equal(rdma_destroy_id(child), 0);
	assert_int_equal(rdma_destroy_id(listener), 0);
}

static void synchronous__refused(void **state)
{
	struct rdma_cm_id *listener, *child;
	struct sockaddr_in to;
	pthread_t thread;
	void *said;

	(void)state;
	listener = listen_synchronously(&to);
	pthread_create(&thread, NULL, connect_synchronously, &to);
	assert_int_equal(rdma_get_request(listener, &child), 0);
	assert_int_equal(rdma_reject(child, NULL, 0), 0);
	pthread_join(thread, &said);
	assert_string_equal(said, "refused");
	assert_int_equal(rdma_destroy_id(child), 0);
	/* O_NONBLOCK on the id's own channel: the operation is started. */
	set_nonblocking(listener->channel->fd);
	assert_int_equal(rdma_get_request(listener, &child), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(rdma_migrate_id(listener, NULL), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_destroy_id(listener), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptor__readable_while_events_are_queued),
		cmocka_unit_test(wait__interrupted_by_a_signal),
		cmocka_unit_test(wait__restarted_after_a_signal),
		cmocka_unit_test(wait__cancelled),
		cmocka_unit_test(wait__channel_destroyed_meanwhile),
		cmocka_unit_test(destroy__waits_for_acknowledgement),
		cmocka_unit_test(destroy__takes_unread_events_along),
		cmocka_unit_test(migrate__unread_events_move),
		cmocka_unit_test(fork__both_connect),
		cmocka_unit_test(synchronous__whole_dialogue),
		cmocka_unit_test(synchronous__refused),
	};

	ends_enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
