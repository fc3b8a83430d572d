/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The progress thread. It sleeps in epoll_wait() until a socket (while armed), the timer, the
 * daemon's connection or the end calls it, decides with the lock held whether the program is at
 * work, and if not does one round of everything.
 *
 * It blocks all signals but those of its own faults: a handler of the program never runs here, yet
 * memory that is gone must raise something that guard.c can catch.
 */
#include "engine/progress_internal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_MAX	   8
#define ROUNDS_MAX	   64u
#define POLLED_JUST_NOW_NS (20 * ROCE_NS_PER_US)
#define LOCK_NAP_NS	   (50 * ROCE_NS_PER_US)
#define LOCK_NAPS_MAX	   4u
#define THREAD_STACK_BYTES (256u << 10)

/* A lock that is taken means that the program is at work; waiting for it would make its unlock a
 * system call. */
static void lock_politely(struct roce_progress *p)
{
	const struct timespec nap = {.tv_nsec = (long)LOCK_NAP_NS};

	for (uint32_t i = 0; i < LOCK_NAPS_MAX; i++) {
		if (pthread_mutex_trylock(p->lock) == 0)
			return;
		nanosleep(&nap, NULL);
	}
	pthread_mutex_lock(p->lock);
}

/* The number of packets that were waiting. */
static uint32_t do_work(struct roce_progress *p)
{
	struct roce_queue *q = p->queue;
	uint32_t waiting = 0;

	for (uint32_t i = 0; i < ROUNDS_MAX; i++) {
		roce_ns_t now = roce_clock_now();
		uint32_t received = roce_queue_rx(q, now);
		uint32_t sent = 0;

		if (i == 0)
			waiting = received;
		progress_run_timers(p, now);
		p->kick_count = 0;
		if (roce_tx_is_pending(q->transport))
			sent = roce_queue_tx(q, now);
		if (!received && !sent)
			break;
	}
	return waiting;
}

static void learn(struct roce_progress *p, bool is_for_arming)
{
	if (is_for_arming && p->eagerness < ROCE_PROGRESS_EAGER_MAX)
		p->eagerness++;
	else if (!is_for_arming && p->eagerness > 0)
		p->eagerness--;
}

/* The program polls: leave it the work, and look again later. */
static void stand_aside(struct roce_progress *p)
{
	p->queue->counters->engine.thread_aside++;
	if (p->is_armed)
		learn(p, false);
	progress_set_armed(p, false);
	p->is_watching = true;
}

/* Called by a packet, the program must have polled since the thread was armed; called by the timer,
 * since the last look. */
static bool is_program_at_work(const struct roce_progress *p, bool is_look, roce_ns_t now)
{
	roce_ns_t recent = is_look ? PROGRESS_LOOK_NS / 2 : POLLED_JUST_NOW_NS;

	return p->is_polled && (is_look || p->polls_since_arming) && now - p->last_poll < recent;
}

static void take_over(struct roce_progress *p)
{
	bool was_armed = p->is_armed;
	uint32_t waiting;

	p->is_watching = false;
	waiting = do_work(p);
	if (waiting && !was_armed)
		p->queue->counters->engine.thread_late++;
	if (waiting && p->is_polled)
		learn(p, p->has_completion);
	progress_set_armed(p, true);
}

static void on_wake(struct roce_progress *p, bool is_timer)
{
	roce_ns_t now = roce_clock_now();
	bool is_look = is_timer && p->is_watching;

	p->queue->counters->engine.thread_wakes++;
	if (is_timer)
		p->timer_at = ROCE_NEVER;
	if (is_program_at_work(p, is_look, now))
		stand_aside(p);
	else
		take_over(p);
	progress_wake_for_next(p, now);
}

static void *run_thread(void *arg)
{
	struct roce_progress *p = arg;

	for (;;) {
		struct epoll_event events[EVENTS_MAX];
		bool is_timer = false;
		bool is_lease = false;
		int count = epoll_wait(p->epoll_fd, events, EVENTS_MAX, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.u32 == PROGRESS_STOP)
				return NULL;
			is_timer |= events[i].data.u32 == PROGRESS_TIMER;
			is_lease |= events[i].data.u32 == PROGRESS_LEASE;
		}
		if (count <= 0)
			continue;
		lock_politely(p);
		if (is_timer) {
			uint64_t expirations;

			/* EAGAIN when it was set anew meanwhile: then it fires again */
			is_timer = read(p->timer_fd, &expirations, sizeof(expirations)) > 0;
		}
		if (is_lease)
			roce_lease_on_readable(p->queue->lease);
		on_wake(p, is_timer);
		pthread_mutex_unlock(p->lock);
	}
}

/* ---- start and stop ---- */

static int add(struct roce_progress *p, int fd, enum progress_source source)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u32 = source};

	return epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

static int create_thread(struct roce_progress *p)
{
	pthread_attr_t attr;
	sigset_t most, old;
	int err;

	sigfillset(&most);
	sigdelset(&most, SIGSEGV);
	sigdelset(&most, SIGBUS);
	sigdelset(&most, SIGILL);
	sigdelset(&most, SIGFPE);
	sigdelset(&most, SIGTRAP);
	sigdelset(&most, SIGABRT);
	pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &most, &old);
	err = pthread_create(&p->thread, &attr, run_thread, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (err == 0)
		(void)pthread_setname_np(p->thread, "uroce");
	return -err;
}

static void close_descriptors(struct roce_progress *p)
{
	if (p->epoll_fd >= 0)
		close(p->epoll_fd);
	if (p->timer_fd >= 0)
		close(p->timer_fd);
	if (p->stop_fd >= 0)
		close(p->stop_fd);
	p->epoll_fd = p->timer_fd = p->stop_fd = -1;
}

int roce_progress_start(struct roce_progress *p, struct roce_queue *queue, pthread_mutex_t *lock)
{
	int lease_fd = roce_lease_fd(queue->lease);
	int err;

	*p = (struct roce_progress){
		.lock = lock, .queue = queue, .is_armed = true, .timer_at = ROCE_NEVER};
	p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	p->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	p->stop_fd = eventfd(0, EFD_CLOEXEC);
	err = p->epoll_fd < 0 || p->timer_fd < 0 || p->stop_fd < 0 ? -errno : 0;
	if (!err)
		err = add(p, p->timer_fd, PROGRESS_TIMER);
	if (!err)
		err = add(p, p->stop_fd, PROGRESS_STOP);
	if (!err && lease_fd >= 0)
		err = add(p, lease_fd, PROGRESS_LEASE);
	if (!err)
		err = create_thread(p);
	if (err) {
		close_descriptors(p);
		return err;
	}
	p->is_started = true;
	return 0;
}

void roce_progress_stop(struct roce_progress *p)
{
	uint64_t one = 1;

	if (!p->is_started)
		return;
	if (write(p->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(p->thread, NULL);
	p->is_started = false;
	close_descriptors(p);
}

void roce_progress_abandon(struct roce_progress *p)
{
	if (!p->is_started)
		return;
	p->is_started = false;
	close_descriptors(p);
}
