/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device with many open addresses: a poll asks those that have something and no others, on
 * whichever address it came, while addresses are opened, closed and their sockets replaced.
 */
#include "two_ends.h"

#include "base/clock.h"
#include "engine/engine_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MORE 16u /* addresses beside the queue pair's own */

static uint32_t asked;
static struct roce_pktio_ops counting;
static uint32_t (*real_rx)(struct roce_pktio *io, struct roce_pktio_rx *batches, uint32_t max);

static uint32_t count_rx(struct roce_pktio *io, struct roce_pktio_rx *batches, uint32_t max)
{
	asked++;
	return real_rx(io, batches, max);
}

static struct roce_gid address(uint32_t i)
{
	return (struct roce_gid){{[10] = 0xff, 0xff, 127, 0, 1, (uint8_t)(i + 1)}};
}

static struct roce_queue_address *place_of(struct end *e, const struct roce_gid *gid)
{
	struct roce_queue *q = &e->engine->queue;

	for (uint32_t i = 0; i < q->address_count; i++)
		if (q->addresses[i].use_count && roce_gid_is_equal(&q->addresses[i].gid, gid))
			return &q->addresses[i];
	fail();
	return NULL;
}

static void open_one(struct end *e, uint32_t i)
{
	struct roce_device *dev = roce_engine_device(e->engine);
	struct roce_gid gid = address(i);

	assert_int_equal(dev->env->open_address(dev->env_ctx, &gid), 0);
}

static void close_one(struct end *e, uint32_t i)
{
	struct roce_device *dev = roce_engine_device(e->engine);
	struct roce_gid gid = address(i);

	dev->env->close_address(dev->env_ctx, &gid);
}

static void count_asking(struct end *e)
{
	struct roce_queue *q = &e->engine->queue;

	for (uint32_t i = 0; i < q->address_count; i++) {
		struct roce_queue_address *a = &q->addresses[i];

		if (!a->use_count || a->io->ops == &counting)
			continue;
		counting = *a->io->ops;
		real_rx = counting.rx;
		counting.rx = count_rx;
		a->io->ops = &counting;
	}
}

/* How many sockets one call asks. */
static uint32_t ask(struct end *e)
{
	asked = 0;
	(void)roce_queue_rx(&e->engine->queue, roce_clock_now());
	return asked;
}

/* One byte, which is too short for a packet and counted as such. */
static void send_to(struct end *e, const struct roce_gid *gid)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT)};
	struct pollfd readable = {.fd = place_of(e, gid)->io->fd, .events = POLLIN};
	int sender = socket(AF_INET, SOCK_DGRAM, 0);

	memcpy(&to.sin_addr, gid->raw + 12, 4);
	assert_int_equal(sendto(sender, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)), 1);
	close(sender);
	assert_int_equal(poll(&readable, 1, 60000), 1);
}

static void expect_from(struct end *e, uint32_t i)
{
	const struct roce_gid gid = address(i);
	const struct roce_shared_counters *c;
	uint64_t before;
	int unused;

	c = roce_engine_counters(e->engine, &unused);
	before = c->engine.rx_too_short;
	send_to(e, &gid);
	(void)ask(e);
	assert_int_equal(c->engine.rx_too_short, before + 1);
}

/* The lock keeps the thread away. */
static void poll_many(struct end *e, int fd)
{
	struct roce_device *dev = roce_engine_device(e->engine);

	pthread_mutex_lock(&dev->lock);
	count_asking(e);
	assert_int_equal(ask(e), 1); /* the queue pair's own, without a system call more */
	for (uint32_t i = 0; i < MORE; i++)
		open_one(e, i);
	count_asking(e);
	assert_int_equal(ask(e), 0);
	for (uint32_t i = 0; i < MORE; i++) {
		expect_from(e, i);
		assert_int_equal(asked, 1);
	}
	assert_int_equal(ask(e), 0);
	/* More than are asked at once have something: one after the other has its turn. */
	for (uint32_t i = 0; i < MORE; i++) {
		const struct roce_gid gid = address(i);

		send_to(e, &gid);
	}
	send_to(e, &e->own.gid);
	assert_int_equal(ask(e), ROCE_QUEUE_READY_MAX);
	assert_in_range(ask(e), 1, ROCE_QUEUE_READY_MAX);
	assert_int_equal(ask(e), 0);
	pthread_mutex_unlock(&dev->lock);
	end_meet(fd);
}

static void addresses__those_with_packets_are_asked(void **state)
{
	(void)state;
	two_ends_run(poll_many, two_ends_stay_passive, (struct two_ends_options){0});
}

#define GONE 3u

/* The daemon holds a copy of each leased socket, as this does here: what is closed is asked no
 * more. */
static void close_and_open(struct end *e, int fd)
{
	struct roce_device *dev = roce_engine_device(e->engine);
	const struct roce_gid gone = address(GONE);
	uint32_t left = MORE;
	int copy;

	pthread_mutex_lock(&dev->lock);
	for (uint32_t i = 0; i < MORE; i++)
		open_one(e, i);
	copy = dup(place_of(e, &gone)->io->fd);
	send_to(e, &gone);
	close_one(e, GONE);
	count_asking(e);
	assert_int_equal(ask(e), 0);
	close(copy);
	open_one(e, GONE);
	for (uint32_t i = 0; i < MORE; i++)
		expect_from(e, i);
	while (left > 1) {
		close_one(e, --left);
		expect_from(e, left - 1);
	}
	assert_int_equal(e->engine->queue.ready_fd, -1);
	close_one(e, 0);
	pthread_mutex_unlock(&dev->lock);
	end_meet(fd);
}

static void addresses__closed_and_opened(void **state)
{
	(void)state;
	two_ends_run(close_and_open, two_ends_stay_passive, (struct two_ends_options){0});
}

/* A damaged socket is replaced under its number. */
static void replace_one(struct end *e, int fd)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT)};
	struct roce_device *dev = roce_engine_device(e->engine);
	const struct roce_gid gid = address(GONE);
	struct roce_queue_address *a;
	int renewed = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	int old;

	pthread_mutex_lock(&dev->lock);
	for (uint32_t i = 0; i < MORE; i++)
		open_one(e, i);
	a = place_of(e, &gid);
	old = dup(a->io->fd);
	send_to(e, &gid); /* the old one has something, and another holds it */
	memcpy(&at.sin_addr, (const uint8_t[]){127, 0, 2, 1}, 4);
	assert_int_equal(bind(renewed, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(dup2(renewed, a->io->fd), a->io->fd);
	roce_queue_renew(&e->engine->queue, a);
	count_asking(e);
	assert_int_equal(ask(e), 0);
	{
		struct roce_gid there = {{[10] = 0xff, 0xff, 127, 0, 2, 1}};

		a->gid = there;
		send_to(e, &there);
		a->gid = gid;
	}
	assert_int_equal(ask(e), 1);
	close(old);
	close(renewed);
	for (uint32_t i = 0; i < MORE; i++)
		close_one(e, i);
	pthread_mutex_unlock(&dev->lock);
	end_meet(fd);
}

static void addresses__replaced(void **state)
{
	(void)state;
	two_ends_run(replace_one, two_ends_stay_passive, (struct two_ends_options){0});
}

/* The thread serves a program that sleeps, whatever it waits on while addresses come and go. */
static void sleep_beside(struct end *e, int fd)
{
	struct roce_device *dev = roce_engine_device(e->engine);

	end_meet(fd);
	for (uint32_t i = 0; i < MORE; i++) {
		pthread_mutex_lock(&dev->lock);
		open_one(e, i);
		pthread_mutex_unlock(&dev->lock);
		end_meet(fd); /* the peer reads our memory */
		end_meet(fd);
	}
	for (uint32_t i = 0; i < MORE; i++) {
		pthread_mutex_lock(&dev->lock);
		close_one(e, i);
		pthread_mutex_unlock(&dev->lock);
		end_meet(fd);
		end_meet(fd);
	}
}

static void read_again_and_again(struct end *e, int fd)
{
	end_meet(fd);
	for (uint32_t i = 0; i < 2 * MORE; i++) {
		end_meet(fd);
		assert_int_equal(end_post(e, ROCE_WR_RDMA_READ, 1, 0, 4096, ROCE_SEND_SIGNALED),
				 ROCE_POST_OK);
		two_ends_expect(e, ROCE_WC_SUCCESS);
		end_meet(fd);
	}
}

static void addresses__the_thread_serves(void **state)
{
	(void)state;
	two_ends_run(sleep_beside, read_again_and_again, (struct two_ends_options){0});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses__those_with_packets_are_asked),
		cmocka_unit_test(addresses__closed_and_opened),
		cmocka_unit_test(addresses__replaced),
		cmocka_unit_test(addresses__the_thread_serves),
	};

	return cmocka_run_group_tests(tests, two_ends_enter_namespace, NULL);
}
