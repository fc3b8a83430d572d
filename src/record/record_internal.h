/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of this folder share. */
#ifndef ROCE_RECORD_RECORD_INTERNAL_H
#define ROCE_RECORD_RECORD_INTERNAL_H

#include "record/record.h"

#include "record/capture.h"
#include "record/history.h"
#include "record/rates.h"
#include "record/samples.h"
#include "record/series.h"
#include "record/spans.h"
#include "record/story.h"

#define ROCE_RECORD_PS_PER_S   1e12
#define ROCE_RECORD_LABEL_MAX  64u

#define ROCE_RECORD_WRONGS_MAX 65536u

struct roce_record_wrong {
	uint64_t ps;
	uint32_t flow;
};

struct roce_record {
	struct roce_record_config cfg;
	struct roce_fabric_observer observer;
	struct roce_fabric *fabric;
	const char *const *names;
	uint32_t node_count;
	uint32_t *first_port; /* of each node, in the numbering of all ports; one more at the end */
	struct roce_story story;
	struct roce_capture capture;
	struct roce_samples samples;
	struct roce_history history;
	struct roce_rates rates;
	struct roce_series series;
	struct roce_spans spans;
	struct roce_fabric_cycle *cycle; /* of the deadlock that was found */
	uint32_t cycle_count;
	uint64_t cycle_ps;
	struct roce_record_wrong *wrongs; /* messages; the first of them, for the page */
	uint32_t wrong_count;
	uint32_t wrong_room;
	enum roce_fabric_end end;
};

static inline uint32_t roce_record_port_index(const struct roce_record *r, uint32_t node,
					      uint32_t port)
{
	return r->first_port[node] + port;
}

static inline uint32_t roce_record_port_total(const struct roce_record *r)
{
	return r->first_port[r->node_count];
}

/* "leaf1 to spine0", or "leaf1:3 to spine0" when more than one link leads there. */
void roce_record_port_label(const struct roce_record *r, uint32_t node, uint32_t port,
			    char out[ROCE_RECORD_LABEL_MAX]);

/* A cell of a CSV file: names are the scenario's. */
void roce_record_put_cell(FILE *out, const char *text);

/* Node and port of an index of all ports. */
struct roce_record_port roce_record_port_at(const struct roce_record *r, uint32_t index);

/* Of a port's bytes sent so far, all priorities; its queues now. */
uint64_t roce_record_tx_bytes(const struct roce_fabric_port_view *view);
uint64_t roce_record_queue_bytes(const struct roce_fabric_port_view *view);

#endif
