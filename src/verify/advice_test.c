/* SPDX-License-Identifier: BSD-2-Clause */
/* Reasons lead to advice, and there is always some. */
#include "verify/advice.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static void advice__follows_the_reason(void **state)
{
	static const struct {
		const char *name;
		const char *reason;
		const char *words;
	} cases[] = {
		{"function/rc_send", "target: buffer: byte 7 of 64 is 0x00, expected 0x1f",
		 "Contents were wrong"},
		{"function/rc_send",
		 "initiator: send completed with status 12 (transport retry counter exceeded)",
		 "Packets or answers did not arrive"},
		{"latency/read_64", "no completion of the READ in 20 s",
		 "Packets or answers did not arrive"},
		{"bandwidth/send", "completed with status 13 (RNR retry counter exceeded)",
		 "The receiver had"},
		{"latency/write_64", "p50 27 us, expected at most 4 us", "C-states"},
		{"bandwidth/write", "rate 2 Gb/s, expected at least 9 Gb/s", "Without loss"},
		{"line/1g", "line 58 %, expected at least 98 %", "Without loss"},
		{"rate/write", "messages 2 1/s, expected at least 9 1/s", "Without loss"},
		{"resilience/loss", "p50 9 us, expected at most 4 us", "Timers decide"},
		{"resilience/loss",
		 "target: of 8000 packets 0 were dropped on purpose, expected about 80",
		 "should have harmed packets"},
		{"sizes/rc_write", "a message of 8 B changed a byte 1 B behind its end",
		 "never does"},
		{"contention/cmp_swap", "cmp_swap: value 7 was taken by both sides", "never does"},
		{"edges/queues", "a queue of 32 requests took 193, before 0", "which of the two"},
		{"floor/tcp", "connect: Connection refused", "Plain sockets fail"},
		{"floor/tcp", "rate 2 Gb/s, expected at least 9 Gb/s", "The path itself"},
		{"qps/many", "ibv_create_qp: Cannot allocate memory", "ulimit -l"},
		{"function/rc", "qp 0 to RTR: Address already in use", "--share-with"},
		{"function/rc", "no RC QP can be created: Connection timed out", "uroce status"},
		{"function/rc", "device does not open: Resource temporarily unavailable",
		 "ulimit -u"},
		{"setup/rc", "the target gave no result", "ended or its host went away"},
		{"latency/write_64", "no word from the target's agent for 15 s",
		 "ended or its host went away"},
		{"bandwidth/write", "nothing moved for 20 s: 3 of 9 requests have completed",
		 "Packets or answers did not arrive"},
		{"own/thing", "something else", "read the counters"},
		{"own/thing", "p50 9 us, expected at most 4 us", "--repeat"},
		{"own/thing", NULL, "Run the case alone"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *advice[ROCE_VERIFY_ADVICE_MAX] = {NULL};
		size_t count = roce_verify_advice(cases[i].name, cases[i].reason, advice);

		assert_in_range(count, 1, ROCE_VERIFY_ADVICE_MAX);
		if (!strstr(advice[0], cases[i].words))
			fail_msg("%s: \"%s\" led to \"%s\"", cases[i].name,
				 cases[i].reason ? cases[i].reason : "", advice[0]);
	}
}

/* A group is a whole word: what begins like one is another. */
static void advice__of_a_group_is_for_that_group(void **state)
{
	const char *advice[ROCE_VERIFY_ADVICE_MAX];

	(void)state;
	assert_int_equal(roce_verify_advice("floors/x", "strange", advice), 1);
	assert_null(strstr(advice[0], "Plain sockets"));
	assert_int_equal(roce_verify_advice("floor/x", "strange", advice), 1);
	assert_non_null(strstr(advice[0], "Plain sockets"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(advice__follows_the_reason),
		cmocka_unit_test(advice__of_a_group_is_for_that_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
