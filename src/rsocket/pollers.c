/* SPDX-License-Identifier: BSD-2-Clause */
/* See pollers.h. An entry of the list lives in its thread's own storage, so entering never fails.
 */
#include "rsocket/pollers.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/list.h"

struct poller {
	struct roce_list link;
	int fd;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct roce_list pollers = {&pollers, &pollers};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static _Thread_local struct poller own = {.fd = -1};

static void close_own(void *unused)
{
	(void)unused;
	if (own.fd >= 0)
		close(own.fd);
	own.fd = -1;
}

static void make_key(void)
{
	pthread_key_create(&key, close_own);
}

int roce_rs_thread_eventfd(void)
{
	if (own.fd >= 0)
		return own.fd;
	own.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (own.fd < 0)
		return -errno;
	roce_list_init(&own.link);
	pthread_once(&once, make_key);
	pthread_setspecific(key, &own);
	return own.fd;
}

void roce_rs_eventfd_drain(int fd)
{
	uint64_t count;

	while (read(fd, &count, sizeof(count)) > 0)
		;
}

void roce_rs_eventfd_ring(int fd)
{
	uint64_t one = 1;

	/* EAGAIN: it is readable already. */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

void roce_rs_pollers_enter(int eventfd)
{
	roce_rs_eventfd_drain(eventfd);
	pthread_mutex_lock(&lock);
	roce_list_add_tail(&pollers, &own.link);
	pthread_mutex_unlock(&lock);
}

void roce_rs_pollers_leave(int eventfd)
{
	(void)eventfd;
	pthread_mutex_lock(&lock);
	roce_list_remove(&own.link);
	pthread_mutex_unlock(&lock);
}

void roce_rs_pollers_ring(void)
{
	struct roce_list *pos;

	pthread_mutex_lock(&lock);
	roce_list_for_each (pos, &pollers)
		roce_rs_eventfd_ring(roce_container_of(pos, struct poller, link)->fd);
	pthread_mutex_unlock(&lock);
}
