/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `bandwidth`: as many bytes and messages as come through in a while, on 1 to many queue pairs
 * of one thread, in one direction or in both. The rate is what the sender has completions for; of
 * UC and UD what arrived, but for WRITEs of UC, which nobody sees arrive. Each queue pair has bytes
 * of its own: in the end every place that was written, received into or read into is compared.
 */
#include "verify/agent/bandwidth.h"
#include "verify/agent/kind.h"
#include "verify/agent/trouble.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define POLL_BATCH     16
#define RECEIVE_RATIO  4 /* receives that are posted for each request under way */
#define SLOTS_BYTES    (4u << 20)
#define QUIET_NS       (300 * ROCE_NS_PER_MS)
#define TURNS_PER_LOOK 64 /* at the clock of stalls, and at the relay */

static enum ibv_qp_type type_of(const struct va_run *run, const struct va_bandwidth *b)
{
	if (b->is_ud)
		return IBV_QPT_UD;
	return va_transport_type(va_word(run, "transport"));
}

/* ---- set-up ---- */

static void read_parameters(struct va_run *run, struct va_bandwidth *b)
{
	const char *op = va_word(run, "op");
	bool is_ud = va_is(run, "op", "ud_send");

	*b = (struct va_bandwidth){
		.lane_count = (uint32_t)va_number(run, "qps"),
		.depth = (uint32_t)va_number(run, "depth"),
		.size = (uint32_t)va_number(run, "size"),
		.messages_max = va_number(run, "messages"),
		.op = op,
		.opcode = is_ud ? IBV_WR_SEND : va_opcode(op),
		.is_ud = is_ud,
		.is_sender = run->is_initiator || va_flag(run, "both"),
		.is_receiver = !run->is_initiator || va_flag(run, "both"),
	};
	if (!b->messages_max)
		b->messages_max = UINT64_MAX;
	b->is_atomic =
		b->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || b->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	b->is_fetching = b->is_atomic || b->opcode == IBV_WR_RDMA_READ;
	b->is_reliable = type_of(run, b) != IBV_QPT_UC && !b->is_ud;
	b->has_receives = b->opcode == IBV_WR_SEND || b->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	if (b->is_atomic)
		b->size = sizeof(uint64_t);
	if (b->is_fetching && !b->is_reliable)
		va_skip(run, "%s is an operation of RC", va_word(run, "op"));
	b->slot_bytes = (b->size + (b->is_ud ? VA_GRH_BYTES : 0) + 7) & ~(size_t)7;
	b->slots = (uint32_t)(SLOTS_BYTES / b->slot_bytes);
	if (b->slots > b->depth * RECEIVE_RATIO)
		b->slots = b->depth * RECEIVE_RATIO;
	if (!b->slots)
		b->slots = 1;
}

static void make_lane(struct va_run *run, struct va_bandwidth *b, struct va_bandwidth_lane *lane)
{
	struct va_endpoint_config config = {
		.type = type_of(run, b),
		.send_depth = b->depth,
		.receive_depth = b->has_receives ? b->depth * RECEIVE_RATIO : 1,
		.send_cq = b->send_cq,
		.recv_cq = b->recv_cq,
		.mtu_bytes = (uint32_t)va_number(run, "mtu"),
		.by_cm = va_is(run, "connect", "rdma_cm"),
		.inline_max = b->size <= va_number(run, "inline") && !b->is_fetching ? b->size : 0,
	};

	va_endpoint_create(run, &b->device, &config, &lane->endpoint);
	if (config.inline_max && lane->endpoint.inline_max >= b->size)
		b->flags = IBV_SEND_INLINE;
	va_endpoint_connect(run, &lane->endpoint);
	if (b->is_ud && b->size > lane->endpoint.mtu_bytes)
		va_skip(run, "UD messages end at the path MTU of %u B", lane->endpoint.mtu_bytes);
}

static void post_receive(struct va_run *run, struct va_bandwidth *b, uint32_t lane,
			 uint64_t message)
{
	bool is_send = b->opcode == IBV_WR_SEND;

	va_post_receive(run, &b->lanes[lane].endpoint, &b->in,
			(size_t)(va_bandwidth_slot(b, lane, message) - b->in.at),
			is_send ? b->size + (b->is_ud ? VA_GRH_BYTES : 0) : 0, lane);
}

static void fill_memory(struct va_run *run, struct va_bandwidth *b)
{
	memset(b->in.at, 0, b->in.bytes);
	memset(b->out.at, 0, b->out.bytes);
	for (uint32_t i = 0; i < b->lane_count && !b->is_atomic; i++)
		va_pattern_fill(b->out.at + (size_t)i * b->size, b->size, va_seed(run, true),
				(uint64_t)i * b->size);
}

static void set_up(struct va_run *run, struct va_bandwidth *b)
{
	uint32_t receives;

	read_parameters(run, b);
	if (va_number(run, "shape"))
		va_link_need(run);
	va_device_open(run, VA_ANY_FAMILY, &b->device);
	if (b->is_atomic && b->device.attr.atomic_cap == IBV_ATOMIC_NONE)
		va_skip(run, "the device has no atomics");
	receives = b->lane_count * b->depth * RECEIVE_RATIO;
	if (receives > (uint32_t)b->device.attr.max_cqe)
		va_skip(run, "completion queues have %d entries at most, %u are needed",
			b->device.attr.max_cqe, receives);
	b->send_cq =
		ibv_create_cq(b->device.context, (int)(b->lane_count * b->depth), NULL, NULL, 0);
	b->recv_cq = ibv_create_cq(b->device.context, (int)receives, NULL, NULL, 0);
	va_need(run, b->send_cq && b->recv_cq, "ibv_create_cq");
	b->lanes = calloc(b->lane_count, sizeof(*b->lanes));
	va_need(run, b->lanes != NULL, "calloc");
	for (uint32_t i = 0; i < b->lane_count; i++)
		make_lane(run, b, &b->lanes[i]);
	va_buffer_create(run, &b->device, (size_t)b->lane_count * b->size, VA_ACCESS_ALL, &b->out);
	va_buffer_create(run, &b->device, (size_t)b->lane_count * b->slots * b->slot_bytes,
			 VA_ACCESS_ALL, &b->in);
	fill_memory(run, b);
	/* READs and atomics go to what the other side has, WRITEs to where things arrive */
	va_buffer_exchange(run, b->is_fetching ? &b->out : &b->in, &b->remote);
	for (uint32_t i = 0; i < b->lane_count && b->has_receives && b->is_receiver; i++) {
		for (uint32_t k = 0; k < b->depth * RECEIVE_RATIO; k++)
			post_receive(run, b, i, k);
	}
}

static void tear_down(struct va_run *run, struct va_bandwidth *b)
{
	for (uint32_t i = 0; i < b->lane_count; i++)
		va_endpoint_destroy(run, &b->lanes[i].endpoint);
	va_need(run, !ibv_destroy_cq(b->send_cq) && !ibv_destroy_cq(b->recv_cq), "ibv_destroy_cq");
	va_buffer_destroy(run, &b->out);
	va_buffer_destroy(run, &b->in);
	va_device_close(run, &b->device);
	free(b->lanes);
}

/* ---- the loop ---- */

static void post_one(struct va_run *run, struct va_bandwidth *b, uint32_t index)
{
	struct va_bandwidth_lane *lane = &b->lanes[index];
	size_t slot = (size_t)(va_bandwidth_slot(b, index, lane->posted) - b->in.at);
	struct va_request request = {
		.opcode = b->opcode,
		.local = b->is_fetching ? &b->in : &b->out,
		.local_offset = b->is_fetching ? slot : (size_t)index * b->size,
		.length = b->size,
		.remote = b->opcode == IBV_WR_SEND ? NULL : &b->remote,
		.remote_offset = b->is_fetching ? (size_t)index * b->size : slot,
		.wr_id = index,
		.flags = b->flags,
		/* each compare-and-swap finds what the last one left */
		.compare_add = b->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 1 : lane->posted,
		.swap = lane->posted + 1,
	};

	va_post(run, &lane->endpoint, &request);
	lane->posted++;
	b->posted++;
}

static int take_batch(struct va_run *run, struct ibv_cq *cq, struct ibv_wc wc[POLL_BATCH])
{
	int n = ibv_poll_cq(cq, POLL_BATCH, wc);

	if (n < 0)
		va_fail(run, "ibv_poll_cq: %d", n);
	return n;
}

static void take_completions(struct va_run *run, struct va_bandwidth *b, bool goes_on,
			     roce_ns_t now)
{
	struct ibv_wc wc[POLL_BATCH];
	int n = take_batch(run, b->send_cq, wc);

	for (int i = 0; i < n; i++) {
		va_must_succeed(run, &wc[i], b->op);
		if (goes_on && b->posted < b->messages_max)
			post_one(run, b, (uint32_t)wc[i].wr_id);
	}
	b->completed += (uint64_t)n;
	if (n) {
		b->sent_at = now;
		va_parts_note(&b->sent_in_parts, now, b->completed);
	}
}

static void take_receives(struct va_run *run, struct va_bandwidth *b, roce_ns_t now)
{
	struct ibv_wc wc[POLL_BATCH];
	int n = take_batch(run, b->recv_cq, wc);

	for (int i = 0; i < n; i++) {
		uint32_t index = (uint32_t)wc[i].wr_id;
		uint32_t expected = b->size + (b->is_ud ? VA_GRH_BYTES : 0);

		va_must_succeed(run, &wc[i], "a receive");
		if (wc[i].byte_len != expected)
			va_fail(run, "a message of %u B came, expected %u", wc[i].byte_len,
				expected);
		post_receive(run, b, index,
			     b->lanes[index].received++ + (uint64_t)b->depth * RECEIVE_RATIO);
	}
	b->received += (uint64_t)n;
	if (n) {
		b->received_at = now;
		va_parts_note(&b->received_in_parts, now, b->received);
	}
}

/* Whether nothing more can come: all that was sent, or of UC and UD nothing for a while. */
static bool is_all_received(const struct va_bandwidth *b, roce_ns_t now)
{
	if (!b->is_receiver)
		return true;
	if (!b->theirs)
		return false;
	if (!b->has_receives || b->received >= (uint64_t)roce_json_integer(b->theirs, "completed"))
		return true;
	return !b->is_reliable && now - b->received_at > QUIET_NS;
}

static void tell_end(struct va_run *run, struct va_bandwidth *b)
{
	json_t *lanes = json_array();

	for (uint32_t i = 0; i < b->lane_count; i++)
		json_array_append_new(lanes, json_integer((json_int_t)b->lanes[i].posted));
	va_send(run, json_pack("{s:I, s:I, s:o}", "completed", (json_int_t)b->completed, "ns",
			       (json_int_t)(b->sent_at - b->begun), "lanes", lanes));
}

/* One turn of what this side sends; true when it has told that it is through. */
static bool send_more(struct va_run *run, struct va_bandwidth *b, roce_ns_t now, roce_ns_t end)
{
	take_completions(run, b, now < end, now);
	if ((now < end && b->posted < b->messages_max) || b->completed < b->posted)
		return false;
	tell_end(run, b);
	return true;
}

static void must_move(struct va_run *run, const struct va_bandwidth *b, roce_ns_t now)
{
	roce_ns_t last = b->sent_at > b->received_at ? b->sent_at : b->received_at;

	if (now > last && now - last > VA_STALL_S * ROCE_NS_PER_S)
		va_fail(run,
			"nothing moved for %d s: %llu of %llu requests have completed, %llu "
			"messages came",
			VA_STALL_S, (unsigned long long)b->completed, (unsigned long long)b->posted,
			(unsigned long long)b->received);
}

/* Processor time of all threads, in user space and in the kernel. */
static uint64_t cpu_ns(void)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * ROCE_NS_PER_S +
	       ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) *
		       ROCE_NS_PER_US;
}

static void run_traffic(struct va_run *run, struct va_bandwidth *b)
{
	bool is_through = !b->is_sender;
	roce_ns_t end;

	/* both directions: of a READ the data comes from the other side */
	if (va_number(run, "shape"))
		va_link_shape(run, va_number(run, "shape"));
	va_barrier(run, "ready");
	b->cpu_before_ns = cpu_ns();
	b->begun = b->sent_at = b->received_at = roce_clock_now();
	end = b->begun + va_number(run, "duration");
	va_parts_begin(&b->sent_in_parts, b->begun, va_number(run, "duration"));
	b->received_in_parts = b->sent_in_parts;
	for (uint32_t i = 0; i < b->lane_count && b->is_sender; i++) {
		for (uint32_t k = 0; k < b->depth && b->posted < b->messages_max; k++)
			post_one(run, b, i);
	}
	/* The program of a side that is only written to or read from sleeps. */
	if (!b->is_sender && !b->has_receives)
		b->theirs = va_receive(run);
	for (uint32_t turn = 0;; turn++) {
		roce_ns_t now = roce_clock_now();

		if (!is_through)
			is_through = send_more(run, b, now, end);
		if (b->has_receives && b->is_receiver)
			take_receives(run, b, now);
		if (b->is_receiver && !b->theirs && turn % TURNS_PER_LOOK == 0 && va_is_heard(run))
			b->theirs = va_receive(run);
		if (is_through && is_all_received(b, now))
			return;
		if (turn % TURNS_PER_LOOK == 0) {
			must_move(run, b, now);
			va_progress(run,
				    (double)(now - b->begun) / (double)va_number(run, "duration"));
		}
	}
}

/* ---- the sides ---- */

static void run_side(struct va_run *run)
{
	struct va_bandwidth b;

	set_up(run, &b);
	run_traffic(run, &b);
	b.cpu_after_ns = cpu_ns();
	b.ended = roce_clock_now();
	va_barrier(run, "through");
	if (va_number(run, "shape"))
		va_link_unshape();
	va_bandwidth_check(run, &b);
	va_bandwidth_report(run, &b);
	json_decref(b.theirs);
	tear_down(run, &b);
}

void va_bandwidth_initiator(struct va_run *run)
{
	run_side(run);
}

void va_bandwidth_target(struct va_run *run)
{
	run_side(run);
}
