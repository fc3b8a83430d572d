/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `interrupted`: the target goes away while the initiator WRITEs to it, by being killed or by
 * its link going down. Short of the retries' time that costs nothing but time, and all bytes are
 * right; beyond it the request must end with RETRY_EXC_ERR, those behind it must be flushed, and
 * that in bounded time.
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
#define TIMEOUT_CODE  14   /* 67 ms for an answer, 8 times: 0.54 s */
#define PATIENT_CODE  17   /* 4.3 s, for who shall outlast a blink and an ARP request */

struct interrupted {
	struct va_device device;
	struct va_endpoint endpoint;
	struct va_buffer memory;
	struct va_remote remote;
	uint64_t posted;
	uint64_t completed;
	roce_ns_t moved_at; /* the last success */
};

static bool is_final(const struct va_run *run)
{
	return !va_is(run, "how", "link_blink");
}

static void set_up(struct va_run *run, struct interrupted *s)
{
	*s = (struct interrupted){0};
	va_device_open(run, VA_IPV4, &s->device);
	va_endpoint_create(run, &s->device,
			   &(struct va_endpoint_config){
				   .send_depth = DEPTH,
				   .timeout = is_final(run) ? TIMEOUT_CODE : PATIENT_CODE,
			   },
			   &s->endpoint);
	va_buffer_create(run, &s->device, (size_t)SLOTS * MESSAGE_BYTES, VA_ACCESS_ALL, &s->memory);
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

static void post(struct va_run *run, struct interrupted *s)
{
	size_t slot = (size_t)(s->posted % SLOTS) * MESSAGE_BYTES;
	struct va_request request = {
		.opcode = IBV_WR_RDMA_WRITE,
		.local = &s->memory,
		.local_offset = slot,
		.length = MESSAGE_BYTES,
		.remote = &s->remote,
		.remote_offset = slot,
		.wr_id = s->posted++,
	};

	va_post(run, &s->endpoint, &request);
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
	va_pattern_fill(s.memory.at, s.memory.bytes, run->seed, 0);
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
		va_send(run,
			json_string(
				"over")); /* ends the traffic; the other side's comes when it has */
		json_decref(va_receive(run));
		va_pattern_must(run, s.memory.at, s.memory.bytes, run->seed, 0,
				"what WRITEs left across the interruption");
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
