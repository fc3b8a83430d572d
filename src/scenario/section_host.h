/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A host's NIC: the core's tuning, its receive path, classes of service, and DCQCN by NVIDIA's
 * names. `hosts` overrides it by name.
 */
#ifndef ROCE_SCENARIO_SECTION_HOST_H
#define ROCE_SCENARIO_SECTION_HOST_H

#include "scenario/key.h"

#include "scenario/section_qos.h"

enum roce_host_address { ROCE_HOST_IPV4, ROCE_HOST_IPV6 };
enum roce_dcqcn_preset { ROCE_DCQCN_CONNECTX, ROCE_DCQCN_PAPER, ROCE_DCQCN_HPCC };
enum roce_cnp_per { ROCE_CNP_PER_QP, ROCE_CNP_PER_DESTINATION, ROCE_CNP_PER_PORT };

/* clang-format off */
#define ROCE_HOST_OWN_KEYS(X)                                                                      \
	X(timing, "timing", WORD, "spec", NULL, NULL, "spec|cx6", 0,                               \
	  "local ACK timeouts as the specification has them, or as long as a ConnectX-6 takes", NULL) \
	X(address, "address", WORD, "ipv4", NULL, NULL, "ipv4|ipv6", 0,                            \
	  "its GID: an IPv4 address (10.x.y.z) or an IPv6 one (fd00::)", NULL)                     \
	X(path_mtu, "path_mtu", WORD, "4096", NULL, NULL, "256|512|1024|2048|4096", 0,             \
	  "bytes of payload in a packet of its queue pairs", "the largest; networks of RoCE have jumbo frames") \
	X(mtu, "mtu", BYTES, "9000", "256", "9978", NULL, 0,                                       \
	  "longest IP packet of its port", "jumbo frames, as RoCE networks have them")             \
	X(tx_delay, "tx_delay", TIME, "400ns", NULL, "1ms", NULL, 0,                               \
	  "from the adapter's decision to the first bit", "half of a RoCE NIC's 64-byte latency")  \
	X(rx_delay, "rx_delay", TIME, "400ns", NULL, "1ms", NULL, 0,                               \
	  "from the last bit to the transport", "the other half")                                  \
	X(rx_buffer, "rx_buffer", BYTES, "256KiB", "16kB", "64MB", NULL, 0,                        \
	  "receive buffer, of which a slow receiver pauses its switch", NULL)                      \
	X(drain_rate, "drain_rate", RATE, "0G", NULL, "800Gb/s", NULL, 0,                          \
	  "a slow receiver takes packets from it so fast; 0: as fast as the line", NULL)           \
	X(pause_storm, "pause_storm", BOOL, "false", NULL, NULL, NULL, 0,                          \
	  "broken: pauses its switch without end, for all its PFC priorities", NULL)               \
	X(retry_count, "retry.count", COUNT, "7", "0", "7", NULL, 0,                               \
	  "retries before a queue pair fails", "perftest, rdma_cm")                                \
	X(retry_timeout, "retry.timeout", COUNT, "14", "0", "31", NULL, 0,                         \
	  "code of the local ACK timeout: 4.096 us times 2^code; 0: never", "perftest: 67 ms")     \
	X(ack_interval, "ack_interval", COUNT, "16", "1", "1024", NULL, 0,                         \
	  "an acknowledgement is asked for at least every so many packets", NULL)                  \
	X(ack_prio, "ack_prio", SIGNED, "-1", "-1", "7", NULL, 0,                                  \
	  "priority of acknowledgements; -1: that of their queue pair", "RoCE NICs")
#define ROCE_DCQCN_KEYS(X)                                                                         \
	X(dcqcn, "dcqcn.enabled", BOOL, "true", NULL, NULL, NULL, 0,                               \
	  "react to CNPs, and send them", "ConnectX: on for every priority")                       \
	X(dcqcn_preset, "dcqcn.preset", WORD, "connectx", NULL, NULL, "connectx|paper|hpcc", 0,    \
	  "defaults of the other keys: firmware's, the paper's, or HPCC ns-3's for 100G", NULL)    \
	X(dce_tcp_g, "dcqcn.dce_tcp_g", COUNT, "1019", "0", "1023", NULL, 0,                       \
	  "weight of the old alpha, of 1024", "NVIDIA DCQCN parameters; paper: 1 - 1/256")         \
	X(dce_tcp_rtt, "dcqcn.dce_tcp_rtt", TIME_US, "1us", "100ns", "1s", NULL, 0,                \
	  "alpha is updated so often", "NVIDIA DCQCN parameters; paper: 55 us")                    \
	X(initial_alpha, "dcqcn.initial_alpha_value", COUNT, "1023", "0", "1023", NULL, 0,         \
	  "alpha after the first CNP, of 1023", "NVIDIA DCQCN parameters")                         \
	X(first_cnp_rate, "dcqcn.rate_to_set_on_first_cnp", RATE_MBPS, "0", NULL, "3.2Tb/s", NULL, 0, \
	  "rate after the first CNP; 0: reduced as by any other", "NVIDIA DCQCN parameters")       \
	X(rpg_gd, "dcqcn.rpg_gd", COUNT, "11", "10", "11", NULL, 0,                                \
	  "a cut multiplies the rate by 1 - alpha / 2^gd", "NVIDIA DCQCN parameters")              \
	X(rpg_min_dec_fac, "dcqcn.rpg_min_dec_fac", PERCENT, "50%", "0%", "100%", NULL, 0,         \
	  "one cut leaves at least this part of the rate", "NVIDIA DCQCN parameters")              \
	X(rpg_min_rate, "dcqcn.rpg_min_rate", RATE_MBPS, "1", "1", "3.2Tb/s", NULL, 0,             \
	  "no cut goes below it", "NVIDIA DCQCN parameters")                                       \
	X(rate_reduce_monitor_period, "dcqcn.rate_reduce_monitor_period", TIME_US, "4us", "0", "1s", NULL, 0, \
	  "shortest time between two cuts", "NVIDIA DCQCN parameters; paper: 50 us")               \
	X(rpg_time_reset, "dcqcn.rpg_time_reset", TIME_US, "300us", "1us", "1s", NULL, 0,          \
	  "time between rate increases", "Linux mlx5 driver; paper: 55 us")                        \
	X(rpg_byte_reset, "dcqcn.rpg_byte_reset", COUNT, "32767", "0", "10000000", NULL, 0,        \
	  "units of 64 bytes between rate increases; 0: time alone", "Linux mlx5 driver; paper: 10 MB") \
	X(rpg_threshold, "dcqcn.rpg_threshold", COUNT, "1", "1", "31", NULL, 0,                    \
	  "increases of fast recovery", "Linux mlx5 driver; paper: 5")                             \
	X(rpg_ai_rate, "dcqcn.rpg_ai_rate", RATE_MBPS, "5", "1", "3.2Tb/s", NULL, 0,               \
	  "step of additive increase", "Linux mlx5 driver; paper: 40 Mb/s")                        \
	X(rpg_hai_rate, "dcqcn.rpg_hai_rate", RATE_MBPS, "50", "1", "3.2Tb/s", NULL, 0,            \
	  "step of hyper increase", "Linux mlx5 driver")                                           \
	X(rpg_max_rate, "dcqcn.rpg_max_rate", RATE_MBPS, "0", NULL, "3.2Tb/s", NULL, 0,            \
	  "a flow that reaches it is free again; 0: line rate", "NVIDIA DCQCN parameters")         \
	X(clamp_tgt_rate, "dcqcn.clamp_tgt_rate", BOOL, "false", NULL, NULL, NULL, 0,              \
	  "every cut lowers the target rate too", "Linux mlx5 driver")                             \
	X(clamp_tgt_rate_ati, "dcqcn.clamp_tgt_rate_ati", BOOL, "true", NULL, NULL, NULL, 0,       \
	  "it does so after an increase by time", "Linux mlx5 driver")                             \
	X(cnp_interval, "dcqcn.min_time_between_cnps", TIME_US, "4us", NULL, "1s", NULL, 0,        \
	  "shortest time between two CNPs of a receiver", "NVIDIA DCQCN parameters; paper: 50 us") \
	X(cnp_per, "dcqcn.cnp_per", WORD, "qp", NULL, NULL, "qp|destination|port", 0,              \
	  "whose CNPs are kept apart by that time", "paper: flow; ConnectX can be set to each")    \
	X(cnp_delay, "dcqcn.cnp_delay", TIME_US, "0", NULL, "1s", NULL, 0,                         \
	  "from a marked packet to its CNP", NULL)                                                 \
	X(cnp_dscp, "dcqcn.cnp_dscp", COUNT, "48", "0", "63", NULL, 0,                             \
	  "DSCP of CNPs", "NVIDIA DCQCN parameters")                                               \
	X(cnp_prio, "dcqcn.cnp_802p_prio", COUNT, "6", "0", "7", NULL, 0,                          \
	  "priority of CNPs", "NVIDIA DCQCN parameters")
/* clang-format on */
#define ROCE_HOST_KEYS(X) ROCE_HOST_OWN_KEYS(X) ROCE_DCQCN_KEYS(X) ROCE_QOS_KEYS(X)

struct roce_host_conf {
	ROCE_HOST_KEYS(ROCE_KEY_MEMBER)
	struct {
		ROCE_HOST_KEYS(ROCE_KEY_LINE)
	} where;
};

extern const struct roce_section roce_section_host;

#endif
