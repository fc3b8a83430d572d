/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event channels. The descriptor is an eventfd that is readable exactly while events are queued: a
 * program polls it and sets O_NONBLOCK on it; nobody but us reads it, and only with cm_lock held,
 * so that such a read never blocks. Who waits in rdma_get_cm_event sleeps on a futex instead,
 * because that sleep is interrupted or restarted by signals just as a blocking call of the kernel
 * is.
 *
 * A channel that is destroyed while somebody waits in it keeps its memory and never wakes him: the
 * real library does so too, and programs have come to end while a thread sits there. Those that
 * were destroyed last stay allocated for a while in any case, for the thread that is just about to
 * wait.
 */
#include "compat/librdmacm/rdmacm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEAD_MAX 256

static struct roce_list dead = {&dead, &dead};
static unsigned dead_count;

static long futex(uint32_t *word, int op, uint32_t value)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

struct cm_channel *cm_channel_create(void)
{
	struct cm_channel *ch = calloc(1, sizeof(*ch));

	if (!ch)
		return NULL;
	ch->channel.fd = eventfd(0, EFD_CLOEXEC);
	if (ch->channel.fd < 0) {
		free(ch);
		return NULL;
	}
	roce_list_init(&ch->events);
	roce_list_init(&ch->dead_link);
	return ch;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct cm_channel *ch;
	int error = cm_library_init();

	if (error) {
		errno = -error;
		return NULL;
	}
	ch = cm_channel_create();
	return ch ? &ch->channel : NULL;
}

/* Frees the oldest of the dead in which nobody waits. */
static void bury_oldest(void)
{
	struct roce_list *pos;

	roce_list_for_each (pos, &dead) {
		struct cm_channel *ch = roce_container_of(pos, struct cm_channel, dead_link);

		if (ch->waiters)
			continue;
		roce_list_remove(&ch->dead_link);
		dead_count--;
		free(ch);
		return;
	}
}

void cm_channel_destroy(struct cm_channel *ch)
{
	struct roce_list *pos, *tmp;

	pthread_mutex_lock(&cm_lock);
	ch->is_destroyed = true;
	roce_list_for_each_safe (pos, tmp, &ch->events) {
		roce_list_remove(pos);
		free(roce_container_of(pos, struct cm_event, link));
	}
	close(ch->channel.fd);
	roce_list_add_tail(&dead, &ch->dead_link);
	if (++dead_count > DEAD_MAX)
		bury_oldest();
	pthread_mutex_unlock(&cm_lock);
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	cm_channel_destroy(cm_channel_of(channel));
}

void cm_channel_push(struct cm_channel *ch, struct cm_event *ev)
{
	roce_list_add_tail(&ch->events, &ev->link);
	eventfd_write(ch->channel.fd, 1);
	__atomic_add_fetch(&ch->wake, 1, __ATOMIC_RELAXED);
	if (ch->waiters)
		futex(&ch->wake, FUTEX_WAKE, 1);
}

/* After the queue has become shorter. */
static void settle_descriptor(struct cm_channel *ch)
{
	eventfd_t count;

	if (roce_list_is_empty(&ch->events))
		eventfd_read(ch->channel.fd, &count);
}

void cm_channel_take(struct cm_channel *ch, const struct cm_id *id, const struct cm_group *group,
		     struct roce_list *out)
{
	struct roce_list *pos, *tmp;
	bool is_taken = false;

	roce_list_for_each_safe (pos, tmp, &ch->events) {
		struct cm_event *ev = roce_container_of(pos, struct cm_event, link);

		if (ev->id != id || (group && ev->group != group))
			continue;
		roce_list_remove(pos);
		roce_list_add_tail(out, pos);
		is_taken = true;
	}
	if (is_taken)
		settle_descriptor(ch);
}

static void on_cancelled(void *arg)
{
	struct cm_channel *ch = arg;

	pthread_mutex_lock(&cm_lock);
	ch->waiters--;
	pthread_mutex_unlock(&cm_lock);
}

/* 0, or the errno. A blocking call, so a point where a thread may be cancelled. */
static int sleep_on(struct cm_channel *ch, uint32_t seen)
{
	int before, error;

	pthread_cleanup_push(on_cancelled, ch);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
	error = futex(&ch->wake, FUTEX_WAIT, seen) < 0 ? errno : 0;
	pthread_setcanceltype(before, &before);
	pthread_cleanup_pop(0);
	return error;
}

/* With cm_lock, which is released meanwhile. 0 when it makes sense to look again. */
static int wait_event(struct cm_channel *ch)
{
	int flags = fcntl(ch->channel.fd, F_GETFL);
	uint32_t seen = ch->wake;
	int error;

	if (flags < 0)
		return -errno;
	if (flags & O_NONBLOCK)
		return -EAGAIN;
	ch->waiters++;
	pthread_mutex_unlock(&cm_lock);
	error = sleep_on(ch, seen);
	pthread_mutex_lock(&cm_lock);
	ch->waiters--;
	return error == EINTR ? -EINTR : 0;
}

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

int cm_channel_pop(struct cm_channel *ch, struct cm_event **out)
{
	struct cm_event *ev;
	int error = 0;

	pthread_mutex_lock(&cm_lock);
	while (!ch->is_destroyed && roce_list_is_empty(&ch->events) && !error)
		error = wait_event(ch);
	if (ch->is_destroyed) {
		ch->waiters++; /* it stays allocated */
		pthread_mutex_unlock(&cm_lock);
		wait_for_ever();
	}
	if (error) {
		pthread_mutex_unlock(&cm_lock);
		return error;
	}
	ev = roce_container_of(ch->events.next, struct cm_event, link);
	roce_list_remove(&ev->link);
	settle_descriptor(ch);
	/* More than one may wait, and one event wakes one. */
	if (!roce_list_is_empty(&ch->events) && ch->waiters)
		futex(&ch->wake, FUTEX_WAKE, 1);
	ev->id->unacked++;
	if (ev->group)
		ev->group->unacked++;
	pthread_mutex_unlock(&cm_lock);
	*out = ev;
	return 0;
}
