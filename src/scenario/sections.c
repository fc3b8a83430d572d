/* SPDX-License-Identifier: BSD-2-Clause */
/* The X-macro lists of the sections as tables. */
#include "scenario/section_general.h"
#include "scenario/section_host.h"
#include "scenario/section_link.h"
#include "scenario/section_misc.h"
#include "scenario/section_switch.h"
#include "scenario/section_topology.h"
#include "scenario/section_workload.h"

#define COUNT_OF(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

#define ROW(...)	ROCE_KEY_ROW(struct roce_general_conf, __VA_ARGS__)
static const struct roce_key general_keys[] = {ROCE_GENERAL_KEYS(ROW)};
#undef ROW
#define ROW(...) ROCE_KEY_ROW(struct roce_topology_conf, __VA_ARGS__)
static const struct roce_key topology_keys[] = {ROCE_TOPOLOGY_KEYS(ROW)};
#undef ROW
#define ROW(...) ROCE_KEY_ROW(struct roce_link_conf, __VA_ARGS__)
static const struct roce_key link_keys[] = {ROCE_LINK_KEYS(ROW)};
#undef ROW
#define ROW(...) ROCE_KEY_ROW(struct roce_switch_conf, __VA_ARGS__)
static const struct roce_key switch_keys[] = {ROCE_SWITCH_KEYS(ROW)};
#undef ROW
#define ROW(...)   ROCE_KEY_ROW(struct roce_host_conf, __VA_ARGS__)
#define TEXT_OF(x) #x
#define PARAM(name_, unit_, min_, max_, connectx, paper, hpcc, text_)                            \
	{                                                                                        \
		.path = "dcqcn." #name_,                                                         \
		.kind = ROCE_KIND_PARAM,                                                         \
		.offset = offsetof(struct roce_host_conf, dcqcn[ROCE_DCQCN_##name_]),            \
		.line_offset = offsetof(struct roce_host_conf, where.dcqcn[ROCE_DCQCN_##name_]), \
		.def = "preset",                                                                 \
		.min = TEXT_OF(min_),                                                            \
		.max = TEXT_OF(max_),                                                            \
		.words = unit_,                                                                  \
		.text = text_,                                                                   \
		.source = "preset connectx " TEXT_OF(connectx) ", paper " TEXT_OF(               \
			paper) ", hpcc-ns3 " TEXT_OF(hpcc),                                      \
	},
static const struct roce_key host_keys[] = {ROCE_HOST_KEYS(ROW) ROCE_DCQCN_PARAMS(PARAM)};
#undef PARAM
#undef ROW
#define ROW(...) ROCE_KEY_ROW(struct roce_workload_conf, __VA_ARGS__)
static const struct roce_key workload_keys[] = {ROCE_WORKLOAD_KEYS(ROW)};
#undef ROW
#define ROW(...) ROCE_KEY_ROW(struct roce_acl_conf, __VA_ARGS__)
static const struct roce_key acl_keys[] = {ROCE_ACL_KEYS(ROW)};
#undef ROW
#define ROW(...) ROCE_KEY_ROW(struct roce_route_conf, __VA_ARGS__)
static const struct roce_key route_keys[] = {ROCE_ROUTE_KEYS(ROW)};
#undef ROW
#define ROW(...) ROCE_KEY_ROW(struct roce_fault_conf, __VA_ARGS__)
static const struct roce_key fault_keys[] = {ROCE_FAULT_KEYS(ROW)};
#undef ROW
#define ROW(...) ROCE_KEY_ROW(struct roce_output_conf, __VA_ARGS__)
static const struct roce_key output_keys[] = {ROCE_OUTPUT_KEYS(ROW)};
#undef ROW

const struct roce_section roce_section_general = {
	.name = "",
	.text = "keys at the top",
	.keys = general_keys,
	.key_count = COUNT_OF(general_keys),
	.size = sizeof(struct roce_general_conf),
};

const struct roce_section roce_section_topology = {
	.name = "topology",
	.text = "the graph of hosts and switches",
	.keys = topology_keys,
	.key_count = COUNT_OF(topology_keys),
	.size = sizeof(struct roce_topology_conf),
	.kind = &topology_keys[0],
};

const struct roce_section roce_section_link = {
	.name = "link",
	.list = "links",
	.match =
		"a class of links (host, fabric, core, local, global) or two ends, as leaf*-spine0",
	.text = "all links; in `links` those that differ",
	.keys = link_keys,
	.key_count = COUNT_OF(link_keys),
	.size = sizeof(struct roce_link_conf),
};

const struct roce_section roce_section_switch = {
	.name = "switch",
	.list = "switches",
	.match = "names of switches, as leaf*",
	.text = "all switches; in `switches` those that differ",
	.keys = switch_keys,
	.key_count = COUNT_OF(switch_keys),
	.size = sizeof(struct roce_switch_conf),
};

const struct roce_section roce_section_port = {
	.list = "ports",
	.match = "a switch and its neighbour, as leaf0:h3 or leaf*:spine*",
	.text = "single ports of switches that differ from their switch",
	.keys = switch_keys,
	.key_count = COUNT_OF(switch_keys),
	.size = sizeof(struct roce_switch_conf),
	.refused = ROCE_WHOLE_SWITCH,
};

const struct roce_section roce_section_host = {
	.name = "host",
	.list = "hosts",
	.match = "names of hosts, as h0 or h1*",
	.text = "all hosts and their NICs; in `hosts` those that differ",
	.keys = host_keys,
	.key_count = COUNT_OF(host_keys),
	.size = sizeof(struct roce_host_conf),
};

const struct roce_section roce_section_acl = {
	.list = "acl",
	.text = "filters of switches",
	.keys = acl_keys,
	.key_count = COUNT_OF(acl_keys),
	.size = sizeof(struct roce_acl_conf),
};

const struct roce_section roce_section_route = {
	.list = "routes",
	.text = "static routes",
	.keys = route_keys,
	.key_count = COUNT_OF(route_keys),
	.size = sizeof(struct roce_route_conf),
};

const struct roce_section roce_section_workload = {
	.list = "workload",
	.text = "who sends what to whom",
	.keys = workload_keys,
	.key_count = COUNT_OF(workload_keys),
	.size = sizeof(struct roce_workload_conf),
	.kind = &workload_keys[0],
};

const struct roce_section roce_section_fault = {
	.list = "faults",
	.text = "what happens during the run",
	.keys = fault_keys,
	.key_count = COUNT_OF(fault_keys),
	.size = sizeof(struct roce_fault_conf),
	.kind = &fault_keys[0],
};

const struct roce_section roce_section_output = {
	.name = "output",
	.text = "what is recorded",
	.keys = output_keys,
	.key_count = COUNT_OF(output_keys),
	.size = sizeof(struct roce_output_conf),
};

const struct roce_section *const roce_sections[] = {
	&roce_section_general,	&roce_section_topology, &roce_section_link,   &roce_section_switch,
	&roce_section_port,	&roce_section_host,	&roce_section_acl,    &roce_section_route,
	&roce_section_workload, &roce_section_fault,	&roce_section_output,
};
const uint32_t roce_section_count = COUNT_OF(roce_sections);
