/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A YAML file as a tree of nodes with line numbers: a thin front to libyaml's documents. The tree
 * is kept as long as the scenario, whose texts point into it. Anchors and aliases work; a file that
 * uses them to build something endless is refused.
 */
#ifndef ROCE_SCENARIO_YAML_H
#define ROCE_SCENARIO_YAML_H

#include "scenario/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More is no scenario. */
#define ROCE_YAML_BYTES_MAX (16u << 20)

struct roce_yaml;

/* Numbers of nodes; the root is 1. 0: none. */
typedef int roce_yaml_node_t;
#define ROCE_YAML_ROOT 1

/* NULL when it is no YAML: the reason is in `problems`. An empty file is a mapping without keys. */
struct roce_yaml *roce_yaml_create(const char *text, size_t length, struct roce_problems *problems);
void roce_yaml_destroy(struct roce_yaml *yaml);

uint32_t roce_yaml_line(struct roce_yaml *yaml, roce_yaml_node_t node);
bool roce_yaml_is_mapping(struct roce_yaml *yaml, roce_yaml_node_t node);
bool roce_yaml_is_list(struct roce_yaml *yaml, roce_yaml_node_t node);
/* The text of a scalar; NULL for others. */
const char *roce_yaml_text(struct roce_yaml *yaml, roce_yaml_node_t node);
/* "a mapping", "a list", or the text. */
const char *roce_yaml_what(struct roce_yaml *yaml, roce_yaml_node_t node);

uint32_t roce_yaml_count(struct roce_yaml *yaml, roce_yaml_node_t node);
/* Item i of a list; value i of a mapping, with its key. */
roce_yaml_node_t roce_yaml_item(struct roce_yaml *yaml, roce_yaml_node_t list, uint32_t i);
roce_yaml_node_t roce_yaml_pair(struct roce_yaml *yaml, roce_yaml_node_t mapping, uint32_t i,
				roce_yaml_node_t *out_key);

#endif
