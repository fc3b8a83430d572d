/* SPDX-License-Identifier: BSD-2-Clause */
/* What a case asks for, and when what was counted is not that. */
#include "verify/agent/harm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct va_harm_wish parse(const char *text)
{
	struct va_harm_wish wish;

	va_harm_parse(text, &wish);
	return wish;
}

static void parse__takes_what_is_harm(void **state)
{
	struct va_harm_wish wish = parse("seed=7,drop=1%,reorder=0.02,delay=2%:300us,first=9");

	(void)state;
	assert_true(wish.is_asked[VA_HARM_DROP] && wish.is_asked[VA_HARM_REORDER] &&
		    wish.is_asked[VA_HARM_DELAY]);
	assert_false(wish.is_asked[VA_HARM_DUP] || wish.is_asked[VA_HARM_CORRUPT]);
	assert_true(wish.share[VA_HARM_DROP] > 0.0099 && wish.share[VA_HARM_DROP] < 0.0101);
	assert_true(wish.share[VA_HARM_REORDER] > 0.0199 && wish.share[VA_HARM_REORDER] < 0.0201);
	assert_true(wish.share[VA_HARM_DELAY] > 0.0199 && wish.share[VA_HARM_DELAY] < 0.0201);
	assert_int_equal(wish.first, 9);
	assert_true(wish.is_rx && !wish.is_tx);
}

static void parse__what_has_no_share_of_all(void **state)
{
	struct va_harm_wish wish = parse("faulty-ud,ce=5%,drop=0%,dir=both");

	(void)state;
	assert_true(wish.is_asked[VA_HARM_UD_DAMAGE] && wish.is_asked[VA_HARM_CE]);
	assert_false(wish.is_asked[VA_HARM_DROP]);
	assert_true(wish.share[VA_HARM_UD_DAMAGE] == 0 && wish.share[VA_HARM_CE] == 0);
	assert_true(wish.is_rx && wish.is_tx);
	wish = parse("ud_damage=0.1%:always,dir=tx");
	assert_true(wish.is_asked[VA_HARM_UD_DAMAGE] && wish.is_tx && !wish.is_rx);
}

static void is_done__a_share_of_the_packets(void **state)
{
	struct va_harm_wish wish = parse("drop=1%");
	struct va_harm harm = {.received = 8000, .sent = 1000000};
	char why[300] = "";

	(void)state;
	harm.done[VA_HARM_DROP] = 80;
	assert_true(va_harm_is_done(&wish, &harm, why, sizeof(why)));
	harm.done[VA_HARM_DROP] = 20; /* a quarter */
	assert_true(va_harm_is_done(&wish, &harm, why, sizeof(why)));
	harm.done[VA_HARM_DROP] = 19;
	assert_false(va_harm_is_done(&wish, &harm, why, sizeof(why)));
	assert_string_equal(why, "of 8000 packets 19 were dropped on purpose, expected about 80");
	wish = parse("drop=1%,dir=tx");
	harm.done[VA_HARM_DROP] = 80;
	assert_false(va_harm_is_done(&wish, &harm, why, sizeof(why)));
}

/* Where chance alone may leave none. */
static void is_done__few_packets_need_none(void **state)
{
	struct va_harm_wish wish = parse("drop=1%");
	struct va_harm harm = {.received = 2999};
	char why[300] = "";

	(void)state;
	assert_true(va_harm_is_done(&wish, &harm, why, sizeof(why)));
	harm.received = 3000;
	assert_false(va_harm_is_done(&wish, &harm, why, sizeof(why)));
	wish = parse("drop=1%,first=2999");
	assert_true(va_harm_is_done(&wish, &harm, why, sizeof(why)));
}

static void is_seen__each_kind(void **state)
{
	struct va_harm_wish wish = parse("drop=1%,reorder=1%");
	struct va_harm both = {.received = 300};
	char why[300] = "";

	(void)state;
	both.done[VA_HARM_DROP] = 1;
	assert_false(va_harm_is_seen(&wish, &both, true, why, sizeof(why)));
	assert_string_equal(why,
			    "none of 300 packets was reordered on purpose, so nothing is proved");
	both.done[VA_HARM_REORDER] = 1;
	assert_true(va_harm_is_seen(&wish, &both, true, why, sizeof(why)));
}

/* A wrapper that counts and does nothing. */
static void is_seen__noticed_by_the_transport(void **state)
{
	struct va_harm_wish wish = parse("dup=1%");
	struct va_harm both = {.received = 8000};
	char why[300] = "";

	(void)state;
	both.done[VA_HARM_DUP] = 80;
	assert_false(va_harm_is_seen(&wish, &both, true, why, sizeof(why)));
	assert_non_null(strstr(why, "80 packets are said to be lost, doubled or late"));
	assert_true(va_harm_is_seen(&wish, &both, false, why, sizeof(why)));
	both.out_of_place = 1;
	assert_true(va_harm_is_seen(&wish, &both, true, why, sizeof(why)));
}

static void is_seen__damage_by_the_icrc(void **state)
{
	struct va_harm_wish wish = parse("corrupt=1%");
	struct va_harm both = {.received = 8000, .out_of_place = 100, .bad_icrc = 19};
	char why[300] = "";

	(void)state;
	both.done[VA_HARM_CORRUPT] = 80;
	assert_false(va_harm_is_seen(&wish, &both, true, why, sizeof(why)));
	assert_string_equal(why, "80 packets are said to be damaged on purpose, and 19 came with a "
				 "wrong ICRC");
	both.bad_icrc = 20;
	assert_true(va_harm_is_seen(&wish, &both, true, why, sizeof(why)));
	wish = parse("corrupt=1%,dir=tx"); /* the peer's to count */
	both.bad_icrc = 0;
	assert_true(va_harm_is_seen(&wish, &both, true, why, sizeof(why)));
}

static void subtract__all_of_it(void **state)
{
	struct va_harm now = {.received = 10, .sent = 20, .out_of_place = 30, .bad_icrc = 40};
	struct va_harm before = {.received = 1, .sent = 2, .out_of_place = 3, .bad_icrc = 4};

	(void)state;
	now.done[VA_HARM_CORRUPT] = 50;
	before.done[VA_HARM_CORRUPT] = 5;
	va_harm_subtract(&now, &before);
	assert_int_equal(now.received, 9);
	assert_int_equal(now.sent, 18);
	assert_int_equal(now.out_of_place, 27);
	assert_int_equal(now.bad_icrc, 36);
	assert_int_equal(now.done[VA_HARM_CORRUPT], 45);
}

static void read__no_such_device(void **state)
{
	struct va_harm harm;

	(void)state;
	assert_false(va_harm_read("no-such-device", 1, &harm));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__takes_what_is_harm),
		cmocka_unit_test(parse__what_has_no_share_of_all),
		cmocka_unit_test(is_done__a_share_of_the_packets),
		cmocka_unit_test(is_done__few_packets_need_none),
		cmocka_unit_test(is_seen__each_kind),
		cmocka_unit_test(is_seen__noticed_by_the_transport),
		cmocka_unit_test(is_seen__damage_by_the_icrc),
		cmocka_unit_test(subtract__all_of_it),
		cmocka_unit_test(read__no_such_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
