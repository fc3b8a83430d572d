/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queue of events's descriptor is readable exactly while something waits, blocks and does not
 * block as the program asked, and retiring a source waits for the program's acknowledgement.
 */
#include "verbs/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static bool is_readable(const struct roce_events *q)
{
	struct pollfd p = {.fd = q->fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void set_nonblocking(const struct roce_events *q)
{
	assert_int_equal(fcntl(q->fd, F_SETFL, fcntl(q->fd, F_GETFL) | O_NONBLOCK), 0);
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void get__order_counts_and_types(void **state)
{
	struct roce_events q;
	struct roce_event_source a;
	struct roce_event_source b;
	struct roce_event_source *src;
	uint32_t type;

	(void)state;
	assert_int_equal(roce_events_init(&q), 0);
	set_nonblocking(&q);
	roce_event_source_init(&a, ROCE_EVENT_OF_CQ, &a);
	roce_event_source_init(&b, ROCE_EVENT_OF_QP, &b);
	assert_false(is_readable(&q));
	assert_int_equal(roce_events_get(&q, &src, &type), -EAGAIN);

	roce_events_post(&q, &a, ROCE_EVENT_COUNTED);
	roce_events_post(&q, &a, ROCE_EVENT_COUNTED);
	roce_events_post(&q, &b, 4);
	roce_events_post(&q, &b, 4);
	roce_events_post(&q, &b, 1);
	assert_true(is_readable(&q));

	/* Counted events come as often as posted, others once for each type; sources take turns. */
	assert_int_equal(roce_events_get(&q, &src, &type), 0);
	assert_ptr_equal(src, &a);
	assert_int_equal(type, ROCE_EVENT_COUNTED);
	assert_int_equal(roce_events_get(&q, &src, &type), 0);
	assert_ptr_equal(src, &b);
	assert_int_equal(type, 1);
	assert_int_equal(roce_events_get(&q, &src, &type), 0);
	assert_ptr_equal(src, &a);
	assert_true(is_readable(&q));
	assert_int_equal(roce_events_get(&q, &src, &type), 0);
	assert_ptr_equal(src, &b);
	assert_int_equal(type, 4);
	assert_false(is_readable(&q));
	assert_int_equal(roce_events_get(&q, &src, &type), -EAGAIN);
	roce_events_fini(&q);
}

/* Posting and retiring work, and no descriptor is there to be read or leaked. */
static void mute__posts_without_a_descriptor(void **state)
{
	struct roce_events q;
	struct roce_event_source a;
	struct roce_event_source *src;
	uint32_t type;

	(void)state;
	roce_events_init_mute(&q);
	assert_int_equal(q.fd, -1);
	roce_event_source_init(&a, ROCE_EVENT_OF_QP, &q);
	roce_events_post(&q, &a, 3);
	roce_events_post(&q, &a, 3);
	assert_false(roce_list_is_empty(&q.ready));
	assert_int_equal(roce_events_get(&q, &src, &type), -EBADF);
	roce_event_source_retire(&q, &a);
	assert_true(roce_list_is_empty(&q.ready));
	roce_events_fini(&q);
}

static void retire__what_waits_is_forgotten(void **state)
{
	struct roce_events q;
	struct roce_event_source a;
	struct roce_event_source b;
	struct roce_event_source *src;
	uint32_t type;

	(void)state;
	assert_int_equal(roce_events_init(&q), 0);
	set_nonblocking(&q);
	roce_event_source_init(&a, ROCE_EVENT_OF_CQ, &a);
	roce_event_source_init(&b, ROCE_EVENT_OF_CQ, &b);
	roce_events_post(&q, &a, ROCE_EVENT_COUNTED);
	roce_events_post(&q, &b, ROCE_EVENT_COUNTED);
	roce_event_source_retire(&q, &a);
	assert_true(is_readable(&q));
	assert_int_equal(roce_events_get(&q, &src, &type), 0);
	assert_ptr_equal(src, &b);
	roce_events_post(&q, &a, ROCE_EVENT_COUNTED);
	roce_event_source_retire(&q, &a);
	assert_false(is_readable(&q));
	/* The queue still works after its token was taken back. */
	roce_events_post(&q, &b, ROCE_EVENT_COUNTED);
	assert_true(is_readable(&q));
	assert_int_equal(roce_events_get(&q, &src, &type), 0);
	roce_events_fini(&q);
}

struct acker {
	struct roce_events *q;
	struct roce_event_source *src;
	bool is_acked;
};

static void *ack_later(void *arg)
{
	struct acker *a = arg;

	sleep_ms(30);
	__atomic_store_n(&a->is_acked, true, __ATOMIC_SEQ_CST);
	roce_event_source_ack(a->q, a->src, 1);
	return NULL;
}

static void retire__waits_for_the_ack(void **state)
{
	struct roce_events q;
	struct roce_event_source a;
	struct acker acker = {.q = &q, .src = &a};
	struct roce_event_source *src;
	pthread_t thread;
	uint32_t type;

	(void)state;
	assert_int_equal(roce_events_init(&q), 0);
	roce_event_source_init(&a, ROCE_EVENT_OF_CQ, &a);
	roce_events_post(&q, &a, ROCE_EVENT_COUNTED);
	assert_int_equal(roce_events_get(&q, &src, &type), 0);
	assert_int_equal(pthread_create(&thread, NULL, ack_later, &acker), 0);
	roce_event_source_retire(&q, &a);
	assert_true(__atomic_load_n(&acker.is_acked, __ATOMIC_SEQ_CST));
	pthread_join(thread, NULL);
	roce_events_fini(&q);
}

struct getter {
	struct roce_events *q;
	int result;
	bool is_back;
};

static void *get_one(void *arg)
{
	struct getter *g = arg;
	struct roce_event_source *src;
	uint32_t type;

	g->result = roce_events_get(g->q, &src, &type);
	__atomic_store_n(&g->is_back, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static void get__blocks_until_posted(void **state)
{
	struct roce_events q;
	struct roce_event_source a;
	struct getter g = {.q = &q, .result = 1};
	pthread_t thread;

	(void)state;
	assert_int_equal(roce_events_init(&q), 0);
	roce_event_source_init(&a, ROCE_EVENT_OF_CQ, &a);
	assert_int_equal(pthread_create(&thread, NULL, get_one, &g), 0);
	sleep_ms(20);
	roce_events_post(&q, &a, ROCE_EVENT_COUNTED);
	pthread_join(thread, NULL);
	assert_int_equal(g.result, 0);
	assert_false(is_readable(&q));
	roce_events_fini(&q);
}

static void on_signal(int number)
{
	(void)number;
}

/* With some signals: the first may come before the thread waits. */
static int get_with_signals(int flags, int count)
{
	struct roce_events q;
	struct roce_event_source a;
	struct getter g = {.q = &q, .result = 1};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
	pthread_t thread;

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(roce_events_init(&q), 0);
	roce_event_source_init(&a, ROCE_EVENT_OF_CQ, &a);
	assert_int_equal(pthread_create(&thread, NULL, get_one, &g), 0);
	for (int i = 0; i < count && !__atomic_load_n(&g.is_back, __ATOMIC_SEQ_CST); i++) {
		sleep_ms(20);
		pthread_kill(thread, SIGUSR1);
	}
	sleep_ms(20);
	roce_events_post(&q, &a, ROCE_EVENT_COUNTED);
	pthread_join(thread, NULL);
	roce_events_fini(&q);
	return g.result;
}

static void get__signals_as_on_a_kernel_device(void **state)
{
	(void)state;
	assert_int_equal(get_with_signals(0, 3000), -EINTR);
	assert_int_equal(get_with_signals(SA_RESTART, 3), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(get__order_counts_and_types),
		cmocka_unit_test(mute__posts_without_a_descriptor),
		cmocka_unit_test(retire__what_waits_is_forgotten),
		cmocka_unit_test(retire__waits_for_the_ack),
		cmocka_unit_test(get__blocks_until_posted),
		cmocka_unit_test(get__signals_as_on_a_kernel_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
