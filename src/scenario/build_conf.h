/* SPDX-License-Identifier: BSD-2-Clause */
/* Sections of a scenario to configurations of the fabric, one function for each; for build.c. */
#ifndef ROCE_SCENARIO_BUILD_CONF_H
#define ROCE_SCENARIO_BUILD_CONF_H

#include "base/prng.h"
#include "fabric/fabric.h"
#include "scenario/plan.h"

void roce_build_fabric(const struct roce_plan *plan, struct roce_fabric_config *out);
void roce_build_switch(const struct roce_switch_conf *conf, int rank,
		       struct roce_fabric_switch_config *out);
void roce_build_switch_port(const struct roce_switch_conf *conf,
			    struct roce_fabric_port_config *out);
void roce_build_host(const struct roce_plan *plan, uint32_t node,
		     struct roce_fabric_host_config *out);
void roce_build_host_port(const struct roce_host_conf *conf, struct roce_fabric_port_config *out);
void roce_build_link(const struct roce_link_conf *conf, struct roce_fabric_link_config *out);
void roce_build_flow(const struct roce_plan *plan, const struct roce_flow *flow,
		     struct roce_fabric_flow_config *out);
enum roce_fabric_routing roce_build_routing(const struct roce_plan *plan);
/* Valiant: the region of a switch, and the host by way of which a flow goes. */
uint32_t roce_build_region(const struct roce_plan *plan, uint32_t node);
uint32_t roce_build_via(const struct roce_plan *plan, uint32_t src, uint32_t dst,
			struct roce_prng *prng);
/* 0 or an error of the fabric. */
struct roce_built;
int roce_build_routes(struct roce_built *built);
/* Without hosts: any. */
void roce_build_acl_rule(const struct roce_acl_conf *conf, struct roce_fabric_acl_rule *out);
void roce_build_acl_host(const struct roce_plan *plan, uint32_t node, struct roce_gid *out_gid,
			 uint8_t *out_bits);

/* ---- build_payload.c ---- */

bool roce_build_is_real(const struct roce_scenario *scenario, uint32_t workload);
/* Adds a problem for each thing that is wrong with it. */
bool roce_build_check_payload(const struct roce_plan *plan, struct roce_problems *problems);

#endif
