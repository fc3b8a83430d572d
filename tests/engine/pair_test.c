/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine on real sockets: two processes on the loopback of a network namespace of the test's
 * own, each alone at an address (no daemon). Data is compared byte by byte.
 */
#include "end.h"

#include "base/clock.h"
#include "engine/engine_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUFFER_BYTES (4u << 20)
#define PATIENCE     (10 * ROCE_NS_PER_S)
#define V4_FIRST     0 /* GID indexes of the two ends */
#define V4_SECOND    1
#define V6_FIRST     2
#define V6_SECOND    3

static bool has_namespace;

/* It wants the fault signals for itself, and takes memory and counters that are watched for races.
 */
static void skip_under_thread_sanitizer(void)
{
#ifdef __SANITIZE_THREAD__
	skip();
#endif
}

static int enter_namespace(void **state)
{
	(void)state;
	setenv("UROCE_DAEMON", "off", 1);
	setenv("UROCE_ACK_TIMEOUT_FLOOR_US", "20000", 1);
	has_namespace =
		(unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) &&
		system("ip link set lo up && ip addr add 127.0.0.2/8 dev lo && "
		       "ip addr add fd00::2/128 dev lo nodad") == 0;
	return 0;
}

typedef void end_fn(struct end *e, int fd);

static struct end_config config(bool is_second, bool is_v6, bool has_events)
{
	return (struct end_config){
		.ifindex = if_nametoindex("lo"),
		.gid_index = is_v6 ? (is_second ? V6_SECOND : V6_FIRST)
				   : (is_second ? V4_SECOND : V4_FIRST),
		.mtu = 5,
		.depth = 64,
		.buffer_bytes = BUFFER_BYTES,
		.has_events = has_events,
		.timeout = 10,
		.retry_count = 7,
	};
}

struct pair_options {
	bool is_v6;
	bool has_events;
	bool second_is_killed;
	bool is_on_demand; /* both regions */
};

/* `second` runs in a child and must end with status 0. */
static void run_pair(end_fn *first, end_fn *second, struct pair_options options)
{
	static struct end e;
	struct end_config cfg;
	int fds[2];
	int status;
	pid_t child;

	if (!has_namespace)
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		alarm(60);
		close(fds[0]);
		cfg = config(true, options.is_v6, options.has_events);
		cfg.is_on_demand = options.is_on_demand;
		end_open(&e, &cfg, fds[1]);
		second(&e, fds[1]);
		end_close(&e);
		_exit(0);
	}
	close(fds[1]);
	cfg = config(false, options.is_v6, options.has_events);
	cfg.is_on_demand = options.is_on_demand;
	end_open(&e, &cfg, fds[0]);
	first(&e, fds[0]);
	end_close(&e);
	close(fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (options.second_is_killed)
		assert_true(WIFSIGNALED(status));
	else
		assert_int_equal(status, 0);
}

static void expect(struct end *e, uint8_t status)
{
	struct roce_cqe cqe;

	assert_true(end_poll(e, &cqe, PATIENCE));
	assert_int_equal(cqe.status, status);
}

static void fill(uint8_t *at, size_t length, uint32_t salt)
{
	for (size_t i = 0; i < length; i++)
		at[i] = (uint8_t)((i * 2654435761u + salt) >> 13);
}

static void check_filled(const uint8_t *at, size_t length, uint32_t salt)
{
	for (size_t i = 0; i < length; i++)
		assert_int_equal(at[i], (uint8_t)((i * 2654435761u + salt) >> 13));
}

/* The second end does nothing at all until it is told: the thread serves it. */
static void stay_passive(struct end *e, int fd)
{
	(void)e;
	end_meet(fd);
}

/* ---- data ---- */

static const uint32_t sizes[] = {0, 1,	2,    3,    4,	  5,	 6,	7,
				 8, 63, 4095, 4096, 4097, 65536, 65537, 1000000};

#define SIZE_COUNT (sizeof(sizes) / sizeof(sizes[0]))

/* WRITE to the passive side, READ it back to another place, compare. */
static void write_and_read_back(struct end *e, int fd)
{
	for (uint32_t i = 0; i < SIZE_COUNT; i++) {
		uint32_t length = sizes[i];

		fill(e->buffer, length, i);
		assert_int_equal(end_post(e, ROCE_WR_RDMA_WRITE, i, 0, length, ROCE_SEND_SIGNALED),
				 ROCE_POST_OK);
		expect(e, ROCE_WC_SUCCESS);
		memset(e->buffer, 0, length);
		memset(e->buffer + length, 0xee, 4); /* where a pad would go */
		assert_int_equal(end_post(e, ROCE_WR_RDMA_READ, i, 0, length, ROCE_SEND_SIGNALED),
				 ROCE_POST_OK);
		expect(e, ROCE_WC_SUCCESS);
		check_filled(e->buffer, length, i);
		assert_memory_equal(e->buffer + length, "\xee\xee\xee\xee", 4);
	}
	end_meet(fd);
}

static void passive_target__case_002(void **state)
{
	(void)state;
	run_pair(write_and_read_back, stay_passive, (struct pair_options){0});
}

static void passive_target__ipv6(void **state)
{
	(void)state;
	run_pair(write_and_read_back, stay_passive, (struct pair_options){.is_v6 = true});
}

static void passive_target__without_batches(void **state)
{
	(void)state;
	setenv("UROCE_GSO", "off", 1);
	setenv("UROCE_GRO", "off", 1);
	run_pair(write_and_read_back, stay_passive, (struct pair_options){0});
	unsetenv("UROCE_GSO");
	unsetenv("UROCE_GRO");
}

static void passive_target__with_impairments(void **state)
{
	(void)state;
	setenv("UROCE_IMPAIR", "seed=3,drop=1%,dup=1%,reorder=1%,corrupt=1%,dir=both", 1);
	run_pair(write_and_read_back, stay_passive, (struct pair_options){0});
	unsetenv("UROCE_IMPAIR");
}

/* The path loses batches in both directions: WRITEs of this end, answers to READs of the other. */
static void expect_batches_lost(struct end *e)
{
	int unused;
	const struct roce_shared_counters *c = roce_engine_counters(e->engine, &unused);

	assert_in_range(c->pktio.impair_dropped, 2, 100000);
	assert_in_range(c->transport.v[ROCE_STAT_BATCHING_SUSPENDED], 1, 100);
}

static void write_without_batches(struct end *e, int fd)
{
	write_and_read_back(e, fd);
	expect_batches_lost(e);
}

static void answer_without_batches(struct end *e, int fd)
{
	end_meet(fd);
	expect_batches_lost(e);
}

static void batches__lost_on_the_way(void **state)
{
	(void)state;
	setenv("UROCE_IMPAIR", "batches=drop", 1);
	run_pair(write_without_batches, answer_without_batches, (struct pair_options){0});
	unsetenv("UROCE_IMPAIR");
}

#define MESSAGES 500u
#define PLACES	 32u
#define PLACE	 8192u

static void send_messages(struct end *e, int fd)
{
	uint32_t done = 0;

	for (uint32_t i = 0; i < MESSAGES || done < MESSAGES;) {
		if (i < MESSAGES && i - done < PLACES) {
			size_t at = (i % PLACES) * PLACE;

			fill(e->buffer + at, i * 13 % PLACE, i);
			assert_int_equal(end_post(e, ROCE_WR_SEND, i, at, i * 13 % PLACE,
						  ROCE_SEND_SIGNALED),
					 ROCE_POST_OK);
			i++;
		} else {
			expect(e, ROCE_WC_SUCCESS);
			done++;
		}
	}
	end_meet(fd);
}

static void take_messages(struct end *e, int fd, bool by_events)
{
	for (uint32_t i = 0; i < PLACES; i++)
		end_post_recv(e, i, i * PLACE, PLACE);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		struct roce_cqe cqe;

		assert_true(by_events ? end_wait(e, &cqe) : end_poll(e, &cqe, PATIENCE));
		assert_int_equal(cqe.status, ROCE_WC_SUCCESS);
		assert_int_equal(cqe.byte_len, i * 13 % PLACE);
		check_filled(e->buffer + cqe.wr_id * PLACE, cqe.byte_len, i);
		end_post_recv(e, cqe.wr_id, cqe.wr_id * PLACE, PLACE);
	}
	end_meet(fd);
}

static void take_by_polling(struct end *e, int fd)
{
	take_messages(e, fd, false);
}

static void take_by_events(struct end *e, int fd)
{
	take_messages(e, fd, true);
}

static void send__received_by_polling(void **state)
{
	(void)state;
	run_pair(send_messages, take_by_polling, (struct pair_options){0});
}

static void send__received_by_events(void **state)
{
	(void)state;
	run_pair(send_messages, take_by_events, (struct pair_options){.has_events = true});
}

/* ---- trouble ---- */

static void write_until_error(struct end *e, int fd)
{
	end_meet(fd); /* its memory is gone now */
	assert_int_equal(end_post(e, ROCE_WR_RDMA_WRITE, 1, 0, 100000, ROCE_SEND_SIGNALED),
			 ROCE_POST_OK);
	expect(e, ROCE_WC_REM_OP_ERR);
	end_meet(fd);
}

static void lose_memory(struct end *e, int fd)
{
	munmap(e->buffer + 8192, 65536);
	end_meet(fd);
	end_meet(fd);
}

static void memory_gone__target(void **state)
{
	(void)state;
	skip_under_thread_sanitizer();
	run_pair(write_until_error, lose_memory, (struct pair_options){0});
}

static void write_from_nowhere(struct end *e, int fd)
{
	munmap(e->buffer + 8192, 65536);
	assert_int_equal(end_post(e, ROCE_WR_RDMA_WRITE, 1, 0, 100000, ROCE_SEND_SIGNALED),
			 ROCE_POST_OK);
	expect(e, ROCE_WC_LOC_PROT_ERR);
	end_meet(fd);
}

static void memory_gone__source(void **state)
{
	(void)state;
	skip_under_thread_sanitizer();
	run_pair(write_from_nowhere, stay_passive, (struct pair_options){0});
}

/* Like end_open(), on the engine that is open already; its ACK time-out never fires. */
static void open_second(struct end *second, const struct end *e, int fd)
{
	struct end_config cfg = e->cfg;

	cfg.timeout = 0;
	end_open(second, &cfg, fd);
}

static void write_twice_from_nowhere(struct end *e, int fd)
{
	static struct end second;
	struct end *ends[] = {e, &second};
	roce_ns_t now;

	open_second(&second, e, fd);
	munmap(e->buffer, 4096);
	munmap(second.buffer, 4096);
	/* Under one lock, so that both packets belong to one round. */
	now = roce_verbs_qp_lock(&e->qp);
	for (unsigned i = 0; i < 2; i++) {
		struct roce_sge sge = {
			.addr = ends[i]->own.buffer, .length = 8, .lkey = ends[i]->mr.mr.lkey.v};
		struct roce_send_wr wr = {.sge = &sge,
					  .sge_count = 1,
					  .opcode = ROCE_WR_RDMA_WRITE,
					  .flags = ROCE_SEND_SIGNALED,
					  .remote_addr = ends[i]->peer.buffer,
					  .rkey = ends[i]->peer.rkey};

		assert_int_equal(roce_post_send(&ends[i]->qp.qp, &wr, now), ROCE_POST_OK);
	}
	roce_verbs_qp_unlock_send(&e->qp);
	expect(e, ROCE_WC_LOC_PROT_ERR);
	expect(&second, ROCE_WC_LOC_PROT_ERR);
	end_meet(fd);
	end_close(&second);
}

static void stay_passive_with_two(struct end *e, int fd)
{
	static struct end second;

	open_second(&second, e, fd);
	end_meet(fd);
	end_close(&second);
}

static void memory_gone__sources_of_two_qps(void **state)
{
	(void)state;
	skip_under_thread_sanitizer();
	run_pair(write_twice_from_nowhere, stay_passive_with_two, (struct pair_options){0});
}

static void read_from_nowhere(struct end *e, int fd)
{
	end_meet(fd);
	assert_int_equal(end_post(e, ROCE_WR_RDMA_READ, 1, 0, 100000, ROCE_SEND_SIGNALED),
			 ROCE_POST_OK);
	expect(e, ROCE_WC_REM_OP_ERR);
	end_meet(fd);
}

static void memory_gone__read_source(void **state)
{
	(void)state;
	skip_under_thread_sanitizer();
	run_pair(read_from_nowhere, lose_memory, (struct pair_options){0});
}

static void atomic_from_the_peer(struct end *e, int fd)
{
	*(uint64_t *)(void *)e->buffer = 0;
	assert_int_equal(end_post(e, ROCE_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 8, ROCE_SEND_SIGNALED),
			 ROCE_POST_OK);
	expect(e, ROCE_WC_SUCCESS);
	assert_int_equal(end_post(e, ROCE_WR_RDMA_READ, 1, 0, 8, ROCE_SEND_SIGNALED), ROCE_POST_OK);
	expect(e, ROCE_WC_SUCCESS);
	assert_int_equal(*(uint64_t *)(void *)e->buffer, 1);
	write_and_read_back(e, fd);
}

/* On-demand regions need no handlers: without them an ordinary one would end the process. */
static void on_demand__without_the_guard(void **state)
{
	const struct pair_options options = {.is_on_demand = true};

	(void)state;
	setenv("UROCE_GUARD", "off", 1);
	run_pair(atomic_from_the_peer, stay_passive, options);
	run_pair(write_until_error, lose_memory, options);
	run_pair(write_from_nowhere, stay_passive, options);
	run_pair(read_from_nowhere, lose_memory, options);
	unsetenv("UROCE_GUARD");
}

static void write_to_the_dead(struct end *e, int fd)
{
	char byte;
	roce_ns_t begin;

	while (recv(fd, &byte, 1, 0) > 0)
		;
	begin = roce_clock_now();
	assert_int_equal(end_post(e, ROCE_WR_RDMA_WRITE, 1, 0, 100, ROCE_SEND_SIGNALED),
			 ROCE_POST_OK);
	expect(e, ROCE_WC_RETRY_EXC_ERR);
	/* 8 times 20 ms, with room for a loaded machine */
	assert_in_range(roce_clock_now() - begin, 100 * ROCE_NS_PER_MS, 2 * ROCE_NS_PER_S);
}

static void die(struct end *e, int fd)
{
	(void)e;
	(void)fd;
	raise(SIGKILL);
}

static void peer_killed__case_064(void **state)
{
	(void)state;
	run_pair(write_to_the_dead, die, (struct pair_options){.second_is_killed = true});
}

static void write_to_one_in_reset(struct end *e, int fd)
{
	end_meet(fd);
	assert_int_equal(end_post(e, ROCE_WR_RDMA_WRITE, 1, 0, 100, ROCE_SEND_SIGNALED),
			 ROCE_POST_OK);
	expect(e, ROCE_WC_RETRY_EXC_ERR);
	end_meet(fd);
}

static void reset(struct end *e, int fd)
{
	struct roce_qp_attr attr = {.state = ROCE_QP_RESET};

	assert_int_equal(roce_verbs_qp_modify(&e->qp, &attr, ROCE_ATTR_STATE, NULL), 0);
	end_meet(fd);
	end_meet(fd);
}

/* A process that lives, with a queue pair that is not connected, answers as the dead do. */
static void peer_reset__case_064(void **state)
{
	(void)state;
	run_pair(write_to_one_in_reset, reset, (struct pair_options){0});
}

static pid_t stop_peer(int fd)
{
	siginfo_t info;
	pid_t pid;

	assert_int_equal(recv(fd, &pid, sizeof(pid), MSG_WAITALL), sizeof(pid));
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED), 0);
	return pid;
}

static void say_who(struct end *e, int fd)
{
	pid_t pid = getpid();

	(void)e;
	assert_int_equal(send(fd, &pid, sizeof(pid), 0), sizeof(pid));
	end_meet(fd);
}

static void write_to_the_stopped(struct end *e, int fd)
{
	pid_t pid = stop_peer(fd);

	assert_int_equal(end_post(e, ROCE_WR_RDMA_WRITE, 1, 0, 100, ROCE_SEND_SIGNALED),
			 ROCE_POST_OK);
	expect(e, ROCE_WC_RETRY_EXC_ERR);
	kill(pid, SIGCONT);
	end_meet(fd);
}

static void write_to_the_woken(struct end *e, int fd)
{
	struct roce_cqe cqe;
	pid_t pid = stop_peer(fd);

	assert_int_equal(end_post(e, ROCE_WR_RDMA_WRITE, 1, 0, 100, ROCE_SEND_SIGNALED),
			 ROCE_POST_OK);
	assert_false(end_poll(e, &cqe, 100 * ROCE_NS_PER_MS));
	kill(pid, SIGCONT);
	expect(e, ROCE_WC_SUCCESS);
	end_meet(fd);
}

/* Unlike a NIC, a stopped process does not answer; one that goes on in time does. */
static void peer_stopped__case_064(void **state)
{
	(void)state;
	run_pair(write_to_the_stopped, say_who, (struct pair_options){0});
	setenv("UROCE_ACK_TIMEOUT_FLOOR_US", "1000000", 1);
	run_pair(write_to_the_woken, say_who, (struct pair_options){0});
	setenv("UROCE_ACK_TIMEOUT_FLOOR_US", "20000", 1);
}

/* ---- fork ---- */

static void fork_and_go_on(struct end *e, int fd)
{
	struct roce_device *dev = roce_engine_device(e->engine);
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		struct roce_engine *own;
		struct roce_gid gid;
		uint32_t ifindex;
		uint8_t slot;

		/* what was open is dead, what is opened anew lives */
		if (dev->env->query_gid(dev->env_ctx, 0, &gid, &ifindex) != -ENOTCONN ||
		    dev->env->acquire_slot(dev->env_ctx, &slot) != -ENOTCONN)
			_exit(2);
		dev->env->progress(dev->env_ctx, true);
		dev->env->kick(dev->env_ctx);
		dev->env->close_address(dev->env_ctx, &gid);
		if (roce_engine_get(e->cfg.ifindex, &own) != 0 || own == e->engine)
			_exit(3);
		dev = roce_engine_device(own);
		if (dev->env->query_gid(dev->env_ctx, 0, &gid, &ifindex) != 0)
			_exit(4);
		roce_engine_put(own);
		roce_engine_put(e->engine);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	write_and_read_back(e, fd);
}

static void fork__child_is_dead_parent_lives(void **state)
{
	(void)state;
	run_pair(fork_and_go_on, stay_passive, (struct pair_options){0});
}

/* ---- the thread and the program ---- */

static void poll_for_a_while(struct end *e, int fd)
{
	const struct roce_shared_counters *c;
	uint64_t wakes;
	int unused;
	struct roce_cqe cqe;

	c = roce_engine_counters(e->engine, &unused);
	assert_false(end_poll(e, &cqe, 20 * ROCE_NS_PER_MS)); /* now it counts as polling */
	assert_true(c->engine.thread_disarms > 0);
	wakes = c->engine.thread_wakes;
	assert_false(end_poll(e, &cqe, 200 * ROCE_NS_PER_MS));
	/* a look each 0.4 ms would be 500 */
	assert_in_range(c->engine.thread_wakes - wakes, 0, 250);
	end_meet(fd); /* here polling stops, and the other side reads our memory */
	end_meet(fd);
}

static void read_after_polling(struct end *e, int fd)
{
	end_meet(fd);
	assert_int_equal(end_post(e, ROCE_WR_RDMA_READ, 1, 0, 4096, ROCE_SEND_SIGNALED),
			 ROCE_POST_OK);
	expect(e, ROCE_WC_SUCCESS);
	end_meet(fd);
}

static void thread__stands_aside_and_comes_back(void **state)
{
	(void)state;
	skip_under_thread_sanitizer();
	run_pair(poll_for_a_while, read_after_polling, (struct pair_options){0});
}

#define SPIN_ROUNDS 300u

/* The shape of ib_write_lat: write, poll for the completion, then look at memory only. */
static void spin_on_memory(struct end *e, int fd, bool is_first)
{
	const volatile uint8_t *in = e->buffer;
	const struct roce_shared_counters *c;
	int unused;

	c = roce_engine_counters(e->engine, &unused);
	for (uint32_t i = 1; i <= SPIN_ROUNDS; i++) {
		if (!is_first) {
			while (*in != (uint8_t)i)
				;
		}
		e->buffer[64] = (uint8_t)i;
		end_post_to(e, ROCE_WR_RDMA_WRITE, 64, 0, 1);
		expect(e, ROCE_WC_SUCCESS);
		if (is_first) {
			while (*in != (uint8_t)i)
				;
		}
	}
	/* it is learned that completions must arm the thread: lateness is no longer the rule (a
	 * machine with other work makes some rounds late) */
	assert_in_range(c->engine.thread_late, 0, SPIN_ROUNDS * 2 / 3);
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
	skip_under_thread_sanitizer();
	run_pair(spin_first, spin_second, (struct pair_options){0});
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
	assert_int_equal(poll(&readable, 1, 5000), 1);
	dev->env->progress(dev->env_ctx, true);
	assert_true(roce_tx_is_pending(&dev->transport));
	assert_true(e->engine->progress.is_watching);
	pthread_mutex_unlock(&dev->lock);
	end_meet(fd);
}

static void thread__sends_what_a_last_poll_owes(void **state)
{
	(void)state;
	run_pair(poll_once, read_after_polling, (struct pair_options){0});
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
	skip_under_thread_sanitizer();
	run_pair(close_a_shared_socket, stay_passive, (struct pair_options){0});
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
	int old = dup(rx_fd_of(e));
	int renewed = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	const struct roce_shared_counters *c;
	uint64_t wakes;
	int unused;

	c = roce_engine_counters(e->engine, &unused);
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
	assert_int_equal(c->engine.rx_too_short, 1);
	close(old);
	close(renewed);
	end_meet(fd);
}

static void thread__follows_a_replaced_socket(void **state)
{
	(void)state;
	skip_under_thread_sanitizer();
	run_pair(replace_the_socket, stay_passive, (struct pair_options){0});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_demand__without_the_guard), /* before handlers are there */
		cmocka_unit_test(passive_target__case_002),
		cmocka_unit_test(passive_target__ipv6),
		cmocka_unit_test(passive_target__without_batches),
		cmocka_unit_test(passive_target__with_impairments),
		cmocka_unit_test(batches__lost_on_the_way),
		cmocka_unit_test(send__received_by_polling),
		cmocka_unit_test(send__received_by_events),
		cmocka_unit_test(memory_gone__target),
		cmocka_unit_test(memory_gone__source),
		cmocka_unit_test(memory_gone__sources_of_two_qps),
		cmocka_unit_test(memory_gone__read_source),
		cmocka_unit_test(peer_killed__case_064),
		cmocka_unit_test(peer_reset__case_064),
		cmocka_unit_test(peer_stopped__case_064),
		cmocka_unit_test(fork__child_is_dead_parent_lives),
		cmocka_unit_test(thread__stands_aside_and_comes_back),
		cmocka_unit_test(thread__learns_that_memory_is_watched),
		cmocka_unit_test(thread__sends_what_a_last_poll_owes),
		cmocka_unit_test(thread__forgets_a_closed_address),
		cmocka_unit_test(thread__follows_a_replaced_socket),
	};

	return cmocka_run_group_tests(tests, enter_namespace, NULL);
}
