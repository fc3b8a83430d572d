/* SPDX-License-Identifier: BSD-2-Clause */
/* What is refused while a network is built: each rule of ports, links and buffers, broken alone. */
#include "fabric/fabric.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

struct parts {
	struct roce_fabric_host_config host;
	struct roce_fabric_switch_config sw;
	struct roce_fabric_link_config link;
	uint32_t extra_link_from; /* a third link between these */
	uint32_t extra_link_to;
};

/* Two hosts and a switch; the first error, and the rule. */
static int build(const struct parts *p, enum roce_fabric_fault *out_fault, uint32_t *out_node)
{
	struct roce_fabric_config cfg;
	struct roce_fabric *f;
	uint32_t node;
	int err = 0;

	roce_fabric_defaults(&cfg);
	assert_int_equal(roce_fabric_create(&cfg, &f), 0);
	for (uint32_t i = 0; !err && i < 2; i++)
		err = roce_fabric_add_host(f, &p->host, &node);
	if (!err)
		err = roce_fabric_add_switch(f, &p->sw, &node);
	for (uint32_t i = 0; !err && i < 2; i++)
		err = roce_fabric_connect(f, i, 2, &p->link, NULL, NULL);
	if (!err && p->extra_link_from != p->extra_link_to)
		err = roce_fabric_connect(f, p->extra_link_from, p->extra_link_to, &p->link, NULL,
					  NULL);
	if (!err)
		err = roce_fabric_prepare(f);
	*out_fault = roce_fabric_fault(f, out_node, NULL, NULL);
	roce_fabric_destroy(f);
	return err;
}

static struct parts defaults(void)
{
	struct parts p = {.link = {.rate_bps = 100000000000, .delay_ps = 100000}};

	roce_fabric_host_defaults(&p.host);
	roce_fabric_switch_defaults(&p.sw);
	return p;
}

static void build__defaults_are_fine(void **state)
{
	const struct parts p = defaults();
	enum roce_fabric_fault fault;
	uint32_t node;

	(void)state;
	assert_int_equal(build(&p, &fault, &node), 0);
	assert_int_equal(fault, ROCE_FABRIC_FAULT_NONE);
}

static void build__refuses_each_mistake(void **state)
{
	(void)state;
#define REFUSED(change, why)                                         \
	do {                                                         \
		struct parts p = defaults();                         \
		enum roce_fabric_fault fault;                        \
		uint32_t node;                                       \
		change;                                              \
		assert_int_equal(build(&p, &fault, &node), -EINVAL); \
		assert_int_equal(fault, why);                        \
	} while (0)
	REFUSED(p.link.rate_bps = 0, ROCE_FABRIC_FAULT_RATE);
	REFUSED(p.link.rate_bps = 800000000001, ROCE_FABRIC_FAULT_RATE);
	REFUSED(p.extra_link_to = 9, ROCE_FABRIC_FAULT_NO_SUCH_NODE);
	REFUSED(p.extra_link_to = 1, ROCE_FABRIC_FAULT_HOST_PORTS);
	REFUSED(p.host.port.mtu_bytes = 255, ROCE_FABRIC_FAULT_MTU);
	REFUSED(p.sw.port.mtu_bytes = 9979, ROCE_FABRIC_FAULT_MTU);
	REFUSED(p.sw.port.qos.prio_to_tc[5] = 8, ROCE_FABRIC_FAULT_PRIO);
	REFUSED(p.sw.port.qos.dscp_to_prio[63] = 8, ROCE_FABRIC_FAULT_PRIO);
	REFUSED(p.sw.port.qos.pcp_to_prio[7] = 8, ROCE_FABRIC_FAULT_PRIO);
	REFUSED(p.sw.port.qos.remark[7] = 8, ROCE_FABRIC_FAULT_PRIO);
	REFUSED(p.sw.port.qos.tc_weight[0] = 0, ROCE_FABRIC_FAULT_WEIGHT);
	REFUSED(p.sw.port.ecn[3].kmin_bytes = 2000000, ROCE_FABRIC_FAULT_ECN);
	REFUSED(p.sw.port.ecn[3].pmax_ppm = 1000001, ROCE_FABRIC_FAULT_ECN);
	REFUSED(p.sw.port.buffer[3].alpha = 0, ROCE_FABRIC_FAULT_ALPHA);
	REFUSED(p.sw.port.buffer[0].egress_alpha = 0, ROCE_FABRIC_FAULT_ALPHA);
	REFUSED(p.sw.port.pfc.prios = 1, ROCE_FABRIC_FAULT_PFC_LOSSY);
	REFUSED(p.sw.buffer_bytes = 100000, ROCE_FABRIC_FAULT_BUFFER);
	REFUSED(p.sw.port.buffer[3].xoff_bytes = 32 << 20, ROCE_FABRIC_FAULT_XOFF);
	REFUSED(p.host.timing = "sundial", ROCE_FABRIC_FAULT_TIMING);
#undef REFUSED
}

/* Calls in the wrong order, or about nodes of the wrong kind. */
static void build__refuses_calls_out_of_order(void **state)
{
	const struct parts p = defaults();
	struct roce_fabric_flow_config flow;
	struct roce_fabric_config cfg;
	struct roce_fabric *f;
	uint32_t node, port = 0;

	(void)state;
	roce_fabric_defaults(&cfg);
	roce_fabric_flow_defaults(&flow);
	assert_int_equal(roce_fabric_create(&cfg, &f), 0);
	assert_int_equal(roce_fabric_add_host(f, &p.host, &node), 0);
#define REFUSED(call, why)                                                     \
	do {                                                                   \
		assert_int_equal(call, -EINVAL);                               \
		assert_int_equal(roce_fabric_fault(f, NULL, NULL, NULL), why); \
	} while (0)
	REFUSED(roce_fabric_connect(f, 0, 0, &p.link, NULL, NULL), ROCE_FABRIC_FAULT_SELF_LINK);
	REFUSED(roce_fabric_route_static(f, 0, 0, &port, 1), ROCE_FABRIC_FAULT_NOT_SWITCH);
	REFUSED(roce_fabric_add_flow(f, &flow, &node), ROCE_FABRIC_FAULT_UNPREPARED);
	REFUSED(roce_fabric_schedule_link(f, 0, 0, false, 1), ROCE_FABRIC_FAULT_UNPREPARED);
	REFUSED(roce_fabric_schedule_storm(f, 0, true, 1), ROCE_FABRIC_FAULT_UNPREPARED);
#undef REFUSED
	roce_fabric_destroy(f);
}

/* A frame has 16 bits for its length. */
static void create__refuses_frames_beyond_their_length(void **state)
{
	static const struct {
		struct roce_fabric_framing framing;
		int err;
	} rows[] = {
		{{.data_extra_bytes = 65535 - 4096}, 0},
		{{.data_extra_bytes = 65536 - 4096}, -EINVAL},
		{{.ack_bytes = 65535}, 0},
		{{.ack_bytes = 65536}, -EINVAL},
	};
	struct roce_fabric_config cfg;
	struct roce_fabric *f;

	(void)state;
	roce_fabric_defaults(&cfg);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cfg.framing = rows[i].framing;
		f = NULL;
		assert_int_equal(roce_fabric_create(&cfg, &f), rows[i].err);
		roce_fabric_destroy(f);
	}
}

/* The headroom that is computed: three frames, a pause frame, and what the line carries while the
 * pause is on its way and not yet obeyed. */
static void headroom__by_hand(void **state)
{
	struct parts p = defaults();
	struct roce_fabric_config cfg;
	struct roce_fabric_port_view view;
	struct roce_fabric *f;
	uint32_t node;
	const uint64_t frame = 9000 + 18 + 20;
	const uint64_t wait_ns = 2 * 1500 + 500 + 400; /* 300 m both ways, response, adapter */

	(void)state;
	p.link.delay_ps = 1500000;
	roce_fabric_defaults(&cfg);
	assert_int_equal(roce_fabric_create(&cfg, &f), 0);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(roce_fabric_add_host(f, &p.host, &node), 0);
	assert_int_equal(roce_fabric_add_switch(f, &p.sw, &node), 0);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(roce_fabric_connect(f, i, 2, &p.link, NULL, NULL), 0);
	assert_int_equal(roce_fabric_prepare(f), 0);
	assert_int_equal(roce_fabric_port_view(f, 2, 0, &view), 0);
	assert_int_equal(view.headroom_bytes[3], 3 * frame + 84 + wait_ns * 100 / 8);
	assert_int_equal(view.headroom_bytes[0], 0);
	assert_int_equal(roce_fabric_port_view(f, 2, 2, &view), -EINVAL);
	/* The network is closed. */
	assert_int_equal(roce_fabric_add_switch(f, &p.sw, &node), -EINVAL);
	assert_int_equal(roce_fabric_fault(f, NULL, NULL, NULL), ROCE_FABRIC_FAULT_PREPARED);
	assert_int_equal(roce_fabric_connect(f, 0, 2, &p.link, NULL, NULL), -EINVAL);
	assert_int_equal(roce_fabric_prepare(f), -EINVAL);
	roce_fabric_destroy(f);
	roce_fabric_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(build__defaults_are_fine),
		cmocka_unit_test(build__refuses_each_mistake),
		cmocka_unit_test(build__refuses_calls_out_of_order),
		cmocka_unit_test(create__refuses_frames_beyond_their_length),
		cmocka_unit_test(headroom__by_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
