/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `integrity`: every message by itself. Where `bandwidth` compares what is left in the end,
 * here each one has bytes that no other has, and each completion is held to its place: status,
 * opcode, wr_id in the order of posting, length, immediate, queue pair, the sender's address (UD).
 * So one wrong byte, one completion too many or too few among many thousands is seen and named.
 *
 * SEND and WRITE with immediate are checked by who receives them, WRITEs by a READ right behind
 * them, FETCH_ADDs of four queue pairs on one cell by that each value is returned once.
 */
#include "verify/agent/kind.h"
#include "verify/agent/trouble.h"
#include "verify/agent/work.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define ADDERS	       4
#define QUIET_NS       (50 * ROCE_NS_PER_MS)
#define LAST_NS	       ROCE_NS_PER_S /* what came late meets a later batch; the last one has none */
#define PROGRESS_EVERY 256

struct integrity {
	struct va_device device;
	struct va_endpoint endpoints[ADDERS];
	uint32_t endpoint_count;
	struct va_buffer out;
	struct va_buffer in;
	struct va_remote remote;
	uint32_t size;
	uint32_t slot_bytes; /* of `in` and `out` */
	uint32_t depth;
	uint64_t messages;
	enum ibv_wr_opcode opcode;
	bool is_ud;
	bool has_imm;
	uint8_t *seen; /* UD, FETCH_ADD: numbers that came */
	uint64_t arrived;
};

static bool is_add(const struct va_run *run)
{
	return va_is(run, "op", "fetch_add");
}

static bool is_write_read(const struct va_run *run)
{
	return va_is(run, "op", "write_read");
}

static enum ibv_wr_opcode opcode(const struct va_run *run)
{
	if (va_is(run, "op", "ud_send"))
		return IBV_WR_SEND_WITH_IMM; /* which tells them apart */
	return is_write_read(run) ? IBV_WR_RDMA_WRITE : va_opcode(va_word(run, "op"));
}

static void set_up(struct va_run *run, struct integrity *c)
{
	struct va_endpoint_config config = {.timeout = va_impair_timeout(run)};

	*c = (struct integrity){
		.endpoint_count = is_add(run) ? ADDERS : 1,
		.size = is_add(run) ? 8 : (uint32_t)va_number(run, "size"),
		.depth = (uint32_t)va_number(run, "depth"),
		.messages = va_number(run, "messages"),
		.opcode = opcode(run),
		.is_ud = va_is(run, "op", "ud_send"),
	};
	c->has_imm = c->opcode == IBV_WR_SEND_WITH_IMM || c->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	c->slot_bytes = (c->size + VA_GRH_BYTES + 7) & ~7u;
	va_impair(run);
	va_device_open(run, VA_ANY_FAMILY, &c->device);
	if (is_add(run) && c->device.attr.atomic_cap == IBV_ATOMIC_NONE)
		va_skip(run, "the device has no atomics");
	config.type = c->is_ud ? IBV_QPT_UD : va_transport_type(va_word(run, "transport"));
	config.send_depth = 2 * c->depth; /* a WRITE and its READ */
	config.receive_depth = 2 * c->depth;
	for (uint32_t i = 0; i < c->endpoint_count; i++) {
		va_endpoint_create(run, &c->device, &config, &c->endpoints[i]);
		va_endpoint_connect(run, &c->endpoints[i]);
	}
	if (c->is_ud && c->size > c->endpoints[0].mtu_bytes)
		va_skip(run, "UD messages end at the path MTU of %u B", c->endpoints[0].mtu_bytes);
	va_buffer_create(run, &c->device, (size_t)2 * c->depth * c->slot_bytes, VA_ACCESS_ALL,
			 &c->out);
	va_buffer_create(run, &c->device, (size_t)2 * c->depth * c->slot_bytes, VA_ACCESS_ALL,
			 &c->in);
	memset(c->in.at, 0, c->in.bytes);
	c->seen = calloc((size_t)(c->messages + 7) / 8, 1);
	va_need(run, c->seen != NULL, "calloc");
	va_buffer_exchange(run, &c->in, &c->remote);
}

static void tear_down(struct va_run *run, struct integrity *c)
{
	for (uint32_t i = 0; i < c->endpoint_count; i++)
		va_endpoint_destroy(run, &c->endpoints[i]);
	va_buffer_destroy(run, &c->out);
	va_buffer_destroy(run, &c->in);
	va_device_close(run, &c->device);
	free(c->seen);
}

static size_t slot_of(const struct integrity *c, uint64_t message)
{
	return (size_t)(message % (2 * c->depth)) * c->slot_bytes;
}

/* False: it was there already. */
static bool mark_seen(struct integrity *c, uint64_t number)
{
	uint8_t bit = (uint8_t)(1u << number % 8);

	if (c->seen[number / 8] & bit)
		return false;
	c->seen[number / 8] |= bit;
	c->arrived++;
	return true;
}

/* ---- completions ---- */

static void must_be(struct va_run *run, const char *what, const char *field, uint64_t found,
		    uint64_t expected, uint64_t message)
{
	if (found != expected)
		va_fail(run, "%s of message %llu has %s %llu, expected %llu", what,
			(unsigned long long)message, field, (unsigned long long)found,
			(unsigned long long)expected);
}

static void take_request(struct va_run *run, struct integrity *c, uint64_t message, uint64_t wr_id,
			 enum ibv_wc_opcode expected)
{
	struct ibv_wc wc;

	va_wait_success(run, c->endpoints[0].send_cq, va_word(run, "op"), &wc);
	must_be(run, "the completion", "wr_id", wc.wr_id, wr_id, message);
	must_be(run, "the completion", "opcode", wc.opcode, expected, message);
	must_be(run, "the completion", "qp_num", wc.qp_num, c->endpoints[0].qp->qp_num, message);
}

/* Nothing may come any more. */
static void must_be_quiet(struct va_run *run, struct integrity *c)
{
	roce_ns_t end = roce_clock_now() + QUIET_NS;
	struct ibv_wc wc;

	while (roce_clock_now() < end) {
		for (uint32_t i = 0; i < c->endpoint_count; i++) {
			if (ibv_poll_cq(c->endpoints[i].send_cq, 1, &wc) == 1)
				va_fail(run, "a completion too many: wr_id %llu, status %d",
					(unsigned long long)wc.wr_id, (int)wc.status);
			if (ibv_poll_cq(c->endpoints[i].recv_cq, 1, &wc) == 1)
				va_fail(run, "a receive too many: wr_id %llu, status %d",
					(unsigned long long)wc.wr_id, (int)wc.status);
		}
	}
}

/* ---- SEND and WRITE with immediate ---- */

static void send_one(struct va_run *run, struct integrity *c, uint64_t message)
{
	struct va_request request = {
		.opcode = c->opcode,
		.local = &c->out,
		.local_offset = slot_of(c, message),
		.length = c->size,
		.remote = c->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? &c->remote : NULL,
		.remote_offset = slot_of(c, message) + VA_GRH_BYTES,
		.wr_id = message,
		.imm = (uint32_t)message,
	};

	va_pattern_fill(c->out.at + slot_of(c, message), c->size, run->seed, message * c->size);
	va_post(run, &c->endpoints[0], &request);
}

static void send_all(struct va_run *run, struct integrity *c)
{
	enum ibv_wc_opcode expected =
		c->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RDMA_WRITE : IBV_WC_SEND;

	for (uint64_t i = 0; i < c->messages; i += c->depth) {
		uint64_t end = i + c->depth < c->messages ? i + c->depth : c->messages;

		for (uint64_t m = i; m < end; m++)
			send_one(run, c, m);
		for (uint64_t m = i; m < end; m++)
			take_request(run, c, m, m, expected);
		va_barrier(run, "batch");
		va_progress(run, (double)i / (double)c->messages);
	}
}

static void receive_into(struct va_run *run, struct integrity *c, uint64_t receive)
{
	va_post_receive(
		run, &c->endpoints[0], &c->in, slot_of(c, receive) + (c->is_ud ? 0 : VA_GRH_BYTES),
		c->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? 0
							: c->size + (c->is_ud ? VA_GRH_BYTES : 0),
		receive);
}

/* The first 40 bytes of a UD receive end with the IP header: IPv4 stands in the last 20. */
static void check_grh(struct va_run *run, const struct integrity *c, const uint8_t *grh,
		      uint64_t message)
{
	bool is_ipv4 = grh[20] >> 4 == 4 && grh[0] >> 4 != 6;
	uint8_t source[16] = {[10] = 0xff, [11] = 0xff};

	memcpy(source + (is_ipv4 ? 12 : 0), grh + (is_ipv4 ? 32 : 8), is_ipv4 ? 4 : 16);
	if (memcmp(source, c->endpoints[0].peer_gid.raw, 16) != 0)
		va_fail(run, "the header before UD message %llu does not name its sender",
			(unsigned long long)message);
}

static void check_received(struct va_run *run, struct integrity *c, const struct ibv_wc *wc,
			   uint64_t receive)
{
	uint64_t message = c->has_imm ? ntohl(wc->imm_data) : receive;
	bool is_write = c->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	must_be(run, "the receive", "wr_id", wc->wr_id, receive, message);
	must_be(run, "the receive", "opcode", wc->opcode,
		is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV, message);
	must_be(run, "the receive", "byte_len", wc->byte_len,
		c->size + (c->is_ud ? VA_GRH_BYTES : 0), message);
	must_be(run, "the receive", "flag of an immediate", (wc->wc_flags & IBV_WC_WITH_IMM) != 0,
		c->has_imm, message);
	must_be(run, "the receive", "qp_num", wc->qp_num, va_endpoint_receive_qpn(&c->endpoints[0]),
		message);
	if (!c->is_ud) {
		must_be(run, "the receive", "immediate", message, receive, receive);
	} else {
		must_be(run, "the receive", "src_qp", wc->src_qp, c->endpoints[0].peer_qpn,
			message);
		must_be(run, "the receive", "flag of a GRH", (wc->wc_flags & IBV_WC_GRH) != 0, 1,
			message);
	}
	if (message >= c->messages || !mark_seen(c, message))
		va_fail(run, "message %llu came twice, or was never sent",
			(unsigned long long)message);
	va_pattern_must(run, c->in.at + slot_of(c, receive) + VA_GRH_BYTES, c->size, run->seed,
			message * c->size, "what a message brought");
	if (c->is_ud)
		check_grh(run, c, c->in.at + slot_of(c, receive), message);
}

/* All of a batch come before the sender goes on; of UD what has come when the sender says that it
 * is through, and a little later. */
static uint64_t receive_batch(struct va_run *run, struct integrity *c, uint64_t receive,
			      uint64_t sent, roce_ns_t patience)
{
	bool is_told = false;
	roce_ns_t give_up = 0;
	struct ibv_wc wc;

	for (uint64_t came = 0; came < sent;) {
		if (!c->is_ud) {
			va_wait(run, c->endpoints[0].recv_cq, "a receive", &wc);
		} else if (ibv_poll_cq(c->endpoints[0].recv_cq, 1, &wc) != 1) {
			if (!is_told && va_is_heard(run)) {
				is_told = true;
				va_barrier(run, "batch");
				give_up = roce_clock_now() + patience;
			}
			if (is_told && roce_clock_now() > give_up)
				return receive;
			continue;
		}
		va_must_succeed(run, &wc, "a receive");
		check_received(run, c, &wc, receive);
		receive_into(run, c, receive + (uint64_t)2 * c->depth);
		receive++;
		came++;
	}
	if (!is_told)
		va_barrier(run, "batch");
	return receive;
}

static void receive_all(struct va_run *run, struct integrity *c)
{
	uint64_t receive = 0;

	for (uint64_t i = 0; i < c->messages; i += c->depth) {
		bool is_last = c->messages - i <= c->depth;

		receive = receive_batch(run, c, receive, is_last ? c->messages - i : c->depth,
					is_last ? LAST_NS : QUIET_NS);
	}
}

/* ---- WRITE and READ ---- */

static void write_and_read(struct va_run *run, struct integrity *c, uint64_t message)
{
	struct va_request request = {
		.opcode = IBV_WR_RDMA_WRITE,
		.local = &c->out,
		.local_offset = slot_of(c, message),
		.length = c->size,
		.remote = &c->remote,
		/* the next one overwrites half of it, so that a READ of before is seen */
		.remote_offset = (size_t)message % 2 * (c->size / 2 + 1) % VA_GRH_BYTES,
		.wr_id = 2 * message,
		/* without it the WRITE may overtake the READ before it, in whose answer it then
		   shows */
		.flags = IBV_SEND_FENCE,
	};

	va_pattern_fill(c->out.at + request.local_offset, c->size, run->seed, message * c->size);
	va_post(run, &c->endpoints[0], &request);
	request.opcode = IBV_WR_RDMA_READ;
	request.flags = 0;
	request.local = &c->in;
	request.wr_id = 2 * message + 1;
	va_post(run, &c->endpoints[0], &request);
}

static void write_and_read_all(struct va_run *run, struct integrity *c)
{
	/* Soft-RoCE may sleep at a fence until something is posted. */
	uint64_t together = va_accepts(run, "rxe") ? 1 : c->depth;

	for (uint64_t i = 0; i < c->messages; i += together) {
		uint64_t end = i + together < c->messages ? i + together : c->messages;

		for (uint64_t m = i; m < end; m++)
			write_and_read(run, c, m);
		for (uint64_t m = i; m < end; m++) {
			take_request(run, c, m, 2 * m, IBV_WC_RDMA_WRITE);
			take_request(run, c, m, 2 * m + 1, IBV_WC_RDMA_READ);
			va_pattern_must(run, c->in.at + slot_of(c, m), c->size, run->seed,
					m * c->size, "what READ brought right behind a WRITE");
			c->arrived++;
		}
		va_progress(run, (double)i / (double)c->messages);
	}
}

/* ---- FETCH_ADD ---- */

static void add(struct va_run *run, struct integrity *c, uint32_t adder, uint64_t message)
{
	struct va_request request = {
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.local = &c->in,
		.local_offset = slot_of(c, adder),
		.length = 8,
		.remote = &c->remote,
		.wr_id = message,
		.compare_add = 1,
	};

	va_post(run, &c->endpoints[adder], &request);
}

static void add_all(struct va_run *run, struct integrity *c)
{
	struct ibv_wc wc;
	uint64_t found;

	for (uint64_t i = 0; i < c->messages; i += ADDERS) {
		uint32_t n = c->messages - i < ADDERS ? (uint32_t)(c->messages - i) : ADDERS;

		for (uint32_t a = 0; a < n; a++)
			add(run, c, a, i + a);
		for (uint32_t a = 0; a < n; a++) {
			va_wait_success(run, c->endpoints[a].send_cq, "FETCH_ADD", &wc);
			must_be(run, "the completion", "wr_id", wc.wr_id, i + a, i + a);
			must_be(run, "the completion", "opcode", wc.opcode, IBV_WC_FETCH_ADD,
				i + a);
			memcpy(&found, c->in.at + slot_of(c, a), sizeof(found));
			if (found >= c->messages)
				va_fail(run, "a FETCH_ADD returned %llu, and %llu are all",
					(unsigned long long)found, (unsigned long long)c->messages);
			if (!mark_seen(c, found))
				va_fail(run, "a FETCH_ADD returned %llu a second time",
					(unsigned long long)found);
		}
		va_progress(run, (double)i / (double)c->messages);
	}
}

static void check_sum(struct va_run *run, const struct integrity *c)
{
	uint64_t found;

	memcpy(&found, c->in.at, sizeof(found));
	if (found != c->messages)
		va_fail(run, "%llu FETCH_ADDs left %llu", (unsigned long long)c->messages,
			(unsigned long long)found);
}

/* ---- the sides ---- */

static void report(struct va_run *run, const struct integrity *c, uint64_t arrived)
{
	va_value(run, "messages", (double)arrived);
	va_value(run, "bytes", (double)arrived * c->size);
	va_value(run, "lost", 100.0 * (double)(c->messages - arrived) / (double)c->messages);
}

void va_integrity_initiator(struct va_run *run)
{
	struct integrity c;
	json_t *theirs;

	set_up(run, &c);
	va_barrier(run, "ready");
	if (is_write_read(run))
		write_and_read_all(run, &c);
	else if (is_add(run))
		add_all(run, &c);
	else
		send_all(run, &c);
	must_be_quiet(run, &c);
	theirs = va_exchange(run, json_integer((json_int_t)c.arrived));
	report(run, &c, c.arrived + (uint64_t)json_integer_value(theirs));
	json_decref(theirs);
	va_impair_check(run, !c.is_ud);
	tear_down(run, &c);
}

void va_integrity_target(struct va_run *run)
{
	struct integrity c;

	set_up(run, &c);
	if (!is_write_read(run) && !is_add(run)) {
		for (uint64_t i = 0; i < (uint64_t)2 * c.depth; i++)
			receive_into(run, &c, i);
	}
	va_barrier(run, "ready");
	if (!is_write_read(run) && !is_add(run)) {
		receive_all(run, &c);
		must_be_quiet(run, &c);
	}
	json_decref(va_exchange(run, json_integer((json_int_t)c.arrived)));
	if (is_add(run))
		check_sum(run, &c);
	va_impair_check(run, !c.is_ud);
	tear_down(run, &c);
}
