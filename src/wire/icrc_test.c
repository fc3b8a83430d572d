/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ICRC against a bitwise model, which bits it covers, and the check that does not see the IPv4
 * identification: that it finds every identification, refuses damage, and learns and forgets a
 * sender's habit as icrc.h says.
 */
#include "wire/icrc.h"

#include "base/prng.h"
#include "wire/encap.h"
#include "wire/icrc_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define FRAME_MAX 4400

/* A whole frame, kept apart: headers up to UDP, then the packet with its ICRC. */
struct frame {
	struct roce_encap encap;
	struct roce_icrc_flow flow;
	uint8_t bytes[FRAME_MAX];
	uint8_t *ip;
	uint8_t *bth;
	size_t len; /* BTH through ICRC */
};

static void prepare_flow(struct frame *f)
{
	roce_icrc_flow_init(&f->flow, &f->encap.src, &f->encap.dst, f->encap.udp_sport,
			    f->encap.udp_dport);
}

static void seal_with(struct frame *f, uint16_t ip_id)
{
	roce_icrc_put(f->bth + f->len - 4, roce_icrc_compute(&f->flow, ip_id, f->bth, f->len - 4));
}

/* Random addresses, ports, headers and bytes; `len` counts BTH through ICRC. */
static void make_frame(struct frame *f, struct roce_prng *prng, bool is_v4, size_t len)
{
	memset(f, 0, sizeof(*f));
	for (int i = 0; i < 16; i++) {
		f->encap.src.raw[i] = (uint8_t)roce_prng_next(prng);
		f->encap.dst.raw[i] = (uint8_t)roce_prng_next(prng);
	}
	if (is_v4) {
		static const uint8_t mapped[12] = {[10] = 0xff, 0xff};

		memcpy(f->encap.src.raw, mapped, 12);
		memcpy(f->encap.dst.raw, mapped, 12);
	}
	f->encap.traffic_class = (uint8_t)roce_prng_next(prng);
	f->encap.hop_limit = (uint8_t)roce_prng_next(prng);
	f->encap.flow_label = (uint32_t)roce_prng_next(prng) & 0xfffff;
	f->encap.dont_fragment = true;
	f->encap.ip_id = (uint16_t)roce_prng_next(prng);
	f->encap.udp_sport = (uint16_t)roce_prng_next(prng);
	f->encap.udp_dport = ROCE_UDP_PORT;
	f->encap.udp_checksum = (uint16_t)roce_prng_next(prng);
	f->len = len;
	f->ip = f->bytes + 14;
	f->bth = f->bytes + roce_encap_encode(&f->encap, len, f->bytes);
	for (size_t i = 0; i < len; i++)
		f->bth[i] = (uint8_t)roce_prng_next(prng);
	prepare_flow(f);
	seal_with(f, f->encap.ip_id);
}

static uint32_t model_of(const struct frame *f)
{
	return roce_icrc_model(f->ip, (size_t)(f->bth - f->ip) + f->len - 4);
}

static void case_003__compute_equals_model(void **state)
{
	uint64_t seed = 0xc3c;
	struct roce_prng prng = {seed};
	static struct frame f;

	(void)state;
	print_message("seed %#llx\n", (unsigned long long)seed);
	for (int i = 0; i < 1000; i++) {
		make_frame(&f, &prng, i & 1, 16 + roce_prng_below(&prng, i % 10 ? 300 : 4200));
		assert_int_equal(roce_icrc_get(f.bth + f.len - 4), model_of(&f));
	}
}

static void flow_set_sport__same_as_init(void **state)
{
	struct roce_prng prng = {5};
	static struct frame f;

	(void)state;
	for (int is_v4 = 0; is_v4 < 2; is_v4++) {
		struct roce_icrc_flow fresh;

		make_frame(&f, &prng, is_v4, 100);
		roce_icrc_flow_init(&fresh, &f.encap.src, &f.encap.dst, 1, ROCE_UDP_PORT);
		roce_icrc_flow_set_sport(&fresh, f.encap.udp_sport);
		assert_int_equal(roce_icrc_compute(&fresh, f.encap.ip_id, f.bth, f.len - 4),
				 model_of(&f));
	}
}

static void put__least_significant_byte_first(void **state)
{
	uint8_t wire[4];

	(void)state;
	roce_icrc_put(wire, 0x2a00fd82);
	assert_memory_equal(wire, "\x82\xfd\x00\x2a", 4);
	assert_int_equal(roce_icrc_get(wire), 0x2a00fd82);
}

/* What a receiver that sees the whole frame computes; false when it would not get that far. */
static bool icrc_from_bytes(const struct frame *f, uint32_t *out)
{
	struct roce_encap encap;
	struct roce_icrc_flow flow;
	const uint8_t *bth;
	size_t len;

	if (roce_encap_decode(f->bytes, (size_t)(f->bth - f->bytes) + f->len, &encap, &bth, &len) !=
	    ROCE_ENCAP_OK)
		return false;
	if (!encap.dont_fragment)
		return false;
	roce_icrc_flow_init(&flow, &encap.src, &encap.dst, encap.udp_sport, encap.udp_dport);
	*out = roce_icrc_compute(&flow, encap.ip_id, bth, len - 4);
	return true;
}

static bool is_masked(const struct frame *f, size_t byte, unsigned int bit)
{
	size_t udp = f->flow.is_v4 ? 20 : 40;

	if (byte == udp + 6 || byte == udp + 7 || byte == udp + 12)
		return true;
	if (f->flow.is_v4)
		return byte == 1 || byte == 8 || byte == 10 || byte == 11;
	return (byte == 0 && bit < 4) || (byte >= 1 && byte <= 3) || byte == 7;
}

static void repair_ipv4_checksum(struct frame *f)
{
	uint32_t sum = 0;

	f->ip[10] = f->ip[11] = 0;
	for (size_t i = 0; i < 20; i += 2)
		sum += (uint32_t)f->ip[i] << 8 | f->ip[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	f->ip[10] = (uint8_t)(~sum >> 8);
	f->ip[11] = (uint8_t)~sum;
}

/* Each bit of a v4 and a v6 packet, IP header to end of pad. */
static void case_001__masked_bits_and_no_others(void **state)
{
	struct roce_prng prng = {1};
	static struct frame f;
	static struct frame flipped;

	(void)state;
	for (int is_v4 = 0; is_v4 < 2; is_v4++) {
		size_t covered;
		uint32_t want;

		make_frame(&f, &prng, is_v4, 64);
		covered = (size_t)(f.bth - f.ip) + f.len - 4;
		want = roce_icrc_get(f.bth + f.len - 4);
		for (size_t bit = 0; bit < covered * 8; bit++) {
			bool masked = is_masked(&f, bit / 8, bit % 8);
			bool is_checksum = is_v4 && (bit / 8 == 10 || bit / 8 == 11);
			uint32_t got = ~want;

			flipped = f;
			flipped.ip = flipped.bytes + 14;
			flipped.bth = flipped.bytes + (f.bth - f.bytes);
			flipped.ip[bit / 8] ^= (uint8_t)(1u << bit % 8);
			if (is_checksum) {
				assert_int_equal(model_of(&flipped), want);
				continue;
			}
			if (is_v4)
				repair_ipv4_checksum(&flipped);
			if (masked) {
				assert_true(icrc_from_bytes(&flipped, &got));
				assert_int_equal(got, want);
			} else if (icrc_from_bytes(&flipped, &got)) {
				assert_int_not_equal(got, want);
			}
		}
	}
}

static void recover_id__every_id(void **state)
{
	static const size_t lengths[] = {16, 20, 333, 1064, 4140, 65507};
	struct roce_prng prng = {11};
	static struct frame f;
	static uint8_t big[65511];

	(void)state;
	make_frame(&f, &prng, true, 64);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint32_t zero = roce_icrc_compute(&f.flow, 0, big, lengths[i]);
		uint32_t step = lengths[i] > 2000 ? 4099 : 1;

		for (uint32_t id = 0; id < 0x10000; id += step) {
			uint32_t delta =
				roce_icrc_compute(&f.flow, (uint16_t)id, big, lengths[i]) ^ zero;
			uint16_t got = 0;

			assert_true(roce_icrc_recover_id(delta, lengths[i], &got));
			assert_int_equal(got, id);
		}
	}
}

/* Every length, so that every entry of the table of inverse powers is used. */
static void recover_id__every_length(void **state)
{
	struct roce_prng prng = {12};
	static struct frame f;
	static uint8_t big[65511];

	(void)state;
	make_frame(&f, &prng, true, 64);
	for (size_t len = 12; len <= 65507; len += len < 9000 ? 1 : 127) {
		uint32_t delta = roce_icrc_compute(&f.flow, 0, big, len) ^
				 roce_icrc_compute(&f.flow, 0xa55a, big, len);
		uint16_t got = 0;

		assert_true(roce_icrc_recover_id(delta, len, &got));
		assert_int_equal(got, 0xa55a);
	}
}

static bool check(const struct frame *f, struct roce_icrc_id_state *ids, uint16_t index)
{
	return roce_icrc_check(&f->flow, ids, index, f->bth, f->len);
}

static void check__stranger_may_use_any_id(void **state)
{
	uint64_t seed = 0x1d;
	struct roce_prng prng = {seed};
	static struct frame f;

	(void)state;
	print_message("seed %#llx\n", (unsigned long long)seed);
	for (int i = 0; i < 500; i++) {
		struct roce_icrc_id_state ids = {0};

		make_frame(&f, &prng, true, 16 + roce_prng_below(&prng, 4200));
		assert_true(check(&f, &ids, 0));
		assert_int_equal(ids.last_id, f.encap.ip_id);
	}
}

/* At this length no flipped bit can be explained by another identification. */
static void check__single_bit_damage_is_refused(void **state)
{
	struct roce_prng prng = {2};
	static struct frame f;

	(void)state;
	for (int is_v4 = 0; is_v4 < 2; is_v4++) {
		make_frame(&f, &prng, is_v4, 300);
		for (size_t bit = 0; bit < f.len * 8; bit++) {
			struct roce_icrc_id_state ids = {0};

			if (bit / 8 == 4)
				continue; /* FECN, BECN, reserved: not covered */
			f.bth[bit / 8] ^= (uint8_t)(1u << bit % 8);
			assert_false(check(&f, &ids, 0));
			f.bth[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}

static void check__v6_needs_no_state(void **state)
{
	struct roce_prng prng = {3};
	static struct frame f;

	(void)state;
	make_frame(&f, &prng, false, 200);
	assert_true(check(&f, NULL, 7));
	f.bth[20] ^= 1;
	assert_false(check(&f, NULL, 7));
}

static bool check_id(struct frame *f, struct roce_icrc_id_state *ids, uint16_t index, uint16_t id)
{
	seal_with(f, id);
	return check(f, ids, index);
}

/* How many of all identifications a copy of this state believes. */
static uint32_t count_believed(struct frame *f, const struct roce_icrc_id_state *ids)
{
	uint32_t believed = 0;

	for (uint32_t id = 0; id < 0x10000; id++) {
		struct roce_icrc_id_state copy = *ids;

		believed += check_id(f, &copy, 0, (uint16_t)id);
	}
	return believed;
}

static void check__regular_sender_is_held(void **state)
{
	struct roce_prng prng = {4};
	struct roce_icrc_id_state ids = {0};
	static struct frame f;

	(void)state;
	make_frame(&f, &prng, true, 32);
	for (uint16_t i = 0; i < 255; i++)
		assert_true(check_id(&f, &ids, i % 15, i % 15));
	assert_int_equal(count_believed(&f, &ids), 0x10000);
	assert_true(check_id(&f, &ids, 0, 0));
	/* 0 to 127 and, around the last one, -512 to 1024. */
	assert_int_equal(count_believed(&f, &ids), 512 + 1025);
	/* Refused once, which leaves what was known of the sender as it was; then believed. */
	assert_false(check_id(&f, &ids, 0, 40000));
	assert_true(check_id(&f, &ids, 3, 3));
	assert_false(check_id(&f, &ids, 0, 40000));
	assert_true(check_id(&f, &ids, 0, 50000));
	assert_int_equal(ids.lapses, 1);
	assert_true(check_id(&f, &ids, 0, 12345));
}

static void check__counting_sender_is_held(void **state)
{
	struct roce_prng prng = {6};
	struct roce_icrc_id_state ids = {0};
	static struct frame f;
	uint16_t id = 60000;

	(void)state;
	make_frame(&f, &prng, true, 32);
	/* The first is no step from anything known. */
	for (int i = 0; i < 1 + 256; i++) {
		if (i == 256)
			assert_int_equal(count_believed(&f, &ids), 0x10000);
		id = (uint16_t)(id + 1 + roce_prng_below(&prng, 60));
		assert_true(check_id(&f, &ids, 0, id));
	}
	while (id < 1000 || id > 65000)
		assert_true(check_id(&f, &ids, 0, id = (uint16_t)(id + 50)));
	assert_int_equal(count_believed(&f, &ids), 128 + 1537);
}

/* One processor of a sender is late with its packet by a burst of another one. */
static void check__late_packet_of_a_counter(void **state)
{
	struct roce_prng prng = {10};
	struct roce_icrc_id_state ids = {.last_id = 12223, .regular_count = 256};
	static struct frame f;

	(void)state;
	make_frame(&f, &prng, true, 32);
	assert_true(check_id(&f, &ids, 0, 12147));
	assert_true(check_id(&f, &ids, 0, 12224));
	assert_int_equal(ids.lapses, 0);
}

/* What Linux does to the counter of a sender that was silent: the next packet is believed, and that
 * is no lapse. */
static void check__counter_may_jump_behind_a_silence(void **state)
{
	struct roce_prng prng = {9};
	struct roce_icrc_id_state ids = {.last_id = 20000, .regular_count = 256};
	static struct frame f;

	(void)state;
	make_frame(&f, &prng, true, 32);
	assert_false(check_id(&f, &ids, 0, 22300));
	ids = (struct roce_icrc_id_state){
		.last_id = 20000, .regular_count = 256, .was_silent = true};
	/* A damaged packet does not use the silence up. */
	f.bth[12] ^= 1;
	assert_false(check(&f, &ids, 0));
	f.bth[12] ^= 1;
	assert_int_equal(count_believed(&f, &ids), 0x10000);
	assert_true(check_id(&f, &ids, 0, 22300));
	assert_int_equal(ids.lapses, 0);
	assert_int_equal(count_believed(&f, &ids), 128 + 1537);
}

/* Only the price depends on the guess, so it is looked at in the state. */
static void check__next_guess_follows_the_sender(void **state)
{
	struct roce_prng prng = {8};
	struct roce_icrc_id_state ids = {0};
	static struct frame f;

	(void)state;
	make_frame(&f, &prng, true, 32);
	assert_true(check_id(&f, &ids, 0, 30000));
	assert_false(ids.is_counter);
	assert_true(check_id(&f, &ids, 0, 30001));
	assert_true(ids.is_counter);
	/* A step of more than one says nothing; an index that fits does. */
	assert_true(check_id(&f, &ids, 0, 30011));
	assert_true(ids.is_counter);
	assert_true(check_id(&f, &ids, 5, 5));
	assert_false(ids.is_counter);
	assert_true(check_id(&f, &ids, 6, 6));
	assert_false(ids.is_counter);
}

static void check__erratic_sender_loses_few(void **state)
{
	struct roce_prng prng = {7};
	struct roce_icrc_id_state ids = {0};
	static struct frame f;
	uint16_t id = 0;
	int refused = 0;

	(void)state;
	make_frame(&f, &prng, true, 32);
	/* Bursts of 1000 that count, each from a random start: a sender with many streams. */
	for (int i = 0; i < 100000; i++) {
		id = i % 1000 ? (uint16_t)(id + 1)
			      : (uint16_t)(1000 + roce_prng_below(&prng, 60000));
		refused += !check_id(&f, &ids, 0, id);
	}
	assert_in_range(refused, 1, 3);
}

/* Random damage of many bits: a held sender's packets must not pass at the rate of a stranger's. */
static void check__damage_rarely_passes(void **state)
{
	uint64_t seed = 0xdada;
	struct roce_prng prng = {seed};
	struct roce_icrc_id_state held = {.regular_count = 256};
	static struct frame f;
	int stranger_passed = 0;
	int held_passed = 0;

	(void)state;
	print_message("seed %#llx\n", (unsigned long long)seed);
	make_frame(&f, &prng, true, 32);
	for (int i = 0; i < 1000000; i++) {
		struct roce_icrc_id_state ids = {0};
		struct roce_icrc_id_state copy = held;

		roce_icrc_put(f.bth + f.len - 4, (uint32_t)roce_prng_next(&prng));
		stranger_passed += check(&f, &ids, 0);
		held_passed += check(&f, &copy, 0);
	}
	/* Expected 15.3 (sigma 3.9) and 0.06. */
	assert_in_range(stranger_passed, 1, 35);
	assert_in_range(held_passed, 0, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_003__compute_equals_model),
		cmocka_unit_test(flow_set_sport__same_as_init),
		cmocka_unit_test(put__least_significant_byte_first),
		cmocka_unit_test(case_001__masked_bits_and_no_others),
		cmocka_unit_test(recover_id__every_id),
		cmocka_unit_test(recover_id__every_length),
		cmocka_unit_test(check__stranger_may_use_any_id),
		cmocka_unit_test(check__single_bit_damage_is_refused),
		cmocka_unit_test(check__v6_needs_no_state),
		cmocka_unit_test(check__regular_sender_is_held),
		cmocka_unit_test(check__counting_sender_is_held),
		cmocka_unit_test(check__late_packet_of_a_counter),
		cmocka_unit_test(check__counter_may_jump_behind_a_silence),
		cmocka_unit_test(check__next_guess_follows_the_sender),
		cmocka_unit_test(check__erratic_sender_loses_few),
		cmocka_unit_test(check__damage_rarely_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
