/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a run with real payload leaves behind: captures with the bytes of the wire, damaged ones
 * among them; wrong messages in the log and on the page.
 */
#include "fabric/net.h"

#include "fabric/payload.h"
#include "record/record.h"
#include "wire/encap.h"
#include "wire/headers.h"
#include "wire/icrc.h"

#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

#define SWITCH	      2u
#define MESSAGE_BYTES 1001u
#define MESSAGES      2000u

static const char *const names[] = {"h0", "h1", "s0"};
static const struct roce_record_port captured[] = {{SWITCH, 0}};

struct run {
	struct net net;
	struct roce_record *record;
	FILE *log_out;
	char *log;
	size_t log_size;
	FILE *capture;
};

/* h0 sends to h1; the switch's port to h0 is captured. */
static void begin(struct run *run)
{
	struct roce_record_config cfg = {
		.capture_ports = captured, .capture_port_count = 1, .has_series = true};

	memset(run, 0, sizeof(*run));
	run->log_out = cfg.log = open_memstream(&run->log, &run->log_size);
	run->capture = cfg.capture = tmpfile();
	assert_non_null(cfg.log);
	assert_non_null(cfg.capture);
	assert_int_equal(roce_record_create(&cfg, &run->record), 0);
	net_defaults(&run->net);
	run->net.fabric.observer = roce_record_observer(run->record);
	run->net.fabric.observer_ctx = run->record;
}

static void finish(struct run *run, uint8_t transport)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, MESSAGES * MESSAGE_BYTES);
	enum roce_fabric_end end = ROCE_FABRIC_END_TIME;

	flow.operation = transport == ROCE_FABRIC_UD ? ROCE_FABRIC_SEND : ROCE_FABRIC_WRITE;
	flow.transport = transport;
	flow.message_bytes = MESSAGE_BYTES;
	flow.is_real = true;
	net_star(&run->net, 2);
	net_add(&run->net, &flow);
	assert_int_equal(roce_record_begin(run->record, run->net.f, names), 0);
	while (end == ROCE_FABRIC_END_TIME) {
		end = roce_fabric_run(run->net.f, roce_record_next_stop(run->record));
		roce_record_look(run->record);
	}
	roce_record_end(run->record, end);
	assert_int_equal(fclose(run->log_out), 0);
	assert_int_equal(fflush(run->capture), 0);
}

static void drop(struct run *run)
{
	roce_record_destroy(run->record);
	net_end(&run->net);
	free(run->log);
	if (run->capture)
		fclose(run->capture);
}

/* ---- captures ---- */

struct seen {
	uint32_t right;
	uint32_t wrong; /* by the ICRC, or not to be decoded at all */
	uint32_t payload_right;
};

static bool is_right(const u_char *data, uint32_t length, struct roce_headers *out_headers,
		     const uint8_t **out_payload, uint32_t *out_bytes)
{
	struct roce_encap encap;
	struct roce_icrc_flow flow;
	const uint8_t *bth;
	size_t bth_length;

	if (roce_encap_decode(data, length, &encap, &bth, &bth_length) != ROCE_ENCAP_OK ||
	    encap.udp_dport != ROCE_UDP_PORT ||
	    roce_headers_decode(bth, bth_length, out_headers, out_payload, out_bytes) !=
		    ROCE_DECODE_OK)
		return false;
	roce_icrc_flow_init(&flow, &encap.src, &encap.dst, encap.udp_sport, encap.udp_dport);
	return roce_icrc_get(bth + bth_length - 4) ==
	       roce_icrc_compute(&flow, 0, bth, bth_length - 4);
}

/* A message is one packet, so a PSN is its number. */
static struct seen read_capture(struct run *run)
{
	char error[PCAP_ERRBUF_SIZE];
	struct seen seen = {0};
	struct pcap_pkthdr *head;
	const u_char *data;
	pcap_t *reader;

	rewind(run->capture);
	reader = pcap_fopen_offline(run->capture, error);
	assert_non_null(reader);
	while (pcap_next_ex(reader, &head, &data) == 1) {
		uint8_t expected[MESSAGE_BYTES];
		struct roce_headers headers;
		const uint8_t *payload;
		uint32_t bytes;

		if (!is_right(data, head->caplen, &headers, &payload, &bytes)) {
			seen.wrong++;
			continue;
		}
		seen.right++;
		if (!bytes)
			continue;
		assert_int_equal(bytes, MESSAGE_BYTES);
		roce_fabric_payload_fill(
			&(struct roce_fabric_content){.flow = 0, .message = headers.psn.v}, 0,
			expected, bytes);
		assert_memory_equal(payload, expected, bytes);
		seen.payload_right++;
	}
	pcap_close(reader); /* and the file */
	run->capture = NULL;
	return seen;
}

static void a_capture_has_the_bytes_that_were_sent(void **state)
{
	struct roce_fabric_port_view view;
	struct run run;
	struct seen seen;

	(void)state;
	begin(&run);
	finish(&run, ROCE_FABRIC_RC);
	seen = read_capture(&run);
	view = net_port(&run.net, SWITCH, 0);
	assert_int_equal(seen.payload_right, MESSAGES);
	assert_int_equal(seen.wrong, 0);
	assert_int_equal(seen.right, view.prio_counters[3][ROCE_FABRIC_RX_PACKETS] +
					     view.prio_counters[3][ROCE_FABRIC_TX_PACKETS]);
	drop(&run);
}

/* The frames that bit errors cost are in it, each with one bit flipped. What is flipped in front
 * of the UDP header or in the FCS leaves the ICRC right. */
static void a_capture_has_damaged_frames(void **state)
{
	struct roce_fabric_port_view view;
	struct run run;
	struct seen seen;
	uint64_t damaged;

	(void)state;
	begin(&run);
	run.net.link.faults[0].bit_errors_per_1e15 = 1000000000;
	finish(&run, ROCE_FABRIC_RC);
	seen = read_capture(&run);
	view = net_port(&run.net, SWITCH, 0);
	damaged = view.port_counters[ROCE_FABRIC_PORT_RX_CRC_ERRORS];
	assert_true(damaged > 10);
	assert_in_range(seen.wrong, damaged * 9 / 10, damaged);
	assert_int_equal(seen.right + seen.wrong,
			 view.prio_counters[3][ROCE_FABRIC_RX_PACKETS] +
				 view.prio_counters[3][ROCE_FABRIC_TX_PACKETS] + damaged);
	assert_int_equal(net_totals(&run.net).messages_checked, MESSAGES);
	assert_int_equal(net_totals(&run.net).messages_wrong, 0);
	assert_non_null(strstr(run.log, "2000 messages were compared, 0 were wrong"));
	drop(&run);
}

/* ---- words and pictures ---- */

static void log_and_page_name_what_is_wrong(void **state)
{
	const struct roce_record_page page = {.title = "t", .subtitle = "s", .footer = "f"};
	const struct roce_fabric_wrong *wrong;
	char text[ROCE_FABRIC_WRONG_TEXT_MAX], line[256];
	uint32_t count;
	char *html = NULL;
	size_t html_size;
	FILE *out;
	struct run run;

	(void)state;
	begin(&run);
	run.net.host.is_ud_faulty = true;
	run.net.link.faults[0] =
		(struct roce_fabric_faults){.reorder_ppm = 10000, .reorder_ps_max = 5 * PS_PER_US};
	finish(&run, ROCE_FABRIC_UD);
	wrong = roce_fabric_wrongs(run.net.f, &count);
	assert_in_range(count, 1, 10);
	for (uint32_t i = 0; i < count; i++) {
		snprintf(line, sizeof(line), "flow 0, h0 to h1, is wrong at h1: %s\n",
			 roce_fabric_wrong_text(&wrong[i], text));
		assert_non_null(strstr(run.log, line));
	}
	snprintf(line, sizeof(line), "2000 messages were compared, %u were wrong\n", count);
	assert_non_null(strstr(run.log, line));
	/* The wire had the right bytes all the time. */
	assert_int_equal(read_capture(&run).payload_right, MESSAGES);

	out = open_memstream(&html, &html_size);
	assert_non_null(out);
	roce_record_write_page(run.record, &page, out);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(html, "<h2 id=\"payload\">"));
	snprintf(line, sizeof(line), "2000 messages compared, %u wrong", count);
	assert_non_null(strstr(html, line));
	snprintf(line, sizeof(line), "0x%02x", wrong[0].found);
	assert_non_null(strstr(html, line));
	assert_non_null(strstr(html, "Messages that arrived wrong"));
	free(html);
	drop(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_capture_has_the_bytes_that_were_sent),
		cmocka_unit_test(a_capture_has_damaged_frames),
		cmocka_unit_test(log_and_page_name_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
