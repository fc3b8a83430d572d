/* SPDX-License-Identifier: BSD-2-Clause */
/* The window: room, growth by one packet a round, cuts, and that cost never runs below zero. */
#include "cc/window.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <cmocka.h>

#define PACKET (4096u + ROCE_WINDOW_PACKET_COST)

static const struct roce_window_config cfg = {
	.initial = 8 * PACKET, .min = 2 * PACKET, .max = 10 * PACKET};

static void has_room__up_to_the_limit(void **state)
{
	struct roce_window w;

	(void)state;
	roce_window_init(&w, &cfg);
	for (int i = 0; i < 8; i++) {
		assert_true(roce_window_has_room(&w, PACKET));
		roce_window_on_send(&w, PACKET);
	}
	assert_false(roce_window_has_room(&w, 1));
	roce_window_on_ack(&w, &cfg, PACKET);
	assert_true(roce_window_has_room(&w, PACKET));
	assert_false(roce_window_has_room(&w, PACKET + 1));
}

/* Whatever the limit, one packet may always go: else a small window would stand still. */
static void has_room__empty_takes_one(void **state)
{
	const struct roce_window_config tiny = {.initial = 1, .min = 1, .max = 1};
	struct roce_window w;

	(void)state;
	roce_window_init(&w, &tiny);
	assert_true(roce_window_has_room(&w, PACKET));
	roce_window_on_send(&w, PACKET);
	assert_false(roce_window_has_room(&w, 1));
}

static void on_ack__grows_one_packet_a_window(void **state)
{
	struct roce_window w;

	(void)state;
	roce_window_init(&w, &cfg);
	for (int i = 0; i < 7; i++) {
		roce_window_on_send(&w, PACKET);
		roce_window_on_ack(&w, &cfg, PACKET);
	}
	assert_int_equal(w.limit, 8 * PACKET);
	roce_window_on_send(&w, PACKET);
	roce_window_on_ack(&w, &cfg, PACKET);
	assert_int_equal(w.limit, 9 * PACKET);
	for (int i = 0; i < 1000; i++) {
		roce_window_on_send(&w, PACKET);
		roce_window_on_ack(&w, &cfg, PACKET);
	}
	assert_int_equal(w.limit, cfg.max);
	assert_int_equal(w.inflight, 0);
}

/* "No limit" is a limit near 2^32: growth must not wrap. */
static void on_ack__grows_to_a_huge_limit(void **state)
{
	const struct roce_window_config huge = {
		.initial = UINT32_MAX - 10, .min = PACKET, .max = UINT32_MAX};
	struct roce_window w;

	(void)state;
	roce_window_init(&w, &huge);
	w.growth = huge.initial - PACKET;
	roce_window_on_send(&w, PACKET);
	roce_window_on_ack(&w, &huge, PACKET);
	assert_int_equal(w.limit, UINT32_MAX);
}

static void on_loss__halves_down_to_the_minimum(void **state)
{
	struct roce_window w;

	(void)state;
	roce_window_init(&w, &cfg);
	roce_window_on_loss(&w, &cfg);
	assert_int_equal(w.limit, 4 * PACKET);
	roce_window_on_loss(&w, &cfg);
	assert_int_equal(w.limit, cfg.min);
	roce_window_on_loss(&w, &cfg);
	assert_int_equal(w.limit, cfg.min);
}

/* A cut forgets what was gathered for growth. */
static void on_loss__growth_begins_anew(void **state)
{
	struct roce_window w;

	(void)state;
	roce_window_init(&w, &cfg);
	for (int i = 0; i < 7; i++) {
		roce_window_on_send(&w, PACKET);
		roce_window_on_ack(&w, &cfg, PACKET);
	}
	roce_window_on_loss(&w, &cfg);
	for (int i = 0; i < 3; i++) {
		roce_window_on_send(&w, PACKET);
		roce_window_on_ack(&w, &cfg, PACKET);
	}
	assert_int_equal(w.limit, 4 * PACKET);
	roce_window_on_send(&w, PACKET);
	roce_window_on_ack(&w, &cfg, PACKET);
	assert_int_equal(w.limit, 5 * PACKET);
}

static void on_timeout__falls_to_the_minimum(void **state)
{
	struct roce_window w;

	(void)state;
	roce_window_init(&w, &cfg);
	roce_window_on_timeout(&w, &cfg);
	assert_int_equal(w.limit, cfg.min);
}

static void release__never_below_zero(void **state)
{
	struct roce_window w;

	(void)state;
	roce_window_init(&w, &cfg);
	roce_window_on_send(&w, 10);
	roce_window_release(&w, 4);
	assert_int_equal(w.inflight, 6);
	roce_window_release(&w, 7);
	assert_int_equal(w.inflight, 0);
	assert_int_equal(w.limit, cfg.initial);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_room__up_to_the_limit),
		cmocka_unit_test(has_room__empty_takes_one),
		cmocka_unit_test(on_ack__grows_one_packet_a_window),
		cmocka_unit_test(on_ack__grows_to_a_huge_limit),
		cmocka_unit_test(on_loss__halves_down_to_the_minimum),
		cmocka_unit_test(on_loss__growth_begins_anew),
		cmocka_unit_test(on_timeout__falls_to_the_minimum),
		cmocka_unit_test(release__never_below_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
