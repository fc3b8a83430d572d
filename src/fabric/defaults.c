/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a scenario need not say. Each number has its reason here: what vendors document as the usual
 * RoCE configuration, the bounds of IEEE 802.3 for how fast a port answers a pause, or what a
 * current switch has. Pure data.
 */
#include "fabric/fabric.h"

#define PS_PER_NS UINT64_C(1000)
#define PS_PER_US UINT64_C(1000000)
#define PS_PER_MS UINT64_C(1000000000)
#define KB	  1000u

#define PRIO_ROCE 3u
#define PRIO_CNP  6u
#define DSCP_ROCE 26u

void roce_fabric_port_defaults(struct roce_fabric_port_config *out)
{
	*out = (struct roce_fabric_port_config){
		.mtu_bytes = 9000,
		.qos = {.trust = ROCE_FABRIC_TRUST_DSCP},
		.pfc =
			{
				.prios = 1u << PRIO_ROCE,
				.quanta = 0xffff,
				/* What adapters and switches need in practice: the bound of 802.3
				 * at 100G is 394 quanta, 2017 ns. */
				.response_ps = 500 * PS_PER_NS,
			},
	};
	/* The upper three bits of the DSCP, as mlnx_qos and most switches map it. */
	for (uint32_t i = 0; i < ROCE_FABRIC_DSCPS; i++)
		out->qos.dscp_to_prio[i] = (uint8_t)(i / 8);
	for (uint32_t i = 0; i < ROCE_FABRIC_PRIOS; i++) {
		out->qos.pcp_to_prio[i] = (uint8_t)i;
		out->qos.remark[i] = (uint8_t)i;
		out->qos.prio_to_tc[i] = i == PRIO_ROCE || i == PRIO_CNP ? (uint8_t)i : 0;
		out->qos.tc_scheduler[i] = i == PRIO_CNP ? ROCE_FABRIC_STRICT : ROCE_FABRIC_DWRR;
		out->qos.tc_weight[i] = i == PRIO_ROCE || i == 0 ? 50 : 1;
		out->buffer[i] = (struct roce_fabric_buffer){
			.kind = ROCE_FABRIC_LOSSY,
			.egress_alpha = ROCE_FABRIC_ALPHA_ONE, /* SONiC: dynamic_th 0 */
		};
	}
	out->buffer[PRIO_ROCE] = (struct roce_fabric_buffer){
		.kind = ROCE_FABRIC_LOSSLESS,
		.reserve_bytes = 18432, /* SONiC: size of pg_lossless at 100G */
		.headroom_bytes = ROCE_FABRIC_COMPUTED,
		.alpha = ROCE_FABRIC_ALPHA_ONE / 8, /* SONiC: dynamic_th -3 */
		.xon_bytes = ROCE_FABRIC_COMPUTED,  /* SONiC's profiles at 100G: xon is size */
		.xon_offset_bytes = 2496,	    /* SONiC: xon_offset */
	};
	/* Those of simulations in the literature at 100G. */
	out->ecn[PRIO_ROCE] = (struct roce_fabric_ecn){
		.is_enabled = true,
		.is_mark_only = true, /* NVIDIA's switches: ECN and RED are set apart */
		.kmin_bytes = 400 * KB,
		.kmax_bytes = 1600 * KB,
		.pmax_ppm = 200000,
	};
}

void roce_fabric_switch_defaults(struct roce_fabric_switch_config *out)
{
	*out = (struct roce_fabric_switch_config){
		.buffer_bytes = UINT64_C(32) << 20,
		.latency_ps = 600 * PS_PER_NS,
		.hash = ROCE_FABRIC_HASH_MIXED,
		/* SONiC's start_default, without its factor for the number of ports. */
		.watchdog = {.poll_ps = 200 * PS_PER_MS,
			     .detect_ps = 200 * PS_PER_MS,
			     .restore_ps = 200 * PS_PER_MS},
		.region = ROCE_FABRIC_REGION_OWN,
		.rank = -1,
	};
	roce_fabric_port_defaults(&out->port);
}

void roce_fabric_host_defaults(struct roce_fabric_host_config *out)
{
	*out = (struct roce_fabric_host_config){
		/* So that a 64-byte WRITE takes about as long, 1.6 us, as adapters are said to. */
		.tx_delay_ps = 400 * PS_PER_NS,
		.rx_delay_ps = 400 * PS_PER_NS,
		.ack_prio = -1,
		.ack_dscp = DSCP_ROCE,
		.rx_buffer_bytes = 256 * 1024,
		.ack_interval_packets = 16,
	};
	roce_fabric_port_defaults(&out->port);
}

void roce_fabric_flow_defaults(struct roce_fabric_flow_config *out)
{
	*out = (struct roce_fabric_flow_config){
		.via = ROCE_FABRIC_DIRECT,
		.operation = ROCE_FABRIC_WRITE,
		.transport = ROCE_FABRIC_RC,
		.bytes = 1000 * KB,
		.qp_count = 1,
		.depth = 64,
		.path_mtu = 4096,
		.prio = PRIO_ROCE,
		.dscp = DSCP_ROCE,
		.timeout = 14, /* 67 ms, as perftest asks for */
		.retry_cnt = 7,
	};
}

void roce_fabric_defaults(struct roce_fabric_config *out)
{
	*out = (struct roce_fabric_config){
		.seed = 1,
		.framing = {.preamble_gap_bytes = 20},
		.deadlock_check_ps = 10 * PS_PER_MS,
		.is_deadlock_final = true,
	};
}
