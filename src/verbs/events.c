/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One token stands for "something waits". A getter takes it with read(), outside the lock, and puts
 * it back if more is left; whoever empties the list otherwise takes it back without blocking. If a
 * getter is between its read() and the lock at that moment, the token is his and he finds the list
 * empty: he starts over.
 */
#include "verbs/events.h"

#include "base/assert.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

static void put_token(struct roce_events *q)
{
	uint64_t one = 1;

	if (q->is_token_out || q->fd < 0)
		return;
	/* The count is 0 here, so this neither blocks nor fails. */
	if (write(q->fd, &one, sizeof(one)) == (ssize_t)sizeof(one))
		q->is_token_out = true;
}

/* Kernels whose eventfd does not know RWF_NOWAIT leave the descriptor readable until the next get,
 * which then starts over. */
static void take_token_back(struct roce_events *q)
{
	uint64_t value;
	struct iovec iov = {.iov_base = &value, .iov_len = sizeof(value)};

	if (q->is_token_out && preadv2(q->fd, &iov, 1, -1, RWF_NOWAIT) == (ssize_t)sizeof(value))
		q->is_token_out = false;
}

void roce_events_init_mute(struct roce_events *q)
{
	q->fd = -1;
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->acked, NULL);
	roce_list_init(&q->ready);
	q->is_token_out = false;
}

int roce_events_init(struct roce_events *q)
{
	int fd = eventfd(0, EFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	roce_events_init_mute(q);
	q->fd = fd;
	return 0;
}

void roce_events_fini(struct roce_events *q)
{
	if (q->fd >= 0)
		close(q->fd);
	q->fd = -1;
	pthread_cond_destroy(&q->acked);
	pthread_mutex_destroy(&q->lock);
}

void roce_event_source_init(struct roce_event_source *src, enum roce_event_owner kind, void *owner)
{
	*src = (struct roce_event_source){.kind = kind, .owner = owner};
	roce_list_init(&src->link);
}

static void post(struct roce_events *q, struct roce_event_source *src, uint32_t type)
{
	if (type == ROCE_EVENT_COUNTED)
		src->pending_count++;
	else
		src->pending_types |= 1u << type;
	if (roce_list_is_empty(&src->link))
		roce_list_add_tail(&q->ready, &src->link);
	put_token(q);
}

void roce_events_post(struct roce_events *q, struct roce_event_source *src, uint32_t type)
{
	pthread_mutex_lock(&q->lock);
	post(q, src, type);
	pthread_mutex_unlock(&q->lock);
}

void roce_events_post_state(struct roce_events *q, struct roce_event_source *src,
			    struct roce_event_source *opposite, uint32_t type)
{
	pthread_mutex_lock(&q->lock);
	if (src->pending_types && opposite->pending_types) {
		roce_list_remove(&opposite->link);
		opposite->pending_types = 0;
	} else {
		post(q, src, type);
	}
	pthread_mutex_unlock(&q->lock);
}

static struct roce_event_source *take_first(struct roce_events *q, uint32_t *out_type)
{
	struct roce_event_source *src;

	if (roce_list_is_empty(&q->ready))
		return NULL;
	src = roce_container_of(q->ready.next, struct roce_event_source, link);
	roce_list_remove(&src->link);
	if (src->pending_types) {
		*out_type = (uint32_t)__builtin_ctz(src->pending_types);
		src->pending_types &= src->pending_types - 1;
	} else {
		*out_type = ROCE_EVENT_COUNTED;
		src->pending_count--;
	}
	if (src->pending_types || src->pending_count)
		roce_list_add_tail(&q->ready, &src->link);
	src->delivered++;
	return src;
}

int roce_events_get(struct roce_events *q, struct roce_event_source **out_src, uint32_t *out_type)
{
	for (;;) {
		struct roce_event_source *src;
		uint64_t value;

		if (read(q->fd, &value, sizeof(value)) < 0)
			return -errno;
		pthread_mutex_lock(&q->lock);
		q->is_token_out = false;
		src = take_first(q, out_type);
		if (!roce_list_is_empty(&q->ready))
			put_token(q);
		pthread_mutex_unlock(&q->lock);
		if (src) {
			*out_src = src;
			return 0;
		}
	}
}

void roce_event_source_ack(struct roce_events *q, struct roce_event_source *src, uint32_t count)
{
	pthread_mutex_lock(&q->lock);
	src->acked += count;
	pthread_cond_broadcast(&q->acked);
	pthread_mutex_unlock(&q->lock);
}

void roce_event_source_retire(struct roce_events *q, struct roce_event_source *src)
{
	pthread_mutex_lock(&q->lock);
	roce_list_remove(&src->link);
	src->pending_types = 0;
	src->pending_count = 0;
	if (roce_list_is_empty(&q->ready))
		take_token_back(q);
	while (src->acked != src->delivered)
		pthread_cond_wait(&q->acked, &q->lock);
	pthread_mutex_unlock(&q->lock);
}
