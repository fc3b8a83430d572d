/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of counters as `ethtool -S` has them, and texts at the ends of the lists. */
#include "fabric/fabric.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static void prio_counter_name__as_ethtool_spells_it(void **state)
{
	char name[ROCE_FABRIC_COUNTER_NAME_MAX];

	(void)state;
	roce_fabric_prio_counter_name(ROCE_FABRIC_RX_PAUSE, 3, name);
	assert_string_equal(name, "rx_prio3_pause");
	roce_fabric_prio_counter_name(ROCE_FABRIC_TX_PACKETS, 0, name);
	assert_string_equal(name, "tx_prio0_packets");
	roce_fabric_prio_counter_name(ROCE_FABRIC_RX_PAUSE_TRANSITION, 7, name);
	assert_string_equal(name, "rx_prio7_pause_transition");
}

static void str__ends_of_the_lists(void **state)
{
	(void)state;
	assert_string_equal(roce_fabric_drop_str(ROCE_FABRIC_DROP_BUFFER), "no shared buffer");
	assert_string_equal(roce_fabric_drop_str(ROCE_FABRIC_DROP_COUNT), "unknown");
	assert_string_equal(roce_fabric_fault_str(ROCE_FABRIC_FAULT_NONE), "nothing");
	assert_string_equal(roce_fabric_port_counter_str(ROCE_FABRIC_PORT_LINK_DOWN_EVENTS),
			    "link_down_events_phy");
	assert_string_equal(roce_fabric_operation_str(ROCE_FABRIC_SEND), "send");
	assert_string_equal(roce_fabric_transport_str(ROCE_FABRIC_UD), "ud");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prio_counter_name__as_ethtool_spells_it),
		cmocka_unit_test(str__ends_of_the_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
