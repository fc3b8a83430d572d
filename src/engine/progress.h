/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who moves packets: the program's own calls (poll_cq, post_send) where it makes them, a thread
 * where it does not. The thread blocks, never spins, and stands aside while the program polls,
 * since every wake-up of it would take the processor or the lock from a poll that is under way.
 *
 *   armed     the sockets are in the thread's epoll set: it wakes for each packet
 *   disarmed  they are not; a timer wakes it 0.2 to 0.4 ms after the last poll, and as polling has
 *             stopped it does the work and arms
 *
 * Four empty polls in a row disarm, and every now and then a poll puts the timer off, so a program
 * that polls is not interrupted at all. A program that is about to block (req_notify, get_cq_event)
 * arms at once.
 *
 * A program that polls for its completion and then goes to look at memory, or to compute, wants the
 * thread back with the completion. Arming with each one would wake the thread in the middle of a
 * ping-pong now and then, so it is learned: when the timer finds packets waiting and the program's
 * last poll had given it a completion, that speaks for arming with completions; a program that was
 * only taken off its processor in the middle of polling, and wake-ups that meet a polling program,
 * speak against it.
 *
 * The device's lock is held in every call but start and stop.
 */
#ifndef ROCE_ENGINE_PROGRESS_H
#define ROCE_ENGINE_PROGRESS_H

#include "engine/queue.h"

#include <pthread.h>
#include <stdbool.h>

#define ROCE_PROGRESS_EAGER	4u
#define ROCE_PROGRESS_EAGER_MAX 8u

struct roce_progress {
	pthread_mutex_t *lock; /* the device's */
	struct roce_queue *queue;
	pthread_t thread;
	bool is_started;
	int epoll_fd;
	int timer_fd;
	int stop_fd;

	bool is_armed;
	bool is_watching;     /* the thread's timer runs for the next look */
	bool is_polled;	      /* the program polls rather than waits for events */
	uint32_t empty_count; /* polls in a row that found nothing */
	uint32_t polls_since_arming;
	uint32_t polls_since_blocking;
	uint32_t eagerness;  /* learned; from ROCE_PROGRESS_EAGER on completions arm */
	bool has_completion; /* the last poll gave one */
	uint32_t kick_count; /* posts that wait in a batch */
	roce_ns_t timer_at;  /* what timer_fd is set to, ROCE_NEVER if not */
	roce_ns_t last_poll;
	roce_ns_t last_found; /* when a poll last found something, or polling began */
};

/* 0 or -errno; the thread runs from here on. */
int roce_progress_start(struct roce_progress *p, struct roce_queue *queue, pthread_mutex_t *lock);
/* Ends the thread; called without the lock. */
void roce_progress_stop(struct roce_progress *p);
/* In a forked child, where there is no thread: closes the descriptors. */
void roce_progress_abandon(struct roce_progress *p);

/* A descriptor of an address that was opened; -errno if it cannot be waited for. */
int roce_progress_add_socket(struct roce_progress *p, int fd);
/* Before it is closed: the daemon has a copy of the socket, so closing ours alone would leave it in
 * the epoll set, where it wakes the thread for packets that nobody can take. */
void roce_progress_remove_socket(struct roce_progress *p, int fd);
/* Another socket took the place of an address's: the old one cannot be named any more, so the set
 * is made anew. */
void roce_progress_renew(struct roce_progress *p);

/* The calls of struct roce_device_env. */
void roce_progress_run(struct roce_progress *p, bool is_polling);
void roce_progress_kick(struct roce_progress *p);
void roce_progress_arm(struct roce_progress *p);
void roce_progress_on_completions(struct roce_progress *p);

#endif
