/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A host's NIC: the core's tuning, its receive path, classes of service, and DCQCN by NVIDIA's
 * names. `hosts` overrides it by name.
 */
#ifndef ROCE_SCENARIO_SECTION_HOST_H
#define ROCE_SCENARIO_SECTION_HOST_H

#include "scenario/key.h"

#include "cc/dcqcn.h"
#include "scenario/section_qos.h"

enum roce_host_address { ROCE_HOST_IPV4, ROCE_HOST_IPV6 };
#define ROCE_DCQCN_PRESET_WORDS "connectx|paper|hpcc-ns3"

enum roce_host_nic { ROCE_HOST_NIC_SOUND, ROCE_HOST_NIC_FAULTY_UD };
enum roce_host_cc { ROCE_HOST_CC_NONE, ROCE_HOST_CC_DCQCN };

/* clang-format off */
#define ROCE_HOST_OWN_KEYS(X)                                                                      \
	X(timing, "timing", WORD, "spec", NULL, NULL, "spec|cx6|connectx-6", 0,                               \
	  "local ACK timeouts as the specification has them, or as long as a ConnectX-6 takes (both names)", NULL) \
	X(nic, "nic", WORD, "sound", NULL, NULL, "sound|faulty-ud", 0,                             \
	  "faulty-ud: of UD messages that come out of order, and the next 255, one in 1000 gets 64 bytes of another; ICRC and completion are right", NULL) \
	X(address, "address", WORD, "ipv4", NULL, NULL, "ipv4|ipv6", 0,                            \
	  "its GID: an IPv4 address (10.x.y.z) or an IPv6 one (fd00::)", NULL)                     \
	X(path_mtu, "path_mtu", WORD, "4096", NULL, NULL, "256|512|1024|2048|4096", 0,             \
	  "bytes of payload in a packet of its queue pairs", "the largest; networks of RoCE have jumbo frames") \
	X(segment, "segment", BYTES, "0", NULL, "4096", NULL, 0,                                   \
	  "packets carry so many bytes, if less than the path MTU; 0: the path MTU", NULL)         \
	X(mtu, "mtu", BYTES, "9000", "256", "9978", NULL, 0,                                       \
	  "longest IP packet of its port", "jumbo frames, as RoCE networks have them")             \
	X(vlan, "vlan", COUNT, "0", "0", "4094", NULL, 0,                                          \
	  "its frames have an 802.1Q tag of this VLAN, with their priority as PCP; 0: no tag, or, "  \
	  "with qos.trust: pcp, one for the priority alone", NULL)                                 \
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
	  "priority of acknowledgements; -1: that of their queue pair", "RoCE NICs")               \
	X(ack_first, "ack_first", WORD, "no", NULL, NULL, "no|yes|always", 0,                      \
	  "acknowledgements leave before data of their priority; always: while it is paused, too",  \
	  "no: queue pairs take turns; HPCC ns-3: yes, with ACK_HIGH_PRIO 1 always")               \
	X(window, "window", BYTES, "0", NULL, "1GB", NULL, 0,                                      \
	  "payload of a queue pair that may be unacknowledged; 0: no limit", NULL)                 \
	X(window_by_rate, "window_by_rate", BOOL, "false", NULL, NULL, NULL, 0,                    \
	  "as much of it as the queue pair's rate is of the line", NULL)                           \
	X(recovery, "recovery", WORD, "go-back-n", NULL, NULL, "go-back-n|go-back-0", 0,           \
	  "after a loss comes again what is missing and all behind it, or the whole message",      \
	  "go-back-n: the specification; go-back-0: early adapters, why it was given up")          \
	X(cnp_delay, "cnp_delay", TIME, "0ns", NULL, "10ms", NULL, 0,                              \
	  "from a mark that leads to a CNP to when that is sent", NULL)
#define ROCE_HOST_CC_KEYS(X)                                                                       \
	X(cc, "cc", WORD, "dcqcn", NULL, NULL, "none|dcqcn", 0,                                    \
	  "congestion control of its queue pairs", "ConnectX: DCQCN on for every priority")        \
	X(reaction, "dcqcn.reaction", BOOL, "true", NULL, NULL, NULL, 0,                           \
	  "heed CNPs; sysfs: ecn/roce_rp/enable", "ConnectX: on for every priority")               \
	X(notification, "dcqcn.notification", BOOL, "true", NULL, NULL, NULL, 0,                   \
	  "send CNPs; sysfs: ecn/roce_np/enable", "ConnectX: on for every priority")               \
	X(dcqcn_preset, "dcqcn.preset", WORD, "connectx", NULL, NULL, ROCE_DCQCN_PRESET_WORDS, 0, \
	  "values of the keys below that are not given: the firmware's, the paper's, or HPCC ns-3's", NULL)
/* clang-format on */
#define ROCE_HOST_KEYS(X) ROCE_HOST_OWN_KEYS(X) ROCE_QOS_KEYS(X) ROCE_HOST_CC_KEYS(X)

struct roce_host_conf {
	ROCE_HOST_KEYS(ROCE_KEY_MEMBER)
	uint64_t dcqcn[ROCE_DCQCN_PARAM_COUNT]; /* ROCE_AUTO: the preset's */
	struct {
		ROCE_HOST_KEYS(ROCE_KEY_LINE)
		uint32_t dcqcn[ROCE_DCQCN_PARAM_COUNT];
	} where;
};

extern const struct roce_section roce_section_host;

#endif
