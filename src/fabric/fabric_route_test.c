/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes as graphs: all shortest ways of a fat-tree share, ways that go down do not go up again,
 * and the hash deals flows evenly, differently at each switch.
 */
#include "fabric/ecmp.h"
#include "fabric/fabric.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#define K     4u
#define HOSTS 16u
#define EDGE  16u
#define AGG   24u
#define CORE  32u
#define NODES 36u

static struct roce_fabric *f;
static enum roce_fabric_hash chosen_hash = ROCE_FABRIC_HASH_MIXED;

static void link_nodes(uint32_t a, uint32_t b)
{
	const struct roce_fabric_link_config cfg = {.rate_bps = 100000000000, .delay_ps = 1000};

	assert_int_equal(roce_fabric_connect(f, a, b, &cfg, NULL, NULL), 0);
}

static void begin(uint32_t hosts, uint32_t switches)
{
	struct roce_fabric_config cfg;
	struct roce_fabric_host_config host;
	struct roce_fabric_switch_config sw;
	uint32_t node;

	roce_fabric_defaults(&cfg);
	roce_fabric_host_defaults(&host);
	roce_fabric_switch_defaults(&sw);
	sw.hash = (uint8_t)chosen_hash;
	assert_int_equal(roce_fabric_create(&cfg, &f), 0);
	for (uint32_t i = 0; i < hosts; i++)
		assert_int_equal(roce_fabric_add_host(f, &host, &node), 0);
	for (uint32_t i = 0; i < switches; i++)
		assert_int_equal(roce_fabric_add_switch(f, &sw, &node), 0);
}

static void fat_tree_4(void)
{
	begin(HOSTS, NODES - HOSTS);
	for (uint32_t i = 0; i < HOSTS; i++)
		link_nodes(i, EDGE + i / 2);
	for (uint32_t pod = 0; pod < K; pod++)
		for (uint32_t i = 0; i < 4; i++)
			link_nodes(EDGE + pod * 2 + i / 2, AGG + pod * 2 + i % 2);
	for (uint32_t pod = 0; pod < K; pod++)
		for (uint32_t i = 0; i < 4; i++)
			link_nodes(AGG + pod * 2 + i / 2, CORE + i);
}

static uint32_t peer_of(uint32_t node, uint32_t port)
{
	struct roce_fabric_port_view view;

	assert_int_equal(roce_fabric_port_view(f, node, port, &view), 0);
	return view.peer_node;
}

static void shortest__fat_tree_shares_all_ways(void **state)
{
	uint32_t ports[8];

	(void)state;
	fat_tree_4();
	assert_int_equal(roce_fabric_prepare(f), 0);
	/* own edge: the host's port alone */
	assert_int_equal(roce_fabric_next_hops(f, EDGE, 1, ports, 8), 1);
	assert_int_equal(peer_of(EDGE, ports[0]), 1);
	/* another edge or pod: both ways up; down again there is one */
	assert_int_equal(roce_fabric_next_hops(f, EDGE, 2, ports, 8), 2);
	assert_int_equal(roce_fabric_next_hops(f, EDGE, 15, ports, 8), 2);
	assert_int_equal(roce_fabric_next_hops(f, AGG, 15, ports, 8), 2);
	assert_int_equal(roce_fabric_next_hops(f, CORE, 15, ports, 8), 1);
	assert_int_equal(peer_of(CORE, ports[0]), AGG + 6);
	assert_int_equal(roce_fabric_next_hops(f, AGG + 6, 15, ports, 8), 1);
	assert_int_equal(peer_of(AGG + 6, ports[0]), EDGE + 7);
	/* hosts have none, and hosts are no destinations of switches' names */
	assert_int_equal(roce_fabric_next_hops(f, 0, 15, ports, 8), 0);
	roce_fabric_destroy(f);
}

/* On a fat-tree up-down is nothing new. */
static void up_down__is_shortest_on_a_fat_tree(void **state)
{
	uint32_t shortest[NODES][HOSTS];
	uint32_t ports[8];

	(void)state;
	fat_tree_4();
	assert_int_equal(roce_fabric_prepare(f), 0);
	for (uint32_t n = EDGE; n < NODES; n++)
		for (uint32_t d = 0; d < HOSTS; d++)
			shortest[n][d] = roce_fabric_next_hops(f, n, d, ports, 8);
	assert_int_equal(roce_fabric_route(f, ROCE_FABRIC_ROUTING_UP_DOWN), 0);
	/* Aggregation switches may get frames from above only for their own pod, so what they do
	 * with others differs in nothing that happens. */
	for (uint32_t n = EDGE; n < NODES; n++)
		for (uint32_t d = 0; d < HOSTS; d++)
			assert_int_equal(roce_fabric_next_hops(f, n, d, ports, 8), shortest[n][d]);
	roce_fabric_destroy(f);
}

/* A ring of 5 switches, one host each. Follow every way: once down, never up. */
static void up_down__never_up_after_down(void **state)
{
	(void)state;
	begin(5, 5);
	for (uint32_t i = 0; i < 5; i++)
		link_nodes(i, 5 + i);
	for (uint32_t i = 0; i < 5; i++)
		link_nodes(5 + i, 5 + (i + 1) % 5);
	assert_int_equal(roce_fabric_route(f, ROCE_FABRIC_ROUTING_UP_DOWN), 0);
	assert_int_equal(roce_fabric_prepare(f), 0);
	for (uint32_t src = 0; src < 5; src++) {
		for (uint32_t dst = 0; dst < 5; dst++) {
			uint32_t at = 5 + src;
			uint32_t steps = 0;
			bool is_down = false;

			while (at != dst && src != dst) {
				uint32_t port;
				uint32_t next;

				assert_int_equal(roce_fabric_next_hops(f, at, dst, &port, 1), 1);
				next = peer_of(at, port);
				if (next != dst) {
					assert_false(is_down && next > at);
					is_down = next < at;
				}
				at = next;
				assert_true(++steps <= 5);
			}
		}
	}
	roce_fabric_destroy(f);
}

static void route_static__goes_before_what_is_computed(void **state)
{
	const uint32_t up = 2;
	uint32_t ports[8];

	(void)state;
	fat_tree_4();
	assert_int_equal(roce_fabric_route_static(f, EDGE, 15, &up, 1), 0);
	assert_int_equal(roce_fabric_prepare(f), 0);
	assert_int_equal(roce_fabric_next_hops(f, EDGE, 15, ports, 8), 1);
	assert_int_equal(ports[0], up);
	assert_int_equal(roce_fabric_next_hops(f, EDGE, 14, ports, 8), 2);
	assert_int_equal(roce_fabric_route_static(f, EDGE, 15, NULL, 0), 0);
	assert_int_equal(roce_fabric_next_hops(f, EDGE, 15, ports, 8), 2);
	/* refused: a host's route, a switch as destination, a port too many */
	assert_int_equal(roce_fabric_route_static(f, 0, 15, &up, 1), -EINVAL);
	assert_int_equal(roce_fabric_route_static(f, EDGE, CORE, &up, 1), -EINVAL);
	assert_int_equal(roce_fabric_route_static(f, EDGE, 15, &(uint32_t){4}, 1), -EINVAL);
	assert_int_equal(roce_fabric_fault(f, NULL, NULL, NULL), ROCE_FABRIC_FAULT_NO_SUCH_PORT);
	roce_fabric_destroy(f);
}

static void prepare__refuses_a_network_in_two_parts(void **state)
{
	uint32_t node;

	(void)state;
	begin(2, 2);
	link_nodes(0, 2);
	link_nodes(1, 3);
	assert_int_equal(roce_fabric_prepare(f), -EINVAL);
	assert_int_equal(roce_fabric_fault(f, &node, NULL, NULL), ROCE_FABRIC_FAULT_UNREACHABLE);
	assert_int_equal(node, 0);
	roce_fabric_destroy(f);
}

/* Two hosts, at switch 2 and at switch 7; two ways of four links, by 3 and 6 and by 4 and 5. */
static void two_ways(void)
{
	begin(2, 6);
	link_nodes(0, 2);
	link_nodes(2, 4);
	link_nodes(2, 3);
	link_nodes(3, 6);
	link_nodes(4, 5);
	link_nodes(5, 7);
	link_nodes(6, 7);
	link_nodes(1, 7);
	assert_int_equal(roce_fabric_prepare(f), 0);
}

/* As that simulator finds them, searching from the destination, the last number first: from 7 it
 * comes to 6 and so to 3 before 4; from 2 to 4 and so to 5 before 6. Else in the order of ports. */
static void murmur3__next_hops_as_the_search_finds_them(void **state)
{
	uint32_t ports[2];

	(void)state;
	two_ways();
	assert_int_equal(roce_fabric_next_hops(f, 2, 1, ports, 2), 2);
	assert_int_equal(ports[0], 1);
	assert_int_equal(roce_fabric_next_hops(f, 7, 0, ports, 2), 2);
	assert_int_equal(ports[0], 0);
	roce_fabric_destroy(f);
	chosen_hash = ROCE_FABRIC_HASH_MURMUR3;
	two_ways();
	chosen_hash = ROCE_FABRIC_HASH_MIXED;
	assert_int_equal(roce_fabric_next_hops(f, 2, 1, ports, 2), 2);
	assert_int_equal(ports[0], 2); /* to 3 */
	assert_int_equal(ports[1], 1);
	assert_int_equal(roce_fabric_next_hops(f, 7, 0, ports, 2), 2);
	assert_int_equal(ports[0], 0); /* to 5 */
	assert_int_equal(ports[1], 1);
	roce_fabric_destroy(f);
}

/* ---- hash ---- */

#define FLOWS 100000u

/* Four ways twice in a row: each of the sixteen pairs gets its sixteenth, so the second choice does
 * not follow the first. A standard deviation is 77. */
static void ecmp__even_and_independent(void **state)
{
	uint32_t counts[4][4] = {{0}};

	(void)state;
	for (uint32_t i = 0; i < FLOWS; i++) {
		uint32_t hash = (uint32_t)roce_fabric_mix(i);
		uint32_t a = roce_fabric_ecmp_mixed(hash, UINT64_C(0x1234567890abcdef), 4);
		uint32_t b = roce_fabric_ecmp_mixed(hash, UINT64_C(0xfedcba0987654321), 4);

		counts[a][b]++;
	}
	for (uint32_t a = 0; a < 4; a++)
		for (uint32_t b = 0; b < 4; b++)
			assert_in_range(counts[a][b], FLOWS / 16 - 400, FLOWS / 16 + 400);
}

/* Answers of the reference implementation. */
static void murmur3__known_answers(void **state)
{
	(void)state;
	assert_int_equal(roce_fabric_murmur3(NULL, 0, 0), 0);
	assert_int_equal(roce_fabric_murmur3(NULL, 0, 1), 0x514e28b7);
	assert_int_equal(roce_fabric_murmur3((uint32_t[]){0}, 1, 0), 0x2362f9de);
	assert_int_equal(roce_fabric_murmur3((uint32_t[]){0xffffffff}, 1, 0), 0x76293b50);
	assert_int_equal(roce_fabric_murmur3((uint32_t[]){0x87654321}, 1, 0x5082edee), 0x2362f9de);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shortest__fat_tree_shares_all_ways),
		cmocka_unit_test(up_down__is_shortest_on_a_fat_tree),
		cmocka_unit_test(up_down__never_up_after_down),
		cmocka_unit_test(route_static__goes_before_what_is_computed),
		cmocka_unit_test(prepare__refuses_a_network_in_two_parts),
		cmocka_unit_test(murmur3__next_hops_as_the_search_finds_them),
		cmocka_unit_test(ecmp__even_and_independent),
		cmocka_unit_test(murmur3__known_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
