/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists with few keys: filters, static routes, what happens during the run; and what is
 * recorded of it.
 */
#ifndef ROCE_SCENARIO_SECTION_MISC_H
#define ROCE_SCENARIO_SECTION_MISC_H

#include "scenario/key.h"

enum roce_acl_family { ROCE_ACL_ANY, ROCE_ACL_IPV4, ROCE_ACL_IPV6 };

enum roce_fault_kind { ROCE_FAULT_LINK_DOWN, ROCE_FAULT_PAUSE_STORM, ROCE_FAULT_SLOW_RECEIVER };

#define ROCE_FAULT_OF_LINK (1u << ROCE_FAULT_LINK_DOWN)
#define ROCE_FAULT_OF_HOST (1u << ROCE_FAULT_PAUSE_STORM | 1u << ROCE_FAULT_SLOW_RECEIVER)

/* clang-format off */
#define ROCE_ACL_KEYS(X)                                                                           \
	X(at, "at", LIST, "*", NULL, NULL, NULL, 0,                                                \
	  "switches that drop what fits the rule", NULL)           \
	X(family, "family", WORD, "any", NULL, NULL, "any|ipv4|ipv6", 0,                           \
	  "IP version it is for", NULL)                                                            \
	X(src, "src", LIST, "*", NULL, NULL, NULL, 0,                                              \
	  "hosts that a packet comes from", NULL)                                                  \
	X(dst, "dst", LIST, "*", NULL, NULL, NULL, 0,                                              \
	  "hosts that it goes to", NULL)                                                           \
	X(udp_port, "udp_port", COUNT, "0", "0", "65535", NULL, 0,                                 \
	  "UDP destination port; 0: any", "RoCEv2 has 4791")

#define ROCE_ROUTE_KEYS(X)                                                                         \
	X(at, "at", TEXT, "", NULL, NULL, NULL, 0,                                                 \
	  "the switch that has the route", NULL)                                                   \
	X(to, "to", LIST, "*", NULL, NULL, NULL, 0,                                                \
	  "hosts it leads to", NULL)                                                               \
	X(via, "via", LIST, "", NULL, NULL, NULL, 0,                                               \
	  "neighbours that packets go to in place of the shortest path's", NULL)

#define ROCE_FAULT_KEYS(X)                                                                         \
	X(kind, "kind", WORD, "link-down", NULL, NULL, "link-down|pause-storm|slow-receiver", 0,   \
	  "a link is down; hosts pause their switch whatever they receive, for all their PFC "     \
	  "priorities; hosts take packets from their receive buffer slowly", NULL)                 \
	X(link, "link", TEXT, "", NULL, NULL, NULL, ROCE_FAULT_OF_LINK,                            \
	  "the link that goes down, as a-b; * stands for any part of a name", NULL)                \
	X(host, "host", LIST, "", NULL, NULL, NULL, ROCE_FAULT_OF_HOST,                            \
	  "the hosts: names, h0..h7, or patterns", NULL)                                           \
	X(at, "at", TIME, "0", NULL, "1000s", NULL, 0,                                             \
	  "when", NULL)                                                                            \
	X(duration, "duration", TIME, "0", NULL, "1000s", NULL, 0,                                 \
	  "for how long; 0: until the end", NULL)                                                  \
	X(drain_rate, "drain_rate", RATE, "1Gb/s", "1kb/s", "800Gb/s", NULL,                       \
	  1u << ROCE_FAULT_SLOW_RECEIVER,                                                          \
	  "what is left of a slow receiver's rate; the last that was said counts", NULL)           \
	X(reroute, "reroute", TIME_AUTO, "auto", NULL, "1000s", NULL, ROCE_FAULT_OF_LINK,          \
	  "routes follow so long after each change; auto: never", NULL)

#define ROCE_OUTPUT_KEYS(X)                                                                        \
	X(interval, "interval", TIME, "0", NULL, "1000s", NULL, 0,                                 \
	  "time between samples of rates and queues for --html, at first; 0: chosen by the run", NULL) \
	X(rates, "rates", COUNT, "0", "0", "1024", NULL, 0,                                        \
	  "queue pairs, from the first flow on, whose rates by congestion control are in --json over time", NULL) \
	X(percentiles, "percentiles", LIST, "50,90,99,99.9", NULL, NULL, NULL, 0,                  \
	  "percentiles of flow completion times that are printed", NULL)
/* clang-format on */

#define ROCE_MISC_STRUCT(name, KEYS)        \
	struct name {                       \
		KEYS(ROCE_KEY_MEMBER)       \
		struct {                    \
			KEYS(ROCE_KEY_LINE) \
		} where;                    \
	};
ROCE_MISC_STRUCT(roce_acl_conf, ROCE_ACL_KEYS)
ROCE_MISC_STRUCT(roce_route_conf, ROCE_ROUTE_KEYS)
ROCE_MISC_STRUCT(roce_fault_conf, ROCE_FAULT_KEYS)
ROCE_MISC_STRUCT(roce_output_conf, ROCE_OUTPUT_KEYS)

extern const struct roce_section roce_section_acl;
extern const struct roce_section roce_section_route;
extern const struct roce_section roce_section_fault;
extern const struct roce_section roce_section_output;

#endif
