/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The progress thread. It sleeps in epoll_wait() until a socket (while armed), the timer, the
 * daemon's connection or the end calls it, decides with the lock held whether the program is at
 * work, and if not does one round of everything.
 */
#include "engine/progress_internal.h"

#include "base/clock.h"
#include "engine/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS_MAX	   8
#define ROUNDS_MAX	   64u
#define ANSWER_PAUSES	   50u
#define POLLED_JUST_NOW_NS (20 * ROCE_NS_PER_US)

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
	__asm__ volatile("" ::: "memory");
}

/* What was received may be what the program watches memory for: its answer should leave first, and
 * take the ACK along. About a microsecond for a program that polls between; one that waits for
 * events is only just being woken. ib_write_lat: 5.5 us so, 25 to 35 us when the lock is kept. */
static void let_program_answer(struct roce_progress *p)
{
	uint32_t pauses = p->is_polled ? ANSWER_PAUSES : 0;

	pthread_mutex_unlock(p->lock);
	while (pauses--)
		relax();
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
		if (received) {
			let_program_answer(p);
			now = roce_clock_now(); /* the program may have been here meanwhile */
		}
		now = roce_progress_run_timers(p, now);
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
	roce_progress_set_armed(p, false);
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
	roce_progress_set_armed(p, true);
}

static void on_wake(struct roce_progress *p, bool is_timer)
{
	roce_ns_t now = roce_clock_now();
	bool is_look = is_timer && p->is_watching;

	p->queue->counters->engine.thread_wakes++;
	if (is_timer)
		p->timer_at = ROCE_NEVER;
	if (is_program_at_work(p, is_look, now)) {
		stand_aside(p);
	} else {
		take_over(p);
		/* More than ROUNDS_MAX: let others in, go on. */
		if (roce_tx_is_pending(p->queue->transport))
			roce_progress_wake_at(p, now);
	}
	roce_progress_wake_for_next(p, now);
}

static void *run_thread(void *arg)
{
	struct roce_progress *p = arg;

	for (;;) {
		struct epoll_event events[EVENTS_MAX];
		bool is_timer = false;
		bool is_lease = false;
		int epoll_fd = __atomic_load_n(&p->epoll_fd, __ATOMIC_ACQUIRE);
		int count = epoll_wait(epoll_fd, events, EVENTS_MAX, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.u32 == PROGRESS_STOP)
				return NULL;
			is_timer |= events[i].data.u32 == PROGRESS_TIMER;
			is_lease |= events[i].data.u32 == PROGRESS_LEASE;
		}
		if (count <= 0)
			continue;
		pthread_mutex_lock(p->lock);
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

static int add(int epoll_fd, int fd, enum progress_source source, bool is_armed)
{
	struct epoll_event e = {.events = is_armed ? EPOLLIN : 0, .data.u32 = source};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
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

static int create_epoll(const struct roce_progress *p, int *out)
{
	const struct roce_queue *q = p->queue;
	int lease_fd = roce_lease_fd(q->lease);
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	int err;

	if (epoll_fd < 0)
		return -errno;
	err = add(epoll_fd, p->timer_fd, PROGRESS_TIMER, true);
	if (!err)
		err = add(epoll_fd, p->stop_fd, PROGRESS_STOP, true);
	if (!err && lease_fd >= 0)
		err = add(epoll_fd, lease_fd, PROGRESS_LEASE, true);
	if (!err && q->ready_fd >= 0)
		err = add(epoll_fd, q->ready_fd, PROGRESS_SOCKET, p->is_armed);
	for (uint32_t i = 0; i < q->address_count && !err && q->ready_fd < 0; i++) {
		if (q->addresses[i].use_count)
			err = add(epoll_fd, q->addresses[i].io->fd, PROGRESS_SOCKET, p->is_armed);
	}
	if (err)
		close(epoll_fd);
	else
		*out = epoll_fd;
	return err;
}

int roce_progress_start(struct roce_progress *p, struct roce_queue *queue, pthread_mutex_t *lock)
{
	int err;

	*p = (struct roce_progress){.lock = lock,
				    .queue = queue,
				    .is_armed = true,
				    .epoll_fd = -1,
				    .timer_at = ROCE_NEVER};
	p->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	p->stop_fd = eventfd(0, EFD_CLOEXEC);
	err = p->timer_fd < 0 || p->stop_fd < 0 ? -errno : create_epoll(p, &p->epoll_fd);
	if (!err)
		err = roce_thread_create(&p->thread, "uroce", run_thread, p);
	if (err) {
		close_descriptors(p);
		return err;
	}
	p->is_started = true;
	return 0;
}

void roce_progress_renew(struct roce_progress *p)
{
	int old = p->epoll_fd;
	int renewed;

	if (!p->is_started || create_epoll(p, &renewed) < 0)
		return;
	/* The thread may wait in the old set, of which sockets may have gone: the timer, which is
	 * in both, calls it out. */
	__atomic_store_n(&p->epoll_fd, renewed, __ATOMIC_RELEASE);
	close(old);
	roce_progress_wake_at(p, roce_clock_now());
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
