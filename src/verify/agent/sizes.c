/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `sizes`: one message of each size where something ends and something else begins: nothing, a
 * byte, the path MTU and its multiples, the largest. Where a message shall arrive no byte is what
 * it must become; then each must be, the memory in front and behind must be as it was, and in the
 * end so must all of the source.
 *
 * UC and UD may lose a message: it is sent again, and what is left of a lost one must be its first
 * packets and nothing else. Up to MUST_COME_BYTES one of some attempts must come. UD's largest is
 * the path MTU, and of one byte more nothing may come.
 */
#include "verify/agent/kind.h"
#include "verify/agent/room.h"
#include "verify/agent/work.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_BYTES	4096u /* in front of the message and behind it */
#define GUARD		0x5c
#define EDGES_MAX	96u
#define EXACT_BYTES	(16u << 20) /* larger ones are painted with one byte */
#define PAINT		0xee
#define MUST_COME_BYTES (1u << 20)
#define ATTEMPTS	20
#define ATTEMPTS_LONG	3
#define QUIET_NS	(100 * ROCE_NS_PER_MS)
#define BYTES_PER_S	(UINT64_C(16) << 20) /* slower than that is not moving */

struct sizes {
	struct va_device device;
	struct va_endpoint endpoint;
	struct va_buffer out; /* of the side whose bytes go: it begins with the message */
	struct va_buffer in;  /* of the other: a guard, the message, a guard */
	struct va_remote remote;
	enum ibv_wr_opcode opcode;
	bool is_read;
	bool has_receive;
	bool has_imm;
	bool is_lossy;
	bool is_ud;
	bool is_source; /* this side's bytes go */
	uint64_t edges[EDGES_MAX];
	uint32_t edge_count;
	/* counted by where they arrive */
	uint64_t messages;
	uint64_t bytes;
	uint64_t largest;
	uint64_t lost;
};

/* ---- which sizes ---- */

static void add_around(struct sizes *s, uint64_t size, uint64_t most, uint64_t least)
{
	for (int i = -1; i <= 1; i++) {
		uint64_t one = size + (uint64_t)(int64_t)i;

		if ((size == 0 && i < 0) || one > most || one < least || s->edge_count == EDGES_MAX)
			continue;
		s->edges[s->edge_count++] = one;
	}
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void find_edges(struct va_run *run, struct sizes *s)
{
	static const uint64_t small[] = {0, 4, 8, 64};
	uint64_t mtu = s->endpoint.mtu_bytes;
	uint64_t least = va_number(run, "size_min");
	uint64_t most = va_number(run, "size_max");
	uint32_t kept = 0;

	if (s->is_ud && most > mtu)
		most = mtu;
	if (most > s->device.port_attr.max_msg_sz)
		va_skip(run, "messages of the device end at %u B", s->device.port_attr.max_msg_sz);
	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
		add_around(s, small[i], most, least);
	for (uint64_t k = 1; k <= 4; k++)
		add_around(s, k * mtu, most, least);
	for (uint64_t size = 16 * mtu; size < most; size *= 4)
		add_around(s, size, most, least);
	add_around(s, most, most, least);
	qsort(s->edges, s->edge_count, sizeof(s->edges[0]), by_size);
	for (uint32_t i = 0; i < s->edge_count; i++) {
		if (!kept || s->edges[kept - 1] != s->edges[i])
			s->edges[kept++] = s->edges[i];
	}
	s->edge_count = kept;
	if (!kept)
		va_fail(run, "no size from size_min to size_max is one of the operation");
}

/* ---- memory ---- */

static uint8_t *message_at(const struct sizes *s)
{
	return s->in.at + GUARD_BYTES;
}

/* What byte i of a message of `size` is before it comes: never what it must become, but that of
 * long ones all bytes except the last, which is waited for, are one and the same. */
static uint8_t paint_of(const struct va_run *run, uint64_t size, uint64_t i)
{
	return size > EXACT_BYTES && i + 1 < size ? PAINT : (uint8_t)~va_pattern_byte(run->seed, i);
}

static void paint(struct va_run *run, const struct sizes *s, uint64_t size)
{
	uint8_t *at = message_at(s);

	memset(s->in.at, GUARD, GUARD_BYTES);
	memset(at + size, GUARD, GUARD_BYTES);
	if (size > EXACT_BYTES) {
		memset(at, PAINT, (size_t)size);
		at[size - 1] = paint_of(run, size, size - 1);
		return;
	}
	va_pattern_fill(at, (size_t)size, run->seed, 0);
	for (uint64_t i = 0; i < size; i++)
		at[i] = (uint8_t)~at[i];
}

static void check_guards(struct va_run *run, const struct sizes *s, uint64_t size)
{
	const uint8_t *behind = message_at(s) + size;
	uint32_t before = s->is_ud ? GUARD_BYTES - VA_GRH_BYTES : GUARD_BYTES;

	for (uint32_t i = 0; i < before; i++) {
		if (s->in.at[i] != GUARD)
			va_fail(run, "a message of %llu B changed a byte %u B in front of it",
				(unsigned long long)size, GUARD_BYTES - i);
	}
	for (uint32_t i = 0; i < GUARD_BYTES; i++) {
		if (behind[i] != GUARD)
			va_fail(run, "a message of %llu B changed a byte %u B behind its end",
				(unsigned long long)size, i + 1);
	}
}

static void check_whole(struct va_run *run, struct sizes *s, uint64_t size)
{
	char what[64];

	snprintf(what, sizeof(what), "what %s of %llu B brought", va_word(run, "op"),
		 (unsigned long long)size);
	va_pattern_must(run, message_at(s), (size_t)size, run->seed, 0, what);
	check_guards(run, s, size);
	s->messages++;
	s->bytes += size;
	s->largest = size > s->largest ? size : s->largest;
}

/* The first packets of it may have come, whole ones, and nothing behind them. */
static void check_lost(struct va_run *run, struct sizes *s, uint64_t size)
{
	uint64_t came = va_pattern_check(message_at(s), (size_t)size, run->seed, 0);

	for (uint64_t i = came; i < size; i++) {
		if (came % s->endpoint.mtu_bytes != 0 || message_at(s)[i] != paint_of(run, size, i))
			va_fail(run,
				"a lost message of %llu B: byte %llu is 0x%02x, and is neither "
				"what it was nor part of the packets before it",
				(unsigned long long)size, (unsigned long long)i, message_at(s)[i]);
	}
	check_guards(run, s, size);
	s->lost++;
}

/* ---- set-up ---- */

static void set_up(struct va_run *run, struct sizes *s)
{
	struct va_endpoint_config config = {
		.type = va_transport_type(va_word(run, "transport")),
		.send_depth = 4,
		.receive_depth = 4,
		.mtu_bytes = (uint32_t)va_number(run, "mtu"),
	};
	uint64_t most;
	uint64_t room;

	*s = (struct sizes){
		.opcode = va_opcode(va_word(run, "op")),
		.is_ud = config.type == IBV_QPT_UD,
		.is_lossy = config.type == IBV_QPT_UD || config.type == IBV_QPT_UC,
	};
	s->is_read = s->opcode == IBV_WR_RDMA_READ;
	s->has_imm = s->opcode == IBV_WR_SEND_WITH_IMM || s->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	s->has_receive = s->has_imm || s->opcode == IBV_WR_SEND;
	s->is_source = run->is_initiator != s->is_read;
	if ((s->is_read && s->is_lossy) ||
	    (s->is_ud && s->opcode != IBV_WR_SEND && s->opcode != IBV_WR_SEND_WITH_IMM))
		va_skip(run, "%s is no operation of %s", va_word(run, "op"),
			va_word(run, "transport"));
	va_device_open(run, VA_ANY_FAMILY, &s->device);
	va_endpoint_create(run, &s->device, &config, &s->endpoint);
	va_endpoint_connect(run, &s->endpoint);
	find_edges(run, s);
	most = s->edges[s->edge_count - 1];
	room = most + s->is_ud; /* for the byte too many of refuse_longer() */
	va_room_need(run, most);
	va_room_buffer(run, &s->device, s->is_source ? (size_t)most + 1 : 1, VA_ACCESS_ALL,
		       &s->out);
	va_room_buffer(run, &s->device, s->is_source ? 1 : (size_t)room + 2 * GUARD_BYTES,
		       VA_ACCESS_ALL, &s->in);
	va_buffer_exchange(run, s->is_read ? &s->out : &s->in, &s->remote);
	if (s->is_source)
		va_pattern_fill(s->out.at, (size_t)most + 1, run->seed, 0);
}

static void tear_down(struct va_run *run, struct sizes *s)
{
	va_endpoint_destroy(run, &s->endpoint);
	va_buffer_destroy(run, &s->out);
	va_buffer_destroy(run, &s->in);
	va_device_close(run, &s->device);
}

/* ---- one message ---- */

static struct va_request request_of(const struct sizes *s, uint64_t size)
{
	return (struct va_request){
		.opcode = s->opcode,
		.local = s->is_read ? &s->in : &s->out,
		.local_offset = s->is_read ? GUARD_BYTES : 0,
		.length = (uint32_t)size,
		.remote = s->has_receive && s->opcode != IBV_WR_RDMA_WRITE_WITH_IMM ? NULL
										    : &s->remote,
		.remote_offset = s->is_read ? 0 : GUARD_BYTES,
		.wr_id = size,
		.imm = (uint32_t)size ^ 0x5a5a5a5au,
	};
}

static void await(struct va_run *run, struct ibv_cq *cq, uint64_t size, const char *what,
		  struct ibv_wc *wc)
{
	va_wait_long(run, cq, what, VA_STALL_S + (uint32_t)(size / BYTES_PER_S), wc);
	va_must_succeed(run, wc, what);
	if (wc->wr_id != size)
		va_fail(run, "the completion of %s of %llu B has wr_id %llu", what,
			(unsigned long long)size, (unsigned long long)wc->wr_id);
}

static void request(struct va_run *run, struct sizes *s, uint64_t size)
{
	struct va_request request = request_of(s, size);
	struct ibv_wc wc;

	va_post(run, &s->endpoint, &request);
	await(run, s->endpoint.send_cq, size, va_word(run, "op"), &wc);
	if (s->is_read && wc.byte_len != size)
		va_fail(run, "READ of %llu B has byte_len %u", (unsigned long long)size,
			wc.byte_len);
}

static void post_receive(struct va_run *run, struct sizes *s, uint64_t size)
{
	uint32_t grh = s->is_ud ? VA_GRH_BYTES : 0;
	bool is_send = s->opcode != IBV_WR_RDMA_WRITE_WITH_IMM;

	va_post_receive(run, &s->endpoint, &s->in, GUARD_BYTES - grh,
			is_send ? (uint32_t)size + grh : 0, size);
}

static void check_receive(struct va_run *run, const struct sizes *s, const struct ibv_wc *wc,
			  uint64_t size)
{
	bool is_write = s->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	uint64_t bytes = size + (s->is_ud ? VA_GRH_BYTES : 0);

	if (wc->byte_len != bytes || wc->wr_id != size)
		va_fail(run, "a message of %llu B came as one of %u B, wr_id %llu",
			(unsigned long long)bytes, wc->byte_len, (unsigned long long)wc->wr_id);
	if (wc->opcode != (is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV))
		va_fail(run, "a message of %llu B came as opcode %d", (unsigned long long)size,
			(int)wc->opcode);
	if (((wc->wc_flags & IBV_WC_WITH_IMM) != 0) != s->has_imm ||
	    (s->has_imm && ntohl(wc->imm_data) != ((uint32_t)size ^ 0x5a5a5a5au)))
		va_fail(run, "a message of %llu B has another immediate", (unsigned long long)size);
}

/* ---- reliable ---- */

static void do_reliable(struct va_run *run, struct sizes *s, uint64_t size)
{
	struct ibv_wc wc;

	if (!s->is_source) {
		paint(run, s, size);
		if (s->has_receive)
			post_receive(run, s, size);
	}
	va_barrier(run, "painted");
	if (run->is_initiator) {
		request(run, s, size);
	} else if (s->has_receive) {
		await(run, s->endpoint.recv_cq, size, "a receive", &wc);
		check_receive(run, s, &wc, size);
	}
	va_barrier(run, "done");
	if (!s->is_source)
		check_whole(run, s, size);
}

/* ---- unreliable ---- */

/* Whether it has come, some time after it was sent. */
static bool has_come(struct va_run *run, struct sizes *s, uint64_t size)
{
	roce_ns_t give_up = roce_clock_now() + QUIET_NS;
	const volatile uint8_t *last = message_at(s) + size - 1;
	uint8_t right = va_pattern_byte(run->seed, size - 1);
	struct ibv_wc wc;

	do {
		int n = ibv_poll_cq(s->endpoint.recv_cq, 1, &wc);

		if (n < 0)
			va_fail(run, "ibv_poll_cq: %d", n);
		if (n) {
			va_must_succeed(run, &wc, "a receive");
			check_receive(run, s, &wc, size);
			return true;
		}
		if (!s->has_receive && (!size || *last == right))
			return va_pattern_check(message_at(s), (size_t)size, run->seed, 0) == size;
	} while (roce_clock_now() < give_up);
	return false;
}

/* False: none of some long ones came. */
static bool do_lossy(struct va_run *run, struct sizes *s, uint64_t size)
{
	int attempts = size > MUST_COME_BYTES ? ATTEMPTS_LONG : ATTEMPTS;
	bool is_there = false;

	if (!s->is_source && s->has_receive)
		post_receive(run, s, size);
	for (int i = 0; i < attempts && !is_there; i++) {
		json_t *told;

		if (!s->is_source)
			paint(run, s, size);
		va_barrier(run, "painted");
		if (s->is_source)
			request(run, s, size);
		va_barrier(run, "sent");
		if (!s->is_source) {
			is_there = has_come(run, s, size);
			if (!is_there)
				check_lost(run, s, size);
		}
		told = va_exchange(run, json_boolean(is_there));
		is_there |= json_is_true(told);
		json_decref(told);
	}
	if (!is_there && size <= MUST_COME_BYTES)
		va_fail(run, "none of %d messages of %llu B came", attempts,
			(unsigned long long)size);
	if (is_there && !s->is_source)
		check_whole(run, s, size);
	return is_there;
}

/* A message of one byte more than UD has: whatever the sender is told, nothing may come. */
static void refuse_longer(struct va_run *run, struct sizes *s)
{
	uint64_t size = s->endpoint.mtu_bytes + 1;
	struct va_request request = request_of(s, size);
	bool is_tried = s->edges[s->edge_count - 1] + 1 == size;
	struct ibv_wc wc;

	if (!s->is_source && is_tried) {
		paint(run, s, size);
		post_receive(run, s, size);
	}
	va_barrier(run, "painted");
	if (s->is_source && is_tried && va_try_post(&s->endpoint, &request) == 0)
		va_wait(run, s->endpoint.send_cq, "a message longer than the path MTU", &wc);
	va_barrier(run, "sent");
	if (!s->is_source && is_tried && has_come(run, s, size))
		va_fail(run, "a UD message of %llu B came, and the path MTU is %u B",
			(unsigned long long)size, s->endpoint.mtu_bytes);
	va_barrier(run, "refused");
}

/* ---- the sides ---- */

static void run_side(struct va_run *run)
{
	struct sizes s;
	uint64_t most;

	set_up(run, &s);
	for (uint32_t i = 0; i < s.edge_count; i++) {
		if (!s.is_lossy)
			do_reliable(run, &s, s.edges[i]);
		else if (!do_lossy(run, &s, s.edges[i]) && s.has_receive)
			break; /* its receive is still there, and would take the next */
		va_progress(run, (double)i / (double)s.edge_count);
	}
	if (s.is_ud)
		refuse_longer(run, &s);
	most = s.edges[s.edge_count - 1];
	if (s.is_source)
		va_pattern_must(run, s.out.at, (size_t)most + 1, run->seed, 0,
				"the source, when all was sent");
	else {
		va_value(run, "messages", (double)s.messages);
		va_value(run, "bytes", (double)s.bytes);
		va_value(run, "largest", (double)s.largest);
		va_value(run, "lost", (double)s.lost);
	}
	va_detail(run, "sizes", json_integer(s.edge_count));
	va_detail(run, "mtu", json_integer(s.endpoint.mtu_bytes));
	va_barrier(run, "over");
	tear_down(run, &s);
}

void va_sizes_initiator(struct va_run *run)
{
	run_side(run);
}

void va_sizes_target(struct va_run *run)
{
	run_side(run);
}
