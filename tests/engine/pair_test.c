/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine on real sockets: two processes on the loopback of a network namespace of the test's
 * own, each alone at an address (no daemon). Data is compared byte by byte.
 */
#include "two_ends.h"

#include "base/clock.h"
#include "engine/engine_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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
		two_ends_expect(e, ROCE_WC_SUCCESS);
		memset(e->buffer, 0, length);
		memset(e->buffer + length, 0xee, 4); /* where a pad would go */
		assert_int_equal(end_post(e, ROCE_WR_RDMA_READ, i, 0, length, ROCE_SEND_SIGNALED),
				 ROCE_POST_OK);
		two_ends_expect(e, ROCE_WC_SUCCESS);
		check_filled(e->buffer, length, i);
		assert_memory_equal(e->buffer + length, "\xee\xee\xee\xee", 4);
	}
	end_meet(fd);
}

static void passive_target__case_002(void **state)
{
	(void)state;
	two_ends_run(write_and_read_back, two_ends_stay_passive, (struct two_ends_options){0});
}

static void passive_target__ipv6(void **state)
{
	(void)state;
	two_ends_run(write_and_read_back, two_ends_stay_passive,
		     (struct two_ends_options){.is_v6 = true});
}

static void passive_target__without_batches(void **state)
{
	(void)state;
	setenv("UROCE_GSO", "off", 1);
	setenv("UROCE_GRO", "off", 1);
	two_ends_run(write_and_read_back, two_ends_stay_passive, (struct two_ends_options){0});
	unsetenv("UROCE_GSO");
	unsetenv("UROCE_GRO");
}

#define TIMEOUT_LOSSY 17 /* 0.5 s, 8 times: on these paths it passes now and then */

static void passive_target__with_impairments(void **state)
{
	(void)state;
	setenv("UROCE_IMPAIR", "seed=3,drop=1%,dup=1%,reorder=1%,corrupt=1%,dir=both", 1);
	two_ends_run(write_and_read_back, two_ends_stay_passive,
		     (struct two_ends_options){.timeout = TIMEOUT_LOSSY});
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
	/* Three rounds are lost before they are given up: the others must be time enough. */
	two_ends_run(write_without_batches, answer_without_batches,
		     (struct two_ends_options){.timeout = TIMEOUT_LOSSY + 1});
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
			two_ends_expect(e, ROCE_WC_SUCCESS);
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

		assert_true(by_events ? end_wait(e, &cqe) : end_poll(e, &cqe, TWO_ENDS_PATIENCE));
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
	two_ends_run(send_messages, take_by_polling, (struct two_ends_options){0});
}

static void send__received_by_events(void **state)
{
	(void)state;
	two_ends_run(send_messages, take_by_events, (struct two_ends_options){.has_events = true});
}

/* ---- an end that leaves ---- */

#define LAST_MESSAGES 5u

/* The last message is acknowledged, too. */
static void send_the_last(struct end *e, int fd)
{
	end_meet(fd);
	for (uint32_t i = 0; i < LAST_MESSAGES; i++) {
		assert_int_equal(end_post(e, ROCE_WR_SEND, i, 0, PLACE, ROCE_SEND_SIGNALED),
				 ROCE_POST_OK);
		two_ends_expect(e, ROCE_WC_SUCCESS);
	}
}

static void take_the_last_and_exit(struct end *e, int fd)
{
	for (uint32_t i = 0; i < LAST_MESSAGES; i++)
		end_post_recv(e, i, 0, PLACE);
	end_meet(fd);
	for (uint32_t i = 0; i < LAST_MESSAGES; i++) {
		struct roce_cqe cqe;

		assert_true(end_poll(e, &cqe, TWO_ENDS_PATIENCE));
		assert_int_equal(cqe.status, ROCE_WC_SUCCESS);
	}
	(void)close(STDOUT_FILENO); /* what is buffered is the parent's */
	exit(0);
}

static void program_ends__behind_its_last_poll(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		two_ends_run(send_the_last, take_the_last_and_exit, (struct two_ends_options){0});
}

/* ---- trouble ---- */

static void write_until_error(struct end *e, int fd)
{
	end_meet(fd); /* its memory is gone now */
	assert_int_equal(end_post(e, ROCE_WR_RDMA_WRITE, 1, 0, 100000, ROCE_SEND_SIGNALED),
			 ROCE_POST_OK);
	two_ends_expect(e, ROCE_WC_REM_OP_ERR);
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
	two_ends_skip_under_tsan();
	two_ends_run(write_until_error, lose_memory, (struct two_ends_options){0});
}

static void write_from_nowhere(struct end *e, int fd)
{
	munmap(e->buffer + 8192, 65536);
	assert_int_equal(end_post(e, ROCE_WR_RDMA_WRITE, 1, 0, 100000, ROCE_SEND_SIGNALED),
			 ROCE_POST_OK);
	two_ends_expect(e, ROCE_WC_LOC_PROT_ERR);
	end_meet(fd);
}

static void memory_gone__source(void **state)
{
	(void)state;
	two_ends_skip_under_tsan();
	two_ends_run(write_from_nowhere, two_ends_stay_passive, (struct two_ends_options){0});
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
	two_ends_expect(e, ROCE_WC_LOC_PROT_ERR);
	two_ends_expect(&second, ROCE_WC_LOC_PROT_ERR);
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
	two_ends_skip_under_tsan();
	two_ends_run(write_twice_from_nowhere, stay_passive_with_two, (struct two_ends_options){0});
}

static void read_from_nowhere(struct end *e, int fd)
{
	end_meet(fd);
	assert_int_equal(end_post(e, ROCE_WR_RDMA_READ, 1, 0, 100000, ROCE_SEND_SIGNALED),
			 ROCE_POST_OK);
	two_ends_expect(e, ROCE_WC_REM_OP_ERR);
	end_meet(fd);
}

static void memory_gone__read_source(void **state)
{
	(void)state;
	two_ends_skip_under_tsan();
	two_ends_run(read_from_nowhere, lose_memory, (struct two_ends_options){0});
}

static void atomic_from_the_peer(struct end *e, int fd)
{
	*(uint64_t *)(void *)e->buffer = 0;
	assert_int_equal(end_post(e, ROCE_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 8, ROCE_SEND_SIGNALED),
			 ROCE_POST_OK);
	two_ends_expect(e, ROCE_WC_SUCCESS);
	assert_int_equal(end_post(e, ROCE_WR_RDMA_READ, 1, 0, 8, ROCE_SEND_SIGNALED), ROCE_POST_OK);
	two_ends_expect(e, ROCE_WC_SUCCESS);
	assert_int_equal(*(uint64_t *)(void *)e->buffer, 1);
	write_and_read_back(e, fd);
}

/* On-demand regions need no handlers: without them an ordinary one would end the process. */
static void on_demand__without_the_guard(void **state)
{
	const struct two_ends_options options = {.is_on_demand = true};

	(void)state;
	setenv("UROCE_GUARD", "off", 1);
	two_ends_run(atomic_from_the_peer, two_ends_stay_passive, options);
	two_ends_run(write_until_error, lose_memory, options);
	two_ends_run(write_from_nowhere, two_ends_stay_passive, options);
	two_ends_run(read_from_nowhere, lose_memory, options);
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
	two_ends_expect(e, ROCE_WC_RETRY_EXC_ERR);
	/* 8 times 20 ms, with room for a machine that stands still meanwhile */
	assert_in_range(roce_clock_now() - begin, 100 * ROCE_NS_PER_MS, 30 * ROCE_NS_PER_S);
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
	two_ends_run(
		write_to_the_dead, die,
		(struct two_ends_options){.second_is_killed = true, .timeout = TWO_ENDS_GIVES_UP});
}

static void write_to_one_in_reset(struct end *e, int fd)
{
	end_meet(fd);
	assert_int_equal(end_post(e, ROCE_WR_RDMA_WRITE, 1, 0, 100, ROCE_SEND_SIGNALED),
			 ROCE_POST_OK);
	two_ends_expect(e, ROCE_WC_RETRY_EXC_ERR);
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
	two_ends_run(write_to_one_in_reset, reset,
		     (struct two_ends_options){.timeout = TWO_ENDS_GIVES_UP});
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
	two_ends_expect(e, ROCE_WC_RETRY_EXC_ERR);
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
	two_ends_expect(e, ROCE_WC_SUCCESS);
	end_meet(fd);
}

/* Unlike a NIC, a stopped process does not answer; one that goes on in time does. */
static void peer_stopped__case_064(void **state)
{
	(void)state;
	two_ends_run(write_to_the_stopped, say_who,
		     (struct two_ends_options){.timeout = TWO_ENDS_GIVES_UP});
	two_ends_run(write_to_the_woken, say_who, (struct two_ends_options){0});
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
	two_ends_run(fork_and_go_on, two_ends_stay_passive, (struct two_ends_options){0});
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
		cmocka_unit_test(program_ends__behind_its_last_poll),
		cmocka_unit_test(memory_gone__target),
		cmocka_unit_test(memory_gone__source),
		cmocka_unit_test(memory_gone__sources_of_two_qps),
		cmocka_unit_test(memory_gone__read_source),
		cmocka_unit_test(peer_killed__case_064),
		cmocka_unit_test(peer_reset__case_064),
		cmocka_unit_test(peer_stopped__case_064),
		cmocka_unit_test(fork__child_is_dead_parent_lives),
	};

	return cmocka_run_group_tests(tests, two_ends_enter_namespace, NULL);
}
