/* SPDX-License-Identifier: BSD-2-Clause */
/* What the readers of plans and of profiles share: walking YAML with a word about what is wrong. */
#ifndef ROCE_VERIFY_PLAN_INTERNAL_H
#define ROCE_VERIFY_PLAN_INTERNAL_H

#include "scenario/yaml.h"
#include "verify/plan.h"

#define ROCE_THRESHOLD_KEYS "at_least|at_most|of|where|reaches|source"

struct roce_plan_loader {
	struct roce_verify_plan *plan;
	struct roce_yaml *yaml;
	struct roce_problems *problems;
};

/* The name of pair i, if it is a text that stood not there before; NULL, said. */
const char *roce_plan_take_key(struct roce_plan_loader *l, roce_yaml_node_t mapping, uint32_t i,
			       roce_yaml_node_t *out_value);
/* 0: there is none. */
roce_yaml_node_t roce_plan_find_value(struct roce_plan_loader *l, roce_yaml_node_t mapping,
				      const char *name);
/* NULL, said, where it is missing or no text. */
const char *roce_plan_need_text(struct roce_plan_loader *l, roce_yaml_node_t mapping,
				const char *where, const char *name);
/* That a mapping's keys are among `words`; false, said: it is no mapping. */
bool roce_plan_check_keys(struct roce_plan_loader *l, roce_yaml_node_t node, const char *where,
			  const char *words);
void roce_plan_add_unknown(struct roce_plan_loader *l, uint32_t line, const char *what,
			   const char *name, const char *words);
/* Puts it in place of one that the case has in this profile. `keys`: those that may stand there. */
void roce_plan_load_threshold(struct roce_plan_loader *l, struct roce_verify_case *c,
			      const char *profile, roce_yaml_node_t node, const char *keys);

#endif
