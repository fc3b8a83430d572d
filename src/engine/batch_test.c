/* SPDX-License-Identifier: BSD-2-Clause */
/* Which packets leave together: each rule with the pair that breaks only it. */
#include "engine/batch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEGMENTS_MAX 64u

static struct roce_pktio_flow flow_a, flow_b;

static const struct roce_pktio_tx like = {
	.flow = &flow_a, .traffic_class = 2, .hop_limit = 64, .flow_label = 5};

/* Cuts a list of packet lengths into batches as the queue does; their packet counts. */
static uint32_t cut(const uint32_t *lengths, uint32_t count, uint32_t segments_max, uint32_t *out)
{
	struct roce_pktio_tx b = like;
	uint32_t batches = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (b.segment_count &&
		    !roce_batch_can_append(&b, &like, lengths[i], segments_max)) {
			out[batches++] = b.segment_count;
			b = like;
		}
		roce_batch_append(&b, lengths[i]);
	}
	out[batches++] = b.segment_count;
	return batches;
}

/* Headers 12, RETH 16, AETH 4, ICRC 4, payload 4096. */
static void cut__write_of_64k(void **state)
{
	uint32_t lengths[16] = {4128};
	uint32_t out[16];

	(void)state;
	for (uint32_t i = 1; i < 16; i++)
		lengths[i] = 4112;
	assert_int_equal(cut(lengths, 16, SEGMENTS_MAX, out), 2);
	assert_int_equal(out[0], 2);
	assert_int_equal(out[1], 14);
}

static void cut__send_fills_a_datagram(void **state)
{
	uint32_t lengths[32];
	uint32_t out[32];

	(void)state;
	for (uint32_t i = 0; i < 32; i++)
		lengths[i] = 4112;
	assert_int_equal(cut(lengths, 32, SEGMENTS_MAX, out), 3);
	assert_int_equal(out[0], 15);
	assert_int_equal(out[1], 15);
	assert_int_equal(out[2], 2);
}

static void cut__small_ones_up_to_the_limit(void **state)
{
	uint32_t lengths[130];
	uint32_t out[130];

	(void)state;
	for (uint32_t i = 0; i < 130; i++)
		lengths[i] = 80;
	assert_int_equal(cut(lengths, 130, SEGMENTS_MAX, out), 3);
	assert_int_equal(out[0], 64);
	assert_int_equal(cut(lengths, 130, 1, out), 130);
	assert_int_equal(out[7], 1);
}

static void cut__shorter_ends_longer_begins(void **state)
{
	static const uint32_t lengths[] = {100, 100, 20, 20, 100, 100};
	uint32_t out[6];

	(void)state;
	assert_int_equal(cut(lengths, 6, SEGMENTS_MAX, out), 3);
	assert_int_equal(out[0], 3); /* 100 100 20 */
	assert_int_equal(out[1], 1); /* 20, then a longer one */
	assert_int_equal(out[2], 2);
}

static void can_append__each_field(void **state)
{
	struct roce_pktio_tx b = like;
	struct roce_pktio_tx other;

	(void)state;
	roce_batch_append(&b, 100);
	assert_true(roce_batch_can_append(&b, &like, 100, SEGMENTS_MAX));
	assert_true(roce_batch_can_append(&b, &like, 40, SEGMENTS_MAX));
	assert_false(roce_batch_can_append(&b, &like, 101, SEGMENTS_MAX));
	assert_false(roce_batch_can_append(&b, &like, 100, 1));
	other = like;
	other.flow = &flow_b;
	assert_false(roce_batch_can_append(&b, &other, 100, SEGMENTS_MAX));
	other = like;
	other.traffic_class ^= 1;
	assert_false(roce_batch_can_append(&b, &other, 100, SEGMENTS_MAX));
	other = like;
	other.hop_limit--;
	assert_false(roce_batch_can_append(&b, &other, 100, SEGMENTS_MAX));
	other = like;
	other.flow_label++;
	assert_false(roce_batch_can_append(&b, &other, 100, SEGMENTS_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut__write_of_64k),
		cmocka_unit_test(cut__send_fills_a_datagram),
		cmocka_unit_test(cut__small_ones_up_to_the_limit),
		cmocka_unit_test(cut__shorter_ends_longer_begins),
		cmocka_unit_test(can_append__each_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
