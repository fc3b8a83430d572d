/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A workload: who sends how much to whom, and when. A scenario has a list of them; each becomes
 * flows (flow.h) before the run begins.
 */
#ifndef ROCE_SCENARIO_SECTION_WORKLOAD_H
#define ROCE_SCENARIO_SECTION_WORKLOAD_H

#include "scenario/key.h"

enum roce_workload_kind {
	ROCE_WORKLOAD_FLOW,
	ROCE_WORKLOAD_INCAST,
	ROCE_WORKLOAD_PERMUTATION,
	ROCE_WORKLOAD_ALL_TO_ALL,
	ROCE_WORKLOAD_ALL_REDUCE,
	ROCE_WORKLOAD_STORAGE,
	ROCE_WORKLOAD_POISSON,
	ROCE_WORKLOAD_REQUESTS,
	ROCE_WORKLOAD_TRACE,
	ROCE_WORKLOAD_BACKGROUND,
	ROCE_WORKLOAD_KIND_COUNT,
};
#define ROCE_WORKLOAD_WORDS                                                             \
	"flow|incast|permutation|all-to-all|all-reduce|storage|poisson|requests|trace|" \
	"background"

enum roce_op { ROCE_OP_WRITE, ROCE_OP_READ, ROCE_OP_SEND };
enum roce_service { ROCE_SERVICE_RC, ROCE_SERVICE_UC, ROCE_SERVICE_UD };
/* Whether its messages have bytes; the default is the scenario's. */
enum roce_workload_payload {
	ROCE_WORKLOAD_PAYLOAD_DEFAULT,
	ROCE_WORKLOAD_PAYLOAD_PHANTOM,
	ROCE_WORKLOAD_PAYLOAD_REAL,
};
enum roce_arrival { ROCE_ARRIVAL_POISSON, ROCE_ARRIVAL_PERIODIC };

#define ON_FLOW	       (1u << ROCE_WORKLOAD_FLOW)
#define ON_INCAST      (1u << ROCE_WORKLOAD_INCAST)
#define ON_PERMUTATION (1u << ROCE_WORKLOAD_PERMUTATION)
#define ON_ALL_TO_ALL  (1u << ROCE_WORKLOAD_ALL_TO_ALL)
#define ON_ALL_REDUCE  (1u << ROCE_WORKLOAD_ALL_REDUCE)
#define ON_STORAGE     (1u << ROCE_WORKLOAD_STORAGE)
#define ON_POISSON     (1u << ROCE_WORKLOAD_POISSON)
#define ON_REQUESTS    (1u << ROCE_WORKLOAD_REQUESTS)
#define ON_TRACE       (1u << ROCE_WORKLOAD_TRACE)
#define ON_BACKGROUND  (1u << ROCE_WORKLOAD_BACKGROUND)
#define ON_BULK	       (ON_FLOW | ON_INCAST | ON_PERMUTATION | ON_ALL_TO_ALL)

/* clang-format off */
#define ROCE_WORKLOAD_KEYS(X)                                                                      \
	X(kind, "kind", WORD, "flow", NULL, NULL, ROCE_WORKLOAD_WORDS, 0,                          \
	  "the pattern", NULL)                                                                     \
	X(name, "name", TEXT, "", NULL, NULL, NULL, 0,                                             \
	  "its name in the results", NULL)                                                         \
	X(start, "start", TIME, "0", NULL, "1000s", NULL, 0,                                       \
	  "when it begins", NULL)                                                                  \
	X(from, "from", LIST, "*", NULL, NULL, NULL, ~ON_TRACE,                                    \
	  "hosts that send, or are clients: names, h0..h7, or patterns as leaf0-*", NULL)          \
	X(to, "to", LIST, "*", NULL, NULL, NULL, ~(ON_TRACE | ON_ALL_REDUCE | ON_ALL_TO_ALL | ON_PERMUTATION), \
	  "hosts that receive, or are servers; a host does not send to itself", NULL)              \
	X(op, "op", WORD, "write", NULL, NULL, "write|read|send", ON_BULK | ON_ALL_REDUCE | ON_POISSON | ON_TRACE, \
	  "the verb; a read's data flows from `to` to `from`", NULL)                               \
	X(service, "service", WORD, "rc", NULL, NULL, "rc|uc|ud", ON_BULK | ON_POISSON | ON_TRACE | ON_BACKGROUND, \
	  "transport service of the queue pairs", NULL)                                            \
	X(prio, "prio", COUNT, "3", "0", "7", NULL, 0,                                             \
	  "priority of its packets", "NVIDIA RoCE configuration")                                  \
	X(dscp, "dscp", COUNT, "64", "0", "64", NULL, 0,                                           \
	  "DSCP of its packets; 64: prio * 8 + 2 (26 for priority 3)", "NVIDIA RoCE configuration: 26") \
	X(payload, "payload", WORD, "default", NULL, NULL, "default|phantom|real", 0,              \
	  "a length, or bytes that are compared where they arrive; default: as `payload` at the top", NULL) \
	X(bytes, "bytes", BYTES, "1MB", "1", "1TB", NULL, ON_BULK | ON_ALL_REDUCE,                 \
	  "size of a flow; of the vector that is reduced", NULL)                                   \
	X(message, "message", BYTES, "0", NULL, "1GB", NULL, ON_BULK | ON_ALL_REDUCE | ON_POISSON | ON_TRACE, \
	  "a flow is sent in messages of this size; 0: of 1 MiB", "perftest's largest usual size") \
	X(queue_pairs, "queue_pairs", COUNT, "1", "1", "4096", NULL, ON_BULK | ON_ALL_REDUCE | ON_POISSON, \
	  "queue pairs of a flow", NULL)                                                           \
	X(fan_in, "fan_in", COUNT, "0", NULL, "65536", NULL, ON_INCAST,                            \
	  "senders of each round, drawn from `from`; 0: all", NULL)                                \
	X(rounds, "rounds", COUNT, "1", "1", "1000000", NULL, ON_BULK | ON_ALL_REDUCE,             \
	  "how often; each begins when that sender's flow of the last has ended", NULL)  \
	X(jitter, "jitter", TIME, "0", NULL, "1s", NULL, ON_BULK,                                  \
	  "flows begin at random within this time", NULL)                                          \
	X(block, "block", BYTES, "64KiB", "1", "64MiB", NULL, ON_STORAGE,                          \
	  "size of a read or write", "distributed block storage")                                  \
	X(read_share, "read_share", PERCENT, "70%", NULL, "100%", NULL, ON_STORAGE,                \
	  "part of the operations that are reads", "the usual mix of storage benchmarks")          \
	X(replicas, "replicas", COUNT, "3", "1", "16", NULL, ON_STORAGE,                           \
	  "copies of what is written: client to first server, which passes it on", "Ceph, HDFS")   \
	X(depth, "depth", COUNT, "4", "1", "1024", NULL, ON_STORAGE,                               \
	  "operations that a client has under way", NULL)                                          \
	X(operations, "operations", COUNT, "100", "1", "100000000", NULL, ON_STORAGE,              \
	  "operations of each client", NULL)                                                       \
	X(cdf, "cdf", TEXT, "web-search", NULL, NULL, NULL, ON_POISSON,                            \
	  "distribution of flow sizes: web-search, hadoop, storage, or a file of `bytes,percent` lines", NULL) \
	X(load, "load", PERCENT, "50%", "0.1%", "100%", NULL, ON_POISSON,                          \
	  "mean rate of each sender, as part of its link's", NULL)                                 \
	X(rate, "rate", RATE, "1Gb/s", "1kb/s", "3.2Tb/s", NULL, ON_BACKGROUND,                    \
	  "mean rate of each sender", NULL)                                                        \
	X(packet, "packet", BYTES, "1024", "64", "4096", NULL, ON_BACKGROUND,                      \
	  "payload of a packet", NULL)                                                             \
	X(requests, "rate_per_client", FREQUENCY, "10k/s", "1", "1000000000", NULL, ON_REQUESTS,   \
	  "requests per second of each client", NULL)                                              \
	X(arrival, "arrival", WORD, "poisson", NULL, NULL, "poisson|periodic", ON_REQUESTS | ON_BACKGROUND, \
	  "gaps between requests, or packets: exponential or equal", NULL)                                     \
	X(request, "request", BYTES, "64", "1", "64MiB", NULL, ON_REQUESTS,                        \
	  "size of a request", NULL)                                                               \
	X(response, "response", BYTES, "256", "1", "64MiB", NULL, ON_REQUESTS,                     \
	  "size of its response, which begins when the request has come", NULL)                    \
	X(duration, "duration", TIME, "1ms", "1us", "1000s", NULL, ON_POISSON | ON_REQUESTS | ON_BACKGROUND, \
	  "how long new flows begin", NULL)                                                        \
	X(file, "file", TEXT, "", NULL, NULL, NULL, ON_TRACE,                                      \
	  "CSV file of flows: start_us,src,dst,bytes[,prio]", NULL)
/* clang-format on */

struct roce_workload_conf {
	ROCE_WORKLOAD_KEYS(ROCE_KEY_MEMBER)
	struct {
		ROCE_WORKLOAD_KEYS(ROCE_KEY_LINE)
	} where;
};

extern const struct roce_section roce_section_workload;

#endif
