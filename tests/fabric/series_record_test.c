/* SPDX-License-Identifier: BSD-2-Clause */
/* What is recorded over time, held against what is there in the end: samples of queues and lines,
 * counters, the rates that congestion control allows. */
#include "fabric/record_run.h"

#include "cc/dcqcn.h"

/* Rows are in the order of time, and their bytes are all that was sent. */
static void samples_add_up(void **state)
{
	struct recorded run;
	char *rest, *line;
	double last = 0, sent = 0;
	size_t paused_rows = 0;

	(void)state;
	run_create(&run);
	run.cfg.sample_ps = PS_PER_US;
	run.cfg.samples = run.text.out;
	run_record(&run);
	run_begin(&run, INCAST_BYTES);
	while (roce_fabric_now_ps(run.net.f) < 100 * PS_PER_US) {
		roce_fabric_run(run.net.f, roce_record_next_stop(run.record));
		roce_record_look(run.record);
	}
	text_close(&run.text);
	line = strtok_r(run.text.bytes, "\n", &rest);
	assert_string_equal(line, "time_us,node,neighbour,port,queue_bytes,tx_bps,paused_prios");
	while ((line = strtok_r(NULL, "\n", &rest))) {
		char node[16], neighbour[16];
		unsigned int port, paused;
		unsigned long long queue;
		double time_us, rate;

		assert_int_equal(sscanf(line, "%lf,%15[^,],%15[^,],%u,%llu,%lf,%u", &time_us, node,
					neighbour, &port, &queue, &rate, &paused),
				 7);
		assert_true(time_us >= last);
		last = time_us;
		paused_rows += paused == 1 << 3;
		if (strcmp(node, "leaf") == 0 && strcmp(neighbour, "sink") == 0)
			sent += rate / 8 * 1e-6;
	}
	assert_true(paused_rows > 0);
	assert_int_equal((uint64_t)(sent + 0.5),
			 net_port(&run.net, SWITCH, SINK).prio_counters[3][ROCE_FABRIC_TX_BYTES]);
	run_end(&run);
}

/* Of each counter the last row has what the port has in the end, and rows before it less. */
static void counters_over_time_end_as_they_are(void **state)
{
	struct recorded run;
	char *rest, *line;
	double last_us = 0;
	unsigned long long marks = 0, pauses = 0, bytes = 0;
	uint32_t steps = 0;

	(void)state;
	run_create(&run);
	run.cfg.sample_ps = 7 * PS_PER_US;
	run.cfg.counters = run.text.out;
	run_incast(&run);
	line = strtok_r(run.text.bytes, "\n", &rest);
	assert_string_equal(line, "time_us,node,neighbour,port,counter,value");
	while ((line = strtok_r(NULL, "\n", &rest))) {
		char node[16], neighbour[16], counter[64];
		unsigned long long value;
		unsigned int port;
		double time_us;

		assert_int_equal(sscanf(line, "%lf,%15[^,],%15[^,],%u,%63[^,],%llu", &time_us, node,
					neighbour, &port, counter, &value),
				 6);
		assert_true(time_us >= last_us);
		last_us = time_us;
		if (strcmp(node, "leaf") != 0)
			continue;
		if (port == SINK && strcmp(counter, "tx_prio3_ecn_marked") == 0) {
			assert_true(value > marks);
			marks = value;
		} else if (port == 0 && strcmp(counter, "tx_prio3_pause") == 0) {
			assert_true(value > pauses);
			pauses = value;
		} else if (port == SINK && strcmp(counter, "tx_prio3_bytes") == 0) {
			assert_true(value > bytes);
			bytes = value;
			steps++;
		}
	}
	assert_true(steps > 5);
	assert_true(marks > 0 && pauses > 0);
	assert_int_equal(marks, packets_of(&run.net, SINK, ROCE_FABRIC_TX_ECN_MARKED));
	assert_int_equal(pauses, packets_of(&run.net, 0, ROCE_FABRIC_TX_PAUSE));
	assert_int_equal(bytes, packets_of(&run.net, SINK, ROCE_FABRIC_TX_BYTES));
	assert_int_equal((uint64_t)(last_us * 1000), roce_fabric_now_ps(run.net.f) / PS_PER_NS);
	run_end(&run);
}

static void add_controlled(struct net *net)
{
	net_defaults(net);
	net->host.cc = &roce_cc_dcqcn;
	net->host.cc_params = roce_cc_dcqcn.sets[0].params;
	net->sw.port.ecn[3].kmin_bytes = 30000;
}

static void add_flows(struct net *net)
{
	net_star(net, HOSTS);
	for (uint32_t i = 0; i < SINK; i++) {
		struct roce_fabric_flow_config flow = net_flow(i, SINK, 2000000);

		flow.operation = i % 2 ? ROCE_FABRIC_READ : ROCE_FABRIC_WRITE;
		flow.src = i % 2 ? SINK : i;
		flow.dst = i % 2 ? i : SINK;
		flow.qp_count = 2;
		net_add(net, &flow);
	}
}

/* Eight queue pairs into one port, WRITEs and READs: each begins at the line rate, and
 * half of them at least are held below half of it; asking for their rates changes nothing. Of the
 * ninth that is wanted there is none. */
static void allowed_rates_are_those_of_the_controller(void **state)
{
	struct roce_record_config cfg = {.sample_ps = PS_PER_US / 5, .rate_count = 9};
	const struct roce_rates *rates;
	struct roce_record *record;
	struct net net, plain;
	struct text html = {0};
	const struct roce_record_page page = {.title = "t"};
	uint32_t halved = 0;

	(void)state;
	assert_int_equal(roce_record_create(&cfg, &record), 0);
	add_controlled(&net);
	add_flows(&net);
	assert_int_equal(roce_record_begin(record, net.f, names), 0);
	while (roce_fabric_run(net.f, roce_record_next_stop(record)) != ROCE_FABRIC_END_DONE)
		roce_record_look(record);
	roce_record_end(record, ROCE_FABRIC_END_DONE);
	rates = roce_record_rates(record);
	assert_int_equal(rates->lane_count, 2 * SINK);
	assert_true(rates->interval_ps > cfg.sample_ps); /* joined */
	for (uint32_t lane = 0; lane < rates->lane_count; lane++) {
		const double *bps = roce_rates_of(rates, lane);
		double least = 1e12;

		assert_int_equal(rates->lanes[lane].flow, lane / 2);
		assert_int_equal(rates->lanes[lane].qp, lane % 2);
		assert_true(bps[0] == 100e9);
		for (uint32_t i = 0; i < rates->count; i++)
			least = bps[i] > 0 && bps[i] < least ? bps[i] : least;
		halved += least < 50e9;
	}
	assert_true(halved >= SINK); /* CNPs are a few, and chance decides whose */
	html.out = open_memstream(&html.bytes, &html.size);
	assert_non_null(html.out);
	roce_record_write_page(record, &page, html.out);
	assert_int_equal(fclose(html.out), 0);
	assert_non_null(strstr(html.bytes, "<h2 id=\"rates\">"));
	assert_non_null(strstr(html.bytes, "h0 to sink, flow 0, 1"));
	free(html.bytes);
	add_controlled(&plain);
	add_flows(&plain);
	net_run(&plain, PS_PER_S, ROCE_FABRIC_END_DONE);
	assert_int_equal(roce_fabric_now_ps(plain.f), roce_fabric_now_ps(net.f));
	assert_int_equal(net_totals(&plain).cnps, net_totals(&net).cnps);
	assert_int_equal(roce_fabric_flow_rate_bps(net.f, 0, 0), 0); /* it has ended */
	net_end(&plain);
	roce_record_destroy(record);
	net_end(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_add_up),
		cmocka_unit_test(counters_over_time_end_as_they_are),
		cmocka_unit_test(allowed_rates_are_those_of_the_controller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
