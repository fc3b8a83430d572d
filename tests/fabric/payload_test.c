/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Real payload: every message is compared, whatever carried it; nothing else changes by it; and
 * what is damaged behind every checksum is found and named.
 */
#include "fabric/measure.h"
#include "fabric/net.h"

#include <string.h>

#define MESSAGES 1000u

struct kind {
	uint8_t transport;
	uint8_t operation;
	uint32_t response_bytes;
};

static const struct kind kinds[] = {
	{ROCE_FABRIC_RC, ROCE_FABRIC_WRITE, 0}, {ROCE_FABRIC_RC, ROCE_FABRIC_READ, 0},
	{ROCE_FABRIC_RC, ROCE_FABRIC_SEND, 0},	{ROCE_FABRIC_UC, ROCE_FABRIC_WRITE, 0},
	{ROCE_FABRIC_UC, ROCE_FABRIC_SEND, 0},	{ROCE_FABRIC_UD, ROCE_FABRIC_SEND, 0},
	{ROCE_FABRIC_RC, ROCE_FABRIC_SEND, 77}, {ROCE_FABRIC_UC, ROCE_FABRIC_SEND, 77},
	{ROCE_FABRIC_UD, ROCE_FABRIC_SEND, 77},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct roce_fabric_flow_config flow_of(const struct kind *kind, uint32_t message_bytes)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, MESSAGES * message_bytes - 3);

	flow.transport = kind->transport;
	flow.operation = kind->operation;
	flow.response_bytes = kind->response_bytes;
	flow.message_bytes = message_bytes;
	flow.path_mtu = 1024;
	flow.qp_count = 3;
	flow.timeout = 8;
	flow.is_real = true;
	return flow;
}

/* The run's end does not matter: UC and UD may lose. */
static struct roce_fabric_totals run_one(struct net *net,
					 const struct roce_fabric_flow_config *flow)
{
	struct roce_fabric_totals totals;

	net_star(net, 2);
	net_add(net, flow);
	(void)roce_fabric_run(net->f, PS_PER_S);
	totals = net_totals(net);
	return totals;
}

static void every_message_is_compared(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < KINDS; i++) {
		struct roce_fabric_flow_config flow =
			flow_of(&kinds[i], kinds[i].transport == ROCE_FABRIC_UD ? 1000 : 5000);
		struct roce_fabric_totals totals;
		struct net net;

		net_defaults(&net);
		totals = run_one(&net, &flow);
		assert_int_equal(net_result(&net, 0).state, ROCE_FABRIC_FLOW_DONE);
		assert_int_equal(totals.messages_checked,
				 kinds[i].response_bytes ? 2 * MESSAGES : MESSAGES);
		assert_int_equal(net_result(&net, 0).messages_checked, totals.messages_checked);
		assert_int_equal(totals.messages_wrong, 0);
		net_end(&net);
	}
}

static void add_faults(struct net *net)
{
	for (uint32_t i = 0; i < 2; i++)
		net->link.faults[i] = (struct roce_fabric_faults){
			.loss_ppm = 2000,
			.duplicate_ppm = 2000,
			.reorder_ppm = 2000,
			.reorder_ps_max = 3 * PS_PER_US,
			.bit_errors_per_1e15 = 1000000000,
		};
}

/* Links that lose, repeat, reorder and damage: what arrives is right, and the run is the one that
 * phantom payload has, to the event. */
static void phantom_and_real_are_one_run(void **state)
{
	uint64_t bit_errors = 0, repeated = 0;

	(void)state;
	for (uint32_t n = 0; n < 2 * KINDS; n++) {
		uint32_t i = n / 2;
		bool is_one_packet = n & 1 || kinds[i].transport == ROCE_FABRIC_UD;
		struct roce_fabric_flow_config flow =
			flow_of(&kinds[i], is_one_packet ? 1000 - n : 5000);
		struct roce_fabric_totals totals[2];
		struct roce_fabric_flow_result r[2];

		for (uint32_t real = 0; real < 2; real++) {
			struct net net;

			net_defaults(&net);
			add_faults(&net);
			flow.is_real = real;
			totals[real] = run_one(&net, &flow);
			r[real] = net_result(&net, 0);
			net_end(&net);
		}
		if (kinds[i].transport == ROCE_FABRIC_RC)
			assert_int_equal(totals[1].messages_checked,
					 kinds[i].response_bytes ? 2 * MESSAGES : MESSAGES);
		else
			assert_in_range(totals[1].messages_checked, MESSAGES / 2, 2 * MESSAGES);
		assert_int_equal(totals[1].messages_wrong, 0);
		bit_errors += totals[1].drops[ROCE_FABRIC_DROP_BIT_ERROR];
		repeated += r[1].packets_repeated;
		totals[1].messages_checked = 0;
		assert_memory_equal(&totals[0], &totals[1], sizeof(totals[0]));
		assert_int_equal(r[1].state, r[0].state);
		assert_int_equal(r[1].done_ps, r[0].done_ps);
		assert_int_equal(r[1].bytes_delivered, r[0].bytes_delivered);
		assert_int_equal(r[1].packets_sent, r[0].packets_sent);
		assert_int_equal(r[1].packets_repeated, r[0].packets_repeated);
	}
	assert_true(bit_errors > 100 && repeated > 100);
}

/* UC takes a WRITE of one packet whenever it comes: late and for the second time, it must not meet
 * memory that is another message's by then. */
static void late_writes_hurt_nobody(void **state)
{
	const struct kind kinds_here[] = {kinds[3], kinds[2], kinds[1]};
	struct net net;

	(void)state;
	net_defaults(&net);
	for (uint32_t i = 0; i < 2; i++)
		net.link.faults[i] = (struct roce_fabric_faults){.duplicate_ppm = 50000,
								 .reorder_ppm = 50000,
								 .reorder_ps_max = 20 * PS_PER_US};
	net_star(&net, 2);
	for (uint32_t i = 0; i < 6; i++) {
		struct roce_fabric_flow_config flow = flow_of(&kinds_here[i % 3], 500 + i);

		flow.src = i / 3;
		flow.dst = 1 - flow.src;
		flow.depth = 2;
		net_add(&net, &flow);
	}
	(void)roce_fabric_run(net.f, PS_PER_S);
	assert_int_equal(net_totals(&net).messages_wrong, 0);
	assert_in_range(net_totals(&net).messages_checked, 5 * MESSAGES + MESSAGES / 2,
			6 * MESSAGES);
	net_end(&net);
}

/* ---- what nobody else sees ---- */

/* One packet is damaged as it reaches a host: behind the checksum, so the transport takes it. */
struct planted {
	struct roce_fabric *f;
	uint32_t at_packet; /* with payload, to `node` */
	uint32_t node;
	uint32_t seen;
	bool is_wiped;
	uint32_t payload_bytes;
	uint8_t was;
	uint32_t told;
};

static void plant(void *ctx, uint64_t ps, uint32_t node, uint32_t port,
		  const struct roce_fabric_frame_view *frame)
{
	struct planted *p = ctx;
	uint8_t *bytes = (uint8_t *)(uintptr_t)frame->payload;

	(void)ps;
	(void)port;
	if (node != p->node || !bytes || p->seen++ != p->at_packet)
		return;
	p->payload_bytes = frame->payload_bytes;
	p->was = bytes[0];
	if (p->is_wiped)
		memset(bytes, 0, frame->payload_bytes);
	else
		bytes[0] ^= 0x40;
}

static void told(void *ctx, uint64_t ps, const struct roce_fabric_wrong *wrong)
{
	struct planted *p = ctx;

	assert_int_equal(wrong->ps, ps);
	p->told++;
}

static void damage_is_named(void **state)
{
	static const struct roce_fabric_observer observer = {.frame_received = plant,
							     .payload_wrong = told};

	(void)state;
	for (uint32_t i = 0; i < 2 * KINDS; i++) {
		const struct kind *kind = &kinds[i / 2];
		bool is_ud = kind->transport == ROCE_FABRIC_UD;
		struct roce_fabric_flow_config flow = flow_of(kind, is_ud ? 1000 : 3000);
		struct planted planted = {.at_packet = is_ud ? 500 : 1501, .is_wiped = i & 1};
		const struct roce_fabric_wrong *wrong;
		struct roce_fabric_totals totals;
		uint32_t count;
		struct net net;

		net_defaults(&net);
		flow.qp_count = 1;
		planted.node = kind->operation == ROCE_FABRIC_READ ? 0 : 1;
		net.fabric.observer = &observer;
		net.fabric.observer_ctx = &planted;
		totals = run_one(&net, &flow);
		wrong = roce_fabric_wrongs(net.f, &count);
		assert_int_equal(count, 1);
		assert_int_equal(planted.told, 1);
		assert_int_equal(totals.messages_wrong, 1);
		assert_int_equal(net_result(&net, 0).messages_wrong, 1);
		assert_int_equal(wrong->flow, 0);
		assert_int_equal(wrong->node, planted.node);
		assert_int_equal(wrong->message, 500);
		assert_int_equal(wrong->offset, is_ud ? 0 : 1024);
		assert_int_equal(wrong->length, flow.message_bytes);
		assert_int_equal(wrong->expected, planted.was);
		assert_int_equal(wrong->found, i & 1 ? 0 : planted.was ^ 0x40);
		assert_int_equal(totals.bytes_wrong, i & 1 ? 0 : 1);
		assert_int_equal(totals.bytes_missing, i & 1 ? planted.payload_bytes : 0);
		net_end(&net);
	}
}

/* An answer is named as such, at the host that asked. */
static void damage_of_an_answer(void **state)
{
	static const struct roce_fabric_observer observer = {.frame_received = plant};
	struct roce_fabric_flow_config flow = flow_of(&kinds[6], 3000);
	struct planted planted = {.at_packet = 20};
	const struct roce_fabric_wrong *wrong;
	uint32_t count;
	struct net net;

	(void)state;
	net_defaults(&net);
	flow.qp_count = 1;
	net.fabric.observer = &observer;
	net.fabric.observer_ctx = &planted;
	run_one(&net, &flow);
	wrong = roce_fabric_wrongs(net.f, &count);
	assert_int_equal(count, 1);
	assert_true(wrong->is_answer);
	assert_int_equal(wrong->node, 0);
	assert_int_equal(wrong->message, 20);
	net_end(&net);
}

/* ---- an adapter that puts UD messages together wrongly ---- */

static struct roce_fabric_totals run_faulty(uint8_t transport, uint32_t reorder_ppm)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 200000 * 256);
	struct roce_fabric_totals totals;
	struct net net;

	net_defaults(&net);
	net.host.is_ud_faulty = true;
	net.link.faults[0] = (struct roce_fabric_faults){
		.reorder_ppm = reorder_ppm, .reorder_ps_max = reorder_ppm ? 5 * PS_PER_US : 0};
	flow.transport = transport;
	flow.operation = ROCE_FABRIC_SEND;
	flow.message_bytes = 256;
	flow.path_mtu = 1024;
	flow.is_real = true;
	totals = run_one(&net, &flow);
	net_end(&net);
	return totals;
}

static void faulty_ud__one_in_a_thousand_while_packets_are_out_of_order(void **state)
{
	struct roce_fabric_totals disordered = run_faulty(ROCE_FABRIC_UD, 10000);
	struct roce_fabric_totals ordered = run_faulty(ROCE_FABRIC_UD, 0);
	struct roce_fabric_totals reliable = run_faulty(ROCE_FABRIC_RC, 10000);

	(void)state;
	assert_int_equal(disordered.messages_checked, 200000);
	assert_in_range(disordered.messages_wrong, 150, 250);
	assert_int_equal(disordered.messages_wrong, disordered.messages_damaged);
	assert_int_equal(disordered.bytes_wrong + disordered.bytes_missing > 0, true);
	assert_int_equal(disordered.flows_done, 1);
	assert_int_equal(ordered.messages_checked, 200000);
	assert_int_equal(ordered.messages_wrong, 0);
	assert_int_equal(reliable.messages_checked, 200000);
	assert_int_equal(reliable.messages_wrong, 0);
	measured(disordered.messages_wrong >= 150 && disordered.messages_wrong <= 250,
		 "faulty-ud: UD messages damaged while 1% of the frames are out of order",
		 "0.1% +- 0.025%", "%.3f%%", (double)disordered.messages_wrong / 2000);
	measured(ordered.messages_wrong + reliable.messages_wrong == 0,
		 "faulty-ud in order, and RC out of order", "0 damaged", "%llu damaged",
		 (unsigned long long)(ordered.messages_wrong + reliable.messages_wrong));
}

/* Both ends and the way between: as many messages as may be posted, or all bytes. */
static void memory_of_a_flow(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 1000000);

	(void)state;
	assert_int_equal(roce_fabric_flow_memory_bytes(&flow), 3 * 1000000);
	flow.message_bytes = 1000;
	flow.depth = 10;
	assert_int_equal(roce_fabric_flow_memory_bytes(&flow), 3 * 10000);
	flow.qp_count = 3;
	assert_int_equal(roce_fabric_flow_memory_bytes(&flow), 3 * 30000);
	flow.response_bytes = 100;
	assert_int_equal(roce_fabric_flow_memory_bytes(&flow), 3 * 33000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_is_compared),
		cmocka_unit_test(phantom_and_real_are_one_run),
		cmocka_unit_test(late_writes_hurt_nobody),
		cmocka_unit_test(damage_is_named),
		cmocka_unit_test(damage_of_an_answer),
		cmocka_unit_test(faulty_ud__one_in_a_thousand_while_packets_are_out_of_order),
		cmocka_unit_test(memory_of_a_flow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
