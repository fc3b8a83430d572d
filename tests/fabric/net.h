/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small networks for tests of the fabric: configurations to change, a star or a line of switches,
 * and what a test asks of a run. Every call must succeed, or the test fails where it stands.
 */
#ifndef ROCE_TESTS_FABRIC_NET_H
#define ROCE_TESTS_FABRIC_NET_H

#include "fabric/fabric.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#define PS_PER_NS UINT64_C(1000)
#define PS_PER_US UINT64_C(1000000)
#define PS_PER_MS UINT64_C(1000000000)
#define PS_PER_S  UINT64_C(1000000000000)
#define GBPS	  UINT64_C(1000000000)

/* What a network is made of; net_defaults() fills it, a test changes what it is about. */
struct net {
	struct roce_fabric_config fabric;
	struct roce_fabric_host_config host;
	struct roce_fabric_switch_config sw;
	struct roce_fabric_link_config link;
	struct roce_fabric *f;
};

static inline void net_defaults(struct net *net)
{
	*net = (struct net){.link = {.rate_bps = 100 * GBPS, .delay_ps = 100 * PS_PER_NS}};
	roce_fabric_defaults(&net->fabric);
	roce_fabric_host_defaults(&net->host);
	roce_fabric_switch_defaults(&net->sw);
}

static inline void net_create(struct net *net)
{
	assert_int_equal(roce_fabric_create(&net->fabric, &net->f), 0);
}

static inline uint32_t net_host(struct net *net)
{
	uint32_t node;

	assert_int_equal(roce_fabric_add_host(net->f, &net->host, &node), 0);
	return node;
}

static inline uint32_t net_switch(struct net *net)
{
	uint32_t node;

	assert_int_equal(roce_fabric_add_switch(net->f, &net->sw, &node), 0);
	return node;
}

static inline void net_link(struct net *net, uint32_t a, uint32_t b)
{
	assert_int_equal(roce_fabric_connect(net->f, a, b, &net->link, NULL, NULL), 0);
}

/* Hosts 0 to count - 1 around switch `count`; the switch's port i leads to host i. */
static inline void net_star(struct net *net, uint32_t count)
{
	uint32_t sw;

	net_create(net);
	for (uint32_t i = 0; i < count; i++)
		net_host(net);
	sw = net_switch(net);
	for (uint32_t i = 0; i < count; i++)
		net_link(net, i, sw);
	assert_int_equal(roce_fabric_prepare(net->f), 0);
}

static inline struct roce_fabric_flow_config net_flow(uint32_t src, uint32_t dst, uint64_t bytes)
{
	struct roce_fabric_flow_config flow;

	roce_fabric_flow_defaults(&flow);
	flow.src = src;
	flow.dst = dst;
	flow.bytes = bytes;
	return flow;
}

static inline uint32_t net_add(struct net *net, const struct roce_fabric_flow_config *flow)
{
	uint32_t index;

	assert_int_equal(roce_fabric_add_flow(net->f, flow, &index), 0);
	return index;
}

static inline void net_run(struct net *net, uint64_t until_ps, enum roce_fabric_end end)
{
	assert_int_equal(roce_fabric_run(net->f, until_ps), end);
}

static inline struct roce_fabric_flow_result net_result(const struct net *net, uint32_t flow)
{
	struct roce_fabric_flow_result result;

	roce_fabric_flow_result(net->f, flow, &result);
	return result;
}

static inline struct roce_fabric_totals net_totals(const struct net *net)
{
	struct roce_fabric_totals totals;

	roce_fabric_totals(net->f, &totals);
	return totals;
}

static inline struct roce_fabric_port_view net_port(const struct net *net, uint32_t node,
						    uint32_t port)
{
	struct roce_fabric_port_view view;

	assert_int_equal(roce_fabric_port_view(net->f, node, port, &view), 0);
	return view;
}

static inline uint64_t net_drops(const struct net *net)
{
	struct roce_fabric_totals totals = net_totals(net);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < ROCE_FABRIC_DROP_COUNT; i++)
		sum += totals.drops[i];
	return sum;
}

static inline void net_end(struct net *net)
{
	roce_fabric_destroy(net->f);
	net->f = NULL;
}

#endif
