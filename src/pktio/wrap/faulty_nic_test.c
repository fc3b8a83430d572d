/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The faulty adapter: which messages it damages, and that no check of a packet shows it. Packets
 * are real ones with real ICRCs; a pktio of the test's own hands them out in batches.
 */
#include "pktio/wrap/faulty_nic.h"

#include "pktio/wrap/impair.h"
#include "wire/headers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAYLOAD 141u /* three lines, the last of 13 bytes, and three bytes of pad */
#define BATCH	8u
#define IP_ID	0x1234u
#define MANY	20000u

/* What the adapter below the wrapper hands out. */
struct inner_io {
	struct roce_pktio base;
	bool is_v6;
	bool has_bad_icrc;
	bool has_one_content;
	roce_opcode_t opcode;
	uint32_t payload_bytes;
	uint32_t dest_qpn;
	uint32_t first_late; /* a packet comes behind its successor from this number on; 0: none */
	uint32_t late_count; /* so many in a row of eights */
	uint32_t number;
	uint32_t end;
	uint8_t bytes[BATCH * 256];
};

static const struct roce_gid v4_src = {{[10] = 0xff, [11] = 0xff, 10, 0, 0, 1}};
static const struct roce_gid v4_dst = {{[10] = 0xff, [11] = 0xff, 10, 0, 0, 2}};
static const struct roce_gid v6_src = {{0xfd, [15] = 1}};
static const struct roce_gid v6_dst = {{0xfd, [15] = 2}};

static struct roce_icrc_flow make_flow(bool is_v6)
{
	struct roce_icrc_flow flow;

	roce_icrc_flow_init(&flow, is_v6 ? &v6_src : &v4_src, is_v6 ? &v6_dst : &v4_dst, 49152,
			    ROCE_UDP_PORT);
	return flow;
}

static uint8_t payload_byte(uint32_t psn, uint32_t index)
{
	return (uint8_t)(psn * 31 + index);
}

static uint32_t make_packet(const struct inner_io *io, uint32_t psn, uint8_t *out)
{
	struct roce_icrc_flow flow = make_flow(io->is_v6);
	struct roce_headers h = {.opcode = io->opcode,
				 .pad_count = roce_pad_count(io->payload_bytes),
				 .pkey = 0xffff,
				 .dest_qpn = {io->dest_qpn},
				 .psn = roce_psn_make(0xffff00 + psn),
				 .qkey = 0x11111111,
				 .src_qpn = {77}};
	size_t at = roce_headers_encode(&h, out);

	for (uint32_t i = 0; i < io->payload_bytes; i++)
		out[at++] = payload_byte(io->has_one_content ? 0 : psn, i);
	memset(out + at, 0, h.pad_count);
	at += h.pad_count;
	roce_icrc_put(out + at, roce_icrc_compute(&flow, IP_ID, out, at));
	if (io->has_bad_icrc)
		out[at] ^= 1;
	return (uint32_t)at + ROCE_ICRC_BYTES;
}

/* In each eight of the disordered part, the first two change places. */
static uint32_t psn_of(const struct inner_io *io, uint32_t number)
{
	bool is_swapped = io->first_late && number >= io->first_late &&
			  number < io->first_late + io->late_count * BATCH && number % BATCH < 2;

	return is_swapped ? number ^ 1 : number;
}

static uint32_t inner_rx(struct roce_pktio *base, struct roce_pktio_rx *out, uint32_t max)
{
	struct inner_io *io = (struct inner_io *)base;
	uint32_t length = 0, segment = 0;

	assert_true(max >= ROCE_PKTIO_RX_BATCHES_MAX);
	if (io->number == io->end)
		return 0;
	for (uint32_t i = 0; i < BATCH; i++) {
		segment = make_packet(io, psn_of(io, io->number++), io->bytes + length);
		length += segment;
	}
	*out = (struct roce_pktio_rx){.data = io->bytes,
				      .length = length,
				      .segment_length = segment,
				      .src = io->is_v6 ? v6_src : v4_src};
	return 1;
}

static void inner_close(struct roce_pktio *base, bool closes_fd)
{
	(void)closes_fd;
	free(base);
}

static roce_ns_t inner_deadline(struct roce_pktio *base)
{
	(void)base;
	return ROCE_NEVER;
}

static const struct roce_pktio_ops inner_ops = {
	.rx = inner_rx, .deadline = inner_deadline, .close = inner_close};

struct outcome {
	uint32_t damaged;
	uint32_t bad_icrc;
	uint32_t longest; /* bytes from the first to the last wrong one */
	uint32_t by_line[3];
	uint32_t first_damaged;
	uint32_t last_damaged; /* numbers of messages */
	struct roce_pktio_stats stats;
	uint8_t wrong[MANY]; /* by number */
};

static struct inner_io ud_inner(void)
{
	return (struct inner_io){.opcode = {ROCE_UD_SEND_ONLY},
				 .payload_bytes = PAYLOAD,
				 .dest_qpn = 0x010002,
				 .first_late = BATCH,
				 .late_count = MANY / BATCH - 1,
				 .end = MANY};
}

/* What is wrong lies in one line and is that of the message before. */
static void check_line(const struct inner_io *io, const uint8_t *payload, uint32_t number,
		       uint32_t first, uint32_t last, struct outcome *o)
{
	uint32_t line = first / ROCE_FAULTY_NIC_LINE;
	uint32_t begin = line * ROCE_FAULTY_NIC_LINE;

	assert_int_equal(last / ROCE_FAULTY_NIC_LINE, line);
	o->by_line[line]++;
	for (uint32_t i = begin; i < begin + ROCE_FAULTY_NIC_LINE && i < io->payload_bytes; i++)
		assert_int_equal(payload[i], number ? payload_byte(psn_of(io, number - 1), i) : 0);
}

/* Headers and pad as they were sent; counts the rest. */
static void look_at(const struct inner_io *io, const uint8_t *packet, uint32_t length,
		    uint32_t number, struct outcome *o)
{
	struct roce_icrc_flow flow = make_flow(io->is_v6);
	uint8_t sent[256];
	uint32_t body = length - ROCE_ICRC_BYTES;
	uint32_t first = UINT32_MAX, last = 0;
	uint32_t header;

	assert_int_equal(make_packet(io, psn_of(io, number), sent), length);
	header = body - io->payload_bytes - roce_pad_count(io->payload_bytes);
	assert_memory_equal(packet, sent, header);
	for (uint32_t i = header; i < body; i++) {
		if (packet[i] == sent[i])
			continue;
		first = i < first ? i : first;
		last = i;
		assert_true(i < header + io->payload_bytes);
	}
	if (first != UINT32_MAX)
		check_line(io, packet + header, number, first - header, last - header, o);
	o->bad_icrc +=
		roce_icrc_get(packet + body) != roce_icrc_compute(&flow, IP_ID, packet, body);
	if (first == UINT32_MAX)
		return;
	o->wrong[number] = 1;
	if (o->damaged++ == 0)
		o->first_damaged = number;
	o->last_damaged = number;
	if (last - first + 1 > o->longest)
		o->longest = last - first + 1;
}

static void receive_all(const struct inner_io *source, const char *text, struct outcome *o)
{
	struct roce_pktio_rx batches[ROCE_PKTIO_RX_BATCHES_MAX];
	struct inner_io *inner = malloc(sizeof(*inner));
	struct roce_impair_spec spec;
	struct roce_pktio *io;
	char err[300];
	uint32_t number = 0;

	memset(o, 0, sizeof(*o));
	assert_non_null(inner);
	*inner = *source;
	inner->base = (struct roce_pktio){.ops = &inner_ops, .stats = &o->stats};
	assert_int_equal(roce_impair_parse(text, &spec, err, sizeof(err)), 0);
	assert_int_equal(roce_impair_open(&spec, &inner->base, &io), 0);
	while (roce_pktio_rx(io, batches, ROCE_PKTIO_RX_BATCHES_MAX) == 1) {
		for (uint32_t at = 0; at < batches[0].length; at += batches[0].segment_length)
			look_at(source, batches[0].data + at, batches[0].segment_length, number++,
				o);
	}
	assert_int_equal(number, MANY);
	assert_int_equal(roce_pktio_deadline(io), ROCE_NEVER);
	assert_int_equal(o->damaged, o->stats.impair_ud_damaged);
	roce_pktio_close(io);
}

static void damage__is_what_no_check_of_a_packet_sees(void **state)
{
	static struct outcome o;
	struct inner_io inner = ud_inner();

	(void)state;
	for (uint32_t family = 0; family < 2; family++) {
		inner.is_v6 = family;
		receive_all(&inner, "seed=3,ud_damage=1%", &o);
		assert_in_range(o.damaged, 150, 250); /* 200, three and a half sigma */
		assert_int_equal(o.bad_icrc, 0);
		assert_int_equal(o.longest, ROCE_FAULTY_NIC_LINE);
		for (uint32_t i = 0; i < 3; i++)
			assert_in_range(o.by_line[i], 35, 100);
		assert_true(o.first_damaged >= BATCH);
	}
}

static void damage__is_that_of_the_seed(void **state)
{
	static struct outcome a, b, other;
	struct inner_io inner = ud_inner();

	(void)state;
	receive_all(&inner, "seed=3,ud_damage=1%", &a);
	receive_all(&inner, "seed=3,ud_damage=1%", &b);
	receive_all(&inner, "seed=4,ud_damage=1%", &other);
	assert_memory_equal(a.wrong, b.wrong, sizeof(a.wrong));
	assert_memory_not_equal(a.wrong, other.wrong, sizeof(a.wrong));
}

static void damage__needs_a_flow_out_of_order(void **state)
{
	static struct outcome o;
	struct inner_io inner = ud_inner();

	(void)state;
	inner.first_late = 0;
	receive_all(&inner, "ud_damage=100%", &o);
	assert_int_equal(o.damaged, 0);
	receive_all(&inner, "ud_damage=100%:always", &o);
	assert_int_equal(o.damaged, MANY);
	assert_int_equal(o.bad_icrc, 0);

	inner.first_late = 4 * BATCH;
	inner.late_count = 1;
	receive_all(&inner, "ud_damage=100%", &o);
	assert_int_equal(o.damaged, ROCE_FAULTY_NIC_WINDOW);
	assert_int_equal(o.first_damaged, 4 * BATCH + 1); /* the one that is behind */
	assert_int_equal(o.last_damaged, o.first_damaged + ROCE_FAULTY_NIC_WINDOW - 1);
}

/* The order that counts is the one in which the adapter receives: reordering by the same line. */
static void damage__follows_the_reordering_of_the_line(void **state)
{
	static struct outcome o;
	struct inner_io inner = ud_inner();
	struct roce_impair_spec spec;
	char err[300];

	(void)state;
	assert_int_equal(roce_impair_parse("faulty-ud,reorder=1%", &spec, err, sizeof(err)), 0);
	assert_int_equal(spec.ud_damage_ppm, 1000);
	assert_false(spec.ud_damage_always);
	assert_int_equal(spec.ppm[ROCE_IMPAIR_REORDER], 10000);
	receive_all(&inner, "faulty-ud,dir=tx", &o);
	assert_in_range(o.damaged, 6, 36); /* 20 */
}

static void damage__spares_others(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t payload_bytes;
		uint32_t dest_qpn;
	} cases[] = {
		{ROCE_RC_SEND_ONLY, PAYLOAD, 0x010002},
		{ROCE_UC_SEND_ONLY, PAYLOAD, 0x010002},
		{ROCE_UD_SEND_ONLY, PAYLOAD, 1},
		{ROCE_UD_SEND_ONLY, 0, 0x010002},
	};
	static struct outcome o;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct inner_io inner = ud_inner();

		inner.opcode.v = cases[i].opcode;
		inner.payload_bytes = cases[i].payload_bytes;
		inner.dest_qpn = cases[i].dest_qpn;
		receive_all(&inner, "ud_damage=100%:always", &o);
		assert_int_equal(o.damaged, 0);
		assert_int_equal(o.bad_icrc, 0);
	}
}

static void damage__heals_no_packet(void **state)
{
	static struct outcome o;
	struct inner_io inner = ud_inner();

	(void)state;
	inner.has_bad_icrc = true;
	receive_all(&inner, "ud_damage=100%:always", &o);
	assert_int_equal(o.damaged, MANY);
	assert_int_equal(o.bad_icrc, MANY);
}

/* The same message again is put together rightly whatever is done to it, and is not counted. */
static void damage__needs_another_message_before(void **state)
{
	static struct outcome o;
	struct inner_io inner = ud_inner();

	(void)state;
	inner.first_late = 0;
	inner.has_one_content = true;
	receive_all(&inner, "ud_damage=100%:always", &o);
	assert_in_range(o.damaged, 1, 3); /* the first lines of each, which lay empty */
}

static void parse__refuses_nonsense(void **state)
{
	static const char *const bad[] = {"ud_damage",		"ud_damage=",	"ud_damage=2",
					  "ud_damage=1%:often", "faulty-ud=1%", "faulty"};
	struct roce_impair_spec spec;
	char err[300];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(roce_impair_parse(bad[i], &spec, err, sizeof(err)) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damage__is_what_no_check_of_a_packet_sees),
		cmocka_unit_test(damage__is_that_of_the_seed),
		cmocka_unit_test(damage__needs_a_flow_out_of_order),
		cmocka_unit_test(damage__follows_the_reordering_of_the_line),
		cmocka_unit_test(damage__spares_others),
		cmocka_unit_test(damage__heals_no_packet),
		cmocka_unit_test(damage__needs_another_message_before),
		cmocka_unit_test(parse__refuses_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
