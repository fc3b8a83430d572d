/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What came of a run, for tables, JSON and reports: totals, and for each workload the spread of
 * flow completion times, slowdowns and latencies. Single flows are asked of the fabric.
 */
#ifndef ROCE_SCENARIO_OUTCOME_H
#define ROCE_SCENARIO_OUTCOME_H

#include "scenario/build.h"

/* A sorted sample. */
struct roce_spread {
	double *at;
	uint32_t count;
};

/* q in 0..1; 0 when there is nothing. */
double roce_spread_quantile(const struct roce_spread *spread, double q);
double roce_spread_mean(const struct roce_spread *spread);

#define ROCE_WORKLOAD_NAME_MAX 64

/* As the file names it, or after its kind: "incast", "flow 2". */
void roce_workload_name(const struct roce_scenario *scenario, uint32_t workload,
			char out[ROCE_WORKLOAD_NAME_MAX]);

struct roce_workload_outcome {
	const struct roce_workload_conf *conf; /* NULL: flows that no workload made */
	char name[ROCE_WORKLOAD_NAME_MAX];
	uint32_t flows;
	uint32_t done;	     /* all data is there */
	uint32_t failed;     /* a queue pair went into error */
	uint32_t incomplete; /* uc, ud: something was lost */
	uint64_t bytes;	     /* payload delivered */
	uint64_t first_ps;   /* when the first flow began and the last one ended */
	uint64_t last_ps;
	uint64_t packets_repeated;
	uint64_t messages;
	struct roce_spread fct_us;   /* of flows that are done */
	struct roce_spread slowdown; /* FCT by that of the flow alone */
};

struct roce_outcome {
	const struct roce_built *built;
	enum roce_fabric_end end;
	double wall_seconds; /* the caller's */
	uint64_t now_ps;
	struct roce_fabric_totals totals;
	uint64_t drops;
	uint32_t queue_max_node; /* where the longest egress queue was */
	uint32_t queue_max_port;
	uint64_t lossless_drops;      /* of priorities with PFC, for want of room */
	uint64_t lossless_drops_most; /* of one port */
	uint32_t lossless_drops_node;
	uint32_t lossless_drops_peer;
	uint32_t queue_max_bytes;
	uint64_t pause_us; /* all ports and priorities together */
	struct roce_workload_outcome *workloads;
	uint32_t workload_count;
};

/* 0 or -ENOMEM. */
int roce_outcome_init(struct roce_outcome *outcome, const struct roce_built *built,
		      enum roce_fabric_end end) __attribute__((warn_unused_result));
void roce_outcome_fini(struct roce_outcome *outcome);

/* From its start to its end as its service knows it: the acknowledgement of RC, the last byte of
 * others. ROCE_FABRIC_NEVER: it has not ended. */
uint64_t roce_outcome_fct_ps(const struct roce_fabric_flow_config *cfg,
			     const struct roce_fabric_flow_result *result);
/* Of the messages of a workload, or of their answers, in us; q in 0..1. */
double roce_outcome_latency_us(const struct roce_outcome *outcome, uint32_t workload, double q);
/* Payload bit/s of a workload while it lasted. */
double roce_outcome_goodput(const struct roce_workload_outcome *workload);

#endif
