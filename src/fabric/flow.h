/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flows: what hosts ask of the network, and what became of it. A flow is a number of bytes in
 * messages of one size from one host to another, on queue pairs of its own. It starts at a time, or
 * when other flows have ended, so that collectives are graphs of flows.
 */
#ifndef ROCE_FABRIC_FLOW_H
#define ROCE_FABRIC_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#define ROCE_FABRIC_NEVER  UINT64_MAX /* a time that has not come */
#define ROCE_FABRIC_DIRECT UINT32_MAX /* by way of nobody */

/* X(enumerator, name) */
#define ROCE_FABRIC_OPERATIONS(X)                                        \
	X(WRITE, "write")                                                \
	X(READ, "read") /* src asks, and the bytes go from dst to src */ \
	X(SEND, "send") /* receives are posted as fast as they are used */

enum roce_fabric_operation {
#define X(id, name) ROCE_FABRIC_##id,
	ROCE_FABRIC_OPERATIONS(X)
#undef X
		ROCE_FABRIC_OPERATION_COUNT
};

const char *roce_fabric_operation_str(enum roce_fabric_operation operation);

/* X(enumerator, name) */
#define ROCE_FABRIC_TRANSPORTS(X) \
	X(RC, "rc")               \
	X(UC, "uc")               \
	X(UD, "ud") /* SEND only, messages up to the path MTU */

enum roce_fabric_transport {
#define X(id, name) ROCE_FABRIC_##id,
	ROCE_FABRIC_TRANSPORTS(X)
#undef X
		ROCE_FABRIC_TRANSPORT_COUNT
};

const char *roce_fabric_transport_str(enum roce_fabric_transport transport);

struct roce_fabric_flow_config {
	uint32_t src; /* nodes; src is who posts */
	uint32_t dst;
	/* A host, or ROCE_FABRIC_DIRECT: frames, and what answers them, are routed towards it until
	 * they are in its switch's region, and to their destination from there (Valiant). */
	uint32_t via;
	uint8_t operation; /* enum roce_fabric_operation */
	uint8_t transport; /* enum roce_fabric_transport */
	uint64_t bytes;
	uint32_t message_bytes; /* 0: all in one, or in as many as the largest message needs */
	uint32_t qp_count;	/* messages are dealt to them in turn */
	uint32_t depth;	   /* messages of one queue pair that are posted at a time, up to 16384 */
	uint32_t path_mtu; /* 256 to 4096 */
	uint64_t start_ps; /* not before this, and `after_ps` behind its predecessors */
	uint64_t after_ps;
	/* Predecessors count as ended when their last byte is there, not when src knows it. */
	bool is_after_delivery;
	uint8_t prio;		 /* PCP */
	uint8_t dscp;		 /* 0 to 63 */
	bool is_not_ecn;	 /* frames are not ECN-capable */
	uint16_t udp_sport;	 /* 0: from the queue pairs' numbers, one each */
	uint32_t rate_kbps;	 /* of each queue pair; 0: none */
	uint64_t interval_ps;	 /* between messages, if not as fast as possible */
	bool is_poisson;	 /* intervals are exponential with that mean */
	uint32_t response_bytes; /* SEND: dst answers each message with so many; 0: no answer */
	uint8_t timeout;	 /* ACK timeout, code: 4.096 us << code; 0: never */
	uint8_t retry_cnt;
	const uint32_t *after; /* flows that end first; copied */
	uint32_t after_count;
	uint64_t tag; /* the caller's */
	/* Messages have bytes, which travel and are compared where they arrive, instead of a length
	 * alone. Times and counts are the same. */
	bool is_real;
};

/* 1 MB WRITE on one RC queue pair, path MTU 4096, priority 3, DSCP 26, timeout 14, retries 7. */
void roce_fabric_flow_defaults(struct roce_fabric_flow_config *out);

/* X(enumerator, name) */
#define ROCE_FABRIC_FLOW_STATES(X)                                                 \
	X(FLOW_WAITING, "waiting")                                                 \
	X(FLOW_RUNNING, "running")                                                 \
	X(FLOW_DONE, "done")                                                       \
	X(FLOW_FAILED, "failed")    /* a queue pair went into error: see status */ \
	X(FLOW_LOSSY, "incomplete") /* UC, UD: all was sent, not all of it has arrived */

enum roce_fabric_flow_state {
#define X(id, name) ROCE_FABRIC_##id,
	ROCE_FABRIC_FLOW_STATES(X)
#undef X
};

const char *roce_fabric_flow_state_str(enum roce_fabric_flow_state state);

/* Latencies in buckets of 1/32 of a power of two. */
struct roce_fabric_latency {
	uint64_t count;
	uint64_t min_ps;
	uint64_t max_ps;
	double sum_ps;
};

struct roce_fabric_flow_result {
	uint8_t state;		  /* enum roce_fabric_flow_state */
	uint8_t status;		  /* enum roce_wc_status of the first that failed */
	uint64_t started_ps;	  /* when it could; ROCE_FABRIC_NEVER before */
	uint64_t done_ps;	  /* src knows that all is there */
	uint64_t delivered_ps;	  /* the last byte is there */
	uint64_t arrived_ps;	  /* the last of what is there by now; 0: nothing */
	uint64_t bytes_delivered; /* in order, payload */
	uint64_t bytes_sent;	  /* payload, repetitions included */
	uint64_t packets_sent;	  /* with payload */
	uint64_t packets_repeated;
	struct roce_fabric_latency messages; /* post to completion, or to the answer */
	uint64_t messages_checked;	     /* of real payload, answers included */
	uint64_t messages_wrong;
};

/* A message that did not arrive as it was sent. Memory is 0 before it is written, and no byte that
 * is sent is. */
struct roce_fabric_wrong {
	uint64_t ps;
	uint32_t flow;
	uint32_t node; /* where it is wrong */
	bool is_answer;
	uint64_t message; /* of the flow, from 0 */
	uint32_t length;
	uint32_t offset; /* of the first byte that differs */
	uint8_t expected;
	uint8_t found;
	uint32_t wrong_bytes;	/* that are another's */
	uint32_t missing_bytes; /* that are still 0 */
};

/* What the messages of a flow with real payload may take at once: at both ends, and in frames. */
uint64_t roce_fabric_flow_memory_bytes(const struct roce_fabric_flow_config *cfg);

#endif
