/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a sleeping thread is woken when another one has done what it waits for: each thread has an
 * eventfd of its own, and those in rpoll() are on one list. A socket rings only when somebody polls
 * it (poller_count).
 */
#ifndef ROCE_RSOCKET_POLLERS_H
#define ROCE_RSOCKET_POLLERS_H

/* The calling thread's eventfd, made at the first call; -errno. */
int roce_rs_thread_eventfd(void);
/* Makes it unreadable. */
void roce_rs_eventfd_drain(int fd);
void roce_rs_eventfd_ring(int fd);

/* The calling thread sleeps in rpoll() from now, until _leave(). */
void roce_rs_pollers_enter(int eventfd);
void roce_rs_pollers_leave(int eventfd);
void roce_rs_pollers_ring(void);

#endif
