/* SPDX-License-Identifier: BSD-2-Clause */
/* What the readers of HPCC's three files share. */
#ifndef ROCE_SCENARIO_HPCC_INTERNAL_H
#define ROCE_SCENARIO_HPCC_INTERNAL_H

#include "cc/cc.h"
#include "scenario/hpcc.h"

/* Words of a text, with the line that each is in. */
struct roce_hpcc_cursor {
	const char *at;
	uint32_t line;
	char word[64];
	struct roce_problems *problems;
};

#define ROCE_HPCC_RATES_MAX 16

/* A *_MAP: values by link rate. */
struct roce_hpcc_map {
	uint64_t rates[ROCE_HPCC_RATES_MAX];
	double values[ROCE_HPCC_RATES_MAX];
	uint32_t count;
};

struct roce_hpcc_config {
	uint64_t payload_bytes;
	uint64_t buffer_mib;
	uint64_t ack_interval;
	uint64_t cc_mode;
	bool has_qcn;
	bool is_ack_strict;
	bool has_window;
	bool has_global_window; /* one size for all pairs of hosts */
	bool is_window_by_rate;
	bool is_go_back_0;
	uint64_t chunk_bytes;	   /* of go-back-0: back to the beginning of such a part */
	uint64_t loss;		   /* of every link, 10^-15 */
	struct roce_hpcc_map kmin; /* kB */
	struct roce_hpcc_map kmax;
	struct roce_hpcc_map pmax;
	uint64_t stop_ps;
	uint64_t down_ps; /* a link that goes down; 0: none */
	uint32_t down_a;
	uint32_t down_b;
	uint64_t dcqcn[ROCE_DCQCN_PARAM_COUNT]; /* ROCE_AUTO: not given */
};

/* The next word, over lines; false at the end. With `what` the end is a problem. */
bool roce_hpcc_word(struct roce_hpcc_cursor *c, const char *what);
/* The same on this line only: false at its end. */
bool roce_hpcc_word_here(struct roce_hpcc_cursor *c);
void roce_hpcc_skip_line(struct roce_hpcc_cursor *c);
bool roce_hpcc_number(struct roce_hpcc_cursor *c, const char *what, uint64_t max, uint64_t *out);
bool roce_hpcc_quantity(struct roce_hpcc_cursor *c, const char *what, enum roce_unit unit,
			uint64_t *out);

#define ROCE_HPCC_NO_HOST UINT32_MAX

/* Of a plan with its links. 0: out of memory. */
uint64_t roce_hpcc_window_bytes(const struct roce_plan *plan, uint64_t payload_bytes);

bool roce_hpcc_read_config(const char *text, struct roce_hpcc_config *out,
			   struct roce_problems *problems);
/* Nodes in the file's numbering, and the rate, delay and loss of each link. */
bool roce_hpcc_read_topology(const char *text, struct roce_graph *g,
			     struct roce_link_conf **out_links, const struct roce_link_conf *base,
			     struct roce_problems *problems);
bool roce_hpcc_read_flows(const char *text, const struct roce_graph *g, struct roce_flows *out,
			  struct roce_problems *problems);

#endif
