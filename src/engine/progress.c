/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program's side of progress: what its calls do for the network, and how they steer the thread
 * (progress_thread.c). Measured on two cores, polling ping-pong of 64 bytes, 99th percentile: 12 to
 * 15 us one way as it is, 19 to 27 us when each packet that was found armed the thread again. The
 * shape of ib_write_lat, where both sides poll for the completion and then spin on memory: 730 us
 * if nothing armed the thread with the completion.
 */
#include "engine/progress_internal.h"

#include "base/clock.h"

#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#define EMPTY_POLLS_TO_DISARM 4u
#define POLLS_OF_A_POLLER     4u /* a program that waits for events polls less between two waits */
#define YIELD_AFTER_NS	      (20 * ROCE_NS_PER_US)
#define POLLING_PAUSE_NS      ROCE_NS_PER_MS /* longer apart, polls are not a loop */
#define KICKS_DEFERRED_MAX    32u
#define SMALL_MESSAGE_BYTES   2048u
#define DRAIN_ROUNDS_MAX      16u

/* ---- steering ---- */

/* All sockets in one where the queue has a set of them (queue_ready.c). */
static void set_sockets(struct roce_progress *p, bool armed)
{
	struct roce_queue *q = p->queue;
	struct epoll_event e = {.events = armed ? EPOLLIN : 0, .data.u32 = PROGRESS_SOCKET};

	p->is_armed = armed;
	if (q->ready_fd >= 0) {
		(void)epoll_ctl(p->epoll_fd, EPOLL_CTL_MOD, q->ready_fd, &e);
		return;
	}
	for (uint32_t i = 0; i < q->address_count; i++) {
		if (q->addresses[i].use_count)
			(void)epoll_ctl(p->epoll_fd, EPOLL_CTL_MOD, q->addresses[i].io->fd, &e);
	}
}

void roce_progress_set_armed(struct roce_progress *p, bool armed)
{
	if (p->is_armed != armed)
		set_sockets(p, armed);
	p->polls_since_arming = 0;
}

int roce_progress_add_socket(struct roce_progress *p, int fd)
{
	struct epoll_event e = {.events = p->is_armed ? EPOLLIN : 0, .data.u32 = PROGRESS_SOCKET};

	if (p->queue->ready_fd >= 0)
		return 0;
	return epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

void roce_progress_remove_socket(struct roce_progress *p, int fd)
{
	if (p->queue->ready_fd < 0)
		(void)epoll_ctl(p->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void set_timer(struct roce_progress *p, roce_ns_t when)
{
	struct itimerspec t = {0};

	if (when == 0)
		when = 1; /* 0 would stop it */
	t.it_value.tv_sec = (time_t)(when / ROCE_NS_PER_S);
	t.it_value.tv_nsec = (long)(when % ROCE_NS_PER_S);
	if (timerfd_settime(p->timer_fd, TFD_TIMER_ABSTIME, &t, NULL) == 0)
		p->timer_at = when;
}

/* Only ever brings the timer forward; when it fires too early the thread sets it anew. Deadlines
 * mostly move away, so a stream of packets sets no timer. */
void roce_progress_wake_at(struct roce_progress *p, roce_ns_t when)
{
	if (when < p->timer_at)
		set_timer(p, when);
}

/* A program that polls runs the timers itself; should it stop, the next look comes soon enough. */
void roce_progress_wake_for_next(struct roce_progress *p, roce_ns_t now)
{
	roce_ns_t transport = roce_deadline(p->queue->transport);
	roce_ns_t queue = roce_queue_deadline(p->queue);

	if (p->is_watching)
		roce_progress_wake_at(p, now + PROGRESS_LOOK_NS);
	else
		roce_progress_wake_at(p, transport < queue ? transport : queue);
}

static void watch(struct roce_progress *p, roce_ns_t now)
{
	if (p->is_watching)
		return;
	p->is_watching = true;
	roce_progress_wake_for_next(p, now);
}

/* The look that finds the program at work would only disturb it: polls put it off in time. */
static void put_off_look(struct roce_progress *p, roce_ns_t now)
{
	if (p->is_watching && now + PROGRESS_LOOK_NS / 2 >= p->timer_at)
		set_timer(p, now + PROGRESS_LOOK_NS);
}

/* ---- work ---- */

/* Before a time-out is believed the sockets are drained: what proves it wrong may lie there. */
roce_ns_t roce_progress_run_timers(struct roce_progress *p, roce_ns_t now)
{
	if (now < roce_deadline(p->queue->transport))
		return now;
	for (uint32_t i = 0; i < DRAIN_ROUNDS_MAX && roce_queue_rx(p->queue, now) > 0; i++)
		now = roce_clock_now();
	if (now >= roce_deadline(p->queue->transport))
		roce_on_deadline(p->queue->transport, now);
	return now;
}

/* What does not leave with this call must not wait for one that may never come. */
static void watch_if_pending(struct roce_progress *p, roce_ns_t now)
{
	if (roce_tx_is_pending(p->queue->transport))
		watch(p, now);
}

static void transmit(struct roce_progress *p, roce_ns_t now)
{
	p->kick_count = 0;
	if (!roce_tx_is_pending(p->queue->transport))
		return;
	(void)roce_queue_tx(p->queue, now);
	watch_if_pending(p, now); /* more than the budget */
}

static void yield(struct roce_progress *p)
{
	p->queue->counters->engine.poll_yields++;
	pthread_mutex_unlock(p->lock);
	sched_yield();
	pthread_mutex_lock(p->lock);
}

/* What a poll found or not decides about the thread and the processor. */
static void on_polled(struct roce_progress *p, uint32_t found, roce_ns_t now)
{
	if (now - p->last_poll > POLLING_PAUSE_NS) {
		p->empty_count = 0;
		p->last_found = now;
	}
	p->last_poll = now;
	p->has_completion = false; /* until we hear of one */
	p->polls_since_arming++;
	if (++p->polls_since_blocking >= POLLS_OF_A_POLLER)
		p->is_polled = true;
	put_off_look(p, now);
	if (found) {
		p->empty_count = 0;
		p->last_found = now;
		return;
	}
	if (++p->empty_count < EMPTY_POLLS_TO_DISARM)
		return;
	if (p->is_armed) {
		p->queue->counters->engine.thread_disarms++;
		roce_progress_set_armed(p, false);
	}
	watch(p, now);
	if (now - p->last_found > YIELD_AFTER_NS)
		yield(p);
}

/* Called without program: after closing a queue pair, for instance. */
static void run_once(struct roce_progress *p)
{
	roce_ns_t now = roce_clock_now();

	(void)roce_queue_rx(p->queue, now);
	now = roce_progress_run_timers(p, now);
	transmit(p, now);
	roce_progress_wake_for_next(p, now);
}

void roce_progress_run(struct roce_progress *p, bool is_polling)
{
	roce_ns_t now;
	uint32_t found;

	if (!p->is_started)
		return;
	if (!is_polling) {
		run_once(p);
		return;
	}
	now = roce_clock_now();
	/* ACKs that the last call left behind, and what deferred posts wait for. What this call
	 * receives is answered by the next one, so that a completion reaches the program first. */
	transmit(p, now);
	found = roce_queue_rx(p->queue, now);
	now = roce_progress_run_timers(p, now);
	watch_if_pending(p, now);
	roce_progress_wake_for_next(p, now);
	on_polled(p, found, now);
}

/* A small message on a queue pair with data on its way need not go alone: the next call sends it
 * with those that follow. */
static bool may_defer(const struct roce_progress *p)
{
	const struct roce_qp *qp = roce_tx_last_ready(p->queue->transport);

	if (!qp || p->kick_count >= KICKS_DEFERRED_MAX || qp->sq.next == qp->sq.posted)
		return false;
	return !roce_psn_is_equal(qp->req.una, qp->req.next_psn) &&
	       roce_send_queue_at(&qp->sq, qp->sq.next)->length <= SMALL_MESSAGE_BYTES;
}

void roce_progress_kick(struct roce_progress *p)
{
	roce_ns_t now;

	if (!p->is_started || !roce_tx_is_pending(p->queue->transport))
		return;
	now = roce_clock_now();
	if (may_defer(p)) {
		p->kick_count++;
		p->queue->counters->engine.kicks_deferred++;
		watch(p, now);
		return;
	}
	transmit(p, now);
	roce_progress_wake_for_next(p, now);
}

void roce_progress_arm(struct roce_progress *p)
{
	roce_ns_t now;

	if (!p->is_started)
		return;
	now = roce_clock_now();
	transmit(p, now);
	/* A completion that it made may be held back by moderation. */
	roce_progress_wake_for_next(p, now);
	p->is_polled = false;
	p->polls_since_blocking = 0;
	p->empty_count = 0;
	roce_progress_set_armed(p, true);
}

void roce_progress_on_completions(struct roce_progress *p)
{
	if (!p->is_started)
		return;
	p->has_completion = true;
	if (p->eagerness >= ROCE_PROGRESS_EAGER && !p->is_armed) {
		p->empty_count = 0;
		roce_progress_set_armed(p, true);
	}
	if (!roce_tx_is_pending(p->queue->transport))
		return;
	p->queue->counters->engine.tx_held++;
	if (!p->is_watching)
		watch(p, roce_clock_now());
}
