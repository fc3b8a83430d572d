/* SPDX-License-Identifier: BSD-2-Clause */
/* Impairments: the user's line, the determinism of the draws, and what comes out of the wrapper. */
#include "pktio/wrap/impair.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PACKETS 100000u
#define SEGMENT 32u
#define BATCH	10u
#define ROUNDS	400u

static struct roce_impair_spec parse(const char *text)
{
	struct roce_impair_spec spec;
	char err[300] = "";

	assert_int_equal(roce_impair_parse(text, &spec, err, sizeof(err)), 0);
	return spec;
}

static void parse__takes_all_items(void **state)
{
	struct roce_impair_spec spec =
		parse("seed=42,drop=1%,dup=0.5%,reorder=0.02,corrupt=0.1%,delay=2%:300us,ce=4%,"
		      "first=77,dir=both");

	(void)state;
	assert_int_equal(spec.seed, 42);
	assert_int_equal(spec.ppm[ROCE_IMPAIR_DROP], 10000);
	assert_int_equal(spec.ppm[ROCE_IMPAIR_DUP], 5000);
	assert_int_equal(spec.ppm[ROCE_IMPAIR_REORDER], 20000);
	assert_int_equal(spec.ppm[ROCE_IMPAIR_CORRUPT], 1000);
	assert_int_equal(spec.ppm[ROCE_IMPAIR_DELAY], 20000);
	assert_int_equal(spec.ppm[ROCE_IMPAIR_CE], 40000);
	assert_int_equal(spec.first_count, 77);
	assert_int_equal(spec.delay_ns, 300000);
	assert_true(spec.is_rx && spec.is_tx);
}

/* A locale with a decimal comma becomes the program's; false when the system cannot make one. */
static bool set_comma_locale(void)
{
	char place[] = "/tmp/impair-test-XXXXXX";
	char command[200];
	bool is_set;

	if (!mkdtemp(place))
		return false;
	snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null",
		 place);
	if (system(command) == 0)
		setenv("LOCPATH", place, 1);
	is_set = setlocale(LC_ALL, "de_DE.UTF-8") && strcmp(localeconv()->decimal_point, ",") == 0;
	snprintf(command, sizeof(command), "rm -rf %s", place);
	return system(command) == 0 && is_set;
}

static void parse__same_in_every_locale(void **state)
{
	struct roce_impair_spec spec;

	(void)state;
	if (!set_comma_locale())
		skip();
	spec = parse("drop=0.5%,delay=2%:1.5us");
	setlocale(LC_ALL, "C");
	assert_int_equal(spec.ppm[ROCE_IMPAIR_DROP], 5000);
	assert_int_equal(spec.delay_ns, 1500);
}

static void parse__refuses_nonsense(void **state)
{
	static const char *const bad[] = {
		"drop",		"drop=",   "drop=101%",	 "drop=-1%", "loss=1%",
		"dir=up",	"seed=x",  "delay=1%:5", "drop=1%%", "drop=60%,dup=60%",
		"batches=keep", "first=0", "first=x",	 "ce=2"};
	struct roce_impair_spec spec;
	char err[300];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err[0] = '\0';
		assert_true(roce_impair_parse(bad[i], &spec, err, sizeof(err)) < 0);
		assert_true(strlen(err) > 0);
	}
}

/* Three sigma around 1% of 100,000; the same list again; another one for another seed. */
static void draw__case_063(void **state)
{
	struct roce_impair_spec spec = parse("seed=7,drop=1%");
	struct roce_impair_spec other = parse("seed=8,drop=1%");
	uint32_t dropped = 0, same_as_other = 0;

	(void)state;
	for (uint32_t i = 0; i < PACKETS; i++) {
		struct roce_impair_fate a = roce_impair_draw(&spec, false, i);
		struct roce_impair_fate b = roce_impair_draw(&spec, false, i);

		assert_int_equal(a.action, b.action);
		assert_true(a.random == b.random && a.after_count == b.after_count);
		if (a.action == ROCE_IMPAIR_DROP) {
			dropped++;
			same_as_other +=
				roce_impair_draw(&other, false, i).action == ROCE_IMPAIR_DROP;
		}
	}
	assert_in_range(dropped, 1000 - 95, 1000 + 95);
	assert_in_range(same_as_other, 0, 40);
}

/* ---- an inner pktio that hands out numbered packets and keeps what is sent ---- */

struct inner_io {
	struct roce_pktio base;
	uint32_t batches_left;
	uint32_t next_number;
	uint8_t traffic_class; /* of what comes */
	uint32_t sent_count;
	uint32_t sent_marked;
	uint32_t sent[PACKETS];
	struct roce_pktio_flow flow;
	uint8_t bytes[BATCH * SEGMENT];
};

static uint32_t inner_rx(struct roce_pktio *base, struct roce_pktio_rx *out, uint32_t max)
{
	struct inner_io *io = (struct inner_io *)base;

	(void)max;
	if (io->batches_left == 0)
		return 0;
	io->batches_left--;
	memset(io->bytes, 0, sizeof(io->bytes));
	for (uint32_t i = 0; i < BATCH; i++)
		memcpy(io->bytes + i * SEGMENT, &(uint32_t){io->next_number++}, 4);
	*out = (struct roce_pktio_rx){.data = io->bytes,
				      .length = BATCH * SEGMENT - 4,
				      .segment_length = SEGMENT,
				      .traffic_class = io->traffic_class};
	return 1;
}

static void inner_tx(struct roce_pktio *base, struct roce_pktio_tx *batches, uint32_t count)
{
	struct inner_io *io = (struct inner_io *)base;

	for (uint32_t i = 0; i < count; i++) {
		io->sent_marked += (batches[i].traffic_class & 3) == 3;
		memcpy(&io->sent[io->sent_count++], batches[i].data, 4);
	}
}

static struct roce_pktio_flow *inner_flow(struct roce_pktio *base, const struct roce_gid *dgid,
					  uint8_t slot)
{
	(void)dgid;
	(void)slot;
	return &((struct inner_io *)base)->flow;
}

static roce_ns_t inner_deadline(struct roce_pktio *base)
{
	(void)base;
	return ROCE_NEVER;
}

static void inner_facts(struct roce_pktio *base, struct roce_pktio_facts *out)
{
	(void)base;
	*out = (struct roce_pktio_facts){.backend = "inner", .segments_max = 64};
}

static void inner_renew(struct roce_pktio *base)
{
	(void)base;
}

static void inner_close(struct roce_pktio *base, bool closes_fd)
{
	(void)closes_fd;
	free(base);
}

static const struct roce_pktio_ops inner_ops = {
	.rx = inner_rx,
	.tx = inner_tx,
	.flow = inner_flow,
	.deadline = inner_deadline,
	.facts = inner_facts,
	.renew = inner_renew,
	.close = inner_close,
};

struct outcome {
	uint32_t seen[ROUNDS * BATCH]; /* times each number came */
	uint32_t late;		       /* packets behind a younger one */
	uint32_t damaged;
	uint32_t total;
	struct roce_pktio_stats stats;
};

static struct roce_pktio *open_inner(struct roce_pktio_stats *stats)
{
	struct inner_io *inner = calloc(1, sizeof(*inner));

	assert_non_null(inner);
	inner->base.ops = &inner_ops;
	inner->base.stats = stats;
	inner->base.segments_max = 64;
	inner->batches_left = ROUNDS;
	return &inner->base;
}

static void take_packet(struct outcome *o, const struct roce_pktio_rx *b, uint32_t offset,
			uint32_t *youngest)
{
	uint32_t number;
	uint32_t expected_index;

	memcpy(&number, b->data + offset, 4);
	o->total++;
	for (uint32_t i = 4; i < SEGMENT - 4; i++) {
		if (b->data[offset + i] != 0) {
			o->damaged++;
			return;
		}
	}
	if (number >= ROUNDS * BATCH) { /* the damaged bit is in the number */
		o->damaged++;
		return;
	}
	expected_index = b->index_base + offset / b->segment_length;
	if (number % BATCH != expected_index) {
		o->damaged++;
		return;
	}
	o->seen[number]++;
	if (number + 1 < *youngest)
		o->late++;
	else
		*youngest = number + 1;
}

static void receive_all(const char *text, struct outcome *o)
{
	struct roce_impair_spec spec = parse(text);
	struct roce_pktio_rx batches[ROCE_PKTIO_RX_BATCHES_MAX];
	struct roce_pktio *io;
	uint32_t youngest = 0;
	uint32_t count;

	memset(o, 0, sizeof(*o));
	assert_int_equal(roce_impair_open(&spec, open_inner(&o->stats), &io), 0);
	do {
		count = roce_pktio_rx(io, batches, ROCE_PKTIO_RX_BATCHES_MAX);
		assert_in_range(count, 0, ROCE_PKTIO_RX_BATCHES_MAX);
		for (uint32_t i = 0; i < count; i++) {
			for (uint32_t at = 0; at < batches[i].length;
			     at += batches[i].segment_length)
				take_packet(o, &batches[i], at, &youngest);
		}
	} while (count > 0 || roce_pktio_deadline(io) != ROCE_NEVER);
	roce_pktio_close(io);
}

static void rx__nothing_to_do_passes_batches_whole(void **state)
{
	struct roce_impair_spec spec = parse("seed=1,drop=0%");
	struct roce_pktio_stats stats = {0};
	struct roce_pktio_rx batches[ROCE_PKTIO_RX_BATCHES_MAX];
	struct roce_pktio *io;

	(void)state;
	assert_int_equal(roce_impair_open(&spec, open_inner(&stats), &io), 0);
	assert_int_equal(roce_pktio_rx(io, batches, ROCE_PKTIO_RX_BATCHES_MAX), 1);
	assert_int_equal(batches[0].length, BATCH * SEGMENT - 4);
	assert_int_equal(batches[0].segment_length, SEGMENT);
	roce_pktio_close(io);
}

static void rx__each_fault_does_what_it_says(void **state)
{
	static struct outcome o;
	uint32_t twice = 0, missing = 0;

	(void)state;
	receive_all("seed=3,drop=5%,dup=5%,reorder=5%", &o);
	for (uint32_t i = 0; i < ROUNDS * BATCH; i++) {
		twice += o.seen[i] == 2;
		missing += o.seen[i] == 0;
		assert_in_range(o.seen[i], 0, 2);
	}
	assert_int_equal(o.damaged, 0);
	assert_int_equal(twice, o.stats.impair_duplicated);
	assert_int_equal(missing, o.stats.impair_dropped);
	assert_in_range(o.stats.impair_dropped, 140, 260);
	assert_in_range(o.late, o.stats.impair_reordered / 2, o.stats.impair_reordered * 2);
	assert_int_equal(o.total, ROUNDS * BATCH + twice - missing);
}

static void rx__corrupt_damages_and_keeps_the_count(void **state)
{
	static struct outcome o;

	(void)state;
	receive_all("seed=3,corrupt=3%", &o);
	assert_int_equal(o.total, ROUNDS * BATCH);
	/* a flipped bit of a number may give another valid number, and the last packets of a batch
	 * are shorter than the others */
	assert_in_range(o.damaged, o.stats.impair_corrupted * 2 / 3, o.stats.impair_corrupted);
	assert_in_range(o.stats.impair_corrupted, 80, 160);
}

static void rx__delay_holds_by_time(void **state)
{
	static struct outcome o;

	(void)state;
	receive_all("seed=3,delay=1%:2ms", &o);
	assert_int_equal(o.total, ROUNDS * BATCH);
	for (uint32_t i = 0; i < ROUNDS * BATCH; i++)
		assert_int_equal(o.seen[i], 1);
	assert_in_range(o.stats.impair_delayed, 20, 64);
}

/* Congestion marks what is ECN-capable, and nothing is lost; `first` ends it. */
static void rx__ce(void **state)
{
	static const struct {
		const char *text;
		uint8_t traffic_class;
		uint32_t least;
		uint32_t most;
	} cases[] = {
		{"seed=3,ce=10%", 0x6a, 340, 460},
		{"seed=3,ce=10%", 0x69, 340, 460},
		{"seed=3,ce=10%", 0x68, 0, 0},
		{"seed=3,ce=100%", 2, 4000, 4000},
		{"seed=3,ce=100%,first=123", 2, 123, 123},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct roce_impair_spec spec = parse(cases[i].text);
		struct roce_pktio_stats stats = {0};
		struct roce_pktio_rx batches[ROCE_PKTIO_RX_BATCHES_MAX];
		struct roce_pktio *inner = open_inner(&stats);
		struct roce_pktio *io;
		uint32_t total = 0, marked = 0, count;

		((struct inner_io *)inner)->traffic_class = cases[i].traffic_class;
		assert_int_equal(roce_impair_open(&spec, inner, &io), 0);
		do {
			count = roce_pktio_rx(io, batches, ROCE_PKTIO_RX_BATCHES_MAX);
			for (uint32_t k = 0; k < count; k++) {
				uint32_t packets = (batches[k].length + SEGMENT - 1) / SEGMENT;

				total += packets;
				if ((batches[k].traffic_class & 3) == 3)
					marked += packets;
				assert_int_equal(batches[k].traffic_class | 3,
						 cases[i].traffic_class | 3);
			}
		} while (count > 0 || roce_pktio_deadline(io) != ROCE_NEVER);
		assert_int_equal(total, ROUNDS * BATCH);
		assert_int_equal(marked, stats.impair_marked);
		assert_in_range(marked, cases[i].least, cases[i].most);
		roce_pktio_close(io);
	}
}

/* A thousand single packets, every other one of the traffic class. */
static void send_singles(struct roce_pktio *io, uint8_t odd_class)
{
	struct roce_pktio_flow flow = {.slot = 1};
	uint8_t bytes[SEGMENT] = {0};

	for (uint32_t i = 0; i < 1000; i++) {
		struct roce_pktio_tx b = {.flow = &flow,
					  .data = bytes,
					  .length = SEGMENT,
					  .segment_length = SEGMENT,
					  .segment_count = 1,
					  .traffic_class = i % 2 ? odd_class : 0};

		roce_pktio_tx(io, &b, 1);
	}
}

static void tx__ce(void **state)
{
	struct roce_impair_spec spec = parse("seed=5,ce=50%,dir=tx");
	struct roce_pktio_stats stats = {0};
	struct roce_pktio *inner = open_inner(&stats);
	struct roce_pktio *io;

	(void)state;
	assert_int_equal(roce_impair_open(&spec, inner, &io), 0);
	send_singles(io, 2);
	assert_int_equal(((struct inner_io *)inner)->sent_count, 1000);
	assert_in_range(stats.impair_marked, 200, 300);
	assert_int_equal(((struct inner_io *)inner)->sent_marked, stats.impair_marked);
	roce_pktio_close(io);
}

/* What passes because no more can be held back is not counted as harmed. */
static void tx__counts_what_it_did(void **state)
{
	struct roce_impair_spec spec = parse("seed=5,delay=100%:1000s,dir=tx");
	struct roce_pktio_stats stats = {0};
	struct roce_pktio *inner = open_inner(&stats);
	struct roce_pktio *io;

	(void)state;
	assert_int_equal(roce_impair_open(&spec, inner, &io), 0);
	send_singles(io, 0);
	assert_in_range(stats.impair_delayed, 1, 999);
	assert_int_equal(((struct inner_io *)inner)->sent_count, 1000 - stats.impair_delayed);
	roce_pktio_close(io);
}

static void rx__case_063(void **state)
{
	static struct outcome a, b;

	(void)state;
	receive_all("seed=11,drop=2%,dup=2%,corrupt=1%", &a);
	receive_all("seed=11,drop=2%,dup=2%,corrupt=1%", &b);
	assert_memory_equal(a.seen, b.seen, sizeof(a.seen));
	assert_memory_equal(&a.stats, &b.stats, sizeof(a.stats));
}

/* Batches are lost, in any order with single packets, which are not. */
static void tx__batches_are_dropped(void **state)
{
	static struct inner_io kept;
	struct roce_impair_spec spec = parse("batches=drop");
	struct roce_pktio_stats stats = {0};
	struct roce_pktio_flow flow = {.slot = 1};
	struct roce_pktio *inner = open_inner(&stats);
	struct roce_pktio_tx batches[5];
	struct roce_pktio *io;
	uint8_t bytes[5 * SEGMENT] = {0};

	(void)state;
	assert_int_equal(roce_impair_open(&spec, inner, &io), 0);
	assert_int_equal(io->segments_max, 64);
	for (uint32_t i = 0; i < 5; i++) {
		memcpy(bytes + i * SEGMENT, &i, 4);
		batches[i] = (struct roce_pktio_tx){.flow = &flow,
						    .data = bytes + i * SEGMENT,
						    .length = SEGMENT,
						    .segment_length = SEGMENT,
						    .segment_count = 1};
	}
	batches[0].segment_count = batches[3].segment_count = 2;
	roce_pktio_tx(io, batches, 5);
	kept = *(struct inner_io *)inner;
	assert_int_equal(kept.sent_count, 3);
	assert_int_equal(kept.sent[0], 1);
	assert_int_equal(kept.sent[1], 2);
	assert_int_equal(kept.sent[2], 4);
	assert_int_equal(stats.impair_dropped, 4);
	roce_pktio_close(io);
}

static void tx__impaired_sender_sends_single_packets(void **state)
{
	static struct inner_io kept;
	struct roce_impair_spec spec = parse("seed=5,drop=10%,dup=10%,reorder=10%,dir=tx");
	struct roce_pktio_stats stats = {0};
	struct roce_pktio_flow flow = {.slot = 1};
	struct roce_pktio *inner = open_inner(&stats);
	struct roce_pktio_facts facts;
	struct roce_pktio *io;
	uint8_t bytes[SEGMENT] = {0};
	uint32_t late = 0, youngest = 0;

	(void)state;
	assert_int_equal(roce_impair_open(&spec, inner, &io), 0);
	assert_int_equal(io->segments_max, 1);
	roce_pktio_facts(io, &facts);
	assert_string_equal(facts.batching_tx, "off while impaired");
	for (uint32_t i = 0; i < 1000; i++) {
		struct roce_pktio_tx b = {.flow = &flow,
					  .data = bytes,
					  .length = SEGMENT,
					  .segment_length = SEGMENT,
					  .segment_count = 1};

		memcpy(bytes, &i, 4);
		roce_pktio_tx(io, &b, 1);
	}
	while (roce_pktio_deadline(io) != ROCE_NEVER) {
		struct roce_pktio_rx none[ROCE_PKTIO_RX_BATCHES_MAX];

		((struct inner_io *)inner)->batches_left = 0;
		(void)roce_pktio_rx(io, none, ROCE_PKTIO_RX_BATCHES_MAX);
	}
	kept = *(struct inner_io *)inner;
	for (uint32_t i = 0; i < kept.sent_count; i++) {
		late += kept.sent[i] + 1 < youngest;
		if (kept.sent[i] + 1 > youngest)
			youngest = kept.sent[i] + 1;
	}
	assert_int_equal(kept.sent_count, 1000 - stats.impair_dropped + stats.impair_duplicated);
	assert_in_range(stats.impair_dropped, 70, 130);
	assert_in_range(late, stats.impair_reordered / 2, stats.impair_reordered);
	roce_pktio_close(io);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__takes_all_items),
		cmocka_unit_test(parse__refuses_nonsense),
		cmocka_unit_test(parse__same_in_every_locale),
		cmocka_unit_test(draw__case_063),
		cmocka_unit_test(rx__nothing_to_do_passes_batches_whole),
		cmocka_unit_test(rx__each_fault_does_what_it_says),
		cmocka_unit_test(rx__corrupt_damages_and_keeps_the_count),
		cmocka_unit_test(rx__delay_holds_by_time),
		cmocka_unit_test(rx__ce),
		cmocka_unit_test(rx__case_063),
		cmocka_unit_test(tx__batches_are_dropped),
		cmocka_unit_test(tx__ce),
		cmocka_unit_test(tx__counts_what_it_did),
		cmocka_unit_test(tx__impaired_sender_sends_single_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
