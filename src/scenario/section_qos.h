/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Classes of service as mlnx_qos writes them: the same keys for a switch's ports and for a NIC, so
 * that both ends of a link can be told the same, or, to see what comes of it, different things.
 */
#ifndef ROCE_SCENARIO_SECTION_QOS_H
#define ROCE_SCENARIO_SECTION_QOS_H

enum roce_trust { ROCE_TRUST_DSCP, ROCE_TRUST_PCP };

/* clang-format off */
#define ROCE_QOS_KEYS(X)                                                                           \
	X(trust, "qos.trust", WORD, "dscp", NULL, NULL, "dscp|pcp", 0,                             \
	  "where a frame's priority is read", "NVIDIA's and SONiC's recommendation for RoCE")      \
	X(dscp_prio, "qos.dscp_prio", LIST, "", NULL, NULL, NULL, 0,                               \
	  "DSCP:PRIO pairs that differ from PRIO = DSCP / 8", "mlnx_qos: dscp2prio")               \
	X(pcp_prio, "qos.pcp_prio", PRIO_TC, "0,1,2,3,4,5,6,7", NULL, NULL, NULL, 0,               \
	  "priority of each PCP, with trust pcp", "IEEE 802.1Q")                                   \
	X(default_prio, "qos.default_prio", COUNT, "0", "0", "7", NULL, 0,                         \
	  "priority of frames without a tag, with trust pcp", "IEEE 802.1Q: default port priority") \
	X(pfc, "qos.pfc", PFC, "0,0,0,1,0,0,0,0", NULL, NULL, NULL, 0,                             \
	  "1 for each lossless priority, 0 to 7", "NVIDIA RoCE configuration: priority 3 only")    \
	X(prio_tc, "qos.prio_tc", PRIO_TC, "0,0,0,3,0,0,6,0", NULL, NULL, NULL, 0,                 \
	  "traffic class of each priority", "NVIDIA RoCE configuration: RoCE and CNPs apart, all else in class 0")                                  \
	X(tsa, "qos.tsa", TSA, "ets,ets,ets,ets,ets,ets,strict,ets", NULL, NULL, NULL, 0,          \
	  "how each traffic class is served: strict or ets", "NVIDIA: CNPs strict in class 6")     \
	X(tcbw, "qos.tcbw", TCBW, "50,0,0,50,0,0,0,0", NULL, NULL, NULL, 0,                        \
	  "share of each ets class in percent, sum 100; classes of 0 get what is left over",       \
	  "NVIDIA RoCE configuration: half for RoCE")                                              \
	X(pause_quanta, "pfc.quanta", COUNT, "65535", "1", "65535", NULL, 0,                       \
	  "pause time of a PFC frame in units of 512 bit times", "as switches send it")             \
	X(pause_refresh, "pfc.refresh", TIME_AUTO, "auto", "1ns", "1s", NULL, 0,                   \
	  "a pause is repeated so long after the last; auto: at half its time", NULL)              \
	X(pause_response, "pfc.response", TIME, "500ns", NULL, "1ms", NULL, 0,                     \
	  "from receiving a pause to starting no more frames", "IEEE 802.3 allows 2 us at 100G; devices are quicker") \
	X(pause_endless, "pfc.endless", BOOL, "false", NULL, NULL, NULL, 0,                        \
	  "a pause lasts until it is ended and is not repeated", "IEEE 802.1Qbb: pauses expire")
/* clang-format on */

#endif
