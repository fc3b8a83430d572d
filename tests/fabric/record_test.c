/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a run leaves behind, held against the run's own counters: every line of the log, every frame
 * of a capture (its bytes decoded, its ICRC checked by the product's other half), the page. With
 * UROCE_SAMPLE=FILE the page of the incast is kept, to be looked at.
 */
#include "fabric/measure.h"
#include "fabric/net.h"

#include "cc/dcqcn.h"
#include "record/record.h"
#include "wire/encap.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/pfc.h"

#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS  5u
#define SWITCH HOSTS
#define SINK   (HOSTS - 1)
#define VLAN   100u

static const char *const names[] = {"h0", "h1", "h2", "h3", "sink", "leaf"};

struct text {
	FILE *out;
	char *bytes;
	size_t size;
};

struct recorded {
	struct net net;
	struct roce_record *record;
	struct text log;
	FILE *capture;
};

static const struct roce_record_port captured[] = {{SWITCH, 0}, {SWITCH, SINK}};

/* All hosts write 200 kB to the sink, at once. */
static void run_incast_of(struct recorded *run, bool is_lossless, bool is_tagged)
{
	struct roce_record_config cfg = {
		.capture_ports = captured, .capture_port_count = 2, .has_series = true};

	memset(run, 0, sizeof(*run));
	run->log.out = open_memstream(&run->log.bytes, &run->log.size);
	run->capture = tmpfile();
	assert_non_null(run->log.out);
	assert_non_null(run->capture);
	cfg.log = run->log.out;
	cfg.capture = run->capture;
	assert_int_equal(roce_record_create(&cfg, &run->record), 0);
	net_defaults(&run->net);
	run->net.fabric.observer = roce_record_observer(run->record);
	run->net.fabric.observer_ctx = run->record;
	run->net.sw.port.ecn[3].kmin_bytes = 30000;
	run->net.host.is_tagged = is_tagged;
	run->net.host.vlan_id = is_tagged ? VLAN : 0;
	if (is_lossless) {
		run->net.sw.port.buffer[3].xoff_bytes = 50000;
	} else {
		run->net.sw.port.buffer[3] = (struct roce_fabric_buffer){
			.kind = ROCE_FABRIC_LOSSY, .egress_alpha = ROCE_FABRIC_ALPHA_ONE / 128};
		run->net.sw.port.pfc.prios = 0;
		run->net.host.port.buffer[3] = run->net.sw.port.buffer[3];
		run->net.host.port.pfc.prios = 0;
		run->net.sw.buffer_bytes = 2 << 20;
	}
	net_star(&run->net, HOSTS);
	for (uint32_t i = 0; i < SINK; i++) {
		struct roce_fabric_flow_config flow = net_flow(i, SINK, 200000);

		net_add(&run->net, &flow);
	}
	assert_int_equal(roce_record_begin(run->record, run->net.f, names), 0);
	for (enum roce_fabric_end end = ROCE_FABRIC_END_TIME; end != ROCE_FABRIC_END_DONE;) {
		assert_int_equal(end, ROCE_FABRIC_END_TIME);
		end = roce_fabric_run(run->net.f, roce_record_next_stop(run->record));
		roce_record_look(run->record);
	}
	roce_record_end(run->record, ROCE_FABRIC_END_DONE);
	assert_int_equal(fclose(run->log.out), 0);
	assert_int_equal(fflush(run->capture), 0);
}

static void run_incast(struct recorded *run, bool is_lossless)
{
	run_incast_of(run, is_lossless, false);
}

static void end_incast(struct recorded *run)
{
	roce_record_destroy(run->record);
	net_end(&run->net);
	free(run->log.bytes);
	if (run->capture)
		fclose(run->capture);
}

static size_t count_of(const char *text, const char *what)
{
	size_t n = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		n++;
	}
	return n;
}

static void the_log_tells_of_flows_pauses_and_marks(void **state)
{
	struct recorded run;

	(void)state;
	run_incast(&run, true);
	assert_int_equal(count_of(run.log.bytes, " starts: rc write of 200 kB"), SINK);
	assert_int_equal(count_of(run.log.bytes, " is done: "), SINK);
	assert_true(net_totals(&run.net).pause_frames > 0);
	assert_non_null(strstr(run.log.bytes, "leaf stops h1 on priority 3 (XOFF, 65535 quanta)"));
	assert_non_null(strstr(run.log.bytes, "h1 to leaf is paused on priority 3"));
	assert_non_null(strstr(run.log.bytes, "h1 to leaf goes on with priority 3 after "));
	assert_true(net_totals(&run.net).ecn_marks > 0);
	assert_int_equal(count_of(run.log.bytes, "leaf to sink marks its first frame CE"), 1);
	assert_null(strstr(run.log.bytes, "drops"));
	assert_non_null(strstr(run.log.bytes, "the run ends: all flows have ended"));
	end_incast(&run);
}

static void the_log_tells_of_drops_and_counts_the_rest(void **state)
{
	struct recorded run;
	char total[96];

	(void)state;
	run_incast(&run, false);
	assert_true(net_drops(&run.net) > 5);
	assert_int_equal(count_of(run.log.bytes, "leaf to sink drops RC_WRITE"), 5);
	snprintf(total, sizeof(total),
		 "leaf to sink dropped %u frames in all: ", (unsigned)net_drops(&run.net));
	assert_non_null(strstr(run.log.bytes, total));
	assert_non_null(strstr(run.log.bytes, "packets were repeated"));
	end_incast(&run);
}

struct seen {
	uint64_t frames[2][2]; /* interface, in and out: RoCEv2 */
	uint64_t pauses[2][2];
	uint64_t bytes;			    /* payload of WRITE that left to the sink */
	uint64_t tagged[ROCE_FABRIC_PRIOS]; /* by PCP */
};

static void check_roce_frame(const u_char *data, uint32_t length, uint32_t *out_payload,
			     struct seen *seen)
{
	struct roce_encap encap;
	struct roce_icrc_flow flow;
	struct roce_headers headers;
	const uint8_t *bth, *payload;
	size_t bth_length;

	assert_int_equal(roce_encap_decode(data, length, &encap, &bth, &bth_length), ROCE_ENCAP_OK);
	assert_int_equal(encap.udp_dport, ROCE_UDP_PORT);
	if (encap.has_vlan) {
		assert_int_equal(encap.vlan_id, VLAN);
		seen->tagged[encap.vlan_pcp]++;
	}
	assert_int_equal(roce_headers_decode(bth, bth_length, &headers, &payload, out_payload),
			 ROCE_DECODE_OK);
	roce_icrc_flow_init(&flow, &encap.src, &encap.dst, encap.udp_sport, encap.udp_dport);
	assert_int_equal(roce_icrc_get(bth + bth_length - 4),
			 roce_icrc_compute(&flow, 0, bth, bth_length - 4));
}

/* pcapng options are beyond libpcap: which port it was follows from the MAC addresses. */
static void read_capture(FILE *file, struct seen *seen)
{
	char error[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *head;
	const u_char *data;
	pcap_t *reader;
	int64_t last_ns = 0;

	rewind(file);
	reader = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, error);
	assert_non_null(reader);
	memset(seen, 0, sizeof(*seen));
	while (pcap_next_ex(reader, &head, &data) == 1) {
		bool is_out = data[11] == SWITCH;
		uint32_t port = is_out ? data[7] : data[1];
		int64_t now_ns = head->ts.tv_sec * INT64_C(1000000000) + head->ts.tv_usec;
		struct roce_pfc pfc;
		uint32_t payload;

		assert_true(now_ns >= last_ns);
		last_ns = now_ns;
		if (roce_pfc_decode(data, head->caplen, &pfc)) {
			assert_int_equal(pfc.enabled, 1 << 3);
			seen->pauses[is_out && data[7] == SINK][is_out]++;
			continue;
		}
		check_roce_frame(data, head->caplen, &payload, seen);
		seen->frames[port == SINK][is_out]++;
		if (port == SINK && is_out)
			seen->bytes += payload;
	}
	pcap_close(reader);
}

static uint64_t packets_of(const struct net *net, uint32_t port, enum roce_fabric_prio_counter what)
{
	struct roce_fabric_port_view view = net_port(net, SWITCH, port);
	uint64_t sum = 0;

	for (uint32_t p = 0; p < ROCE_FABRIC_PRIOS; p++)
		sum += view.prio_counters[p][what];
	return sum;
}

static void a_capture_has_what_the_ports_counted(void **state)
{
	struct recorded run;
	struct seen seen;

	(void)state;
	run_incast(&run, true);
	read_capture(run.capture, &seen);
	run.capture = NULL; /* closed with the reader */
	assert_int_equal(seen.tagged[3], 0);
	assert_int_equal(seen.frames[0][0], packets_of(&run.net, 0, ROCE_FABRIC_RX_PACKETS));
	assert_int_equal(seen.frames[0][1], packets_of(&run.net, 0, ROCE_FABRIC_TX_PACKETS));
	assert_int_equal(seen.frames[1][0], packets_of(&run.net, SINK, ROCE_FABRIC_RX_PACKETS));
	assert_int_equal(seen.frames[1][1], packets_of(&run.net, SINK, ROCE_FABRIC_TX_PACKETS));
	assert_int_equal(seen.pauses[0][1], packets_of(&run.net, 0, ROCE_FABRIC_TX_PAUSE));
	assert_true(seen.pauses[0][1] > 0);
	assert_int_equal(seen.bytes, SINK * 200000);
	end_incast(&run);
}

/* Data and ACKs have the tag, with their priority; PFC frames have none. */
static void a_capture_shows_vlan_and_pcp(void **state)
{
	struct recorded run;
	struct seen seen;

	(void)state;
	run_incast_of(&run, true, true);
	read_capture(run.capture, &seen);
	run.capture = NULL; /* closed with the reader */
	assert_true(seen.tagged[3] > 0);
	assert_int_equal(seen.tagged[3], seen.frames[0][0] + seen.frames[0][1] + seen.frames[1][0] +
						 seen.frames[1][1]);
	assert_true(seen.pauses[0][1] > 0);
	end_incast(&run);
}

/* A host that never lets go: pauses that are repeated before they expire, and no resume, in the
 * capture as in the counters of both ends. */
static void a_capture_shows_xoff_without_xon(void **state)
{
	static const struct roce_record_port port = {2, 1};
	static const char *const two[] = {"h0", "h1", "leaf"};
	struct roce_record_config cfg = {.capture_ports = &port, .capture_port_count = 1};
	struct roce_fabric_flow_config flow = net_flow(0, 1, 1000000);
	struct roce_record *record;
	char error[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *head;
	const u_char *data;
	uint64_t xoffs = 0, xons = 0, counted[2];
	pcap_t *reader;
	struct net net;
	uint32_t sw;

	(void)state;
	cfg.capture = tmpfile();
	assert_non_null(cfg.capture);
	assert_int_equal(roce_record_create(&cfg, &record), 0);
	net_defaults(&net);
	net.fabric.observer = roce_record_observer(record);
	net.fabric.observer_ctx = record;
	net_create(&net);
	net_host(&net);
	net.host.is_pausing_forever = true;
	net_host(&net);
	sw = net_switch(&net);
	net_link(&net, 0, sw);
	net_link(&net, 1, sw);
	assert_int_equal(roce_fabric_prepare(net.f), 0);
	flow.timeout = 0;
	net_add(&net, &flow);
	assert_int_equal(roce_record_begin(record, net.f, two), 0);
	net_run(&net, 2 * PS_PER_MS, ROCE_FABRIC_END_TIME);
	roce_record_end(record, ROCE_FABRIC_END_TIME);
	assert_int_equal(fflush(cfg.capture), 0);
	rewind(cfg.capture);
	reader = pcap_fopen_offline(cfg.capture, error);
	assert_non_null(reader);
	while (pcap_next_ex(reader, &head, &data) == 1) {
		struct roce_pfc pfc;

		if (!roce_pfc_decode(data, head->caplen, &pfc))
			continue;
		xoffs += pfc.quanta[3] > 0;
		xons += pfc.quanta[3] == 0;
	}
	pcap_close(reader);
	counted[0] = net_port(&net, 1, 0).prio_counters[3][ROCE_FABRIC_TX_PAUSE];
	counted[1] = net_port(&net, sw, 1).prio_counters[3][ROCE_FABRIC_RX_PAUSE];
	measured(xons == 0 && xoffs > 5 && xoffs == counted[0] && xoffs == counted[1],
		 "XOFF without XON: in the capture, and in the counters of both ends",
		 "the same number, and no XON", "%u, %u and %u; %u XON", (unsigned)xoffs,
		 (unsigned)counted[0], (unsigned)counted[1], (unsigned)xons);
	roce_record_destroy(record);
	net_end(&net);
}

static void the_page_has_every_section(void **state)
{
	static const char *const ids[] = {"flows", "network", "queues", "pauses", "losses"};
	const char *sample = getenv("UROCE_SAMPLE");
	struct roce_record_page page = {.title = "Incast <4 to 1>",
					.subtitle = "5 hosts at 100 Gb/s",
					.footer = "uroce sim"};
	struct recorded run;
	struct text html = {0};
	struct roce_fabric_totals totals;

	(void)state;
	run_incast(&run, !getenv("UROCE_SAMPLE_LOSSY"));
	html.out = open_memstream(&html.bytes, &html.size);
	assert_non_null(html.out);
	roce_record_write_page(run.record, &page, html.out);
	assert_int_equal(fclose(html.out), 0);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		char heading[32];

		snprintf(heading, sizeof(heading), "<h2 id=\"%s\">", ids[i]);
		assert_non_null(strstr(html.bytes, heading));
	}
	totals = net_totals(&run.net);
	assert_true(totals.pause_frames > 0);
	assert_non_null(strstr(html.bytes, ">4 of 4<"));
	assert_non_null(strstr(html.bytes, "leaf to sink"));
	assert_non_null(strstr(html.bytes, "No frame was lost."));
	assert_true(count_of(html.bytes, "<rect class=\"span s0\"") > 0);
	assert_int_equal(count_of(html.bytes, "<line class=\"link"), HOSTS);
	if (sample) {
		FILE *file = fopen(sample, "w");

		assert_non_null(file);
		assert_int_equal(fwrite(html.bytes, 1, html.size, file), html.size);
		assert_int_equal(fclose(file), 0);
	}
	free(html.bytes);
	end_incast(&run);
}

/* Rows are in the order of time, and their bytes are all that was sent. */
static void samples_add_up(void **state)
{
	struct roce_record_config cfg = {.sample_ps = PS_PER_US};
	struct text csv = {0};
	struct roce_record *record;
	struct net net;
	char *rest, *line;
	double last = 0, sent = 0;
	size_t paused_rows = 0;

	(void)state;
	csv.out = open_memstream(&csv.bytes, &csv.size);
	assert_non_null(csv.out);
	cfg.samples = csv.out;
	assert_int_equal(roce_record_create(&cfg, &record), 0);
	net_defaults(&net);
	net.fabric.observer = roce_record_observer(record);
	net.fabric.observer_ctx = record;
	net.sw.port.buffer[3].xoff_bytes = 50000;
	net_star(&net, HOSTS);
	for (uint32_t i = 0; i < SINK; i++) {
		struct roce_fabric_flow_config flow = net_flow(i, SINK, 200000);

		net_add(&net, &flow);
	}
	assert_int_equal(roce_record_begin(record, net.f, names), 0);
	while (roce_fabric_now_ps(net.f) < 100 * PS_PER_US) {
		roce_fabric_run(net.f, roce_record_next_stop(record));
		roce_record_look(record);
	}
	assert_int_equal(fclose(csv.out), 0);
	line = strtok_r(csv.bytes, "\n", &rest);
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
			 net_port(&net, SWITCH, SINK).prio_counters[3][ROCE_FABRIC_TX_BYTES]);
	free(csv.bytes);
	roce_record_destroy(record);
	net_end(&net);
}

/* Of each counter the last row has what the port has in the end, and rows before it less. */
static void counters_over_time_end_as_they_are(void **state)
{
	struct roce_record_config cfg = {.sample_ps = 7 * PS_PER_US};
	struct text csv = {0};
	struct roce_record *record;
	struct net net;
	char *rest, *line;
	double last_us = 0;
	unsigned long long marks = 0, pauses = 0, bytes = 0;
	uint32_t steps = 0;

	(void)state;
	csv.out = open_memstream(&csv.bytes, &csv.size);
	assert_non_null(csv.out);
	cfg.counters = csv.out;
	assert_int_equal(roce_record_create(&cfg, &record), 0);
	net_defaults(&net);
	net.sw.port.ecn[3].kmin_bytes = 30000;
	net.sw.port.buffer[3].xoff_bytes = 50000;
	net_star(&net, HOSTS);
	for (uint32_t i = 0; i < SINK; i++) {
		struct roce_fabric_flow_config flow = net_flow(i, SINK, 200000);

		net_add(&net, &flow);
	}
	assert_int_equal(roce_record_begin(record, net.f, names), 0);
	while (roce_fabric_run(net.f, roce_record_next_stop(record)) != ROCE_FABRIC_END_DONE)
		roce_record_look(record);
	roce_record_end(record, ROCE_FABRIC_END_DONE);
	assert_int_equal(fclose(csv.out), 0);
	line = strtok_r(csv.bytes, "\n", &rest);
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
	assert_int_equal(marks, packets_of(&net, SINK, ROCE_FABRIC_TX_ECN_MARKED));
	assert_int_equal(pauses, packets_of(&net, 0, ROCE_FABRIC_TX_PAUSE));
	assert_int_equal(bytes, packets_of(&net, SINK, ROCE_FABRIC_TX_BYTES));
	assert_int_equal((uint64_t)(last_us * 1000), roce_fabric_now_ps(net.f) / PS_PER_NS);
	free(csv.bytes);
	roce_record_destroy(record);
	net_end(&net);
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

/* Recording must not change what happens. */
static void a_recorded_run_is_the_same_run(void **state)
{
	struct recorded run;
	struct net net;

	(void)state;
	run_incast(&run, true);
	net_defaults(&net);
	net.sw.port.ecn[3].kmin_bytes = 30000;
	net.sw.port.buffer[3].xoff_bytes = 50000;
	net_star(&net, HOSTS);
	for (uint32_t i = 0; i < SINK; i++) {
		struct roce_fabric_flow_config flow = net_flow(i, SINK, 200000);

		net_add(&net, &flow);
	}
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	for (uint32_t i = 0; i < SINK; i++)
		assert_int_equal(net_result(&net, i).done_ps, net_result(&run.net, i).done_ps);
	assert_int_equal(net_totals(&net).packet_hops, net_totals(&run.net).packet_hops);
	net_end(&net);
	end_incast(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_log_tells_of_flows_pauses_and_marks),
		cmocka_unit_test(the_log_tells_of_drops_and_counts_the_rest),
		cmocka_unit_test(a_capture_has_what_the_ports_counted),
		cmocka_unit_test(a_capture_shows_vlan_and_pcp),
		cmocka_unit_test(a_capture_shows_xoff_without_xon),
		cmocka_unit_test(the_page_has_every_section),
		cmocka_unit_test(samples_add_up),
		cmocka_unit_test(counters_over_time_end_as_they_are),
		cmocka_unit_test(allowed_rates_are_those_of_the_controller),
		cmocka_unit_test(a_recorded_run_is_the_same_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
