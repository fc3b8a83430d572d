/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The progress thread beside a program that polls, waits, watches memory or does nothing: who does
 * the work, what the other notices of it, and which sockets call the thread. On real sockets.
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

static void poll_for_a_while(struct end *e, int fd)
{
	const struct roce_shared_counters *c;
	roce_ns_t now = roce_clock_now();
	uint64_t wakes, pauses = 0;
	int unused;
	struct roce_cqe cqe;

	c = roce_engine_counters(e->engine, &unused);
	for (roce_ns_t end = now + TWO_ENDS_PATIENCE; !c->engine.thread_disarms && now < end;
	     now = roce_clock_now())
		assert_int_equal(roce_verbs_cq_poll(&e->cq, &cqe, 1), 0);
	assert_true(c->engine.thread_disarms > 0); /* now it counts as polling */
	wakes = c->engine.thread_wakes;
	for (roce_ns_t end = now + 200 * ROCE_NS_PER_MS; now < end;) {
		roce_ns_t last = now;

		assert_int_equal(roce_verbs_cq_poll(&e->cq, &cqe, 1), 0);
		now = roce_clock_now();
		pauses += now - last > 200 * ROCE_NS_PER_US;
	}
	/* A look each 0.4 ms would be 500. One is right where the machine let us not poll. */
	assert_in_range(c->engine.thread_wakes - wakes, 0, 250 + 2 * pauses);
	end_meet(fd); /* here polling stops, and the other side reads our memory */
	end_meet(fd);
}

static void read_after_polling(struct end *e, int fd)
{
	end_meet(fd);
	assert_int_equal(end_post(e, ROCE_WR_RDMA_READ, 1, 0, 4096, ROCE_SEND_SIGNALED),
			 ROCE_POST_OK);
	two_ends_expect(e, ROCE_WC_SUCCESS);
	end_meet(fd);
}

static void thread__stands_aside_and_comes_back(void **state)
{
	(void)state;
	two_ends_skip_under_tsan();
	two_ends_run(poll_for_a_while, read_after_polling, (struct two_ends_options){0});
}

#define SPIN_ROUNDS  300u
#define SPIN_WINDOWS 30u

/* The shape of ib_write_lat: write, poll for the completion, then look at memory only. */
static void spin(struct end *e, bool is_first)
{
	const volatile uint8_t *in = e->buffer;

	for (uint32_t i = 1; i <= SPIN_ROUNDS; i++) {
		if (!is_first) {
			while (*in != (uint8_t)i)
				;
		}
		e->buffer[64] = (uint8_t)i;
		end_post_to(e, ROCE_WR_RDMA_WRITE, 64, 0, 1);
		two_ends_expect(e, ROCE_WC_SUCCESS);
		if (is_first) {
			while (*in != (uint8_t)i)
				;
		}
	}
}

/* It is learned that completions must arm the thread: lateness is no longer the rule. A machine
 * with other work makes some rounds late, and in bad moments most: it gets more of them. */
static void spin_on_memory(struct end *e, int fd, bool is_first)
{
	const struct roce_shared_counters *c;
	bool is_learned = false, others = false;
	uint64_t before;
	int unused;

	c = roce_engine_counters(e->engine, &unused);
	for (uint32_t i = 0; i < SPIN_WINDOWS && !(is_learned && others); i++) {
		before = c->engine.thread_late;
		spin(e, is_first);
		is_learned = is_learned || c->engine.thread_late - before <= SPIN_ROUNDS * 2 / 3;
		end_exchange(fd, &is_learned, &others, sizeof(others));
		e->buffer[0] = 0; /* as before the first round */
		end_meet(fd);
	}
	assert_true(is_learned);
	end_meet(fd);
}

static void spin_first(struct end *e, int fd)
{
	spin_on_memory(e, fd, true);
}

static void spin_second(struct end *e, int fd)
{
	spin_on_memory(e, fd, false);
}

static void thread__learns_that_memory_is_watched(void **state)
{
	(void)state;
	two_ends_skip_under_tsan();
	two_ends_run(spin_first, spin_second, (struct two_ends_options){0});
}

static int rx_fd_of(const struct end *e)
{
	return e->engine->queue.addresses[0].io->fd;
}

/* Polls once, which takes the peer's request off the socket, and never again: the answer must not
 * wait for a poll that does not come. The lock keeps the thread from being faster. */
static void poll_once(struct end *e, int fd)
{
	struct roce_device *dev = roce_engine_device(e->engine);
	struct pollfd readable = {.fd = rx_fd_of(e), .events = POLLIN};

	pthread_mutex_lock(&dev->lock);
	assert_false(e->engine->progress.is_watching);
	end_meet(fd);
	assert_int_equal(poll(&readable, 1, 60000), 1);
	dev->env->progress(dev->env_ctx, true);
	assert_true(roce_tx_is_pending(&dev->transport));
	assert_true(e->engine->progress.is_watching);
	pthread_mutex_unlock(&dev->lock);
	end_meet(fd);
}

static void thread__sends_what_a_last_poll_owes(void **state)
{
	(void)state;
	two_ends_run(poll_once, read_after_polling, (struct two_ends_options){0});
}

/* The daemon holds a copy of each leased socket, as this does here. */
static void close_a_shared_socket(struct end *e, int fd)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT)};
	struct roce_device *dev = roce_engine_device(e->engine);
	int copy = dup(rx_fd_of(e));
	int sender = socket(AF_INET, SOCK_DGRAM, 0);
	const struct roce_shared_counters *c;
	uint64_t wakes;
	int unused;

	c = roce_engine_counters(e->engine, &unused);
	pthread_mutex_lock(&dev->lock);
	dev->env->close_address(dev->env_ctx, &e->own.gid);
	pthread_mutex_unlock(&dev->lock);
	wakes = c->engine.thread_wakes;
	memcpy(&to.sin_addr, e->own.gid.raw + 12, 4);
	assert_int_equal(sendto(sender, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)), 1);
	usleep(20000);
	assert_in_range(c->engine.thread_wakes - wakes, 0, 2);
	close(sender);
	close(copy);
	end_meet(fd);
}

static void thread__forgets_a_closed_address(void **state)
{
	(void)state;
	two_ends_skip_under_tsan();
	two_ends_run(close_a_shared_socket, two_ends_stay_passive, (struct two_ends_options){0});
}

static void send_byte_to(const char *address)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT)};
	int sender = socket(AF_INET, SOCK_DGRAM, 0);

	inet_pton(AF_INET, address, &to.sin_addr);
	assert_int_equal(sendto(sender, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)), 1);
	close(sender);
	usleep(20000);
}

/* A damaged socket is replaced under its number; whoever else holds the old one must not make it
 * call the thread again and again. (The new one is at another address here, to tell them apart.) */
static void replace_the_socket(struct end *e, int fd)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT)};
	struct roce_device *dev = roce_engine_device(e->engine);
	const volatile uint64_t *too_short;
	int old = dup(rx_fd_of(e));
	int renewed = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	const struct roce_shared_counters *c;
	uint64_t wakes;
	int unused;

	c = roce_engine_counters(e->engine, &unused);
	too_short = &c->engine.rx_too_short;
	inet_pton(AF_INET, "127.0.0.3", &at.sin_addr);
	assert_int_equal(bind(renewed, (struct sockaddr *)&at, sizeof(at)), 0);
	pthread_mutex_lock(&dev->lock);
	assert_int_equal(dup2(renewed, rx_fd_of(e)), rx_fd_of(e));
	roce_pktio_renew(e->engine->queue.addresses[0].io);
	roce_progress_renew(&e->engine->progress);
	pthread_mutex_unlock(&dev->lock);
	send_byte_to("127.0.0.1"); /* the thread leaves the old set with this one */
	wakes = c->engine.thread_wakes;
	send_byte_to("127.0.0.1");
	assert_in_range(c->engine.thread_wakes - wakes, 0, 2);
	assert_int_equal(c->engine.rx_too_short, 0);
	send_byte_to("127.0.0.3");
	for (uint32_t i = 0; i < 6000 && *too_short == 0; i++)
		usleep(10000);
	assert_int_equal(*too_short, 1);
	close(old);
	close(renewed);
	end_meet(fd);
}

static void thread__follows_a_replaced_socket(void **state)
{
	(void)state;
	two_ends_skip_under_tsan();
	two_ends_run(replace_the_socket, two_ends_stay_passive, (struct two_ends_options){0});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread__stands_aside_and_comes_back),
		cmocka_unit_test(thread__learns_that_memory_is_watched),
		cmocka_unit_test(thread__sends_what_a_last_poll_owes),
		cmocka_unit_test(thread__forgets_a_closed_address),
		cmocka_unit_test(thread__follows_a_replaced_socket),
	};

	return cmocka_run_group_tests(tests, two_ends_enter_namespace, NULL);
}
