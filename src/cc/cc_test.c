/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What controllers share: names, ranges, sets whose values are in range, pacing that follows a rate
 * as it changes, and the notification point's interval.
 */
#include "cc/cc.h"

#include "cc/dcqcn.h"

#include <stdarg.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

static const struct roce_cc_ops *dcqcn(void)
{
	return roce_cc_find("dcqcn,more", 5);
}

static void find__by_name(void **state)
{
	(void)state;
	assert_ptr_equal(dcqcn(), &roce_cc_dcqcn);
	assert_null(roce_cc_find("dcqcn", 4));
	assert_null(roce_cc_find("timely", 6));
	assert_null(roce_cc_find("", 0));
	assert_string_equal(roce_cc_find_set(dcqcn(), "paper", 5)->name, "paper");
	assert_null(roce_cc_find_set(dcqcn(), "papers", 6));
}

static void set_param__range(void **state)
{
	struct roce_cc_params params = dcqcn()->sets[0].params;
	const struct roce_cc_param *p = NULL;

	(void)state;
	assert_int_equal(roce_cc_set_param(dcqcn(), &params, "rpg_ai_rate", 11, 7, &p),
			 ROCE_CC_SET_OK);
	assert_int_equal(params.v[ROCE_DCQCN_rpg_ai_rate], 7);
	assert_string_equal(p->unit, "Mb/s");
	assert_int_equal(roce_cc_set_param(dcqcn(), &params, "rpg_ai_rate", 11, 0, &p),
			 ROCE_CC_SET_RANGE);
	assert_int_equal(
		roce_cc_set_param(dcqcn(), &params, "rpg_ai_rate", 11, UINT64_C(1) << 32, &p),
		ROCE_CC_SET_RANGE);
	assert_int_equal(p->max, ROCE_DCQCN_MBIT_MAX);
	assert_int_equal(params.v[ROCE_DCQCN_rpg_ai_rate], 7);
	p = NULL;
	assert_int_equal(roce_cc_set_param(dcqcn(), &params, "rpg_ai", 6, 7, &p),
			 ROCE_CC_SET_UNKNOWN);
	assert_null(p);
}

static void sets__are_in_range(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < dcqcn()->set_count; i++) {
		struct roce_cc_params copy = {0};

		for (uint32_t k = 0; k < dcqcn()->param_count; k++) {
			const char *name = dcqcn()->params[k].name;
			const struct roce_cc_param *p;

			assert_int_equal(roce_cc_set_param(dcqcn(), &copy, name, strlen(name),
							   dcqcn()->sets[i].params.v[k], &p),
					 ROCE_CC_SET_OK);
		}
		assert_memory_equal(&copy, &dcqcn()->sets[i].params, sizeof(copy));
	}
}

/* ---- pacing ---- */

static struct roce_cc_config config(const char *set)
{
	return (struct roce_cc_config){
		.ops = dcqcn(),
		.params = roce_cc_find_set(dcqcn(), set, strlen(set))->params,
		.line_kbit_per_s = 8000000, /* a byte a nanosecond */
	};
}

static void next_send__not_limited(void **state)
{
	struct roce_cc_config cfg = config("paper");
	struct roce_cc cc;

	(void)state;
	roce_cc_init(&cc, &cfg);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(roce_cc_next_send(&cc, 5), 5);
		roce_cc_on_send(&cc, 100000, 5);
	}
	assert_int_equal(roce_cc_rate(&cc, 5), 8000000);
}

/* A cut makes what waits wait longer, a rise lets it go earlier; a fixed gap does neither. */
static void next_send__follows_the_rate(void **state)
{
	struct roce_cc_config cfg = config("paper");
	struct roce_cc cc;

	(void)state;
	roce_cc_init(&cc, &cfg);
	roce_cc_on_cnp(&cc, 1000);
	assert_int_equal(roce_cc_rate(&cc, 1000), 4000000);
	assert_int_equal(roce_cc_next_send(&cc, 1000), 1000);
	roce_cc_on_send(&cc, 1000, 1000);
	assert_int_equal(roce_cc_next_send(&cc, 1000), 3000);
	roce_cc_on_cnp(&cc, 2000); /* 500 bytes are left */
	assert_int_equal(roce_cc_rate(&cc, 2000), 2000000);
	assert_int_equal(roce_cc_next_send(&cc, 2000), 4000);
	/* 100,000 bytes would take until 404,000, but time raises the rate before. */
	roce_cc_on_send(&cc, 100000, 4000);
	assert_int_equal(roce_cc_next_send(&cc, 4000), 2000 + 55000);
	assert_int_equal(roce_cc_next_send(&cc, 57000), 57000 + 55000);
	assert_int_equal(roce_cc_rate(&cc, 57000), 3000000);
	/* 13,250 bytes left by 57,000 and 20,625 by 112,000: 66,125 and then 45,500 are to go. */
	assert_int_equal(cc.pace.passed_at, 57000 + (100000 - 13250) * 8 / 3);

	cfg = config("hpcc-ns3");
	roce_cc_init(&cc, &cfg);
	roce_cc_on_cnp(&cc, 1000);
	assert_int_equal(roce_cc_rate(&cc, 1000), 8000000); /* not before the period's end */
	roce_cc_on_send(&cc, 10000, 1000);
	assert_int_equal(roce_cc_next_send(&cc, 5001), 10999); /* as there, one less */
	assert_int_equal(roce_cc_rate(&cc, 5001), 4062135);
}

static void next_send__burst(void **state)
{
	struct roce_cc_config cfg = config("paper");
	uint32_t count = 0;
	struct roce_cc cc;

	(void)state;
	cfg.burst_ns = 10000;
	roce_cc_init(&cc, &cfg);
	roce_cc_on_cnp(&cc, 1000);
	while (roce_cc_next_send(&cc, 1000) <= 1000) {
		roce_cc_on_send(&cc, 1000, 1000);
		count++;
	}
	assert_int_equal(count, 6); /* 10 us at half a byte a ns, and one */
	assert_int_equal(roce_cc_next_send(&cc, 1000), 3000);
}

/* Late by no more than allowed: what could have gone goes now. */
static void on_send__lateness(void **state)
{
	struct roce_cc_config cfg = config("paper");
	struct roce_cc cc;

	(void)state;
	cfg.late_ns = 5000;
	roce_cc_init(&cc, &cfg);
	roce_cc_on_cnp(&cc, 0);
	roce_cc_on_send(&cc, 1000, 10000);
	assert_int_equal(cc.pace.passed_at, 5000 + 2000);
	roce_cc_on_send(&cc, 1000, 9000);
	assert_int_equal(cc.pace.passed_at, 9000);
}

/* ---- notification ---- */

static void notify__at_most_once_in_an_interval(void **state)
{
	struct roce_notify_config cfg;
	struct roce_notify n = {0};

	(void)state;
	dcqcn()->notify_config(&roce_cc_find_set(dcqcn(), "paper", 5)->params, &cfg);
	assert_int_equal(cfg.mode, ROCE_NOTIFY_CNP);
	assert_int_equal(cfg.scope, ROCE_NOTIFY_PER_QP);
	assert_int_equal(cfg.traffic_class, 48 << 2);
	assert_int_equal(cfg.tx_class, 6);
	assert_true(roce_notify_take(&n, &cfg, 1000));
	assert_false(roce_notify_take(&n, &cfg, 1000));
	assert_false(roce_notify_take(&n, &cfg, 50999));
	assert_true(roce_notify_take(&n, &cfg, 51000));
	assert_false(roce_notify_take(&n, &cfg, 100999));
	dcqcn()->notify_config(&roce_cc_find_set(dcqcn(), "hpcc-ns3", 8)->params, &cfg);
	assert_int_equal(cfg.mode, ROCE_NOTIFY_ACK);
	dcqcn()->notify_config(&dcqcn()->sets[0].params, &cfg);
	assert_int_equal(cfg.scope, ROCE_NOTIFY_PER_PORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find__by_name),
		cmocka_unit_test(set_param__range),
		cmocka_unit_test(sets__are_in_range),
		cmocka_unit_test(next_send__not_limited),
		cmocka_unit_test(next_send__follows_the_rate),
		cmocka_unit_test(next_send__burst),
		cmocka_unit_test(on_send__lateness),
		cmocka_unit_test(notify__at_most_once_in_an_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
