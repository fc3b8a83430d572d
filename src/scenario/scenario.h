/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A scenario as it was written: one struct for each section, with defaults where the file says
 * nothing, and the lists of overrides, which are applied when nodes and links are known (plan.h).
 * Loading finds every mistake that one key or one list entry can have; what keys mean together is
 * checked in check.c.
 *
 * Texts in it are the file's and live as long as the scenario.
 */
#ifndef ROCE_SCENARIO_SCENARIO_H
#define ROCE_SCENARIO_SCENARIO_H

#include "scenario/problem.h"
#include "scenario/section_general.h"
#include "scenario/section_host.h"
#include "scenario/section_link.h"
#include "scenario/section_misc.h"
#include "scenario/section_switch.h"
#include "scenario/section_topology.h"
#include "scenario/section_workload.h"
#include "scenario/yaml.h"

#define ROCE_SCENARIO_LIST_MAX 4096 /* entries of each list */

struct roce_override {
	const char *match;
	uint32_t line;
	roce_yaml_node_t node;
};

struct roce_overrides {
	struct roce_override *at;
	uint32_t count;
};

struct roce_scenario {
	char *file; /* as it was named */
	struct roce_yaml *yaml;
	struct roce_general_conf general;
	struct roce_topology_conf topology;
	struct roce_link_conf link;
	struct roce_switch_conf sw;
	struct roce_host_conf host;
	struct roce_output_conf output;
	struct roce_overrides links;
	struct roce_overrides switches;
	struct roce_overrides ports;
	struct roce_overrides hosts;
	struct roce_acl_conf *acl;
	struct roce_route_conf *routes;
	struct roce_workload_conf *workloads;
	struct roce_fault_conf *faults;
	uint32_t acl_count;
	uint32_t route_count;
	uint32_t workload_count;
	uint32_t fault_count;
	struct roce_word_store words; /* that LIST keys point to */
};

/* All defaults, nothing loaded. NULL: out of memory. */
struct roce_scenario *roce_scenario_create(const char *file);
void roce_scenario_destroy(struct roce_scenario *scenario);

/* NULL when there are problems. `file` is the name for messages. */
struct roce_scenario *roce_scenario_load(const char *text, size_t length, const char *file,
					 struct roce_problems *problems);
/* The same from a file. */
struct roce_scenario *roce_scenario_load_file(const char *file, struct roce_problems *problems);

/* Loads what an override says over `out`, a struct of its section. It was loaded once before, so
 * nothing can be wrong. */
void roce_scenario_apply(struct roce_scenario *scenario, const struct roce_section *section,
			 const struct roce_override *override, void *out);

/* A whole file, with a byte 0 behind it; NULL with a problem added. For free(). */
char *roce_file_read(const char *path, size_t bytes_max, size_t *out_length,
		     struct roce_problems *problems);

#endif
