/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `bandwidth`: as many bytes and messages as come through in a while, on 1 to many queue pairs
 * of one thread, in one direction or in both. The rate is what the sender has completions for; of
 * UC and UD what arrived, but for WRITEs of UC, which nobody sees arrive. Each queue pair has bytes
 * of its own: in the end every place that was written, received into or read into is compared.
 */
#include "verify/agent/kind.h"
#include "verify/agent/trouble.h"
#include "verify/agent/work.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define GRH_BYTES	 40
#define POLL_BATCH	 16
#define RECEIVE_RATIO	 4 /* receives that are posted for each request under way */
#define SLOTS_BYTES	 (4u << 20)
#define QUIET_NS	 (300 * ROCE_NS_PER_MS)
#define TARGET_SEED	 UINT64_C(0x7a7a7a7a7a7a7a7a)
#define GIGA		 1e9
#define RETH_BYTES	 16
#define IMM_BYTES	 4
#define AETH_BYTES	 4
#define DETH_BYTES	 8
#define XRCETH_BYTES	 4
#define TURNS_PER_LOOK	 64  /* at the clock of stalls, and at the relay */
#define LINE_PERCENT_MAX 105 /* the shaper's burst comes on top */

struct lane {
	struct va_endpoint endpoint;
	uint64_t posted;
	uint64_t received;
};

struct bandwidth {
	struct va_device device;
	struct lane *lanes;
	uint32_t lane_count;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct va_buffer out; /* what each lane sends, or lets be read */
	struct va_buffer in;  /* the slots of each lane */
	struct va_remote remote;
	uint32_t size;
	size_t slot_bytes;
	uint32_t slots; /* of a lane */
	uint32_t depth;
	enum ibv_wr_opcode opcode;
	bool is_ud;
	bool is_reliable;
	bool has_receives;
	bool is_sender;
	bool is_receiver;
	unsigned int flags;
	uint64_t messages_max;
	const char *op; /* looking a parameter up takes as long as posting */
	/* counted */
	uint64_t posted;
	uint64_t completed;
	uint64_t received;
	uint64_t cpu_before_ns; /* of this process */
	uint64_t cpu_after_ns;
	roce_ns_t begun;
	roce_ns_t ended;
	roce_ns_t sent_at; /* the last completion */
	roce_ns_t received_at;
	json_t *theirs; /* the other side's end, once it is heard */
};

static bool is_atomic(const struct bandwidth *b)
{
	return b->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || b->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
}

/* Data comes to the side that asks. */
static bool is_fetching(const struct bandwidth *b)
{
	return is_atomic(b) || b->opcode == IBV_WR_RDMA_READ;
}

static enum ibv_qp_type type_of(const struct va_run *run, const struct bandwidth *b)
{
	if (b->is_ud)
		return IBV_QPT_UD;
	return va_transport_type(va_word(run, "transport"));
}

static uint64_t seed_of(const struct va_run *run, bool of_initiator)
{
	return of_initiator ? run->seed : run->seed ^ TARGET_SEED;
}

/* ---- set-up ---- */

static void read_parameters(struct va_run *run, struct bandwidth *b)
{
	const char *op = va_word(run, "op");
	bool is_ud = va_is(run, "op", "ud_send");

	*b = (struct bandwidth){
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
	b->is_reliable = type_of(run, b) != IBV_QPT_UC && !b->is_ud;
	b->has_receives = b->opcode == IBV_WR_SEND || b->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	if (is_atomic(b))
		b->size = sizeof(uint64_t);
	if (is_fetching(b) && !b->is_reliable)
		va_skip(run, "%s is an operation of RC", va_word(run, "op"));
	b->slot_bytes = (b->size + (b->is_ud ? GRH_BYTES : 0) + 7) & ~(size_t)7;
	b->slots = (uint32_t)(SLOTS_BYTES / b->slot_bytes);
	if (b->slots > b->depth * RECEIVE_RATIO)
		b->slots = b->depth * RECEIVE_RATIO;
	if (!b->slots)
		b->slots = 1;
}

static void make_lane(struct va_run *run, struct bandwidth *b, struct lane *lane)
{
	struct va_endpoint_config config = {
		.type = type_of(run, b),
		.send_depth = b->depth,
		.receive_depth = b->has_receives ? b->depth * RECEIVE_RATIO : 1,
		.send_cq = b->send_cq,
		.recv_cq = b->recv_cq,
		.mtu_bytes = (uint32_t)va_number(run, "mtu"),
		.by_cm = va_is(run, "connect", "rdma_cm"),
		.inline_max = b->size <= va_number(run, "inline") && !is_fetching(b) ? b->size : 0,
	};

	va_endpoint_create(run, &b->device, &config, &lane->endpoint);
	if (config.inline_max && lane->endpoint.inline_max >= b->size)
		b->flags = IBV_SEND_INLINE;
	va_endpoint_connect(run, &lane->endpoint);
	if (b->is_ud && b->size > lane->endpoint.mtu_bytes)
		va_skip(run, "UD messages end at the path MTU of %u B", lane->endpoint.mtu_bytes);
}

static uint8_t *slot_at(const struct bandwidth *b, uint32_t lane, uint64_t message)
{
	return b->in.at + ((size_t)lane * b->slots + message % b->slots) * b->slot_bytes;
}

static void post_receive(struct va_run *run, struct bandwidth *b, uint32_t lane, uint64_t message)
{
	bool is_send = b->opcode == IBV_WR_SEND;

	va_post_receive(run, &b->lanes[lane].endpoint, &b->in,
			(size_t)(slot_at(b, lane, message) - b->in.at),
			is_send ? b->size + (b->is_ud ? GRH_BYTES : 0) : 0, lane);
}

static void fill_memory(struct va_run *run, struct bandwidth *b)
{
	memset(b->in.at, 0, b->in.bytes);
	memset(b->out.at, 0, b->out.bytes);
	for (uint32_t i = 0; i < b->lane_count && !is_atomic(b); i++)
		va_pattern_fill(b->out.at + (size_t)i * b->size, b->size,
				seed_of(run, run->is_initiator), (uint64_t)i * b->size);
}

static void set_up(struct va_run *run, struct bandwidth *b)
{
	uint32_t receives;

	read_parameters(run, b);
	if (va_number(run, "shape"))
		va_link_need(run);
	va_device_open(run, VA_ANY_FAMILY, &b->device);
	if (is_atomic(b) && b->device.attr.atomic_cap == IBV_ATOMIC_NONE)
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
	va_buffer_exchange(run, is_fetching(b) ? &b->out : &b->in, &b->remote);
	for (uint32_t i = 0; i < b->lane_count && b->has_receives && b->is_receiver; i++) {
		for (uint32_t k = 0; k < b->depth * RECEIVE_RATIO; k++)
			post_receive(run, b, i, k);
	}
}

static void tear_down(struct va_run *run, struct bandwidth *b)
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

static void post_one(struct va_run *run, struct bandwidth *b, uint32_t index)
{
	struct lane *lane = &b->lanes[index];
	size_t slot = (size_t)(slot_at(b, index, lane->posted) - b->in.at);
	struct va_request request = {
		.opcode = b->opcode,
		.local = is_fetching(b) ? &b->in : &b->out,
		.local_offset = is_fetching(b) ? slot : (size_t)index * b->size,
		.length = b->size,
		.remote = b->opcode == IBV_WR_SEND ? NULL : &b->remote,
		.remote_offset = is_fetching(b) ? (size_t)index * b->size : slot,
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

static void take_completions(struct va_run *run, struct bandwidth *b, bool goes_on, roce_ns_t now)
{
	struct ibv_wc wc[POLL_BATCH];
	int n = take_batch(run, b->send_cq, wc);

	for (int i = 0; i < n; i++) {
		va_must_succeed(run, &wc[i], b->op);
		if (goes_on && b->posted < b->messages_max)
			post_one(run, b, (uint32_t)wc[i].wr_id);
	}
	b->completed += (uint64_t)n;
	if (n)
		b->sent_at = now;
}

static void take_receives(struct va_run *run, struct bandwidth *b, roce_ns_t now)
{
	struct ibv_wc wc[POLL_BATCH];
	int n = take_batch(run, b->recv_cq, wc);

	for (int i = 0; i < n; i++) {
		uint32_t index = (uint32_t)wc[i].wr_id;
		uint32_t expected = b->size + (b->is_ud ? GRH_BYTES : 0);

		va_must_succeed(run, &wc[i], "a receive");
		if (wc[i].byte_len != expected)
			va_fail(run, "a message of %u B came, expected %u", wc[i].byte_len,
				expected);
		post_receive(run, b, index,
			     b->lanes[index].received++ + (uint64_t)b->depth * RECEIVE_RATIO);
	}
	b->received += (uint64_t)n;
	if (n)
		b->received_at = now;
}

/* Whether nothing more can come: all that was sent, or of UC and UD nothing for a while. */
static bool is_all_received(const struct bandwidth *b, roce_ns_t now)
{
	if (!b->is_receiver)
		return true;
	if (!b->theirs)
		return false;
	if (!b->has_receives || b->received >= (uint64_t)roce_json_integer(b->theirs, "completed"))
		return true;
	return !b->is_reliable && now - b->received_at > QUIET_NS;
}

static void tell_end(struct va_run *run, struct bandwidth *b)
{
	json_t *lanes = json_array();

	for (uint32_t i = 0; i < b->lane_count; i++)
		json_array_append_new(lanes, json_integer((json_int_t)b->lanes[i].posted));
	va_send(run, json_pack("{s:I, s:I, s:o}", "completed", (json_int_t)b->completed, "ns",
			       (json_int_t)(b->sent_at - b->begun), "lanes", lanes));
}

/* One turn of what this side sends; true when it has told that it is through. */
static bool send_more(struct va_run *run, struct bandwidth *b, roce_ns_t now, roce_ns_t end)
{
	take_completions(run, b, now < end, now);
	if ((now < end && b->posted < b->messages_max) || b->completed < b->posted)
		return false;
	tell_end(run, b);
	return true;
}

static void must_move(struct va_run *run, const struct bandwidth *b, roce_ns_t now)
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

static void run_traffic(struct va_run *run, struct bandwidth *b)
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

/* ---- what it left ---- */

static void check_fetched(struct va_run *run, const struct bandwidth *b, uint32_t lane)
{
	uint64_t posted = b->lanes[lane].posted;
	uint64_t first = posted > b->slots ? posted - b->slots : 0;
	uint64_t found;

	for (uint64_t m = first; m < posted; m++) {
		if (!is_atomic(b)) {
			va_pattern_must(run, slot_at(b, lane, m), b->size,
					seed_of(run, !run->is_initiator), (uint64_t)lane * b->size,
					"what READ brought");
			continue;
		}
		memcpy(&found, slot_at(b, lane, m), sizeof(found));
		if (found != m)
			va_fail(run, "atomic %llu of queue pair %u returned %llu",
				(unsigned long long)m, lane, (unsigned long long)found);
	}
}

static void check_cells(struct va_run *run, const struct bandwidth *b)
{
	const json_t *lanes = json_object_get(b->theirs, "lanes");
	uint64_t found;

	for (uint32_t i = 0; i < b->lane_count; i++) {
		uint64_t posted = (uint64_t)json_integer_value(json_array_get(lanes, i));

		memcpy(&found, b->out.at + (size_t)i * b->size, sizeof(found));
		if (found != posted)
			va_fail(run, "%llu atomics of queue pair %u left %llu",
				(unsigned long long)posted, i, (unsigned long long)found);
	}
}

/* What came by SEND lies in the places of its receives, what came by WRITE where it was sent. */
static void check_arrived(struct va_run *run, const struct bandwidth *b, uint32_t lane)
{
	const json_t *posted = json_array_get(json_object_get(b->theirs, "lanes"), lane);
	uint64_t count = b->opcode == IBV_WR_SEND ? b->lanes[lane].received
						  : (uint64_t)json_integer_value(posted);

	for (uint64_t m = 0; m < count && m < b->slots; m++)
		va_pattern_must(run, slot_at(b, lane, m) + (b->is_ud ? GRH_BYTES : 0), b->size,
				seed_of(run, !run->is_initiator), (uint64_t)lane * b->size,
				b->opcode == IBV_WR_SEND ? "what SEND brought" : "what WRITE left");
}

static void check(struct va_run *run, const struct bandwidth *b)
{
	/* a WRITE of UC may have been lost, or a part of it, and nothing tells which */
	bool is_whole = b->is_reliable || b->opcode == IBV_WR_SEND;

	if (b->is_receiver && is_atomic(b))
		check_cells(run, b);
	for (uint32_t i = 0; i < b->lane_count; i++) {
		if (b->is_sender && is_fetching(b))
			check_fetched(run, b, i);
		if (b->is_receiver && !is_fetching(b) && is_whole)
			check_arrived(run, b, i);
	}
}

/* ---- the result ---- */

struct flow {
	double messages;
	double seconds;
};

static struct flow flow_of(const json_t *object, const char *count, const char *ns)
{
	double spent = roce_json_number(object, ns);

	return (struct flow){roce_json_number(object, count), (spent > 0 ? spent : 1) / 1e9};
}

/* One direction: of RC what completed, of the others what arrived. */
static struct flow direction(const struct bandwidth *b, const json_t *sender,
			     const json_t *receiver)
{
	if (b->is_reliable || !b->has_receives)
		return flow_of(sender, "completed", "sent_ns");
	return flow_of(receiver, "received", "received_ns");
}

/* What one message takes on the Ethernet, as a shaper counts it: packets with all headers. */
static double bytes_on_line(const struct bandwidth *b)
{
	uint32_t mtu = b->lanes[0].endpoint.mtu_bytes;
	uint32_t packets = (b->size + mtu - 1) / mtu;
	bool is_ipv4 = b->device.address.ss_family == AF_INET;
	uint32_t headers = 14 + (is_ipv4 ? 20u : 40u) + 8 + 12 + 4; /* Ethernet IP UDP BTH ICRC */
	double once = 0;

	if (b->opcode == IBV_WR_RDMA_WRITE || b->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		once = RETH_BYTES;
	if (b->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		once += IMM_BYTES;
	if (b->opcode == IBV_WR_RDMA_READ) /* of the answer: its first packet and its last */
		once = packets > 1 ? 2 * AETH_BYTES : AETH_BYTES;
	if (b->lanes[0].endpoint.target_qp && !is_fetching(b))
		headers += XRCETH_BYTES;
	if (b->is_ud)
		headers += DETH_BYTES;
	return b->size + (double)packets * headers + once;
}

/* More than the line can carry proves that there was none. */
static void report_line(struct va_run *run, double rate, double line)
{
	double percent = 100 * rate / line;

	if (percent > LINE_PERCENT_MAX)
		va_fail(run, "the line of %.3g Gb/s carried %.0f %% of that: it is not shaped",
			line / GIGA, percent);
	va_value(run, "line", percent);
}

static void report(struct va_run *run, struct bandwidth *b)
{
	uint64_t shape = va_number(run, "shape");
	json_t *own = json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I}", "cpu_ns",
		(json_int_t)(b->cpu_after_ns - b->cpu_before_ns), "span_ns",
		(json_int_t)(b->ended - b->begun), "completed", (json_int_t)b->completed, "sent_ns",
		(json_int_t)(b->sent_at - b->begun), "received", (json_int_t)b->received,
		"received_ns", (json_int_t)(b->received_at - b->begun));
	json_t *theirs = va_exchange(run, json_deep_copy(own));
	struct flow flows[2] = {direction(b, own, theirs), direction(b, theirs, own)};
	double sent = roce_json_number(own, "completed") + roce_json_number(theirs, "completed");
	double arrived = roce_json_number(own, "received") + roce_json_number(theirs, "received");
	double messages = 0;
	double least = 0; /* of one direction */
	double span;

	for (int i = 0; i < (va_flag(run, "both") ? 2 : 1); i++) {
		double one = flows[i].messages / flows[i].seconds;

		messages += one;
		least = i && least < one ? least : one;
	}
	va_value(run, "rate", messages * b->size * 8 / GIGA);
	va_value(run, "messages", messages);
	span = roce_json_number(theirs, "span_ns");
	va_value(run, "target_cpu",
		 100 * roce_json_number(theirs, "cpu_ns") / (span > 0 ? span : 1));
	/* of WRITEs of UC nobody knows what came through */
	if (shape && (b->is_reliable || b->has_receives))
		report_line(run, least * bytes_on_line(b) * 8, (double)shape);
	if (b->has_receives && !b->is_reliable)
		va_value(run, "lost", sent > 0 ? 100 * (1 - arrived / sent) : 0);
	va_detail(run, "counts", own);
	va_detail(run, "inline", json_boolean(b->flags != 0));
	va_detail(run, "mtu", json_integer(b->lanes[0].endpoint.mtu_bytes));
	va_device_report(run, &b->device);
	json_decref(theirs);
}

static void run_side(struct va_run *run)
{
	struct bandwidth b;

	set_up(run, &b);
	run_traffic(run, &b);
	b.cpu_after_ns = cpu_ns();
	b.ended = roce_clock_now();
	va_barrier(run, "through");
	if (va_number(run, "shape"))
		va_link_unshape();
	check(run, &b);
	report(run, &b);
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
