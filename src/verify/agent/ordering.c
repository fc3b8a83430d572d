/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `ordering`: a rule of the order in which requests of one queue pair take effect, held to in
 * many rounds with data of their own.
 *
 * write_write: a WRITE of data, a WRITE of a number behind it; whoever looks at memory and sees the
 *   number finds all of the data.
 * write_over: two WRITEs to one place and a message behind them; the place has the second.
 * write_send, write_imm: when the message behind a WRITE has come, the WRITE has.
 * read_write: a fenced WRITE over what the READ before it fetches; the READ brings what was there
 *   before, and the WRITE is there in the end.
 * atomic_read: a READ behind a FETCH_ADD without a fence brings the sum.
 */
#include "verify/agent/kind.h"
#include "verify/agent/trouble.h"
#include "verify/agent/work.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <stdatomic.h>
#include <string.h>

#define SLOTS	      8 /* rounds between two meetings of the sides */
#define WORD_BYTES    8
#define LOOKS_A_CLOCK 1024

struct ordering;

struct rule {
	const char *name;
	uint32_t messages; /* for SLOTS rounds; 0: one for each */
	void (*ask)(struct va_run *run, struct ordering *o, uint64_t first, uint64_t end);
	void (*see)(struct va_run *run, struct ordering *o, uint64_t first, uint64_t end);
};

struct ordering {
	struct va_device device;
	struct va_endpoint endpoint;
	struct va_buffer out; /* a slot for each round under way: twice the data, and a word */
	struct va_buffer in;
	struct va_remote remote;
	uint32_t size;
	size_t slot_bytes;
};

/* ---- slots ---- */

static size_t slot_of(const struct ordering *o, uint64_t round)
{
	return (size_t)(round % SLOTS) * o->slot_bytes;
}

static size_t second_of(const struct ordering *o, uint64_t round)
{
	return slot_of(o, round) + o->slot_bytes / 3;
}

static size_t word_of(const struct ordering *o, uint64_t round)
{
	return slot_of(o, round) + o->slot_bytes - WORD_BYTES;
}

/* The data of a round, and of the WRITE over it. */
static void fill(struct va_run *run, struct ordering *o, uint64_t round)
{
	va_pattern_fill(o->out.at + slot_of(o, round), o->size, run->seed, round * o->size);
	va_pattern_fill(o->out.at + second_of(o, round), o->size, ~run->seed, round * o->size);
	memcpy(o->out.at + word_of(o, round), &(uint64_t){round + 1}, WORD_BYTES);
}

static void must_have(struct va_run *run, const struct ordering *o, uint64_t round, bool is_second,
		      const char *what)
{
	va_pattern_must(run, o->in.at + slot_of(o, round), o->size,
			is_second ? ~run->seed : run->seed, round * o->size, what);
}

static void write_to(struct va_run *run, struct ordering *o, uint64_t round, size_t from, size_t to,
		     uint32_t length, unsigned int flags)
{
	struct va_request request = {
		.opcode = IBV_WR_RDMA_WRITE,
		.local = &o->out,
		.local_offset = from,
		.length = length,
		.remote = &o->remote,
		.remote_offset = to,
		.wr_id = round,
		.flags = flags,
		.is_silent = true,
	};

	va_post(run, &o->endpoint, &request);
}

/* What ends a round: it alone has a completion, so the queue is empty when it does. */
static void notify(struct va_run *run, struct ordering *o, uint64_t round, bool is_write)
{
	struct va_request request = {
		.opcode = is_write ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND_WITH_IMM,
		.local = &o->out,
		.remote = is_write ? &o->remote : NULL,
		.wr_id = round,
		.imm = (uint32_t)round,
	};

	va_post(run, &o->endpoint, &request);
}

static void take(struct va_run *run, struct ordering *o, uint64_t round)
{
	struct ibv_wc wc;

	va_wait_success(run, o->endpoint.send_cq, va_word(run, "rule"), &wc);
	if (wc.wr_id != round)
		va_fail(run, "the completion of round %llu has wr_id %llu",
			(unsigned long long)round, (unsigned long long)wc.wr_id);
}

/* ---- write_write ---- */

static uint64_t load(const uint8_t *at)
{
	/* what is read behind it has not been read before */
	return atomic_load_explicit((const _Atomic uint64_t *)(const void *)at,
				    memory_order_acquire);
}

static void ask_write_write(struct va_run *run, struct ordering *o, uint64_t first, uint64_t end)
{
	for (uint64_t r = first; r < end; r++) {
		fill(run, o, r);
		write_to(run, o, r, slot_of(o, r), slot_of(o, r), o->size, 0);
		write_to(run, o, r, word_of(o, r), word_of(o, r), WORD_BYTES, 0);
	}
	notify(run, o, end, false);
	take(run, o, end);
}

/* Polls all the time, for that makes software adapters receive. */
static void see_write_write(struct va_run *run, struct ordering *o, uint64_t first, uint64_t end)
{
	roce_ns_t give_up = roce_clock_now() + VA_STALL_S * ROCE_NS_PER_S;
	bool is_through = false;
	struct ibv_wc wc;

	for (uint64_t r = first; r < end; r++) {
		for (uint32_t i = 1; load(o->in.at + word_of(o, r)) != r + 1; i++) {
			if (!is_through && ibv_poll_cq(o->endpoint.recv_cq, 1, &wc) == 1) {
				va_must_succeed(run, &wc, "a receive");
				is_through = true;
			}
			if (i % LOOKS_A_CLOCK == 0 && roce_clock_now() > give_up)
				va_fail(run, "the number of round %llu did not come in %d s",
					(unsigned long long)r, VA_STALL_S);
		}
		must_have(run, o, r, false, "data in front of a number that is there");
	}
	if (!is_through)
		va_wait_success(run, o->endpoint.recv_cq, "a receive", &wc);
}

/* ---- a message behind WRITEs ---- */

static void ask_message(struct va_run *run, struct ordering *o, uint64_t first, uint64_t end)
{
	bool is_over = va_is(run, "rule", "write_over");

	for (uint64_t r = first; r < end; r++) {
		fill(run, o, r);
		write_to(run, o, r, slot_of(o, r), slot_of(o, r), o->size, 0);
		if (is_over)
			write_to(run, o, r, second_of(o, r), slot_of(o, r), o->size, 0);
		notify(run, o, r, va_is(run, "rule", "write_imm"));
	}
	for (uint64_t r = first; r < end; r++)
		take(run, o, r);
}

static void see_message(struct va_run *run, struct ordering *o, uint64_t first, uint64_t end)
{
	struct ibv_wc wc;

	for (uint64_t r = first; r < end; r++) {
		va_wait_success(run, o->endpoint.recv_cq, "a receive", &wc);
		if (ntohl(wc.imm_data) != (uint32_t)r)
			va_fail(run, "message %u came in the place of %llu", ntohl(wc.imm_data),
				(unsigned long long)r);
		must_have(run, o, r, va_is(run, "rule", "write_over"),
			  va_is(run, "rule", "write_over")
				  ? "the second of two WRITEs before a message"
				  : "a WRITE before a message");
	}
}

/* ---- READ and the WRITE behind it ---- */

static void read_from(struct va_run *run, struct ordering *o, uint64_t round, size_t at,
		      uint32_t length)
{
	struct va_request request = {
		.opcode = IBV_WR_RDMA_READ,
		.local = &o->in,
		.local_offset = at,
		.length = length,
		.remote = &o->remote,
		.remote_offset = at,
		.wr_id = round,
	};

	va_post(run, &o->endpoint, &request);
}

/* The place has the first data by a WRITE that is complete; then READ and WRITE go at once. */
static void ask_read_write(struct va_run *run, struct ordering *o, uint64_t first, uint64_t end)
{
	for (uint64_t r = first; r < end; r++) {
		fill(run, o, r);
		write_to(run, o, r, slot_of(o, r), slot_of(o, r), o->size, 0);
	}
	notify(run, o, end, false);
	take(run, o, end);
	for (uint64_t r = first; r < end; r++) {
		read_from(run, o, r, slot_of(o, r), o->size);
		write_to(run, o, r, second_of(o, r), slot_of(o, r), o->size, IBV_SEND_FENCE);
	}
	notify(run, o, end, false);
	for (uint64_t r = first; r < end; r++)
		take(run, o, r);
	take(run, o, end);
	for (uint64_t r = first; r < end; r++)
		must_have(run, o, r, false, "a READ before a fenced WRITE");
}

static void see_read_write(struct va_run *run, struct ordering *o, uint64_t first, uint64_t end)
{
	struct ibv_wc wc;

	va_wait_success(run, o->endpoint.recv_cq, "a receive", &wc);
	va_wait_success(run, o->endpoint.recv_cq, "a receive", &wc);
	for (uint64_t r = first; r < end; r++)
		must_have(run, o, r, true, "a fenced WRITE behind a READ");
}

/* ---- FETCH_ADD and the READ behind it ---- */

static void ask_atomic_read(struct va_run *run, struct ordering *o, uint64_t first, uint64_t end)
{
	struct va_request add = {
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.local = &o->in,
		.length = WORD_BYTES,
		.remote = &o->remote,
		.remote_offset = word_of(o, 0),
		.compare_add = 1,
		.is_silent = true,
	};

	for (uint64_t r = first; r < end; r++) {
		struct va_request read = {
			.opcode = IBV_WR_RDMA_READ,
			.local = &o->in,
			.local_offset = word_of(o, r),
			.length = WORD_BYTES,
			.remote = &o->remote,
			.remote_offset = word_of(o, 0),
			.wr_id = r,
		};

		add.local_offset = slot_of(o, r);
		va_post(run, &o->endpoint, &add);
		va_post(run, &o->endpoint, &read);
	}
	for (uint64_t r = first; r < end; r++)
		take(run, o, r);
	for (uint64_t r = first; r < end; r++) {
		uint64_t found = load(o->in.at + word_of(o, r));

		if (found <= r || found > end)
			va_fail(run, "a READ behind FETCH_ADD %llu brought %llu",
				(unsigned long long)r + 1, (unsigned long long)found);
	}
}

static const struct rule rules[] = {
	{"write_write", 1, ask_write_write, see_write_write},
	{"write_over", 0, ask_message, see_message},
	{"write_send", 0, ask_message, see_message},
	{"write_imm", 0, ask_message, see_message},
	{"read_write", 2, ask_read_write, see_read_write},
	{"atomic_read", 0, ask_atomic_read, NULL},
};

static const struct rule *rule_of(const struct va_run *run)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (va_is(run, "rule", rules[i].name))
			return &rules[i];
	}
	return NULL;
}

/* ---- the sides ---- */

static void set_up(struct va_run *run, struct ordering *o)
{
	struct va_endpoint_config config = {
		.type = va_transport_type(va_word(run, "transport")),
		.send_depth = 3 * SLOTS + 2,
		.receive_depth = 2 * SLOTS,
		.timeout = va_impair_timeout(run),
	};

	*o = (struct ordering){.size = (uint32_t)va_number(run, "size")};
	o->slot_bytes = ((o->size + 7) & ~7u) * (size_t)3;
	va_impair(run);
	va_device_open(run, VA_ANY_FAMILY, &o->device);
	if (va_is(run, "rule", "atomic_read") && o->device.attr.atomic_cap == IBV_ATOMIC_NONE)
		va_skip(run, "the device has no atomics");
	va_endpoint_create(run, &o->device, &config, &o->endpoint);
	va_endpoint_connect(run, &o->endpoint);
	va_buffer_create(run, &o->device, SLOTS * o->slot_bytes, VA_ACCESS_ALL, &o->out);
	va_buffer_create(run, &o->device, SLOTS * o->slot_bytes, VA_ACCESS_ALL, &o->in);
	memset(o->in.at, 0, o->in.bytes);
	va_buffer_exchange(run, &o->in, &o->remote);
}

static void tear_down(struct va_run *run, struct ordering *o)
{
	va_endpoint_destroy(run, &o->endpoint);
	va_buffer_destroy(run, &o->out);
	va_buffer_destroy(run, &o->in);
	va_device_close(run, &o->device);
}

static void run_side(struct va_run *run)
{
	const struct rule *rule = rule_of(run);
	uint64_t rounds = va_number(run, "rounds");
	struct ordering o;

	set_up(run, &o);
	for (uint64_t first = 0; first < rounds; first += SLOTS) {
		uint64_t end = first + SLOTS < rounds ? first + SLOTS : rounds;
		uint64_t messages = rule->messages ? rule->messages : end - first;

		for (uint64_t i = 0; !run->is_initiator && rule->see && i < messages; i++)
			va_post_receive(run, &o.endpoint, &o.in, 0, 0, i);
		va_barrier(run, "round");
		if (run->is_initiator)
			rule->ask(run, &o, first, end);
		else if (rule->see)
			rule->see(run, &o, first, end);
		va_progress(run, (double)first / (double)rounds);
	}
	va_barrier(run, "over");
	va_impair_check(run, true);
	if (run->is_initiator)
		va_value(run, "rounds", (double)rounds);
	tear_down(run, &o);
}

void va_ordering_initiator(struct va_run *run)
{
	run_side(run);
}

void va_ordering_target(struct va_run *run)
{
	run_side(run);
}
