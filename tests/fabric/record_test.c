/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The log and the page of a run, held against the run's own counters. With UROCE_SAMPLE=FILE the
 * page of the incast is kept, to be looked at.
 */
#include "fabric/record_run.h"

/* No PFC, and little room. */
static void make_lossy(struct net *net)
{
	net->sw.port.buffer[3] = (struct roce_fabric_buffer){
		.kind = ROCE_FABRIC_LOSSY, .egress_alpha = ROCE_FABRIC_ALPHA_ONE / 128};
	net->sw.port.pfc.prios = 0;
	net->host.port.buffer[3] = net->sw.port.buffer[3];
	net->host.port.pfc.prios = 0;
	net->sw.buffer_bytes = 2 << 20;
}

static void the_log_tells_of_flows_pauses_and_marks(void **state)
{
	struct recorded run;

	(void)state;
	run_create(&run);
	run.cfg.log = run.text.out;
	run_incast(&run);
	assert_int_equal(count_of(run.text.bytes, " starts: rc write of 200 kB"), SINK);
	assert_int_equal(count_of(run.text.bytes, " is done: "), SINK);
	assert_true(net_totals(&run.net).pause_frames > 0);
	assert_non_null(strstr(run.text.bytes, "leaf stops h1 on priority 3 (XOFF, 65535 quanta)"));
	assert_non_null(strstr(run.text.bytes, "h1 to leaf is paused on priority 3"));
	assert_non_null(strstr(run.text.bytes, "h1 to leaf goes on with priority 3 after "));
	assert_true(net_totals(&run.net).ecn_marks > 0);
	assert_int_equal(count_of(run.text.bytes, "leaf to sink marks its first frame CE"), 1);
	assert_null(strstr(run.text.bytes, "drops"));
	assert_non_null(strstr(run.text.bytes, "the run ends: all flows have ended"));
	run_end(&run);
}

static void the_log_tells_of_drops_and_counts_the_rest(void **state)
{
	struct recorded run;
	char total[96];

	(void)state;
	run_create(&run);
	make_lossy(&run.net);
	run.cfg.log = run.text.out;
	run_incast(&run);
	assert_true(net_drops(&run.net) > 5);
	assert_int_equal(count_of(run.text.bytes, "leaf to sink drops RC_WRITE"), 5);
	snprintf(total, sizeof(total),
		 "leaf to sink dropped %u frames in all: ", (unsigned)net_drops(&run.net));
	assert_non_null(strstr(run.text.bytes, total));
	assert_non_null(strstr(run.text.bytes, "packets were repeated"));
	run_end(&run);
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
	run_create(&run);
	if (getenv("UROCE_SAMPLE_LOSSY"))
		make_lossy(&run.net);
	run.cfg.has_series = true;
	run_incast(&run);
	text_open(&html);
	roce_record_write_page(run.record, &page, html.out);
	text_close(&html);
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
	run_end(&run);
}

/* Recording must not change what happens. */
static void a_recorded_run_is_the_same_run(void **state)
{
	struct recorded run, plain;

	(void)state;
	run_create(&run);
	run.cfg.has_series = true;
	run.cfg.log = run.text.out;
	run_incast(&run);
	run_create(&plain);
	run_begin(&plain, INCAST_BYTES);
	run_to_end(&plain);
	for (uint32_t i = 0; i < SINK; i++)
		assert_int_equal(net_result(&plain.net, i).done_ps,
				 net_result(&run.net, i).done_ps);
	assert_int_equal(net_totals(&plain.net).packet_hops, net_totals(&run.net).packet_hops);
	run_end(&plain);
	run_end(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_log_tells_of_flows_pauses_and_marks),
		cmocka_unit_test(the_log_tells_of_drops_and_counts_the_rest),
		cmocka_unit_test(the_page_has_every_section),
		cmocka_unit_test(a_recorded_run_is_the_same_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
