/* SPDX-License-Identifier: BSD-2-Clause */
/* What `uroce sim` leaves in files of a run: --html, --log, --capture, --samples, --counters. */
#ifndef ROCE_TOOLS_SIM_RECORD_H
#define ROCE_TOOLS_SIM_RECORD_H

#include "record/record.h"
#include "scenario/outcome.h"

#include <stdbool.h>
#include <stdio.h>

struct roce_sim_record_options {
	const char *html; /* files; NULL: not wanted. "-" is standard output */
	const char *log;
	const char *capture;
	const char *samples;
	const char *counters;
	const char *ports;     /* of the capture: patterns as leaf0:h3, with commas */
	const char *json;      /* which tells of `output.rates`, too */
	const char *inputs[3]; /* files that are read */
	bool is_check;	       /* nothing is written */
};

struct roce_sim_record {
	const struct roce_sim_record_options *options;
	const struct roce_built *built;
	struct roce_record *record; /* NULL: nothing is wanted */
	FILE *json;
	FILE *html;
	FILE *log;
	FILE *capture;
	FILE *samples;
	FILE *counters;
	struct roce_record_port *ports;
	uint32_t port_count;
	const char **names;
	char (*workload_names)[ROCE_WORKLOAD_NAME_MAX]; /* one more than there are */
};

/* Opens the files, so that one that cannot be written is known before the run. An exit status,
 * after a message if it is not ROCE_EXIT_OK; to be ended in any case. */
int roce_sim_record_init(struct roce_sim_record *sr, const struct roce_sim_record_options *options,
			 const struct roce_plan *plan);
/* For roce_build(). */
const struct roce_fabric_observer *roce_sim_record_observer(const struct roce_sim_record *sr);
int roce_sim_record_begin(struct roce_sim_record *sr, const struct roce_built *built);
uint64_t roce_sim_record_next_stop(const struct roce_sim_record *sr);
void roce_sim_record_look(struct roce_sim_record *sr);
/* Writes what is left to write, but for the JSON. An exit status. */
int roce_sim_record_end(struct roce_sim_record *sr, enum roce_fabric_end end);
/* Of the JSON, when it has been written. An exit status. */
int roce_sim_record_close_json(struct roce_sim_record *sr);
void roce_sim_record_fini(struct roce_sim_record *sr);

#endif
