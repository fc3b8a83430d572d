/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fat-tree of k-port switches under the rules of HPCC's ns-3 simulator, and a permutation on it:
 * what speed is measured with, since others have measured the same. Frames are 1048 and 60 bytes,
 * an ACK for each, ACKs first at the hosts and behind data in the switches, no preamble, no
 * latency, and times on the line are whole nanoseconds: 83 for 1048 bytes at 100 Gb/s.
 *
 * Hosts are 0 to k^3/4 - 1, then the edge switches, the aggregation, the core.
 */
#ifndef ROCE_TESTS_FABRIC_FAT_TREE_H
#define ROCE_TESTS_FABRIC_FAT_TREE_H

#include "cc/dcqcn.h"
#include "fabric/net.h"

#define FAT_TREE_PAYLOAD 1000u

/* Where host i of 128 sends: a permutation without fixed points. */
static const uint8_t fat_tree_8_permutation[128] = {
	127, 43,  66,  85,  15,	 55,  99,  125, 118, 95,  77, 123, 19,	116, 17, 36,  5,   18,	30,
	101, 107, 110, 40,  56,	 92,  114, 80,	73,  117, 84, 124, 75,	54,  47, 94,  51,  105, 33,
	48,  71,  59,  113, 28,	 89,  88,  90,	119, 49,  65, 91,  27,	38,  13, 97,  122, 87,	6,
	16,  12,  50,  26,  126, 24,  39,  102, 82,  60,  63, 41,  115, 106, 83, 103, 67,  93,	20,
	21,  8,	  37,  112, 96,	 108, 14,  34,	31,  35,  1,  57,  2,	10,  9,	 86,  4,   32,	98,
	11,  23,  74,  120, 22,	 81,  29,  3,	76,  58,  42, 78,  100, 79,  69, 68,  0,   44,	53,
	45,  104, 62,  52,  64,	 25,  70,  72,	46,  111, 61, 7,   121, 109,
};

static inline void hpcc_port(struct roce_fabric_port_config *port)
{
	for (uint32_t prio = 0; prio < ROCE_FABRIC_PRIOS; prio++) {
		port->qos.prio_to_tc[prio] = (uint8_t)prio;
		port->qos.tc_scheduler[prio] = prio == 0 ? ROCE_FABRIC_STRICT : ROCE_FABRIC_DWRR;
		port->qos.tc_weight[prio] = 1;
		port->ecn[prio] = (struct roce_fabric_ecn){0};
		port->buffer[prio] = (struct roce_fabric_buffer){.kind = ROCE_FABRIC_UNCOUNTED};
	}
	port->pfc.prios = 1u << 3;
	port->pfc.is_unlimited = true;
	port->pfc.response_ps = 0;
	port->buffer[3] = (struct roce_fabric_buffer){
		.kind = ROCE_FABRIC_LOSSLESS,
		.reserve_bytes = 4096,
		.headroom_bytes = 37500, /* 3 * rate * delay / 8 */
		.alpha = ROCE_FABRIC_ALPHA_ONE / 8,
		.xon_offset_bytes = 3072,
	};
	port->ecn[3] = (struct roce_fabric_ecn){
		.is_enabled = true,
		.is_at_dequeue = true,
		.is_mark_only = true, /* ACKs are no ECN-capable traffic */
		.kmin_bytes = 400000,
		.kmax_bytes = 1600000,
		.pmax_ppm = 200000,
	};
}

static inline void hpcc_defaults(struct net *net)
{
	net_defaults(net);
	net->fabric.framing = (struct roce_fabric_framing){
		.data_extra_bytes = 48, .ack_bytes = 60, .pause_bytes = 43, .is_whole_ns = true};
	net->host.segment_bytes = FAT_TREE_PAYLOAD;
	net->link.delay_ps = 1000 * PS_PER_NS;
	net->sw.latency_ps = 0;
	net->sw.buffer_bytes = UINT64_C(32) << 20;
	net->sw.hash = ROCE_FABRIC_HASH_MURMUR3;
	net->host.tx_delay_ps = 0;
	net->host.rx_delay_ps = 0;
	net->host.ack_turn = ROCE_FABRIC_ACK_ALWAYS;
	net->host.ack_interval_packets = 1;
	hpcc_port(&net->sw.port);
	hpcc_port(&net->host.port);
}

/* DCQCN by its rules, with these timers in microseconds. */
static inline void hpcc_control(struct net *net, uint32_t alpha, uint32_t decrease,
				uint32_t increase)
{
	struct roce_cc_params *params = &net->host.cc_params;

	net->host.cc = &roce_cc_dcqcn;
	*params = roce_cc_find_set(net->host.cc, "hpcc-ns3", 8)->params;
	params->v[ROCE_DCQCN_dce_tcp_rtt] = alpha;
	params->v[ROCE_DCQCN_rate_reduce_monitor_period] = decrease;
	params->v[ROCE_DCQCN_rpg_time_reset] = increase;
}

static inline struct roce_fabric_flow_config hpcc_flow(uint32_t src, uint32_t dst, uint64_t bytes)
{
	struct roce_fabric_flow_config flow = net_flow(src, dst, bytes);

	flow.path_mtu = 1024;
	flow.udp_sport = 10000;
	return flow;
}

static inline void fat_tree(struct net *net, uint32_t k)
{
	uint32_t half = k / 2;
	uint32_t hosts = k * half * half;
	uint32_t edge = hosts;
	uint32_t agg = edge + k * half;
	uint32_t core = agg + k * half;

	net_create(net);
	for (uint32_t i = 0; i < hosts; i++)
		net_host(net);
	for (uint32_t i = 0; i < 2 * k * half + half * half; i++)
		net_switch(net);
	for (uint32_t i = 0; i < hosts; i++)
		net_link(net, i, edge + i / half);
	for (uint32_t pod = 0; pod < k; pod++)
		for (uint32_t i = 0; i < half * half; i++)
			net_link(net, edge + pod * half + i / half, agg + pod * half + i % half);
	for (uint32_t pod = 0; pod < k; pod++)
		for (uint32_t i = 0; i < half * half; i++)
			net_link(net, agg + pod * half + i / half, core + i);
	assert_int_equal(roce_fabric_prepare(net->f), 0);
}

#endif
