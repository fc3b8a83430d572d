/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What PFC does to who shares a line, and what DCQCN makes of it: the parking lot, where whoever is
 * nearer gets more until rates are controlled; and a step down in speed, where pauses are a matter
 * of how soon the sender hears of the queue.
 */
#include "fabric/measure.h"
#include "fabric/net.h"

#include "cc/dcqcn.h"
#include "wire/opcode.h"

#include <string.h>

#define PRIO 3u

static void control(struct roce_fabric_host_config *host, const char *set)
{
	host->cc = &roce_cc_dcqcn;
	host->cc_params = roce_cc_find_set(host->cc, set, strlen(set))->params;
}

/* ---- parking lot ---- */

#define SENDERS 4u
#define SINK	SENDERS

/* Hosts 0 to 2 are at the first switch, 3 and the receiver at the second: what 3 sends has the port
 * for itself where the others share one. */
static void make_lot(struct net *net, bool is_controlled)
{
	uint32_t left, right;

	net_defaults(net);
	if (is_controlled)
		control(&net->host, "connectx");
	net_create(net);
	for (uint32_t i = 0; i <= SENDERS; i++)
		net_host(net);
	left = net_switch(net);
	right = net_switch(net);
	for (uint32_t i = 0; i <= SENDERS; i++)
		net_link(net, i, i < SENDERS - 1 ? left : right);
	net_link(net, left, right);
	assert_int_equal(roce_fabric_prepare(net->f), 0);
	for (uint32_t i = 0; i < SENDERS; i++) {
		struct roce_fabric_flow_config flow = net_flow(i, SINK, UINT64_C(1) << 32);

		net_add(net, &flow);
	}
}

static double jain(const double *rate, uint32_t count)
{
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < count; i++) {
		sum += rate[i];
		squares += rate[i] * rate[i];
	}
	return sum * sum / (count * squares);
}

/* Gb/s of each sender, from one time to another. */
static void run_lot(bool is_controlled, uint64_t from_ps, uint64_t until_ps, double *rate)
{
	struct net net;

	make_lot(&net, is_controlled);
	net_run(&net, from_ps, ROCE_FABRIC_END_TIME);
	for (uint32_t i = 0; i < SENDERS; i++)
		rate[i] = -(double)net_result(&net, i).bytes_delivered;
	net_run(&net, until_ps, ROCE_FABRIC_END_TIME);
	for (uint32_t i = 0; i < SENDERS; i++)
		rate[i] = (rate[i] + (double)net_result(&net, i).bytes_delivered) * 8000 /
			  (double)(until_ps - from_ps);
	assert_int_equal(net_drops(&net), 0);
	net_end(&net);
}

static void parking_lot__unfair_by_pfc_fair_by_dcqcn(void **state)
{
	double rate[SENDERS];

	(void)state;
	run_lot(false, PS_PER_MS, 4 * PS_PER_MS, rate);
	measured(rate[3] > 2 * rate[0] && jain(rate, SENDERS) < 0.85, "parking lot, PFC alone",
		 "the near sender about 1/2, the others 1/6 each; Jain 0.75",
		 "%.1f, %.1f, %.1f and near %.1f Gb/s; Jain %.3f", rate[0], rate[1], rate[2],
		 rate[3], jain(rate, SENDERS));
	run_lot(true, 20 * PS_PER_MS, 60 * PS_PER_MS, rate);
	measured(jain(rate, SENDERS) > 0.98, "parking lot, DCQCN", "all alike; Jain above 0.98",
		 "%.1f, %.1f, %.1f and near %.1f Gb/s; Jain %.3f", rate[0], rate[1], rate[2],
		 rate[3], jain(rate, SENDERS));
}

/* ---- a step down ---- */

struct notified {
	uint64_t last_ps;
	uint64_t gap_min_ps;
	uint64_t first_mark_ps;
	uint64_t first_cnp_ps; /* on the wire */
};

static void on_sent(void *ctx, uint64_t ps, uint32_t node, uint32_t port,
		    const struct roce_fabric_frame_view *frame)
{
	struct notified *n = ctx;

	(void)port;
	if (node != 1 || roce_opcode_info(frame->hdr.opcode)->operation != ROCE_OPERATION_CNP)
		return;
	if (!n->first_cnp_ps)
		n->first_cnp_ps = ps;
	else if (ps - n->last_ps < n->gap_min_ps)
		n->gap_min_ps = ps - n->last_ps;
	n->last_ps = ps;
}

static void on_marked(void *ctx, uint64_t ps, uint32_t node, uint32_t port,
		      const struct roce_fabric_frame_view *frame)
{
	struct notified *n = ctx;

	(void)node;
	(void)port;
	(void)frame;
	if (!n->first_mark_ps)
		n->first_mark_ps = ps;
}

static const struct roce_fabric_observer observer = {
	.frame_sent = on_sent,
	.frame_marked = on_marked,
};

/* 100G into 25G, with so much room above the mark that a sender that hears at once stays below. */
static struct roce_fabric_totals run_step(uint64_t cnp_delay_us, struct notified *n)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 8 << 20);
	struct roce_fabric_totals totals;
	struct net net;
	uint32_t sw;

	*n = (struct notified){.gap_min_ps = UINT64_MAX};
	net_defaults(&net);
	net.fabric.observer = &observer;
	net.fabric.observer_ctx = n;
	control(&net.host, "connectx");
	net.host.cnp_delay_ps = cnp_delay_us * PS_PER_US;
	net.sw.port.ecn[PRIO].kmin_bytes = 5000;
	net.sw.port.ecn[PRIO].kmax_bytes = 5000; /* a step: all above are marked */
	net.sw.port.buffer[PRIO].xoff_bytes = 400000;
	net_create(&net);
	net_host(&net);
	net_host(&net);
	sw = net_switch(&net);
	net_link(&net, 0, sw);
	net.link.rate_bps = 25 * GBPS;
	net_link(&net, 1, sw);
	assert_int_equal(roce_fabric_prepare(net.f), 0);
	net_add(&net, &flow);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	assert_int_equal(net_drops(&net), 0);
	totals = net_totals(&net);
	net_end(&net);
	return totals;
}

static void step_down__case_070_late_notices_bring_pauses(void **state)
{
	struct notified n[2];
	struct roce_fabric_totals now = run_step(0, &n[0]);
	struct roce_fabric_totals late = run_step(55, &n[1]);

	(void)state;
	measured(now.pause_frames == 0 && late.pause_frames > 0,
		 "100G into 25G: PFC frames by the notification's delay",
		 "none at 0 us, some at 55 us", "%u at 0 us, %u at 55 us",
		 (unsigned)now.pause_frames, (unsigned)late.pause_frames);
	/* 4 us is the interval of the set. */
	measured(n[0].gap_min_ps >= 4 * PS_PER_US && n[1].gap_min_ps >= 4 * PS_PER_US &&
			 now.cnps > 1 && late.cnps > 1,
		 "least time between CNPs of a port", "not below the interval, 4 us",
		 "%.2f us and %.2f us", (double)n[0].gap_min_ps * 1e-6,
		 (double)n[1].gap_min_ps * 1e-6);
	assert_in_range(n[1].first_cnp_ps - n[1].first_mark_ps, 55 * PS_PER_US, 65 * PS_PER_US);
	assert_in_range(n[0].first_cnp_ps - n[0].first_mark_ps, 1, 10 * PS_PER_US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parking_lot__unfair_by_pfc_fair_by_dcqcn),
		cmocka_unit_test(step_down__case_070_late_notices_bring_pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
