/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captures of ports, held against what the ports have counted: every frame decoded, its ICRC
 * checked by the product's other half.
 */
#include "fabric/measure.h"
#include "fabric/record_run.h"

#include "wire/encap.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/pfc.h"

#include <pcap/pcap.h>

#define VLAN 100u

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

/* Ports 0 and SINK of the switch, of an incast. */
static void capture_incast(struct recorded *run, bool is_tagged, struct seen *seen)
{
	static const struct roce_record_port captured[] = {{SWITCH, 0}, {SWITCH, SINK}};

	run_create(run);
	run->net.host.is_tagged = is_tagged;
	run->net.host.vlan_id = is_tagged ? VLAN : 0;
	run->capture = run->cfg.capture = tmpfile();
	assert_non_null(run->capture);
	run->cfg.capture_ports = captured;
	run->cfg.capture_port_count = 2;
	run_incast(run);
	read_capture(run->capture, seen);
	run->capture = NULL; /* closed with the reader */
}

static void a_capture_has_what_the_ports_counted(void **state)
{
	struct recorded run;
	struct seen seen;

	(void)state;
	capture_incast(&run, false, &seen);
	assert_int_equal(seen.tagged[3], 0);
	assert_int_equal(seen.frames[0][0], packets_of(&run.net, 0, ROCE_FABRIC_RX_PACKETS));
	assert_int_equal(seen.frames[0][1], packets_of(&run.net, 0, ROCE_FABRIC_TX_PACKETS));
	assert_int_equal(seen.frames[1][0], packets_of(&run.net, SINK, ROCE_FABRIC_RX_PACKETS));
	assert_int_equal(seen.frames[1][1], packets_of(&run.net, SINK, ROCE_FABRIC_TX_PACKETS));
	assert_int_equal(seen.pauses[0][1], packets_of(&run.net, 0, ROCE_FABRIC_TX_PAUSE));
	assert_true(seen.pauses[0][1] > 0);
	assert_int_equal(seen.bytes, SINK * INCAST_BYTES);
	run_end(&run);
}

/* Data and ACKs have the tag, with their priority; PFC frames have none. */
static void a_capture_shows_vlan_and_pcp(void **state)
{
	struct recorded run;
	struct seen seen;

	(void)state;
	capture_incast(&run, true, &seen);
	assert_true(seen.tagged[3] > 0);
	assert_int_equal(seen.tagged[3], seen.frames[0][0] + seen.frames[0][1] + seen.frames[1][0] +
						 seen.frames[1][1]);
	assert_true(seen.pauses[0][1] > 0);
	run_end(&run);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_capture_has_what_the_ports_counted),
		cmocka_unit_test(a_capture_shows_vlan_and_pcp),
		cmocka_unit_test(a_capture_shows_xoff_without_xon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
