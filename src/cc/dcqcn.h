/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parameters of DCQCN, by the names that the drivers and the firmware of ConnectX adapters use;
 * those from alpha_on_cnp to fixed_gap say which rules hold where published descriptions differ,
 * and have no name there. All values are whole numbers of the unit.
 *
 * Three sets of values:
 *   connectx   the adapters' defaults, as documented and as their drivers set them; that CNPs are
 *              spaced by port is an assumption
 *   paper      "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM 2015)
 *   hpcc-ns3   the rules and values of the public simulator of "HPCC" (SIGCOMM 2019), to compare
 */
#ifndef ROCE_CC_DCQCN_H
#define ROCE_CC_DCQCN_H

#define ROCE_DCQCN_MBIT_MAX 4000000u /* 4 Tb/s */

/* X(name, unit, min, max, connectx, paper, hpcc-ns3, text) */
#define ROCE_DCQCN_PARAMS(X)                                                                       \
	X(dce_tcp_g, "1/1024", 0, 1023, 1019, 1020, 1020, "share of alpha that an update keeps")   \
	X(dce_tcp_rtt, "us", 1, 131071, 1, 55, 1, "time between updates of alpha")                 \
	X(initial_alpha_value, "1/1024", 0, 1024, 1023, 1024, 1024, "alpha at the first CNP")      \
	X(rate_to_set_on_first_cnp, "Mb/s", 0, ROCE_DCQCN_MBIT_MAX, 0, 0, 0,                       \
	  "rate after the first CNP; 0: a reduction like any other")                               \
	X(rpg_gd, "log2", 10, 11, 11, 11, 11, "a reduction takes alpha * 1024 / 2^rpg_gd")         \
	X(rpg_min_dec_fac, "%", 0, 100, 50, 0, 0, "least share that a reduction leaves")           \
	X(rpg_min_rate, "Mb/s", 1, ROCE_DCQCN_MBIT_MAX, 1, 1, 1000, "no reduction goes below")     \
	X(rate_reduce_monitor_period, "us", 0, 131071, 4, 0, 4, "least time between reductions")   \
	X(rpg_time_reset, "us", 1, 131071, 300, 55, 300, "time between increases")                 \
	X(rpg_byte_reset, "64 B", 0, 0x7fffffff, 32767, 156250, 0,                                 \
	  "data between increases; 0: time alone counts")                                          \
	X(rpg_threshold, "increases", 0, 31, 1, 5, 1, "so many increases go back to the target")   \
	X(rpg_ai_rate, "Mb/s", 1, ROCE_DCQCN_MBIT_MAX, 5, 40, 20, "later ones raise the target")   \
	X(rpg_hai_rate, "Mb/s", 1, ROCE_DCQCN_MBIT_MAX, 50, 400, 200,                              \
	  "and those after the next by this; the paper gives none, 400 is our choice")             \
	X(rpg_max_rate, "Mb/s", 0, ROCE_DCQCN_MBIT_MAX, 0, 0, 0, "0: the line rate")               \
	X(clamp_tgt_rate, "bool", 0, 1, 0, 1, 0,                                                   \
	  "a reduction makes the rate of before the target")                                       \
	X(clamp_tgt_rate_after_time_inc, "bool", 0, 1, 1, 1, 1,                                    \
	  "it does if time has raised the rate since the last one")                                \
	X(alpha_on_cnp, "bool", 0, 1, 0, 1, 0, "alpha rises at the CNP, not at its next update")   \
	X(cut_at_period_end, "bool", 0, 1, 0, 0, 1,                                                \
	  "reductions wait for the end of a monitor period, counted from the first CNP")           \
	X(leave_at_max, "bool", 0, 1, 1, 0, 0,                                                     \
	  "back at the maximum it is as before the first CNP")                                     \
	X(hai_by_stage, "bool", 0, 1, 1, 1, 0, "rpg_hai_rate counts n times at the nth such step") \
	X(fixed_gap, "bool", 0, 1, 0, 0, 1,                                                        \
	  "a new rate holds from the next packet on, gaps are whole ns")                           \
	X(min_time_between_cnps, "us", 0, 131071, 4, 50, 0, "receiver: time between CNPs")         \
	X(cnps_per, "scope", 0, 2, 2, 0, 0, "of one 0: queue pair, 1: destination, 2: port")       \
	X(cnp_dscp, "", 0, 63, 48, 48, 0, "DSCP of CNPs")                                          \
	X(cnp_802p_prio, "", 0, 7, 6, 6, 0, "priority of CNPs")                                    \
	X(cnp_with_nak, "bool", 0, 1, 0, 0, 0,                                                     \
	  "receiver: a CNP for each NAK of a lost packet, too")                                    \
	X(notify_by_ack, "bool", 0, 1, 0, 0, 1, "acknowledgements tell of marks, there are no CNPs")

enum roce_dcqcn_param {
#define X(name, unit, min, max, connectx, paper, hpcc, text) ROCE_DCQCN_##name,
	ROCE_DCQCN_PARAMS(X)
#undef X
		ROCE_DCQCN_PARAM_COUNT,
};

#endif
