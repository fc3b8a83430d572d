/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `interrupted`: the target goes away while the initiator WRITEs to it, READs from it or adds
 * to a cell of it, by being killed or by its link going down. Short of the retries' time that costs
 * nothing but time, all bytes are right and each addition counted once; beyond it the request must
 * end with RETRY_EXC_ERR, those behind it must be flushed, and that in bounded time. What completed
 * with success before is right in any case.
 */
#include "verify/agent/kind.h"
#include "verify/agent/trouble.h"
#include "verify/agent/work.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGE_BYTES 4096
#define DEPTH	      16
#define SLOTS	      64
#define BEFORE_MS     100 /* of traffic before it happens */
#define BLINK_MS      200
#define AFTER_MS      1500 /* a lost ARP request is repeated after 1 s */
#define TIMEOUT_CODE  14   /* 67 ms for an answer, 7 times: 0.47 s */
#define FEWER	      1	   /* 6 retries: to Soft-RoCE 7 means for ever */
#define PATIENT_CODE  17   /* 4.3 s, for who shall outlast a blink and an ARP request */

struct interrupted {
	struct va_device device;
	struct va_endpoint endpoint;
	struct va_buffer memory;
	struct va_remote remote;
	enum ibv_wr_opcode opcode;
	uint64_t posted;
	uint64_t completed;
	roce_ns_t moved_at; /* the last success */
};

static bool is_final(const struct va_run *run)
{
	return !va_is(run, "how", "link_blink");
}

static bool is_add(const struct interrupted *s)
{
	return s->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void set_up(struct va_run *run, struct interrupted *s)
{
	*s = (struct interrupted){.opcode = va_opcode(va_word(run, "op"))};
	if (!va_is(run, "how", "killed"))
		va_link_need(run);
	/* A link that goes down takes its IPv6 addresses along. */
	va_device_open(run, va_is(run, "how", "killed") ? VA_ANY_FAMILY : VA_IPV4, &s->device);
	if (is_add(s) && s->device.attr.atomic_cap == IBV_ATOMIC_NONE)
		va_skip(run, "the device has no atomics");
	/* The memory comes first: of a process that is killed Linux destroys what was made last at
	 * first, and a queue pair whose memory has gone before it would refuse, not be silent. */
	va_buffer_create(run, &s->device, (size_t)SLOTS * MESSAGE_BYTES, VA_ACCESS_ALL, &s->memory);
	va_endpoint_create(run, &s->device,
			   &(struct va_endpoint_config){
				   .send_depth = DEPTH,
				   .timeout = is_final(run) ? TIMEOUT_CODE : PATIENT_CODE,
				   .retry_count_less = FEWER,
			   },
			   &s->endpoint);
	/* what is written, and what is read; the cell that is added to begins with 0 */
	if (s->opcode == IBV_WR_RDMA_READ ? !run->is_initiator
					  : s->opcode == IBV_WR_RDMA_WRITE && run->is_initiator)
		va_pattern_fill(s->memory.at, s->memory.bytes, run->seed, 0);
	else
		memset(s->memory.at, 0, s->memory.bytes);
	va_endpoint_connect(run, &s->endpoint);
	va_buffer_exchange(run, &s->memory, &s->remote);
}

static void tear_down(struct va_run *run, struct interrupted *s)
{
	va_endpoint_destroy(run, &s->endpoint);
	va_buffer_destroy(run, &s->memory);
	va_device_close(run, &s->device);
}

/* ---- initiator ---- */

static size_t slot_of(uint64_t number)
{
	return (size_t)(number % SLOTS) * MESSAGE_BYTES;
}

static void post(struct va_run *run, struct interrupted *s)
{
	size_t slot = slot_of(s->posted);
	struct va_request request = {
		.opcode = s->opcode,
		.local = &s->memory,
		.local_offset = slot,
		.length = is_add(s) ? sizeof(uint64_t) : MESSAGE_BYTES,
		.remote = &s->remote,
		.remote_offset = is_add(s) ? 0 : slot,
		.wr_id = s->posted++,
		.compare_add = 1,
	};

	va_post(run, &s->endpoint, &request);
}

/* What a success says is so, and the place is made ready for the next one. */
static void check_success(struct va_run *run, struct interrupted *s, const struct ibv_wc *wc)
{
	uint8_t *at = s->memory.at + slot_of(s->completed);
	uint64_t found;

	if (wc->wr_id != s->completed)
		va_fail(run, "request %llu completed, expected %llu", (unsigned long long)wc->wr_id,
			(unsigned long long)s->completed);
	if (s->opcode == IBV_WR_RDMA_READ) {
		va_pattern_must(run, at, MESSAGE_BYTES, run->seed, slot_of(s->completed),
				"what READ brought");
		memset(at, 0, MESSAGE_BYTES);
	}
	memcpy(&found, at, sizeof(found));
	if (is_add(s) && found != s->completed)
		va_fail(run, "FETCH_ADD %llu returned %llu", (unsigned long long)s->completed,
			(unsigned long long)found);
}

/* Until the other side tells of the end, or a completion does. The one that failed is left in
 * `wc`. */
static void write_on(struct va_run *run, struct interrupted *s, struct ibv_wc *wc)
{
	roce_ns_t give_up = roce_clock_now() + VA_STALL_S * ROCE_NS_PER_S;

	s->moved_at = roce_clock_now();
	for (uint32_t i = 0; i < DEPTH; i++)
		post(run, s);
	*wc = (struct ibv_wc){.status = IBV_WC_SUCCESS};
	for (uint32_t turn = 0; s->completed < s->posted; turn++) {
		bool goes_on = is_final(run) || !va_is_heard(run);

		if (ibv_poll_cq(s->endpoint.send_cq, 1, wc) != 1) {
			if (turn % 1024 == 0 && roce_clock_now() > give_up)
				va_fail(run, "no completion, good or bad, in %d s", VA_STALL_S);
			continue;
		}
		if (wc->status != IBV_WC_SUCCESS)
			return;
		check_success(run, s, wc);
		s->moved_at = roce_clock_now();
		give_up = s->moved_at + VA_STALL_S * ROCE_NS_PER_S;
		s->completed++;
		if (goes_on)
			post(run, s);
	}
}

static void must_be_gone(struct va_run *run, struct interrupted *s, const struct ibv_wc *first)
{
	struct ibv_wc wc;

	if (first->status != IBV_WC_RETRY_EXC_ERR)
		va_fail(run, "the request under way ended with status %d (%s), expected %d",
			(int)first->status, ibv_wc_status_str(first->status), IBV_WC_RETRY_EXC_ERR);
	if (first->wr_id != s->completed)
		va_fail(run, "request %llu ended first, expected %llu",
			(unsigned long long)first->wr_id, (unsigned long long)s->completed);
	for (uint64_t i = s->completed + 1; i < s->posted; i++) {
		va_wait(run, s->endpoint.send_cq, "a flushed request", &wc);
		if (wc.status != IBV_WC_WR_FLUSH_ERR || wc.wr_id != i)
			va_fail(run,
				"request %llu ended with status %d, expected request %llu with %d",
				(unsigned long long)wc.wr_id, (int)wc.status, (unsigned long long)i,
				IBV_WC_WR_FLUSH_ERR);
	}
}

void va_interrupted_initiator(struct va_run *run)
{
	struct interrupted s;
	struct ibv_wc wc;
	double seconds;

	set_up(run, &s);
	va_barrier(run, "ready");
	write_on(run, &s, &wc);
	seconds = (double)(roce_clock_now() - s.moved_at) / 1e9;
	if (is_final(run)) {
		must_be_gone(run, &s, &wc);
		va_value(run, "ended", seconds * 1e6);
	} else if (wc.status != IBV_WC_SUCCESS) {
		va_fail(run, "request %llu ended with status %d (%s) although the link was back",
			(unsigned long long)wc.wr_id, (int)wc.status, ibv_wc_status_str(wc.status));
	}
	va_value(run, "messages", (double)s.completed);
	va_barrier(run, "over");
	if (!is_final(run))
		va_send(run, json_integer((json_int_t)s.completed));
	tear_down(run, &s);
}

/* ---- target ---- */

static void wait_ms(int ms)
{
	(void)poll(NULL, 0, ms);
}

/* Killed in the middle: the queue pair lives in a process of its own. */
static void be_killed(struct va_run *run)
{
	struct interrupted s;
	int ready[2];
	pid_t pid;
	char byte;

	va_need(run, !pipe(ready), "pipe");
	pid = fork();
	va_need(run, pid >= 0, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		set_up(run, &s);
		va_barrier(run, "ready");
		(void)!write(ready[1], "", 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	va_need(run, read(ready[0], &byte, 1) == 1, "the process to be killed");
	wait_ms(BEFORE_MS);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	va_barrier(run, "over");
}

/* All that was asked for was done, additions once each. */
static void check_left(struct va_run *run, struct interrupted *s)
{
	json_t *count = va_receive(run);
	uint64_t found;

	memcpy(&found, s->memory.at, sizeof(found));
	if (is_add(s) && found != (uint64_t)json_integer_value(count))
		va_fail(run, "%llu FETCH_ADDs left %llu across the interruption",
			(unsigned long long)json_integer_value(count), (unsigned long long)found);
	json_decref(count);
	if (!is_add(s))
		va_pattern_must(run, s->memory.at, s->memory.bytes, run->seed, 0,
				"what WRITEs left across the interruption");
}

static void lose_link(struct va_run *run)
{
	struct interrupted s;

	set_up(run, &s);
	va_barrier(run, "ready");
	wait_ms(BEFORE_MS);
	va_link_set(run, false);
	if (is_final(run)) {
		va_barrier(run, "over");
		va_link_set(run, true);
		wait_ms(AFTER_MS); /* for whoever comes next */
	} else {
		wait_ms(BLINK_MS);
		va_link_set(run, true);
		wait_ms(BLINK_MS);
		/* ends the traffic; the other side's comes when it has */
		va_send(run, json_string("over"));
		json_decref(va_receive(run));
		check_left(run, &s);
	}
	tear_down(run, &s);
}

void va_interrupted_target(struct va_run *run)
{
	if (va_is(run, "how", "killed"))
		be_killed(run);
	else
		lose_link(run);
}
