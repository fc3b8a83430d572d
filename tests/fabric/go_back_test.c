/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a lost packet costs: go-back-N sends again from there on, at about a round trip of packets
 * for each loss; go-back-0, as early adapters had it, the whole message, and with messages longer
 * than the distance between losses nothing ever arrives.
 */
#include "fabric/measure.h"
#include "fabric/net.h"

#define LOSS_PPM 3906u /* 1/256 */
#define MESSAGE	 (4u << 20)
#define PAYLOAD	 1024u
#define FRAME	 (PAYLOAD + 62 + 20)

/* Messages of 4 MB on a line of 100 Gb/s that loses one data frame in 256. */
static double run_lossy(bool is_go_back_0, uint64_t delay_ps, uint64_t until_ps,
			struct roce_fabric_flow_result *out)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, UINT64_C(1) << 32);
	struct net net;

	net_defaults(&net);
	net.link.delay_ps = delay_ps;
	net.host.is_go_back_0 = is_go_back_0;
	net.sw.port.ecn[3].is_enabled = false;
	net_create(&net);
	net_host(&net);
	net_host(&net);
	net_switch(&net);
	net.link.faults[0].loss_ppm = LOSS_PPM;
	net_link(&net, 0, 2);
	net.link.faults[0].loss_ppm = 0;
	net_link(&net, 1, 2);
	assert_int_equal(roce_fabric_prepare(net.f), 0);
	flow.message_bytes = MESSAGE;
	flow.path_mtu = PAYLOAD;
	flow.timeout = 4; /* 66 us: what is lost twice in a row has to wait for it */
	net_add(&net, &flow);
	net_run(&net, until_ps, ROCE_FABRIC_END_TIME);
	*out = net_result(&net, 0);
	net_end(&net);
	return (double)out->messages.count * MESSAGE * 8000 / (double)until_ps;
}

/* Packets that are sent between a loss and when the sender hears of it: the round trip. */
static double window(uint64_t delay_ps)
{
	struct net net;
	double round_trip_ps;

	net_defaults(&net);
	round_trip_ps = (double)(4 * delay_ps + 2 * net.sw.latency_ps + 2 * net.host.tx_delay_ps +
				 2 * net.host.rx_delay_ps);
	round_trip_ps += 3 * FRAME * 80 + 2 * 86 * 80; /* the next frame twice, the NAK twice */
	return round_trip_ps / (FRAME * 80);
}

static void loss__case_081_go_back_0_gets_nothing_through(void **state)
{
	static const uint64_t delays[] = {100 * PS_PER_NS, 1000 * PS_PER_NS, 5000 * PS_PER_NS};
	struct roce_fabric_flow_result r;
	double goodput;

	(void)state;
	goodput = run_lossy(true, delays[0], 20 * PS_PER_MS, &r);
	assert_true(r.packets_sent > 100000);	  /* it does try */
	assert_true(r.bytes_delivered < MESSAGE); /* what comes again and again counts once */
	measured(r.messages.count == 0, "go-back-0, 1/256 lost, messages of 4 MB", "goodput 0",
		 "%.2f Gb/s, with %u packets sent", goodput, (unsigned)r.packets_sent);
	for (uint32_t i = 0; i < 3; i++) {
		double w = window(delays[i]);
		double line = 100.0 * PAYLOAD / FRAME;
		double expected = line / (1 + w * LOSS_PPM / 1e6);
		char what[96], range[96];

		goodput = run_lossy(false, delays[i], 20 * PS_PER_MS, &r);
		goodput = (double)r.bytes_delivered * 8000 / (double)(20 * PS_PER_MS);
		snprintf(what, sizeof(what),
			 "go-back-N, the same, ACK timeout 66 us, links of %u ns",
			 (unsigned)(delays[i] / PS_PER_NS));
		snprintf(range, sizeof(range), "1/(1 + pW), W = %.0f packets: %.1f Gb/s within 5%%",
			 w, expected);
		measured(goodput > 0.95 * expected && goodput < 1.05 * expected, what, range,
			 "%.1f Gb/s", goodput);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loss__case_081_go_back_0_gets_nothing_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
