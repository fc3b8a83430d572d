/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Go-back-0 beside go-back-N. With messages of 4 MiB and every 256th packet lost, whole messages
 * that begin anew never arrive while the line is busy all the time; from the lost packet on they
 * do, at nearly the line's rate. With a single loss both end with the right bytes.
 */
#include "fixture.h"

#include "wire/opcode.h"

#include <string.h>

#define MESSAGE	 (4096u * 1024)
#define MESSAGES 4u
#define RUN_NS	 (5 * ROCE_NS_PER_MS)

static struct fixture f;

static struct {
	unsigned int from;
	uint32_t period; /* every so many packets one is lost; 0: none */
	uint32_t once;	 /* or just this one */
	uint32_t count;
	uint64_t bytes;
} line;

static bool pass(struct sim_pair *p, unsigned int from, struct roce_link_pkt *pkt)
{
	(void)p;
	if (from != line.from || roce_opcode_info(pkt->hdr.opcode)->operation == ROCE_OPERATION_ACK)
		return true;
	line.count++;
	line.bytes += pkt->payload_len;
	if (line.once)
		return line.count != line.once;
	return !line.period || line.count % line.period != 0;
}

static void start(enum roce_recovery recovery, uint8_t opcode)
{
	fixture_init(&f);
	memset(&line, 0, sizeof(line));
	line.from = opcode == ROCE_WR_RDMA_READ;
	f.region_bytes = MESSAGE;
	f.link.ps_per_byte = 80; /* 100 Gb/s */
	f.tuning.recovery = recovery;
	f.tuning.window.initial = f.tuning.window.max = f.tuning.read_window = 1u << 30;
	f.tuning.window.min = 1u << 30;
	f.tuning.read_chunk_packets = 1u << 20;
	fixture_start(&f, true);
	f.pair.is_quiet = true;
	f.pair.tamper = pass;
	for (uint64_t i = 0; i < MESSAGES; i++) {
		if (opcode == ROCE_WR_SEND)
			fixture_recv(&f, 1, i, 0, MESSAGE);
		fixture_post(&f, 0, opcode, i, MESSAGE, 0);
	}
}

static const uint8_t opcodes[] = {ROCE_WR_SEND, ROCE_WR_RDMA_WRITE, ROCE_WR_RDMA_READ};

#define OPCODES sizeof(opcodes)

static void go_back_0__no_goodput(void **state)
{
	(void)state;
	for (size_t i = 0; i < OPCODES; i++) {
		start(ROCE_RECOVERY_GO_BACK_0, opcodes[i]);
		line.period = 256;
		sim_pair_run(&f.pair, RUN_NS);
		assert_int_equal(f.a->attr.state, ROCE_QP_RTS);
		assert_int_equal(f.a->sq.completed, 0);
		/* 62.5 MB is what the line takes. */
		assert_in_range(line.bytes, 45000000, 62500000);
		fixture_stop(&f);
	}
}

static void go_back_n__goodput(void **state)
{
	(void)state;
	for (size_t i = 0; i < OPCODES; i++) {
		start(ROCE_RECOVERY_GO_BACK_N, opcodes[i]);
		line.period = 256;
		sim_pair_run(&f.pair, RUN_NS);
		assert_int_equal(f.a->sq.completed, MESSAGES);
		/* Nothing that arrived in order was sent again: 1 in 256, and what was on its way.
		 */
		assert_in_range(line.bytes, MESSAGES * (uint64_t)MESSAGE,
				MESSAGES * (uint64_t)MESSAGE * 5 / 4);
		fixture_stop(&f);
	}
}

/* One loss, in the second message: it is sent anew from its first packet, and the bytes are right.
 */
static void go_back_0__sends_the_message_again(void **state)
{
	const uint32_t packets = MESSAGE / 1024;

	(void)state;
	for (size_t i = 0; i < OPCODES; i++) {
		unsigned int to = opcodes[i] != ROCE_WR_RDMA_READ;

		start(ROCE_RECOVERY_GO_BACK_0, opcodes[i]);
		for (uint32_t k = 0; k < MESSAGE; k++)
			*fixture_bytes(&f, !to, k) = (uint8_t)(k * 31 + (k >> 8));
		line.once = packets + 3000;
		sim_pair_run(&f.pair, RUN_NS);
		assert_int_equal(f.a->sq.completed, MESSAGES);
		assert_memory_equal(fixture_bytes(&f, to, 0), fixture_bytes(&f, !to, 0), MESSAGE);
		/* What was on its way when the loss was noticed comes on top: 2 us, 25 packets. */
		assert_in_range(line.count, MESSAGES * packets + 3000,
				MESSAGES * packets + 3000 + 40);
		fixture_stop(&f);
	}
}

/* The last packet is lost: only a timeout tells, and the responder takes the message anew. */
static void go_back_0__after_a_timeout(void **state)
{
	const uint32_t packets = MESSAGE / 1024;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		start(ROCE_RECOVERY_GO_BACK_0, opcodes[i]);
		line.once = MESSAGES * packets;
		sim_pair_run(&f.pair, 20 * ROCE_NS_PER_S);
		assert_int_equal(f.a->sq.completed, MESSAGES);
		assert_int_equal(line.count, (MESSAGES + 1) * packets);
		assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_ACK_TIMEOUTS), 1);
		assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_DUPLICATE), 0);
		fixture_stop(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(go_back_0__no_goodput),
		cmocka_unit_test(go_back_n__goodput),
		cmocka_unit_test(go_back_0__sends_the_message_again),
		cmocka_unit_test(go_back_0__after_a_timeout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
