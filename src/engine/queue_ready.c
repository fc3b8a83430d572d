/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which addresses of a queue have packets. A UD queue pair opens every address of its device, and
 * to ask each socket costs half a microsecond, at 16 addresses more than all the rest of a poll. So
 * with more than a few the sockets are also in an epoll set, which is asked instead: 0.2 us,
 * however many they are. With a few the set does not exist, since an arriving packet pays for being
 * in one. Whatever fails here leaves a queue without the set, which then asks everybody.
 */
#include "engine/queue.h"

#include <sys/epoll.h>
#include <unistd.h>

static void drop_set(struct roce_queue *q)
{
	if (q->ready_fd >= 0)
		close(q->ready_fd);
	q->ready_fd = -1;
}

static uint32_t count_open(const struct roce_queue *q)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < q->address_count; i++)
		count += q->addresses[i].use_count > 0;
	return count;
}

static bool enter(int set, const struct roce_queue *q, uint32_t place)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u32 = place};

	return epoll_ctl(set, EPOLL_CTL_ADD, q->addresses[place].io->fd, &e) == 0;
}

static void make_set(struct roce_queue *q)
{
	q->ready_fd = epoll_create1(EPOLL_CLOEXEC);
	for (uint32_t i = 0; i < q->address_count && q->ready_fd >= 0; i++)
		if (q->addresses[i].use_count && !enter(q->ready_fd, q, i))
			drop_set(q);
}

/* A wrapper that delays packets has some although its socket is quiet. */
void roce_queue_ready_add(struct roce_queue *q, const struct roce_queue_address *a)
{
	if (q->ready_fd >= 0) {
		if (!enter(q->ready_fd, q, (uint32_t)(a - q->addresses)))
			drop_set(q);
	} else if (!q->impair && count_open(q) > ROCE_QUEUE_ASKED_MAX) {
		make_set(q);
	}
}

void roce_queue_ready_remove(struct roce_queue *q, const struct roce_queue_address *a)
{
	if (q->ready_fd < 0)
		return;
	if (count_open(q) - 1 > ROCE_QUEUE_ASKED_MAX)
		(void)epoll_ctl(q->ready_fd, EPOLL_CTL_DEL, a->io->fd, NULL);
	else
		drop_set(q);
}

/* Not entered beside the old one: the daemon's copy would keep that in the set. */
void roce_queue_ready_renew(struct roce_queue *q)
{
	if (q->ready_fd < 0)
		return;
	drop_set(q);
	make_set(q);
}

void roce_queue_ready_abandon(struct roce_queue *q)
{
	drop_set(q);
}

uint32_t roce_queue_ready_list(const struct roce_queue *q, uint32_t *out_places)
{
	struct epoll_event events[ROCE_QUEUE_READY_MAX];
	int count = epoll_wait(q->ready_fd, events, ROCE_QUEUE_READY_MAX, 0);

	for (int i = 0; i < count; i++)
		out_places[i] = events[i].data.u32;
	return count > 0 ? (uint32_t)count : 0;
}
