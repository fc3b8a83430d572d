/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Seeded trouble: a pktio around another one that drops, duplicates, reorders, damages or delays
 * single packets, so that recovery can be tried without any tool of the network.
 *
 * What happens to the n-th packet of a direction depends on the seed, the direction and n alone, so
 * a run with the same packets has the same list of faults. Released late packets depend on time as
 * well: a packet held back leaves after a few others or after a millisecond.
 */
#ifndef ROCE_PKTIO_WRAP_IMPAIR_H
#define ROCE_PKTIO_WRAP_IMPAIR_H

#include "pktio/pktio.h"

#include <stddef.h>

#define ROCE_IMPAIR_LIST(X)   \
	X(PASS, "pass")       \
	X(DROP, "drop")       \
	X(DUP, "dup")         \
	X(REORDER, "reorder") \
	X(CORRUPT, "corrupt") \
	X(DELAY, "delay")     \
	X(CE, "ce")

enum roce_impair_action {
#define X(name, text) ROCE_IMPAIR_##name,
	ROCE_IMPAIR_LIST(X)
#undef X
		ROCE_IMPAIR_COUNT,
};

struct roce_impair_spec {
	uint64_t seed;
	uint32_t ppm[ROCE_IMPAIR_COUNT]; /* by action; PASS is what is left */
	roce_ns_t delay_ns;
	uint64_t first_count; /* packets of each direction that are considered at all; 0: every */
	bool is_rx;
	bool is_tx;
	bool drops_batches;
	uint32_t ud_damage_ppm; /* faulty_nic.h; of what is received, whatever the direction */
	bool ud_damage_always;
};

/* What becomes of one packet. */
struct roce_impair_fate {
	enum roce_impair_action action;
	uint64_t random;      /* CORRUPT: which bit */
	uint32_t after_count; /* REORDER: leaves behind this many others */
};

/*
 * "seed=1,drop=1%,dup=0.5%,reorder=1%,corrupt=0.1%,delay=2%:500us,ce=5%,first=1000,dir=rx": any of
 * them, in any order; dir is rx (default), tx or both; a share without % is a fraction. "ce" is
 * what a switch does in congestion: it marks what is ECN-capable, and lets pass what is not.
 * "first": no more happens to packets behind so many of a direction. "batches=drop": what we send
 * in batches is lost, single packets pass (with dir=rx; an impaired sender makes no batches).
 *
 * "ud_damage=0.1%": so many of the UD messages that are received in flows with reordered packets
 * have bytes of another message behind a right ICRC (faulty_nic.h); "ud_damage=0.1%:always" in
 * flows without as well. The word "faulty-ud", without a value, is the adapter that was seen in
 * practice: ud_damage=0.1%.
 *
 * 0, or -EINVAL with one line in `err`.
 */
int roce_impair_parse(const char *text, struct roce_impair_spec *out, char *err, size_t err_size);

/* The fate of packet `number` (from 0) of the direction. */
struct roce_impair_fate roce_impair_draw(const struct roce_impair_spec *spec, bool is_tx,
					 uint64_t number);

/* Wraps `inner`, which belongs to the result from then on. 0 or -ENOMEM. */
int roce_impair_open(const struct roce_impair_spec *spec, struct roce_pktio *inner,
		     struct roce_pktio **out);

#endif
