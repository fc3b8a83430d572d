/* SPDX-License-Identifier: BSD-2-Clause */
/* What users write into UROCE_CC, and what they are told about what they should not. */
#include "engine/cc_spec.h"

#include "cc/dcqcn.h"

#include <stdarg.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

static struct roce_cc_spec spec;
static char err[256];

static void take(const char *text)
{
	memset(&spec, 0xee, sizeof(spec));
	if (roce_cc_spec_parse(text, &spec, err, sizeof(err)) != 0)
		fail_msg("%s: %s", text, err);
}

static void parse__words(void **state)
{
	(void)state;
	take("off");
	assert_null(spec.ops);
	assert_int_equal(spec.notify.mode, ROCE_NOTIFY_OFF);
	for (int i = 0; i < 3; i++) {
		take(i == 0 ? NULL : i == 1 ? "" : "np");
		assert_null(spec.ops);
		assert_int_equal(spec.notify.mode, ROCE_NOTIFY_CNP);
		assert_int_equal(spec.notify.interval_ns, 4 * ROCE_NS_PER_US);
		assert_int_equal(spec.notify.traffic_class, 48 << 2);
	}
	take("dcqcn");
	assert_ptr_equal(spec.ops, &roce_cc_dcqcn);
	assert_int_equal(spec.notify.mode, ROCE_NOTIFY_CNP);
	assert_memory_equal(&spec.params, &roce_cc_dcqcn.sets[0].params, sizeof(spec.params));
}

static void parse__parameters(void **state)
{
	(void)state;
	take("dcqcn,set=paper,rpg_ai_rate=77,min_time_between_cnps=0,");
	assert_int_equal(spec.params.v[ROCE_DCQCN_rpg_ai_rate], 77);
	assert_int_equal(spec.params.v[ROCE_DCQCN_rpg_time_reset], 55);
	assert_int_equal(spec.notify.interval_ns, 0);
	assert_int_equal(spec.notify.scope, ROCE_NOTIFY_PER_QP);
	take("np,cnp_dscp=20,cnps_per=1");
	assert_null(spec.ops);
	assert_int_equal(spec.notify.traffic_class, 80);
	assert_int_equal(spec.notify.scope, ROCE_NOTIFY_PER_DESTINATION);
	take("dcqcn,notify_by_ack=1");
	assert_int_equal(spec.notify.mode, ROCE_NOTIFY_ACK);
}

/* Case 76: a mode that is not there is an error that says what is there. */
static void parse__case_076_refused(void **state)
{
	static const struct {
		const char *text;
		const char *err;
	} cases[] = {
		{"timely", "UROCE_CC: 'timely' is none of off np dcqcn"},
		{"on", "UROCE_CC: 'on' is none of off np dcqcn"},
		{",", "UROCE_CC: '' is none of off np dcqcn"},
		{"dcqcn=1", "UROCE_CC: 'dcqcn=1' is none of off np dcqcn"},
		{"off,rpg_gd=10", "UROCE_CC: off takes no parameters"},
		{"dcqcn,rpg_ai=5", "UROCE_CC: dcqcn has no parameter 'rpg_ai'"},
		{"dcqcn,,", "UROCE_CC: dcqcn has no parameter ''"},
		{"dcqcn,rpg_gd=12", "UROCE_CC: rpg_gd=12 is not 10 to 11 log2"},
		{"dcqcn,cnp_dscp=64", "UROCE_CC: cnp_dscp=64 is not 0 to 63"},
		{"dcqcn,rpg_gd", "UROCE_CC: 'rpg_gd' needs a whole number, 10 to 11 log2"},
		{"dcqcn,rpg_gd=", "UROCE_CC: 'rpg_gd=' needs a whole number, 10 to 11 log2"},
		{"dcqcn,rpg_ai_rate=5Gb",
		 "UROCE_CC: 'rpg_ai_rate=5Gb' needs a whole number, 1 to 4000000 Mb/s"},
		{"dcqcn,rpg_ai_rate=-5",
		 "UROCE_CC: 'rpg_ai_rate=-5' needs a whole number, 1 to 4000000 Mb/s"},
		{"dcqcn,rpg_gd=10 ", "UROCE_CC: 'rpg_gd=10 ' needs a whole number, 10 to 11 log2"},
		{"dcqcn,rpg_gd=99999999999",
		 "UROCE_CC: 'rpg_gd=99999999999' needs a whole number, 10 to 11 log2"},
		{"dcqcn,set=papers",
		 "UROCE_CC: no set 'papers'; there are connectx paper hpcc-ns3"},
		{"dcqcn,set=", "UROCE_CC: dcqcn has no parameter 'set'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(roce_cc_spec_parse(cases[i].text, &spec, err, sizeof(err)) < 0);
		assert_string_equal(err, cases[i].err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__words),
		cmocka_unit_test(parse__parameters),
		cmocka_unit_test(parse__case_076_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
